"""The configuration: precedence, invalid values and the files that a first start creates."""

from __future__ import annotations

import ipaddress
import json
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sqlalchemy as sa

import config
from config import ConfigurationError
from models.deadline_rule import DeadlineRule
from models.vocabulary import SEVERITIES
from settings import DEADLINES, SETTINGS, Setting, database_path, machine_time_zone

SECRET = "s" * 32
GIVEN = {"DATABASE_URL": "sqlite://", "SECRET_KEY": SECRET, "ANON_KEY": "anon"}


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def database(directory: Path) -> dict[str, object]:
    return {"DATABASE_URL": f"sqlite:///{directory / 'walkthrough.db'}"}


def test_documented_defaults():
    settings = config.load(GIVEN, {"TZ": "UTC"})

    assert settings == {
        "DATABASE_URL": "sqlite://",
        "DATABASE_READ_URL": (),
        "SECRET_KEY": [SECRET],
        "ANON_KEY": "anon",
        "SERVICE_KEY": None,
        "REQUIRE_APIKEY": True,
        "MAX_ROWS": 1000,
        "ACCESS_TOKEN_SECONDS": 3600,
        "CORS_ORIGINS": None,
        "TRUSTED_PROXIES": (),
        "URL_PREFIX": "",
        "TIMEZONE": "UTC",
        "FINDING_DEADLINES": None,
        "FILES_DIR": config.PROJECT / "instance" / "files",
        "FILE_BYTES_MAX": 20 << 20,
        "FILES_BYTES_MAX": 10 << 30,
        "RETENTION_YEARS": 3,
    }  # fmt: skip


def test_default_database_is_in_instance():
    settings = config.load({"SECRET_KEY": SECRET}, {})

    assert settings["DATABASE_URL"] == f"sqlite:///{config.PROJECT}/instance/walkthrough.db"


def test_folder_of_files_is_beside_the_database():
    given = {"SECRET_KEY": SECRET, "DATABASE_URL": "sqlite:////srv/a.db"}

    assert config.load(given, {})["FILES_DIR"] == Path("/srv/a.db.files")
    assert config.load(given, {"FILES_DIR": "/mnt/files"})["FILES_DIR"] == Path("/mnt/files")
    assert config.load(given, {"FILES_DIR": "files"})["FILES_DIR"] == config.PROJECT / "files"


def test_relative_database_path_is_relative_to_project(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)

    settings = config.load({"SECRET_KEY": SECRET, "DATABASE_URL": "sqlite:///other/a.db"}, {})

    assert settings["DATABASE_URL"] == f"sqlite:///{config.PROJECT}/other/a.db"


def test_overrides_precede_environment_and_secrets_file(tmp_path):
    config.prepare(database(tmp_path), {})
    kept = json.loads((tmp_path / "keys.json").read_text())
    environ = {"ANON_KEY": "from the environment", "MAX_ROWS": "5", "ACCESS_TOKEN_SECONDS": "120"}

    settings = config.load({**database(tmp_path), "MAX_ROWS": 7}, environ)

    assert settings["SECRET_KEY"] == [kept["SECRET_KEY"]]
    assert settings["SERVICE_KEY"] == kept["SERVICE_KEY"]
    assert settings["ANON_KEY"] == "from the environment"
    assert settings["MAX_ROWS"] == 7
    assert settings["ACCESS_TOKEN_SECONDS"] == 120


def test_configured_secret_key_needs_no_secrets_file(tmp_path):
    (tmp_path / "keys.json").write_text("no JSON, and readable by all")

    settings = config.prepare({**database(tmp_path), "SECRET_KEY": SECRET, "ANON_KEY": "a"}, {})

    assert settings["SERVICE_KEY"] is None
    assert (tmp_path / "keys.json").read_text() == "no JSON, and readable by all"


def test_load_creates_no_file(tmp_path):
    with pytest.raises(ConfigurationError, match="SECRET_KEY is not set"):
        config.load(database(tmp_path / "instance"), {})

    assert list(tmp_path.iterdir()) == []


def test_prepare_creates_private_directory_and_secrets(tmp_path):
    settings = config.prepare(database(tmp_path / "instance"), {})

    assert mode(tmp_path / "instance") == 0o700
    assert mode(tmp_path / "instance" / "keys.json") == 0o600
    assert [path.name for path in (tmp_path / "instance").iterdir()] == ["keys.json"]
    keys = [*settings["SECRET_KEY"], settings["ANON_KEY"], settings["SERVICE_KEY"]]
    assert len({key for key in keys if key}) == 3
    assert min(len(key or "") for key in keys) >= 32


@pytest.mark.parametrize("given", [{}, {"SECRET_KEY": "s" * 32}])
def test_prepare_syncs_created_directories(tmp_path, monkeypatch, given):
    """Otherwise a power cut could remove the directory of acknowledged writes."""
    synced, fsync = set(), os.fsync

    def watched(descriptor: int) -> None:
        fsync(descriptor)
        synced.add(os.fstat(descriptor).st_ino)

    monkeypatch.setattr(os, "fsync", watched)
    config.prepare(database(tmp_path / "var" / "instance"), given)

    assert {tmp_path.stat().st_ino, (tmp_path / "var").stat().st_ino} <= synced


@pytest.mark.parametrize("name", ["feature%2Fx", "what?", "a b", "x#y", "a@b:c", "ü"])
def test_project_path_may_contain_special_characters(tmp_path, monkeypatch, name):
    monkeypatch.setattr("settings.PROJECT", tmp_path / name)

    settings = config.prepare(None, {})

    file = tmp_path / name / "instance" / "walkthrough.db"
    assert database_path(settings["DATABASE_URL"]) == file
    assert sa.make_url(settings["DATABASE_URL"]).database == str(file)
    assert (file.parent / "keys.json").exists()


def test_concurrent_starts_share_the_first_keys(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: config.prepare(database(tmp_path), {}), range(16)))

    assert all(settings == found[0] for settings in found)


@pytest.mark.parametrize("text", ["", "  "])
@pytest.mark.parametrize("place", ["environment", "override"])
def test_empty_anon_key_is_refused(tmp_path, text, place):
    given = {"DATABASE_URL": f"sqlite:///{tmp_path}/walkthrough.db", "ANON_KEY": text}

    for read in (config.load, config.prepare):
        with pytest.raises(config.ConfigurationError, match="ANON_KEY is empty"):
            read(*((None, given) if place == "environment" else (given, {})))
    assert list(tmp_path.iterdir()) == []


def test_last_secret_key_signs_and_all_verify():
    old, new = "o" * 32, "n" * 32

    assert config.load({**GIVEN, "SECRET_KEY": [old, new]}, {})["SECRET_KEY"] == [old, new]
    for spelled in (f"{old}, {new}", json.dumps([old, new])):
        environ = {"DATABASE_URL": "sqlite://", "SECRET_KEY": spelled}
        assert config.load(None, environ)["SECRET_KEY"] == [old, new]


@pytest.mark.parametrize(
    ("name", "stated", "parsed"),
    [
        pytest.param("REQUIRE_APIKEY", "0", False, id="apikey-off"),
        pytest.param("REQUIRE_APIKEY", "yes", True, id="apikey-on"),
        pytest.param("REQUIRE_APIKEY", "", True, id="apikey-empty-is-unsaid"),
        pytest.param("SERVICE_KEY", "", None, id="service-key-empty-is-unsaid"),
        pytest.param("CORS_ORIGINS", "*", ("*",), id="cors-any"),
        pytest.param(
            "CORS_ORIGINS",
            "https://A.example, http://b.example:81",
            ("https://a.example", "http://b.example:81"),
            id="cors-list",
        ),
        pytest.param(
            "CORS_ORIGINS",
            "capacitor://localhost,tauri://localhost",
            ("capacitor://localhost", "tauri://localhost"),
            id="cors-of-applications",
        ),
        pytest.param(
            "TRUSTED_PROXIES",
            "10.0.0.0/8,::1",
            (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("::1")),
            id="proxies",
        ),
        pytest.param("URL_PREFIX", "/inspections/", "/inspections", id="prefix"),
        pytest.param("URL_PREFIX", "/", "", id="prefix-of-the-root"),
        pytest.param(
            "FINDING_DEADLINES",
            "severe=1h, life_threatening=2h,low=4d,moderate=3d",
            {"severe": (1, "h"), "life_threatening": (2, "h"), "low": (4, "d"), "moderate": (3, "d")},
            id="deadlines",
        ),
    ],
)
def test_environment_values_are_parsed(name, stated, parsed):
    assert config.load(GIVEN, {name: stated})[name] == parsed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"SECRET_KEY": "s" * 31}, "SECRET_KEY is shorter", id="short-secret"),
        pytest.param({"SECRET_KEY": [SECRET, "s"]}, "SECRET_KEY is shorter", id="short-old-secret"),
        pytest.param({"SECRET_KEY": []}, "SECRET_KEY is a text or", id="no-secret-in-list"),
        pytest.param({"SECRET_KEY": 5}, "SECRET_KEY is a text or", id="secret-of-another-type"),
        pytest.param({"SERVICE_KEY": "k" * 31}, "SERVICE_KEY is shorter", id="short-service-key"),
        pytest.param({"SERVICE_KEY": SECRET}, "must differ", id="service-is-secret"),
        pytest.param({"ANON_KEY": SECRET}, "must differ", id="anon-is-secret"),
        pytest.param({"ANON_KEY": "k" * 32, "SERVICE_KEY": "k" * 32}, "must differ", id="anon-is-service"),
        pytest.param({"MAX_ROWS": 0}, "MAX_ROWS lies between", id="no-rows"),
        pytest.param({"MAX_ROWS": "1e3"}, "MAX_ROWS is a whole number", id="rows-as-float"),
        pytest.param({"ACCESS_TOKEN_SECONDS": 119}, "between 120", id="short-token"),
        pytest.param({"REQUIRE_APIKEY": "maybe"}, "REQUIRE_APIKEY is 1 or 0", id="maybe"),
        pytest.param({"CORS_ORIGINS": "a.example"}, "is not an origin", id="origin-without-scheme"),
        pytest.param({"CORS_ORIGINS": "https://a.example/x"}, "more than", id="origin-with-path"),
        pytest.param({"CORS_ORIGINS": "https://*.a.example"}, "match no origin", id="origin-of-many"),
        pytest.param({"CORS_ORIGINS": "file:///a"}, "is not an origin", id="origin-without-host"),
        pytest.param({"TRUSTED_PROXIES": "proxy"}, "not an address or network", id="proxy-by-name"),
        pytest.param({"URL_PREFIX": "inspections"}, "URL_PREFIX is a path such as", id="prefix-without-slash"),
        pytest.param({"URL_PREFIX": "/a/../b"}, "URL_PREFIX is a path such as", id="prefix-with-dots"),
        pytest.param({"URL_PREFIX": "//a"}, "URL_PREFIX is a path such as", id="prefix-of-a-host"),
        pytest.param({"DATABASE_URL": "walkthrough.db"}, "no.* database URL", id="no-url"),
        pytest.param({"DATABASE_URL": "sqlite:///file:a.db"}, "file: URI", id="uri"),
        pytest.param({"DATABASE_URL": "sqlite://host/a.db"}, "and nothing else", id="file-at-host"),
        pytest.param({"DATABASE_URL": "sqlite://u@/a.db"}, "and nothing else", id="file-of-user"),
        pytest.param({"DATABASE_URL": "sqlite:///a.db?a=b"}, "has no . in it", id="file-query"),
        pytest.param({"DATABASE_URL": "sqlite:///a?1.db"}, "has no . in it", id="file-dropped"),
        pytest.param({"DATABASE_URL": "postgres://u@h/d"}, "not with postgres://", id="postgres"),
        pytest.param({"DATABASE_URL": "sqlite:////"}, "names no file", id="file-without-name"),
        pytest.param({"DATABASE_URL": "sqlite:///a%00.db"}, "names no file", id="file-encoded-zero"),
        pytest.param({"DATABASE_URL": "mysql://u@h/d"}, "not with mysql://", id="mysql"),
        pytest.param({"DATABASE_URL": "sqlite+a:///a.db"}, "not with sqlite\\+a", id="odd-driver"),
        pytest.param(
            {"DATABASE_URL": f"postgresql+psycopg://u:{SECRET}@h:port/d"},
            "DATABASE_URL is not a database URL",
            id="no-port",
        ),
        pytest.param(
            {
                "DATABASE_URL": "postgresql+psycopg://h/d",
                "DATABASE_READ_URL": f"postgresql+psycopg://u:{SECRET}@h:port/d",
            },
            "DATABASE_READ_URL is not a database URL",
            id="standby-without-port",
        ),
        pytest.param({"CORS_ORIGINS": "http://[::1"}, "is not an origin", id="origin-half-an-address"),
        pytest.param({"CORS_ORIGINS": "http://a.example:x"}, "is not an origin", id="origin-no-port"),
        pytest.param({"CORS_ORIGINS": ["http://a\nb"]}, "is not an origin", id="origin-of-two-lines"),
        pytest.param({"MAX_ROWS": "1\n2"}, r"not '1\\n2'", id="rows-of-two-lines"),
        pytest.param({"SECRET_KEY": ["k" * 40, "\udcff" * 40]}, "not UTF-8", id="secret-of-bytes"),
        pytest.param({"DATABASE_URL": "sqlite:///a\0.db"}, "a zero byte", id="zero-byte"),
    ],
)
def test_invalid_settings_are_refused_in_one_line(changes, message):
    with pytest.raises(ConfigurationError, match=message) as refusal:
        config.load({**GIVEN, **changes}, {})

    assert "\n" not in str(refusal.value)
    assert SECRET not in str(refusal.value)


def test_secret_key_that_is_not_utf8_is_refused():
    environ = {"DATABASE_URL": "sqlite://", "SECRET_KEY": os.fsdecode(b"\xff" * 40)}

    with pytest.raises(ConfigurationError, match=r"^SECRET_KEY is not UTF-8 text"):
        config.load(None, environ)


def test_command_prints_configuration_error_on_one_line():
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    done = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", "keys"],
        cwd=config.PROJECT, env={**kept, "DATABASE_URL": "mysql://u@h/d"}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    said = "DATABASE_URL begins with sqlite:/// or postgresql+psycopg://, not with mysql://"
    assert (done.returncode, done.stderr, done.stdout) == (1, f"Error: {said}\n", "")


def test_default_bind_address_is_loopback():
    default, given = config.process_settings({}), config.process_settings({"HOST": "::1", "PORT": "81"})

    assert (default["HOST"], default["PORT"]) == ("127.0.0.1", 8000)
    assert (given["HOST"], given["PORT"]) == ("::1", 81)
    for port in ("0", "65536", "http"):
        with pytest.raises(ConfigurationError, match="PORT"):
            config.process_settings({"PORT": port})


@pytest.mark.parametrize("stated", ["0", "3601", "a"])
def test_keepalive_seconds_outside_limits_are_refused(stated: str) -> None:
    with pytest.raises(config.ConfigurationError, match="KEEPALIVE_SECONDS"):
        config.process_settings({"KEEPALIVE_SECONDS": stated})


@pytest.mark.parametrize(
    "name", ["Mars/Base", "america/nowhere", "America", "../UTC", "/etc/localtime", "UTC+2", "-5", "é"]
)
def test_unknown_time_zone_is_refused(name: str) -> None:
    with pytest.raises(ConfigurationError, match="TIMEZONE") as refused:
        config.load({"SECRET_KEY": SECRET}, {"TIMEZONE": name})
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("environ", "zone"),
    [
        ({"TIMEZONE": "Asia/Tokyo", "TZ": "America/New_York"}, "Asia/Tokyo"),
        ({"TIMEZONE": "", "TZ": "America/New_York"}, "America/New_York"),
        ({"TZ": ":Europe/Berlin"}, "Europe/Berlin"),
        ({"TZ": "/usr/share/zoneinfo/Europe/Berlin"}, "Europe/Berlin"),
        ({"TZ": ""}, "UTC"),
        ({"TZ": "Etc/UTC"}, "UTC"),
        ({"TZ": "<-03>3"}, "UTC"),
        ({"TZ": "../UTC"}, "UTC"),
    ],
)
def test_time_zone_is_by_default_that_of_the_machine(environ: dict[str, str], zone: str) -> None:
    assert config.load({"SECRET_KEY": SECRET}, environ)["TIMEZONE"] == config.time_zone(environ) == zone


@pytest.mark.parametrize(
    ("target", "named", "zone"),
    [
        ("zoneinfo/America/New_York", None, "America/New_York"),
        ("zoneinfo/posix/America/New_York", None, "America/New_York"),
        ("zoneinfo/Etc/UTC", "Asia/Tokyo", "UTC"),
        ("a copy", "Asia/Tokyo\n", "Asia/Tokyo"),
        (None, "Asia/Tokyo", "Asia/Tokyo"),
        (None, "Mars/Base", "UTC"),
        (None, None, "UTC"),
    ],
)
def test_time_zone_of_the_machine_is_that_of_its_files(
    tmp_path: Path, target: str | None, named: str | None, zone: str
) -> None:
    if target is not None:
        (tmp_path / "localtime").symlink_to(tmp_path / target)
    if named is not None:
        (tmp_path / "timezone").write_text(named)

    assert machine_time_zone(None, tmp_path) == zone


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("low=60d", "FINDING_DEADLINES has no deadline for life_threatening, moderate, severe"),
        (
            "mild=1h",
            "FINDING_DEADLINES names 'mild', which is none of the severities life_threatening, severe, moderate, low",
        ),
        ("low=60", "FINDING_DEADLINES has 'low=60', which is no severity with hours or days, as in low=60d"),
        ("low=0d", "FINDING_DEADLINES has 'low=0d', which is no severity with hours or days, as in low=60d"),
        ("low=1d,", "FINDING_DEADLINES has '', which is no severity with hours or days, as in low=60d"),
        ("low=3661d", "FINDING_DEADLINES has 'low=3661d', which is more than 3660d"),
        ("low=8761h", "FINDING_DEADLINES has 'low=8761h', which is more than 8760h"),
        ("low=1d,low=2d", "FINDING_DEADLINES names 'low' twice"),
    ],
)
def test_invalid_deadlines_are_refused_with_one_sentence(given: str, message: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        config.load(GIVEN, {"FINDING_DEADLINES": given})

    assert refusal.value.message == message


def test_a_new_database_has_a_rule_for_each_severity() -> None:
    assert [each["severity"] for each in DeadlineRule.shipped] == list(SEVERITIES)
    given = ",".join(f"{each['severity']}={each['amount']}{each['unit']}" for each in DeadlineRule.shipped)
    assert given == DEADLINES
    assert config.load(GIVEN, {"FINDING_DEADLINES": given})["FINDING_DEADLINES"]["low"] == (60, "d")


def test_operating_document_shows_the_table_of_settings() -> None:
    document = (config.PROJECT / "docs" / "OPERATING.md").read_text(encoding="utf-8")
    table = document.split("\n## Settings\n")[1].split("\n## ")[0]

    rows = [line.strip("|").split(" | ") for line in table.splitlines() if line.startswith("| `")]

    assert all(len(row) == 3 and row[1].strip() for row in rows)
    assert [(row[0].strip(), row[2].strip()) for row in rows] == [
        (f"`{name}`", shown_default(each)) for name, each in SETTINGS.items()
    ]


def shown_default(setting: Setting) -> str:
    if setting.is_secret:
        return "from `keys.json`"
    return f"`{setting.default}`" if setting.default else "none"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        pytest.param(
            {"DATABASE_READ_URL": "postgresql+psycopg://u@h/d"},
            "DATABASE_READ_URL is set, but DATABASE_URL is a file, which has no standbys",
            id="file",
        ),
        pytest.param(
            {"DATABASE_URL": "postgresql+psycopg://h/d", "DATABASE_READ_URL": "sqlite:///a.db"},
            "DATABASE_READ_URL is a list of URLs like DATABASE_URL's",
            id="standby-is-a-file",
        ),
        pytest.param(
            {"DATABASE_URL": "postgresql+psycopg://h/d", "DATABASE_READ_URL": "nonsense"},
            "DATABASE_READ_URL is not a database URL",
            id="no-url",
        ),
    ],
)
def test_invalid_standby_urls_are_refused(given, message):
    with pytest.raises(ConfigurationError) as refused:
        config.load({"SECRET_KEY": SECRET, **given}, {})

    assert str(refused.value) == message


def test_standby_urls_are_comma_separated():
    given = {"DATABASE_URL": "postgresql+psycopg://h/d", "SECRET_KEY": SECRET}
    stated = "postgresql+psycopg://a/d, postgresql+psycopg://b/d"

    settings = config.load({**given, "DATABASE_READ_URL": stated}, {})

    assert settings["DATABASE_READ_URL"] == tuple(stated.split(", "))

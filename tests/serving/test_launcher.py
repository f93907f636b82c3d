"""`bin/serve`: refused starts, warnings, and the introduction that it prints when it is ready."""

from __future__ import annotations

import errno
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import httpx
import pytest

import config
from config import PROJECT
from engine.schema import migrations
from engine.storage import sqlite
from engine.storage.database import ServingLock
from serving import __main__ as launcher
from serving.start import checks, demo, introduction
from settings import file_url
from tests.support.applications import reused_app
from tests.support.ports import free_port
from tests.support.waiting import SECONDS_MAX, until

pytestmark = pytest.mark.slow

SECRET = "s" * 40
NO_API_KEY_WARNING = "all requests are refused: REQUIRE_APIKEY is on"


def environ_for(directory: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    file = directory / "walkthrough.db"
    made = {"DATABASE_URL": f"sqlite:///{file}", "SECRET_KEY": SECRET, "PORT": str(free_port()), "TIMEZONE": "UTC"}
    return {**kept, **made, **more}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"LOG_LEVEL": "loud"}, "LOG_LEVEL is one of", id="level"),
        pytest.param({"HOST": "a..b"}, "cannot listen at a..b:", id="no-host"),
        pytest.param({"DATABASE_URL": "mysql://h/d"}, "not with mysql://", id="database"),
        pytest.param({"DATABASE_URL": "sqlite:////dev/null/a.db"}, "cannot be created", id="place"),
    ],
)
def test_wrong_setting_is_reported_in_one_line(tmp_path, changes, message):
    done = subprocess.run(
        [sys.executable, "-m", "serving"],
        cwd=PROJECT, env=environ_for(tmp_path, **changes), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("walkthrough: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_served_database_is_reported(tmp_path):
    environ = environ_for(tmp_path)
    lock = ServingLock.take(tmp_path / "walkthrough.db")

    done = subprocess.run(
        [sys.executable, "-m", "serving"],
        cwd=PROJECT, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lock.release()

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("walkthrough.db is being served by another process\n")


def create_foreign(file: Path) -> None:
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (a)")


def create_newer(file: Path) -> None:
    with reused_app(file):  # closing the last connection runs a checkpoint
        pass
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 10000")


def create_development(file: Path) -> None:
    with reused_app(file):  # closing the last connection runs a checkpoint
        pass
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute(f"PRAGMA application_id = {migrations.DEVELOPMENT_APPLICATION_ID}")


@pytest.mark.parametrize(
    ("create", "message"),
    [
        (create_foreign, "is another program's database"),
        (create_development, "was made by a development version from before 0.1.0"),
        (create_newer, "was made by a later version"),
        (lambda file: file.write_bytes(b"nonsense" * 100), "is not a sound SQLite database"),
        (lambda file: file.symlink_to(file.with_name("elsewhere")), "is not a regular file"),
        (lambda file: file.mkdir(), "is not a regular file"),
    ],
    ids=["foreign", "development", "newer", "garbage", "link", "directory"],
)
def test_unusable_file_is_reported_in_one_line(tmp_path, create, message):
    create(tmp_path / "walkthrough.db")

    done = subprocess.run(
        [sys.executable, "-m", "serving"],
        cwd=PROJECT, env=environ_for(tmp_path, ANON_KEY="a" * 40), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode != 0, done.stdout) == (True, "")
    assert done.stderr.startswith("walkthrough: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("starter", [["serving"], ["gunicorn"], ["flask", "--app", "app", "keys"]])
def test_empty_anon_key_is_reported_in_one_line_by_every_start(tmp_path, starter):
    done = subprocess.run(
        [sys.executable, "-m", *starter],
        cwd=PROJECT, env=environ_for(tmp_path, ANON_KEY=""), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode != 0, done.stdout) == (True, "")
    assert done.stderr.splitlines()[-1].endswith("ANON_KEY is empty: set a key, or leave the setting out")
    assert list(tmp_path.iterdir()) == []


def create_wal_database(file: Path) -> None:
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


@contextmanager
def starting(environ: dict[str, str], directory: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start the service and wait for the introduction; stop the service at the end."""
    output = directory / "output"
    with output.open("w") as printed, (directory / "errors").open("w") as errors:
        server = subprocess.Popen(
            [sys.executable, "-m", "serving"], cwd=PROJECT, env=environ, stdout=printed, stderr=errors
        )
    try:
        until(lambda: output.stat().st_size or server.poll() is not None)
        yield server
    finally:
        server.terminate()
        server.wait(SECONDS_MAX)


def start(directory: Path, **more: str) -> tuple[str, str]:
    """Start the service, stop it when it has printed the introduction, and return its output and its errors."""
    with starting(environ_for(directory, **more), directory) as server:
        pass
    errors = (directory / "errors").read_text()
    assert server.returncode == 0, errors
    return (directory / "output").read_text(), errors


@pytest.mark.parametrize("create", [create_wal_database, Path.touch], ids=["plain", "empty"])
def test_usable_file_is_served(tmp_path, create):
    create(tmp_path / "walkthrough.db")
    (tmp_path / "walkthrough.db").chmod(0o600)

    printed, _ = start(tmp_path, ANON_KEY="anon")

    assert f"database     {tmp_path}/walkthrough.db" in printed
    assert "Create a user who may do everything" in printed


def children(server: subprocess.Popen[str]) -> set[str]:
    return set(Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split())


def test_introduction_is_printed_once_and_when_the_service_answers(tmp_path):
    environ = environ_for(tmp_path, ANON_KEY="anon")
    with starting(environ, tmp_path) as server:
        answer = httpx.get(f"http://127.0.0.1:{environ['PORT']}/live", timeout=SECONDS_MAX)
        before = children(server)
        server.send_signal(signal.SIGHUP)  # starts new workers
        until(lambda: len(children(server)) == 2 and not before & children(server))
    printed = (tmp_path / "output").read_text()

    assert answer.status_code == 200
    assert printed.count("This database is new") == 1
    assert printed.count(f"Walkthrough  http://127.0.0.1:{environ['PORT']}\n") == 1


def test_lock_that_is_not_a_file_is_reported_in_one_line(tmp_path):
    (tmp_path / "walkthrough.db.serving").symlink_to(tmp_path / "elsewhere")

    done = subprocess.run(
        [sys.executable, "-m", "serving"],
        cwd=PROJECT, env=environ_for(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("walkthrough: ")
    assert "Traceback" not in done.stderr


def test_no_connection_is_opened_to_an_address_of_another_machine(monkeypatch):
    def refuse_address(host: str, port: int) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    def ask(host: str, port: int) -> bool:
        raise AssertionError("a connection to another machine was opened")

    monkeypatch.setattr(checks, "_bind", refuse_address)
    monkeypatch.setattr(checks, "_is_answered", ask)

    with pytest.raises(checks.StartRefused) as refusal:
        checks.refuse_taken_addresses([("192.0.2.1", 80)])

    assert str(refusal.value) == "cannot listen at 192.0.2.1:80: Cannot assign requested address"


def test_abbreviated_option_is_refused(capsys):
    """argparse would accept `--dem` for `--demo`."""
    with pytest.raises(SystemExit) as end:
        launcher._read(["--dem"])

    assert end.value.code == 2
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: --dem\n")


def test_output_that_the_locale_cannot_encode_is_escaped(tmp_path):
    printed, _ = start(tmp_path, ANON_KEY="anon", HOST="unix:" + str(tmp_path / "socket"), PYTHONIOENCODING="latin-1")

    assert "console      https://\\u2026/console/\n" in printed


@pytest.mark.parametrize(
    ("more", "count"),
    [({}, 1), ({"ANON_KEY": "anon"}, 0), ({"SERVICE_KEY": "k" * 40}, 0), ({"REQUIRE_APIKEY": "0"}, 0)],
    ids=["none", "public", "service", "not-required"],
)
def test_start_without_an_api_key_warns(tmp_path, more, count):
    _, errors = start(tmp_path, **more)

    assert errors.count(NO_API_KEY_WARNING) == errors.count('"warning"') == count


@pytest.mark.parametrize(
    ("changes", "console"),
    [
        ({"HOST": "::1", "PORT": "81", "URL_PREFIX": "/site/"}, "console      http://[::1]:81/site/console/\n"),
        ({"HOST": "unix:/run/nowhere.sock"}, "console      https://…/console/\n"),
    ],
)
def test_printed_url_has_the_prefix(tmp_path, changes, console):
    printed = introduce(environ_for(tmp_path, ANON_KEY="anon", **changes))

    assert console in printed
    assert ("listening    unix:/run/nowhere.sock" in printed) is changes["HOST"].startswith("unix:")


def introduce(environ: dict[str, str], *, is_first: bool = False) -> str:
    return introduction.compose(config.load(None, environ), environ, is_first=is_first)


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("folder", ["data", "it's $HOME & 100% ü"])
def test_printed_command_creates_the_user_in_the_served_database(tmp_path, monkeypatch, folder, is_first):
    (tmp_path / folder).mkdir(mode=0o700)
    environ = environ_for(tmp_path, ANON_KEY="a" * 40, DATABASE_URL=file_url(tmp_path / folder / "own.db"))
    printed = introduce(environ, is_first=is_first)
    [command] = [line for line in printed.splitlines() if "create-user" in line]
    monkeypatch.setenv("SECRET_KEY", SECRET)
    monkeypatch.delenv("DATABASE_URL", raising=False)

    words = command.replace(".venv/bin/flask", f"{shlex.quote(sys.executable)} -m flask") + " --password -"
    subprocess.run(["bash", "-c", words], cwd=PROJECT, capture_output=True, text=True, check=True)

    with closing(sqlite.driver.connect(tmp_path / folder / "own.db")) as connection:
        assert connection.execute("SELECT email FROM users").fetchall() == [("you@example.org",)]


def test_passwords_of_the_demonstration_are_printed_again(monkeypatch, capsys):
    called: list[str] = []

    def flask(_: object, command: str, *emails: str) -> str:
        called.append(command)
        return "\n".join(f"{email} new-password-{place}" for place, email in enumerate(emails))

    monkeypatch.setattr(demo, "flask", flask)
    monkeypatch.setattr(config, "set_environment", lambda **_: None)
    monkeypatch.setattr(launcher, "Service", None)  # nothing is served

    launcher.main(["--demo", "--passwords"])

    printed = capsys.readouterr().out
    assert called == ["new-passwords"]
    assert all(f"new-password-{place}" in printed for place in range(4))


def test_failed_import_of_the_demonstration_ends_the_start(monkeypatch):
    """The hook at the exit releases the lock of the database, which was checked."""

    def fail(*_: object) -> str:
        raise checks.CommandFailed("flask import: the disk is full")

    called: list[str] = []
    service = object.__new__(launcher.Service)
    service.is_demo, service.environ = True, {}
    monkeypatch.setattr(demo, "introduce_all", fail)
    monkeypatch.setattr(config, "current_settings", dict)

    with pytest.raises(SystemExit) as end:
        service._introduce(
            None, {"on_starting": lambda _: called.append("checked"), "on_exit": lambda _: called.append("released")}
        )

    assert end.value.code == "walkthrough: flask import: the disk is full"
    assert called == ["checked", "released"]

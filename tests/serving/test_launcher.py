"""`bin/serve` before it executes gunicorn: refused starts and warnings."""

from __future__ import annotations

import errno
import io
import os
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from config import PROJECT
from engine.schema import migrations
from engine.storage import sqlite
from engine.storage.server_lock import ServingLock
from serving import __main__ as launcher
from serving.start import checks as start
from tests.support.applications import open_app, reused_app
from tests.support.ports import free_port

pytestmark = pytest.mark.slow

SECRET = "s" * 40
NO_API_KEY_WARNING = "walkthrough: warning: all requests are refused"


def environ_for(directory: Path, **more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    file = directory / "walkthrough.db"
    return {**kept, "DATABASE_URL": f"sqlite:///{file}", "SECRET_KEY": SECRET, "PORT": str(free_port()), **more}


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


def create_wal_database(file: Path) -> None:
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


@pytest.mark.parametrize("create", [open_app, create_wal_database, Path.touch], ids=["ours", "plain", "empty"])
def test_usable_file_is_served(tmp_path, monkeypatch, capsys, create):
    create(tmp_path / "walkthrough.db")

    launch(tmp_path, monkeypatch, ANON_KEY="anon")

    assert f"database     {tmp_path}/walkthrough.db" in capsys.readouterr().out


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

    monkeypatch.setattr(start, "_bind", refuse_address)
    monkeypatch.setattr(start, "_is_answered", ask)

    with pytest.raises(start.StartRefused) as refusal:
        start.refuse_taken_addresses([("192.0.2.1", 80)])

    assert str(refusal.value) == "cannot listen at 192.0.2.1:80: Cannot assign requested address"


class GunicornExecuted(Exception):
    """The launcher executed gunicorn."""


def launch(directory: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    """Run the launcher over an existing file until it executes gunicorn."""

    def execve(*words: object) -> None:
        raise GunicornExecuted

    (directory / "walkthrough.db").touch()
    for name in ("ANON_KEY", "SERVICE_KEY", "REQUIRE_APIKEY", "HOST", "LOG_LEVEL", "URL_PREFIX"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ_for(directory, **more).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(start, "SILENT_SECONDS_MAX", 60.0)
    monkeypatch.chdir(directory)
    with pytest.raises(GunicornExecuted):
        launcher.main([])


def test_abbreviated_option_is_refused(capsys):
    """argparse would accept `--dem` for `--demo`."""
    with pytest.raises(SystemExit) as end:
        launcher._environ(["--dem"])

    assert end.value.code == 2
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: --dem\n")


def test_output_that_the_locale_cannot_encode_is_escaped(tmp_path, monkeypatch):
    message = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(message, encoding="latin-1"))

    launch(tmp_path, monkeypatch, ANON_KEY="anon")

    assert b'"password": "\\u2026"' in message.getvalue()


def test_start_without_an_api_key_warns(tmp_path, monkeypatch, capsys):
    launch(tmp_path, monkeypatch)

    message = capsys.readouterr().err
    assert message.startswith(NO_API_KEY_WARNING)
    assert message.count("\n") == 1


@pytest.mark.parametrize("more", [{"ANON_KEY": "anon"}, {"SERVICE_KEY": "k" * 40}, {"REQUIRE_APIKEY": "0"}])
def test_start_with_an_api_key_prints_no_warning(tmp_path, monkeypatch, capsys, more):
    launch(tmp_path, monkeypatch, **more)

    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("changes", "console"),
    [
        ({"HOST": "::1", "PORT": "81", "URL_PREFIX": "/site/"}, "console      http://[::1]:81/site/console/\n"),
        ({"HOST": "unix:/run/nowhere.sock"}, "console      https://…/console/\n"),
    ],
)
def test_printed_url_has_the_prefix(tmp_path, monkeypatch, capsys, changes, console):
    monkeypatch.setattr(start, "refuse_taken_addresses", list)

    launch(tmp_path, monkeypatch, ANON_KEY="anon", **changes)

    printed = capsys.readouterr().out
    assert console in printed
    assert ("listening    unix:/run/nowhere.sock" in printed) is changes["HOST"].startswith("unix:")

"""`bin/serve` before gunicorn takes its place: what it refuses, and what it warns of."""

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
from engine.maintenance.migrations import schema_version
from engine.storage import sqlite
from engine.storage.server_lock import ServingLock
from serving import __main__ as launcher
from serving.start import checks as start
from tests.support.applications import lent_app, open_app
from tests.support.ports import free_port

SECRET = "s" * 40
WARNING = "walkthrough: warning: all requests are refused"


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
def test_what_is_wrong_is_told_in_one_line_before_anything_else(tmp_path, changes, message):
    done = subprocess.run(
        [sys.executable, "-m", "serving"],
        cwd=PROJECT, env=environ_for(tmp_path, **changes), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("walkthrough: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_database_that_is_served_is_told_before_anything_else(tmp_path):
    environ = environ_for(tmp_path)
    lock = ServingLock.take(tmp_path / "walkthrough.db")

    done = subprocess.run(
        [sys.executable, "-m", "serving"],
        cwd=PROJECT, env=environ, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lock.release()

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.endswith("walkthrough.db is being served by another process\n")


def foreign(file: Path) -> None:
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute("CREATE TABLE theirs (a)")


def newer(file: Path) -> None:
    with lent_app(file):  # its connections are closed: the last connection to close writes the log into the file
        pass
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute("PRAGMA user_version = 10000")


def development(file: Path) -> None:
    with lent_app(file):  # its connections are closed: the last connection to close writes the log into the file
        pass
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute(f"PRAGMA application_id = {sqlite.DEVELOPMENT_APPLICATION_ID}")


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (foreign, "is another program's database"),
        (development, "was made by a development version from before 0.1.0"),
        (newer, "was made by a later version"),
        (lambda file: file.write_bytes(b"nonsense" * 100), "is not a sound SQLite database"),
        (lambda file: file.symlink_to(file.with_name("elsewhere")), "is not a regular file"),
        (lambda file: file.mkdir(), "is not a regular file"),
    ],
    ids=["foreign", "development", "newer", "garbage", "link", "directory"],
)
def test_a_file_that_is_not_served_is_told_in_one_line_and_nothing_else_is(tmp_path, make, told):
    make(tmp_path / "walkthrough.db")

    done = subprocess.run(
        [sys.executable, "-m", "serving"],
        cwd=PROJECT, env=environ_for(tmp_path, ANON_KEY="a" * 40), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (done.returncode != 0, done.stdout) == (True, "")
    assert done.stderr.startswith("walkthrough: ")
    assert told in done.stderr
    assert done.stderr.count("\n") == 1


def plain(file: Path) -> None:
    with closing(sqlite.driver.connect(file)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")


@pytest.mark.parametrize("make", [open_app, plain, Path.touch], ids=["ours", "plain", "empty"])
def test_a_file_that_may_be_served_looks_like_it(tmp_path, make):
    make(tmp_path / "walkthrough.db")

    assert start.may_be_served(tmp_path / "walkthrough.db")


def test_the_launcher_knows_the_application_id_and_the_schema_version():
    assert (sqlite.APPLICATION_ID, schema_version()) == (start.APPLICATION_ID, start.SCHEMA_VERSION)


def test_a_lock_that_is_no_file_is_told_in_one_line(tmp_path):
    (tmp_path / "walkthrough.db.serving").symlink_to(tmp_path / "elsewhere")

    done = subprocess.run(
        [sys.executable, "-m", "serving"],
        cwd=PROJECT, env=environ_for(tmp_path), capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("walkthrough: ")
    assert "Traceback" not in done.stderr


def test_an_address_of_another_machine_is_not_asked_who_answers_there(monkeypatch):
    def is_of_another(host: str, port: int) -> None:
        raise OSError(errno.EADDRNOTAVAIL, "Cannot assign requested address")

    def ask(host: str, port: int) -> bool:
        raise AssertionError("another machine was asked")

    monkeypatch.setattr(start, "_bind", is_of_another)
    monkeypatch.setattr(start, "_is_answered", ask)

    with pytest.raises(start.StartRefused) as refusal:
        start.refuse_taken_addresses([("192.0.2.1", 80)])

    assert str(refusal.value) == "cannot listen at 192.0.2.1:80: Cannot assign requested address"


class Served(Exception):
    """gunicorn was to take the launcher's place."""


def launched(directory: Path, monkeypatch: pytest.MonkeyPatch, **more: str) -> None:
    """Start over a file that is there already, up to where gunicorn begins."""

    def execve(*words: object) -> None:
        raise Served

    (directory / "walkthrough.db").touch()
    for name in ("ANON_KEY", "SERVICE_KEY", "REQUIRE_APIKEY", "HOST", "LOG_LEVEL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environ_for(directory, **more).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.chdir(directory)
    with pytest.raises(Served):
        launcher.main([])


def test_an_option_that_is_cut_short_is_no_option(capsys):
    """`--dem` had the demo's database served, and nothing said of its people."""
    with pytest.raises(SystemExit) as end:
        launcher._environ(["--dem"])

    assert end.value.code == 2
    assert capsys.readouterr().err.endswith("error: unrecognized arguments: --dem\n")


def test_what_a_locale_has_no_letters_for_is_no_reason_not_to_serve(tmp_path, monkeypatch):
    told = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(told, encoding="latin-1"))

    launched(tmp_path, monkeypatch, ANON_KEY="anon")

    assert b'"password": "\\u2026"' in told.getvalue()


def test_that_nobody_can_ask_is_told_at_the_start(tmp_path, monkeypatch, capsys):
    launched(tmp_path, monkeypatch)

    told = capsys.readouterr().err
    assert told.startswith(WARNING)
    assert told.count("\n") == 1


@pytest.mark.parametrize("more", [{"ANON_KEY": "anon"}, {"SERVICE_KEY": "k" * 40}, {"REQUIRE_APIKEY": "0"}])
def test_where_somebody_can_ask_nothing_is_told(tmp_path, monkeypatch, capsys, more):
    launched(tmp_path, monkeypatch, **more)

    assert capsys.readouterr().err == ""

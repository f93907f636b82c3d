"""A file that cannot be made, or brought up to date: one line says so, and the next start goes on from there."""

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import NotStarted
from engine.maintenance import check
from engine.maintenance.migrations import migrate
from engine.storage import file_copies as copies
from engine.storage import sqlite
from engine.storage.writer_lock import LockTimeout
from tests.durability import shim
from tests.durability.served import Served
from tests.support.applications import open_app

WRITE = 1


def refusal(file: Path) -> str:
    """What is said of a file that cannot be used."""
    with pytest.raises(NotStarted) as refused:
        open_app(file)
    assert "\n" not in refused.value.message
    return refused.value.message


def test_a_place_below_a_file_is_named(tmp_path):
    (tmp_path / "file").touch()
    file = tmp_path / "file" / "a.db"

    run = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["copy", "--to", f"sqlite:///{file}"])

    assert run.exit_code == 1
    assert run.output == f"walkthrough: {file} cannot be made: Not a directory\n"


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_no_new_file_is_made_beside_a_log(tmp_path, end):
    """What was acknowledged may be in it, and SQLite would take the log of an empty file away."""
    file, log = tmp_path / "a.db", tmp_path / f"a.db{end}"
    log.write_bytes(b"pages")

    assert refusal(file) == (f"{file} does not exist, but its log {log} does: put the file back, or move the log away")

    assert log.read_bytes() == b"pages"
    assert not file.exists()
    log.write_bytes(b"")
    open_app(file)


def test_a_directory_that_is_not_there_is_named(tmp_path):
    file = tmp_path / "nowhere" / "a.db"

    run = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["copy", "--to", f"sqlite:///{file}"])

    assert run.exit_code == 1
    assert run.output == f"walkthrough: {file} cannot be made: No such file or directory\n"


@pytest.mark.parametrize(
    "url",
    ["postgres://u:secret@h/d", "mysql://h/d", "postgresql+psycopg://u:secret@h:abc/d", "nonsense",
     "sqlite://", "sqlite:///:memory:", "sqlite://host/a.db", "sqlite:///a.db?b=c", "sqlite+a:///a.db"],
)  # fmt: skip
def test_words_that_name_no_database_are_told_what_does(tmp_path, url):
    run = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["copy", "--to", url])

    assert run.exit_code == 1
    assert run.output == (
        "walkthrough: a database's URL begins with sqlite:/// and a path, or with postgresql+psycopg://\n"
    )


def test_what_is_in_memory_is_no_database(monkeypatch, tmp_path):
    monkeypatch.setattr("tests.support.databases.url", lambda file: "sqlite://")

    assert refusal(tmp_path / "a.db") == ("DATABASE_URL names no file, and a database in memory is not durable")


def test_a_postgresql_without_its_driver_is_told_what_it_needs(monkeypatch, tmp_path):
    def missing(name: str) -> object:
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    monkeypatch.setattr("tests.support.databases.url", lambda file: "postgresql://h/d")
    monkeypatch.setattr("engine.attach.importlib.import_module", missing)

    assert refusal(tmp_path / "a.db") == (
        "PostgreSQL needs the packages of requirements/postgres.txt: No module named 'psycopg'"
    )


def test_a_file_that_may_not_be_made_is_named(monkeypatch, tmp_path):
    def fail(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(check, "make_file", fail)

    assert refusal(tmp_path / "a.db") == f"{tmp_path}/a.db cannot be made: Permission denied"


@pytest.mark.parametrize("at", [1, 3, 30])
def test_a_disk_that_fills_up_while_the_tables_are_made_is_told_in_one_line(served: Served, at: int) -> None:
    served.database.unlink()
    control = shim.Control(served.directory.parent / "control")
    watched = served.directory.parent / "control"
    served.watched = shim.environment(served.directory, control=watched)

    with control.failing(WRITE, errno.ENOSPC, at, once=False):
        run = served.command("check", "--scan", "none")

    assert control[shim.Word.FAILED], "the control works"
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"Error: {served.database} cannot be used: no space left on the device\n"
    assert served.command("check").returncode == 0, "the next start goes on"


@pytest.mark.parametrize(
    ("free", "flag", "told"),
    [
        pytest.param(0, 0, "no space left on the device", id="full"),
        pytest.param(4_096, os.ST_RDONLY, "the disk is read-only", id="read-only"),
        pytest.param(4_096, 0, "the disk failed", id="neither"),
    ],
)
def test_a_disk_that_takes_no_file_beside_the_database_is_told_as_what_it_is(
    base_file, tmp_path, monkeypatch, free, flag, told
):
    """SQLite, which makes one before it reads, says of each of them that there was an I/O error."""
    file = tmp_path / "a.db"
    shutil.copy(base_file, file)
    file.chmod(0o600)
    disk = SimpleNamespace(f_bavail=free, f_frsize=4_096, f_flag=flag)
    monkeypatch.setattr(os, "statvfs", lambda path: disk)

    def fail(engine: object) -> None:
        raise sqlite.driver.OperationalError("disk I/O error")

    monkeypatch.setattr("sqlalchemy.Engine.raw_connection", fail)

    assert refusal(file) == f"{file} cannot be used: {told}"


@pytest.fixture
def older(base_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that would have to be brought up to date."""
    file = tmp_path / "walkthrough.db"
    shutil.copy(base_file, file)
    file.chmod(0o600)
    monkeypatch.setattr(check, "schema_state", lambda transaction, path: "older")
    return file


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        pytest.param(copies.UnsoundCopy("row 5 missing"), "row 5 missing", id="unsound"),
        pytest.param(sqlite.driver.OperationalError("database or disk is full"), "is full", id="driver"),
        pytest.param(LockTimeout(), "due to lock timeout", id="lock"),
        pytest.param(sqlite.WrongSetting("PRAGMA a is b, not c"), "is b, not c", id="setting"),
        pytest.param(OSError(28, "No space\nleft on device"), "No space left", id="system"),
        pytest.param(migrate.MigrationFailed("it stays at schema 1"), "stays at", id="step"),
    ],
)
def test_a_file_that_cannot_be_brought_up_to_date_is_told_in_one_line(older, monkeypatch, fault, told):
    def fail(path: Path, turns: object) -> int:
        raise fault

    monkeypatch.setattr(migrate, "migrate", fail)

    assert told in refusal(older)

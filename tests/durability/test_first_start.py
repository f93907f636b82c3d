"""A file that cannot be created or migrated is reported in one line. The next start resumes."""

import errno
import os
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import NotStarted
from engine.interface.database import LockTimeout
from engine.maintenance import check, migrate
from engine.storage import file_copies, sqlite
from tests.durability import shim
from tests.durability.served import Served
from tests.support.applications import open_app

WRITE = 1


def refusal(file: Path) -> str:
    """Return the error of a start with a file that cannot be used."""
    with pytest.raises(NotStarted) as refused:
        open_app(file)
    assert "\n" not in refused.value.message
    return refused.value.message


def test_path_below_a_file_is_reported(tmp_path):
    (tmp_path / "file").touch()
    file = tmp_path / "file" / "a.db"

    run = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["copy", "--to", f"sqlite:///{file}"])

    assert run.exit_code == 1
    assert run.output == f"walkthrough: {file} cannot be made: Not a directory\n"


@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_no_database_is_created_beside_a_log(tmp_path, end):
    """The log may hold acknowledged writes, and SQLite would delete the log of an empty file."""
    file, log = tmp_path / "a.db", tmp_path / f"a.db{end}"
    log.write_bytes(b"pages")

    assert refusal(file) == (f"{file} does not exist, but its log {log} does: put the file back, or move the log away")

    assert log.read_bytes() == b"pages"
    assert not file.exists()
    log.write_bytes(b"")
    open_app(file)


def test_missing_directory_is_reported(tmp_path):
    file = tmp_path / "nowhere" / "a.db"

    run = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["copy", "--to", f"sqlite:///{file}"])

    assert run.exit_code == 1
    assert run.output == f"walkthrough: {file} cannot be made: No such file or directory\n"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("postgres://u:secret@h/d", "--to begins with sqlite:/// or postgresql+psycopg://, not with postgres://"),
        ("mysql://h/d", "--to begins with sqlite:/// or postgresql+psycopg://, not with mysql://"),
        ("postgresql+psycopg://u:secret@h:abc/d", "--to is not a database URL"),
        ("nonsense", "--to is not a database URL"),
        ("sqlite://", "DATABASE_URL names no file, and a database in memory is not durable"),
        ("sqlite:///:memory:", "DATABASE_URL names no file, and a database in memory is not durable"),
        ("sqlite://host/a.db", "--to takes a path after sqlite:///, and nothing else"),
        ("sqlite:///a.db?b=c", "--to takes a path after sqlite:///, which has no ? in it"),
    ],
)
def test_invalid_url_of_a_copy_is_reported_without_its_password(tmp_path, url, message):
    run = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["copy", "--to", url])

    assert run.exit_code == 1
    assert run.output == f"walkthrough: {message}\n"


def test_relative_path_of_a_copy_is_relative_to_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    run = open_app(tmp_path / "a.db").test_cli_runner().invoke(args=["copy", "--to", "sqlite:///b.db"])

    assert (run.exit_code, (tmp_path / "b.db").exists()) == (0, True)


def test_in_memory_database_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr("tests.support.databases.url", lambda file: "sqlite://")

    assert refusal(tmp_path / "a.db") == ("DATABASE_URL names no file, and a database in memory is not durable")


def test_missing_postgresql_driver_is_reported(monkeypatch, tmp_path):
    def missing(name: str) -> object:
        raise ModuleNotFoundError("No module named 'psycopg'", name="psycopg")

    monkeypatch.setattr("tests.support.databases.url", lambda file: "postgresql://h/d")
    monkeypatch.setattr("engine.open.importlib.import_module", missing)

    assert refusal(tmp_path / "a.db") == (
        "PostgreSQL needs the packages of requirements/postgres.txt: No module named 'psycopg'"
    )


def test_file_without_permission_to_create_is_reported(monkeypatch, tmp_path):
    def fail(path: Path) -> None:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(check, "make_file", fail)

    assert refusal(tmp_path / "a.db") == f"{tmp_path}/a.db cannot be made: Permission denied"


@pytest.mark.parametrize("at", [1, 3, 30])
def test_disk_full_during_schema_creation_is_reported_in_one_line(served: Served, at: int) -> None:
    served.database.unlink()
    control = shim.Control(served.directory.parent / "control")
    watched = served.directory.parent / "control"
    served.watched = shim.environment(served.directory, control=watched)

    with control.failing(WRITE, errno.ENOSPC, at, once=False):
        run = served.command("check", "--scan", "none")

    assert control[shim.ControlWord.FAILED], "the control injects failures"
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"Error: {served.database} cannot be used: no space left on the device\n"
    assert served.command("check").returncode == 0, "the next start resumes"


@pytest.mark.parametrize(
    ("free", "flag", "reason"),
    [
        pytest.param(0, 0, "no space left on the device", id="full"),
        pytest.param(4_096, os.ST_RDONLY, "the disk is read-only", id="read-only"),
        pytest.param(4_096, 0, "the disk failed", id="neither"),
    ],
)
def test_disk_that_cannot_create_files_is_reported_by_its_cause(base_file, tmp_path, monkeypatch, free, flag, reason):
    """SQLite creates such a file before it reads, and reports an I/O error in each case."""
    file = tmp_path / "a.db"
    shutil.copy(base_file, file)
    file.chmod(0o600)
    disk = SimpleNamespace(f_bavail=free, f_frsize=4_096, f_flag=flag)
    monkeypatch.setattr(os, "statvfs", lambda path: disk)

    def fail(path: Path, *, writable: bool) -> None:
        raise sqlite.driver.OperationalError("disk I/O error")

    monkeypatch.setattr("engine.storage.sqlite.connect", fail)

    assert refusal(file) == f"{file} cannot be used: {reason}"


@pytest.fixture
def outdated_file(base_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that has to be migrated."""
    file = tmp_path / "walkthrough.db"
    shutil.copy(base_file, file)
    file.chmod(0o600)
    monkeypatch.setattr(check, "schema_state", lambda transaction, path: "older")
    return file


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        pytest.param(file_copies.UnsoundCopy("row 5 missing"), "row 5 missing", id="unsound"),
        pytest.param(sqlite.driver.OperationalError("database or disk is full"), "is full", id="driver"),
        pytest.param(LockTimeout(), "due to lock timeout", id="lock"),
        pytest.param(sqlite.WrongSetting("PRAGMA a is b, not c"), "is b, not c", id="setting"),
        pytest.param(OSError(28, "No space\nleft on device"), "No space left", id="system"),
        pytest.param(migrate.MigrationFailed("it stays at schema 1"), "stays at", id="step"),
    ],
)
def test_failed_migration_is_reported_in_one_line(outdated_file, monkeypatch, fault, reason):
    def fail(path: Path, writer_lock: object) -> int:
        raise fault

    monkeypatch.setattr(migrate, "migrate", fail)

    assert reason in refusal(outdated_file)

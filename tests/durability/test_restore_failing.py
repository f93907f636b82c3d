"""A failing restore leaves the current database and its WAL as they were.

A program that opens the database during a restore leaves no WAL beside the new file.
"""

import errno
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engine.interface.clock import Clock
from engine.maintenance import backup
from engine.maintenance.check import MaintenanceError
from engine.storage import file_copies
from engine.storage.sqlite import driver
from tests.durability import shim
from tests.durability.served import PROJECT, Served
from tests.durability.test_power_cuts import SEED, file_problems

WRITE, SYNC = 1, 2
MALFORMED = driver.DatabaseError("database disk image is malformed")


@pytest.fixture
def database_file(base_file: Path, tmp_path: Path) -> Path:
    """A database alone in its directory. The backup is in the parent directory."""
    directory = tmp_path / "place"
    directory.mkdir()
    database = directory / shim.DATABASE
    shutil.copy(base_file, database)
    database.chmod(0o600)
    backup.back_up(database, backup_file(database))
    return database


def backup_file(database_file: Path) -> Path:
    return database_file.parent.parent / "kept.backup"


def statement(file: Path, sql: str) -> list[tuple]:
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        return connection.execute(sql).fetchall()


def inspector_names(database: Path) -> list[str]:
    return [row[0] for row in statement(database, "SELECT name FROM inspectors ORDER BY id")]


def write_to_wal_only(database: Path, name: str) -> None:
    """Write as a killed server does: the acknowledged write is only in the WAL."""
    log = database.with_name(f"{database.name}-wal")
    with closing(driver.connect(str(database), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        before = database.read_bytes()
        connection.execute("UPDATE inspectors SET name = ?", (name,))
        written = log.read_bytes()
    database.write_bytes(before)
    log.write_bytes(written)


def files_beside(database_file: Path) -> list[str]:
    """Return the names of the files beside a database, except the lock files."""
    names = {each.name for each in database_file.parent.iterdir()}
    return sorted(names - {database_file.name, f"{database_file.name}.lock", f"{database_file.name}.serving"})


def run_on_failing_disk(served: Served, failure: tuple[int, int, int], *words: str) -> subprocess.CompletedProcess:
    """Run a command on a failing disk (kind of call, errno, first failure). Assert that it reports one line."""
    control = shim.Control(served.directory.parent / "control")
    served.watched = shim.environment(served.directory, control=served.directory.parent / "control")
    with control.failing(*failure, once=False):
        run = served.command(*words)
    assert control[shim.ControlWord.FAILED], "the control injects failures"
    assert run.returncode == 1, run.stdout
    assert run.stderr.count("\n") == 1, run.stderr
    return run


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        pytest.param(WRITE, errno.ENOSPC, id="full"),
        pytest.param(WRITE, errno.EIO, id="write"),
        pytest.param(SYNC, errno.EIO, id="sync"),
    ],
)
def test_restore_is_refused_if_the_wal_cannot_be_checkpointed(served: Served, kind: int, number: int) -> None:
    made = served.directory.parent / "made.backup"
    backup.back_up(served.database, made)
    write_to_wal_only(served.database, "acknowledged")

    run = run_on_failing_disk(served, (kind, number, 1), "restore", str(made))

    assert f"the log of {served.database} cannot be checkpointed: " in run.stderr
    assert set(inspector_names(served.database)) == {"acknowledged"}


def test_failed_rename_of_a_restore_loses_nothing(database_file, monkeypatch):
    write_to_wal_only(database_file, "acknowledged")
    with failing_rename(database_file, monkeypatch), pytest.raises(MaintenanceError) as refusal:
        backup.restore(backup_file(database_file), database_file, Clock())

    assert str(refusal.value) == f"{backup_file(database_file)} cannot be restored: Input/output error"
    assert set(inspector_names(database_file)) == {"acknowledged"}
    assert files_beside(database_file) == []


@contextmanager
def failing_rename(database_file: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Make every rename to the database's name fail."""
    replace = Path.replace

    def fail(draft: Path, target: Path) -> Path:
        if target == database_file:
            raise OSError(errno.EIO, os.strerror(errno.EIO), str(target))
        return replace(draft, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", fail)
        yield


@contextmanager
def raise_malformed(path: Path) -> Iterator[None]:
    raise MALFORMED
    yield


def test_failed_restore_puts_back_the_wal_of_a_damaged_file(database_file, monkeypatch):
    write_to_wal_only(database_file, "acknowledged")
    log = database_file.with_name(f"{database_file.name}-wal")
    before = log.read_bytes()
    monkeypatch.setattr(file_copies, "held", raise_malformed)

    with failing_rename(database_file, monkeypatch), pytest.raises(MaintenanceError):
        backup.restore(backup_file(database_file), database_file, Clock())

    assert log.read_bytes() == before
    assert files_beside(database_file) == [log.name]


def test_restore_removes_the_wal_of_a_damaged_file(database_file, monkeypatch):
    names = inspector_names(backup_file(database_file))
    write_to_wal_only(database_file, "acknowledged")
    monkeypatch.setattr(file_copies, "held", raise_malformed)

    backup.restore(backup_file(database_file), database_file, Clock())

    assert files_beside(database_file) == []
    assert inspector_names(database_file) == names


SCRIPT = """
import sys
from pathlib import Path
from engine.maintenance import backup
from engine.interface.clock import Clock
from engine.storage import file_copies as copies
from tests.durability import test_restore_failing

copies.held = test_restore_failing.raise_malformed
backup.restore(Path(sys.argv[1]), Path(sys.argv[2]), Clock())
"""


def test_power_cut_leaves_the_old_file_with_wal_or_the_new_one_without(database_file):
    """The WAL stays with the damaged file, under its own name or another one, and never beside the new file."""
    write_to_wal_only(database_file, "acknowledged")
    log, old = database_file.with_name(f"{database_file.name}-wal").read_bytes(), database_file.read_bytes()
    disk, shim_log = shim.Disk(database_file.parent), database_file.parent.parent / "cut.log"
    subprocess.run(
        [sys.executable, "-c", SCRIPT, str(backup_file(database_file)), str(database_file)],
        cwd=PROJECT, env={**os.environ, **shim.environment(database_file.parent, shim_log)}, check=True,
    )  # fmt: skip

    records, dice, at, seen = shim.records(shim_log), random.Random(SEED), 0, set()
    for number, moment in enumerate(sorted(dice.choices(range(len(records) + 1), k=200))):
        for record in records[at:moment]:
            disk.replay(record)
        at = moment
        left = shim.empty_directory(database_file.parent.parent / "left")
        disk.cut(random.Random(SEED * 1_000_003 + number), left)
        logs = {each.name: each.read_bytes() for each in left.glob(f"*{database_file.name}-wal*")}
        is_old = (left / database_file.name).read_bytes() == old
        if is_old:
            assert list(logs.values()) == [log], f"seed {SEED}, cut {number}"
        else:
            assert f"{database_file.name}-wal" not in logs, f"seed {SEED}, cut {number}"
            assert file_problems(left, set(), starts=False) == [], f"seed {SEED}, cut {number}"
        seen.add(is_old)
    assert seen == {True, False}


def test_reader_during_a_restore_is_locked_out_and_leaves_no_wal(database_file, monkeypatch):
    names, replace, found = inspector_names(database_file), Path.replace, []
    write_to_wal_only(database_file, "acknowledged")
    late: list = []

    def opened_meanwhile(draft: Path, target: Path) -> Path:
        if target == database_file:
            with closing(driver.connect(str(database_file), timeout=0)) as reader:
                with pytest.raises(driver.OperationalError) as refusal:
                    reader.execute("SELECT count(*) FROM users").fetchall()
                found.append(str(refusal.value))
            late.append(driver.connect(str(database_file), isolation_level=None))
        return replace(draft, target)

    monkeypatch.setattr(Path, "replace", opened_meanwhile)
    backup.restore(backup_file(database_file), database_file, Clock())
    monkeypatch.undo()

    assert found == ["database is locked"]
    with closing(late.pop()) as reader:
        assert reader.execute("SELECT DISTINCT name FROM inspectors").fetchall() == [("acknowledged",)]
        with pytest.raises(driver.OperationalError, match="readonly"):
            reader.execute("PRAGMA journal_mode = WAL").fetchall()
    assert files_beside(database_file) == []
    assert inspector_names(database_file) == names


def test_reader_before_the_exclusive_lock_prevents_the_restore(database_file, monkeypatch):
    """A program can start another WAL between the last checkpoint and the exclusive lock."""
    monkeypatch.setattr("engine.storage.sqlite.BUSY_MILLISECONDS", 50)
    readers = []

    class Connection(driver.Connection):
        def execute(self, sql: str, *parameters: object) -> object:
            if sql == "BEGIN EXCLUSIVE":
                readers.append(driver.connect(str(database_file), isolation_level=None))
                readers[0].execute("PRAGMA journal_mode = WAL").fetchall()
                readers[0].execute("SELECT count(*) FROM users").fetchall()
            return super().execute(sql, *parameters)

    connect = driver.connect
    monkeypatch.setattr(
        file_copies.sqlite.driver,
        "connect",
        lambda *words, **more: (
            connect(*words, **more, factory=Connection) if "mode=rw" in words[0] else connect(*words, **more)
        ),
    )  # fmt: skip

    with pytest.raises(MaintenanceError, match="is in use by another program"):
        backup.restore(backup_file(database_file), database_file, Clock())
    for reader in readers:
        reader.close()

    assert len(readers) == 1


def test_restore_with_unsynced_directory_is_reported(database_file, monkeypatch):
    names, sync = inspector_names(database_file), backup.sync

    def fail(path: Path) -> None:
        if path == database_file.parent and not list(database_file.parent.glob(".*")):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        sync(path)

    monkeypatch.setattr(backup, "sync", fail)
    with pytest.raises(MaintenanceError, match="is restored, but a power cut may bring back"):
        backup.restore(backup_file(database_file), database_file, Clock())

    assert inspector_names(database_file) == names


@pytest.mark.parametrize("at", ["2025-03-0q", "", "0001-01-01T00:00:00"])
def test_clock_after_restore_uses_file_time_if_last_timestamp_is_damaged(database_file, at):
    statement(backup_file(database_file), f"UPDATE audit_context SET at = '{at}'")
    tomorrow = time.time() + 86_400
    os.utime(backup_file(database_file), (tomorrow, tomorrow))
    clock = Clock()

    backup.restore(backup_file(database_file), database_file, clock)

    assert clock() == pytest.approx(tomorrow, abs=1)
    stored = statement(database_file, "SELECT unixepoch(at) FROM audit_context")
    assert stored == [(pytest.approx(tomorrow, abs=1),)]


def test_copy_that_cannot_be_created_is_reported(database_file, monkeypatch):
    names = inspector_names(database_file)
    monkeypatch.setattr(file_copies.secrets, "token_hex", lambda count: "f" * 300)

    with pytest.raises(MaintenanceError, match=r"cannot be restored: File name too long$"):
        backup.restore(backup_file(database_file), database_file, Clock())

    assert inspector_names(database_file) == names

"""Backups: complete snapshots of one moment, also during writes (figure 10)."""

import errno
import os
import random
import shutil
import stat
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from engine.maintenance import backup
from engine.maintenance.check import MaintenanceError
from engine.storage.database import SqliteDatabase
from engine.storage.sqlite import driver
from tests.durability import shim
from tests.durability.conftest import scaled
from tests.durability.load import integrity_problems
from tests.durability.test_power_cuts import SEED, file_problems
from tests.support.applications import open_app

INCREMENT = (
    "INSERT INTO facts (name, value) VALUES ('tally', '1')"
    " ON CONFLICT (name) DO UPDATE SET value = CAST(value + 1 AS TEXT)"
)


@pytest.fixture
def database(base_file: Path, tmp_path: Path) -> Iterator[SqliteDatabase]:
    shutil.copy(base_file, tmp_path / "walkthrough.db")
    (tmp_path / "walkthrough.db").chmod(0o600)
    found = open_app(tmp_path / "walkthrough.db").extensions["walkthrough"]
    yield found
    found.close()


def write(database: SqliteDatabase) -> None:
    """Run one transaction: increment a counter and insert five inspectors."""
    with database.writing() as transaction:
        transaction.run(INCREMENT)
        for _ in range(5):
            transaction.run("INSERT INTO inspectors (name) VALUES (?)", ("tallied " + "x" * 500,))


@contextmanager
def concurrent_writes(database: SqliteDatabase) -> Iterator[None]:
    stop = threading.Event()

    def keep_writing() -> None:
        while not stop.is_set():
            write(database)

    threads = [threading.Thread(target=keep_writing) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def count_transactions(file: Path) -> int:
    """Return the number of transactions in a file, and assert that each is complete."""
    connection = driver.connect(str(file))
    try:
        assert integrity_problems(connection) == []
        tally = connection.execute("SELECT value FROM facts WHERE name = 'tally'").fetchone()
        rows = connection.execute("SELECT count(*) FROM inspectors WHERE name LIKE 'tallied%'")
        assert rows.fetchone()[0] == 5 * int(tally[0])
        return int(tally[0])
    finally:
        connection.close()


def back_up_repeatedly(database: SqliteDatabase, directory: Path, count: int) -> None:
    write(database)
    with concurrent_writes(database):
        counts = []
        for number in range(count):
            backup.back_up(database.path, directory / f"{number}.backup")
            counts.append(count_transactions(directory / f"{number}.backup"))
    assert counts == sorted(counts)
    assert counts[-1] > counts[0]


def test_backup_under_load_is_a_snapshot(database, tmp_path):
    back_up_repeatedly(database, tmp_path, 5)


@pytest.mark.long
def test_many_backups_under_load_are_snapshots(database, tmp_path):
    back_up_repeatedly(database, tmp_path, scaled(100))


def test_copy_of_the_file_without_its_wal_is_incomplete(database, tmp_path):
    """The control: a recent acknowledged write is still in the WAL."""
    write(database)
    before = count_transactions(database.path)
    write(database)

    shutil.copy(database.path, tmp_path / "copied")

    assert before == 1
    with pytest.raises((AssertionError, TypeError)):
        assert count_transactions(tmp_path / "copied") == 2


def test_backup_command_writes_one_private_file(database, tmp_path):
    target = tmp_path / "kept" / "today.backup"
    target.parent.mkdir()
    app = open_app(database.path)

    run = app.test_cli_runner().invoke(args=["backup", str(target)])

    assert run.exit_code == 0, run.output
    assert run.output == f"{target}: {target.stat().st_size} bytes\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert [each.name for each in target.parent.iterdir()] == ["today.backup"]
    app.extensions["walkthrough"].close()


def test_failed_backup_keeps_the_previous_one(database, tmp_path):
    target = tmp_path / "today.backup"
    backup.back_up(database.path, target)
    before = target.read_bytes()
    database.shut_down()
    with database.path.open("r+b") as file:
        file.seek(4096 * 3)
        file.write(random.Random(SEED).randbytes(4096))

    with pytest.raises(MaintenanceError, match="was not written"):
        backup.back_up(database.path, target)

    assert target.read_bytes() == before
    assert not list(tmp_path.glob(".today*"))


def test_backup_with_unsynced_directory_is_reported_as_written(database, tmp_path, monkeypatch):
    """Some disks cannot sync directories. The previous backup is replaced there as well."""
    target, sync = tmp_path / "today.backup", backup.sync
    backup.back_up(database.path, target)

    def fail(path: Path) -> None:
        if path == target.parent and not list(tmp_path.glob(".today*")):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        sync(path)

    monkeypatch.setattr(backup, "sync", fail)
    with pytest.raises(MaintenanceError, match="is written, but a power cut may bring back"):
        backup.back_up(database.path, target)

    with closing(driver.connect(str(target))) as connection:
        assert integrity_problems(connection) == []


def leave_stale_wal(file: Path) -> None:
    """Leave a WAL beside a file, as a killed process does. It renames all inspectors."""
    with closing(driver.connect(str(file), isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("UPDATE inspectors SET name = 'of the old log'")
        left = {path: path.read_bytes() for path in (file, Path(f"{file}-wal"))}
    for path, content in left.items():
        path.write_bytes(content)


def count_renamed_by_wal(file: Path) -> int:
    with closing(driver.connect(str(file))) as connection:
        assert integrity_problems(connection) == []
        question = "SELECT count(*) FROM inspectors WHERE name = 'of the old log'"
        return int(connection.execute(question).fetchone()[0])


def test_backup_removes_the_wal_of_the_previous_one(database, tmp_path):
    """SQLite would replay the WAL into the new file."""
    target = tmp_path / "kept" / "today.backup"
    target.parent.mkdir()
    backup.back_up(database.path, target)
    leave_stale_wal(target)
    write(database)

    backup.back_up(database.path, target)

    assert [each.name for each in target.parent.iterdir()] == ["today.backup"]
    assert count_transactions(target) == 1
    assert count_renamed_by_wal(target) == 0


@pytest.mark.parametrize("word", ["-wal", "-shm", "-journal"])
def test_first_backup_removes_stale_journals(database, tmp_path, word):
    target = tmp_path / "kept" / "today.backup"
    target.parent.mkdir()
    Path(f"{target}{word}").write_bytes(b"of a file that is gone")

    backup.back_up(database.path, target)

    assert [each.name for each in target.parent.iterdir()] == ["today.backup"]
    assert count_renamed_by_wal(target) == 0


def test_backup_open_in_another_program_is_not_replaced(database, tmp_path, monkeypatch):
    target = tmp_path / "today.backup"
    backup.back_up(database.path, target)
    leave_stale_wal(target)
    monkeypatch.setattr("engine.storage.sqlite.BUSY_MILLISECONDS", 100)
    with closing(driver.connect(str(target))) as reader:
        assert reader.execute("SELECT count(*) FROM inspectors").fetchone()[0] > 0

        with pytest.raises(MaintenanceError, match=f"^{target} is in use by another program$"):
            backup.back_up(database.path, target)

    assert count_renamed_by_wal(target) > 0
    assert not list(tmp_path.glob(".today*"))


def foreign_database(file: Path) -> None:
    with closing(driver.connect(str(file))) as connection:
        connection.execute("CREATE TABLE accounts (id)")


FOREIGN_FILES = {
    "text": lambda file: file.write_text("notes"),
    "one-byte": lambda file: file.write_bytes(b"S"),
    "other-database": foreign_database,
}


@pytest.mark.parametrize("kind", FOREIGN_FILES)
def test_backup_over_a_foreign_file_is_refused(database, tmp_path, kind):
    target = tmp_path / "accounts.db"
    FOREIGN_FILES[kind](target)
    before = target.read_bytes()
    app = open_app(database.path)

    run = app.test_cli_runner().invoke(args=["backup", str(target)])

    assert (run.exit_code, run.output.count("\n")) == (1, 1)
    assert "is no Walkthrough database" in run.output
    assert target.read_bytes() == before
    assert sorted(each.name for each in tmp_path.glob("*accounts*")) == ["accounts.db"]
    app.extensions["walkthrough"].close()


def test_backup_replaces_an_empty_file(database, tmp_path):
    target = tmp_path / "today.backup"
    target.touch()
    Path(f"{target}-wal").write_text("unrelated")

    backup.back_up(database.path, target)

    assert count_renamed_by_wal(target) == 0
    assert sorted(each.name for each in tmp_path.glob("*today*")) == ["today.backup"]


@pytest.mark.parametrize("name", ["walkthrough.db", "walkthrough.db-wal", "walkthrough.db.lock"])
def test_backup_over_the_database_is_refused(database, tmp_path, name):
    with pytest.raises(MaintenanceError, match="belongs to the database"):
        backup.back_up(database.path, tmp_path / name)


def test_backup_over_a_directory_is_refused(database, tmp_path):
    with pytest.raises(MaintenanceError, match="not a regular file"):
        backup.back_up(database.path, tmp_path)


@pytest.mark.parametrize("cuts", [40, pytest.param(2_000, marks=pytest.mark.long)])
@pytest.mark.parametrize("word", ["backup", "backup over a log", "restore", "compact"])
def test_power_cut_leaves_the_old_or_the_new_state(served, word, cuts):
    """At each cut, the database is complete, and the backup is complete or absent."""
    cuts = scaled(cuts) if cuts > 40 else cuts
    made = served.directory.parent / "made.backup"
    assert served.command("backup", str(made)).returncode == 0
    target = made if word == "restore" else served.directory / "today.backup"
    if word == "backup over a log":
        assert served.command("backup", str(target)).returncode == 0
        leave_stale_wal(target)
        with closing(driver.connect(str(served.database), isolation_level=None)) as connection:
            connection.execute("UPDATE clients SET name = 'of the new file'")
    disk, log = shim.Disk(served.directory), served.directory.parent / "cut.log"
    served.watched = shim.environment(served.directory, log)

    run = served.command(word.split()[0], *([] if word == "compact" else [str(target)]))

    assert run.returncode == 0, run.stderr
    records, dice, at = shim.records(log), random.Random(SEED), 0
    assert any(record.op == b"R" for record in records)
    for number, moment in enumerate(sorted([*dice.choices(range(len(records)), k=cuts), len(records)])):
        for record in records[at:moment]:
            disk.replay(record)
        at = moment
        left = shim.empty_directory(served.directory.parent / "left")
        disk.cut(random.Random(SEED * 1_000_003 + number), left)
        assert file_problems(left, set(), starts=False) == [], f"seed {SEED}, cut {number}"
        if (left / "today.backup").exists():
            assert backup_problems(left / "today.backup") == [], f"seed {SEED}, cut {number}"


def backup_problems(file: Path) -> list[str]:
    connection = driver.connect(str(file))
    try:
        rows = connection.execute("SELECT count(*) FROM inspections").fetchone()[0]
        names = {
            row[0]
            for table in ("clients", "inspectors")
            for row in connection.execute(f"SELECT name FROM {table}").fetchall()
        }
        is_of_two_moments = {"of the old log", "of the new file"} <= names
        return (
            integrity_problems(connection)
            + ([] if rows == 9 else [f"{rows} rows"])
            + (["of two moments"] if is_of_two_moments else [])
        )
    finally:
        connection.close()

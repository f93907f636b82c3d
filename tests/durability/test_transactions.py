"""Transactions are atomic, and a failed one leaves no state that affects the next."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from engine.interface.database import DiskFailed, DiskFull, FileCorrupt, Locked, LockTimeout, NotCommitted, TimedOut
from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from models.types import Fault
from tests.durability.facts import PUT, names, put

SHORT_QUERY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT max(i) FROM n"
ENDLESS_QUERY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """`fail("COMMIT", "disk I/O error")` makes the next COMMIT fail with this message."""
    failures: dict[str, str] = {}

    def fail_once(sql: str) -> None:
        if sql in failures:
            raise sqlite.driver.OperationalError(failures.pop(sql))

    class Cursor(sqlite.driver.Cursor):
        def execute(self, sql: str, *arguments: object) -> object:
            fail_once(sql)
            return super().execute(sql, *arguments)

    plain = sqlite.driver.Connection.execute

    def execute(connection: sqlite.driver.Connection, sql: str, *arguments: object) -> object:
        fail_once(sql)
        return plain(connection, sql, *arguments)

    monkeypatch.setattr(sqlite.DriverConnection, "cursor", lambda self: Cursor(self), raising=False)
    monkeypatch.setattr(sqlite.DriverConnection, "execute", execute, raising=False)
    return failures.__setitem__


@pytest.mark.parametrize(
    ("message", "error"),
    [
        ("disk I/O error", DiskFailed),
        ("database or disk is full", DiskFull),
        ("database disk image is malformed", FileCorrupt),
        ("database is locked", Locked),
    ],
)
@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", PUT, "COMMIT"])
def test_failed_write_raises_and_stores_nothing(database, fail, statement, message, error):
    fail(statement, message)

    with pytest.raises(error):
        put(database, "lost")

    put(database, "kept")
    assert names(database) == ["kept"]


def test_failed_commit_is_not_retried(database, fail):
    fail("COMMIT", "disk I/O error")  # once, so that a second COMMIT would succeed

    with pytest.raises(DiskFailed):
        put(database, "lost")

    assert names(database) == []


def test_connection_that_cannot_roll_back_is_closed(database, fail):
    fail("ROLLBACK", "disk I/O error")

    with pytest.raises(ZeroDivisionError), database.writing() as transaction:  # noqa: PT012
        transaction.run(PUT, ("lost", "there"))
        raise ZeroDivisionError

    put(database, "kept")
    assert names(database) == ["kept"]


def test_error_of_the_commit_precedes_that_of_the_rollback(database, fail):
    fail("COMMIT", "database or disk is full")
    fail("ROLLBACK", "disk I/O error")

    with pytest.raises(DiskFull):
        put(database, "lost")

    put(database, "kept")
    assert names(database) == ["kept"]


def test_suppressed_error_does_not_commit_part_of_a_transaction(database):
    with pytest.raises(NotCommitted), database.writing(seconds_max=0.1) as transaction:  # noqa: PT012
        transaction.run(PUT, ("half", "there"))
        with contextlib.suppress(TimedOut):
            transaction.all(ENDLESS_QUERY)

    assert names(database) == []


def test_interrupt_is_not_reported_as_timeout(database, monkeypatch):
    """Ctrl-C during SQLite's progress handler rolls the transaction back, and the next one works."""

    def interrupted() -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), database.writing() as transaction:  # noqa: PT012
        transaction.run(PUT, ("half", "there"))
        monkeypatch.setattr(sqlite, "time", SimpleNamespace(monotonic=interrupted))
        transaction.all(ENDLESS_QUERY)
    monkeypatch.undo()

    put(database, "whole")
    assert names(database) == ["whole"]


def test_statement_after_a_disk_error_is_refused(database, fail):
    fail(PUT, "database or disk is full")

    with pytest.raises((AssertionError, NotCommitted)), database.writing() as transaction:  # noqa: PT012
        with contextlib.suppress(DiskFull):
            transaction.run(PUT, ("first", "there"))
        transaction.run(PUT, ("second", "there"))

    assert names(database) == []


def test_constraint_violation_keeps_the_transaction(database):
    with database.writing() as transaction:
        transaction.run(PUT, ("kept", "there"))
        with contextlib.suppress(Fault):
            transaction.run("INSERT INTO facts VALUES ('kept', 'twice')")

    assert names(database) == ["kept"]


def test_rollback_undoes_savepoints_and_ddl(database):
    with pytest.raises(ZeroDivisionError), database.writing() as transaction:  # noqa: PT012
        transaction.run("SAVEPOINT inner_one")
        transaction.run(PUT, ("lost", "there"))
        transaction.run("RELEASE inner_one")
        transaction.run("CREATE TABLE lost (id INTEGER)")
        raise ZeroDivisionError

    assert names(database) == []
    with database.reading() as transaction:
        assert transaction.one("SELECT 1 FROM sqlite_schema WHERE name = 'lost'") is None


def test_time_limit_excludes_the_commit(database):
    with database.writing(seconds_max=0.05) as transaction:
        transaction.run(PUT, ("kept", "there"))
        time.sleep(0.1)

    assert names(database) == ["kept"]


def test_read_transaction_cannot_write(database):
    with pytest.raises(DiskFailed), database.reading() as transaction:
        transaction.run(PUT, ("sneaked", "in"))

    assert names(database) == []


def test_partially_read_result_does_not_keep_its_snapshot(database):
    for name in "abc":
        put(database, name)
    with database.reading() as transaction:
        half_read = transaction.run("SELECT name FROM facts")
        half_read.fetchone()

    put(database, "d")

    assert names(database) == ["a", "b", "c", "d"]
    assert checkpoint_is_blocked(database) == 0
    del half_read


def checkpoint_is_blocked(database: SqliteDatabase) -> int:
    """Return 1 if a reader prevents a checkpoint of the WAL, else 0."""
    connection = sqlite.driver.connect(str(database.path), isolation_level=None, timeout=0)
    with contextlib.closing(connection):
        return connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]


@pytest.fixture
def foreign_lock(database: SqliteDatabase) -> Iterator[sqlite.driver.Connection]:
    """A connection that holds SQLite's own lock, without the service's writer lock."""
    connection = sqlite.driver.connect(str(database.path), isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_writers_time_out_while_another_program_has_the_lock(database, foreign_lock):
    """The writers end while the other program still has the lock."""
    errors: list[Exception] = []

    def write() -> None:
        try:
            put(database, "late", wait_seconds_max=0.6)
        except (LockTimeout, Locked) as fault:
            errors.append(fault)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(errors) == 4


def test_time_limit_excludes_waiting_for_the_lock(database, foreign_lock):
    threading.Timer(0.5, foreign_lock.execute, ["ROLLBACK"]).start()

    with database.writing(seconds_max=0.3) as transaction:
        transaction.all(SHORT_QUERY)
        transaction.run(PUT, ("kept", "there"))

    assert names(database) == ["kept"]


def test_shutdown_runs_a_checkpoint(database, tmp_path):
    put(database, "kept")

    database.shut_down()

    left = tmp_path / "walkthrough.db-wal"
    assert not left.exists() or left.stat().st_size == 0
    assert names(database) == ["kept"]


def test_unusable_lock_file_is_an_error(database, tmp_path):
    database.writer_lock.close()
    (tmp_path / "walkthrough.db.lock").unlink()
    (tmp_path / "walkthrough.db.lock").mkdir()

    with pytest.raises(DiskFailed):
        put(database, "lost")

"""A transaction is kept whole or not at all, and what a failed one leaves is no trap for the next."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest

from engine.query.constraints import Locked
from engine.storage import sqlite
from engine.storage.database import Database
from engine.storage.transaction import NotCommitted
from engine.storage.writer_lock import LockTimeout
from models.errors import Fault
from tests.durability.facts import PUT, names, put

MODEST = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT max(i) FROM n"
COSTLY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """`fail("COMMIT", "disk I/O error")`: the next statement of that text fails with those words."""
    planted: dict[str, str] = {}

    def failing_once(sql: str) -> None:
        if sql in planted:
            raise sqlite.driver.OperationalError(planted.pop(sql))

    class Cursor(sqlite.driver.Cursor):
        def execute(self, sql: str, *arguments: object) -> object:
            failing_once(sql)
            return super().execute(sql, *arguments)

    plain = sqlite.driver.Connection.execute

    def execute(connection: sqlite.driver.Connection, sql: str, *arguments: object) -> object:
        failing_once(sql)
        return plain(connection, sql, *arguments)

    monkeypatch.setattr(sqlite.DriverConnection, "cursor", lambda self: Cursor(self), raising=False)
    monkeypatch.setattr(sqlite.DriverConnection, "execute", execute, raising=False)
    return planted.__setitem__


@pytest.mark.parametrize(
    ("words", "fact"),
    [
        ("disk I/O error", sqlite.DiskFailed),
        ("database or disk is full", sqlite.DiskFull),
        ("database disk image is malformed", sqlite.FileCorrupt),
        ("database is locked", Locked),
    ],
)
@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", PUT, "COMMIT"])
def test_a_write_that_fails_is_told_and_leaves_nothing(database, fail, statement, words, fact):
    fail(statement, words)

    with pytest.raises(fact):
        put(database, "lost")

    put(database, "kept")
    assert names(database) == ["kept"]


def test_a_commit_that_fails_is_not_tried_again(database, fail):
    fail("COMMIT", "disk I/O error")  # once: a second COMMIT would succeed

    with pytest.raises(sqlite.DiskFailed):
        put(database, "lost")

    assert names(database) == []


def test_a_connection_that_cannot_roll_back_is_given_up(database, fail):
    fail("ROLLBACK", "disk I/O error")

    with pytest.raises(ZeroDivisionError), database.writing() as transaction:  # noqa: PT012
        transaction.run(PUT, ("lost", "there"))
        raise ZeroDivisionError

    put(database, "kept")
    assert names(database) == ["kept"]


def test_a_commit_and_a_rollback_that_fail_tell_of_the_commit(database, fail):
    fail("COMMIT", "database or disk is full")
    fail("ROLLBACK", "disk I/O error")

    with pytest.raises(sqlite.DiskFull):
        put(database, "lost")

    put(database, "kept")
    assert names(database) == ["kept"]


def test_whoever_swallows_an_error_does_not_get_half_a_transaction(database):
    with pytest.raises(NotCommitted), database.writing(seconds_max=0.1) as transaction:  # noqa: PT012
        transaction.run(PUT, ("half", "there"))
        with contextlib.suppress(sqlite.TimedOut):
            transaction.all(COSTLY)

    assert names(database) == []


def test_who_is_interrupted_is_not_told_of_time(database, monkeypatch):
    """Ctrl-C while SQLite asks whether there is time left; nothing of the transaction stays, and the next one works."""

    def interrupted() -> float:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), database.writing() as transaction:  # noqa: PT012
        transaction.run(PUT, ("half", "there"))
        monkeypatch.setattr(sqlite, "time", SimpleNamespace(monotonic=interrupted))
        transaction.all(COSTLY)
    monkeypatch.undo()

    put(database, "whole")
    assert names(database) == ["whole"]


def test_nothing_more_is_said_on_a_transaction_that_the_disk_ended(database, fail):
    fail(PUT, "database or disk is full")

    with pytest.raises((AssertionError, NotCommitted)), database.writing() as transaction:  # noqa: PT012
        with contextlib.suppress(sqlite.DiskFull):
            transaction.run(PUT, ("first", "there"))
        transaction.run(PUT, ("second", "there"))

    assert names(database) == []


def test_a_row_that_a_constraint_refuses_leaves_the_rest_of_the_transaction(database):
    with database.writing() as transaction:
        transaction.run(PUT, ("kept", "there"))
        with contextlib.suppress(Fault):
            transaction.run("INSERT INTO facts VALUES ('kept', 'twice')")

    assert names(database) == ["kept"]


def test_a_savepoint_and_a_table_do_not_survive_the_rollback(database):
    with pytest.raises(ZeroDivisionError), database.writing() as transaction:  # noqa: PT012
        transaction.run("SAVEPOINT inner_one")
        transaction.run(PUT, ("lost", "there"))
        transaction.run("RELEASE inner_one")
        transaction.run("CREATE TABLE lost (id INTEGER)")
        raise ZeroDivisionError

    assert names(database) == []
    with database.reading() as transaction:
        assert transaction.one("SELECT 1 FROM sqlite_schema WHERE name = 'lost'") is None


def test_the_time_limit_is_off_before_the_commit(database):
    with database.writing(seconds_max=0.05) as transaction:
        transaction.run(PUT, ("kept", "there"))
        time.sleep(0.1)

    assert names(database) == ["kept"]


def test_a_read_cannot_write(database):
    with pytest.raises(sqlite.DiskFailed), database.reading() as transaction:
        transaction.run(PUT, ("sneaked", "in"))

    assert names(database) == []


def test_a_half_read_answer_does_not_keep_its_snapshot(database):
    for name in "abc":
        put(database, name)
    with database.reading() as transaction:
        half_read = transaction.run("SELECT name FROM facts")
        half_read.fetchone()

    put(database, "d")

    assert names(database) == ["a", "b", "c", "d"]
    assert folded(database) == 0
    del half_read


def folded(database: Database) -> int:
    """Whether somebody keeps the log from being folded back: SQLite's word for busy."""
    connection = sqlite.driver.connect(str(database.path), isolation_level=None, timeout=0)
    with contextlib.closing(connection):
        return connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]


@pytest.fixture
def outsider(database: Database) -> Iterator[sqlite.driver.Connection]:
    """A program that knows no turns, and has SQLite's own lock."""
    connection = sqlite.driver.connect(str(database.path), isolation_level=None, check_same_thread=False)
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_writers_give_up_in_time_when_an_outsider_has_the_lock(database, outsider):
    """While the outsider still has it."""
    told: list[Exception] = []

    def write() -> None:
        try:
            put(database, "late", wait_seconds_max=0.6)
        except (LockTimeout, Locked) as fault:
            told.append(fault)

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(told) == 4


def test_what_was_waited_for_others_is_not_counted_as_work(database, outsider):
    threading.Timer(0.5, outsider.execute, ["ROLLBACK"]).start()

    with database.writing(seconds_max=0.3) as transaction:
        transaction.all(MODEST)
        transaction.run(PUT, ("kept", "there"))

    assert names(database) == ["kept"]


def test_a_stop_folds_the_log_into_the_file(database, tmp_path):
    put(database, "kept")

    database.shut_down()

    left = tmp_path / "walkthrough.db-wal"
    assert not left.exists() or left.stat().st_size == 0
    assert names(database) == ["kept"]


def test_no_lock_file_is_a_fact_and_no_crash(database, tmp_path):
    database.writer_lock.close()
    (tmp_path / "walkthrough.db.lock").unlink()
    (tmp_path / "walkthrough.db.lock").mkdir()

    with pytest.raises(sqlite.DiskFailed):
        put(database, "lost")

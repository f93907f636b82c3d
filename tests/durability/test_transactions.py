"""A transaction is kept whole or not at all, and what a failed one leaves is no trap for the next."""

import contextlib
import sqlite3
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from models.db import Database
from models.db import NotKept
from models.faults import Fault
from models.sql import log
from models.sql import sqlite
from models.sql.constraints import Locked
from models.sql.turns import NoTurn
from tests.applications import open_app

PUT = "INSERT INTO facts (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
MODEST = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999) SELECT max(i) FROM n"
COSTLY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    found = open_app(tmp_path / "walkthrough.db").extensions["walkthrough"]
    yield found
    found.close()


def put(database: Database, name: str, value: str = "there", **seconds: float) -> None:
    with database.writing(**seconds) as transaction:
        transaction.run(PUT, (name, value))


def names(database: Database) -> list[str]:
    with database.reading() as transaction:
        return [row[0] for row in transaction.all("SELECT name FROM facts ORDER BY name")]


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

    def execute(connection: sqlite3.Connection, sql: str, *arguments: object) -> object:
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
    with pytest.raises(NotKept), database.writing(seconds_max=0.1) as transaction:  # noqa: PT012
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

    with pytest.raises((AssertionError, NotKept)), database.writing() as transaction:  # noqa: PT012
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
def outsider(database: Database) -> Iterator[sqlite3.Connection]:
    """A program that knows no turns, and has SQLite's own lock."""
    connection = sqlite.driver.connect(
        str(database.path), isolation_level=None, check_same_thread=False
    )
    connection.execute("BEGIN IMMEDIATE")
    yield connection
    connection.close()


def test_writers_give_up_in_time_when_an_outsider_has_the_lock(database, outsider):
    """While the outsider still has it."""
    told: list[Exception] = []

    def write() -> None:
        try:
            put(database, "late", wait_seconds_max=0.6)
        except (NoTurn, Locked) as fault:
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


def overlapping_readers(database: Database, stop: threading.Event) -> list[threading.Thread]:
    """Readers of which there is one in every moment."""

    def read(offset_seconds: float) -> None:
        time.sleep(offset_seconds)
        while not stop.is_set():
            with database.reading() as transaction:
                transaction.value("SELECT count(*) FROM facts")
                time.sleep(0.03)

    threads = [threading.Thread(target=read, args=(n * 0.01,)) for n in range(3)]
    for thread in threads:
        thread.start()
    return threads


def longest_log(database: Database, writes: int) -> int:
    stop, longest = threading.Event(), 0
    threads = overlapping_readers(database, stop)
    try:
        for number in range(writes):
            put(database, "long", f"{number:06}" * 10_000)
            longest = max(longest, database.log.size())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return longest


def test_the_log_is_bounded_though_somebody_always_reads(database, monkeypatch):
    monkeypatch.setattr(log, "PAGES_MAX", log.PAGES_MIN)
    monkeypatch.setattr(log, "LOG_BYTES_LOOK", 1 << 20)
    monkeypatch.setattr(log, "RETRY_SECONDS", 0.05)
    bounded = longest_log(database, 120)
    monkeypatch.setattr(log.Log, "bound", lambda *_: None)
    unbounded = longest_log(database, 120)

    assert bounded < 3 << 20
    assert unbounded > 6 << 20


def folds_after(database: Database) -> int:
    with database.connections.checked_out(database.writer) as connection:
        found = connection.driver_connection.execute("PRAGMA wal_autocheckpoint").fetchone()
    return int(found[0])


@pytest.mark.parametrize(
    ("seconds", "pages"),
    [(0.001, log.PAGES_MIN * log.GROWTH_MAX), (0.05, 2_000), (2.0, log.PAGES_MIN)],
    ids=["quick", "slower", "a memory card"],
)
def test_a_disk_is_given_as_much_to_write_back_at_once_as_it_does_in_a_moment(
    database, monkeypatch, seconds, pages
):
    """To write a thousand pages back takes a memory card a second, in which nobody else writes."""
    put(database, "any")
    monkeypatch.setattr(database.pace, "note", lambda *_: seconds)
    put(database, "no fold", "x" * 1_000_000)
    assert folds_after(database) == log.PAGES_MIN

    put(database, "a fold", "x" * 4_096 * 1_000)
    assert folds_after(database) == pytest.approx(pages, rel=0.4)
    assert log.PAGES_MIN <= folds_after(database) <= log.PAGES_MIN * log.GROWTH_MAX


def test_bodies_that_fold_the_log_one_after_the_other_are_learned_from(database, monkeypatch):
    """Each of them looked as usual, and the log was folded after each for good."""
    learn, asked = log.Log.learn, []
    monkeypatch.setattr(log.Log, "learn", lambda *given: (asked.append(given[2]), learn(*given))[1])
    put(database, "any")
    monkeypatch.setattr(log, "FOLD_SECONDS", 3_600.0)  # however slow the disk
    for body in range(3):
        with database.writing() as transaction:
            for row in range(300):
                transaction.run(PUT, (f"{body} {row}", "x" * 4_096 * 4))

    assert len(asked) >= 3
    assert min(asked) > 0
    assert database.log.pages == log.PAGES_MIN * log.GROWTH_MAX


def test_what_a_disk_is_given_at_once_has_a_bound_and_falls_again(database, monkeypatch):
    folded = iter([1_000, 4_000, 16_000, 16_000, 16_000])
    monkeypatch.setattr(sqlite.Connection, "pages_folded", lambda _: next(folded))

    found = []
    for seconds in (0.001, 0.004, 0.016, 0.5, 60.0):
        with database.connections.checked_out(database.writer) as connection:
            database.log.learn(connection, seconds)
        found.append(database.log.pages)

    assert found == [4_000, log.PAGES_MAX, log.PAGES_MAX, 3_200, log.PAGES_MIN]


def test_an_older_sqlite_is_not_asked_how_long_its_log_is(database, monkeypatch):
    """It would fold it."""
    put(database, "any")
    monkeypatch.setattr(sqlite.driver, "sqlite_version_info", (3, 50, 4))
    with database.connections.checked_out(database.writer) as connection:
        assert connection.pages_folded() == 0
        monkeypatch.setattr(sqlite.driver, "sqlite_version_info", (3, 51, 0))
        question = "PRAGMA wal_checkpoint(NOOP)"
        _, pages, in_file = connection.driver_connection.execute(question).fetchone()
    assert (pages > 0, in_file) == (True, 0)


def test_a_commit_stands_though_the_log_tells_nothing(database, monkeypatch):
    monkeypatch.setattr(database.pace, "note", lambda *_: 1.0)
    plain = sqlite.driver.Connection.execute

    def execute(connection: sqlite.driver.Connection, sql: str, *arguments: object) -> object:
        if "NOOP" in sql:
            raise sqlite.driver.OperationalError("disk I/O error")
        return plain(connection, sql, *arguments)

    monkeypatch.setattr(sqlite.DriverConnection, "execute", execute, raising=False)
    put(database, "kept")
    assert names(database) == ["kept"]
    assert folds_after(database) == log.PAGES_MIN


def test_a_stop_folds_the_log_into_the_file(database, tmp_path):
    put(database, "kept")

    database.shut_down()

    left = tmp_path / "walkthrough.db-wal"
    assert not left.exists() or left.stat().st_size == 0
    assert names(database) == ["kept"]


def test_no_lock_file_is_a_fact_and_no_crash(database, tmp_path):
    database.turns.close()
    (tmp_path / "walkthrough.db.lock").unlink()
    (tmp_path / "walkthrough.db.lock").mkdir()

    with pytest.raises(sqlite.DiskFailed):
        put(database, "lost")

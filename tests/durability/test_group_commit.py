"""Writes that wait for each other share a COMMIT: each is whole or not there, and told so only once it is kept."""

import threading
import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models import group_commit
from models.db import Database
from models.db import NotKept
from models.sql import sqlite
from models.sql import turns
from models.sql.constraints import Locked
from models.sql.constraints import UniqueViolation
from models.transaction import Transaction
from tests.conftest import open_app
from tests.waiting import until

FOREVER = 30.0  # until a test that hangs is a test that fails
INSERT = "INSERT INTO facts (name, value) VALUES (?, 'there')"
COSTLY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
COSTLY_WRITE = f"INSERT INTO facts (name, value) SELECT 'costly', count(*) FROM ({COSTLY})"

Work = Callable[[Transaction], object]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of turns lasts, however slow the machine."""
    monkeypatch.setattr(turns, "RUN_SECONDS_MAX", FOREVER)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    found = open_app(tmp_path / "walkthrough.db").extensions["walkthrough"]
    yield found
    found.close()


class Disk:
    """What reaches the driver's COMMIT: how often, and with what result."""

    def __init__(self) -> None:
        self.commits = 0
        self.failure: str | None = None
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def commit(self) -> None:
        self.commits += 1
        self.begun.set()
        assert self.may_end.wait(FOREVER)
        if self.failure is not None:
            raise sqlite.driver.OperationalError(self.failure)


@pytest.fixture
def disk(database: Database, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk below `database`."""
    made = Disk()
    plain = sqlite.driver.Connection.execute

    def execute(connection: sqlite.driver.Connection, sql: str, *arguments: object) -> object:
        if sql == "COMMIT":
            made.commit()
        return plain(connection, sql, *arguments)

    monkeypatch.setattr(sqlite.DriverConnection, "execute", execute, raising=False)
    return made


class Writers:
    """Threads that write one after the other, and what each was told: None, or an exception."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.told: dict[str, BaseException | None] = {}
        self.threads: list[threading.Thread] = []

    def line_up(self, name: str, work: Work | None = None, **how: Any) -> None:
        """Start one behind the others, and wait until it stands in the queue."""
        before = len(self.database.turns.waiting)
        self.start(name, work, **how)
        until(lambda: len(self.database.turns.waiting) > before)

    def start(
        self,
        name: str,
        work: Work | None = None,
        *,
        is_brief: bool = True,
        seconds_max: float = FOREVER,
    ) -> None:
        """Start one that does its work, or writes a row of its name."""
        arguments = (name, work or insert(name), is_brief, seconds_max)
        thread = threading.Thread(target=self.write, args=arguments, daemon=True)
        thread.start()
        self.threads.append(thread)

    def write(self, name: str, work: Work, is_brief: bool, seconds_max: float) -> None:
        try:
            with self.database.writing(seconds_max, is_brief=is_brief) as transaction:
                work(transaction)
            self.told[name] = None
        except BaseException as error:  # noqa: BLE001 - whatever it is told
            self.told[name] = error

    def finish(self) -> dict[str, BaseException | None]:
        for thread in self.threads:
            thread.join(FOREVER)
            assert not thread.is_alive(), "a writer hangs"
        return self.told


@pytest.fixture
def writers(database: Database) -> Writers:
    return Writers(database)


def insert(name: str) -> Work:
    return lambda transaction: transaction.run(INSERT, (name,))


@contextmanager
def first(database: Database, name: str = "first", *, is_brief: bool = True) -> Iterator[None]:
    """A write that has the turn until its block ends."""
    with database.writing(is_brief=is_brief) as transaction:
        transaction.run(INSERT, (name,))
        yield


def names(database: Database) -> list[str]:
    with database.reading() as transaction:
        rows = transaction.all("SELECT name FROM facts WHERE value = 'there' ORDER BY name")
    return [name for (name,) in rows]


def test_who_waits_shares_the_commit_of_who_has_the_turn(database, disk, writers):
    with first(database):
        for name in ("a", "b", "c"):
            writers.line_up(name)

    assert writers.finish() == {"a": None, "b": None, "c": None}
    assert names(database) == ["a", "b", "c", "first"]
    assert disk.commits == 1


def test_who_is_alone_commits_alone(database, disk, writers):
    for name in ("a", "b"):
        with first(database, name):
            pass

    assert disk.commits == 2
    assert names(database) == ["a", "b"]


def test_nobody_is_told_before_the_commit(database, disk, writers):
    disk.may_end.clear()
    may_go_on = threading.Event()

    def hold(transaction: Transaction) -> None:
        transaction.run(INSERT, ("a",))
        assert may_go_on.wait(FOREVER)

    writers.start("a", hold)
    until(lambda: database.turns.locked)
    writers.line_up("b")
    writers.line_up("refused", insert("a"))  # a second one of that name
    may_go_on.set()
    assert disk.begun.wait(FOREVER)
    time.sleep(0.05)  # in which somebody could be told
    assert writers.told == {}
    assert names(database) == []

    disk.may_end.set()
    told = writers.finish()
    assert told["a"] is told["b"] is None
    assert isinstance(told["refused"], UniqueViolation)
    assert names(database) == ["a", "b"]


def test_a_refusal_that_rests_on_what_is_not_kept_is_not_told(database, disk, writers):
    disk.failure = "disk I/O error"
    with pytest.raises(sqlite.DiskFailed), first(database):
        writers.line_up("refused", insert("first"))

    assert isinstance(writers.finish()["refused"], sqlite.DiskFailed)
    assert names(database) == []


def test_a_refused_unit_is_undone_alone(database, disk, writers):
    def fail(transaction: Transaction) -> None:
        transaction.run(INSERT, ("half",))
        raise ZeroDivisionError

    with first(database):
        writers.line_up("a")
        writers.line_up("half", fail)
        writers.line_up("b")

    told = writers.finish()
    assert isinstance(told.pop("half"), ZeroDivisionError)
    assert told == {"a": None, "b": None}
    assert names(database) == ["a", "b", "first"]
    assert disk.commits == 1


def test_a_unit_that_is_to_be_rolled_back_leaves_nothing(database, disk, writers):
    def doomed(transaction: Transaction) -> None:
        transaction.run(INSERT, ("doomed",))
        transaction.roll_back_at_end()

    with first(database):
        writers.line_up("doomed", doomed)
        writers.line_up("a")

    assert writers.finish() == {"doomed": None, "a": None}
    assert names(database) == ["a", "first"]


def test_a_unit_that_swallowed_an_error_is_not_kept_and_the_others_are(database, disk, writers):
    def swallow(transaction: Transaction) -> None:
        transaction.run(INSERT, ("half",))
        with suppress(OverflowError):
            transaction.run(INSERT, (2**70,))

    with first(database):
        writers.line_up("half", swallow)
        writers.line_up("a")

    told = writers.finish()
    assert isinstance(told["half"], NotKept)
    assert told["a"] is None
    assert names(database) == ["a", "first"]


def test_a_first_unit_that_fails_leaves_the_turn_to_the_next(database, disk, writers):
    with pytest.raises(ZeroDivisionError), first(database):  # noqa: PT012
        writers.line_up("a")
        writers.line_up("b")
        raise ZeroDivisionError

    assert writers.finish() == {"a": None, "b": None}
    assert names(database) == ["a", "b"]
    assert disk.commits == 1


@pytest.mark.parametrize(
    ("words", "fact"),
    [("disk I/O error", sqlite.DiskFailed), ("database or disk is full", sqlite.DiskFull)],
)
def test_a_commit_that_fails_is_told_to_each_and_leaves_nothing(
    database, disk, writers, words, fact
):
    disk.failure = words
    with pytest.raises(fact), first(database):  # noqa: PT012
        for name in ("a", "b"):
            writers.line_up(name)

    told = writers.finish()
    assert {name: type(each) for name, each in told.items()} == {"a": fact, "b": fact}
    assert told["a"] is not told["b"]
    assert names(database) == []
    assert database.refused_a_write

    disk.failure = None
    with first(database, "after"):
        pass
    assert names(database) == ["after"]
    assert not database.refused_a_write


def test_who_loses_the_transaction_of_all_is_told_why_and_the_others_to_try_again(
    database, disk, writers
):
    with pytest.raises(Locked), first(database):  # noqa: PT012
        writers.line_up("a")
        writers.line_up("costly", lambda unit: unit.run(COSTLY_WRITE), seconds_max=0.1)
        writers.line_up("b")

    told = writers.finish()
    assert isinstance(told["a"], Locked)
    assert isinstance(told["costly"], sqlite.TimedOut)
    assert told["b"] is None  # it came later, and had a transaction of its own
    assert names(database) == ["b"]


def test_a_unit_that_cannot_be_undone_takes_the_transaction_with_it(
    database, disk, writers, monkeypatch
):
    half_undone = replace(group_commit.NESTED, undo=("ROLLBACK TO nowhere",))
    monkeypatch.setattr(group_commit, "NESTED", half_undone)

    def fail(transaction: Transaction) -> None:
        transaction.run(INSERT, ("half",))
        raise ZeroDivisionError

    with pytest.raises(Locked), first(database):  # noqa: PT012
        writers.line_up("half", fail)
        writers.line_up("a")

    told = writers.finish()
    assert isinstance(told["half"], ZeroDivisionError)
    assert told["a"] is None
    assert names(database) == ["a"]


def test_what_is_not_brief_does_not_join(database, disk, writers):
    with first(database):
        writers.line_up("long", is_brief=False)
        writers.line_up("a")

    assert writers.finish() == {"long": None, "a": None}
    assert disk.commits == 2  # the first, then the long one with the one behind it
    assert names(database) == ["a", "first", "long"]


def test_a_group_has_an_end(database, disk, writers, monkeypatch):
    monkeypatch.setattr(group_commit, "UNITS_MAX", 2)
    with first(database):
        for name in ("a", "b", "c", "d"):
            writers.line_up(name)

    assert set(writers.finish().values()) == {None}
    assert disk.commits == 3
    assert len(names(database)) == 5


def test_a_run_that_is_over_takes_nobody_in(database, disk, writers, monkeypatch):
    monkeypatch.setattr(turns, "RUN_SECONDS_MAX", -1.0)
    with first(database):
        for name in ("a", "b"):
            writers.line_up(name)

    assert set(writers.finish().values()) == {None}
    assert disk.commits == 3


def test_each_unit_has_its_own_actor_and_time(database, disk, writers):
    seen: dict[str, tuple] = {}

    def look(name: str) -> Work:
        def work(transaction: Transaction) -> None:
            seen[name] = transaction.one("SELECT actor_id FROM audit_context")
            transaction.act_as(name)

        return work

    with first(database):
        for name in ("a", "b"):
            writers.line_up(name, look(name))

    writers.finish()
    assert seen == {"a": (None,), "b": (None,)}


# The pace


def test_who_came_together_lately_is_waited_for_where_the_disk_is_slow(database, disk, writers):
    database.pace.seconds, database.pace.units = FOREVER, 2.0

    writers.start("a")
    until(lambda: database.turns.locked)
    writers.start("b")

    assert writers.finish() == {"a": None, "b": None}
    assert disk.commits == 1
    assert names(database) == ["a", "b"]


@pytest.mark.parametrize(("seconds", "units"), [(0.0001, 8.0), (FOREVER, 1.0)])
def test_nobody_is_waited_for_on_a_quick_disk_or_where_one_writes(
    database, disk, writers, seconds, units
):
    database.pace.seconds, database.pace.units = seconds, units
    asked: list[float] = []
    hand_on = database.turns.hand_on
    database.turns.hand_on = lambda until: (asked.append(until), hand_on(until))[1]

    with first(database):
        pass

    assert asked == [0.0]


def test_one_writer_is_found_to_be_alone_after_a_crowd(database, disk):
    database.pace.note(0.01, 8)
    assert database.pace.units == 8
    for _ in range(20):
        database.pace.note(0.01, 1)
    assert database.pace.units == 1


def test_others_are_served_while_a_slow_disk_is_waited_for(database, disk, writers):
    ways: list[str] = []
    database.make_way = lambda: ways.append(threading.current_thread().name)
    database.pace.seconds = 0.0
    with first(database, "quick"):
        pass
    assert ways == []

    database.pace.seconds = 1.0
    with first(database, "slow"):
        pass
    assert len(ways) == 1

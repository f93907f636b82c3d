"""Writes that wait for each other share a COMMIT: each is whole or not there, and told so only once it is kept."""

import threading
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from engine.query.constraints import Locked
from engine.query.constraints import UniqueViolation
from engine.storage import sqlite
from engine.storage.database import NotKept
from engine.storage.transaction import Transaction
from models import group_commit
from models.sql import turns
from tests.durability.shared_commits.writers import COSTLY_WRITE
from tests.durability.shared_commits.writers import FOREVER
from tests.durability.shared_commits.writers import INSERT
from tests.durability.shared_commits.writers import Work
from tests.durability.shared_commits.writers import first
from tests.durability.shared_commits.writers import insert
from tests.durability.shared_commits.writers import names
from tests.waiting import until


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
    until(lambda: database.writer_lock.locked)
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


def test_a_group_that_lasts_takes_nobody_in(database, disk, writers, monkeypatch):
    monkeypatch.setattr(turns, "GROUP_SECONDS_MAX", -1.0)
    with first(database):
        for name in ("a", "b"):
            writers.line_up(name)

    assert set(writers.finish().values()) == {None}
    assert disk.commits == 3


def test_each_unit_has_its_own_actor_and_time(database, disk, writers):
    seen: dict[str, tuple] = {}

    def look(name: str) -> Work:
        def work(transaction: Transaction) -> None:
            transaction.run(INSERT, (name,))
            seen[name] = transaction.one("SELECT actor_id FROM audit_context")
            transaction.act_as(name)
            transaction.run(INSERT, (f"{name} again",))

        return work

    with first(database):
        for name in ("a", "b"):
            writers.line_up(name, look(name))

    writers.finish()
    assert seen == {"a": (None,), "b": (None,)}

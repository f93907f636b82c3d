"""Writes that are served together share a COMMIT: each gets as far as its write, then all write, then all are told."""

import subprocess
import sys
import threading
from collections.abc import Callable
from functools import partial

import pytest

from models import group_commit
from models.db import Database
from models.joint import Joint
from models.joint import joint
from models.sql import sqlite
from models.sql import turns
from models.sql.constraints import UniqueViolation
from models.transaction import Transaction
from tests.durability.shared_commits.writers import FOREVER
from tests.durability.shared_commits.writers import INSERT
from tests.durability.shared_commits.writers import Disk
from tests.durability.shared_commits.writers import Writers
from tests.durability.shared_commits.writers import first
from tests.durability.shared_commits.writers import insert
from tests.durability.shared_commits.writers import names
from tests.waiting import until


@pytest.fixture
def write(writers: Writers) -> Callable:
    """`write(a=…, b=…)` does these works together; what each was told, in the order in which they were."""

    def do(**works: Callable[[Transaction], object] | None) -> dict[str, BaseException | None]:
        tasks = [
            partial(writers.write, name, work or insert(name), True, FOREVER)
            for name, work in works.items()
        ]
        Joint(lambda: None).work(tasks)
        return writers.told

    return do


def test_all_share_one_commit(database, disk, write):
    assert write(a=None, b=None, c=None) == {"a": None, "b": None, "c": None}
    assert names(database) == ["a", "b", "c"]
    assert disk.commits == 1
    assert not database.turns.taken


def test_nobody_is_told_before_the_commit(
    writers: Writers, disk: Disk, write: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    told_before = []
    monkeypatch.setattr(Disk, "commit", lambda disk: told_before.append(dict(writers.told)))

    write(a=None, refused=insert("a"), b=None)

    assert told_before == [{}]
    assert writers.told["a"] is writers.told["b"] is None
    assert isinstance(writers.told["refused"], UniqueViolation)


def test_the_turn_is_taken_once_all_have_come_as_far(database, write, monkeypatch):
    happened = []
    take = database.turns.take

    def noted(seconds: float, *, joins: bool = False) -> None:
        happened.append("turn")
        take(seconds, joins=joins)

    monkeypatch.setattr(database.turns, "take", noted)

    def task(name: str) -> None:
        happened.append(f"{name} comes")
        with database.writing(is_brief=True) as transaction:
            transaction.run(INSERT, (name,))
        happened.append(f"{name} is told")

    Joint(lambda: None).work([partial(task, "a"), partial(task, "b")])

    # The last one ends the group, and so is told first.
    assert happened == ["a comes", "b comes", "turn", "b is told", "a is told"]


def test_a_refused_unit_is_undone_alone(database, disk, write):
    def fail(transaction: Transaction) -> None:
        transaction.run(INSERT, ("half",))
        raise ZeroDivisionError

    told = write(a=None, half=fail, b=None, last=fail)

    assert [type(told[name]) for name in ("half", "last")] == [ZeroDivisionError] * 2
    assert told["a"] is told["b"] is None
    assert names(database) == ["a", "b"]
    assert disk.commits == 1


@pytest.mark.parametrize(
    ("words", "fact"),
    [("disk I/O error", sqlite.DiskFailed), ("database or disk is full", sqlite.DiskFull)],
)
def test_a_commit_that_fails_is_told_to_each(database, disk, write, words, fact):
    disk.failure = words

    told = write(a=None, refused=insert("a"), b=None)

    assert [type(each) for each in told.values()] == [fact] * 3
    disk.failure = None
    assert names(database) == []
    assert write(later=None)["later"] is None
    assert names(database) == ["later"]


def test_who_was_refused_may_write_again(database, disk, writers):
    """As a refusal does, that is noted in the audit trail."""

    def refused_and_noted(name: str) -> None:
        writers.write(name, insert("a"), True, FOREVER)
        writers.write(f"{name} noted", insert(f"{name} noted"), True, FOREVER)

    tasks = [
        partial(writers.write, "a", insert("a"), True, FOREVER),
        partial(refused_and_noted, "b"),
        partial(refused_and_noted, "c"),
    ]
    Joint(lambda: None).work(tasks)

    assert [type(writers.told[name]) for name in "bc"] == [UniqueViolation] * 2
    assert names(database) == ["a", "b noted", "c noted"]
    assert disk.commits == 2
    # Nobody's answer waits for what others note; and the last of each round ends it.
    assert list(writers.told) == ["c", "a", "b", "b noted", "c noted"]


def test_what_is_not_brief_has_a_turn_of_its_own(database, disk, writers):
    tasks = [
        partial(writers.write, "a", insert("a"), True, FOREVER),
        partial(writers.write, "large", insert("large"), False, FOREVER),
        partial(writers.write, "b", insert("b"), True, FOREVER),
    ]
    Joint(lambda: None).work(tasks)

    assert writers.told == {"large": None, "b": None, "a": None}
    assert names(database) == ["a", "b", "large"]
    assert disk.commits == 2


def test_those_who_wait_in_other_threads_join(database, disk, writers, write):
    def line_up(transaction: Transaction) -> None:
        insert("b")(transaction)
        writers.line_up("waiting")

    told = write(a=None, b=line_up, c=None)
    writers.finish()

    assert told == {"c": None, "b": None, "a": None, "waiting": None}
    assert names(database) == ["a", "b", "c", "waiting"]
    assert disk.commits == 1


def test_they_join_who_has_the_turn(database, disk, writers, write):
    thread = threading.Thread(target=write, kwargs={"a": None, "b": None}, daemon=True)

    with first(database):
        thread.start()
        until(lambda: database.turns.waiting)

    thread.join(FOREVER)
    assert writers.told == {"a": None, "b": None}
    assert names(database) == ["a", "b", "first"]
    assert disk.commits == 1


@pytest.mark.parametrize(("units", "commits"), [(1, 4), (2, 2), (3, 2), (4, 1)])
def test_a_group_is_bounded(database, disk, write, monkeypatch, units, commits):
    monkeypatch.setattr(group_commit, "UNITS_MAX", units)

    assert set(write(a=None, b=None, c=None, d=None).values()) == {None}
    assert names(database) == ["a", "b", "c", "d"]
    assert disk.commits == commits


def test_a_group_that_took_its_time_is_over(database, disk, write, monkeypatch):
    monkeypatch.setattr(turns, "GROUP_SECONDS_MAX", -1.0)

    write(a=None, b=None)

    assert names(database) == ["a", "b"]
    assert disk.commits == 2


def test_a_turn_that_does_not_come_is_waited_for_once(database, writers, monkeypatch):
    waits = []

    def take(seconds: float, *, joins: bool = False) -> None:
        waits.append(seconds)
        if seconds:
            turns.sleep(seconds)
        raise turns.no_turn()

    monkeypatch.setattr(database.turns, "take", take)

    def task(name: str) -> None:
        with pytest.raises(turns.NoTurn), database.writing(1.0, 0.2, is_brief=True):
            pass
        writers.told[name] = None

    Joint(lambda: None).work([partial(task, "a"), partial(task, "b"), partial(task, "c")])

    assert set(writers.told) == {"a", "b", "c"}
    assert waits[0] > 0
    assert sum(waits[1:]) < waits[0]  # what they came later


def test_one_that_breaks_leaves_the_others_to_their_ends(database, writers):
    def breaks() -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        Joint(lambda: None).work(
            [
                partial(writers.write, "a", insert("a"), True, FOREVER),
                breaks,
                partial(writers.write, "b", insert("b"), True, FOREVER),
            ]
        )

    assert writers.told == {"a": None, "b": None}
    assert names(database) == ["a", "b"]


def test_each_stretch_of_work_is_told_of(database, writers):
    stretches = []
    tasks = [partial(writers.write, name, insert(name), True, FOREVER) for name in ("a", "b")]

    Joint(lambda: stretches.append(set(writers.told))).work(tasks)

    assert stretches == [set(), set(), set(), set(), {"b"}]


def test_who_is_served_alone_is_served_with_nobody(database: Database) -> None:
    assert joint() is None
    with first(database):
        assert joint() is None


def test_where_there_are_no_greenlets_each_is_served_alone() -> None:
    code = """
import sys
sys.modules["greenlet"] = None
from models.db import Database
from models.joint import joint
print(Database.is_served_together, joint())"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert ran.stdout.split() == ["False", "None"]


def test_other_processes_get_in_while_those_who_wrote_together_are_answered(database, write):
    database.turns.goes_on = lambda: True

    with first(database):
        pass
    assert database.turns.locked, "one alone may write on at once"
    write(a=None, b=None)
    assert not database.turns.locked
    assert database.turns.run_is_over, (
        "before they write on there is a pause, in which others get in"
    )


def test_each_tells_how_long_it_waited_for_the_turn(database, write, monkeypatch):
    waits = []
    monkeypatch.setattr(database, "tell_wait", waits.append)
    monkeypatch.setattr(database.turns, "tell", waits.append)

    write(a=None, b=None, c=None)

    assert len(waits) == 3
    assert min(waits) >= 0


def test_of_several_that_break_each_is_told_of():
    def breaks(status: int) -> None:
        raise SystemExit(status)

    with pytest.raises(BaseExceptionGroup) as raised:
        Joint(lambda: None).work([partial(breaks, 1), partial(breaks, 2)])

    assert [each.code for each in raised.value.exceptions] == [1, 2]

"""While another process has the turn, who comes to write here is let in; and nobody waits long for that."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from models import joint
from models.db import Database
from models.group_commit import Pace
from models.joint import Joint
from models.joint import Task
from models.sql.sqlite import DiskFailed
from models.sql.turns import Turns
from tests.durability.shared_commits.writers import FOREVER
from tests.durability.shared_commits.writers import Disk
from tests.durability.shared_commits.writers import Writers
from tests.durability.shared_commits.writers import insert
from tests.durability.shared_commits.writers import names


@pytest.fixture
def theirs(database: Database) -> Turns:
    """The turns of another process, which has the one."""
    found = Turns(database.turns.path)
    assert found.take_at_once()
    return found


@pytest.fixture
def task(writers: Writers) -> Callable[[str], Task]:
    return lambda name: partial(writers.write, name, insert(name), True, FOREVER)


@pytest.fixture(autouse=True)
def unhurried_gathering(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint, "GATHERING_SECONDS_MAX", FOREVER)


def test_who_comes_meanwhile_shares_the_commit(
    database: Database, disk: Disk, writers: Writers, theirs: Turns, task: Callable[[str], Task]
) -> None:
    coming: list[list[Task]] = [[task("b")], [], [task("c"), task("d")]]

    def newcomers() -> list[Task]:
        assert writers.told == {}
        if not coming:
            theirs.pass_on()
            return []
        return coming.pop(0)

    Joint(lambda: None, database.turns, newcomers).work([task("a")])

    assert writers.told == dict.fromkeys("abcd")
    assert names(database) == ["a", "b", "c", "d"]
    assert disk.commits == 1
    assert theirs.take_at_once()


def test_nobody_is_looked_for_where_the_turn_is_free(
    database: Database, disk: Disk, task: Callable[[str], Task]
) -> None:
    def newcomers() -> list[Task]:
        raise AssertionError

    Joint(lambda: None, database.turns, newcomers).work([task("a"), task("b")])

    assert disk.commits == 1
    assert not database.turns.taken


def test_somebody_who_asks_anything_else_ends_it(
    database: Database, disk: Disk, writers: Writers, theirs: Turns, task: Callable[[str], Task]
) -> None:
    """Then a thread waits for the turn, and another one serves."""
    looks: list[str] = []
    database.turns.waits = theirs.pass_on

    Joint(lambda: None, database.turns, lambda: looks.append("one")).work([task("a"), task("b")])

    assert looks == ["one"]
    assert writers.told == dict.fromkeys("ab")
    assert disk.commits == 1


def test_it_ends_though_nobody_comes(
    database: Database,
    writers: Writers,
    theirs: Turns,
    task: Callable[[str], Task],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(joint, "GATHERING_SECONDS_MAX", 0.0)
    database.turns.waits = theirs.pass_on

    Joint(lambda: None, database.turns).work([task("a")])

    assert writers.told == {"a": None}


def test_whatever_fails_in_it_all_are_told(
    database: Database, disk: Disk, writers: Writers, theirs: Turns, task: Callable[[str], Task]
) -> None:
    def newcomers() -> list[Task]:
        theirs.pass_on()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        Joint(lambda: None, database.turns, newcomers).work([task("a"), task("b")])

    assert writers.told == dict.fromkeys("ab")
    assert disk.commits == 1
    assert not database.turns.taken


def test_a_turn_that_cannot_be_taken_is_told_to_each(
    database: Database, writers: Writers, task: Callable[[str], Task], tmp_path: Path
) -> None:
    database.turns.close()
    database.turns.path = tmp_path / "nowhere" / "lock"

    Joint(lambda: None, database.turns).work([task("a"), task("b")])

    assert [type(writers.told[name]) for name in "ab"] == [DiskFailed] * 2
    assert not database.turns.taken


def test_a_turn_that_nobody_needs_is_passed_on(
    database: Database, writers: Writers, task: Callable[[str], Task], tmp_path: Path
) -> None:
    others = Turns(tmp_path / "another")

    Joint(lambda: None, others).work([task("a")])

    assert writers.told == {"a": None}
    assert not others.taken
    assert Turns(tmp_path / "another").take_at_once()


def test_how_long_the_turn_was_waited_for_is_told_of_each(
    database: Database,
    theirs: Turns,
    task: Callable[[str], Task],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float] = []
    monkeypatch.setattr(database, "tell_wait", waits.append)

    def newcomers() -> list[Task]:
        theirs.pass_on()
        return [task("c")]

    Joint(lambda: None, database.turns, newcomers).work([task("a"), task("b")])

    assert len(waits) == 3


def test_where_the_disk_is_slow_nobody_is_gathered(database: Database) -> None:
    """Who waits for it has others served meanwhile."""
    database.pace = Pace()
    assert database.turns_to_gather_for() is database.turns

    database.pace.note(seconds=1.0, units=1, rows=1)

    assert database.turns_to_gather_for() is None

"""How long a group waits for others, and who serves while somebody waits: by how quick the disk was lately."""

import threading

import pytest

from models.group_commit import Pace
from models.sql import turns
from tests.durability.shared_commits.writers import FOREVER
from tests.durability.shared_commits.writers import first
from tests.durability.shared_commits.writers import names
from tests.waiting import until


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
    database.pace.note(0.01, 8, rows=32)
    assert database.pace.units == 8
    for _ in range(20):
        database.pace.note(0.01, 1, rows=4)
    assert database.pace.units == 1


def test_a_disk_is_slow_once_its_commits_are():
    pace = Pace()
    assert not pace.is_slow
    pace.note(0.02, 1, rows=4)
    assert pace.is_slow


def test_a_commit_that_folds_the_log_makes_no_disk_slow():
    pace = Pace()
    for _ in range(50):
        for seconds in (0.0003, 0.0003, 0.0003, 0.06):
            pace.note(seconds, 1, rows=4)
            assert not pace.is_slow


def test_a_commit_that_takes_far_longer_than_others_is_told_of():
    pace = Pace()
    for _ in range(50):
        pace.note(0.002, 1, rows=4)
    assert pace.note(0.003, 1, rows=4) == 0.0
    assert pace.note(0.05, 1, rows=4) == pytest.approx(0.048, abs=0.001)
    assert pace.note(0.002 + 0.0015, 1, rows=99) == 0.0


def test_how_long_a_commit_of_many_rows_took_is_always_told():
    """Where each folds the log, none is an exception."""
    pace = Pace()
    for _ in range(50):
        assert pace.note(0.03, 1, rows=1_000) == 0.03


@pytest.mark.parametrize(("seconds", "is_slow"), [(0.02, False), (0.4, True)])
def test_a_commit_of_many_rows_is_measured_by_their_number(seconds, is_slow):
    """A thousand rows and as many lines of the trail: 4 MB of log."""
    pace = Pace()
    for _ in range(50):
        pace.note(seconds, 1, rows=2_000)
    assert pace.is_slow == is_slow


def test_a_quick_disk_that_becomes_slow_is_found_out():
    pace = Pace()
    for _ in range(500):
        pace.note(0.0, 1, rows=4)
    for _ in range(50):
        pace.note(0.02, 1, rows=4)
    assert pace.is_slow


def test_the_rows_of_a_group_are_counted_with_those_of_triggers(database, disk):
    noted: list[int] = []
    database.pace.note = lambda seconds, units, rows: noted.append(rows)
    with first(database, "a"):
        pass
    with first(database, "b"):
        pass
    assert noted[0] == noted[1] >= 2  # the row and its line of the trail


def test_others_are_served_while_a_slow_disk_is_waited_for(database, disk, writers):
    ways: list[str] = []
    database.make_way = lambda: ways.append(threading.current_thread().name)
    database.pace.seconds = 0.0001
    with first(database, "quick"):
        pass
    assert ways == []

    database.pace.seconds = 1.0
    with first(database, "slow"):
        pass
    assert len(ways) == 1


def test_others_are_served_while_another_process_has_the_turn(database, disk, writers):
    ways: list[str] = []
    database.serve_in_runs(lambda: False, lambda: ways.append(threading.current_thread().name))
    database.pace.seconds = 0.0001
    with first(database, "alone"):
        pass
    assert ways == []

    elsewhere = turns.Turns(database.turns.path)
    with elsewhere.turn(FOREVER):
        writers.start("behind")
        until(lambda: ways)
    assert writers.finish() == {"behind": None}
    elsewhere.close()

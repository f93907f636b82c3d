"""SIGKILL while reports are issued and withdrawn: numbers have no holes, and hashes and locks fit what is stored."""

import contextlib
import random

import pytest

from engine.storage.sqlite import driver
from tests.durability.conftest import scaled
from tests.durability.issues_load import (
    Issued,
    IssuesLoad,
    content_problems,
    create_visits,
    issues_problems,
    lock_problems,
)
from tests.durability.load import integrity_problems
from tests.durability.served import Served
from tests.durability.test_kill import KILLS_FACTOR_MAX, THREADS, load_and_kill
from tests.durability.test_power_cuts import SEED

KILLS_OF_SERVICE = 10
"""Every tenth kill is of the whole service. The start of a service takes seconds, that of a worker less than one."""


def kill_repeatedly(served: Served, kills: int, *, acked_min: int = 0) -> list[str]:
    """Kill a worker or the service at least `kills` times. Return the first problems of the database."""
    dice, first, number, newest = random.Random(SEED), 1, 0, 0
    acked: set[Issued] = set()
    withdrawn: set[int] = set()
    problems: list[str] = []
    try:
        served.start()
        with contextlib.closing(served.consumer()) as consumer:
            visits = create_visits(consumer)
        while not problems and (number < kills or len(acked) < acked_min):
            assert number < kills * KILLS_FACTOR_MAX, f"{number} kills, {len(acked)} acknowledged"
            number += 1
            is_whole_service = number % KILLS_OF_SERVICE == 0
            load = IssuesLoad(served.port, first, THREADS, visits)
            load_and_kill(served, dice, load, is_whole_service=is_whole_service)
            acked |= set(load.acked)
            withdrawn |= set(load.withdrawn)
            first = next(load.numbers) + THREADS
            problems += [f"{status}: {body!r}" for _, status, body in load.refused]
            if is_whole_service:
                served.start()
            with contextlib.closing(driver.connect(str(served.database))) as connection:
                problems += integrity_problems(connection) + issues_problems(connection, acked, withdrawn)
                problems += content_problems(connection, newest)
                newest = connection.execute("SELECT coalesce(max(id), 0) FROM issued_reports").fetchone()[0]
                if is_whole_service or number == kills:
                    problems += left_problems(served, connection, visits, f"Hall {number}")
        served.stop()
    finally:
        served.kill()
    print(f"seed {SEED}: {number} kills, {len(acked)} reports issued, {len(withdrawn)} withdrawn")
    return problems


def left_problems(served: Served, connection: driver.Connection, visits: list[int], room: str) -> list[str]:
    """Return the problems of all contents and locks, while nobody else writes."""
    with contextlib.closing(served.consumer()) as consumer:
        return content_problems(connection) + lock_problems(connection, consumer, visits, room)


def test_kills_leave_reports_whole(served: Served) -> None:
    assert not kill_repeatedly(served, 10, acked_min=20), f"seed {SEED}"


def test_report_in_a_later_transaction_is_detected(served: Served) -> None:
    served.application = "tests.durability.faulty_applications:report_in_own_transaction()"

    problems = kill_repeatedly(served, 4)

    assert any("acknowledged and lost" in problem for problem in problems), f"seed {SEED}: {problems}"


@pytest.mark.slow
def test_many_kills_leave_reports_whole(served: Served) -> None:
    assert not kill_repeatedly(served, scaled(200), acked_min=scaled(200)), f"seed {SEED}"

"""SIGKILL while the inspections of schedules are closed: each schedule keeps its one open inspection."""

import contextlib
import random

import pytest

from engine.storage.sqlite import driver
from tests.durability.conftest import scaled
from tests.durability.load import integrity_problems
from tests.durability.served import SHIPPED, Served
from tests.durability.test_kill import KILLS_FACTOR_MAX, THREADS, load_and_kill
from tests.durability.test_power_cuts import SEED
from tests.durability.visits_load import VisitsLoad, create_schedules, visits_problems


def database_problems(served: Served, acked: set[int]) -> list[str]:
    connection = driver.connect(str(served.database))
    try:
        return integrity_problems(connection) + visits_problems(connection, acked)
    finally:
        connection.close()


def kill_repeatedly(served: Served, kills: int, *, acked_min: int = 0) -> list[str]:
    """Kill a worker and the service in turn, at least `kills` times. Return the first problems of the database."""
    dice, acked, first, number = random.Random(SEED), set(), 1, 0
    problems: list[str] = []
    try:
        served.start()
        with contextlib.closing(served.consumer()) as consumer:
            schedules = create_schedules(consumer)
        while not problems and (number < kills or len(acked) < acked_min):
            assert number < kills * KILLS_FACTOR_MAX, f"{number} kills, {len(acked)} acknowledged"
            number += 1
            load = VisitsLoad(served.port, first, THREADS, schedules)
            load_and_kill(served, dice, load, is_whole_service=number % 2 == 0)
            acked |= set(load.acked)
            first = next(load.numbers) + THREADS
            problems += [f"{status}: {body!r}" for _, status, body in load.refused]
            if number % 2 == 0:
                served.start()
            problems += database_problems(served, acked)
        served.stop()
    finally:
        served.kill()
    print(f"seed {SEED}: {number} kills, {len(acked)} inspections closed")
    return problems


def test_kills_leave_one_open_inspection(served: Served) -> None:
    assert not kill_repeatedly(served, 6, acked_min=50), f"seed {SEED}"


def test_next_inspection_in_a_later_transaction_is_detected(served: Served) -> None:
    served.application = "tests.durability.faulty_applications:next_inspection_in_own_transaction()"

    problems = kill_repeatedly(served, 4)

    assert any("differ from their plans" in problem for problem in problems), f"seed {SEED}: {problems}"


@pytest.mark.long
def test_many_kills_leave_one_open_inspection(served: Served) -> None:
    served.application = SHIPPED

    assert not kill_repeatedly(served, scaled(200), acked_min=scaled(5_000)), f"seed {SEED}"

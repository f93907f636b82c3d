"""SIGKILL of one worker or of the whole service: acknowledged writes are kept (figure 2).

The page cache survives a process, so these tests do not check syncs (see test_power_cuts.py). They find a service
that responds before the COMMIT.
"""

import os
import random
import signal
import time

import pytest

from engine.storage.sqlite import driver
from tests.durability.conftest import scaled
from tests.durability.load import Load, integrity_problems, transaction_problems
from tests.durability.served import SHIPPED, Served
from tests.durability.test_power_cuts import SEED

THREADS = 8
RESTART_SECONDS_MAX = 10.0  # 2 s were recorded on an idle machine; the tests share their machine
TRANSACTIONS = 10_000_000
KILLS_FACTOR_MAX = 10  # with this many times the kills, the service has acknowledged too few transactions


def load_and_kill(served: Served, dice: random.Random, load: Load, *, is_whole_service: bool) -> None:
    """Run a load for a moment, and kill a worker or the service."""
    load.start()
    time.sleep(dice.uniform(0.05, 0.4))
    if is_whole_service:
        served.kill()
    else:
        os.kill(dice.choice(served.workers()), signal.SIGKILL)
        time.sleep(0.1)
    load.stop.set()
    load.join()


def database_problems(served: Served, acked: set[int]) -> list[str]:
    connection = driver.connect(str(served.database))
    try:
        return integrity_problems(connection) + transaction_problems(connection, acked)
    finally:
        connection.close()


def kill_repeatedly(
    served: Served, kills: int, *, acked_min: int = 0, until_faulty: bool = False
) -> tuple[list[str], float]:
    """Kill the service at least `kills` times, until `acked_min` transactions are acknowledged.

    Return the problems of the database, and the seconds of the longest start.
    """
    dice, acked, first, longest = random.Random(SEED), set(), 1, 0.0
    problems: list[str] = []
    try:
        served.start()
        number = 0
        while number < kills or len(acked) < acked_min:
            assert number < kills * KILLS_FACTOR_MAX, f"{number} kills, {len(acked)} acknowledged"
            number += 1
            is_whole_service = until_faulty or number % 2 == 0
            load = Load(served.port, first, TRANSACTIONS, THREADS)
            load_and_kill(served, dice, load, is_whole_service=is_whole_service)
            acked |= set(load.acked)
            first = next(load.numbers) + THREADS
            problems += [f"{status}: {body!r}" for _, status, body in load.refused if status != 503]
            if is_whole_service:
                longest = max(longest, served.start())
            problems += database_problems(served, acked)
            if problems:
                break
        served.stop()
    finally:
        served.kill()
    print(f"seed {SEED}: {number} kills, {len(acked)} acknowledged, restart {longest:.2f} s at most")
    return problems, longest


def test_kills_lose_no_acknowledged_write(served):
    problems, _ = kill_repeatedly(served, 8, acked_min=50)

    assert not problems, f"seed {SEED}: {problems}"


def test_response_before_the_commit_is_detected(served):
    served.application = "tests.durability.faulty_applications:responding_before_commit()"

    problems, _ = kill_repeatedly(served, 2, until_faulty=True)

    assert any("lost" in problem for problem in problems), f"seed {SEED}: {problems}"


@pytest.mark.long
def test_many_kills_lose_no_acknowledged_write(served):
    served.application = SHIPPED

    problems, longest_start = kill_repeatedly(served, scaled(1_000), acked_min=scaled(50_000))

    assert not problems, f"seed {SEED}: {problems}"
    assert longest_start < RESTART_SECONDS_MAX

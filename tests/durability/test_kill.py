"""`kill -9`, to one worker or to all of it: what was acknowledged is there after the next start (figure 2).

The page cache survives a process, so this says nothing of syncs (see test_power_cuts.py); it finds whoever
answers before the COMMIT.
"""

import os
import random
import signal
import time

import pytest

from engine.storage.sqlite import driver
from tests.durability.conftest import scaled
from tests.durability.load import Load, integrity, verdict
from tests.durability.served import SHIPPED, Served
from tests.durability.test_power_cuts import SEED

THREADS = 8
RESTART_SECONDS_MAX = 10.0  # 2 on an idle machine, where it is recorded; the tests share theirs
TRANSACTIONS = 10_000_000
PATIENCE = 10  # times as many kills, and still too little was acknowledged: nobody is being served


def cycle(served: Served, dice: random.Random, first: int, *, whole: bool) -> Load:
    """Let clients write for a moment, kill, and return what they were told."""
    load = Load(served.port, first, TRANSACTIONS, THREADS)
    load.start()
    time.sleep(dice.uniform(0.05, 0.4))
    if whole:
        served.kill()
    else:
        os.kill(dice.choice(served.workers()), signal.SIGKILL)
        time.sleep(0.1)
    load.stop.set()
    load.join()
    return load


def problems_of(served: Served, acked: set[int]) -> list[str]:
    connection = driver.connect(str(served.database))
    try:
        return integrity(connection) + verdict(connection, acked)
    finally:
        connection.close()


def kill_often(
    served: Served, kills: int, *, acked_min: int = 0, until_faulty: bool = False
) -> tuple[list[str], float]:
    """Kill so many times, and on until so many transactions were acknowledged, which takes a slow machine longer; what
    is wrong afterwards, and how many seconds the longest start took."""
    dice, acked, first, longest = random.Random(SEED), set(), 1, 0.0
    problems: list[str] = []
    try:
        served.start()
        number = 0
        while number < kills or len(acked) < acked_min:
            assert number < kills * PATIENCE, f"{number} kills, {len(acked)} acknowledged"
            number += 1
            whole = until_faulty or number % 2 == 0
            load = cycle(served, dice, first, whole=whole)
            acked |= set(load.acked)
            first = next(load.numbers) + THREADS
            problems += [f"{status}: {body!r}" for _, status, body in load.refused if status != 503]
            if whole:
                longest = max(longest, served.start())
            problems += problems_of(served, acked)
            if problems:
                break
        served.stop()
    finally:
        served.kill()
    print(f"seed {SEED}: {number} kills, {len(acked)} acknowledged, restart {longest:.2f} s at most")
    return problems, longest


def test_nothing_acknowledged_is_lost_when_it_is_killed(served):
    problems, _ = kill_often(served, 8, acked_min=50)

    assert not problems, f"seed {SEED}: {problems}"


def test_who_answers_before_the_commit_is_found_out(served):
    served.application = "tests.durability.planted:answering_early()"

    problems, _ = kill_often(served, 2, until_faulty=True)

    assert any("lost" in problem for problem in problems), f"seed {SEED}: {problems}"


@pytest.mark.long
def test_nothing_acknowledged_is_lost_in_many_kills(served):
    served.application = SHIPPED

    problems, longest_start = kill_often(served, scaled(1_000), acked_min=scaled(50_000))

    assert not problems, f"seed {SEED}: {problems}"
    assert longest_start < RESTART_SECONDS_MAX

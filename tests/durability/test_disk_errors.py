"""A disk that fails: the k-th write or sync of the database, once or until there is room again (figure 3).

Nothing is acknowledged that is not kept, nothing hangs, and once the error is gone the service is well
again without a restart.
"""

import contextlib
import errno
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import pytest

from engine.storage.sqlite import driver
from tests.durability import shim
from tests.durability.conftest import scaled
from tests.durability.load import integrity, rows, verdict
from tests.durability.served import Consumer, Served, serving
from tests.durability.test_power_cuts import SEED

WRITE, SYNC = 1, 2
TRANSACTIONS = 10  # a failure point
PLANTED = "tests.durability.planted:swallowing()"


@dataclass(slots=True)
class Told:
    """What a service under a failing disk said."""

    acked: set[int] = field(default_factory=set)
    refused: Counter = field(default_factory=Counter)
    failures: int = 0
    unwell: list[str] = field(default_factory=list)


def points(count: int, at_most: int) -> list[tuple[int, int, int]]:
    """Failure points: (write or sync, errno, which one), at random, of each kind as many."""
    dice = random.Random(SEED)
    kinds = itertools.cycle(itertools.product((WRITE, SYNC), (errno.EIO, errno.ENOSPC)))
    return [(*kind, dice.randint(1, at_most)) for _, kind in zip(range(count), kinds, strict=False)]


def suffer(served: Served, count: int, at_most: int) -> tuple[Told, list[str]]:
    """Let a running service meet every failure point; what it said, and what is wrong afterwards."""
    told, numbers = Told(), itertools.count(1)
    with watching(served) as watched, closing(served.consumer(timeout=20)) as consumer:
        for kind, error, at in points(count, at_most):
            with watched.control.failing(kind, error, at, once=error == errno.EIO):
                for _ in range(TRANSACTIONS):
                    attempt(consumer, next(numbers), told)
                told.failures += watched.control[shim.Word.FAILED]
            after = next(numbers)
            attempt(consumer, after, told)
            if after not in told.acked:
                told.unwell.append(f"not well again after {kind}, {error}, {at}")
    connection = driver.connect(str(served.database))
    try:
        problems = integrity(connection) + verdict(connection, told.acked)
    finally:
        connection.close()
    print(f"seed {SEED}: {count} points, {told.failures} failures, {dict(told.refused)}")
    return told, problems


def attempt(consumer: Consumer, k: int, told: Told) -> None:
    answer = consumer.send("POST", "/inspections", rows(k))
    if answer.status == 201:
        told.acked.add(k)
    else:
        told.refused[answer.status, answer.code] += 1


def test_nothing_is_acknowledged_that_the_disk_did_not_take(served):
    told, problems = suffer(served, 40, 30)

    assert not problems, f"seed {SEED}: {problems}"
    assert not told.unwell
    assert told.failures >= 30, "the control works"
    assert set(told.refused) <= {(503, "53100"), (500, "58030")}
    assert {(503, "53100"), (500, "58030")} <= set(told.refused)


def test_who_swallows_what_commit_says_is_found_out(served):
    served.application = PLANTED

    _, problems = suffer(served, 8, 10)

    assert any("lost" in problem for problem in problems), f"seed {SEED}: {problems}"


@dataclass(slots=True)
class Watched:
    """A running service under the shim."""

    served: Served
    control: shim.Control


@contextlib.contextmanager
def watching(served: Served) -> Iterator[Watched]:
    path = served.directory.parent / "control"
    control = shim.Control(path)
    served.watched = shim.environment(served.directory, control=path)
    with serving(served):
        yield Watched(served, control)


def test_ready_and_syncs(served):
    """Two questions to one service, for a start takes seconds."""
    with watching(served) as watched, closing(served.consumer()) as consumer:
        ready_says_what_can_be_written(watched, consumer)
        synced, others = syncs_of_commits(watched, consumer)

    assert synced >= 50, "figure 5: at least one of the log a commit"
    assert synced + others <= 100, "and at most two of anything, outside checkpoints"


def ready_says_what_can_be_written(watched: Watched, consumer: Consumer) -> None:
    before = consumer.send("GET", "/ready")
    with watched.control.failing(WRITE, errno.ENOSPC, 1, once=False):
        refused = consumer.send("POST", "/inspections", rows(1))
        during = consumer.send("GET", "/ready")
        read = consumer.send("GET", "/inspections?limit=1")
    after = consumer.send("GET", "/ready")

    assert (before.status, after.status) == (200, 200)
    assert (refused.status, refused.code) == (503, "53100")
    assert refused.headers["Retry-After"] == "1"
    assert (during.status, during.json) == (503, {"status": "the database cannot be written"})
    assert read.status == 200


def test_a_service_that_does_not_sync_is_found_out(served):
    served.application = "tests.durability.planted:off()"

    with watching(served) as watched, closing(served.consumer()) as consumer:
        synced, _ = syncs_of_commits(watched, consumer)

    assert synced < 50


def syncs_of_commits(watched: Watched, consumer: Consumer) -> tuple[int, int]:
    """How often 50 commits sync the log, and anything else of the database."""
    control = watched.control
    assert consumer.send("POST", "/inspections", rows(0)).status == 201
    before = control[shim.Word.WAL_SYNCS], control[shim.Word.SYNCS]
    for k in range(1, 51):
        assert consumer.send("POST", "/inspections", rows(k)).status == 201
    log = control[shim.Word.WAL_SYNCS] - before[0]
    return log, control[shim.Word.SYNCS] - before[1] - log


@pytest.mark.long
def test_nothing_is_acknowledged_at_any_failure_point(served):
    told, problems = suffer(served, scaled(2_000), 500)

    assert not problems, f"seed {SEED}: {problems}"
    assert not told.unwell

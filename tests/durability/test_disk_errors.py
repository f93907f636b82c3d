"""Disk errors: the k-th write or sync of the database fails, once or until space is free again (figure 3).

All acknowledged writes are kept, all requests end, and the service recovers without a restart.
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
from tests.durability.load import integrity_problems, rows, transaction_problems
from tests.durability.served import Consumer, Served, serving
from tests.durability.test_power_cuts import SEED

WRITE, SYNC = 1, 2
TRANSACTIONS = 10  # of each failure point
IGNORING_COMMIT_ERRORS = "tests.durability.faulty_applications:ignoring_commit_errors()"


@dataclass(slots=True)
class Outcome:
    """The responses of a service on a failing disk."""

    acked: set[int] = field(default_factory=set)
    refused: Counter = field(default_factory=Counter)
    failures: int = 0
    not_recovered: list[str] = field(default_factory=list)


def failure_points(count: int, at_most: int) -> list[tuple[int, int, int]]:
    """Return random failure points (write or sync, errno, position), the same number of each kind."""
    dice = random.Random(SEED)
    kinds = itertools.cycle(itertools.product((WRITE, SYNC), (errno.EIO, errno.ENOSPC)))
    return [(*kind, dice.randint(1, at_most)) for _, kind in zip(range(count), kinds, strict=False)]


def run_through_failures(served: Served, count: int, at_most: int) -> tuple[Outcome, list[str]]:
    """Run a service through all failure points; return its responses and the problems of the database."""
    outcome, numbers = Outcome(), itertools.count(1)
    with running_under_shim(served) as service, closing(served.consumer(timeout=20)) as consumer:
        for kind, error, at in failure_points(count, at_most):
            with service.control.failing(kind, error, at, once=error == errno.EIO):
                for _ in range(TRANSACTIONS):
                    send_transaction(consumer, next(numbers), outcome)
                outcome.failures += service.control[shim.ControlWord.FAILED]
            after = next(numbers)
            send_transaction(consumer, after, outcome)
            if after not in outcome.acked:
                outcome.not_recovered.append(f"no recovery after {kind}, {error}, {at}")
    connection = driver.connect(str(served.database))
    try:
        problems = integrity_problems(connection) + transaction_problems(connection, outcome.acked)
    finally:
        connection.close()
    print(f"seed {SEED}: {count} points, {outcome.failures} failures, {dict(outcome.refused)}")
    return outcome, problems


def send_transaction(consumer: Consumer, k: int, outcome: Outcome) -> None:
    answer = consumer.send("POST", "/inspections", rows(k))
    if answer.status == 201:
        outcome.acked.add(k)
    else:
        outcome.refused[answer.status, answer.code] += 1


def test_write_that_the_disk_refused_is_not_acknowledged(served):
    outcome, problems = run_through_failures(served, 40, 30)

    assert not problems, f"seed {SEED}: {problems}"
    assert not outcome.not_recovered
    assert outcome.failures >= 30, "the control injects failures"
    assert set(outcome.refused) <= {(503, "53100"), (500, "58030")}
    assert {(503, "53100"), (500, "58030")} <= set(outcome.refused)


def test_ignored_commit_errors_are_detected(served):
    served.application = IGNORING_COMMIT_ERRORS

    _, problems = run_through_failures(served, 8, 10)

    assert any("lost" in problem for problem in problems), f"seed {SEED}: {problems}"


@dataclass(slots=True)
class ServiceUnderShim:
    """A running service under the shim."""

    served: Served
    control: shim.Control


@contextlib.contextmanager
def running_under_shim(served: Served) -> Iterator[ServiceUnderShim]:
    path = served.directory.parent / "control"
    control = shim.Control(path)
    served.watched = shim.environment(served.directory, control=path)
    with serving(served):
        yield ServiceUnderShim(served, control)


def test_readiness_and_syncs_of_commits(served):
    """One service for both checks, since a start takes seconds."""
    with running_under_shim(served) as service, closing(served.consumer()) as consumer:
        check_readiness_on_a_full_disk(service, consumer)
        synced, others = count_syncs_of_commits(service, consumer)

    assert synced >= 50, "figure 5: at least one sync of the WAL for each commit"
    assert synced + others <= 100, "at most two syncs for each commit, outside checkpoints"


def check_readiness_on_a_full_disk(service: ServiceUnderShim, consumer: Consumer) -> None:
    before = consumer.send("GET", "/ready")
    with service.control.failing(WRITE, errno.ENOSPC, 1, once=False):
        refused = consumer.send("POST", "/inspections", rows(1))
        during = consumer.send("GET", "/ready")
        read = consumer.send("GET", "/inspections?limit=1")
    after = consumer.send("GET", "/ready")

    assert (before.status, after.status) == (200, 200)
    assert (refused.status, refused.code) == (503, "53100")
    assert refused.headers["Retry-After"] == "1"
    assert (during.status, during.json) == (503, {"status": "the database cannot be written"})
    assert read.status == 200


def test_missing_syncs_are_detected(served):
    served.application = "tests.durability.faulty_applications:synchronous_off()"

    with running_under_shim(served) as service, closing(served.consumer()) as consumer:
        synced, _ = count_syncs_of_commits(service, consumer)

    assert synced < 50


def count_syncs_of_commits(service: ServiceUnderShim, consumer: Consumer) -> tuple[int, int]:
    """Return how often 50 commits sync the WAL, and any other file of the database."""
    control = service.control
    assert consumer.send("POST", "/inspections", rows(0)).status == 201
    before = control[shim.ControlWord.WAL_SYNCS], control[shim.ControlWord.SYNCS]
    for k in range(1, 51):
        assert consumer.send("POST", "/inspections", rows(k)).status == 201
    log = control[shim.ControlWord.WAL_SYNCS] - before[0]
    return log, control[shim.ControlWord.SYNCS] - before[1] - log


@pytest.mark.long
def test_many_failure_points_lose_no_acknowledged_write(served):
    outcome, problems = run_through_failures(served, scaled(2_000), 500)

    assert not problems, f"seed {SEED}: {problems}"
    assert not outcome.not_recovered

"""Slow reads share one core of a process."""

from __future__ import annotations

import pytest

from engine.storage import slow_statements
from engine.storage.slow_statements import ACTIVE_SECONDS, PAUSE_SECONDS_MAX, STATEMENTS_MAX, SlowStatements


class ManualClock:
    """A clock that only `sleep` and the test advance."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(round(seconds, 6))
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    manual = ManualClock()
    monkeypatch.setattr(slow_statements, "time", manual)
    return manual


def run(statements: SlowStatements, clock: ManualClock, connection: int, work: float) -> None:
    clock.now += work
    statements.pause(connection, clock.now)


def test_single_slow_statement_does_not_pause(clock: ManualClock) -> None:
    statements = SlowStatements()

    for _ in range(5):
        run(statements, clock, 1, 0.002)

    assert clock.slept == []


def test_statement_pauses_for_the_work_of_the_others(clock: ManualClock) -> None:
    statements = SlowStatements()
    for connection in (1, 2, 3):
        statements.pause(connection, clock.now)
    clock.slept.clear()

    clock.now = statements.resumed_at[1] + 0.004
    statements.pause(1, clock.now)

    assert clock.slept == [0.008]


def test_pause_has_a_maximum(clock: ManualClock) -> None:
    statements = SlowStatements()
    statements.pause(1, clock.now)
    statements.pause(2, clock.now)
    clock.slept.clear()

    clock.now = statements.resumed_at[1] + 0.4
    statements.resumed_at[2] = clock.now
    statements.pause(1, clock.now)

    assert clock.slept == [PAUSE_SECONDS_MAX]


def test_ended_statement_is_not_waited_for(clock: ManualClock) -> None:
    statements = SlowStatements()
    statements.pause(1, clock.now)
    clock.now += ACTIVE_SECONDS + 0.1

    run(statements, clock, 2, 0.002)

    assert clock.slept == []


def test_list_of_statements_is_bounded(clock: ManualClock) -> None:
    statements = SlowStatements()

    for connection in range(10 * STATEMENTS_MAX):
        run(statements, clock, connection, ACTIVE_SECONDS)

    assert len(statements.resumed_at) <= STATEMENTS_MAX + 1

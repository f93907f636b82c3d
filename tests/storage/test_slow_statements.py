"""Slow reads share one core of a process."""

from __future__ import annotations

import pathlib

import pytest

from engine.open import database
from engine.storage import sqlite
from engine.storage.sqlite import PAUSE_SECONDS_MAX, SLOW_STATEMENTS, SlowStatements
from tests.support.signin import open_service

SLOW_QUERY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000000) SELECT max(i) FROM n"


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
    monkeypatch.setattr(sqlite, "time", manual)
    return manual


def test_single_slow_statement_does_not_pause(clock: ManualClock) -> None:
    statements = SlowStatements()

    for _ in range(5):
        clock.now += 0.002
        statements.pause(1, clock.now)

    assert clock.slept == []


def test_statement_pauses_for_the_work_of_the_others(clock: ManualClock) -> None:
    statements = SlowStatements()
    for connection in (1, 2, 3):
        statements.pause(connection, clock.now)

    clock.now += 0.004
    statements.pause(1, clock.now)

    assert clock.slept == [0.008]


def test_pause_has_a_maximum(clock: ManualClock) -> None:
    statements = SlowStatements()
    for connection in (1, 2):
        statements.pause(connection, clock.now)

    clock.now += 0.4
    statements.pause(1, clock.now)

    assert clock.slept == [PAUSE_SECONDS_MAX]


def test_ended_statement_is_not_waited_for(clock: ManualClock) -> None:
    statements = SlowStatements()
    for connection in (1, 2):
        statements.pause(connection, clock.now)
    statements.end(1)

    clock.now += 0.004
    statements.pause(2, clock.now)

    assert clock.slept == []


def test_transactions_leave_no_slow_statement(tmp_path: pathlib.Path) -> None:
    """A read that is slow is counted until its transaction ends."""
    counted = []
    service = open_service(tmp_path)
    with service.app.app_context(), database().reading() as transaction:
        transaction.value(SLOW_QUERY)
        counted.append(len(SLOW_STATEMENTS.resumed_at))
    counted.append(len(SLOW_STATEMENTS.resumed_at))

    assert counted == [1, 0]

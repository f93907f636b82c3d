"""The gate of a process: one request works at a time, and nobody waits behind one that is slow."""

from __future__ import annotations

import threading
import time

import pytest

from serving import gate
from serving.gate import Gate

FOREVER = 30.0  # until a test that hangs is a test that fails


def test_requests_that_are_quick_go_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate, "PATIENCE_SECONDS", FOREVER)
    passed = Gate()
    inside, most, done = 0, 0, 0
    count = threading.Lock()

    def work() -> None:
        nonlocal inside, most, done
        for _ in range(50):
            with passed.passing():
                with count:
                    inside += 1
                    most = max(most, inside)
                time.sleep(0)
                with count:
                    inside -= 1
                    done += 1

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(FOREVER)

    assert (most, done) == (1, 400)


def test_others_walk_around_whoever_stays() -> None:
    passed = Gate()
    stays, entered, leave = threading.Event(), threading.Event(), threading.Event()
    others = []

    def stay() -> None:
        with passed.passing():
            stays.set()
            leave.wait(FOREVER)

    def walk_around() -> None:
        with passed.passing():
            others.append(leave.is_set())
        entered.set()

    slow = threading.Thread(target=stay)
    slow.start()
    assert stays.wait(FOREVER)
    quick = [threading.Thread(target=walk_around) for _ in range(8)]
    for thread in quick:
        thread.start()
    for thread in quick:
        thread.join(FOREVER)
    leave.set()
    slow.join(FOREVER)

    assert others == [False] * 8


def test_who_was_walked_around_leaves_without_a_trace() -> None:
    passed = Gate()
    left = passed.lane
    with passed.passing():
        left.since -= 1  # it seems to have been inside for long
        with passed.passing():
            assert passed.lane is not left
        now = passed.lane

    assert passed.lane is now
    assert not now.lock.locked()
    assert not left.lock.locked()


def test_a_request_that_fails_leaves_the_gate() -> None:
    passed = Gate()

    with pytest.raises(ZeroDivisionError), passed.passing():
        raise ZeroDivisionError

    assert not passed.lane.lock.locked()

"""Polling for a condition, and a mark for tests of durations."""

import time
from collections.abc import Callable

import pytest

SECONDS_MAX = 60.0  # then the test fails

TIMED = pytest.mark.flaky(reruns=2, reruns_delay=1, only_rerun="AssertionError")
"""The mark of tests that measure durations: a busy machine may fail them, but not three times."""


def until(holds: Callable[[], object]) -> None:
    """Poll until the condition holds; fail after SECONDS_MAX."""
    give_up = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < give_up, "timeout: the condition does not hold"
        time.sleep(0.002)

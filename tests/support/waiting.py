"""Waiting for what comes to hold by itself, for as long as it takes and no longer; and what must not take long."""

import time
from collections.abc import Callable

import pytest

SECONDS_MAX = 30.0  # until a test that hangs is a test that fails

TIMED = pytest.mark.flaky(reruns=2, reruns_delay=1, only_rerun="AssertionError")
"""For a test of how long something may take: a machine that stands still for a moment fails it, but not three times."""


def until(holds: Callable[[], object]) -> None:
    give_up = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < give_up, "it never came to hold"
        time.sleep(0.002)

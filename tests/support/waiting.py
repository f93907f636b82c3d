"""Polling for a condition."""

import time
from collections.abc import Callable

SECONDS_MAX = 60.0  # then the test fails


def until(holds: Callable[[], object]) -> None:
    """Poll until the condition holds; fail after SECONDS_MAX."""
    give_up = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < give_up, "timeout: the condition does not hold"
        time.sleep(0.002)

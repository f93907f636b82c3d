"""Waiting for what comes to hold by itself, for as long as it takes and no longer."""

import time
from collections.abc import Callable

SECONDS_MAX = 30.0  # until a test that hangs is a test that fails


def until(holds: Callable[[], object]) -> None:
    give_up = time.monotonic() + SECONDS_MAX
    while not holds():
        assert time.monotonic() < give_up, "it never came to hold"
        time.sleep(0.002)

"""The time, which never goes back and never stands still: a board without a clock boots in the past, and a clock may
be set.

Expired tokens would live again, and rows would seem to have changed before they were made; were the time to wait
until the system's has caught up, tokens would not expire for as long. So it goes on from the latest moment known,
by how long the machine has been running, which nobody sets. The latest moment that a write has left in the file is the
least that it can be, and where several processes serve a file, the latest that any of them has seen.
"""

from __future__ import annotations

import datetime
import math
import mmap
import time
from threading import Lock
from typing import ClassVar
from typing import Final

DOUBLE_BYTES = 8
RUNNING: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""Which clock says how long the machine has been running, sleep included where there is such a one: it is the same
for all processes."""


class Clock:
    """Unix seconds: the system's, or those since the latest moment seen where that is later."""

    shared: ClassVar[memoryview[float] | None] = None
    """The most that the time of any process was ahead of how long the machine runs, of those that look here."""

    def __init__(self) -> None:
        self.ahead = (
            -math.inf
        )  # of how long the machine runs: it changes where a clock is set, and only grows
        self.growing = Lock()

    def __call__(self) -> float:
        # In this order: whoever is made to wait between the two is behind for once, and not ahead for good.
        system, running = time.time(), time.clock_gettime(RUNNING)
        ahead, seen = system - running, self.ahead if self.shared is None else self.shared[0]
        if ahead > self.ahead or seen != self.ahead:
            self.grow(max(ahead, seen))
        return self.ahead + running

    def advance(self, stored: str) -> None:
        """Take a stored timestamp for past."""
        moment = datetime.datetime.fromisoformat(stored).timestamp()
        running = time.clock_gettime(RUNNING)
        ahead = moment - running
        # What is lost in rounding may not make the time an earlier one.
        self.grow(ahead if ahead + running >= moment else math.nextafter(ahead, math.inf))

    def grow(self, ahead: float) -> None:
        """Be no less ahead than that, and have the others be so, too."""
        with self.growing:
            self.ahead = max(self.ahead, ahead)
            if self.shared is not None:
                # One aligned double, read and written whole. Of two that write at once the later sees it again.
                if self.shared[0] < self.ahead:
                    self.shared[0] = self.ahead
                else:
                    self.ahead = self.shared[0]

    def seconds_before_system(self) -> float:
        """By how much the time is later than the system's."""
        return self() - system_time()


def system_time() -> float:
    """Unix seconds by the system's clock alone, wherever it was set to."""
    return time.time()


def share() -> None:
    """Have all clocks of this process and of those that it forks be as far ahead as any of them."""
    Clock.shared = memoryview(mmap.mmap(-1, DOUBLE_BYTES)).cast("d")
    Clock.shared[0] = -math.inf

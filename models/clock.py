"""The time, which never goes back: a board without a clock boots in the past, and a clock may be set.

Expired tokens would live again, and rows would seem to have changed before they were made. The latest
moment that a write has left in the file is the least that it can be, and where several processes serve
a file, the latest that any of them has seen.
"""

from __future__ import annotations

import datetime
import mmap
import time
from typing import ClassVar

DOUBLE_BYTES = 8


class Clock:
    """Unix seconds: the system's, or the latest seen where that is later."""

    shared: ClassVar[memoryview[float] | None] = None
    """The latest that any process has seen of those that look here."""

    def __init__(self) -> None:
        self.latest = 0.0

    def __call__(self) -> float:
        now = max(self.latest, time.time())
        if self.shared is not None:
            # One aligned double, read and written whole. Of two that write at once the later sees it again.
            seen = self.shared[0]
            if seen < now:
                self.shared[0] = now
            else:
                now = seen
        self.latest = now
        return now

    def advance(self, stored: str) -> None:
        """Take a stored timestamp for past."""
        self.latest = max(self.latest, datetime.datetime.fromisoformat(stored).timestamp())


def share() -> None:
    """Have all clocks of this process and of those that it forks look at the latest moment of any of them."""
    Clock.shared = memoryview(mmap.mmap(-1, DOUBLE_BYTES)).cast("d")

"""Slow reads share one core of a process, so that short requests find the processor and the interpreter free."""

from __future__ import annotations

import time
from typing import Final

SLOW_SECONDS: Final = 0.05  # of one transaction, from the first check of its deadline
PAUSE_SECONDS_MAX: Final = 0.25


class SlowStatements:
    """The slow reads of one process. Each pauses after a slice of work for as many slices as there are others."""

    def __init__(self) -> None:
        self.resumed_at: dict[int, float] = {}  # by connection

    def pause(self, connection: int, now: float) -> None:
        """Sleep in proportion to the other slow reads. `now` is the monotonic clock's time in seconds."""
        work = now - self.resumed_at.setdefault(connection, now)
        others = len(self.resumed_at) - 1
        if others and work:
            time.sleep(min(PAUSE_SECONDS_MAX, work * others))
        self.resumed_at[connection] = time.monotonic()

    def end(self, connection: int) -> None:
        """Forget a connection, whose transaction has ended."""
        self.resumed_at.pop(connection, None)


SLOW_STATEMENTS: Final = SlowStatements()

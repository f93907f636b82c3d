"""Slow reads share one core of a process, so that short requests find the processor and the interpreter free."""

from __future__ import annotations

import time
from typing import Final

ACTIVE_SECONDS: Final = 0.5  # after its last check a statement counts as running
PAUSE_SECONDS_MAX: Final = 0.25
FIRST_SLICE_SECONDS: Final = 0.001
STATEMENTS_MAX: Final = 64  # before the list of statements is pruned


class SlowStatements:
    """The statements of one process that have run long enough to be checked for their deadline.

    Each pauses after a slice of work for as many slices as there are other slow statements.
    """

    def __init__(self) -> None:
        self.resumed_at: dict[int, float] = {}  # by connection

    def pause(self, connection: int, now: float) -> None:
        """Sleep in proportion to the other slow statements. `now` is the monotonic clock's time in seconds."""
        resumed = self.resumed_at.get(connection, 0.0)
        is_running = now - resumed < ACTIVE_SECONDS
        others = sum(now - each < ACTIVE_SECONDS for each in list(self.resumed_at.values())) - is_running
        if others > 0:
            work = now - resumed if is_running else FIRST_SLICE_SECONDS
            time.sleep(min(PAUSE_SECONDS_MAX, work * others))
        if len(self.resumed_at) > STATEMENTS_MAX:
            self.resumed_at.clear()
        self.resumed_at[connection] = time.monotonic()


SLOW_STATEMENTS: Final = SlowStatements()

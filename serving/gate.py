"""Who may work? One request of a process at a time, but nobody waits behind one that is slow.

Every call into SQLite lets go of the interpreter's lock and takes it back. Threads that all work at once
hand it to each other at each such call, and a request then costs twice its processor time. Behind this
gate the others sleep instead, and are woken once a request. Whoever has been inside for longer than a
request usually takes (a long query, a slow disk, a slow reader, a turn to write) keeps what it does and
loses the lane: the others go on in a new one.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

PATIENCE_SECONDS: Final = 0.003  # ten point reads


class Lane:
    """A lock, and since when it is held."""

    __slots__ = ("lock", "since")

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.since = time.monotonic()


class Gate:
    """Lets one in at a time, in no order, and walks around whoever stays."""

    def __init__(self) -> None:
        self.lane = Lane()

    @contextmanager
    def passing(self) -> Iterator[None]:
        lane = self.enter()
        try:
            yield
        finally:
            lane.lock.release()

    def enter(self) -> Lane:
        """The lane that the caller now holds."""
        while True:
            lane = self.lane
            if lane.lock.acquire(timeout=PATIENCE_SECONDS):
                lane.since = time.monotonic()
                return lane
            # Two may both find it stuck and make a lane each: then two work at once, which is no harm.
            if time.monotonic() - lane.since > PATIENCE_SECONDS and self.lane is lane:
                self.lane = Lane()

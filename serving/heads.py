"""Whose head is not all there yet? One thread looks at all such connections now and then, so that a client
that drips its request holds no thread of those that serve, however many of its kind there are."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final
from typing import Generic
from typing import TypeVar

FRESH_SECONDS: Final = (
    0.1  # a long head takes a few packets; who needs longer is slow, or means no good
)
FRESH_LOOK_SECONDS: Final = 0.002
LOOK_SECONDS: Final = 0.05

Connection = TypeVar("Connection")


class Heads(Generic[Connection]):
    """Connections whose client has sent a part of a head.

    `has_asked` says that the rest is there, or will not come. `go_on` takes such a connection.
    `start` runs a function in a thread.
    """

    def __init__(
        self,
        has_asked: Callable[[Connection], object],
        go_on: Callable[[Connection], None],
        start: Callable[[Callable[[], None]], object],
    ) -> None:
        self.has_asked = has_asked
        self.go_on = go_on
        self.start = start
        self.changing = threading.Lock()  # around what follows
        self.waiting: set[Connection] = set()
        self.newest = 0.0
        self.is_watched = False

    def wait_for(self, connection: Connection) -> None:
        """Have a connection looked at until it can go on."""
        with self.changing:
            self.waiting.add(connection)
            self.newest = time.monotonic()
            is_watched, self.is_watched = self.is_watched, True
        if not is_watched:
            self.start(self.watch)

    def watch(self) -> None:
        """Look at all of them now and then, until none is left."""
        while True:
            with self.changing:
                waiting = list(self.waiting)
                if not waiting:
                    self.is_watched = False
                    return
                is_fresh = time.monotonic() - self.newest < FRESH_SECONDS
            time.sleep(FRESH_LOOK_SECONDS if is_fresh else LOOK_SECONDS)
            for connection in filter(self.has_asked, waiting):
                with self.changing:
                    self.waiting.remove(connection)
                self.go_on(connection)

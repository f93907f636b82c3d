"""A bound on the memory of large results: a process builds and sends only a few at a time.

A result takes three times its size while its response is built. A result of more than LARGE_BYTES takes one of
SLOTS slots until the response is sent.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from models.errors import Fault

LARGE_BYTES: Final = 1 << 20
SLOTS_MAX: Final = 4  # of up to 32 MiB each
WAIT_SECONDS_MAX = 1.0  # half of a read's time limit, which includes it

SLOTS = threading.BoundedSemaphore(SLOTS_MAX)
HELD = threading.local()
"""`is_set`: the request of this thread holds a slot."""


class TooManyLargeResults(Fault):
    """All slots are taken (53200). A retry is right."""

    def __init__(self) -> None:
        super().__init__("the server is sending too many large responses", hint="Try again, or lower the limit.")


def take_slot(*, waits: bool = True) -> None:
    """Take a slot for the rest of the request, unless it has one; raise TooManyLargeResults if none is free in time.

    A write does not wait, since it has the writer lock.
    """
    if is_slot_held():
        return
    if not SLOTS.acquire(timeout=WAIT_SECONDS_MAX if waits else 0):
        raise TooManyLargeResults
    HELD.is_set = True


def is_slot_held() -> bool:
    """Return whether the request of this thread holds a slot."""
    is_set: bool = getattr(HELD, "is_set", False)
    return is_set


def release_slot() -> None:
    """Release the slot of this thread's request, if it holds one."""
    if is_slot_held():
        HELD.is_set = False
        trim_heap()
        SLOTS.release()


def trim_heap() -> None:
    """Give free memory back to the system, if the C library can: small values lie between the rows of a result."""
    with suppress(OSError, AttributeError):  # musl and macOS have no such function
        ctypes.CDLL(None).malloc_trim(0)


class ReleasingBody:
    """A response's body that releases the slot of its request once it is sent or closed."""

    def __init__(self, body: Iterable[bytes]) -> None:
        self.body = body

    def __iter__(self) -> Iterator[bytes]:
        try:
            yield from self.body
        finally:
            release_slot()

    def close(self) -> None:
        try:
            if close := getattr(self.body, "close", None):
                close()
        finally:
            release_slot()

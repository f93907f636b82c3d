"""The deadline of a sign-in: the queue for hashing and the wait for the write lock share three seconds."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass

from engine.current import database
from engine.interface.transaction import Transaction

RESPONSE_SECONDS_MAX = 3.0  # Supabase's Python client gives up after five
WORK_SECONDS = 0.4  # reserved for a hash and two commits on slow hardware


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time, on the monotonic clock in seconds, at which all waiting ends."""

    at: float

    def left(self) -> float:
        """Return the seconds left, at least 0."""
        return max(0.0, self.at - time.monotonic())

    def writing(self) -> AbstractContextManager[Transaction]:
        """Return a write transaction that waits for the write lock until the deadline."""
        left = self.left()
        transaction: AbstractContextManager[Transaction] = database().writing(
            seconds_max=left + WORK_SECONDS, wait_seconds_max=left
        )
        return transaction


def deadline(began: float) -> Deadline:
    """Return the deadline of a request that began at a monotonic time."""
    return Deadline(began + RESPONSE_SECONDS_MAX - WORK_SECONDS)

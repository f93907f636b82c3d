"""How much of a sign-in's three seconds is left: the queue for a hash and the wait to write share them."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from dataclasses import dataclass

from engine.current import database
from engine.storage.transaction import Transaction

ANSWER_SECONDS_MAX = 3.0  # Supabase's Python client gives up after five
WORK_SECONDS = 0.4  # kept back for what is no waiting: a hash and two commits on a slow board


@dataclass(frozen=True, slots=True)
class Deadline:
    """The moment, on the monotonic clock, after which nothing is waited for."""

    at: float

    def left(self) -> float:
        return max(0.0, self.at - time.monotonic())

    def writing(self) -> AbstractContextManager[Transaction]:
        """A turn to write, if it comes in time."""
        left = self.left()
        turn: AbstractContextManager[Transaction] = database().writing(
            seconds_max=left + WORK_SECONDS, wait_seconds_max=left
        )
        return turn


def deadline(began: float) -> Deadline:
    """The deadline of a request that began then."""
    return Deadline(began + ANSWER_SECONDS_MAX - WORK_SECONDS)

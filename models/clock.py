"""The time, which never goes back: a board without a clock boots in the past, and a clock may be set.

Expired tokens would live again, and rows would seem to have changed before they were made. The latest
moment that a write has left in the file is the least that it can be.
"""

from __future__ import annotations

import datetime
import time


class Clock:
    """Unix seconds: the system's, or the latest seen where that is later."""

    def __init__(self) -> None:
        self.latest = 0.0

    def __call__(self) -> float:
        self.latest = max(self.latest, time.time())
        return self.latest

    def advance(self, stored: str) -> None:
        """Take a stored timestamp for past."""
        self.latest = max(self.latest, datetime.datetime.fromisoformat(stored).timestamp())

"""A clock that never goes back and never stops.

The system's clock can be set back, and a machine without a battery boots in the past. Expired tokens would then be
valid again, and rows would change before their creation. The clock therefore continues from the latest time seen, by
the machine's running time. It starts no earlier than the last timestamp in the database file. Worker processes share
the latest time.
"""

from __future__ import annotations

import datetime
import math
import mmap
import time
from threading import Lock
from typing import ClassVar, Final

DOUBLE_BYTES = 8
AHEAD_SECONDS_MIN = 5.0  # smaller differences are normal clock adjustments
RUNNING: Final = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
"""The clock of the machine's running time, including sleep where available. It is the same for all processes."""


class Clock:
    """Returns Unix seconds: the later of the system's time and the latest time seen plus the time since then."""

    shared: ClassVar[memoryview[float] | None] = None
    """The greatest difference between Unix time and running time in any process, in seconds."""

    def __init__(self) -> None:
        self.ahead = -math.inf  # Unix time minus running time; it only grows
        self.growing = Lock()

    def __call__(self) -> float:
        # In this order, a pause in between makes `ahead` too small once. In the other it would stay too large.
        system, running = time.time(), time.clock_gettime(RUNNING)
        ahead, seen = system - running, self.ahead if self.shared is None else self.shared[0]
        if ahead > self.ahead or seen != self.ahead:
            self.grow(max(ahead, seen))
        return self.ahead + running

    def advance(self, stored: str) -> None:
        """Advance the clock to a stored timestamp if that is later. Raise ValueError for a malformed one."""
        moment = datetime.datetime.fromisoformat(stored).timestamp()
        running = time.clock_gettime(RUNNING)
        ahead = moment - running
        # Rounding must not make the time earlier than the timestamp.
        self.grow(ahead if ahead + running >= moment else math.nextafter(ahead, math.inf))

    def grow(self, ahead: float) -> None:
        """Raise the difference to `ahead`, here and in the other processes."""
        with self.growing:
            self.ahead = max(self.ahead, ahead)
            if self.shared is not None:
                # An aligned double is read and written atomically. A value lost to another write is set again later.
                if self.shared[0] < self.ahead:
                    self.shared[0] = self.ahead
                else:
                    self.ahead = self.shared[0]

    def seconds_ahead(self) -> int:
        """Return by how many seconds this clock is ahead of the system's; 0 below AHEAD_SECONDS_MIN."""
        seconds = self() - system_time()
        return int(seconds) if seconds >= AHEAD_SECONDS_MIN else 0


def day_of(unix: float, zone: datetime.tzinfo) -> datetime.date:
    """Return the calendar day of a Unix time in a time zone.

    >>> [day_of(0, datetime.timezone(datetime.timedelta(hours=hours))).isoformat() for hours in (0, -5)]
    ['1970-01-01', '1969-12-31']
    """
    return datetime.datetime.fromtimestamp(unix, zone).date()


def in_zone(stored: str, zone: datetime.tzinfo) -> datetime.datetime:
    """Return a stored timestamp in a time zone, or in UTC where the zone's calendar ends.

    >>> east = datetime.timezone(datetime.timedelta(hours=1))
    >>> [f"{in_zone(text, east):%H:%M}" for text in ("2026-05-05T09:30:15+00:00", "9999-12-31T23:30:00+00:00")]
    ['10:30', '23:30']
    """
    moment = datetime.datetime.fromisoformat(stored)
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment


def zone_name(moment: datetime.datetime) -> str:
    """Return the short name of a time's zone, such as EST; an offset such as UTC-03 where the zone has no name.

    >>> zone_name(datetime.datetime(2026, 5, 5, tzinfo=datetime.UTC))
    'UTC'
    """
    name = moment.tzname() or ""
    return name if name[:1].isalpha() else f"UTC{name}"


def system_time() -> float:
    """Return Unix seconds by the system's clock alone."""
    return time.time()


def share() -> None:
    """Have all clocks of this process and its forks share the greatest difference."""
    Clock.shared = memoryview(mmap.mmap(-1, DOUBLE_BYTES)).cast("d")
    Clock.shared[0] = -math.inf

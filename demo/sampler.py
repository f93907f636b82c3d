"""Random values for a portfolio, relative to today."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

Row = dict[str, Any]


class Sampler:
    """Draws values. Equal seeds and days give equal values."""

    def __init__(self, today: date, seed: int) -> None:
        self.today = today
        self.rng = random.Random(seed)  # noqa: S311  (no secrets)

    def day(self, days: int) -> date:
        """Return the date a number of days from today."""
        return self.today + timedelta(days=days)

    def moment(self, day: date, hour: int) -> str:
        """Return a timestamp within an hour of a day."""
        return datetime.combine(day, time(hour, self.count(0, 59)), UTC).isoformat()

    def count(self, least: int, most: int) -> int:
        return self.rng.randint(least, most)

    def weighted_choice(self, **weights: int) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0]


def working_day(day: date) -> date:
    """Return the day, or the Friday before a weekend."""
    return day - timedelta(days=max(0, day.weekday() - 4))

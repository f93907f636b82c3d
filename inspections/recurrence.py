"""The due dates of schedules. They are computed from the first one, not counted up.

A due date on the 31st falls on the last day of a shorter month, and on the 31st again afterwards. This is
`SKIP=BACKWARD` of RFC 7529. dateutil does the arithmetic of months.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import NamedTuple

from dateutil.relativedelta import relativedelta

from models.vocabulary import DAY, MONTH, WEEK, YEAR

DAYS = {DAY: 1, WEEK: 7}
MONTHS = {MONTH: 1, YEAR: 12}
"""The units, by the number of days or months in each."""


class Occurrence(NamedTuple):
    """A due date of a schedule, and its number, from 0."""

    number: int
    due_on: datetime.date


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The due dates of a schedule: `first_due`, and every `every` units after it. The last year is 9999."""

    first_due: datetime.date
    every: int
    unit: str

    def due_date(self, number: int) -> datetime.date | None:
        """Return the due date of an occurrence; None after the last year.

        >>> [str(Recurrence(datetime.date(2026, 1, 31), 3, "month").due_date(number)) for number in range(3)]
        ['2026-01-31', '2026-04-30', '2026-07-31']
        """
        return self.interval_after(self.first_due, number)

    def interval_after(self, day: datetime.date, intervals: int = 1) -> datetime.date | None:
        """Return the day that is a number of intervals after a day; None after the last year."""
        units = intervals * self.every
        try:
            if self.unit in DAYS:
                return day + datetime.timedelta(days=units * DAYS[self.unit])
            moved: datetime.date = day + relativedelta(months=units * MONTHS[self.unit])
        except (OverflowError, ValueError):
            return None
        return moved

    def first_after(self, day: datetime.date) -> Occurrence | None:
        """Return the first occurrence whose due date is after a day; None after the last year."""
        number = max(0, self.number_in_period(day))
        due_on = self.due_date(number)
        if due_on is not None and due_on <= day:
            number += 1
            due_on = self.due_date(number)
        return None if due_on is None else Occurrence(number, due_on)

    def number_in_period(self, day: datetime.date) -> int:
        """Return the number of the last due date in or before the period of a day: the day itself, or its month."""
        if self.unit in DAYS:
            return (day - self.first_due).days // (self.every * DAYS[self.unit])
        months = (day.year - self.first_due.year) * 12 + day.month - self.first_due.month
        return months // (self.every * MONTHS[self.unit])

    def next_planned(self, occurrence: Occurrence, visited: datetime.date) -> Occurrence | None:
        """Return the first occurrence whose due date is after both this one and the day of its visit."""
        return self.first_after(max(occurrence.due_on, visited))

    def next_done(self, occurrence: Occurrence, visited: datetime.date) -> Occurrence | None:
        """Return the next occurrence of a schedule whose interval begins on the day of the visit."""
        due_on = self.interval_after(visited)
        return None if due_on is None else Occurrence(occurrence.number + 1, due_on)

"""The due dates of schedules, and the common intervals of inspections with the rule that requires each.

Due dates are computed from the first one, not counted up. A due date on the 31st falls on the last day of a shorter
month, and on the 31st again afterwards. This is `SKIP=BACKWARD` of RFC 7529. dateutil does the arithmetic of months.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Final, NamedTuple

from dateutil.relativedelta import relativedelta

from models.vocabulary import ANNUAL, DAY, FIRE, LEAD, MONTH, WEEK, YEAR

DAYS = {DAY: 1, WEEK: 7}
MONTHS = {MONTH: 1, YEAR: 12}
"""The units, by the number of days or months in each."""
MONTH_DAYS_MIN = 28


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

    @property
    def days_min(self) -> int:
        """The days of the shortest interval, or fewer."""
        return self.every * (DAYS[self.unit] if self.unit in DAYS else MONTHS[self.unit] * MONTH_DAYS_MIN)

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

    def next_planned(self, occurrence: Occurrence, visited: datetime.date, early_days: int = 0) -> Occurrence | None:
        """Return the first occurrence after this one whose window opens after the day of the visit.

        A window opens `early_days` before the due date.
        """
        try:
            opened_until = visited + datetime.timedelta(days=early_days)
        except OverflowError:
            return None
        return self.first_after(max(occurrence.due_on, opened_until))

    def next_done(self, occurrence: Occurrence, visited: datetime.date) -> Occurrence | None:
        """Return the next occurrence of a schedule whose interval begins on the day of the visit."""
        due_on = self.interval_after(visited)
        return None if due_on is None else Occurrence(occurrence.number + 1, due_on)


@dataclass(frozen=True, slots=True)
class CommonInterval:
    """An interval that the form of a schedule offers."""

    inspection_type: str
    title: str
    every: int
    unit: str
    basis: str


COMMON_INTERVALS: Final = (
    CommonInterval(FIRE, "High hazard", 1, YEAR, "NFPA 1, 10.2.7"),
    CommonInterval(FIRE, "Moderate hazard", 2, YEAR, "NFPA 1, 10.2.7"),
    CommonInterval(FIRE, "Low hazard", 3, YEAR, "NFPA 1, 10.2.7"),
    CommonInterval(FIRE, "Extinguishers, inspection", 1, MONTH, "NFPA 10, 7.2"),
    CommonInterval(FIRE, "Extinguishers, maintenance", 1, YEAR, "NFPA 10, 7.3"),
    CommonInterval(FIRE, "Sprinklers, quarterly", 3, MONTH, "NFPA 25, 5.1"),
    CommonInterval(FIRE, "Sprinklers, annual", 1, YEAR, "NFPA 25, 5.2"),
    CommonInterval(FIRE, "Sprinklers, internal", 5, YEAR, "NFPA 25, 14.2"),
    CommonInterval(FIRE, "Alarms", 1, YEAR, "NFPA 72, 14.4"),
    CommonInterval(LEAD, "Reevaluation", 2, YEAR, "24 CFR 35.1355"),
    CommonInterval(ANNUAL, "NSPIRE, vouchers", 2, YEAR, "24 CFR 982.405"),
)

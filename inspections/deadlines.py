"""The deadlines of findings: the computed default of `findings.due_at`, by severity (the setting FINDING_DEADLINES)."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import settings
from engine.interface.transaction import Transaction
from engine.query.statement import Binding
from models.types import DatetimeOutOfRange, later_reading, read_timestamp, write_timestamp


@dataclass(frozen=True, slots=True)
class FindingDeadline:
    """A time to correct a finding: a number of hours, or of days that end at 23:59:59."""

    number: int
    is_days: bool

    def after(self, found: datetime.datetime, zone: datetime.tzinfo) -> str:
        """Return the deadline of a finding as a stored timestamp. Days are those of `zone`.

        Raise DatetimeOutOfRange beyond the year 9999.
        """
        try:
            return write_timestamp(self.moment_after(found, zone).astimezone(datetime.UTC))
        except OverflowError:
            raise DatetimeOutOfRange("the deadline is out of range") from None

    def moment_after(self, found: datetime.datetime, zone: datetime.tzinfo) -> datetime.datetime:
        """Return the deadline in any zone. Raise OverflowError."""
        if not self.is_days:
            return found + datetime.timedelta(hours=self.number)
        return end_of_day(found.astimezone(zone).date() + datetime.timedelta(days=self.number), zone)


def end_of_day(day: datetime.date, zone: datetime.tzinfo) -> datetime.datetime:
    """Return the last second of a day: the later one, where the clock goes back at midnight.

    >>> from zoneinfo import ZoneInfo
    >>> end_of_day(datetime.date(2027, 4, 3), ZoneInfo("America/Santiago")).isoformat()
    '2027-04-03T23:59:59-04:00'
    """
    return later_reading(datetime.datetime.combine(day, datetime.time(23, 59, 59), tzinfo=zone))


FindingDeadlines = Mapping[str, FindingDeadline]
"""The deadlines by severity."""


def finding_deadlines(setting: Mapping[str, tuple[int, str]]) -> FindingDeadlines:
    """Return the deadlines of the setting: by severity, a number of hours (h) or days (d)."""
    return MappingProxyType(
        {severity: FindingDeadline(number, unit == "d") for severity, (number, unit) in setting.items()}
    )


DEFAULT_DEADLINES: Final = finding_deadlines(settings.parse_deadlines(settings.DEADLINES))


def computed_deadline(
    deadlines: FindingDeadlines, transaction: Transaction, binding: Binding, finding: Mapping[str, object]
) -> str:
    """Return the deadline of a new finding by its severity; now for an unknown one, which the table refuses."""
    deadline = deadlines.get(str(finding.get("severity")))
    if deadline is None:
        return transaction.now
    created_at = transaction.moment
    if isinstance(given := finding.get("created_at"), str):
        created_at = datetime.datetime.fromisoformat(read_timestamp(given, binding.zone))
    return deadline.after(created_at, transaction.time_zone)

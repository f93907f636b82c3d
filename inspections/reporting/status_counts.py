"""Inspections counted by type and status and by their dates, for the dashboard and for one building."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from access.caller import VisibleRows
from engine.storage.transaction import Transaction
from inspections.reporting import counts
from inspections.reporting.counts import fetch_rows
from models.vocabulary import INSPECTION_STATUSES, INSPECTION_TYPES

Counts = dict[str, int]
Pair = tuple[str | None, str | None]
"""A type and a status, each at most LABEL_CHARACTERS_MAX characters."""

NO_LABEL = "none"  # an inspection without a status, or a reading without a result
OTHER_LABEL = "other"  # the rest, beyond LABELS_MAX
UPCOMING_DAYS = 30


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """The numbers of inspections by type and status and by date; `rest` is the number in pairs beyond LABELS_MAX.

    `dashboard.Dashboard` defines the other fields.
    """

    pairs: Mapping[Pair, int]
    rest: int = 0
    total: int = 0
    overdue: int = 0
    upcoming: int = 0
    completed_this_month: int = 0
    last_inspection: str | None = None
    next_inspection: str | None = None

    def by_status(self) -> Counts:
        """Return the counts by status. Their sum is the total."""
        return labelled(((pair[1], count) for pair, count in self.pairs.items()), INSPECTION_STATUSES, self.rest)

    def by_type(self) -> Counts:
        """Return the counts by type. Their sum is the total."""
        return labelled(((pair[0], count) for pair, count in self.pairs.items()), INSPECTION_TYPES, self.rest)


def read_status_counts(transaction: Transaction, visible: VisibleRows, building_id: int | None = None) -> StatusCounts:
    """Count all visible inspections, or those of one visible building."""
    database, of_building = transaction.dialect.name, building_id is not None
    statement = counts.plan_status_counts(database, visible.rule, of_building=of_building)
    days = calendar_days(transaction.today)
    rows = fetch_rows(transaction, statement, visible.binding(building_id=building_id, **days))
    if not rows:
        return StatusCounts({})
    pairs: dict[Pair, int] = {
        (name, status): count
        for status, *of_types in (row[: len(INSPECTION_TYPES) + 1] for row in rows)
        for name, count in zip(INSPECTION_TYPES, of_types, strict=True)
        if count
    }
    total, overdue, upcoming, completed, last, upcoming_day = rows[0][len(INSPECTION_TYPES) + 2 :]
    if sum(row[len(INSPECTION_TYPES) + 1] for row in rows) > sum(pairs.values()):
        others = counts.plan_other_types(database, visible.rule, of_building=of_building)
        for *pair, count in fetch_rows(transaction, others, visible.binding(building_id=building_id)):
            pairs[pair[0], pair[1]] = count
    if len(pairs) > counts.LABELS_MAX:
        pairs = dict(sorted(pairs.items(), key=by_count)[: counts.LABELS_MAX])
    return StatusCounts(
        pairs, total - sum(pairs.values()), total, overdue or 0, upcoming or 0, completed or 0, last, upcoming_day
    )


def by_count(counted: tuple[Pair, int]) -> tuple[int, str, str]:
    """Return the sort key of a pair: by count descending, then by name."""
    (inspection_type, status), count = counted
    return -count, inspection_type or "", status or ""


def calendar_days(today: datetime.date) -> dict[str, str]:
    """Return the days that the calendar counts compare with, as ISO dates.

    >>> calendar_days(datetime.date(2024, 2, 9))["month_end"]
    '2024-02-29'
    """
    one = datetime.timedelta(days=1)
    month_end = month_start(today, 1) - one
    return {
        "today": today.isoformat(),
        "soon": (today + UPCOMING_DAYS * one).isoformat(),
        "month_start": month_start(today).isoformat(),
        "month_end": month_end.isoformat(),
    }


def month_start(day: datetime.date, months_later: int = 0) -> datetime.date:
    """Return the first day of the month that is `months_later` months after a day's; not before year 1.

    >>> month_start(datetime.date(2025, 3, 9), -3)
    datetime.date(2024, 12, 1)
    """
    place = max(day.year * 12 + day.month - 1 + months_later, 12)
    return datetime.date(place // 12, place % 12 + 1, 1)


def labelled(counted: Iterable[tuple[str | None, int]], common: tuple[str, ...], rest: int = 0) -> Counts:
    """Return counts by label: first the common labels, even if 0, then the others by name.

    >>> labelled([("b", 1), (None, 2), ("b", 3), ("a", 1)], ("z", "a"), rest=5)
    {'z': 0, 'a': 1, 'b': 4, 'none': 2, 'other': 5}
    """
    counts_by_label: Counts = {}
    for label, count in counted:
        name = NO_LABEL if label is None else label
        counts_by_label[name] = counts_by_label.get(name, 0) + count
    if rest:
        counts_by_label[OTHER_LABEL] = counts_by_label.get(OTHER_LABEL, 0) + rest
    first = {name: counts_by_label.pop(name, 0) for name in common}
    return first | dict(sorted(counts_by_label.items()))

"""Inspections counted by type and status, and where they stand in time: what dashboard and building tell.

It is handed a rule and the values of whoever asks, and knows no role.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass

from engine.reporting import counts
from engine.reporting.counts import STATUSES
from engine.reporting.counts import TYPES
from engine.reporting.visible_rows import VisibleRows
from engine.reporting.visible_rows import read_rows
from engine.storage.transaction import Transaction

Counts = dict[str, int]
Pair = tuple[str | None, str | None]
"""A type and a status, as far as they are told apart."""

NO_LABEL = "none"  # where an inspection has no status, or a reading no result
OTHER_LABEL = "other"  # what is not told apart any more
UPCOMING_DAYS = 30


@dataclass(frozen=True, slots=True)
class StatusCounts:
    """Inspections by type and status, and where they are in time; `rest` are those of pairs that are not told apart.

    What the numbers mean is said at `statistics.Dashboard`.
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
        """How many of each status; they add up to the total."""
        return labelled(
            ((pair[1], count) for pair, count in self.pairs.items()), STATUSES, self.rest
        )

    def by_type(self) -> Counts:
        """How many of each type; they add up to the total."""
        return labelled(((pair[0], count) for pair, count in self.pairs.items()), TYPES, self.rest)


def read_status_counts(
    transaction: Transaction, visible: VisibleRows, building_id: int | None = None
) -> StatusCounts:
    """Tally all visible inspections, or those of one building that is known to be visible."""
    database, of_building = transaction.dialect.name, building_id is not None
    statement = counts.plan_status_counts(database, visible.rule, of_building=of_building)
    days = calendar_days(transaction.moment.date())
    rows = read_rows(transaction, statement, visible.binding(building_id=building_id, **days))
    if not rows:
        return StatusCounts({})
    pairs: dict[Pair, int] = {
        (name, status): count
        for status, *of_types in (row[: len(TYPES) + 1] for row in rows)
        for name, count in zip(TYPES, of_types, strict=True)
        if count
    }
    total, overdue, upcoming, completed, last, following = rows[0][len(TYPES) + 2 :]
    if sum(row[len(TYPES) + 1] for row in rows) > sum(pairs.values()):
        others = counts.plan_other_types(database, visible.rule, of_building=of_building)
        for *pair, count in read_rows(
            transaction, others, visible.binding(building_id=building_id)
        ):
            pairs[pair[0], pair[1]] = count
    if len(pairs) > counts.LABELS_MAX:
        pairs = dict(sorted(pairs.items(), key=by_count)[: counts.LABELS_MAX])
    return StatusCounts(
        pairs,
        total - sum(pairs.values()),
        total,
        overdue or 0,
        upcoming or 0,
        completed or 0,
        last,
        following,
    )


def by_count(counted: tuple[Pair, int]) -> tuple[int, str, str]:
    """What puts the most frequent pairs first, those of one count by their names."""
    (inspection_type, status), count = counted
    return -count, inspection_type or "", status or ""


def calendar_days(today: datetime.date) -> dict[str, str]:
    """The days on which the calendar's numbers turn.

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
    """The first day of a day's month, or of one so many months later; never before the first of all.

    >>> month_start(datetime.date(2025, 3, 9), -3)
    datetime.date(2024, 12, 1)
    """
    place = max(day.year * 12 + day.month - 1 + months_later, 12)
    return datetime.date(place // 12, place % 12 + 1, 1)


def labelled(
    counted: Iterable[tuple[str | None, int]], common: tuple[str, ...], rest: int = 0
) -> Counts:
    """Counts by label: the common ones always and first, then what else there is, by name.

    >>> labelled([("b", 1), (None, 2), ("b", 3), ("a", 1)], ("z", "a"), rest=5)
    {'z': 0, 'a': 1, 'b': 4, 'none': 2, 'other': 5}
    """
    found: Counts = {}
    for label, count in counted:
        name = NO_LABEL if label is None else label
        found[name] = found.get(name, 0) + count
    if rest:
        found[OTHER_LABEL] = found.get(OTHER_LABEL, 0) + rest
    return {name: found.pop(name, 0) for name in common} | dict(sorted(found.items()))

"""The chart: inspections between two days, by period and status, and the busiest buildings.

As models/statistics.py it counts whatever a rule lets be seen, and knows no role.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice

from models.audit import last_change
from models.db import Transaction
from models.faults import Fault
from models.sql import counts
from models.sql.counts import POINT_LABELS_MAX
from models.sql.counts import STATUSES
from models.sql.dialect import json_array
from models.tally import Counts
from models.tally import Visible
from models.tally import labelled
from models.tally import month_start
from models.tally import read

DAYS_BY_DAY_MAX = 31
DAYS_BY_WEEK_MAX = 26 * 7
POINTS_MAX = 2_400  # of a series: two hundred years of months


class InvalidPeriod(Fault):
    """Two dates that bound no chart (22023)."""


class TooManyLabels(Fault):
    """A chart of more different statuses than anybody reads (54000)."""

    def __init__(self) -> None:
        super().__init__(
            f"the chart tells apart more than {POINT_LABELS_MAX} pairs of period and status",
            hint="Choose dates closer together.",
        )


class Interval(StrEnum):
    """How long a point of a series is."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Point:
    """One day, week or month, named by its first day, which may lie before the chart's."""

    period: str
    total: int
    by_status: Counts


@dataclass(frozen=True, slots=True)
class BusyBuilding:
    """A visible building, and how many visible inspections it had."""

    building_id: int
    name: str
    total: int
    completed: int
    failed: int


@dataclass(frozen=True, slots=True)
class Chart:
    """Inspections by their date, both ends included, without gaps; and the busiest buildings.

    An inspection counts in the series when it is visible; its building is named only when that is too.
    """

    start_date: str
    end_date: str
    interval: Interval
    series: list[Point]
    buildings: list[BusyBuilding]


def draw_chart(
    transaction: Transaction, visible: Visible, start_date: str | None, end_date: str | None
) -> Chart:
    """Draw the inspections between two days; without them, of today's month and the eleven before it."""
    end = transaction.moment.date() if end_date is None else datetime.date.fromisoformat(end_date)
    start = month_start(end, -11) if start_date is None else datetime.date.fromisoformat(start_date)
    if start > end:
        raise InvalidPeriod(
            "start_date must not be after end_date",
            f"{start.isoformat()} is after {end.isoformat()}.",
        )
    interval = interval_for(start, end)
    periods = list(islice(periods_between(start, end, interval), POINTS_MAX + 1))
    if len(periods) > POINTS_MAX:
        raise InvalidPeriod(
            f"a chart has at most {POINTS_MAX} points", hint="Choose dates closer together."
        )
    return transaction.remembered.get(
        last_change(transaction),
        ("chart", visible, start, end),
        lambda: draw(transaction, visible, start, end, interval, periods),
    )


def draw(
    transaction: Transaction,
    visible: Visible,
    start: datetime.date,
    end: datetime.date,
    interval: Interval,
    periods: list[str],
) -> Chart:
    bounds = {"start_date": start.isoformat(), "end_date": end.isoformat()}
    return Chart(
        bounds["start_date"],
        bounds["end_date"],
        interval,
        read_series(transaction, visible, bounds, interval, periods),
        read_busiest(transaction, visible, bounds),
    )


def interval_for(start: datetime.date, end: datetime.date) -> Interval:
    """The interval that a span of days asks for.

    >>> interval_for(datetime.date(2025, 1, 1), datetime.date(2025, 2, 1)).value
    'week'
    """
    days = (end - start).days + 1
    if days <= DAYS_BY_DAY_MAX:
        return Interval.DAY
    return Interval.WEEK if days <= DAYS_BY_WEEK_MAX else Interval.MONTH


def periods_between(start: datetime.date, end: datetime.date, interval: Interval) -> Iterator[str]:
    """The first days of all periods from the one that holds `start` to the one that holds `end`.

    >>> list(periods_between(datetime.date(2025, 1, 1), datetime.date(2025, 1, 8), Interval.WEEK))
    ['2024-12-30', '2025-01-06']
    """
    if interval is Interval.MONTH:
        months = (end.year - start.year) * 12 + end.month - start.month
        return (month_start(start, later).isoformat() for later in range(months + 1))
    step = 1 if interval is Interval.DAY else 7
    first = start.toordinal() - (start.weekday() if interval is Interval.WEEK else 0)
    ordinals = range(first, end.toordinal() + 1, step)
    return (datetime.date.fromordinal(ordinal).isoformat() for ordinal in ordinals)


def period_of(day: str, interval: Interval) -> str:
    """The first day of the period that holds a day, or, by month, a month.

    >>> period_of("2025-01-08", Interval.WEEK), period_of("2025-01", Interval.MONTH)
    ('2025-01-06', '2025-01-01')
    """
    if interval is Interval.MONTH:
        return f"{day}-01"
    if interval is Interval.DAY:
        return day
    found = datetime.date.fromisoformat(day)
    return (found - datetime.timedelta(days=found.weekday())).isoformat()


def read_series(
    transaction: Transaction,
    visible: Visible,
    bounds: dict[str, str],
    interval: Interval,
    periods: list[str],
) -> list[Point]:
    characters = len("YYYY-MM") if interval is Interval.MONTH else len("YYYY-MM-DD")
    statement = counts.plan_series(transaction.spelling.name, visible.rule, characters)
    rows = read(transaction, statement, visible.binding(**bounds))
    if len(rows) > POINT_LABELS_MAX:
        raise TooManyLabels
    counted: dict[str, list[tuple[str | None, int]]] = {period: [] for period in periods}
    for day, status, count in rows:
        counted[period_of(day, interval)].append((status, count))
    return [
        Point(period, sum(count for _, count in found), labelled(found, STATUSES))
        for period, found in counted.items()
    ]


def read_busiest(
    transaction: Transaction, visible: Visible, bounds: dict[str, str]
) -> list[BusyBuilding]:
    """The busiest buildings, busiest first, then by id; none without an inspection."""
    database = transaction.spelling.name
    statement = counts.plan_busiest(database, visible.rule)
    rows = [row for row in read(transaction, statement, visible.binding(**bounds)) if row[2]]
    statement = counts.plan_outcomes(database, visible.rule)
    keys = json_array(row[0] for row in rows)
    outcomes = {
        key: (completed, failed)
        for key, completed, failed in read(transaction, statement, visible.binding(keys, **bounds))
    }
    return [BusyBuilding(key, name, total, *outcomes[key]) for key, name, total in rows]

"""The chart: inspections between two days, by period and status, and the busiest buildings.

It counts the rows that a row rule shows and knows no role.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import cast

from access.caller import VisibleRows
from engine.audit import last_entry_id
from engine.storage.transaction import Transaction
from inspections.reporting.chart_counts import BusyBuilding, Points, Window, read_points
from inspections.reporting.incremental_counts import update_points
from inspections.reporting.status_counts import Counts, labelled, month_start
from models.errors import Fault
from models.vocabulary import INSPECTION_STATUSES

DAYS_BY_DAY_MAX = 31
DAYS_BY_WEEK_MAX = 26 * 7
POINTS_MAX = 2_400  # of a series: 200 years of months
POINT_BYTES = 100  # a day, a status and a count, without the status's characters


class InvalidPeriod(Fault):
    """Two dates that are no period of a chart (22023)."""


class Interval(StrEnum):
    """The length of a period."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class Point:
    """The counts of one period. `period` is its first day, which may be before the chart's first day."""

    period: str
    total: int
    by_status: Counts


@dataclass(frozen=True, slots=True)
class Chart:
    """The inspections of a period, both days included: a series without gaps, and the busiest buildings.

    The series counts every visible inspection. The list of buildings holds visible buildings only.
    """

    start_date: str
    end_date: str
    interval: Interval
    series: list[Point]
    buildings: list[BusyBuilding]


def read_chart(transaction: Transaction, visible: VisibleRows, start_date: str | None, end_date: str | None) -> Chart:
    """Return the chart of two days. The default is the current month and the eleven before it.

    Raise InvalidPeriod or TooManyLabels.
    """
    end = transaction.today if end_date is None else datetime.date.fromisoformat(end_date)
    start = month_start(end, -11) if start_date is None else datetime.date.fromisoformat(start_date)
    if start > end:
        raise InvalidPeriod("start_date must not be after end_date", f"{start.isoformat()} is after {end.isoformat()}.")
    interval = interval_for(start, end)
    periods = list(islice(periods_between(start, end, interval), POINTS_MAX + 1))
    if len(periods) > POINTS_MAX:
        raise InvalidPeriod(f"a chart has at most {POINTS_MAX} points", hint="Choose dates closer together.")
    window = Window(start.isoformat(), end.isoformat(), by_month=interval is Interval.MONTH)
    key = ("chart", visible, start, end)

    def draw() -> tuple[int, Points, Chart]:
        entry = last_entry_id(transaction)
        points = count_points(transaction, visible, window, key, entry)
        series = series_of(points, interval, periods)
        return entry, points, Chart(window.start, window.end, interval, series, points.busiest)

    _, _, cached = transaction.cached(key, draw, lambda drawn: size_of_points(drawn[1]), is_base=True)
    chart: Chart = cached
    return chart


def size_of_points(points: Points) -> int:
    """Return the size of a chart in the cache, in bytes."""
    return sum(POINT_BYTES + len(status or "") for _, status in points.counted)


def count_points(transaction: Transaction, visible: VisibleRows, window: Window, key: Hashable, entry: int) -> Points:
    """Return the points as of an entry of the audit log. Update the cached points, if possible."""
    latest = transaction.cache.latest(key)
    if latest is not None and latest[0] <= entry:
        counted_at, previous, _ = latest
        if counted_at == entry:
            return cast(Points, previous)
        points = update_points(transaction, visible, window, previous, counted_at)
        if points is not None:
            return points
    return read_points(transaction, visible, window)


def series_of(points: Points, interval: Interval, periods: list[str]) -> list[Point]:
    """Return a point for each period, also for one without inspections."""
    counted: dict[str, list[tuple[str | None, int]]] = {period: [] for period in periods}
    for (day, status), count in points.counted.items():
        counted[period_of(day, interval)].append((status, count))
    return [
        Point(period, sum(count for _, count in statuses), labelled(statuses, INSPECTION_STATUSES))
        for period, statuses in counted.items()
    ]


def interval_for(start: datetime.date, end: datetime.date) -> Interval:
    """Return the interval for a span of days.

    >>> interval_for(datetime.date(2025, 1, 1), datetime.date(2025, 2, 1)).value
    'week'
    """
    days = (end - start).days + 1
    if days <= DAYS_BY_DAY_MAX:
        return Interval.DAY
    return Interval.WEEK if days <= DAYS_BY_WEEK_MAX else Interval.MONTH


def periods_between(start: datetime.date, end: datetime.date, interval: Interval) -> Iterator[str]:
    """Return the first days of the periods from the one of `start` to the one of `end`.

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
    """Return the first day of the period of a day. For months, `day` is `YYYY-MM`.

    >>> period_of("2025-01-08", Interval.WEEK), period_of("2025-01", Interval.MONTH)
    ('2025-01-06', '2025-01-01')
    """
    if interval is Interval.MONTH:
        return f"{day}-01"
    if interval is Interval.DAY:
        return day
    date = datetime.date.fromisoformat(day)
    return (date - datetime.timedelta(days=date.weekday())).isoformat()

"""The chart: inspections between two days, by period and status, and the busiest buildings.

As engine/reporting/dashboard.py it counts whatever a rule lets be seen, and knows no role.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import cast

from engine.audit import last_event_id
from engine.reporting.chart_counts import BusyBuilding
from engine.reporting.chart_counts import Points
from engine.reporting.chart_counts import Window
from engine.reporting.chart_counts import read_points
from engine.reporting.counts import STATUSES
from engine.reporting.incremental_counts import update_points
from engine.reporting.status_counts import Counts
from engine.reporting.status_counts import labelled
from engine.reporting.status_counts import month_start
from engine.reporting.visible_rows import VisibleRows
from engine.storage.transaction import Transaction
from models.errors import Fault

DAYS_BY_DAY_MAX = 31
DAYS_BY_WEEK_MAX = 26 * 7
POINTS_MAX = 2_400  # of a series: two hundred years of months
POINT_BYTES = 100  # a day, a status and a count, without the status's characters


class InvalidPeriod(Fault):
    """Two dates that bound no chart (22023)."""


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
class Chart:
    """Inspections by their date, both ends included, without gaps; and the busiest buildings.

    An inspection counts in the series when it is visible; its building is named only when that is too.
    """

    start_date: str
    end_date: str
    interval: Interval
    series: list[Point]
    buildings: list[BusyBuilding]


def read_chart(
    transaction: Transaction, visible: VisibleRows, start_date: str | None, end_date: str | None
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
    window = Window(start.isoformat(), end.isoformat(), by_month=interval is Interval.MONTH)
    key = ("chart", visible, start, end)

    def draw() -> tuple[int, Points, Chart]:
        line = last_event_id(transaction)
        points = count_points(transaction, visible, window, key, line)
        series = series_of(points, interval, periods)
        return line, points, Chart(window.start, window.end, interval, series, points.busiest)

    _, _, found = transaction.cached(
        key, draw, lambda drawn: size_of_points(drawn[1]), is_base=True
    )
    chart: Chart = found
    return chart


def size_of_points(points: Points) -> int:
    """The bytes that a chart takes in the cache."""
    return sum(POINT_BYTES + len(status or "") for _, status in points.counted)


def count_points(
    transaction: Transaction, visible: VisibleRows, window: Window, key: Hashable, line: int
) -> Points:
    """What a chart counts as of the last line of the audit log: incrementally, if that can be."""
    latest = transaction.cache.latest(key)
    if latest is not None and latest[0] <= line:
        counted_at, then, _ = latest
        if counted_at == line:
            return cast(Points, then)
        points = update_points(transaction, visible, window, then, counted_at)
        if points is not None:
            return points
    return read_points(transaction, visible, window)


def series_of(points: Points, interval: Interval, periods: list[str]) -> list[Point]:
    """A point for each period, whatever was counted in it."""
    counted: dict[str, list[tuple[str | None, int]]] = {period: [] for period in periods}
    for (day, status), count in points.counted.items():
        counted[period_of(day, interval)].append((status, count))
    return [
        Point(period, sum(count for _, count in found), labelled(found, STATUSES))
        for period, found in counted.items()
    ]


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

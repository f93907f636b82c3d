"""The chart of inspections between two days, by period and status, the busiest buildings, and one building's numbers.

It counts the rows that a row rule shows and knows no role.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

import sqlalchemy as sa

from access.caller import Caller
from access.decorators import function
from access.predicates import optional_parameter, required_parameter
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.query.statement import parameter
from engine.rows import Select, prepared, read_rows
from inspections.faults import NoSuchBuilding
from inspections.reporting.counts import (
    LABELS_MAX,
    CountPlanner,
    Counts,
    Expression,
    labelled,
    month_start,
    read_status_counts,
    shortened,
)
from models import Building, Inspection, ReportLead
from models.types import BIGINT, DATE, Fault
from models.vocabulary import COMPLETED, FAILED, INSPECTION_STATUSES

DAYS_BY_DAY_MAX = 31
DAYS_BY_WEEK_MAX = 26 * 7
POINT_LABELS_MAX = 20_000  # pairs of period and status; the five common statuses fit any chart
BUSIEST_MAX = 20  # buildings of a chart
POINTS_MAX = 2_400  # of a series: 200 years of months
POINT_BYTES = 100  # a day, a status and a count, without the status's characters


class InvalidPeriod(Fault, code="22023"):
    """Two dates that are no period of a chart."""


class TooManyLabels(Fault, code="54000"):
    """A chart with too many pairs of period and status."""

    def __init__(self) -> None:
        super().__init__(
            f"the chart has more than {POINT_LABELS_MAX} pairs of period and status",
            hint="Choose dates closer together.",
        )


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
class BusyBuilding:
    """A visible building and the numbers of its visible inspections."""

    building_id: int
    name: str
    total: int
    completed: int
    failed: int


@dataclass(frozen=True, slots=True)
class Window:
    """The first and last day of a chart, both included, and whether it counts by month or by day."""

    start: str
    end: str
    by_month: bool

    @property
    def characters(self) -> int:
        """The number of characters of a date that identify a period."""
        return len("YYYY-MM") if self.by_month else len("YYYY-MM-DD")

    @property
    def parameters(self) -> dict[str, str]:
        return {"start_date": self.start, "end_date": self.end}


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


@function(
    "get_building_stats_chart_fast",
    summary="Inspections by day, week or month, and the busiest buildings",
    roles=EVERY_ROLE,
    parameters={"start_date": optional_parameter(DATE), "end_date": optional_parameter(DATE)},
)
def read_chart(
    transaction: Transaction, caller: Caller, start_date: str | None = None, end_date: str | None = None
) -> Chart:
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

    def draw() -> Chart:
        counted = read_series(transaction, caller, window)
        busiest = read_busiest(transaction, caller, window)
        return Chart(window.start, window.end, interval, series_of(counted, interval, periods), busiest)

    chart: Chart = transaction.cached(("chart", caller.visibility, start, end), draw, size_of_chart)
    return chart


def size_of_chart(chart: Chart) -> int:
    """Return the size of a chart in the cache, in bytes."""
    return sum(POINT_BYTES + len(status) for point in chart.series for status in point.by_status)


def series_of(counted: Mapping[tuple[str, str | None], int], interval: Interval, periods: Iterable[str]) -> list[Point]:
    """Return a point for each period, also for one without inspections."""
    of_periods: dict[str, list[tuple[str | None, int]]] = {period: [] for period in periods}
    for (day, status), count in counted.items():
        of_periods[period_of(day, interval)].append((status, count))
    return [
        Point(period, sum(count for _, count in statuses), labelled(statuses, INSPECTION_STATUSES))
        for period, statuses in of_periods.items()
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


# Reads


def read_series(transaction: Transaction, caller: Caller, window: Window) -> dict[tuple[str, str | None], int]:
    """Return the number of inspections by day or month and status. Raise TooManyLabels."""
    rows = plan_points.all(transaction, caller, window.characters, **window.parameters)
    if len(rows) > POINT_LABELS_MAX:
        raise TooManyLabels
    return {(period, status): count for period, status, count in rows}


def read_busiest(transaction: Transaction, caller: Caller, window: Window) -> list[BusyBuilding]:
    """Return the busiest buildings that have an inspection."""
    rows = [row for row in plan_busiest.all(transaction, caller, **window.parameters) if row[2]]
    outcomes = read_outcomes(transaction, caller, window, (row[0] for row in rows))
    return [BusyBuilding(key, name, total, *outcomes[key][1:]) for key, name, total in rows]


def read_outcomes(
    transaction: Transaction, caller: Caller, window: Window, keys: Iterable[int]
) -> dict[int, tuple[int, int, int]]:
    """Return the numbers of all, completed and failed inspections, by id of the buildings that have any."""
    rows = plan_outcomes.all(transaction, caller, keys=keys, **window.parameters)
    return {key: (total, completed, failed) for key, total, completed, failed in rows if total}


# Statements


class ChartPlanner(CountPlanner):
    """A planner of counts between two days."""

    def within_dates(self, inspection: sa.Alias) -> Expression:
        """Return the condition that an inspection is between the two days."""
        return self.between_dates(inspection.c.date_visited)

    def between_dates(self, visited: Expression) -> Expression:
        """Return the condition that a day is between the two days."""
        return visited.between(self.named_parameter("start_date"), self.named_parameter("end_date"))

    def period_of(self, inspection: sa.Alias, characters: int) -> Any:
        """Return the expression of an inspection's period: the first characters of its day."""
        day = self.dialect.date_text(inspection.c.date_visited)
        return sa.func.substr(day, 1, characters).label("period")

    def count_within_dates(self, building_id: Expression, status: str | None = None) -> Expression:
        """Return the number of inspections of a visible building, or of those with one status, by an index scan."""
        inspection, scope = self.visible_by(Inspection, Building)
        columns, conditions = inspection.c, [self.within_dates(inspection), scope]
        if status is not None:
            conditions.append(self.dialect.with_length_limit(columns.status, columns.status == status))
        conditions += self.in_building(inspection, building_id)
        counted = sa.select(sa.func.count()).where(*conditions)
        return counted.correlate_except(inspection).scalar_subquery()


@prepared(ChartPlanner)
def plan_points(planner: ChartPlanner, period_characters: int) -> Select:
    """Plan rows of period, status and count. A period is the first `period_characters` characters of a date.

    The inner query counts by client, status and day, the order of an index of SQLite. The limit is
    POINT_LABELS_MAX + 1, so that the caller detects too many rows.
    """
    inspection, where = planner.inspections(of_building=False)
    columns = inspection.c
    within = planner.within_dates(inspection)
    if planner.scans_index(where[-1]):  # a range on the column would make SQLite skip-scan every client
        within = planner.between_dates(planner.dialect.unindexed(columns.date_visited))
    days = (
        sa.select(
            planner.period_of(inspection, period_characters), shortened(columns.status), sa.func.count().label("many")
        )
        .where(*where, within)
        .group_by(columns.client_id, columns.status, columns.date_visited)
        .subquery("days")
    )
    points = days.c.period, days.c.status
    counted = sa.select(*points, sa.cast(sa.func.sum(days.c.many), sa.BigInteger())).group_by(*points)
    return counted.limit(POINT_LABELS_MAX + 1)


@prepared(ChartPlanner)
def plan_busiest(planner: ChartPlanner) -> Select:
    """Plan rows of id, name and inspection count of the busiest buildings. The last may have no inspection."""
    if planner.dialect.joins_to_count:
        return plan_busiest_joined(planner)
    building, scope = planner.visible(Building)
    total = planner.count_within_dates(building.c.id).label("total")
    busiest = sa.select(building.c.id, building.c.name, total).where(scope)
    return busiest.order_by(sa.desc("total"), building.c.id).limit(BUSIEST_MAX)


def plan_busiest_joined(planner: ChartPlanner) -> sa.Select[Any]:
    """Return `plan_busiest` as one join, for an engine that chooses between an index scan and a hash."""
    building, scope = planner.visible(Building)
    inspection, inspection_scope = planner.visible_by(Inspection, Building)
    total = sa.func.count().label("total")
    busiest = (
        sa.select(building.c.id, building.c.name, total)
        .select_from(building.join(inspection, inspection.c.building_id == building.c.id))
        .where(scope, planner.within_dates(inspection), inspection_scope)
        .group_by(building.c.id)
    )
    return busiest.order_by(sa.desc("total"), building.c.id).limit(BUSIEST_MAX)


@prepared(ChartPlanner)
def plan_outcomes(planner: ChartPlanner) -> Select:
    """Plan rows of id and numbers of all, completed and failed inspections, of the buildings in `Binding.keys`."""
    listed = planner.dialect.json_elements(parameter("keys", sa.Text))
    building_id = planner.dialect.json_element(listed, BIGINT)
    outcomes = (None, COMPLETED, FAILED)
    counted = [planner.count_within_dates(building_id, status) for status in outcomes]
    return sa.select(building_id, *counted).select_from(listed)


RATE_DIGITS = 4


@dataclass(frozen=True, slots=True)
class LeadReadings:
    """The lead-paint readings of a building."""

    readings: int
    by_result: Counts


@dataclass(frozen=True, slots=True)
class BuildingStats:
    """The counts of one building. The rates are the shares of completed and of failed inspections, from 0 to 1, and 0
    without an inspection. The other fields are those of `Dashboard`."""

    building_id: int
    name: str
    total_inspections: int
    by_status: Counts
    by_type: Counts
    last_inspection: str | None
    next_inspection: str | None
    overdue: int
    completion_rate: float
    failure_rate: float
    lead: LeadReadings


@function(
    "get_building_stats",
    summary="Statistics of one building",
    roles=EVERY_ROLE,
    parameters={"building_id": required_parameter(BIGINT)},
)
def read_building_stats(transaction: Transaction, caller: Caller, building_id: int) -> BuildingStats:
    """Return the counts of a building. Raise NoSuchBuilding if it is not visible."""
    rows = read_rows(transaction, caller, Building.__tablename__, ("name",), id=building_id)
    if not rows:
        raise NoSuchBuilding
    status_counts = read_status_counts(transaction, caller, building_id)
    by_status = status_counts.by_status()
    return BuildingStats(
        building_id=building_id,
        name=rows[0]["name"],
        total_inspections=status_counts.total,
        by_status=by_status,
        by_type=status_counts.by_type(),
        last_inspection=status_counts.last_inspection,
        next_inspection=status_counts.next_inspection,
        overdue=status_counts.overdue,
        completion_rate=share(by_status[COMPLETED], status_counts.total),
        failure_rate=share(by_status[FAILED], status_counts.total),
        lead=read_lead(transaction, caller, building_id),
    )


def share(part: int, total: int) -> float:
    """Return a share from 0 to 1, rounded to RATE_DIGITS digits; 0 of a total of 0."""
    return round(part / total, RATE_DIGITS) if total else 0


def read_lead(transaction: Transaction, caller: Caller, building_id: int) -> LeadReadings:
    """Return the counts of a building's readings."""
    rows = plan_readings.all(transaction, caller, building_id=building_id)
    total = rows[0][2] if rows else 0
    rest = total - sum(row[1] for row in rows)
    return LeadReadings(total, labelled(((row[0], row[1]) for row in rows), (), rest))


# Statements


@prepared(CountPlanner)
def plan_readings(planner: CountPlanner) -> Select:
    """Plan rows of result, count and total of the readings of one building, the most frequent results first."""
    inspection, where = planner.inspections(of_building=True)
    reading, scope = planner.visible_by(ReportLead, Inspection)
    result, counted = reading.c.result, sa.func.count()
    readings = (
        sa.select(shortened(result), counted, sa.func.sum(counted).over())
        .select_from(inspection.join(reading, reading.c.inspection_id == inspection.c.id))
        .where(*where, scope)
        .group_by(result)
    )
    return readings.order_by(counted.desc(), result).limit(LABELS_MAX)

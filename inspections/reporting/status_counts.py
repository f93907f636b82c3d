"""Inspections counted by type and status and by their dates, for the dashboard and for one building."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from access.caller import VisibleRows
from engine.interface.transaction import Transaction
from engine.query.dialect.registry import DIALECTS
from engine.query.read.disjuncts import Disjunct, disjuncts
from engine.query.rule import Rule
from engine.query.statement import Statement
from inspections.reporting.counts import (
    LABELS_MAX,
    PLANS_MAX,
    CountPlanner,
    Counts,
    Expression,
    fetch_rows,
    labelled,
    over_all,
    shortened,
    union_columns,
)
from models.vocabulary import COMPLETED, FAILED, IN_PROGRESS, INSPECTION_STATUSES, INSPECTION_TYPES, SCHEDULED

Pair = tuple[str | None, str | None]
"""A type and a status, each at most LABEL_CHARACTERS_MAX characters."""

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
    statement = plan_status_counts(database, visible.rule, of_building=of_building)
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
        others = plan_other_types(database, visible.rule, of_building=of_building)
        for *pair, count in fetch_rows(transaction, others, visible.binding(building_id=building_id)):
            pairs[pair[0], pair[1]] = count
    if len(pairs) > LABELS_MAX:
        pairs = dict(sorted(pairs.items(), key=by_count)[:LABELS_MAX])
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


# Statements


@lru_cache(maxsize=PLANS_MAX)
def plan_status_counts(database: str, rule: Rule, *, of_building: bool) -> Statement:
    """Plan rows of status, the number of each of INSPECTION_TYPES, and their sum, the most frequent statuses first.

    Each row then repeats the totals: all, overdue, upcoming, completed this month, last day, next day. Types are
    columns, since no index has their order. Rows are grouped along an index of status and day, where one exists.
    """
    planner = CountPlanner(DIALECTS[database], rule)
    inspection, where = planner.inspections(of_building=of_building)
    columns, named_parameter = inspection.c, planner.named_parameter
    are_of = [(name, columns.inspection_type == name) for name in INSPECTION_TYPES]
    count = sa.func.count()
    one: Expression = sa.literal_column("1")
    none: Expression = sa.literal_column("0")

    def of_disjunct(part: Disjunct) -> sa.Select[Any]:
        rows = sa.select(shortened(columns.status), columns.date_visited.label("day"))
        rows = rows.where(*where[:-1], part.condition, *part.rest)
        if of_building or not planner.scans_index(part.condition):
            of_types = [sa.case((is_of, one), else_=none).label(name) for name, is_of in are_of]
            return rows.add_columns(*of_types, one.label("many"))
        of_types = [count.filter(is_of).label(name) for name, is_of in are_of]
        rows = rows.add_columns(*of_types, count.label("many"))
        return rows.group_by(columns.client_id, columns.status, columns.date_visited)

    found = union_columns(of_disjunct(part) for part in disjuncts(where[-1], where[-1]))
    day, today, total = found.day, named_parameter("today"), sa.func.sum(found.many)

    def of_all(aggregate: Any, value: Expression, is_near: Expression, *statuses: str) -> Any:
        return over_all(aggregate, sa.case((found.status.in_(statuses) & is_near, value)))

    totals = sa.select(
        found.status,
        *(sa.func.sum(found[name]) for name in INSPECTION_TYPES),
        total,
        over_all(sa.func.sum, found.many),
        of_all(sa.func.sum, found.many, day < today, SCHEDULED, IN_PROGRESS),
        of_all(sa.func.sum, found.many, day.between(today, named_parameter("soon")), SCHEDULED),
        of_all(
            sa.func.sum,
            found.many,
            day.between(named_parameter("month_start"), named_parameter("month_end")),
            COMPLETED,
        ),
        of_all(sa.func.max, day, day <= today, COMPLETED, FAILED),
        of_all(sa.func.min, day, day >= today, SCHEDULED),
    ).group_by(found.status)
    return planner.finish(totals.order_by(total.desc(), found.status).limit(LABELS_MAX))


@lru_cache(maxsize=PLANS_MAX)
def plan_other_types(database: str, rule: Rule, *, of_building: bool) -> Statement:
    """Plan rows of type, status and count of the types beyond INSPECTION_TYPES, the most frequent pairs first."""
    planner = CountPlanner(DIALECTS[database], rule)
    inspection, where = planner.inspections(of_building=of_building)
    pair = shortened(inspection.c.inspection_type), shortened(inspection.c.status)
    other = inspection.c.inspection_type.not_in(INSPECTION_TYPES)
    found = union_columns(
        sa.select(*pair).where(*where[:-1], part.condition, *part.rest, other)
        for part in disjuncts(where[-1], where[-1])
    )
    calendar_counts, counted = (found.inspection_type, found.status), sa.func.count()
    pairs = sa.select(*calendar_counts, counted).group_by(*calendar_counts).order_by(counted.desc(), *calendar_counts)
    return planner.finish(pairs.limit(LABELS_MAX))

"""Counts over the rows that a row rule shows: by label, by type and status, and by dates.

The dashboard and the page of one building share them.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from access.caller import Caller
from engine.interface.database import Transaction
from engine.query.catalog import prefix_of_parent
from engine.query.dialect.base import SmallInSubquery
from engine.query.read.access_paths import Disjunct, disjuncts, or_operands
from engine.query.read.planner import Planner
from engine.query.statement import parameter
from engine.rows import Select, prepared
from models import Building, BuildingDetail, Inspection
from models.fields import Model
from models.types import DATE, TIMESTAMP
from models.vocabulary import COMPLETED, FAILED, IN_PROGRESS, INSPECTION_STATUSES, INSPECTION_TYPES, SCHEDULED

Expression = sa.ColumnElement[Any]
Counts = dict[str, int]

LABEL_CHARACTERS_MAX = 200  # statuses and types are free text of up to 64 KiB; equal prefixes count as one
NO_LABEL = "none"  # an inspection without a status, or a reading without a result
OTHER_LABEL = "other"  # the rest, beyond LABELS_MAX
LABELS_MAX = 1_000  # pairs of type and status; rarer pairs count as the rest

TYPES_OF_PARAMETERS = {"building_id": sa.BigInteger, "now": TIMESTAMP.storage}
"""The types of the parameters that are no days."""


class CountPlanner(Planner):
    """A planner of counts of inspections, buildings and readings."""

    def named_parameter(self, name: str) -> Expression:
        """Return the parameter of a name: a day, or of its type in TYPES_OF_PARAMETERS."""
        return parameter(name, TYPES_OF_PARAMETERS.get(name, DATE.storage))

    def visible_by(self, model: type[Model], by: type[Model]) -> tuple[sa.Alias, Expression]:
        """Return an alias of a table and the condition of its visible rows that belong to a visible row of `by`.

        The condition is `true` if the rule implies it, else a CASE. No planner uses an index for a CASE, so that the
        search starts from the row of `by`.
        """
        if self.rule.implied(model, by):
            return self.alias(self.catalog.relations[model.__tablename__]), sa.true()
        alias, scope = self.visible(model)
        return alias, scope if isinstance(scope, sa.True_) else sa.case((scope, sa.true()))

    def inspections(self, *, of_building: bool) -> tuple[sa.Alias, list[Expression]]:
        """Return an alias of inspections and the conditions of the visible ones, or of those of one building."""
        if not of_building:
            inspection, scope = self.visible(Inspection)
            return inspection, [scope]
        inspection, scope = self.visible_by(Inspection, Building)
        return inspection, [*self.in_building(inspection, self.named_parameter("building_id")), scope]

    def in_building(self, inspection: sa.Alias, key: Expression) -> list[Expression]:
        """Return the conditions that an inspection belongs to a building, with the index prefix if there is one."""
        relation = self.catalog.relations[Inspection.__tablename__]
        conditions = [inspection.c.building_id == key]
        prefix = self.prefix_column(relation, "building_id")
        if prefix is not None:
            conditions.append(inspection.c[prefix] == prefix_of_parent(relation, "building_id", key))
        return conditions

    def closed_buildings(self) -> sa.Select[Any]:
        """Return the ids of the buildings that are closed today, as far as their details are visible."""
        detail, scope = self.visible(BuildingDetail)
        return sa.select(detail.c.building_id).where(detail.c.closed_on <= self.named_parameter("today"), scope)

    def inspections_of_closed_buildings(self) -> sa.Select[Any]:
        """Return the ids of the visible inspections of closed buildings."""
        inspection, scope = self.visible(Inspection)
        detail, detail_scope = self.visible(BuildingDetail)
        is_closed = sa.and_(detail.c.closed_on <= self.named_parameter("today"), detail_scope)
        rows = detail.join(inspection, inspection.c.building_id == detail.c.building_id)
        return sa.select(inspection.c.id).select_from(rows).where(is_closed, scope)

    def scans_index(self, scope: Expression) -> bool:
        """Return whether an index of the client's rows finds the rows: of one client, or of every client in turn."""
        is_one = len(or_operands(scope)) == 1 and not isinstance(scope, SmallInSubquery)
        return self.dialect.uses_skip_scans and is_one


def shortened(column: Any) -> Any:
    """Return the prefix of a text column that the counts group by."""
    return sa.func.substr(column, 1, LABEL_CHARACTERS_MAX).label(column.name)


def union_columns(queries: Iterable[sa.Select[Any]]) -> Any:
    """Return the columns of the UNION ALL of several queries."""
    branches = list(queries)
    rows = branches[0] if len(branches) == 1 else sa.union_all(*branches)
    return rows.subquery("found").c


def over_all(aggregate: Any, value: Expression) -> Expression:
    """Return the aggregate of all groups, as a window function, which ignores LIMIT."""
    across: Expression = aggregate(aggregate(value)).over()
    return across


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


def read_status_counts(transaction: Transaction, caller: Caller, building_id: int | None = None) -> StatusCounts:
    """Count all visible inspections, or those of one visible building."""
    of_building = building_id is not None
    days = calendar_days(transaction.today)
    rows = plan_status_counts.all(transaction, caller, of_building, building_id=building_id, **days)
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
        for *pair, count in plan_other_types.all(transaction, caller, of_building, building_id=building_id):
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


@prepared(CountPlanner)
def plan_status_counts(planner: CountPlanner, of_building: bool) -> Select:
    """Plan rows of status, the number of each of INSPECTION_TYPES, and their sum, the most frequent statuses first.

    Each row then repeats the totals: all, overdue, upcoming, completed this month, last day, next day. Types are
    columns, since no index has their order. Rows are grouped along an index of status and day, where one exists.
    """
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
    return totals.order_by(total.desc(), found.status).limit(LABELS_MAX)


@prepared(CountPlanner)
def plan_other_types(planner: CountPlanner, of_building: bool) -> Select:
    """Plan rows of type, status and count of the types beyond INSPECTION_TYPES, the most frequent pairs first."""
    inspection, where = planner.inspections(of_building=of_building)
    pair = shortened(inspection.c.inspection_type), shortened(inspection.c.status)
    other = inspection.c.inspection_type.not_in(INSPECTION_TYPES)
    found = union_columns(
        sa.select(*pair).where(*where[:-1], part.condition, *part.rest, other)
        for part in disjuncts(where[-1], where[-1])
    )
    calendar_counts, counted = (found.inspection_type, found.status), sa.func.count()
    pairs = sa.select(*calendar_counts, counted).group_by(*calendar_counts).order_by(counted.desc(), *calendar_counts)
    return pairs.limit(LABELS_MAX)

"""The statements of the dashboard's counts, each over the rows that the row rule shows."""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.in_subquery import SmallInSubquery
from engine.query.dialect.registry import DIALECTS
from engine.query.read.disjuncts import Disjunct
from engine.query.read.disjuncts import disjuncts
from engine.query.read.disjuncts import or_operands
from engine.query.read.index_prefix import prefix_of_parent
from engine.query.read.planner import Planner
from engine.query.read.skip_scan import owners_of
from engine.query.rule import Rule
from engine.query.statement import Statement
from engine.query.statement import compile_statement
from engine.query.statement import new_value
from engine.query.statement import parameter
from models import AuditLog
from models import Building
from models import Inspection
from models import ReportLead
from models.audit_log import BULK_RELATION
from models.fields import Model
from models.types import BIGINT
from models.types import DATE
from models.types import Bound

Expression = sa.ColumnElement[Any]

STATUSES = ("scheduled", "in_progress", "completed", "failed", "cancelled")
SCHEDULED, IN_PROGRESS, COMPLETED, FAILED, CANCELLED = STATUSES

TYPES = ("annual", "fire", "lead", "structural", "emergency")

PLANS_MAX = 64  # of each kind; there are twelve standings
LABEL_CHARACTERS_MAX = 200  # statuses and types are free text of 64 KiB; long ones share a name
LABELS_MAX = 1_000  # pairs of type and status that are told apart, the most frequent first

PARAMETERS = (
    "today", "soon", "month_start", "month_end", "building_id", "start_date", "end_date", "since",
    "lines_max",
)  # fmt: skip
INTEGER_PARAMETERS = ("building_id", "since", "lines_max")

STATE_COLUMNS = ("building_id", "inspection_type", "status", "date_visited")
"""What of an inspection is counted by."""


def parameter_values(**value_of: Bound) -> tuple[Bound, ...]:
    """`Binding.new` for the statements of this room."""
    return tuple(value_of.get(name) for name in PARAMETERS)


class CountPlanner(Planner):
    """A planner that looks at the same few relations in ever the same ways."""

    def value_of(self, name: str) -> Expression:
        """Where one of PLACES goes."""
        self.slots[name] = new_value(PARAMETERS.index(name))
        return parameter(name, sa.BigInteger if name in INTEGER_PARAMETERS else DATE.storage)

    def visible(self, model: type[Model]) -> tuple[sa.Alias, Expression]:
        return self.scoped(self.catalog.relations[model.__tablename__])

    def visible_by(self, model: type[Model], by: type[Model]) -> tuple[sa.Alias, Expression]:
        """The same beside a row of `by` that is known to be visible, which may be all it takes.

        What it takes besides is said as a case, since no index is searched for the sake of a case: the
        search is to start from the row of `by`.
        """
        if self.rule.implied(model, by):
            return self.alias(self.catalog.relations[model.__tablename__]), sa.true()
        alias, scope = self.visible(model)
        return alias, scope if isinstance(scope, sa.True_) else sa.case((scope, sa.true()))

    def inspections(self, *, of_building: bool) -> tuple[sa.Alias, list[Expression]]:
        """All visible inspections, or those of one building that is known to be visible."""
        if not of_building:
            inspection, scope = self.visible(Inspection)
            return inspection, [scope]
        inspection, scope = self.visible_by(Inspection, Building)
        return inspection, [*self.of_one(inspection, self.value_of("building_id")), scope]

    def of_one(self, inspection: sa.Alias, key: Expression) -> list[Expression]:
        """That an inspection is a building's: looked for among its client's, where an index has them so."""
        relation = self.catalog.relations[Inspection.__tablename__]
        found = [inspection.c.building_id == key]
        prefix = self.prefix_column(relation, "building_id")
        if prefix is not None:
            found.append(inspection.c[prefix] == prefix_of_parent(relation, "building_id", key))
        return found

    def scans_index(self, scope: Expression) -> bool:
        """Whether rows are read along an index of their clients, of one client or of all."""
        is_one = len(or_operands(scope)) == 1 and not isinstance(scope, SmallInSubquery)
        return self.dialect.uses_skip_scans and is_one


def shortened(column: Any) -> Any:
    return sa.func.substr(column, 1, LABEL_CHARACTERS_MAX).label(column.name)


@lru_cache(maxsize=PLANS_MAX)
def plan_status_counts(database: str, rule: Rule, *, of_building: bool) -> Statement:
    """Status, how many of each of TYPES, and how many in all, the most frequent statuses first; then, the same in every
    row, how many there are, overdue, upcoming, completed this month, and the last and next day.

    Types are counted side by side: no index is in their order. Where one is in that of statuses and days, rows are
    counted along it, and what is left to be put in order is little.
    """
    planner = CountPlanner(DIALECTS[database], rule)
    inspection, where = planner.inspections(of_building=of_building)
    kept, value_of = inspection.c, planner.value_of
    are_of = [(name, kept.inspection_type == name) for name in TYPES]
    count = sa.func.count()
    one: Expression = sa.literal_column("1")
    none: Expression = sa.literal_column("0")

    def of_disjunct(part: Disjunct) -> sa.Select[Any]:
        rows = sa.select(shortened(kept.status), kept.date_visited.label("day"))
        rows = rows.where(*where[:-1], part.condition, *part.rest)
        if of_building or not planner.scans_index(part.condition):
            of_types = [sa.case((is_of, one), else_=none).label(name) for name, is_of in are_of]
            return rows.add_columns(*of_types, one.label("many"))
        of_types = [count.filter(is_of).label(name) for name, is_of in are_of]
        rows = rows.add_columns(*of_types, count.label("many"))
        return rows.group_by(kept.client_id, kept.status, kept.date_visited)

    found = union_columns(of_disjunct(part) for part in disjuncts(where[-1], where[-1]))
    day, today, total = found.day, value_of("today"), sa.func.sum(found.many)

    def of_all(aggregate: Any, value: Expression, is_near: Expression, *statuses: str) -> Any:
        return over_all(aggregate, sa.case((found.status.in_(statuses) & is_near, value)))

    totals = sa.select(
        found.status,
        *(sa.func.sum(found[name]) for name in TYPES),
        total,
        over_all(sa.func.sum, found.many),
        of_all(sa.func.sum, found.many, day < today, SCHEDULED, IN_PROGRESS),
        of_all(sa.func.sum, found.many, day.between(today, value_of("soon")), SCHEDULED),
        of_all(
            sa.func.sum,
            found.many,
            day.between(value_of("month_start"), value_of("month_end")),
            COMPLETED,
        ),
        of_all(sa.func.max, day, day <= today, COMPLETED, FAILED),
        of_all(sa.func.min, day, day >= today, SCHEDULED),
    ).group_by(found.status)
    return planner.finish(totals.order_by(total.desc(), found.status).limit(LABELS_MAX))


@lru_cache(maxsize=PLANS_MAX)
def plan_other_types(database: str, rule: Rule, *, of_building: bool) -> Statement:
    """Type, status and how many, of inspections of none of TYPES, the most frequent pairs first."""
    planner = CountPlanner(DIALECTS[database], rule)
    inspection, where = planner.inspections(of_building=of_building)
    pair = shortened(inspection.c.inspection_type), shortened(inspection.c.status)
    other = inspection.c.inspection_type.not_in(TYPES)
    found = union_columns(
        sa.select(*pair).where(*where[:-1], part.condition, *part.rest, other)
        for part in disjuncts(where[-1], where[-1])
    )
    calendar_counts, counted = (found.inspection_type, found.status), sa.func.count()
    pairs = (
        sa.select(*calendar_counts, counted)
        .group_by(*calendar_counts)
        .order_by(counted.desc(), *calendar_counts)
    )
    return planner.finish(pairs.limit(LABELS_MAX))


def union_columns(found: Iterable[sa.Select[Any]]) -> Any:
    """The columns of all rows that several searches find."""
    searches = list(found)
    rows = searches[0] if len(searches) == 1 else sa.union_all(*searches)
    return rows.subquery("found").c


def over_all(aggregate: Any, value: Expression) -> Expression:
    """An aggregate of a group, and that of all groups, whichever of them are shown."""
    across: Expression = aggregate(aggregate(value)).over()
    return across


@lru_cache(maxsize=PLANS_MAX)
def plan_nearest_days(database: str, rule: Rule) -> Statement:
    """The last day of a completed inspection, that of a failed one, and the next of a scheduled one, by the indexes."""
    planner = CountPlanner(DIALECTS[database], rule)
    today = planner.value_of("today")

    def end(aggregate: Any, status: str, is_near: Callable[[Any], Expression]) -> Expression:
        inspection, scope = planner.visible(Inspection)
        day = inspection.c.date_visited
        looked_for = sa.select(aggregate(day)).where(
            scope, inspection.c.status == status, is_near(day)
        )
        if planner.dialect.uses_skip_scans and isinstance(scope, sa.True_):
            owners = owners_of(Inspection.skip_scan)
            of_one = looked_for.where(inspection.c[Inspection.skip_scan.owner] == owners.c.id)
            looked_for = sa.select(aggregate(of_one.scalar_subquery())).select_from(owners)
        found: Expression = looked_for.scalar_subquery()
        return found

    return planner.finish(
        sa.select(
            end(sa.func.max, COMPLETED, lambda day: day <= today),
            end(sa.func.max, FAILED, lambda day: day <= today),
            end(sa.func.min, SCHEDULED, lambda day: day >= today),
        )
    )


@lru_cache(maxsize=PLANS_MAX)
def plan_states(database: str, rule: Rule) -> Statement:
    """Id, and STATE, of the visible inspections among those in `Binding.keys`."""
    planner = CountPlanner(DIALECTS[database], rule)
    inspection, scope = planner.visible(Inspection)
    kept = inspection.c
    among = planner.dialect.in_list(kept.id, BIGINT, parameter("keys", sa.Text))
    states = sa.select(kept.id, *(kept[name] for name in STATE_COLUMNS))
    return planner.finish(states.where(among, scope))


@lru_cache(maxsize=PLANS_MAX)
def plan_audit_lines(database: str, rule: Rule) -> Statement:
    """Relation, key, action and what was before, of so many visible lines of the trail beyond one: the newest first."""
    planner = CountPlanner(DIALECTS[database], rule)
    line, scope = planner.visible(AuditLog)
    kept = line.c
    lines = sa.select(kept.relation, kept.row_key, kept.action, kept.before)
    newest = lines.where(scope, kept.id > planner.value_of("since")).order_by(kept.id.desc())
    return planner.finish(newest.limit(planner.value_of("lines_max")))


@lru_cache(maxsize=PLANS_MAX)
def plan_bulk_changes(database: str) -> Statement:
    """How many of the trail's lines beyond one tell of many rows; they are nobody's, among few that are."""
    dialect, kept = DIALECTS[database], AuditLog.__table__.c
    since = parameter("since", sa.BigInteger)
    of_many = dialect.unindexed(kept.relation) == BULK_RELATION
    found = sa.select(sa.func.count()).where(kept.client_id.is_(None), kept.id > since, of_many)
    return compile_statement(
        found, dialect.sa_dialect, {"since": new_value(PARAMETERS.index("since"))}
    )


@lru_cache(maxsize=PLANS_MAX)
def plan_buildings(database: str, rule: Rule) -> Statement:
    """How many buildings there are."""
    planner = CountPlanner(DIALECTS[database], rule)
    building, scope = planner.visible(Building)
    return planner.finish(sa.select(sa.func.count()).select_from(building).where(scope))


@lru_cache(maxsize=PLANS_MAX)
def plan_building_name(database: str, rule: Rule) -> Statement:
    """The name of a visible building."""
    planner = CountPlanner(DIALECTS[database], rule)
    building, scope = planner.visible(Building)
    named = building.c.id == planner.value_of("building_id")
    return planner.finish(sa.select(building.c.name).where(named, scope))


@lru_cache(maxsize=PLANS_MAX)
def plan_readings(database: str, rule: Rule) -> Statement:
    """Result, how many, and how many readings in all, of one building; the most frequent first."""
    planner = CountPlanner(DIALECTS[database], rule)
    inspection, where = planner.inspections(of_building=True)
    reading, scope = planner.visible_by(ReportLead, Inspection)
    result, counted = reading.c.result, sa.func.count()
    readings = (
        sa.select(shortened(result), counted, sa.func.sum(counted).over())
        .select_from(inspection.join(reading, reading.c.inspection_id == inspection.c.id))
        .where(*where, scope)
        .group_by(result)
    )
    return planner.finish(readings.order_by(counted.desc(), result).limit(LABELS_MAX))

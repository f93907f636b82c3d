"""The statements of the dashboard and of one building, each over the rows that a row rule shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.in_subquery import SmallInSubquery
from engine.query.dialect.registry import DIALECTS
from engine.query.read.disjuncts import Disjunct, disjuncts, or_operands
from engine.query.read.index_prefix import prefix_of_parent
from engine.query.read.planner import Planner
from engine.query.read.skip_scan import owners_of
from engine.query.rule import Rule
from engine.query.statement import Binding, Statement, compile_statement, parameter
from engine.storage.transaction import Transaction
from models import AuditLog, Building, Inspection, ReportLead
from models.audit_log import BULK_RELATION
from models.fields import Model
from models.types import BIGINT, DATE, TIMESTAMP
from models.vocabulary import COMPLETED, FAILED, IN_PROGRESS, INSPECTION_TYPES, SCHEDULED

Expression = sa.ColumnElement[Any]

PLANS_MAX = 64  # of each kind; there are sixteen grant profiles
LABEL_CHARACTERS_MAX = 200  # statuses and types are free text of up to 64 KiB; equal prefixes count as one
LABELS_MAX = 1_000  # pairs of type and status; rarer pairs count as the rest

TYPES_OF_PARAMETERS = {
    "building_id": sa.BigInteger,
    "since": sa.BigInteger,
    "entries_max": sa.BigInteger,
    "now": TIMESTAMP.storage,
}
"""The types of the parameters that are no days."""

STATE_COLUMNS = ("building_id", "inspection_type", "status", "date_visited")
"""The columns of an inspection that the counts depend on."""


def fetch_rows(transaction: Transaction, statement: Statement, binding: Binding) -> list[Any]:
    """Return all rows of a statement."""
    return transaction.all(statement.sql, statement.bind(binding))


class CountPlanner(Planner):
    """A planner of counts of inspections, buildings and readings."""

    def named_parameter(self, name: str) -> Expression:
        """Return the parameter of a name: a day, or of its type in TYPES_OF_PARAMETERS."""
        return parameter(name, TYPES_OF_PARAMETERS.get(name, DATE.storage))

    def visible(self, model: type[Model]) -> tuple[sa.Alias, Expression]:
        """Return an alias of a table and the condition of its visible rows."""
        return self.scoped(self.catalog.relations[model.__tablename__])

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

    def scans_index(self, scope: Expression) -> bool:
        """Return whether an index of the client's rows finds the rows: of one client, or of every client in turn."""
        is_one = len(or_operands(scope)) == 1 and not isinstance(scope, SmallInSubquery)
        return self.dialect.uses_skip_scans and is_one


def shortened(column: Any) -> Any:
    """Return the prefix of a text column that the counts group by."""
    return sa.func.substr(column, 1, LABEL_CHARACTERS_MAX).label(column.name)


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
    """Plan rows of type, status and count of inspections of other types, the most frequent pairs first."""
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


def union_columns(queries: Iterable[sa.Select[Any]]) -> Any:
    """Return the columns of the UNION ALL of several queries."""
    branches = list(queries)
    rows = branches[0] if len(branches) == 1 else sa.union_all(*branches)
    return rows.subquery("found").c


def over_all(aggregate: Any, value: Expression) -> Expression:
    """Return the aggregate of all groups, as a window function, which ignores LIMIT."""
    across: Expression = aggregate(aggregate(value)).over()
    return across


@lru_cache(maxsize=PLANS_MAX)
def plan_nearest_days(database: str, rule: Rule) -> Statement:
    """Plan one row: the last days of a completed and of a failed inspection, and the next day of a scheduled one."""
    planner = CountPlanner(DIALECTS[database], rule)
    today = planner.named_parameter("today")

    def nearest_day(aggregate: Any, status: str, is_near: Callable[[Any], Expression]) -> Expression:
        inspection, scope = planner.visible(Inspection)
        day = inspection.c.date_visited
        query = sa.select(aggregate(day)).where(scope, inspection.c.status == status, is_near(day))
        if planner.dialect.uses_skip_scans and isinstance(scope, sa.True_):
            owners = owners_of(Inspection.skip_scan)
            of_owner = query.where(inspection.c[Inspection.skip_scan.owner] == owners.c.id)
            query = sa.select(aggregate(of_owner.scalar_subquery())).select_from(owners)
        nearest: Expression = query.scalar_subquery()
        return nearest

    return planner.finish(
        sa.select(
            nearest_day(sa.func.max, COMPLETED, lambda day: day <= today),
            nearest_day(sa.func.max, FAILED, lambda day: day <= today),
            nearest_day(sa.func.min, SCHEDULED, lambda day: day >= today),
        )
    )


@lru_cache(maxsize=PLANS_MAX)
def plan_states(database: str, rule: Rule) -> Statement:
    """Plan rows of id and STATE_COLUMNS of the visible inspections in `Binding.keys`."""
    planner = CountPlanner(DIALECTS[database], rule)
    inspection, scope = planner.visible(Inspection)
    columns = inspection.c
    among = planner.dialect.in_list(columns.id, BIGINT, parameter("keys", sa.Text))
    states = sa.select(columns.id, *(columns[name] for name in STATE_COLUMNS))
    return planner.finish(states.where(among, scope))


@lru_cache(maxsize=PLANS_MAX)
def plan_audit_entries(database: str, rule: Rule) -> Statement:
    """Plan rows of relation, key, action and former values of the visible audit entries after one, the newest first."""
    planner = CountPlanner(DIALECTS[database], rule)
    audit_log, scope = planner.visible(AuditLog)
    columns = audit_log.c
    entries = sa.select(columns.relation, columns.row_key, columns.action, columns.before)
    newest = entries.where(scope, columns.id > planner.named_parameter("since")).order_by(columns.id.desc())
    return planner.finish(newest.limit(planner.named_parameter("entries_max")))


@lru_cache(maxsize=PLANS_MAX)
def plan_bulk_changes(database: str) -> Statement:
    """Plan one row: the number of audit entries after one that stand for many rows. They have no client."""
    dialect, columns = DIALECTS[database], AuditLog.__table__.c
    since = parameter("since", sa.BigInteger)
    of_many = dialect.unindexed(columns.relation) == BULK_RELATION
    found = sa.select(sa.func.count()).where(columns.client_id.is_(None), columns.id > since, of_many)
    return compile_statement(found, dialect.sa_dialect)


@lru_cache(maxsize=PLANS_MAX)
def plan_buildings(database: str, rule: Rule) -> Statement:
    """Plan one row: the number of visible buildings."""
    planner = CountPlanner(DIALECTS[database], rule)
    building, scope = planner.visible(Building)
    return planner.finish(sa.select(sa.func.count()).select_from(building).where(scope))


@lru_cache(maxsize=PLANS_MAX)
def plan_building_name(database: str, rule: Rule) -> Statement:
    """Plan one row: the name of a visible building."""
    planner = CountPlanner(DIALECTS[database], rule)
    building, scope = planner.visible(Building)
    named = building.c.id == planner.named_parameter("building_id")
    return planner.finish(sa.select(building.c.name).where(named, scope))


@lru_cache(maxsize=PLANS_MAX)
def plan_readings(database: str, rule: Rule) -> Statement:
    """Plan rows of result, count and total of the readings of one building, the most frequent results first."""
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

"""Apply schedules to buildings, and skip occurrences, with the caller's rights.

A row that the caller does not see is reported as missing (404). A visible row that the caller may not write is denied
(403).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import sqlalchemy as sa

from access.assignments import allow_any_number, binding_of
from access.caller import Caller
from access.policy import AccessRule
from engine.query import execute
from engine.query.catalog import Relation, catalog
from engine.query.constraints import CheckViolation
from engine.query.dialect.base import json_array
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.rule import Action
from engine.query.statement import Statement, new_value, parameter
from engine.query.write.insert import Conflict, Insertion
from engine.query.write.row_security import row_violation
from engine.storage.transaction import Transaction
from inspections import planned_visits as plans
from inspections import schedules
from inspections.reporting.dashboard import NoSuchBuilding
from inspections.visits import NoSuchRow
from models import Building, Inspection, Schedule
from models.fields import Model
from models.types import BIGINT, out_of_range, read_string

SPREAD_DAYS_MAX = 28
"""First due dates of one call are less than this number of days apart, so that they stay within a month."""


@dataclass(frozen=True, slots=True)
class AppliedSchedules:
    """The numbers of schedules that a call made and that existed before it."""

    made: int
    already: int


@dataclass(frozen=True, slots=True)
class NextInspection:
    """The inspection that follows a skipped one; null if its schedule has ended."""

    next_inspection_id: int | None
    next_due: str | None


def apply_schedule(
    transaction: Transaction,
    caller: Caller,
    building_ids: Sequence[int],
    first_due: datetime.date,
    spread_days: int,
    values: Mapping[str, object],
) -> AppliedSchedules:
    """Make a schedule of these values for each building that does not have it.

    Each further building is first due `spread_days` later, modulo SPREAD_DAYS_MAX. Raise NoSuchBuilding or RowDenied.
    """
    buildings = list(dict.fromkeys(building_ids))
    require_visible_buildings(transaction, caller, buildings)
    rows = [
        {**values, "building_id": building_id, "first_due": day_after(first_due, place * spread_days % SPREAD_DAYS_MAX)}
        for place, building_id in enumerate(buildings)
    ]
    relation = relation_of(Schedule)
    result = execute.insert(
        transaction,
        AccessRule(caller.profile),
        binding_of(caller),
        relation=relation,
        insertion=Insertion(rows, tuple(rows[0]), Conflict.IGNORE, relation.uniques["schedules_once_key"]),
        shape=None,
        check_row_count=allow_any_number,
    )
    return AppliedSchedules(result.inserted, len(rows) - result.inserted)


def day_after(day: datetime.date, days: int) -> str:
    """Return the day a number of days after another; raise DatetimeOutOfRange after the year 9999."""
    try:
        return (day + datetime.timedelta(days=days)).isoformat()
    except OverflowError:
        raise out_of_range(day.isoformat()) from None


def skip_occurrence(transaction: Transaction, caller: Caller, inspection_id: int, reason: str) -> NextInspection:
    """Cancel an open inspection of a schedule for a reason, and make the inspection of the next occurrence.

    Raise NoSuchRow, RowDenied or CheckViolation.
    """
    relation = relation_of(Inspection)
    statement = plan_inspection(transaction.dialect.name, AccessRule(caller.profile))
    row = transaction.one(statement.sql, statement.bind(binding_of(caller).replace(new=(inspection_id,))))
    if row is None:
        raise NoSuchRow("Inspection")
    notes, is_writable = row
    if not is_writable:
        raise row_violation(relation)
    plan = plans.read_open_plan(transaction, inspection_id)
    if plan is None:
        raise CheckViolation("inspection_plans_skip_check")
    lines = reason if not notes else f"{notes}\n{reason}"
    following = schedules.skip(transaction, plan, read_string(lines))
    if following is None:
        return NextInspection(None, None)
    next_id, occurrence = following
    return NextInspection(next_id, occurrence.due_on.isoformat())


def require_visible_buildings(transaction: Transaction, caller: Caller, building_ids: Sequence[int]) -> None:
    """Raise NoSuchBuilding unless the caller sees each of the buildings."""
    statement = plan_visible_buildings(transaction.dialect.name, AccessRule(caller.profile))
    binding = binding_of(caller).replace(keys=json_array(building_ids))
    if transaction.value(statement.sql, statement.bind(binding)) != len(building_ids):
        raise NoSuchBuilding


@cache
def plan_visible_buildings(database: str, rule: AccessRule) -> Statement:
    """Plan the number of visible buildings in `Binding.keys`."""
    planner = Planner(DIALECTS[database], rule)
    building, scope = planner.scoped(relation_of(Building))
    among = planner.dialect.in_list(building.c.id, BIGINT, parameter("keys", sa.Text))
    return planner.finish(sa.select(sa.func.count()).select_from(building).where(among, scope))


@cache
def plan_inspection(database: str, rule: AccessRule) -> Statement:
    """Plan the notes of a visible inspection, and whether the caller may change it."""
    planner = Planner(DIALECTS[database], rule)
    inspection, scope = planner.scoped(relation_of(Inspection))
    planner.slots["row_id"] = new_value(0)
    may_change = sa.case((rule.rows(Action.UPDATE, Inspection, inspection.c), 1), else_=0)
    found = sa.select(inspection.c.notes, may_change)
    return planner.finish(found.where(inspection.c.id == parameter("row_id", sa.BigInteger), scope))


def relation_of(model: type[Model]) -> Relation:
    return catalog().relations[model.__tablename__]

"""Reads plans with their inspections and schedules, and computes what follows from an outcome."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa

from engine.query.dialect.in_subquery import is_among
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding, Statement, compile_statement
from engine.query.write.insert import Key, keys_as_json
from engine.storage.transaction import Transaction
from inspections.recurrence import Occurrence, Recurrence
from inspections.writes import read_rows
from models import Inspection, InspectionPlan, Schedule
from models.fields import Row
from models.inspection_plan import CANCELLED, SKIPPED
from models.types import BIGINT

FROM_VISIT = "done"

SCHEDULE_COLUMNS = (
    "id", "building_id", "inspection_type", "inspector_id", "first_due", "every", "unit", "counted_from", "ended_on"
)  # fmt: skip
PLAN_COLUMNS = ("inspection_id", "occurrence", "due_on", "outcome")
INSPECTION_COLUMNS = ("status", "date_visited", "created_at", "updated_at")

PLANS, INSPECTIONS, SCHEDULES = (
    model.__table__.alias(name)
    for model, name in ((InspectionPlan, "plan"), (Inspection, "inspection"), (Schedule, "schedule"))
)


@dataclass(frozen=True, slots=True)
class Duty:
    """A schedule as its rule reads it."""

    id: int
    building_id: int
    inspection_type: str
    inspector_id: int | None
    recurrence: Recurrence
    is_counted_from_visit: bool
    ended_on: date | None

    def has_ended(self, today: date) -> bool:
        return self.ended_on is not None and self.ended_on <= today

    def requires(self, occurrence: Occurrence, today: date) -> bool:
        """Return whether the schedule has not ended and still runs on the due date."""
        return not self.has_ended(today) and (self.ended_on is None or occurrence.due_on <= self.ended_on)

    def first_visit(self, today: date) -> NextVisit | None:
        """Return the first inspection; None if the schedule ended before it."""
        first = Occurrence(0, self.recurrence.first_due)
        return NextVisit(self, first) if self.requires(first, today) else None

    def following(self, occurrence: Occurrence, visited: date) -> Occurrence | None:
        """Return the occurrence after the one that was visited on a day; None after the last year."""
        next_one = self.recurrence.next_done if self.is_counted_from_visit else self.recurrence.next_planned
        return next_one(occurrence, visited)


class NextVisit(NamedTuple):
    """An inspection that a schedule is about to make."""

    duty: Duty
    occurrence: Occurrence


@dataclass(frozen=True, slots=True)
class Plan:
    """A plan with its inspection and its schedule. A round of a case has neither an occurrence nor a schedule."""

    inspection_id: int
    occurrence: Occurrence | None
    outcome: str | None
    status: str | None
    visited: date | None
    is_edited: bool
    duty: Duty | None

    def is_binding(self, today: date) -> bool:
        """Return whether the inspection of this open plan must stay: its schedule neither ended nor was deleted."""
        return not self.duty.has_ended(today) if self.duty is not None else self.occurrence is None

    def is_required(self, today: date) -> bool:
        """Return whether the schedule has not ended and still runs on the due date."""
        return self.duty is not None and self.occurrence is not None and self.duty.requires(self.occurrence, today)

    def next_visit(self, outcome: str | None, today: date) -> NextVisit | None:
        """Return the inspection that follows this outcome, or None. A cancelled one is repeated."""
        if self.duty is None or self.occurrence is None:
            return None
        following: Occurrence | None = self.occurrence
        if outcome != CANCELLED:
            visited = self.occurrence.due_on if outcome == SKIPPED else self.visited or today
            following = self.duty.following(self.occurrence, visited)
        if following is None or not self.duty.requires(following, today):
            return None
        return NextVisit(self.duty, following)


# Reads


def read_open_plan(transaction: Transaction, inspection_id: int) -> Plan | None:
    """Return the open plan of an inspection that a schedule has made, or None."""
    plans = read_open_plans(transaction, "inspection_id", [(inspection_id,)])
    return next((plan for plan in plans if plan.duty is not None), None)


def read_open_plans(transaction: Transaction, by: str, keys: Sequence[Key]) -> list[Plan]:
    """Return the open plans whose column `by` is among the keys, in the order of their inspections."""
    return fetch_plans(transaction, plan_open_plans(transaction.dialect.name, by), keys)


def read_last_plans(transaction: Transaction, keys: Sequence[Key]) -> list[Plan]:
    """Return the last plan of each schedule that has one."""
    return fetch_plans(transaction, plan_last_plans(transaction.dialect.name), keys)


def fetch_plans(transaction: Transaction, statement: Statement, keys: Sequence[Key]) -> list[Plan]:
    if not keys:
        return []
    rows = transaction.all(statement.sql, statement.bind(Binding(keys=keys_as_json(keys))))
    return [plan_of(row) for row in rows]


def plan_of(row: Sequence[Any]) -> Plan:
    """Return the plan of a row of PLAN_COLUMNS, INSPECTION_COLUMNS and SCHEDULE_COLUMNS."""
    inspection_id, number, due_on, outcome, status, visited, created_at, updated_at, *schedule = row
    return Plan(
        inspection_id,
        Occurrence(number, date.fromisoformat(due_on)) if None not in (number, due_on) else None,
        outcome,
        status,
        date.fromisoformat(visited) if visited is not None else None,
        created_at != updated_at,
        duty_of(schedule) if schedule[0] is not None else None,
    )


def read_duties(transaction: Transaction, keys: Sequence[Key]) -> list[Duty]:
    rows = read_rows(transaction, "schedules", SCHEDULE_COLUMNS, "id", [key[0] for key in keys])
    return [duty_of([row[name] for name in SCHEDULE_COLUMNS]) for row in rows]


def duty_of(row: Sequence[Any]) -> Duty:
    """Return the duty of a row of SCHEDULE_COLUMNS."""
    schedule_id, building_id, inspection_type, inspector_id, first_due, every, unit, counted_from, ended_on = row
    return Duty(
        schedule_id,
        building_id,
        inspection_type,
        inspector_id,
        Recurrence(date.fromisoformat(first_due), every, unit),
        counted_from == FROM_VISIT,
        date.fromisoformat(ended_on) if ended_on is not None else None,
    )


# Statements


def has_open_plan(inspection: Row) -> sa.ColumnElement[bool]:
    """Return the condition that an inspection has an open plan."""
    plan = InspectionPlan.__table__.alias("rule_plans")
    is_open = sa.and_(plan.c.inspection_id == inspection.id, plan.c.outcome.is_(None))
    return sa.select(sa.literal_column("1")).where(is_open).correlate_except(plan).exists()


@cache
def plan_open_plans(database: str, by: str) -> Statement:
    """Plan rows of the open plans whose column `by` is among `Binding.keys`."""
    keys = DIALECTS[database].key_table("k", [(by, BIGINT)], "keys")
    is_open = PLANS.c.outcome.is_(None)
    return compile_plans(database, sa.and_(is_among([PLANS.c[by]], sa.select(keys.c[by])), is_open))


@cache
def plan_last_plans(database: str) -> Statement:
    """Plan rows of the last plan of each schedule in `Binding.keys`."""
    keys = DIALECTS[database].key_table("k", [("schedule_id", BIGINT)], "keys")
    earlier = InspectionPlan.__table__.alias("earlier")
    last = sa.select(sa.func.max(earlier.c.inspection_id)).group_by(earlier.c.schedule_id)
    last = last.where(is_among([earlier.c.schedule_id], sa.select(keys.c.schedule_id)))
    return compile_plans(database, is_among([PLANS.c.inspection_id], last))


def compile_plans(database: str, condition: sa.ColumnElement[bool]) -> Statement:
    """Return the statement for plans, with their inspections and schedules, in the order of their inspections."""
    columns = [
        table.c[name]
        for table, names in (
            (PLANS, PLAN_COLUMNS), (INSPECTIONS, INSPECTION_COLUMNS), (SCHEDULES, SCHEDULE_COLUMNS)
        )
        for name in names
    ]  # fmt: skip
    rows = PLANS.join(INSPECTIONS, INSPECTIONS.c.id == PLANS.c.inspection_id)
    rows = rows.outerjoin(SCHEDULES, SCHEDULES.c.id == PLANS.c.schedule_id)
    statement = sa.select(*columns).select_from(rows).where(condition).order_by(PLANS.c.inspection_id)
    return compile_statement(statement, DIALECTS[database].sa_dialect, {})

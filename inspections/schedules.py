"""What follows from writes of schedules and of their inspections: plans, and the next inspection."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from engine.query.catalog import catalog
from engine.query.constraints import CheckViolation
from engine.query.write.domain_rules import DomainRule
from engine.query.write.insert import Key
from engine.storage.transaction import Transaction
from inspections.planned_visits import NextVisit, Plan, has_open_plan, read_duties, read_last_plans, read_open_plans
from inspections.recurrence import Occurrence
from inspections.writes import delete_rows, insert_rows, read_rows, update_rows
from models.fields import Row
from models.inspection_plan import CANCELLED, DONE, SKIPPED

SCHEDULED = "scheduled"

OUTCOMES = {"completed": DONE, "failed": DONE, "cancelled": CANCELLED}
"""The outcome of a plan, by the status that closes its inspection."""


class ScheduleRule(DomainRule):
    """A new schedule makes its first inspection. An ended one deletes its open inspection, unless that was edited."""

    def inserted(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        apply_end(transaction, keys)

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        return sa.true() if "ended_on" in columns else sa.false()

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        apply_end(transaction, keys)

    def merged(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        apply_end(transaction, keys)

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        delete_unedited(transaction, read_open_plans(transaction, "schedule_id", keys))


class InspectionRule(DomainRule):
    """A closed inspection gives its plan an outcome and makes the next inspection of its schedule."""

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        return has_open_plan(row) if "status" in columns else sa.false()

    def concerns_deletion(self, row: Row) -> sa.ColumnElement[bool]:
        return has_open_plan(row)

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        close_plans(transaction, keys)

    def merged(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        if "status" in columns:
            close_plans(transaction, keys)

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        if any(each.is_binding(transaction.today) for each in read_open_plans(transaction, "inspection_id", keys)):
            raise CheckViolation("inspection_plans_open_check")


# Rules


def close_plans(transaction: Transaction, keys: Sequence[Key]) -> None:
    """Give the open plans of closed inspections their outcome, and make the next inspections."""
    plans = read_open_plans(transaction, "inspection_id", keys)
    closed = [(plan, OUTCOMES[plan.status]) for plan in plans if plan.status in OUTCOMES]
    for outcome in (DONE, CANCELLED):
        set_outcome(transaction, [plan for plan, given in closed if given == outcome], outcome)
    make_visits(transaction, [plan.next_visit(outcome, transaction.today) for plan, outcome in closed])


def skip(transaction: Transaction, plan: Plan, notes: str) -> tuple[int, Occurrence] | None:
    """Cancel the inspection of an open plan, with new notes. Return the next one's id and occurrence, or None."""
    set_outcome(transaction, [plan], SKIPPED)
    update_rows(transaction, "inspections", [(plan.inspection_id,)], {"status": "cancelled", "notes": notes})
    following = plan.next_visit(SKIPPED, transaction.today)
    if following is None:
        return None
    [made] = make_visits(transaction, [following])
    return made, following.occurrence


def apply_end(transaction: Transaction, keys: Sequence[Key]) -> None:
    """Delete the open inspections that schedules no longer require, and make those that are missing."""
    today = transaction.today
    open_plans = read_open_plans(transaction, "schedule_id", keys)
    delete_unedited(transaction, [plan for plan in open_plans if not plan.is_required(today)])
    with_open_plan = {plan.duty.id for plan in open_plans if plan.duty is not None}
    without = [key for key in keys if key[0] not in with_open_plan]
    last_plans = {plan.duty.id: plan for plan in read_last_plans(transaction, without) if plan.duty is not None}
    visits = []
    for duty in read_duties(transaction, without):
        last = last_plans.get(duty.id)
        visits.append(duty.first_visit(today) if last is None else last.next_visit(last.outcome, today))
    make_visits(transaction, visits)


# Writes


def set_outcome(transaction: Transaction, plans: Iterable[Plan], outcome: str) -> None:
    update_rows(transaction, "inspection_plans", [(plan.inspection_id,) for plan in plans], {"outcome": outcome})


def make_visits(transaction: Transaction, visits: Iterable[NextVisit | None]) -> list[int]:
    """Insert the inspections and their plans. Return the ids."""
    made = [visit for visit in visits if visit is not None]
    inspections = [
        {
            "building_id": duty.building_id,
            "inspection_type": duty.inspection_type,
            "date_visited": occurrence.due_on.isoformat(),
            "status": SCHEDULED,
            "inspector_id": duty.inspector_id,
        }
        for duty, occurrence in made
    ]
    keys: Any = insert_rows(transaction, "inspections", inspections)
    ids: list[int] = [key[0] for key in keys]
    plans = [
        {
            "inspection_id": inspection_id,
            "schedule_id": duty.id,
            "occurrence": occurrence.number,
            "due_on": occurrence.due_on.isoformat(),
            "case_id": inspection_id,
        }
        for inspection_id, (duty, occurrence) in zip(ids, made, strict=True)
    ]
    insert_rows(transaction, "inspection_plans", plans)
    return ids


def delete_unedited(transaction: Transaction, plans: Iterable[Plan]) -> None:
    """Delete the plans' inspections, except those that were edited or have records such as findings."""
    ids = [plan.inspection_id for plan in plans if not plan.is_edited]
    recorded = {
        row["inspection_id"]
        for table in tables_of_records()
        for row in read_rows(transaction, table, ("inspection_id",), "inspection_id", ids)
    }
    delete_rows(transaction, "inspections", [(each,) for each in ids if each not in recorded])


@cache
def tables_of_records() -> tuple[str, ...]:
    """Return the tables whose rows people record for an inspection."""
    relations = catalog().relations.values()
    return tuple(
        each.name for each in relations if each.model.tenant == "inspection_id" and not each.model.written_by_service
    )

"""Schedules: what follows from their writes, and the functions that apply them to buildings and skip occurrences.

The functions have the caller's rights. A row that the caller does not see is reported as missing (404). A visible row
that the caller may not write is denied (403). When a building closes, its schedules end and its untouched open visits
are removed. The record stays.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from access.caller import Caller
from access.decorators import function
from access.explain import ROW_ID
from access.predicates import (
    boolean,
    bounded_integer,
    bounded_text,
    choice,
    id_array,
    optional_parameter,
    required_parameter,
)
from access.roles import ADMINS, EVERY_ROLE
from engine import execute
from engine.interface.database import Transaction
from engine.query.catalog import Relation, catalog
from engine.query.read.planner import Planner
from engine.query.statement import UNRESTRICTED, Action, Binding
from engine.query.write.insert import Conflict, Insertion
from engine.query.write.rules import DomainRule, Key, row_violation
from engine.rows import Select, prepared, read_rows, update_rows
from inspections import planned_visits
from inspections.faults import BuildingClosed, NoSuchBuilding, NoSuchRow, VisitNotSkippable
from inspections.planned_visits import ENDS_OCCURRENCE, NextVisit, PlannedVisit
from inspections.recurrence import Occurrence, Recurrence
from models import Building, Inspection, Schedule
from models.fields import Model, Row
from models.types import BIGINT, DATE, TEXT, out_of_range, read_string
from models.vocabulary import CANCELLED, COUNTED_FROM, SCHEDULED, SKIPPED, UNITS


class BuildingDetailRule(DomainRule):
    """A building with a day of closing ends its schedules on that day, and keeps no untouched visit after it."""

    def inserted(
        self, transaction: Transaction, keys: Sequence[Key], service_columns: frozenset[str] = frozenset()
    ) -> None:
        close_buildings(transaction, keys)

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        return sa.true() if "closed_on" in columns else sa.false()

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        close_buildings(transaction, keys)


def close_buildings(transaction: Transaction, keys: Sequence[Key]) -> None:
    closings = read_closings(transaction, [key[0] for key in keys])
    columns = ("id", "building_id", "ended_on")
    schedules = read_rows(transaction, UNRESTRICTED, "schedules", columns, building_id=list(closings))
    ending = [each for each in schedules if runs_after(each, closings)]
    for day in {*closings.values()}:
        of_day = [(each["id"],) for each in ending if closings[each["building_id"]] == day]
        update_rows(transaction, "schedules", of_day, {"ended_on": day})
    planned_visits.apply_end(transaction, [(each["id"],) for each in ending])
    inspections = read_rows(transaction, UNRESTRICTED, "inspections", ("id", "status"), building_id=list(closings))
    scheduled = [(each["id"],) for each in inspections if each["status"] == SCHEDULED]
    open_visits = planned_visits.read_open_visits(transaction, "inspection_id", scheduled)
    rounds = [each for each in open_visits if each.schedule is None]
    today = transaction.today.isoformat()
    planned_visits.delete_untouched(
        transaction, [each for each in rounds if closings[each.building_id] <= max(today, str(each.visited or ""))]
    )


def read_closings(transaction: Transaction, building_ids: Sequence[Any]) -> dict[int, str]:
    """Return the day of closing of the buildings that have one."""
    rows = read_rows(
        transaction, UNRESTRICTED, "building_details", ("building_id", "closed_on"), building_id=building_ids
    )
    return {row["building_id"]: row["closed_on"] for row in rows if row["closed_on"] is not None}


def runs_after(schedule: Any, closings: dict[int, str]) -> bool:
    """Return whether a schedule runs on after its building was closed."""
    closed_on = closings.get(schedule["building_id"])
    return closed_on is not None and (schedule["ended_on"] is None or schedule["ended_on"] > closed_on)


def require_open_buildings(transaction: Transaction, keys: Sequence[Key]) -> None:
    """Raise BuildingClosed if a schedule runs on after its building was closed."""
    columns = ("id", "building_id", "ended_on")
    schedules = read_rows(transaction, UNRESTRICTED, "schedules", columns, id=[key[0] for key in keys])
    closings = read_closings(transaction, list({each["building_id"] for each in schedules}))
    for each in schedules:
        if runs_after(each, closings):
            raise BuildingClosed(each["building_id"], closings[each["building_id"]])


BUILDINGS_MAX = 1_000
INTERVAL_MAX = 1_200
SPREAD_MAX = DAYS_MAX = 366
REASON_CHARACTERS_MAX = 1_000
PREVIEW_MAX = 24

SPREAD_DAYS_MAX = 28
"""First due dates of one call are less than this number of days apart, so that they stay within a month."""


INTERVAL = frozenset({"every", "unit", "counted_from"})
FOLLOWED = INTERVAL | {"first_due", "building_id", "inspection_type", "inspector_id"}
"""The columns that an open visit follows."""


class ScheduleRule(DomainRule):
    """A new schedule makes its first inspection. An edited one moves its open inspection, and an ended one deletes it.

    An inspection that a person has edited, booked or started stays.
    """

    def inserted(
        self, transaction: Transaction, keys: Sequence[Key], service_columns: frozenset[str] = frozenset()
    ) -> None:
        require_open_buildings(transaction, keys)
        planned_visits.apply_end(transaction, keys)

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        return sa.true() if columns & {"ended_on", *FOLLOWED} else sa.false()

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        if columns & {"building_id", "ended_on"}:
            require_open_buildings(transaction, keys)
        planned_visits.apply_end(transaction, keys)
        if columns & FOLLOWED:
            apply_changes(transaction, keys, columns)

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        planned_visits.delete_untouched(transaction, planned_visits.read_open_visits(transaction, "schedule_id", keys))


def apply_changes(transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
    """Make the untouched open inspections follow their schedules. A touched one without an inspector gets one."""
    visits = planned_visits.read_visits(transaction, "schedule_id", keys)
    open_visits = [each for each in visits if each.outcome is None]
    results = {
        each.schedule.id: each for each in visits if each.outcome in ENDS_OCCURRENCE and each.schedule is not None
    }
    untouched = planned_visits.without_records(transaction, open_visits)
    for each in open_visits:
        if each in untouched:
            last = results.get(each.schedule.id) if each.schedule is not None else None
            following = required_visit(each, last, columns, transaction.today)
            if following is not None:
                planned_visits.follow_schedule(transaction, each, following)
        elif each.schedule is not None and "inspector_id" in columns:
            planned_visits.set_missing_inspector(transaction, each.inspection_id, each.schedule.inspector_id)


def required_visit(
    planned: PlannedVisit, last: PlannedVisit | None, columns: frozenset[str], today: datetime.date
) -> NextVisit | None:
    """Return what an open visit is after a change of its schedule, given the last one that was done or skipped.

    The first due date counts before the first of these only. A new interval makes nothing overdue: a due date of the
    past becomes today, or stays where it was.
    """
    schedule, occurrence = planned.schedule, planned.occurrence
    if schedule is None or occurrence is None:
        return None
    if last is None:
        return schedule.first_visit(today)
    if not columns & INTERVAL:
        return NextVisit(schedule, occurrence)
    following = last.next_visit(last.outcome, today)
    earliest = min(today, occurrence.due_on)
    if following is None or following.occurrence.due_on >= earliest:
        return following
    return NextVisit(schedule, Occurrence(following.occurrence.number, earliest))


# Functions


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


@function(
    "apply_schedule",
    summary="Make a schedule for each building that does not have it",
    roles=ADMINS,
    parameters={
        "p_building_ids": id_array(BUILDINGS_MAX, count_min=1),
        "p_inspection_type": required_parameter(TEXT),
        "p_title": optional_parameter(TEXT),
        "p_every": bounded_integer(1, INTERVAL_MAX),
        "p_unit": choice(UNITS),
        "p_counted_from": choice(COUNTED_FROM, required=False),
        "p_first_due": required_parameter(DATE),
        "p_spread_days": bounded_integer(0, SPREAD_MAX, required=False).in_form(
            "Days between buildings",
            "Each further building is first due that many days later. After 28 days the first date begins again.",
        ),
        "p_inspector_id": optional_parameter(BIGINT),
        "p_grace_days": bounded_integer(0, DAYS_MAX, required=False),
        "p_early_days": bounded_integer(0, DAYS_MAX, required=False),
        "p_basis": optional_parameter(TEXT),
        "p_weekdays_only": boolean(),
    },
    is_volatile=True,
)
def apply_schedule(
    transaction: Transaction,
    caller: Caller,
    building_ids: Sequence[int],
    inspection_type: str,
    every: int,
    unit: str,
    first_due: str,
    title: str = "",
    counted_from: str = COUNTED_FROM[0],
    spread_days: int = 0,
    inspector_id: int | None = None,
    grace_days: int = 0,
    early_days: int | None = None,
    basis: str | None = None,
    weekdays_only: bool = False,
) -> AppliedSchedules:
    """Make a schedule of these values for each building that does not have it.

    Each further building is first due `spread_days` later, modulo SPREAD_DAYS_MAX. `weekdays_only` books first visits
    that are due on a weekend for a weekday. Raise NoSuchBuilding or RowDenied.
    """
    first_day = datetime.date.fromisoformat(first_due)
    values = {
        "inspection_type": inspection_type, "title": title, "every": every, "unit": unit, "counted_from": counted_from,
        "inspector_id": inspector_id, "grace_days": grace_days, "early_days": early_days, "basis": basis,
    }  # fmt: skip
    buildings = list(dict.fromkeys(building_ids))
    require_visible_buildings(transaction, caller, buildings)
    rows = [
        {**values, "building_id": building_id, "first_due": spread_day(first_day, place, spread_days)}
        for place, building_id in enumerate(buildings)
    ]
    relation = relation_of(Schedule)
    result = execute.insert(
        transaction,
        caller.rule,
        Binding(parameters=caller.parameters),
        relation=relation,
        insertion=Insertion(rows, tuple(rows[0]), Conflict.IGNORE, relation.uniques["schedules_once_key"]),
        shape=None,
    )
    if weekdays_only:
        planned_visits.book_on_weekdays(transaction, result.keys)
    return AppliedSchedules(result.inserted, len(rows) - result.inserted)


def spread_day(day: datetime.date, place: int, spread_days: int) -> str:
    """Return the first due date of the building at a place; raise DatetimeOutOfRange after the year 9999."""
    try:
        return (day + datetime.timedelta(days=place * spread_days % SPREAD_DAYS_MAX)).isoformat()
    except OverflowError:
        raise out_of_range(day.isoformat()) from None


@function(
    "skip_occurrence",
    summary="Cancel an inspection of a schedule, and make the next one",
    roles=ADMINS,
    parameters={
        "p_inspection_id": required_parameter(BIGINT),
        "p_reason": bounded_text(REASON_CHARACTERS_MAX).in_form("Reason", is_multiline=True),
    },
    is_volatile=True,
)
def skip_occurrence(transaction: Transaction, caller: Caller, inspection_id: int, reason: str) -> NextInspection:
    """Cancel an open inspection of a schedule for a reason, and make the inspection of the next occurrence.

    Raise NoSuchRow, RowDenied or VisitNotSkippable.
    """
    relation = relation_of(Inspection)
    row = inspection_statement.one(transaction, caller, row_id=inspection_id)
    if row is None:
        raise NoSuchRow("Inspection")
    notes, is_writable = row
    if not is_writable:
        raise row_violation(relation)
    planned = planned_visits.read_open_occurrence(transaction, inspection_id)
    if planned is None:
        raise VisitNotSkippable
    lines = reason if not notes else f"{notes}\n{reason}"
    following = skip(transaction, planned, read_string(lines))
    if following is None:
        return NextInspection(None, None)
    next_id, occurrence = following
    return NextInspection(next_id, occurrence.due_on.isoformat())


@function(
    "preview_schedule",
    summary="The first due dates of a schedule",
    roles=EVERY_ROLE,
    parameters={
        "p_every": bounded_integer(1, INTERVAL_MAX),
        "p_unit": choice(UNITS),
        "p_first_due": required_parameter(DATE),
        "p_count": bounded_integer(1, PREVIEW_MAX),
    },
)
def preview_schedule(
    transaction: Transaction, caller: Caller, every: int, unit: str, first_due: str, count: int
) -> list[str]:
    recurrence = Recurrence(datetime.date.fromisoformat(first_due), every, unit)
    due_dates = map(recurrence.due_date, range(count))
    return [due_on.isoformat() for due_on in due_dates if due_on is not None]


def skip(transaction: Transaction, planned: PlannedVisit, notes: str) -> tuple[int, Occurrence] | None:
    """Cancel an open visit, with new notes. Return the next one's id and occurrence, or None."""
    planned_visits.set_outcome(transaction, [planned], SKIPPED)
    update_rows(transaction, "inspections", [(planned.inspection_id,)], {"status": CANCELLED, "notes": notes})
    following = planned.next_visit(SKIPPED, transaction.today)
    if following is None:
        return None
    [inspection_id] = planned_visits.make_visits(transaction, [following])
    return inspection_id, following.occurrence


def require_visible_buildings(transaction: Transaction, caller: Caller, building_ids: Sequence[int]) -> None:
    """Raise NoSuchBuilding unless the caller sees each of the buildings."""
    rows = read_rows(transaction, caller, Building.__tablename__, ("id",), id=building_ids)
    if len(rows) != len(building_ids):
        raise NoSuchBuilding


@prepared(Planner)
def inspection_statement(planner: Planner) -> Select:
    """Return the query for the notes of a visible inspection, and whether the caller may change it."""
    inspection, scope = planner.visible(Inspection)
    may_change = sa.case((planner.rule.rows(Action.UPDATE, Inspection, inspection.c), 1), else_=0)
    return sa.select(inspection.c.notes, may_change).where(inspection.c.id == ROW_ID, scope)


def relation_of(model: type[Model]) -> Relation:
    return catalog().relations[model.__tablename__]

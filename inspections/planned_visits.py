"""The rows of inspection_plans: how they are read and written, their outcomes, and which visit comes next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any, Final, NamedTuple

import sqlalchemy as sa

from engine.interface.database import Transaction
from engine.query.catalog import catalog
from engine.query.read.planner import Planner
from engine.query.statement import UNRESTRICTED, parameter
from engine.query.write.rules import Key
from engine.rows import PreparedStatement, Select, delete_rows, insert_rows, prepared, read_rows, update_rows
from inspections.recurrence import Occurrence, Recurrence
from models import Inspection, InspectionPlan, Schedule
from models.fields import Row
from models.types import BIGINT
from models.vocabulary import CANCELLED, COMPLETED, DONE, EARLY, FAILED, IN_PROGRESS, SCHEDULED, SKIPPED

SCHEDULE_COLUMNS = (
    "id", "building_id", "inspection_type", "inspector_id", "first_due", "every", "unit", "counted_from", "early_days",
    "ended_on",
)  # fmt: skip
PLANNED_VISIT_COLUMNS = ("inspection_id", "case_id", "occurrence", "due_on", "outcome", "touched_at")
INSPECTION_COLUMNS = ("status", "date_visited", "building_id", "inspection_type", "inspector_id")

TABLE = InspectionPlan.__tablename__


# The outcome, by the outcome before a write and the status that the write leaves. No other place has these rules.

RESULT: Final = "result"
"""The visit took place: `early` before the window of its occurrence, else `done`."""

REOPENED: Final[Mapping[str | None, str | None]] = {SCHEDULED: None, IN_PROGRESS: None}

TRANSITIONS: Final[Mapping[str | None, Mapping[str | None, str | None]]] = {
    None: {**REOPENED, COMPLETED: RESULT, FAILED: RESULT, CANCELLED: CANCELLED},
    DONE: {**REOPENED, COMPLETED: DONE, FAILED: DONE, CANCELLED: CANCELLED},
    EARLY: {**REOPENED, COMPLETED: EARLY, FAILED: EARLY, CANCELLED: CANCELLED},
    SKIPPED: {**REOPENED, COMPLETED: RESULT, FAILED: RESULT, CANCELLED: SKIPPED},
    CANCELLED: {**REOPENED, COMPLETED: RESULT, FAILED: RESULT, CANCELLED: CANCELLED},
}
"""By old outcome, None for an open visit, and by new status. Another status leaves the outcome as it is."""

ENDS_OCCURRENCE: Final = frozenset({DONE, SKIPPED})
"""The outcomes after which the next occurrence is due. After the others, the same one is due again."""


def outcome_after(outcome: str | None, status: str | None) -> str | None:
    """Return the outcome, RESULT, or None for an open visit.

    >>> outcome_after("done", "cancelled"), outcome_after("skipped", "completed"), outcome_after("done", "on hold")
    ('cancelled', 'result', 'done')
    """
    return TRANSITIONS[outcome].get(status, outcome)


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """A schedule as its rule reads it."""

    id: int
    building_id: int
    inspection_type: str
    inspector_id: int | None
    recurrence: Recurrence
    is_counted_from_visit: bool
    early_days: int | None
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
        if self.is_counted_from_visit:
            return self.recurrence.next_done(occurrence, visited)
        return self.recurrence.next_planned(occurrence, visited, self.window_days or 0)

    @property
    def window_days(self) -> int | None:
        """The days from the begin of a window to its due date; None if a visit counts from any day.

        A window does not contain the due date before.
        """
        return None if self.early_days is None else min(self.early_days, self.recurrence.days_min - 1)

    def is_early(self, occurrence: Occurrence, visited: date) -> bool:
        """Return whether a day lies before the window of an occurrence."""
        return self.window_days is not None and (occurrence.due_on - visited).days > self.window_days


class NextVisit(NamedTuple):
    """An inspection that a schedule is about to make."""

    schedule: ScheduleState
    occurrence: Occurrence


@dataclass(frozen=True, slots=True)
class PlannedVisit:
    """A planned visit with its inspection and schedule. A round of a case has neither an occurrence nor a schedule."""

    inspection_id: int
    case_id: int
    occurrence: Occurrence | None
    outcome: str | None
    touched_at: str | None
    status: str | None
    visited: date | None
    building_id: int
    inspection_type: str
    inspector_id: int | None
    schedule: ScheduleState | None

    @property
    def is_untouched(self) -> bool:
        """Whether no person has edited, booked, started or closed the visit."""
        return self.touched_at is None and self.status == SCHEDULED

    def outcome_of_status(self, today: date) -> str | None:
        """Return the outcome that follows from the status of the inspection."""
        outcome = outcome_after(self.outcome, self.status)
        if outcome != RESULT:
            return outcome
        if self.schedule is None or self.occurrence is None:
            return DONE
        return EARLY if self.schedule.is_early(self.occurrence, self.visited or today) else DONE

    def is_binding(self, today: date) -> bool:
        """Return whether this open visit must stay: its schedule neither ended nor was deleted."""
        return not self.schedule.has_ended(today) if self.schedule is not None else self.occurrence is None

    def is_required(self, today: date) -> bool:
        """Return whether the schedule has not ended and still runs on the due date."""
        if self.schedule is None or self.occurrence is None:
            return False
        return self.schedule.requires(self.occurrence, today)

    def next_visit(self, outcome: str | None, today: date) -> NextVisit | None:
        """Return the inspection that follows this outcome, or None. A cancelled or early one is repeated."""
        if self.schedule is None or self.occurrence is None:
            return None
        following: Occurrence | None = self.occurrence
        if outcome in ENDS_OCCURRENCE:
            visited = self.occurrence.due_on if outcome == SKIPPED else self.visited or today
            following = self.schedule.following(self.occurrence, visited)
        if following is None or not self.schedule.requires(following, today):
            return None
        return NextVisit(self.schedule, following)


# Reads


def read_open_occurrence(transaction: Transaction, inspection_id: int) -> PlannedVisit | None:
    """Return the open visit that a schedule has made with this inspection, or None."""
    planned = read_open_visits(transaction, "inspection_id", [(inspection_id,)])
    return next((each for each in planned if each.schedule is not None), None)


def read_visits(transaction: Transaction, by: str, keys: Sequence[Key]) -> list[PlannedVisit]:
    """Return the planned visits whose column `by` is among the keys, in the order of their inspections."""
    return fetch(transaction, visits_statement, by, keys)


def read_following(transaction: Transaction, planned: PlannedVisit) -> list[PlannedVisit]:
    """Return the visits of the same schedule, or rounds of the same case, that were made after a visit."""
    related = read_visits(transaction, "case_id", [(planned.case_id,)])
    if planned.schedule is not None:
        related += read_visits(transaction, "schedule_id", [(planned.schedule.id,)])
    following = {each.inspection_id: each for each in related if each.inspection_id > planned.inspection_id}
    return [following[key] for key in sorted(following)]


def read_open_visits(transaction: Transaction, by: str, keys: Sequence[Key]) -> list[PlannedVisit]:
    """Return the open planned visits whose column `by` is among the keys, in the order of their inspections."""
    return fetch(transaction, open_visits_statement, by, keys)


def read_last_visits(transaction: Transaction, keys: Sequence[Key]) -> list[PlannedVisit]:
    """Return the last planned visit of each schedule that has one."""
    return fetch(transaction, last_visits_statement, "schedule_id", keys)


def fetch(transaction: Transaction, statement: PreparedStatement, by: str, keys: Sequence[Key]) -> list[PlannedVisit]:
    if not keys:
        return []
    rows = statement.all(transaction, UNRESTRICTED, by, keys=[key[0] for key in keys])
    for clients in {row[:2] for row in rows}:
        for client_id in clients:  # a visit that moved to another client keeps its schedule and case
            transaction.require_client(client_id)
    return [planned_visit(row[2:]) for row in rows]


def planned_visit(row: Sequence[Any]) -> PlannedVisit:
    """Return the planned visit of a row of PLANNED_VISIT_COLUMNS, INSPECTION_COLUMNS and SCHEDULE_COLUMNS."""
    inspection_id, case_id, number, due_on, outcome, touched_at, status, visited, *rest = row
    building_id, inspection_type, inspector_id, *schedule = rest
    return PlannedVisit(
        inspection_id,
        case_id,
        Occurrence(number, date.fromisoformat(due_on)) if None not in (number, due_on) else None,
        outcome,
        touched_at,
        status,
        date.fromisoformat(visited) if visited is not None else None,
        building_id,
        inspection_type,
        inspector_id,
        schedule_state(schedule) if schedule[0] is not None else None,
    )


def read_schedules(transaction: Transaction, keys: Sequence[Key]) -> list[ScheduleState]:
    rows = read_rows(transaction, UNRESTRICTED, "schedules", SCHEDULE_COLUMNS, id=[key[0] for key in keys])
    return [schedule_state([row[name] for name in SCHEDULE_COLUMNS]) for row in rows]


def schedule_state(row: Sequence[Any]) -> ScheduleState:
    """Return the schedule of a row of SCHEDULE_COLUMNS."""
    schedule_id, building_id, inspection_type, inspector_id, first_due, every, unit, counted_from, *rest = row
    early_days, ended_on = rest
    return ScheduleState(
        schedule_id,
        building_id,
        inspection_type,
        inspector_id,
        Recurrence(date.fromisoformat(first_due), every, unit),
        counted_from == DONE,
        early_days,
        date.fromisoformat(ended_on) if ended_on is not None else None,
    )


def read_open_visit_of_schedule(transaction: Transaction, inspection_id: int) -> int | None:
    """Return the id of the open visit of the schedule that an inspection belongs to, or None."""
    own = read_rows(transaction, UNRESTRICTED, TABLE, ("schedule_id",), inspection_id=inspection_id)
    schedules = [each["schedule_id"] for each in own if each["schedule_id"] is not None]
    planned = read_rows(transaction, UNRESTRICTED, TABLE, ("inspection_id", "outcome"), schedule_id=schedules)
    return next((each["inspection_id"] for each in planned if each["outcome"] is None), None)


# Writes


def make_visits(transaction: Transaction, visits: Iterable[NextVisit | None]) -> list[int]:
    """Insert the inspections and their planned visits. Return the ids."""
    required = [visit for visit in visits if visit is not None]
    inspections = [
        {
            "building_id": schedule.building_id,
            "inspection_type": schedule.inspection_type,
            "date_visited": occurrence.due_on.isoformat(),
            "status": SCHEDULED,
            "inspector_id": schedule.inspector_id,
        }
        for schedule, occurrence in required
    ]
    keys: Any = insert_rows(transaction, "inspections", inspections)
    ids: list[int] = [key[0] for key in keys]
    planned = [
        {
            "inspection_id": inspection_id,
            "schedule_id": schedule.id,
            "occurrence": occurrence.number,
            "due_on": occurrence.due_on.isoformat(),
            "case_id": inspection_id,
        }
        for inspection_id, (schedule, occurrence) in zip(ids, required, strict=True)
    ]
    insert_rows(transaction, TABLE, planned)
    return ids


def set_outcome(transaction: Transaction, planned: Sequence[PlannedVisit], outcome: str | None) -> None:
    """Set the outcome of visits that a person has closed or opened."""
    touched = [(each.inspection_id,) for each in planned if each.touched_at is not None]
    others = [(each.inspection_id,) for each in planned if each.touched_at is None]
    update_rows(transaction, TABLE, touched, {"outcome": outcome})
    update_rows(transaction, TABLE, others, {"outcome": outcome, "touched_at": transaction.now})


def touch(transaction: Transaction, planned: Iterable[PlannedVisit]) -> None:
    """Record that a person has changed visits."""
    untouched = [(each.inspection_id,) for each in planned if each.touched_at is None]
    update_rows(transaction, TABLE, untouched, {"touched_at": transaction.now})


def delete_untouched(transaction: Transaction, planned: Iterable[PlannedVisit]) -> None:
    """Delete the inspections that no person has edited and that have no records such as findings."""
    delete_rows(transaction, "inspections", [(each.inspection_id,) for each in without_records(transaction, planned)])


def without_records(transaction: Transaction, planned: Iterable[PlannedVisit]) -> list[PlannedVisit]:
    """Return the visits that no person has edited and that have no records such as findings."""
    untouched = [each for each in planned if each.is_untouched]
    ids = [each.inspection_id for each in untouched]
    recorded = {
        row["inspection_id"]
        for table in tables_of_records()
        for row in read_rows(transaction, UNRESTRICTED, table, ("inspection_id",), inspection_id=ids)
    }
    return [each for each in untouched if each.inspection_id not in recorded]


def apply_end(transaction: Transaction, keys: Sequence[Key]) -> None:
    """Delete the open inspections that schedules no longer require, and make the missing ones."""
    today = transaction.today
    open_visits = read_open_visits(transaction, "schedule_id", keys)
    delete_untouched(transaction, [each for each in open_visits if not each.is_required(today)])
    with_open_visit = {each.schedule.id for each in open_visits if each.schedule is not None}
    without = [key for key in keys if key[0] not in with_open_visit]
    last_visits = read_last_visits(transaction, without)
    last_by_schedule = {each.schedule.id: each for each in last_visits if each.schedule is not None}
    visits = []
    for schedule in read_schedules(transaction, without):
        last = last_by_schedule.get(schedule.id)
        visits.append(schedule.first_visit(today) if last is None else last.next_visit(last.outcome, today))
    make_visits(transaction, visits)


def follow_schedule(transaction: Transaction, planned: PlannedVisit, following: NextVisit) -> None:
    """Make an untouched visit that of an edited schedule. What is right already is not written."""
    schedule, occurrence = following
    wanted = {name: getattr(schedule, name) for name in ("building_id", "inspection_type", "inspector_id")}
    changes = {name: value for name, value in wanted.items() if getattr(planned, name) != value}
    if planned.occurrence != occurrence:
        plan = {"occurrence": occurrence.number, "due_on": occurrence.due_on.isoformat()}
        update_rows(transaction, TABLE, [(planned.inspection_id,)], plan)
    if planned.occurrence is None or planned.occurrence.due_on != occurrence.due_on:
        changes["date_visited"] = occurrence.due_on.isoformat()
    if changes:
        update_rows(transaction, "inspections", [(planned.inspection_id,)], changes)


def book_on_weekdays(transaction: Transaction, schedules: Sequence[Key]) -> None:
    """Book the open visits of schedules that are due on a weekend for the Friday before, or the Monday after today.

    Their due dates stay.
    """
    by_day: dict[str, list[Key]] = {}
    for each in read_open_visits(transaction, "schedule_id", schedules):
        if each.occurrence is not None:
            day = weekday_near(each.occurrence.due_on, transaction.today)
            if day != each.visited:
                by_day.setdefault(day.isoformat(), []).append((each.inspection_id,))
    for booked, keys in by_day.items():
        update_rows(transaction, "inspections", keys, {"date_visited": booked})


def weekday_near(day: date, today: date) -> date:
    """Return a weekday, or the Friday before a day at the weekend; the Monday after it if the Friday is past.

    >>> weekday_near(date(2026, 1, 31), date(2026, 1, 5)), weekday_near(date(2026, 1, 31), date(2026, 1, 31))
    (datetime.date(2026, 1, 30), datetime.date(2026, 2, 2))
    """
    days_after_friday = max(day.weekday() - 4, 0)
    friday = day - timedelta(days=days_after_friday)
    return friday if friday >= min(today, day) or not days_after_friday else friday + timedelta(days=3)


def set_missing_inspector(transaction: Transaction, inspection_id: int, inspector_id: int | None) -> None:
    """Give a visit without an inspector the one of its schedule."""
    [visit] = read_rows(transaction, UNRESTRICTED, "inspections", ("inspector_id",), id=inspection_id)
    if visit["inspector_id"] is None and inspector_id is not None:
        update_rows(transaction, "inspections", [(inspection_id,)], {"inspector_id": inspector_id})


@cache
def tables_of_records() -> tuple[str, ...]:
    """Return the tables whose rows people record for an inspection."""
    relations = catalog().relations.values()
    return tuple(
        each.name for each in relations if each.model.tenant == "inspection_id" and each.model is not InspectionPlan
    )


# Statements


def is_planned(inspection: Row) -> sa.ColumnElement[bool]:
    """Return the condition that an inspection is a planned visit, open or not."""
    planned = InspectionPlan.__table__.alias("rule_plans")
    is_own = planned.c.inspection_id == inspection.id
    return sa.select(sa.literal_column("1")).where(is_own).correlate_except(planned).exists()


def is_open_visit(inspection: Row) -> sa.ColumnElement[bool]:
    """Return the condition that an inspection is an open planned visit."""
    planned = InspectionPlan.__table__.alias("rule_plans")
    is_open = sa.and_(planned.c.inspection_id == inspection.id, planned.c.outcome.is_(None))
    return sa.select(sa.literal_column("1")).where(is_open).correlate_except(planned).exists()


@prepared(Planner)
def visits_statement(planner: Planner, by: str) -> Select:
    """Return the query for the planned visits whose column `by` is among `Binding.keys`."""
    planned, rows = joined_visits(planner)
    return rows.where(is_among_keys(planner, planned.c[by]))


@prepared(Planner)
def open_visits_statement(planner: Planner, by: str) -> Select:
    """Return the query for the open planned visits whose column `by` is among `Binding.keys`."""
    planned, rows = joined_visits(planner)
    return rows.where(is_among_keys(planner, planned.c[by]), planned.c.outcome.is_(None))


@prepared(Planner)
def last_visits_statement(planner: Planner, by: str) -> Select:
    """Return the query for the last planned visit with each value of the column `by` in `Binding.keys`."""
    planned, rows = joined_visits(planner)
    earlier, _ = planner.visible(InspectionPlan)
    last = sa.select(sa.func.max(earlier.c.inspection_id)).group_by(earlier.c[by])
    return rows.where(planned.c.inspection_id.in_(last.where(is_among_keys(planner, earlier.c[by]))))


def is_among_keys(planner: Planner, column: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    return planner.dialect.in_list(column, BIGINT, parameter("keys", sa.Text))


def joined_visits(planner: Planner) -> tuple[Any, sa.Select[Any]]:
    """Return planned visits, and the query for them with inspections and schedules, in the order of the inspections."""
    (planned, _), (inspection, _), (schedule, _) = map(planner.visible, (InspectionPlan, Inspection, Schedule))
    columns = [
        table.c[name]
        for table, names in (
            (planned, PLANNED_VISIT_COLUMNS), (inspection, INSPECTION_COLUMNS), (schedule, SCHEDULE_COLUMNS)
        )
        for name in names
    ]  # fmt: skip
    rows = planned.join(inspection, inspection.c.id == planned.c.inspection_id)
    rows = rows.outerjoin(schedule, schedule.c.id == planned.c.schedule_id)
    query = sa.select(inspection.c.client_id, schedule.c.client_id, *columns).select_from(rows)
    return planned, query.order_by(planned.c.inspection_id)

"""Visits: start, close and re-inspect them, and what follows when one is closed.

close_visit and any other write of a status can close a visit (InspectionRule). A closed visit gives its planned visit
an outcome and makes the next visit of its schedule. A failed one may add a round to its case. A case is an inspection
and its re-inspections; each is a round. The policy decides which visible inspections a caller conducts. The service
writes them without the caller's row rule.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, cast

import sqlalchemy as sa

from access.caller import Caller
from access.decorators import function
from access.explain import ROW_ID, can_read
from access.policy import CONDUCTED_VISITS, PermissionDenied, has_right
from access.predicates import choice, optional_parameter, required_parameter
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.query.read.planner import Planner
from engine.query.statement import UNRESTRICTED
from engine.query.write.rules import DomainRule, Key
from engine.rows import Select, insert_rows, prepared, read_rows, update_row_with_rules
from inspections import planned_visits, retention
from inspections.faults import (
    NextVisitTouched,
    NoSuchRow,
    ReasonRequired,
    ReinspectionTooEarly,
    ResultInFuture,
    RoundOpen,
    VisitClosed,
    VisitNotStartable,
    VisitRequired,
    VisitWithoutResult,
)
from inspections.planned_visits import NextVisit, PlannedVisit
from models import Inspection, InspectionPlan, Inspector
from models.fields import Row
from models.finding import case_of_inspection
from models.finding_move import UNRESOLVED
from models.inspection import VisitClosing
from models.types import BIGINT, DATE, TEXT, InvalidArgument, read_string
from models.vocabulary import (
    CLOSED_STATUSES,
    COMPLETED,
    DONE,
    FAILED,
    GRAVE,
    IN_PROGRESS,
    REMARK,
    SCHEDULED,
    VISIT_RESULTS,
)

INSPECTIONS, PLANNED_VISITS = Inspection.__tablename__, InspectionPlan.__tablename__


def add_round(
    transaction: Transaction, case_id: int, inspection_id: int, date_visited: str, inspector_id: int | None
) -> tuple[int, int]:
    """Insert the inspection of the next round after one, and return its id and round. Raise RoundOpen.

    Without an inspector it has the one of the last round.
    """
    rounds = read_rows(
        transaction, UNRESTRICTED, PLANNED_VISITS, ("inspection_id", "round", "outcome"), case_id=case_id
    )
    if any(each["outcome"] is None for each in rounds):
        raise RoundOpen
    if not rounds:
        insert_round(transaction, inspection_id, case_id, 1, DONE)
    last = max(rounds, key=lambda each: each["round"], default={"inspection_id": inspection_id, "round": 1})
    columns = ("id", "building_id", "inspection_type", "inspector_id")
    ids = [inspection_id, last["inspection_id"]]
    inspections = {each["id"]: each for each in read_rows(transaction, UNRESTRICTED, INSPECTIONS, columns, id=ids)}
    inspection = {
        "building_id": inspections[inspection_id]["building_id"],
        "inspection_type": inspections[inspection_id]["inspection_type"],
        "status": SCHEDULED,
        "date_visited": date_visited,
        "inspector_id": inspections[last["inspection_id"]]["inspector_id"] if inspector_id is None else inspector_id,
    }
    [(key,)] = insert_rows(transaction, INSPECTIONS, [inspection])
    new_id, number = cast(int, key), cast(int, last["round"]) + 1
    insert_round(transaction, new_id, case_id, number, None)
    return new_id, number


def insert_round(transaction: Transaction, inspection_id: int, case_id: int, number: int, outcome: str | None) -> None:
    """Insert the planned visit of a round, which has no schedule."""
    planned = {"inspection_id": inspection_id, "case_id": case_id, "round": number, "outcome": outcome}
    insert_rows(transaction, PLANNED_VISITS, [planned])


class OpenFinding(NamedTuple):
    """A finding of a case that is neither verified nor waived."""

    id: int
    severity: str


def read_open_findings(transaction: Transaction, caller: Caller, case_id: int) -> list[OpenFinding]:
    """Return the open findings of a case that the caller reads."""
    rows = read_rows(transaction, caller, "findings", OpenFinding._fields, case_id=case_id, status=UNRESOLVED)
    return [OpenFinding(**row) for row in rows]


@dataclass(frozen=True, slots=True)
class Visit:
    """A visible inspection, and whether the caller conducts it."""

    id: int
    building_id: int
    inspection_type: str
    date_visited: str | None
    status: str | None
    inspector_id: int | None
    notes: str | None
    case_id: int
    is_conducted: bool

    def day_visited(self, today: str) -> str:
        """Return the day on which a started visit was started, else today. A planned day is no day of a visit."""
        return min(self.date_visited or today, today) if self.status == IN_PROGRESS else today


@dataclass(frozen=True, slots=True)
class StartedVisit:
    """The result of start_visit."""

    status: str
    date_visited: str


@dataclass(frozen=True, slots=True)
class ClosedVisit:
    """The result of close_visit: the open visit of the same schedule, and the re-inspection, if there are any."""

    status: str
    next_inspection_id: int | None
    reinspection_id: int | None
    open_findings: int


@dataclass(frozen=True, slots=True)
class CaseRound:
    """The result of reinspect: the new round, and the open findings of the case that the caller reads."""

    inspection_id: int
    case_id: int
    round: int
    open_findings: int


@function(
    "close_visit",
    summary="Set an inspection to completed or failed, and re-inspect a failed one",
    roles=EVERY_ROLE,
    parameters={
        "p_inspection_id": required_parameter(BIGINT),
        "p_status": choice(VISIT_RESULTS).in_form("Result"),
        "p_date_visited": optional_parameter(DATE).in_form("Visited on"),
        "p_reinspect_on": optional_parameter(DATE).in_form("Re-inspect on", "If the visit failed."),
        "p_notes": optional_parameter(TEXT).in_form("Notes", "Added to the notes of the visit.", is_multiline=True),
        "p_reason": optional_parameter(TEXT).in_form(
            "Reason for completing", "Kept as a remark on the life-threatening and severe findings.", is_multiline=True
        ),
    },
    is_volatile=True,
)
def close_visit(
    transaction: Transaction,
    caller: Caller,
    inspection_id: int,
    status: str,
    date_visited: str | None = None,
    reinspect_on: str | None = None,
    notes: str | None = None,
    reason: str | None = None,
) -> ClosedVisit:
    """Set a visit to completed or failed, and add a round for a failed one if `reinspect_on` is given.

    Without a date, the day visited is the day on which the visit was started, else today. `notes` are appended to
    those of the visit. A visit whose case has open life-threatening or severe findings is completed for a `reason`
    only, which is kept as a remark on them. Raise ReasonRequired, InvalidArgument, NoSuchRow, PermissionDenied,
    VisitClosed, ResultInFuture, ReinspectionTooEarly or RoundOpen.
    """
    if reinspect_on is not None and status != FAILED:
        raise InvalidArgument("p_reinspect_on needs p_status failed")
    visit = conducted_visit(transaction, caller, inspection_id)
    if visit.status in CLOSED_STATUSES:
        raise VisitClosed(visit.status)
    today = transaction.today.isoformat()
    day = date_visited or visit.day_visited(today)
    if day > today:
        raise ResultInFuture(day, transaction.today)
    if reinspect_on is not None and reinspect_on < day:
        raise ReinspectionTooEarly(reinspect_on, day)
    open_findings = read_open_findings(transaction, caller, visit.case_id)
    if status == COMPLETED:
        remark_on_grave_findings(transaction, visit.id, open_findings, (reason or "").strip())
    changes = {"status": status, "date_visited": day}
    if notes is not None:
        changes["notes"] = read_string(f"{visit.notes}\n{notes}" if visit.notes else notes)
    update_row_with_rules(transaction, INSPECTIONS, visit.id, changes)
    reinspection = None
    if reinspect_on is not None:
        reinspection, _ = add_round(transaction, visit.case_id, visit.id, reinspect_on, None)
    next_visit = planned_visits.read_open_visit_of_schedule(transaction, visit.id)
    return ClosedVisit(status, next_visit, reinspection, len(open_findings))


def remark_on_grave_findings(
    transaction: Transaction, inspection_id: int, findings: Sequence[OpenFinding], reason: str
) -> None:
    """Add the reason for completing a visit to the findings that speak against it. Raise ReasonRequired without one."""
    grave = [each.id for each in findings if each.severity in GRAVE]
    if grave and not reason:
        raise ReasonRequired(len(grave))
    remark = {"kind": REMARK, "inspection_id": inspection_id, "note": read_string(reason)}
    insert_rows(transaction, "finding_events", [{"finding_id": each, **remark} for each in grave])


# What follows from a closed visit


class InspectionRule(DomainRule):
    """A closed planned visit gets its outcome and makes the next one. A reopened one takes both back.

    Each write of a person to a planned visit marks it as touched. A visit with an issued report is kept for some years.
    """

    def __init__(self, retention_years: int) -> None:
        self.retention_years = retention_years

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        return planned_visits.is_planned(row)

    def concerns_deletion(self, row: Row) -> sa.ColumnElement[bool]:
        return sa.or_(planned_visits.is_open_visit(row), retention.has_reports(row))

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        planned = planned_visits.read_visits(transaction, "inspection_id", keys)
        if columns & {"status", "date_visited"}:
            require_past_results(transaction, planned)
        changed = changed_outcomes(planned, transaction.today) if "status" in columns else {}
        planned_visits.touch(transaction, [each for each in planned if each not in changed])
        follow_outcomes(transaction, changed)

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        open_visits = planned_visits.read_open_visits(transaction, "inspection_id", keys)
        if any(each.is_binding(transaction.today) for each in open_visits):
            raise VisitRequired
        retention.require_released(transaction, INSPECTIONS, keys, self.retention_years)


class PlanRule(DomainRule):
    """The service alone writes planned visits. An archive of an earlier version does not say which ones are touched."""

    def imported(self, transaction: Transaction, columns: frozenset[str]) -> None:
        if "touched_at" not in columns:
            transaction.run(TOUCH_EDITED_VISITS)


TOUCH_EDITED_VISITS = """
UPDATE inspection_plans SET touched_at = (SELECT updated_at FROM inspections WHERE id = inspection_id)
WHERE touched_at IS NULL AND EXISTS (
    SELECT 1 FROM inspections WHERE id = inspection_id AND created_at <> updated_at
)
"""


def require_past_results(transaction: Transaction, planned: Iterable[PlannedVisit]) -> None:
    """Raise ResultInFuture if a planned visit took place after today."""
    today = transaction.today
    for each in planned:
        if each.status in VISIT_RESULTS and each.visited is not None and each.visited > today:
            raise ResultInFuture(each.visited.isoformat(), today)


def changed_outcomes(planned: Iterable[PlannedVisit], today: datetime.date) -> dict[PlannedVisit, str | None]:
    """Return the new outcomes of the planned visits whose status gives them another one."""
    outcomes = {each: each.outcome_of_status(today) for each in planned}
    return {each: outcome for each, outcome in outcomes.items() if outcome != each.outcome}


def follow_outcomes(transaction: Transaction, changed: Mapping[PlannedVisit, str | None]) -> None:
    """Set the outcomes of planned visits, and make the visits that are due then.

    A visit that followed the old outcome is deleted. Raise NextVisitTouched if a person has edited, booked or started
    it.
    """
    today = transaction.today
    next_visits = {each: each.next_visit(outcome, today) for each, outcome in changed.items() if outcome is not None}
    for each in changed:
        if each.outcome is not None and replace_following(transaction, each, next_visits.get(each)):
            del next_visits[each]
    for outcome in dict.fromkeys(changed.values()):
        planned_visits.set_outcome(transaction, [each for each, new in changed.items() if new == outcome], outcome)
    planned_visits.make_visits(transaction, next_visits.values())


def replace_following(transaction: Transaction, planned: PlannedVisit, required: NextVisit | None) -> bool:
    """Return whether the visit that follows is the required one. Otherwise delete it. Raise NextVisitTouched."""
    following = planned_visits.read_following(transaction, planned)
    if required is not None and [(each.schedule, each.occurrence) for each in following] == [required]:
        return True
    planned_visits.delete_untouched(transaction, following)
    kept = planned_visits.read_following(transaction, planned)
    if kept:
        raise NextVisitTouched(kept[0].inspection_id)
    return False


# Before and after: start and re-inspect


@function(
    "start_visit",
    summary="Set an inspection to in_progress",
    roles=EVERY_ROLE,
    parameters={"p_inspection_id": required_parameter(BIGINT)},
    is_volatile=True,
)
def start_visit(transaction: Transaction, caller: Caller, inspection_id: int) -> StartedVisit:
    """Set a visit to in_progress, dated today. Raise NoSuchRow, PermissionDenied or VisitNotStartable."""
    visit = conducted_visit(transaction, caller, inspection_id)
    if visit.status in CLOSED_STATUSES:
        raise VisitNotStartable(visit.status)
    day = transaction.today.isoformat()
    update_row_with_rules(transaction, INSPECTIONS, visit.id, {"status": IN_PROGRESS, "date_visited": day})
    return StartedVisit(IN_PROGRESS, day)


@function(
    "reinspect",
    summary="Add a re-inspection of a completed or failed inspection",
    roles=EVERY_ROLE,
    parameters={
        "p_inspection_id": required_parameter(BIGINT),
        "p_date_visited": required_parameter(DATE).in_form("Date"),
        "p_inspector_id": optional_parameter(BIGINT),
    },
    is_volatile=True,
)
def reinspect(
    transaction: Transaction, caller: Caller, inspection_id: int, date_visited: str, inspector_id: int | None = None
) -> CaseRound:
    """Add a round to the case of a completed or failed visit.

    Raise NoSuchRow, PermissionDenied, VisitWithoutResult, ReinspectionTooEarly or RoundOpen.
    """
    visit = conducted_visit(transaction, caller, inspection_id)
    if visit.status not in VISIT_RESULTS:
        raise VisitWithoutResult
    if visit.date_visited is not None and date_visited < visit.date_visited:
        raise ReinspectionTooEarly(date_visited, visit.date_visited)
    if inspector_id is not None and not can_read(transaction, caller, Inspector, inspector_id):
        raise NoSuchRow("Inspector")
    open_findings = read_open_findings(transaction, caller, visit.case_id)
    reinspection, number = add_round(transaction, visit.case_id, visit.id, date_visited, inspector_id)
    return CaseRound(reinspection, visit.case_id, number, len(open_findings))


# Access


def conducted_visit(transaction: Transaction, caller: Caller, inspection_id: int) -> Visit:
    """Return an inspection that the caller conducts. Raise NoSuchRow or PermissionDenied."""
    visit = read_visit(transaction, caller, inspection_id)
    if not visit.is_conducted:
        raise PermissionDenied("permission denied for this inspection")
    return visit


def read_visit(transaction: Transaction, caller: Caller, inspection_id: int) -> Visit:
    """Return a visible inspection. Raise NoSuchRow."""
    row = visit_statement.one(transaction, caller, row_id=inspection_id)
    if row is None:
        raise NoSuchRow("Inspection")
    return Visit(*row)


@dataclass(frozen=True, slots=True)
class Closing:
    """When a visit was closed, and by which user. The service key and a deleted user are None."""

    closed_at: str
    closed_by: str | None


def read_closing(transaction: Transaction, inspection_id: int) -> Closing | None:
    """Return how a closed visit was closed; None if that is not recorded. The caller decides who may read it."""
    columns = (VisitClosing.closed_at, VisitClosing.closed_by)
    row = transaction.execute(sa.select(*columns).where(VisitClosing.inspection_id == inspection_id)).fetchone()
    return Closing(row.closed_at, row.closed_by) if row is not None else None


@prepared(Planner)
def visit_statement(planner: Planner) -> Select:
    """Return the query for the fields of Visit of one visible inspection."""
    visit, scope = planner.visible(Inspection)
    columns = visit.c
    is_conducted = has_right(CONDUCTED_VISITS, planner.rule, columns)
    selected = sa.select(
        columns.id,
        columns.building_id,
        columns.inspection_type,
        columns.date_visited,
        columns.status,
        columns.inspector_id,
        columns.notes,
        case_of_inspection(columns.id),
        sa.case((is_conducted, 1), else_=0),
    )
    return selected.where(columns.id == ROW_ID, scope)

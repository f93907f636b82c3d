"""Visits: start, close and re-inspect them, and what follows when one is closed.

A closed visit, by close_visit or by any other write of its status, gives its planned visit an outcome and makes the
next visit of its schedule (InspectionRule). A failed one may add a round to its case.
The policy decides which visible inspections a caller conducts. The service writes them without the caller's row rule.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import sqlalchemy as sa

from access.caller import Caller
from access.explain import ROW_ID, can_read
from access.functions import function
from access.parameters import choice, optional_parameter, required_parameter
from access.policy import CONDUCTED_VISITS, AccessRule, PermissionDenied
from access.roles import EVERY_ROLE
from engine.interface.transaction import Transaction
from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.statement import Statement
from engine.query.write.domain_rules import DomainRule, Key
from inspections import planned_visits
from inspections.cases import add_round, count_open_findings
from inspections.faults import (
    InvalidClosing,
    NextVisitTouched,
    NoSuchRow,
    ReinspectionTooEarly,
    ResultInFuture,
    VisitClosed,
    VisitNotStartable,
    VisitRequired,
    VisitWithoutResult,
)
from inspections.planned_visits import PlannedVisit
from inspections.writes import update_row_with_rules
from models import Inspection, Inspector
from models.fields import Row
from models.finding import case_of_inspection
from models.types import BIGINT, DATE, TEXT, read_string
from models.vocabulary import (
    CANCELLED,
    CLOSED_STATUSES,
    COMPLETED,
    DONE,
    FAILED,
    IN_PROGRESS,
    OPEN_STATUSES,
    VISIT_RESULTS,
)

TABLE = Inspection.__tablename__

OUTCOME_OF_STATUS = {COMPLETED: DONE, FAILED: DONE, CANCELLED: CANCELLED}
"""The outcome of a planned visit, by the status that closes its inspection."""


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
        "p_status": choice(VISIT_RESULTS),
        "p_date_visited": optional_parameter(DATE),
        "p_reinspect_on": optional_parameter(DATE),
        "p_notes": optional_parameter(TEXT),
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
) -> ClosedVisit:
    """Set a visit to completed or failed, and add a round for a failed one if `reinspect_on` is given.

    Without a date, the day visited is the day on which the visit was started, else today. `notes` are appended to
    those of the visit. Raise InvalidClosing, NoSuchRow, PermissionDenied, VisitClosed, ResultInFuture,
    ReinspectionTooEarly or RoundOpen.
    """
    if reinspect_on is not None and status != FAILED:
        raise InvalidClosing("p_reinspect_on needs p_status failed")
    visit = conducted_visit(transaction, caller, inspection_id)
    if visit.status in CLOSED_STATUSES:
        raise VisitClosed(visit.status)
    today = transaction.today.isoformat()
    day = date_visited or visit.day_visited(today)
    if day > today:
        raise ResultInFuture(day, transaction.today)
    if reinspect_on is not None and reinspect_on < day:
        raise ReinspectionTooEarly(reinspect_on, day)
    open_findings = count_open_findings(transaction, caller, visit.case_id)
    changes = {"status": status, "date_visited": day}
    if notes is not None:
        changes["notes"] = read_string(f"{visit.notes}\n{notes}" if visit.notes else notes)
    update_row_with_rules(transaction, TABLE, visit.id, changes)
    reinspection = None
    if reinspect_on is not None:
        reinspection, _ = add_round(transaction, visit.case_id, visit.id, reinspect_on, None)
    next_visit = planned_visits.read_open_visit_of_schedule(transaction, visit.id)
    return ClosedVisit(status, next_visit, reinspection, open_findings)


# What follows from a closed visit


class InspectionRule(DomainRule):
    """A closed planned visit gets its outcome and makes the next one. A reopened one takes both back."""

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        return planned_visits.is_planned(row) if columns & {"status", "date_visited"} else sa.false()

    def concerns_deletion(self, row: Row) -> sa.ColumnElement[bool]:
        return planned_visits.is_open_visit(row)

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        planned = planned_visits.read_visits(transaction, "inspection_id", keys)
        require_past_results(transaction, planned)
        if "status" in columns:
            close_planned_visits(transaction, [each for each in planned if each.outcome is None])
            take_results_back(transaction, [each for each in planned if each.outcome is not None])

    def merged(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        if columns & {"status", "date_visited"}:
            self.updated(transaction, keys, columns)

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        open_visits = planned_visits.read_open_visits(transaction, "inspection_id", keys)
        if any(each.is_binding(transaction.today) for each in open_visits):
            raise VisitRequired


def require_past_results(transaction: Transaction, planned: Iterable[PlannedVisit]) -> None:
    """Raise ResultInFuture if a planned visit took place after today."""
    today = transaction.today
    for each in planned:
        if each.status in VISIT_RESULTS and each.visited is not None and each.visited > today:
            raise ResultInFuture(each.visited.isoformat(), today)


def take_results_back(transaction: Transaction, planned: Iterable[PlannedVisit]) -> None:
    """Open the planned visits of reopened inspections again, and delete the visits that followed.

    Raise NextVisitTouched if a person has edited, booked or started the next visit.
    """
    for each in planned:
        if each.status in OPEN_STATUSES:
            following = planned_visits.read_following(transaction, each)
            planned_visits.delete_untouched(transaction, following)
            kept = planned_visits.read_following(transaction, each)
            if kept:
                raise NextVisitTouched(kept[0].inspection_id)
            planned_visits.set_outcome(transaction, [each], None)


def close_planned_visits(transaction: Transaction, open_visits: Sequence[PlannedVisit]) -> None:
    """Give the open planned visits of closed inspections their outcome, and make the next inspections."""
    closed = [(each, OUTCOME_OF_STATUS[each.status]) for each in open_visits if each.status in OUTCOME_OF_STATUS]
    for outcome in (DONE, CANCELLED):
        planned_visits.set_outcome(transaction, [each for each, given in closed if given == outcome], outcome)
    next_visits = [each.next_visit(outcome, transaction.today) for each, outcome in closed]
    planned_visits.make_visits(transaction, next_visits)


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
    update_row_with_rules(transaction, TABLE, visit.id, {"status": IN_PROGRESS, "date_visited": day})
    return StartedVisit(IN_PROGRESS, day)


@function(
    "reinspect",
    summary="Add a re-inspection of a completed or failed inspection",
    roles=EVERY_ROLE,
    parameters={
        "p_inspection_id": required_parameter(BIGINT),
        "p_date_visited": required_parameter(DATE),
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
    open_findings = count_open_findings(transaction, caller, visit.case_id)
    reinspection, number = add_round(transaction, visit.case_id, visit.id, date_visited, inspector_id)
    return CaseRound(reinspection, visit.case_id, number, open_findings)


# Access


def conducted_visit(transaction: Transaction, caller: Caller, inspection_id: int) -> Visit:
    """Return an inspection that the caller conducts. Raise NoSuchRow or PermissionDenied."""
    visit = read_visit(transaction, caller, inspection_id)
    if not visit.is_conducted:
        raise PermissionDenied("permission denied for this inspection")
    return visit


def read_visit(transaction: Transaction, caller: Caller, inspection_id: int) -> Visit:
    """Return a visible inspection. Raise NoSuchRow."""
    statement = visit_statement(transaction.dialect.name, caller.rule)
    row = transaction.one(statement.sql, statement.bind(caller.binding(row_id=inspection_id)))
    if row is None:
        raise NoSuchRow("Inspection")
    return Visit(*row)


@cache
def visit_statement(database: str, rule: AccessRule) -> Statement:
    """Return the statement for the fields of Visit of one visible inspection."""
    planner = Planner(DIALECTS[database], rule)
    visit, scope = planner.scoped(catalog().relations[TABLE])
    columns = visit.c
    is_conducted = CONDUCTED_VISITS[rule.profile.role](rule.profile, columns)
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
    return planner.finish(selected.where(columns.id == ROW_ID, scope))

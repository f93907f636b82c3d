"""Start, close and re-inspect visits.

The policy decides which visible inspections a caller conducts. The service writes them without the caller's row rule.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import cast

import sqlalchemy as sa

from access.caller import Caller
from access.explain import binding_of, can_read, row_id
from access.policy import CONDUCTED_VISITS, AccessRule, PermissionDenied
from engine.query.catalog import catalog
from engine.query.constraints import CheckViolation, UniqueViolation
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.statement import Statement
from engine.storage.transaction import Transaction
from inspections.reporting.counts import CANCELLED, COMPLETED, FAILED, IN_PROGRESS, SCHEDULED
from inspections.writes import insert_rows, read_rows, update_row
from models import Finding, Inspector
from models.errors import Fault
from models.finding import OPEN, case_of_inspection
from models.inspection_plan import DONE

INSPECTIONS, PLANS = "inspections", "inspection_plans"
CLOSED = (COMPLETED, FAILED, CANCELLED)
OUTCOMES = (COMPLETED, FAILED)
"""The statuses in which a visit ends."""


class NoSuchRow(Fault):
    """A row that does not exist or is not visible (PT404). The message is the same."""

    def __init__(self, noun: str) -> None:
        super().__init__(f"{noun} not found")


class InvalidClosing(Fault):
    """Arguments that close no visit (22023)."""


@dataclass(frozen=True, slots=True)
class Visit:
    """A visible inspection, and whether the caller conducts it."""

    id: int
    building_id: int
    inspection_type: str
    date_visited: str | None
    status: str | None
    inspector_id: int | None
    case_id: int
    is_conducted: bool

    def day(self, today: str) -> str:
        """Return the day of the visit; today if it has none or a later one."""
        return min(self.date_visited or today, today)


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


def start_visit(transaction: Transaction, caller: Caller, inspection_id: int) -> StartedVisit:
    """Set a visit to in_progress. Raise NoSuchRow, PermissionDenied or CheckViolation."""
    visit = conducted_visit(transaction, caller, inspection_id)
    if visit.status in CLOSED:
        raise CheckViolation("start_visit_status_check")
    day = visit.day(transaction.today.isoformat())
    update_row(transaction, INSPECTIONS, visit.id, {"status": IN_PROGRESS, "date_visited": day})
    return StartedVisit(IN_PROGRESS, day)


def close_visit(
    transaction: Transaction,
    caller: Caller,
    inspection_id: int,
    status: str,
    date_visited: str | None,
    reinspect_on: str | None,
) -> ClosedVisit:
    """Set a visit to completed or failed, and add a round for a failed one if `reinspect_on` is given.

    Raise InvalidClosing, NoSuchRow, PermissionDenied, CheckViolation or UniqueViolation.
    """
    if reinspect_on is not None and status != FAILED:
        raise InvalidClosing("p_reinspect_on needs p_status failed")
    visit = conducted_visit(transaction, caller, inspection_id)
    if visit.status in CLOSED:
        raise CheckViolation("close_visit_status_check")
    open_findings = count_open_findings(transaction, caller, visit.case_id)
    day = date_visited or visit.day(transaction.today.isoformat())
    update_row(transaction, INSPECTIONS, visit.id, {"status": status, "date_visited": day})
    reinspection = None
    if reinspect_on is not None:
        reinspection, _ = add_round(transaction, visit, reinspect_on, None)
    return ClosedVisit(status, open_visit_of_schedule(transaction, visit), reinspection, open_findings)


def reinspect(
    transaction: Transaction, caller: Caller, inspection_id: int, date_visited: str, inspector_id: int | None
) -> CaseRound:
    """Add a round to the case of a completed or failed visit.

    Raise NoSuchRow, PermissionDenied, CheckViolation or UniqueViolation.
    """
    visit = conducted_visit(transaction, caller, inspection_id)
    if visit.status not in OUTCOMES:
        raise CheckViolation("reinspect_status_check")
    if inspector_id is not None and not can_read(transaction, caller, Inspector, inspector_id):
        raise NoSuchRow("Inspector")
    open_findings = count_open_findings(transaction, caller, visit.case_id)
    reinspection, number = add_round(transaction, visit, date_visited, inspector_id)
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
    plan = plan_visit(transaction.dialect.name, AccessRule(caller.profile))
    row = transaction.one(plan.sql, plan.bind(binding_of(caller, inspection_id)))
    if row is None:
        raise NoSuchRow("Inspection")
    return Visit(*row)


@cache
def plan_visit(database: str, rule: AccessRule) -> Statement:
    """Plan the fields of Visit of one visible inspection."""
    planner = Planner(DIALECTS[database], rule)
    visit, scope = planner.scoped(catalog().relations[INSPECTIONS])
    columns = visit.c
    is_conducted = CONDUCTED_VISITS[rule.profile.role](rule.profile, columns)
    selected = sa.select(
        columns.id,
        columns.building_id,
        columns.inspection_type,
        columns.date_visited,
        columns.status,
        columns.inspector_id,
        case_of_inspection(columns.id),
        sa.case((is_conducted, 1), else_=0),
    )
    return planner.finish(selected.where(columns.id == row_id(planner), scope))


def count_open_findings(transaction: Transaction, caller: Caller, case_id: int) -> int:
    """Return the number of open findings of a case that the caller reads."""
    plan = plan_open_findings(transaction.dialect.name, AccessRule(caller.profile))
    number: int = transaction.value(plan.sql, plan.bind(binding_of(caller, case_id)))
    return number


@cache
def plan_open_findings(database: str, rule: AccessRule) -> Statement:
    planner = Planner(DIALECTS[database], rule)
    finding, scope = planner.scoped(catalog().relations[Finding.__tablename__])
    of_case = finding.c.case_id == row_id(planner)
    counted = sa.select(sa.func.count()).select_from(finding)
    return planner.finish(counted.where(of_case, finding.c.status == OPEN, scope))


# Rounds


def add_round(transaction: Transaction, visit: Visit, date_visited: str, inspector_id: int | None) -> tuple[int, int]:
    """Insert the next visit of a case, and return its id and round. Raise UniqueViolation while a round is open.

    Without another inspector it has the one of the visit before.
    """
    columns = ("inspection_id", "round", "outcome")
    plans = read_rows(transaction, PLANS, columns, "case_id", [visit.case_id])
    if any(each["outcome"] is None for each in plans):
        raise UniqueViolation("inspection_plans_open_round_key")
    if not plans:
        insert_plan(transaction, visit.id, visit.case_id, 1, DONE)
    last = max(plans, key=lambda each: each["round"], default={"inspection_id": visit.id, "round": 1})
    before = read_rows(transaction, INSPECTIONS, ("inspector_id",), "id", [last["inspection_id"]])
    row = {
        "building_id": visit.building_id,
        "inspection_type": visit.inspection_type,
        "status": SCHEDULED,
        "date_visited": date_visited,
        "inspector_id": inspector_id if inspector_id is not None else before[0]["inspector_id"],
    }
    [(key,)] = insert_rows(transaction, INSPECTIONS, [row])
    inspection_id, number = cast(int, key), cast(int, last["round"]) + 1
    insert_plan(transaction, inspection_id, visit.case_id, number, None)
    return inspection_id, number


def insert_plan(transaction: Transaction, inspection_id: int, case_id: int, number: int, outcome: str | None) -> None:
    """Insert the plan of a round without a schedule."""
    plan = {"inspection_id": inspection_id, "case_id": case_id, "round": number, "outcome": outcome}
    insert_rows(transaction, PLANS, [plan])


def open_visit_of_schedule(transaction: Transaction, visit: Visit) -> int | None:
    """Return the open visit of the schedule that a visit belongs to, or None."""
    own = read_rows(transaction, PLANS, ("schedule_id",), "inspection_id", [visit.id])
    schedules = [each["schedule_id"] for each in own if each["schedule_id"] is not None]
    plans = read_rows(transaction, PLANS, ("inspection_id", "outcome"), "schedule_id", schedules)
    return next((each["inspection_id"] for each in plans if each["outcome"] is None), None)

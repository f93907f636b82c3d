"""Findings: what follows from a new one, and the functions that move, regrade and report them.

move_findings fixes, verifies, waives, reopens and extends findings, or remarks on them. All of a list move, or none.
models/finding_move.py holds the moves. report_defect makes a visit of the type `complaint`, in progress, and its
finding. The policy decides which visible findings a caller moves. The service writes them without the caller's row
rule.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import sqlalchemy as sa

from access import policy
from access.assignments import IDS_MAX
from access.caller import Caller
from access.decorators import function
from access.explain import ROW_ID
from access.policy import DEFECT_REPORTS, FINDING_MOVES, PermissionDenied, has_right
from access.predicates import choice, id_array, optional_parameter, required_parameter
from access.roles import EVERY_ROLE, Role
from engine.interface.database import Transaction
from engine.query.read.planner import Planner
from engine.query.statement import UNRESTRICTED, Binding, parameter
from engine.query.write.rules import DomainRule, Key
from engine.rows import Select, insert_rows, prepared, read_rows, update_rows
from inspections.deadlines import EARLIEST, EARLY_CLOCK, computed_deadlines, days_late, found_at
from inspections.faults import (
    DeadlineTooLate,
    DefectUndescribed,
    FindingMoved,
    FoundOutOfRange,
    MoveNotAllowed,
    NoSuchBuilding,
    NoSuchRow,
)
from inspections.visits import Visit, read_visit
from models import Building, Finding, Inspection, InspectionPlan, User
from models.finding_move import DUE_AT, FUNCTION_TARGETS, HOW, MOVE_OF_KIND, NOTE, VISIT, FindingMove, move_between
from models.types import BIGINT, TEXT, TIMESTAMP, Fault, InvalidArgument, write_timestamp
from models.vocabulary import (
    COMPLAINT,
    EXTENDED,
    IN_PROGRESS,
    MADE,
    OPEN,
    REGRADED,
    REMARK,
    REOPENED,
    SEVERITIES,
    VERIFICATIONS,
    VERIFIED,
    VISIT_RESULTS,
)

TABLE, EVENTS = Finding.__tablename__, "finding_events"
FOUND_AT: Final = "found_at"
STARTED = (IN_PROGRESS, *VISIT_RESULTS)
"""The statuses of a visit that was started."""


class FindingRule(DomainRule):
    """A new finding has a deadline by its severity, and an event of the kind `made` with the caller as its user.

    It is found neither in the future nor before its visit was started. An import vouches for the latter: a city may
    have found it years ago. A caller who may not extend findings gives no later deadline than the rule's.
    """

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> list[str | None]:
        if column == FOUND_AT:
            return [write_timestamp(found_at(transaction, row, binding.zone)) for row in rows]
        return computed_deadlines(transaction, rows, binding.zone)

    def inserted(
        self, transaction: Transaction, keys: Sequence[Key], service_columns: frozenset[str] = frozenset()
    ) -> None:
        columns = ("id", "inspection_id", "severity", "found_at", "due_at")
        findings = read_rows(transaction, UNRESTRICTED, TABLE, columns, id=[key[0] for key in keys])
        raise_first(found_out_of_range(transaction, findings))
        if FOUND_AT not in service_columns:
            require_found_in_visit(transaction, findings)
        require_deadlines(transaction, findings)
        events = [{"finding_id": each["id"], "kind": MADE, "inspection_id": each["inspection_id"]} for each in findings]
        insert_rows(transaction, EVENTS, events)

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        """Raise FindingMoved for a finding that was moved: its events are evidence. Its inspection takes it along."""
        columns = ("finding_id", "kind", "at")
        events = read_rows(transaction, UNRESTRICTED, EVENTS, columns, finding_id=[key[0] for key in keys])
        if were_moved(events):
            raise FindingMoved

    def merged(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Add the event to the findings that have none: the new ones."""
        ids = [key[0] for key in keys]
        events = read_rows(transaction, UNRESTRICTED, EVENTS, ("finding_id",), finding_id=ids)
        existing = {each["finding_id"] for each in events}
        self.inserted(transaction, [key for key in keys if key[0] not in existing])


def were_moved(events: Collection[Mapping[str, Any]]) -> bool:
    """Return whether some of the findings with these events were moved.

    A finding that an import made as verified was not: both of its events have the same time.
    """
    made = {(each["finding_id"], VERIFIED, each["at"]) for each in events if each["kind"] == MADE}
    moves = (each for each in events if each["kind"] not in (MADE, REMARK))
    return any((each["finding_id"], each["kind"], each["at"]) not in made for each in moves)


def raise_first(faults: Iterable[Fault | None]) -> None:
    """Raise the first fault."""
    for fault in faults:
        if fault is not None:
            raise fault


def found_out_of_range(transaction: Transaction, findings: Sequence[Mapping[str, Any]]) -> list[FoundOutOfRange | None]:
    """Return the faults of findings of the future, or from before EARLIEST; None for the others."""
    earliest, latest = write_timestamp(EARLIEST), write_timestamp(transaction.moment + EARLY_CLOCK)
    return [
        FoundOutOfRange(f"found_at lies after {latest}")
        if each[FOUND_AT] > latest
        else FoundOutOfRange(f"found_at lies before {earliest}")
        if each[FOUND_AT] < earliest
        else None
        for each in findings
    ]


def require_found_in_visit(transaction: Transaction, findings: Sequence[Mapping[str, str]]) -> None:
    """Raise FoundOutOfRange for a finding from before its visit was started.

    A visit has the day on which it was started, and no time. A day after today is no bound.
    """
    ids = sorted({each["inspection_id"] for each in findings})
    visits = read_rows(transaction, UNRESTRICTED, Inspection.__tablename__, ("id", "status", "date_visited"), id=ids)
    started = {each["id"]: each["date_visited"] for each in visits if each["status"] in STARTED}
    for each in findings:
        day = started.get(each["inspection_id"])
        if day is not None:
            first = datetime.date.fromisoformat(min(day, transaction.today.isoformat()))
            midnight = datetime.datetime.combine(first, datetime.time(), transaction.time_zone)
            earliest = write_timestamp(midnight.astimezone(datetime.UTC))
            if each["found_at"] < earliest:
                raise FoundOutOfRange(f"found_at lies before {earliest}, when the visit was started")


def require_deadlines(transaction: Transaction, findings: Sequence[Mapping[str, str]]) -> None:
    """Raise DeadlineTooLate for a later deadline than the rule's by a person who may not extend findings."""
    if transaction.actor_id is None:
        return
    actors = read_rows(transaction, UNRESTRICTED, User.__tablename__, ("role",), id=transaction.actor_id)
    if all(policy.may_extend_findings(Role(each["role"])) for each in actors):
        return
    raise_first(late_deadlines(transaction, findings))


def late_deadlines(transaction: Transaction, findings: Sequence[Mapping[str, Any]]) -> list[DeadlineTooLate | None]:
    """Return the faults of findings with a later deadline than the rule's; None for the others."""
    return [
        DeadlineTooLate(latest) if latest is not None and (each["due_at"] or "") > latest else None
        for each, latest in zip(findings, computed_deadlines(transaction, findings), strict=True)
    ]


# Moves


@dataclass(frozen=True, slots=True)
class Arguments:
    """What a caller asks for. `due_at` is a stored timestamp."""

    target: str
    note: str | None = None
    inspection_id: int | None = None
    due_at: str | None = None
    how: str | None = None

    @property
    def right(self) -> str:
        """The kind of event whose right the caller needs. A new deadline needs the right to extend."""
        if self.target != OPEN:
            return self.target
        return EXTENDED if self.due_at is not None else REOPENED

    def lacking(self, move: FindingMove) -> str | None:
        """Return a parameter that a move needs and that is absent or blank."""
        given = {NOTE: (self.note or "").strip(), VISIT: self.inspection_id, HOW: self.how, DUE_AT: self.due_at}
        return next((name for name in move.needs if not given[name]), None)


@dataclass(frozen=True, slots=True)
class MoveCounts:
    """The number of findings with a new event, and of findings that had the status already."""

    moved: int
    already: int


@dataclass(frozen=True, slots=True)
class FindingState:
    """A visible finding, and whether the caller may move it."""

    id: int
    inspection_id: int
    status: str
    severity: str
    case_id: int
    found_at: str
    due_at: str | None
    is_allowed: bool


@function(
    "move_findings",
    summary="Fix, verify, waive, reopen or extend findings, or remark on them",
    roles=EVERY_ROLE,
    parameters={
        "p_finding_ids": id_array(IDS_MAX, count_min=1),
        "p_to": choice(FUNCTION_TARGETS),
        "p_note": optional_parameter(TEXT).in_form("Note", is_multiline=True),
        "p_inspection_id": optional_parameter(BIGINT),
        "p_due_at": optional_parameter(TIMESTAMP).in_form("New deadline"),
        "p_how": choice(VERIFICATIONS, required=False).in_form("Verified by"),
    },
    is_volatile=True,
)
def move_findings(
    transaction: Transaction,
    caller: Caller,
    finding_ids: Sequence[int],
    to: str,
    note: str | None = None,
    inspection_id: int | None = None,
    due_at: str | None = None,
    how: str | None = None,
) -> MoveCounts:
    """Move findings, and add an event to each.

    Raise InvalidArgument, NoSuchRow, PermissionDenied or MoveNotAllowed.
    """
    arguments = Arguments(to, note, inspection_id, due_at, how)
    if due_at is not None and to != OPEN:
        raise InvalidArgument("p_due_at needs p_to open")
    if how is not None and to != VERIFIED:
        raise InvalidArgument("p_how needs p_to verified")
    findings = read_findings(transaction, caller, arguments.right, finding_ids)
    visit = read_visit(transaction, caller, inspection_id) if inspection_id is not None else None
    if not all(each.is_allowed for each in findings):
        raise PermissionDenied(f"permission denied to move every finding of the list to {to}")
    moved = [each for each in findings if each.status != to or due_at is not None]
    moves = [(each, require_move(each, arguments, visit)) for each in moved]
    if to == VERIFIED and visit is not None:
        require_later_visit(transaction, moved, visit)
    write_moves(transaction, moves, arguments)
    return MoveCounts(len(moved), len(findings) - len(moved))


def read_findings(transaction: Transaction, caller: Caller, right: str, ids: Sequence[int]) -> list[FindingState]:
    """Return the findings with these ids, and whether the caller may add an event of the kind `right` to each.

    Raise NoSuchRow unless all are visible.
    """
    distinct = set(ids)
    rows = findings_statement.all(transaction, caller, right, keys=distinct)
    if len(rows) < len(distinct):
        raise NoSuchRow("Finding")
    return [FindingState(*row) for row in rows]


@prepared(Planner)
def findings_statement(planner: Planner, right: str) -> Select:
    """Return the query for the fields of FindingState of the visible findings in `Binding.keys`."""
    finding, scope = planner.visible(Finding)
    columns = finding.c
    is_allowed = has_right(FINDING_MOVES[right], planner.rule, columns)
    among = planner.dialect.in_list(columns.id, BIGINT, parameter("keys", sa.Text))
    selected = sa.select(
        columns.id,
        columns.inspection_id,
        columns.status,
        columns.severity,
        columns.case_id,
        columns.found_at,
        columns.due_at,
        sa.case((is_allowed, 1), else_=0),
    )
    return selected.where(among, scope).order_by(columns.id)


def require_move(finding: FindingState, arguments: Arguments, visit: Visit | None) -> FindingMove:
    """Return the move of a finding. Raise MoveNotAllowed if there is none, or if it lacks what it needs."""
    ends = f"finding {finding.id}: {finding.status} -> {arguments.target}"
    move = move_between(finding.status, arguments.target)
    if move is None:
        raise MoveNotAllowed(ends)
    if lacking := arguments.lacking(move):
        raise MoveNotAllowed(f"{ends} needs {lacking}")
    if visit is not None and visit.case_id != finding.case_id:
        raise MoveNotAllowed(f"{ends} needs an inspection of its case")
    return move


def require_later_visit(transaction: Transaction, findings: Sequence[FindingState], visit: Visit) -> None:
    """Raise MoveNotAllowed unless a visit was started after findings of its case were made: in a later round."""
    ids = sorted({visit.id, *(each.inspection_id for each in findings)})
    rows = read_rows(
        transaction, UNRESTRICTED, InspectionPlan.__tablename__, ("inspection_id", "round"), inspection_id=ids
    )
    rounds = {each["inspection_id"]: each["round"] for each in rows}
    for each in findings:
        is_later = rounds.get(visit.id, 1) > rounds.get(each.inspection_id, 1)
        found = datetime.datetime.fromisoformat(each.found_at).astimezone(transaction.time_zone).date()
        if not (is_later and visit.status in STARTED and (visit.date_visited or "") >= found.isoformat()):
            ends = f"finding {each.id}: {each.status} -> {VERIFIED}"
            raise MoveNotAllowed(f"{ends} needs a visit that was started after the finding was made")


def write_moves(
    transaction: Transaction, moves: Sequence[tuple[FindingState, FindingMove]], arguments: Arguments
) -> None:
    """Change the findings, and insert their events."""
    groups: dict[tuple[tuple[str, str | int | None], ...], list[Key]] = {}
    for finding, move in moves:
        changes = tuple(changes_of(transaction, finding, move, arguments).items())
        groups.setdefault(changes, []).append((finding.id,))
    for changed, keys in groups.items():
        if changed:
            update_rows(transaction, TABLE, keys, dict(changed))
    insert_rows(transaction, EVENTS, [event_of(finding, move, arguments) for finding, move in moves])


def changes_of(
    transaction: Transaction, finding: FindingState, move: FindingMove, arguments: Arguments
) -> dict[str, str | int | None]:
    """Return the changes of a finding by a move."""
    changes: dict[str, str | int | None] = {}
    if move.target is not None:
        changes = {"status": move.target, "closed_at": transaction.now if move.closes else None}
    if move.fixes and finding.status == OPEN:
        changes |= {"fixed_at": transaction.now, "days_late": lateness(transaction.moment, finding.due_at)}
    if move.kind == REOPENED:
        changes |= {"fixed_at": None, "days_late": None}
    if arguments.due_at is not None:
        changes["due_at"] = arguments.due_at
    return changes


def lateness(fixed: datetime.datetime, due_at: str | None) -> int | None:
    """Return how many days after its deadline a finding was fixed; None without a deadline."""
    return days_late(fixed, datetime.datetime.fromisoformat(due_at)) if due_at is not None else None


def event_of(finding: FindingState, move: FindingMove, arguments: Arguments) -> dict[str, object]:
    """Return the event of a moved finding, with both values of a changed deadline."""
    is_extended = arguments.due_at is not None
    return {
        "finding_id": finding.id,
        "kind": move.kind,
        "inspection_id": arguments.inspection_id,
        "note": arguments.note,
        "how": arguments.how,
        "due_before": finding.due_at if is_extended else None,
        "due_after": arguments.due_at,
    }


# Severities


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of regrade_finding."""

    severity: str
    due_at: str | None


@function(
    "regrade_finding",
    summary="Change the severity of an open finding, and its deadline by the rule of the new severity",
    roles=EVERY_ROLE,
    parameters={
        "p_finding_id": required_parameter(BIGINT),
        "p_severity": choice(SEVERITIES).in_form("Severity"),
        "p_note": required_parameter(TEXT).in_form("Note", is_multiline=True),
    },
    is_volatile=True,
)
def regrade_finding(transaction: Transaction, caller: Caller, finding_id: int, severity: str, note: str) -> Grade:
    """Give a finding another severity. An extended deadline stays.

    The same severity changes nothing. Raise NoSuchRow, PermissionDenied or MoveNotAllowed.
    """
    move = MOVE_OF_KIND[REGRADED]
    [finding] = read_findings(transaction, caller, move.kind, [finding_id])
    if not finding.is_allowed:
        raise PermissionDenied("permission denied to regrade this finding")
    ends = f"finding {finding.id}: {finding.status} -> {move.kind}"
    if finding.status not in move.sources:
        raise MoveNotAllowed(ends)
    if not note.strip():
        raise MoveNotAllowed(f"{ends} needs {NOTE}")
    if finding.severity == severity:
        return Grade(severity, finding.due_at)
    events = read_rows(transaction, UNRESTRICTED, EVENTS, ("kind",), finding_id=finding.id)
    due_at = finding.due_at
    if all(each["kind"] != EXTENDED for each in events):
        graded = {"inspection_id": finding.inspection_id, "found_at": finding.found_at, "severity": severity}
        [due_at] = computed_deadlines(transaction, [graded])
    update_rows(transaction, TABLE, [(finding.id,)], {"severity": severity, "due_at": due_at})
    event = {
        "finding_id": finding.id,
        "kind": move.kind,
        "note": note,
        "severity_before": finding.severity,
        "severity_after": severity,
        "due_before": finding.due_at,
        "due_after": due_at,
    }
    insert_rows(transaction, EVENTS, [event])
    return Grade(severity, due_at)


@dataclass(frozen=True, slots=True)
class ReportedDefect:
    """The result of report_defect."""

    inspection_id: int
    finding_id: int


@function(
    "report_defect",
    summary="Make a visit for a complaint about a building, and its finding",
    roles=EVERY_ROLE,
    parameters={
        "p_building_id": required_parameter(BIGINT),
        "p_description": required_parameter(TEXT).in_form("Description", is_multiline=True),
        "p_severity": choice(SEVERITIES).in_form("Severity"),
        "p_place": optional_parameter(TEXT).in_form("Place"),
        "p_item": optional_parameter(TEXT).in_form("Item"),
        "p_found_at": optional_parameter(TIMESTAMP),
    },
    is_volatile=True,
)
def report_defect(
    transaction: Transaction,
    caller: Caller,
    building_id: int,
    description: str,
    severity: str,
    place: str | None = None,
    item: str | None = None,
    found_at: str | None = None,
) -> ReportedDefect:
    """Make an inspection that is in progress and has no inspector, on the day of the finding, and the finding.

    Raise NoSuchBuilding, PermissionDenied, DefectUndescribed or FoundOutOfRange.
    """
    if not may_report_defect(transaction, caller, building_id):
        raise PermissionDenied("permission denied to report a defect of this building")
    if not description.strip():
        raise DefectUndescribed
    found = datetime.datetime.fromisoformat(found_at) if found_at is not None else transaction.moment
    visit = {
        "building_id": building_id,
        "inspection_type": COMPLAINT,
        "status": IN_PROGRESS,
        "date_visited": found.astimezone(transaction.time_zone).date().isoformat(),
    }
    [(inspection_id,)] = insert_rows(transaction, Inspection.__tablename__, [visit])
    finding = {
        "inspection_id": inspection_id,
        "description": description,
        "severity": severity,
        "place": place,
        "item": item,
        "found_at": found_at or transaction.now,
    }
    [(finding_id,)] = insert_rows(transaction, Finding.__tablename__, [finding])
    return ReportedDefect(cast(int, inspection_id), cast(int, finding_id))


def may_report_defect(transaction: Transaction, caller: Caller, building_id: int) -> bool:
    """Return whether the caller may report a defect of a visible building. Raise NoSuchBuilding for another."""
    row = building_statement.one(transaction, caller, row_id=building_id)
    if row is None:
        raise NoSuchBuilding
    return bool(row[0])


@prepared(Planner)
def building_statement(planner: Planner) -> Select:
    """Return the query for whether the caller may report a defect of a visible building."""
    building, scope = planner.visible(Building)
    is_allowed = has_right(DEFECT_REPORTS, planner.rule, building.c)
    return sa.select(sa.case((is_allowed, 1), else_=0)).where(building.c.id == ROW_ID, scope)

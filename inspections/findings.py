"""Findings: what follows from a new one, and move_findings.

move_findings fixes, verifies, waives, reopens and extends findings, or remarks on them. All of a list move, or none.
The policy decides which visible findings a caller moves. The service writes them without the caller's row rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import sqlalchemy as sa

from access.assignments import IDS_MAX
from access.caller import Caller
from access.functions import function
from access.parameters import choice, id_array, optional_parameter
from access.policy import FINDING_MOVES, AccessRule, PermissionDenied
from access.roles import EVERY_ROLE
from engine.interface.transaction import Transaction
from engine.query.catalog import catalog
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.statement import Binding, Statement, parameter
from engine.query.write.domain_rules import DomainRule, Key
from inspections.deadlines import FindingDeadlines, computed_deadline
from inspections.faults import InvalidMove, MoveNotAllowed, NoSuchRow
from inspections.visits import read_visit
from inspections.writes import insert_rows, read_rows, update_rows
from models import Finding
from models.types import BIGINT, TEXT, TIMESTAMP
from models.vocabulary import EXTENDED, FINDING_STATUSES, FIXED, MADE, OPEN, REMARK, REOPENED, VERIFIED, WAIVED

TARGETS: Final = (FIXED, VERIFIED, WAIVED, OPEN, REMARK)

SOURCES: Final[Mapping[str, tuple[str, ...]]] = {
    FIXED: (OPEN,),
    VERIFIED: (OPEN, FIXED),
    WAIVED: (OPEN, FIXED),
    OPEN: FINDING_STATUSES,
    REMARK: FINDING_STATUSES,
}
"""The statuses from which a finding moves, by target."""

NEEDS_NOTE: Final = (WAIVED, OPEN, REMARK)


class FindingRule(DomainRule):
    """A new finding has a deadline by its severity, and an event of the kind `made` with the caller as its user."""

    def __init__(self, deadlines: FindingDeadlines) -> None:
        self.deadlines = deadlines

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> list[str]:
        return [computed_deadline(self.deadlines, transaction, binding, row) for row in rows]

    def inserted(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        findings = read_rows(transaction, "findings", ("id", "inspection_id"), "id", [key[0] for key in keys])
        events = [{"finding_id": each["id"], "kind": MADE, "inspection_id": each["inspection_id"]} for each in findings]
        insert_rows(transaction, "finding_events", events)

    def merged(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Add the event to the findings that have none: the new ones."""
        ids = [key[0] for key in keys]
        events = read_rows(transaction, "finding_events", ("finding_id",), "finding_id", ids)
        existing = {each["finding_id"] for each in events}
        self.inserted(transaction, [key for key in keys if key[0] not in existing])


# Moves


@dataclass(frozen=True, slots=True)
class Move:
    """What a caller asks for. `due_at` is a stored timestamp."""

    target: str
    note: str | None = None
    inspection_id: int | None = None
    due_at: str | None = None

    @property
    def right(self) -> str:
        """The key of the move in the policy. A new deadline needs the right to extend."""
        if self.target != OPEN:
            return self.target
        return EXTENDED if self.due_at is not None else REOPENED

    def kind(self, status: str) -> str:
        """Return the kind of the event of a finding with a status."""
        if self.target != OPEN:
            return self.target
        return EXTENDED if status == OPEN else REOPENED

    def changes(self, now: str) -> dict[str, str | None]:
        """Return the changes of the finding."""
        if self.target == REMARK:
            return {}
        closed_at = now if self.target in (VERIFIED, WAIVED) else None
        due_at = {"due_at": self.due_at} if self.due_at is not None else {}
        return {"status": self.target, "closed_at": closed_at, **due_at}


@dataclass(frozen=True, slots=True)
class MoveCounts:
    """The number of findings with a new event, and of findings that had the status already."""

    moved: int
    already: int


@dataclass(frozen=True, slots=True)
class FindingState:
    """A visible finding, and whether the caller may move it."""

    id: int
    status: str
    case_id: int
    is_allowed: bool


@function(
    "move_findings",
    summary="Fix, verify, waive, reopen or extend findings, or remark on them",
    roles=EVERY_ROLE,
    parameters={
        "p_finding_ids": id_array(IDS_MAX, count_min=1),
        "p_to": choice(TARGETS),
        "p_note": optional_parameter(TEXT),
        "p_inspection_id": optional_parameter(BIGINT),
        "p_due_at": optional_parameter(TIMESTAMP),
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
) -> MoveCounts:
    """Move findings, and add an event to each.

    Raise InvalidMove, NoSuchRow, PermissionDenied or MoveNotAllowed.
    """
    move = Move(to, note, inspection_id, due_at)
    if move.due_at is not None and move.target != OPEN:
        raise InvalidMove("p_due_at needs p_to open")
    findings = read_findings(transaction, caller, move, finding_ids)
    case_id = read_visit(transaction, caller, inspection_id).case_id if inspection_id is not None else None
    if not all(each.is_allowed for each in findings):
        raise PermissionDenied(f"permission denied to move every finding of the list to {move.target}")
    moved = [each for each in findings if each.status != move.target or move.due_at is not None]
    for finding in moved:
        require_move(finding, move, case_id)
    write_moves(transaction, moved, move)
    return MoveCounts(len(moved), len(findings) - len(moved))


def read_findings(transaction: Transaction, caller: Caller, move: Move, ids: Sequence[int]) -> list[FindingState]:
    """Return the findings with these ids. Raise NoSuchRow unless all are visible."""
    distinct = set(ids)
    statement = findings_statement(transaction.dialect.name, caller.rule, move.right)
    rows = transaction.all(statement.sql, statement.bind(caller.binding(*distinct)))
    if len(rows) < len(distinct):
        raise NoSuchRow("Finding")
    return [FindingState(*row) for row in rows]


@cache
def findings_statement(database: str, rule: AccessRule, right: str) -> Statement:
    """Return the statement for the fields of FindingState of the visible findings in `Binding.keys`."""
    planner = Planner(DIALECTS[database], rule)
    finding, scope = planner.scoped(catalog().relations[Finding.__tablename__])
    columns = finding.c
    is_allowed = FINDING_MOVES[right][rule.profile.role](rule.profile, columns)
    among = planner.dialect.in_list(columns.id, BIGINT, parameter("keys", sa.Text))
    selected = sa.select(columns.id, columns.status, columns.case_id, sa.case((is_allowed, 1), else_=0))
    return planner.finish(selected.where(among, scope).order_by(columns.id))


def require_move(finding: FindingState, move: Move, case_id: int | None) -> None:
    """Raise MoveNotAllowed if there is no such move of a finding, or if it lacks what it needs."""
    ends = f"finding {finding.id}: {finding.status} -> {move.target}"
    if finding.status not in SOURCES[move.target]:
        raise MoveNotAllowed(ends)
    if move.target in NEEDS_NOTE and not (move.note or "").strip():
        raise MoveNotAllowed(f"{ends} needs p_note")
    if move.target == VERIFIED and case_id is None:
        raise MoveNotAllowed(f"{ends} needs p_inspection_id")
    if case_id is not None and case_id != finding.case_id:
        raise MoveNotAllowed(f"{ends} needs an inspection of its case")


def write_moves(transaction: Transaction, findings: Sequence[FindingState], move: Move) -> None:
    """Change the findings, and insert their events."""
    changes = move.changes(transaction.now)
    if changes:
        update_rows(transaction, Finding.__tablename__, [(each.id,) for each in findings], changes)
    events = [
        {"finding_id": each.id, "kind": move.kind(each.status), "inspection_id": move.inspection_id, "note": move.note}
        for each in findings
    ]
    insert_rows(transaction, "finding_events", events)

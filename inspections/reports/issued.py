"""Issued reports: withdraw one, verify one by its number or hash, and read what was frozen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import sqlalchemy as sa

from access.caller import Caller
from access.decorators import function
from access.explain import ROW_ID
from access.policy import WITHDRAWN_REPORTS, PermissionDenied, has_right
from access.predicates import bounded_text, optional_parameter, required_parameter
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.query.read.planner import Planner
from engine.rows import Select, prepared, read_rows, update_rows
from inspections.faults import NoSuchRow, ReportWithdrawn
from models import IssuedReport
from models.types import BIGINT, TEXT, InvalidArgument

TABLE: Final = IssuedReport.__tablename__
NOTE_CHARACTERS_MAX: Final = 4_000
ISSUED, REPLACED, WITHDRAWN = "issued", "replaced", "withdrawn"


@dataclass(frozen=True, slots=True)
class WithdrawnReport:
    """The result of withdraw_report."""

    id: int
    number: str
    withdrawn_at: str


@dataclass(frozen=True, slots=True)
class VerifiedReport:
    """A report that the caller reads. `state` is issued, replaced or withdrawn. `replaced_by` is a number."""

    number: str
    sha256: str
    kind: str
    inspection_id: int
    issued_at: str
    state: str
    replaced_by: str | None


@function(
    "withdraw_report",
    summary="Withdraw an issued report",
    roles=EVERY_ROLE,
    parameters={
        "p_id": required_parameter(BIGINT),
        "p_note": bounded_text(NOTE_CHARACTERS_MAX).in_form(
            "Reason", "The next report of the visit prints it.", is_multiline=True
        ),
    },
    is_volatile=True,
)
def withdraw_report(transaction: Transaction, caller: Caller, id: int, note: str) -> WithdrawnReport:  # noqa: A002
    """Withdraw a report, so that the rows of its visit can change and another report can replace it.

    Raise InvalidArgument, NoSuchRow, PermissionDenied or ReportWithdrawn.
    """
    if not note.strip():
        raise InvalidArgument("p_note is blank")
    row = report_statement.one(transaction, caller, row_id=id)
    if row is None:
        raise NoSuchRow("Report")
    number, withdrawn_at, may_withdraw = row
    if not may_withdraw:
        raise PermissionDenied("permission denied for this report")
    if withdrawn_at is not None:
        raise ReportWithdrawn
    changes = {"withdrawn_at": transaction.now, "withdrawn_by": caller.id, "withdrawn_note": note.strip()}
    update_rows(transaction, TABLE, [(id,)], changes)
    return WithdrawnReport(id, number, transaction.now)


def may_withdraw(transaction: Transaction, caller: Caller, report_id: int) -> bool:
    """Return whether the caller reads and may withdraw a report that is not withdrawn yet."""
    row = report_statement.one(transaction, caller, row_id=report_id)
    return row is not None and bool(row[2]) and row[1] is None


@prepared(Planner)
def report_statement(planner: Planner) -> Select:
    """Return the query for number, time of withdrawal, and whether the caller withdraws one visible report."""
    report, scope = planner.visible(IssuedReport)
    may_withdraw = has_right(WITHDRAWN_REPORTS, planner.rule, report.c)
    selected = sa.select(report.c.number, report.c.withdrawn_at, sa.case((may_withdraw, 1), else_=0))
    return selected.where(report.c.id == ROW_ID, scope)


@function(
    "verify_report",
    summary="Whether a report is issued, replaced or withdrawn, by its number or hash",
    roles=EVERY_ROLE,
    parameters={"p_number": optional_parameter(TEXT), "p_sha256": optional_parameter(TEXT)},
)
def verify_report(
    transaction: Transaction, caller: Caller, number: str | None = None, sha256: str | None = None
) -> tuple[VerifiedReport, ...]:
    """Return the reports with a number or a hash that the caller reads. Raise InvalidArgument unless one is given.

    Several clients may have reports of the same number.
    """
    if (number is None) == (sha256 is None):
        raise InvalidArgument("expected either p_number or p_sha256")
    wanted: dict[str, Any] = {"number": number} if sha256 is None else {"sha256": sha256.strip().lower()}
    columns = ("id", "number", "sha256", "kind", "inspection_id", "issued_at", "withdrawn_at")
    found = read_rows(transaction, caller, TABLE, columns, **wanted)
    ids = [each["id"] for each in found]
    following = read_rows(transaction, caller, TABLE, ("replaces_id", "number"), replaces_id=ids)
    replaced_by = {each["replaces_id"]: each["number"] for each in following}
    return tuple(
        VerifiedReport(
            **{name: each[name] for name in columns[1:6]},
            state=state_of(each["withdrawn_at"], replaced_by.get(each["id"])),
            replaced_by=replaced_by.get(each["id"]),
        )
        for each in found
    )


def state_of(withdrawn_at: str | None, replaced_by: str | None) -> str:
    """Return the state of a report.

    >>> state_of(None, None), state_of("2026-12-01T10:00:00+00:00", None), state_of("2026-12-01", "2026-000002")
    ('issued', 'withdrawn', 'replaced')
    """
    if withdrawn_at is None:
        return ISSUED
    return WITHDRAWN if replaced_by is None else REPLACED


@dataclass(frozen=True, slots=True)
class FrozenReport:
    """What was issued. `content` is its canonical text, and `signature` a PNG in base64."""

    number: str
    sha256: str
    content: str
    signature: str | None


def read_issued(transaction: Transaction, caller: Caller, report_id: int) -> FrozenReport:
    """Return an issued report that the caller reads. Raise NoSuchRow."""
    rows = read_rows(transaction, caller, TABLE, ("number", "sha256", "content", "signature"), id=report_id)
    if not rows:
        raise NoSuchRow("Report")
    return FrozenReport(**rows[0])

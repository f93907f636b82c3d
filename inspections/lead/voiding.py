"""void_rows: readings and calibration checks that count no longer, with the reason. Their values stay."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from access import policy
from access.assignments import IDS_MAX
from access.caller import Caller
from access.decorators import function
from access.policy import PermissionDenied
from access.predicates import bounded_text, choice, id_array
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.query.read.planner import Planner
from engine.query.statement import Action, parameter
from engine.rows import Select, prepared, update_rows
from inspections.faults import NoSuchRow, RowsVoid
from models import CalibrationCheck, ReportLead
from models.fields import Model
from models.types import BIGINT, InvalidArgument

REASON_CHARACTERS_MAX: Final = 1_000
TABLES: Final[dict[str, type[Model]]] = {each.__tablename__: each for each in (ReportLead, CalibrationCheck)}


@dataclass(frozen=True, slots=True)
class VoidedRows:
    """The number of rows that became void."""

    voided: int


@function(
    "void_rows",
    summary="Void lead readings or calibration checks, with the reason",
    roles=EVERY_ROLE,
    parameters={
        "p_table": choice(tuple(TABLES)),
        "p_ids": id_array(IDS_MAX, count_min=1),
        "p_reason": bounded_text(REASON_CHARACTERS_MAX).in_form("Reason", is_multiline=True),
    },
    is_volatile=True,
)
def void_rows(transaction: Transaction, caller: Caller, table: str, ids: Sequence[int], reason: str) -> VoidedRows:
    """Void all rows of the list, or none.

    Raise InvalidArgument, NoSuchRow, PermissionDenied or RowsVoid, or the refusal of a closed or reported visit.
    """
    if not reason.strip():
        raise InvalidArgument("p_reason is blank")
    model, distinct = TABLES[table], set(ids)
    rows = voided_statement.all(transaction, caller, table, Action.READ, keys=distinct)
    if len(rows) < len(distinct):
        raise NoSuchRow("Reading" if model is ReportLead else "Calibration check")
    policy.require(caller.profile, Action.UPDATE, model)
    if len(voided_statement.all(transaction, caller, table, Action.UPDATE, keys=distinct)) < len(distinct):
        raise PermissionDenied("permission denied to void every row of the list")
    if void := [key for key, voided in rows if voided]:
        raise RowsVoid(table, void)
    update_rows(transaction, table, [(key,) for key in sorted(distinct)], {"voided": reason})
    return VoidedRows(len(distinct))


@prepared(Planner)
def voided_statement(planner: Planner, table: str, action: Action) -> Select:
    """Return the query for id and reason of the rows in `Binding.keys` that a caller may read or change."""
    row, scope = planner.visible(TABLES[table], action)
    among = planner.dialect.in_list(row.c.id, BIGINT, parameter("keys", sa.Text))
    return sa.select(row.c.id, row.c.voided).where(among, scope).order_by(row.c.id)

"""What the trail tells of the changes since one of its lines, and what the rows were then and are now.

It has each change of a row as it was and as it became, in the order in which the changes were made; a row
that changes hands leaves one client and comes to another. So what a row was is what it is now, with the
lines since undone, the newest first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.query.rule import ReadScope
from engine.reporting import counts
from engine.reporting.visible_rows import VisibleRows
from engine.reporting.visible_rows import read_rows
from engine.storage.transaction import Transaction
from models import Building
from models import Inspection
from models.audit_log import AuditLog

LINES_MAX = 2_000  # beyond that, or a fiftieth of what there is, to count anew is no dearer
LINES_MIN = 50

INSPECTIONS, BUILDINGS = Inspection.__tablename__, Building.__tablename__

COUNT_DELTAS = {"insert": 1, "update": 0, "delete": -1}
"""What happens to rows, and how many more there are for it."""

InspectionState = Mapping[str, Any]
"""Of an inspection, its building, type, status and date, at least."""

InspectionStates = dict[int, InspectionState | None]
"""By id; None: there was none, or none that is visible."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """A line of the trail, of a change of a row; `before` are the columns that were other, or all of them."""

    relation: str
    key: int
    action: str
    before: InspectionState


@dataclass(frozen=True, slots=True)
class ChangesSince:
    """What has changed since a line: the buildings' lines, and what the inspections that changed were and are."""

    buildings: list[RowChange]
    then: InspectionStates
    now: InspectionStates


def read_changes_since(
    transaction: Transaction, visible: VisibleRows, line: int, rows: int
) -> ChangesSince | None:
    """What has changed since a line as of which so many rows were counted; None where all is to be counted anew."""
    changes = read_changes(transaction, visible, line, rows)
    states = read_states(transaction, visible, changes) if changes is not None else None
    if changes is None or states is None:
        return None
    return ChangesSince([each for each in changes if each.relation == BUILDINGS], *states)


def read_changes(
    transaction: Transaction, visible: VisibleRows, line: int, rows: int
) -> list[RowChange] | None:
    """The changes of visible inspections and buildings, the newest first.

    None where the trail does not tell them row by row, or there are so many that to count anew is no dearer.
    No line of another client is looked at: how long it takes tells nothing of how much others have changed. Those
    that are nobody's are, for an import among them; inspectors' are the most of them.
    """
    read_scopes = {visible.rule.read_scope(model) for model in (Inspection, Building, AuditLog)}
    is_simple = read_scopes in ({ReadScope.EVERYTHING}, {ReadScope.OWN_CLIENT})
    if not (is_simple and transaction.dialect.audit_log_is_in_commit_order):
        return None
    lines_max = min(LINES_MAX, max(LINES_MIN, rows // 50))
    database = transaction.dialect.name
    binding = visible.binding(since=line, lines_max=lines_max + 1)
    ((imports,),) = read_rows(transaction, counts.plan_bulk_changes(database), binding)
    if imports:
        return None
    lines = read_rows(transaction, counts.plan_audit_lines(database, visible.rule), binding)
    if len(lines) > lines_max:
        return None
    changes = [
        RowChange(relation, int(key), action, json.loads(before) if before else {})
        for relation, key, action, before in lines
        if relation in (INSPECTIONS, BUILDINGS) and action in COUNT_DELTAS  # and no refusal
    ]
    # What was before a row got another key is told of it by the one that it had.
    got_another = any(each.action == "update" and "id" in each.before for each in changes)
    return None if got_another else changes


def read_states(
    transaction: Transaction, visible: VisibleRows, changes: list[RowChange]
) -> tuple[InspectionStates, InspectionStates] | None:
    """What the inspections that changed were, and what they are; None where that contradicts the lines."""
    touched = [each for each in changes if each.relation == INSPECTIONS]
    statement = counts.plan_states(transaction.dialect.name, visible.rule)
    keys = json.dumps(list({each.key for each in touched}))
    found = {
        key: dict(zip(counts.STATE_COLUMNS, values, strict=True))
        for key, *values in read_rows(transaction, statement, visible.binding(keys))
    }
    now: InspectionStates = {each.key: found.get(each.key) for each in touched}
    then = dict(now)
    for change in touched:
        state = then[change.key]
        if state is None and change.action == "update":
            return None  # it went without a line
        undone = None if change.action == "insert" else {**(state or {}), **change.before}
        then[change.key] = undone
    return then, now

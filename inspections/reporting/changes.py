"""Read the changes since an entry of the audit log, and the former and current states of the changed rows.

The audit log holds each change of a row with its former values, in the order of the changes. A row that moves to
another client is deleted for the old client and inserted for the new one. The former state of a row is its current
state with the entries undone, the newest first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from access.caller import VisibleRows
from engine.query.rule import ReadScope
from engine.storage.transaction import Transaction
from inspections.reporting import counts
from inspections.reporting.counts import fetch_rows
from models import Building, Finding, Inspection
from models.audit_log import AuditLog

ENTRIES_MAX = 2_000  # beyond this, or a fiftieth of all rows, a full count costs no more
ENTRIES_MIN = 50

INSPECTIONS, BUILDINGS, FINDINGS = Inspection.__tablename__, Building.__tablename__, Finding.__tablename__

COUNT_DELTAS = {"insert": 1, "update": 0, "delete": -1}
"""How much an action changes the number of rows."""

InspectionState = Mapping[str, Any]
"""The STATE_COLUMNS of an inspection, and maybe more."""

InspectionStates = dict[int, InspectionState | None]
"""States by inspection id. None: the row did not exist or was not visible."""


@dataclass(frozen=True, slots=True)
class RowChange:
    """An entry of the audit log about one row. `before` holds the changed columns, or all columns of a deleted row."""

    relation: str
    key: int
    action: str
    before: InspectionState


@dataclass(frozen=True, slots=True)
class ChangesSince:
    """The changes since an entry: of buildings, and the former and current states of the changed inspections.

    `has_findings`: whether findings changed.
    """

    buildings: list[RowChange]
    former: InspectionStates
    current: InspectionStates
    has_findings: bool


def read_changes_since(transaction: Transaction, visible: VisibleRows, entry: int, rows: int) -> ChangesSince | None:
    """Return the changes since an entry, at which `rows` rows were counted. Return None if a full count is needed."""
    changes = read_changes(transaction, visible, entry, rows)
    states = read_states(transaction, visible, changes) if changes is not None else None
    if changes is None or states is None:
        return None
    buildings = [each for each in changes if each.relation == BUILDINGS]
    return ChangesSince(buildings, *states, any(each.relation == FINDINGS for each in changes))


def read_changes(transaction: Transaction, visible: VisibleRows, entry: int, rows: int) -> list[RowChange] | None:
    """Return the changes of visible inspections, buildings and findings, the newest first.

    Return None if the audit log lacks entries for single rows, or has so many that a full count costs no more.
    Read no entry of another client, so that the time taken shows nothing about other clients' changes. Entries
    without a client, mostly of inspectors, are read to find imports.
    """
    read_scopes = {visible.rule.read_scope(model) for model in (Inspection, Building, Finding, AuditLog)}
    is_simple = read_scopes in ({ReadScope.EVERYTHING}, {ReadScope.OWN_CLIENT})
    if not (is_simple and transaction.dialect.audit_log_is_in_commit_order):
        return None
    entries_max = min(ENTRIES_MAX, max(ENTRIES_MIN, rows // 50))
    database = transaction.dialect.name
    binding = visible.binding(since=entry, entries_max=entries_max + 1)
    ((imports,),) = fetch_rows(transaction, counts.plan_bulk_changes(database), binding)
    if imports:
        return None
    entries = fetch_rows(transaction, counts.plan_audit_entries(database, visible.rule), binding)
    if len(entries) > entries_max:
        return None
    changes = [
        RowChange(relation, int(key), action, json.loads(before) if before else {})
        for relation, key, action, before in entries
        if relation in (INSPECTIONS, BUILDINGS, FINDINGS) and action in COUNT_DELTAS  # refusals are no changes
    ]
    # Earlier entries of a row whose id changed have the old id.
    has_changed_ids = any(each.action == "update" and "id" in each.before for each in changes)
    return None if has_changed_ids else changes


def read_states(
    transaction: Transaction, visible: VisibleRows, changes: list[RowChange]
) -> tuple[InspectionStates, InspectionStates] | None:
    """Return the former and current states of the changed inspections. Return None if they contradict the entries."""
    touched = [each for each in changes if each.relation == INSPECTIONS]
    statement = counts.plan_states(transaction.dialect.name, visible.rule)
    keys = {each.key for each in touched}
    visible_now = {
        key: dict(zip(counts.STATE_COLUMNS, values, strict=True))
        for key, *values in fetch_rows(transaction, statement, visible.binding(*keys))
    }
    current: InspectionStates = {each.key: visible_now.get(each.key) for each in touched}
    former = dict(current)
    for change in touched:
        state = former[change.key]
        if state is None and change.action == "update":
            return None  # the row was deleted without an entry
        former[change.key] = None if change.action == "insert" else {**(state or {}), **change.before}
    return former, current

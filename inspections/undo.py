"""Undo of a deletion, and of new schedules, by the entries that their transaction left in the audit log."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

import sqlalchemy as sa

from engine.interface.database import Transaction
from engine.maintenance.import_export import archive_tables, import_row
from engine.query.catalog import catalog
from engine.query.statement import UNRESTRICTED
from engine.rows import read_rows
from inspections import planned_visits
from models import (
    AuditLog,
    Building,
    BuildingDetail,
    CalibrationCheck,
    Finding,
    FindingEvent,
    Inspection,
    InspectionPlan,
    ReportLead,
    Schedule,
    User,
)
from models.inspection import VisitClosing
from models.types import BOOLEAN
from models.vocabulary import CLOSED_STATUSES

Entry = Mapping[str, Any]
RESTORED = frozenset(
    each.__tablename__
    for each in (
        Building, BuildingDetail, CalibrationCheck, Finding, FindingEvent, Inspection, InspectionPlan, ReportLead,
        Schedule,
    )
)  # fmt: skip
"""The tables whose deleted rows can be restored: users, inspectors and files have more than their rows."""


@cache
def grant_tables() -> frozenset[str]:
    """Return the names of the tables of access grants, which no undo gives back."""
    return frozenset(name for name, each in catalog().relations.items() if each.model.grant is not None)


def restored_entries(entries: Sequence[Entry]) -> list[Entry]:
    """Return the entries of the rows to restore, parents first, or none if the transaction did more than delete them.

    Grants that ended with a row are not given back.
    """
    rows = [each for each in entries if each["relation"] not in grant_tables()]
    if not all(each["action"] == "delete" for each in entries) or not {each["relation"] for each in rows} <= RESTORED:
        return []
    places = {name: place for place, name in enumerate(archive_tables())}
    return sorted(rows, key=lambda each: (places[each["relation"]], each["id"]))


def restore_rows(transaction: Transaction, entries: Sequence[Entry]) -> None:
    """Insert deleted rows as they were. Domain rules do not run. Raise the violation of a constraint."""
    for each in entries:
        import_row(transaction, catalog().relations[each["relation"]], deleted_row(each), each["relation"])
    visits = (each for each in entries if each["relation"] == Inspection.__tablename__)
    statuses = {each["row_key"]: each["before"]["status"] for each in visits}
    restore_closings(transaction, {key: each for key, each in statuses.items() if each in CLOSED_STATUSES})


def deleted_row(entry: Entry) -> dict[str, Any]:
    """Return the row of an entry. SQLite's entries of before migration 0010 have 0 and 1 for truth values."""
    row = dict(entry["before"])
    for name, attribute in catalog().relations[entry["relation"]].attributes.items():
        if attribute.type is BOOLEAN and row.get(name) is not None:
            row[name] = bool(row[name])
    return row


def restore_closings(transaction: Transaction, statuses: Mapping[str, str]) -> None:
    """Set who closed restored visits, and when, instead of the restoring user. `statuses` are those of closed visits.

    As in migration 0008, a visit was closed by the last entry that gave it its status; without one, no row says so. A
    user who was deleted closed nothing, even if another user has the id now.
    """
    if not statuses:
        return
    closings = read_closing_entries(transaction, statuses)
    actors = {actor_id for _, actor_id in closings.values() if actor_id is not None}
    users = read_rows(transaction, UNRESTRICTED, User.__tablename__, ("id", "created_at"), id=actors)
    made_at = {str(each["id"]): each["created_at"] for each in users}
    transaction.execute(sa.delete(VisitClosing).where(VisitClosing.inspection_id.in_(map(int, statuses))))
    rows = [
        {
            "inspection_id": int(key),
            "closed_at": at,
            "closed_by": user if user in made_at and made_at[user] <= at else None,
        }
        for key, (at, user) in closings.items()
    ]
    if rows:
        transaction.execute(sa.insert(VisitClosing).values(rows))


def read_closing_entries(transaction: Transaction, statuses: Mapping[str, str]) -> dict[str, tuple[str, str | None]]:
    """Return time and user of the last entry that gave each visit its status. Entries that restored it do not count."""

    def value(side: Any, name: str) -> Any:
        return side.op("->>", return_type=sa.Text())(sa.literal_column(f"'{name}'"))

    sides = [value(side, name) for side in (AuditLog.before, AuditLog.after) for name in ("status", "created_at")]
    entries = sa.select(AuditLog.row_key, AuditLog.at, AuditLog.actor_id, AuditLog.action, *sides).where(
        AuditLog.relation == Inspection.__tablename__,
        AuditLog.row_key.in_(statuses),
        # The index of PostgreSQL has the first 200 characters of the key.
        sa.func.substr(AuditLog.row_key, 1, 200).in_(statuses),
    )
    deleted: set[tuple[str, str]] = set()
    closings: dict[str, tuple[str, str | None]] = {}
    rows: Any = transaction.execute(entries.order_by(AuditLog.id))
    for key, at, actor_id, action, was, deleted_at, becomes, made_at in rows:
        if action == "delete":
            deleted.add((key, deleted_at))
        elif becomes == statuses[key] != was and not (action == "insert" and (key, made_at) in deleted):
            closings[key] = at, None if actor_id is None else str(actor_id)
    return closings


def new_schedules(entries: Sequence[Entry]) -> list[int]:
    """Return the ids of the schedules that a transaction made, or none if it made more than their first visits."""
    made = {Schedule.__tablename__, Inspection.__tablename__, InspectionPlan.__tablename__}
    if not all(each["action"] == "insert" and each["relation"] in made for each in entries):
        return []
    return [int(each["row_key"]) for each in entries if each["relation"] == Schedule.__tablename__]


def are_untouched(transaction: Transaction, schedules: Collection[int]) -> bool:
    """Return whether the schedules and their visits are unchanged, and the visits have no records."""
    columns = ("created_at", "updated_at")
    rows = read_rows(transaction, UNRESTRICTED, Schedule.__tablename__, columns, id=list(schedules))
    visits = planned_visits.read_visits(transaction, "schedule_id", [(each,) for each in schedules])
    is_new = len(rows) == len(schedules) and all(row["created_at"] == row["updated_at"] for row in rows)
    return is_new and len(planned_visits.without_records(transaction, visits)) == len(visits)

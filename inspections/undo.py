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
    for each in entries:
        if each["relation"] == Inspection.__tablename__ and each["before"]["status"] in CLOSED_STATUSES:
            restore_closing(transaction, each)


def deleted_row(entry: Entry) -> dict[str, Any]:
    """Return the row of an entry. SQLite's entries of before migration 0010 have 0 and 1 for truth values."""
    row = dict(entry["before"])
    for name, attribute in catalog().relations[entry["relation"]].attributes.items():
        if attribute.type is BOOLEAN and row.get(name) is not None:
            row[name] = bool(row[name])
    return row


def restore_closing(transaction: Transaction, visit: Entry) -> None:
    """Set who closed a restored visit, and when, instead of the restoring user.

    As in migration 0008, it was closed by the last entry that gave the visit its status; without one, no row says so. A
    user who was deleted closed nothing, even if another user has the id now.
    """
    restored = VisitClosing.inspection_id == int(visit["row_key"])
    closing = read_closing_entry(transaction, visit["row_key"], visit["before"]["status"])
    if closing is None:
        transaction.execute(sa.delete(VisitClosing).where(restored))
        return
    at, actor_id = closing
    user = sa.select(User.id).where(User.id == actor_id, User.created_at <= at).scalar_subquery()
    transaction.execute(sa.update(VisitClosing).where(restored).values(closed_at=at, closed_by=user))


def read_closing_entry(transaction: Transaction, key: str, status: str) -> tuple[str, str | None] | None:
    """Return time and user of the last entry that gave a visit its status, except entries that restored the visit."""

    def value(side: Any, name: str) -> Any:
        return side.op("->>", return_type=sa.Text())(sa.literal_column(f"'{name}'"))

    sides = [value(side, name) for side in (AuditLog.before, AuditLog.after) for name in ("status", "created_at")]
    entries = sa.select(AuditLog.at, AuditLog.actor_id, AuditLog.action, *sides).where(
        AuditLog.relation == Inspection.__tablename__,
        AuditLog.row_key == key,
        # The index of PostgreSQL has the first 200 characters of the key.
        sa.func.substr(AuditLog.row_key, 1, 200) == key,
    )
    deleted, closing = set(), None
    rows: Any = transaction.execute(entries.order_by(AuditLog.id))
    for at, actor_id, action, was, deleted_at, becomes, made_at in rows:
        if action == "delete":
            deleted.add(deleted_at)
        elif becomes == status != was and not (action == "insert" and made_at in deleted):
            closing = at, actor_id
    return closing


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

"""Undo of a deletion, and of new schedules, by the entries that their transaction left in the audit log."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any

from engine.interface.database import Transaction
from engine.maintenance.import_export import archive_tables, import_row
from engine.query.catalog import catalog
from engine.query.statement import UNRESTRICTED
from engine.rows import read_rows
from inspections import planned_visits
from models import (
    Building,
    BuildingDetail,
    CalibrationCheck,
    Finding,
    FindingEvent,
    Inspection,
    InspectionPlan,
    ReportLead,
    Schedule,
)

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
        import_row(transaction, catalog().relations[each["relation"]], dict(each["before"]), each["relation"])


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

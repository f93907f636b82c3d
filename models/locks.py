"""The refusals of writes to what was reported, and of deletions under a hold. Triggers make them, for every writer."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from models.fields import Model, Refusal

LOCK: Final = "issued_reports_lock"
HOLD: Final = "building_details_hold_check"

OF_FINDING: Final = "(SELECT inspection_id FROM findings WHERE id = {row}.finding_id)"
"""The inspection of a row that has a finding."""


def locked_by_reports(inspection_id: str, name: str = "as_locked", **options: Any) -> Refusal:
    """Return the refusal of writes to rows of an inspection with an issued report that is not withdrawn.

    An update counts only if it changes a column. By its name, its triggers precede those of closed visits.
    `inspection_id` is SQL about `{row}`; `options` are those of Refusal.
    """
    return Refusal(
        name,
        LOCK,
        "The visit has an issued report. An administrator may withdraw it.",
        inspection_id,
        "EXISTS (SELECT 1 FROM issued_reports WHERE inspection_id IN ({keys}) AND withdrawn_at IS NULL)",
        is_about_changes=True,
        **options,
    )


def has_refusal(model: type[Model], constraint: str) -> bool:
    """Return whether triggers refuse some writes of a table by a constraint."""
    return any(each.constraint == constraint for each in model.refusals)


def building_of(inspection_id: str) -> str:
    """Return SQL for the building of an inspection."""
    return f"(SELECT building_id FROM inspections WHERE id = {inspection_id})"  # noqa: S608 - from constants


def held(building_id: str, *columns: str, events: tuple[str, ...] = ("update", "delete")) -> Refusal:
    """Return the refusal of deletions of rows of a building that is held, and of moves to another building.

    `building_id` is SQL about `{row}`; `columns` are those that a move changes. On PostgreSQL triggers run in the order
    of their names: this one precedes the one that deletes the rows that refer to the row.
    """
    return Refusal(
        "as_held",
        HOLD,
        "The building is held: nothing of it is deleted.",
        building_id,
        "EXISTS (SELECT 1 FROM building_details WHERE hold_reason IS NOT NULL\n        AND building_id IN ({keys}))",
        columns,
        events if columns else ("delete",),
        is_about_moves=True,
    )


def held_bytes(building_id: str) -> Refusal:
    """Return the refusal of other bytes for a file of a building that is held. `building_id` is SQL about `{row}`."""
    return replace(
        held(building_id), name="as_held_bytes", columns=("sha256",), events=("update",),
        is_about_moves=False, is_about_changes=True,
    )  # fmt: skip


HELD_DETAILS: Final = Refusal(
    "as_held",
    HOLD,
    "The building is held: nothing of it is deleted.",
    "{row}.hold_reason",
    "coalesce({keys}, NULL) IS NOT NULL",
    ("building_id",),
    ("update", "delete"),
    is_about_changes=True,
)
"""The refusal of deletions and moves of the row that says why a building is held."""

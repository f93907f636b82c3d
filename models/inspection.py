"""The inspections, and who closed them. The second table is hidden."""

from __future__ import annotations

from typing import Any, ClassVar

from models.fields import ColumnDefault, Index, Model, Refusal, SkipScan, column, references
from models.locks import held, locked_by_reports
from models.types import BIGINT, DATE, TEXT, TIMESTAMP, UUID
from models.vocabulary import ANNUAL, CLOSED_STATUSES, INSPECTION_STATUSES, INSPECTION_TYPES, SCHEDULED

SHORT_STATUS = "char_length(status) <= 200"


RECORDS = ("reports_lead", "calibration_checks", "findings", "files")
WITHOUT_RECORDS = "".join(
    f"\n        AND NOT EXISTS (SELECT 1 FROM {table} WHERE inspection_id = {{row}}.id)"  # noqa: S608
    for table in RECORDS
)
UNTOUCHED = (
    "EXISTS (SELECT 1 FROM inspection_plans\n"  # noqa: S608
    f"        WHERE inspection_id = {{row}}.id AND outcome IS NULL AND touched_at IS NULL){WITHOUT_RECORDS}"
)
"""A planned visit without edits and records, in SQL about `{row}`. Its schedule may remove it."""

CLOSED_CHECK = "inspections_closed_check"


def closed_to_managers(inspection_id: str, name: str = "closed", **options: Any) -> Refusal:
    """Return the refusal of managers' writes to rows of a closed inspection. `inspection_id` is SQL about `{row}`."""
    statuses = ", ".join(f"'{each}'" for each in CLOSED_STATUSES)
    return Refusal(
        name,
        CLOSED_CHECK,
        "The visit is closed. An administrator may take its result back.",
        inspection_id,
        "EXISTS (SELECT 1 FROM users WHERE id = {actor} AND role = 'client_manager')\n"  # noqa: S608
        "    AND EXISTS (SELECT 1 FROM inspections WHERE id IN ({keys})\n"
        f"        AND status IN ({statuses}))",
        **options,
    )


class Inspection(Model):
    """An inspection of a building: its type, date, status, inspector and notes."""

    __tablename__ = "inspections"
    # The hidden client_id equals the building's, by a compound foreign key (docs/decisions/0010).
    tenant: ClassVar = "building_id"
    expected_rows: ClassVar = 1_000_000
    indexes: ClassVar = (
        Index(
            "inspections_client_building", ("client_id", "building_id", "date_visited", "id", "status"), "sqlite",
            distinct=(50_000, 100, 1, 1, 1),
            comment="Every index of SQLite begins with client_id, so that a bulk insert for one client touches few"
            " index pages. A super admin's search by inspector repeats the index search for each client. No index has"
            " the date right after the client: such lists merge the statuses (engine/query/read/access_paths.py). An id"
            " after the date lets a list stop at the end of its page.",
        ),
        Index("inspections_client_inspector", ("client_id", "inspector_id"), "sqlite", distinct=(50_000, 254)),
        Index(
            "inspections_client_status", ("client_id", "status", "date_visited", "id", "inspection_type"), "sqlite",
            distinct=(50_000, 10_000, 11, 1, 1),
        ),
        Index("inspections_building_id", ("building_id", "date_visited", "id"), "postgresql"),
        Index(
            "inspections_building_status", ("building_id", "status", "date_visited", "id"), "postgresql",
            where=SHORT_STATUS,
        ),
        Index("inspections_inspector_id", ("inspector_id", "client_id"), "postgresql"),
        Index("inspections_client_id", ("client_id", "date_visited", "id"), "postgresql"),
        Index(
            "inspections_client_status", ("client_id", "status", "date_visited", "id"), "postgresql", where=SHORT_STATUS
        ),
        Index("inspections_date_visited", ("date_visited", "id"), "postgresql"),
        Index("inspections_status", ("status", "date_visited", "id"), "postgresql", where=SHORT_STATUS),
    )  # fmt: skip
    indexed_texts: ClassVar = ("status",)
    refusals: ClassVar = (
        # A deletion is stopped by the foreign key of the report.
        locked_by_reports(
            "{row}.id", events=("update",),
            columns=("id", "building_id", "inspection_type", "date_visited", "inspector_id", "status", "notes"),
        ),
        held("{row}.building_id", "building_id", events=("update",)),
        held(f"CASE WHEN {UNTOUCHED}\n        THEN NULL ELSE {{row}}.building_id END", events=("delete",)),
    )  # fmt: skip
    title_column: ClassVar = "date_visited"
    list_order: ClassVar = "date_visited.desc"
    index_prefix: ClassVar = {"building_id": "client_id"}
    skip_scan: ClassVar = SkipScan("clients", owner="client_id", partition_by="status", order="date_visited")

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    building_id = column(
        BIGINT, references("buildings.id"), required=True, label="Building", listed=True, narrow=True, example=1
    )
    inspection_type = column(
        TEXT, required=True, common_values=INSPECTION_TYPES, label="Type", listed=True, searchable=True, example=ANNUAL
    )
    date_visited = column(
        DATE, label="Date", help="The day of the visit, or the day it is planned for.", listed=True,
        example="2026-01-31",
    )  # fmt: skip
    status = column(
        TEXT, common_values=INSPECTION_STATUSES, listed=True, narrow=True, searchable=True, example=SCHEDULED
    )
    inspector_id = column(
        BIGINT, references("inspectors.id", on_delete="set null"), label="Inspector", listed=True, example=1
    )
    notes = column(TEXT, multiline=True, listed=True, searchable=True, example="Handrail of the north stairs is loose.")
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")


class VisitClosing(Model):
    """When each closed visit was closed, and by whom. Triggers write it. A visit of an archive has no row.

    closed_by is null for the service key, and after the deletion of the user.
    """

    __tablename__ = "visit_closings"

    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade", on_update="cascade"), primary_key=True
    )
    closed_at = column(TIMESTAMP, required=True)
    closed_by = column(UUID, references("users.id", on_delete="set null"))

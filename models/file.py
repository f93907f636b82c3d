"""The files of inspections, findings and buildings. Their bytes are in FILES_DIR."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column, references
from models.inspection import closed_to_managers
from models.locks import building_of, held, held_bytes, locked_by_reports
from models.types import BIGINT, INTEGER, TEXT, TIMESTAMP, UUID
from models.vocabulary import BUCKETS, FILE_TYPES, JPEG

ROW_ID = "CAST(coalesce(inspection_id, finding_id, building_id) AS text)"
OF_VISIT = "coalesce({row}.inspection_id, (SELECT inspection_id FROM findings WHERE id = {row}.finding_id))"
OF_BUILDING = f"coalesce({{row}}.building_id, {building_of(OF_VISIT)})"
OF_FINDING = "SELECT inspection_id FROM findings WHERE id = {row}.finding_id"
NAME_BYTES_MAX = 1_024
SHA256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


class File(Model):
    """A photograph or document of an inspection, a finding or a building. /storage/v1 stores, moves and removes it."""

    __tablename__ = "files"
    tenant: ClassVar = "inspection_id"
    other_tenants: ClassVar = ("finding_id", "building_id")
    written_by_service: ClassVar = True
    expected_rows: ClassVar = 100_000
    list_order: ClassVar = "created_at.desc"
    title_column: ClassVar = "name"
    unique: ClassVar = {"name_key": ("bucket", "name")}
    checks: ClassVar = {
        "inspection_check": "(inspection_id IS NOT NULL) = (bucket = 'inspections')",
        "finding_check": "(finding_id IS NOT NULL) = (bucket = 'findings')",
        "building_check": "(building_id IS NOT NULL) = (bucket = 'buildings')",
        "name_of_row_check": f"name LIKE {ROW_ID} || '/%'",
    }
    refusals: ClassVar = (
        closed_to_managers("{row}.inspection_id"),
        # A manager who marks a finding fixed adds the proof after the visit, until the finding is verified.
        closed_to_managers(f"({OF_FINDING})", "closed_finding", events=("update", "delete")),
        closed_to_managers(
            f"({OF_FINDING} AND status NOT IN ('open', 'fixed'))", "resolved_finding", events=("insert",)
        ),
        locked_by_reports("{row}.inspection_id"),
        # Proofs of correction are added after the report.
        locked_by_reports(f"({OF_FINDING})", "as_locked_finding", events=("update", "delete")),
        held(OF_BUILDING, "inspection_id", "finding_id", "building_id"),
        held_bytes(OF_BUILDING),
    )
    indexes: ClassVar = (
        Index(
            "files_sha256", ("sha256", "size"),
            comment="The sum of all sizes, and whether a row needs bytes.",
        ),
    )  # fmt: skip

    id = column(UUID, primary_key=True, service=True, default=ColumnDefault.RANDOM_UUID)
    bucket = column(
        TEXT, required=True, service=True, allowed_values=BUCKETS, listed=True, searchable=True,
        example=BUCKETS[0],
    )  # fmt: skip
    name = column(
        TEXT, required=True, service=True, bytes_max=NAME_BYTES_MAX, is_composed=True, listed=True, narrow=True,
        searchable=True, help="The id of the row, then one to three segments.", example="1/front door.jpg",
    )  # fmt: skip
    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade"), service=True, label="Inspection", listed=True,
        example=1,
    )  # fmt: skip
    finding_id = column(
        BIGINT, references("findings.id", on_delete="cascade"), service=True, label="Finding", listed=True
    )
    building_id = column(
        BIGINT, references("buildings.id", on_delete="cascade"), service=True, label="Building", listed=True
    )
    sha256 = column(
        TEXT, required=True, service=True, bytes_max=64, label="SHA-256", help="The hash of the bytes.", example=SHA256
    )
    size = column(INTEGER, required=True, service=True, minimum=1, listed=True, help="The number of bytes.", example=1)
    mimetype = column(
        TEXT, required=True, service=True, allowed_values=FILE_TYPES, label="Type", listed=True, searchable=True,
        example=JPEG,
    )  # fmt: skip
    width = column(INTEGER, service=True, minimum=1, help="In pixels, as shown.", example=4_032)
    height = column(INTEGER, service=True, minimum=1, help="In pixels, as shown.", example=3_024)
    taken_at = column(
        TEXT, service=True, bytes_max=32, label="Taken", help="The local time of the camera, without a zone.",
        example="2026-01-31T14:00:00",
    )  # fmt: skip
    caption = column(TEXT, listed=True, narrow=True, searchable=True, multiline=True, example="The front door.")
    cache_control = column(TEXT, service=True, bytes_max=256, example="max-age=3600")
    user_metadata = column(
        TEXT, service=True, help="JSON that the client stored with the file.", example='{"camera": 2}'
    )
    created_by = column(
        UUID, references("users.id", on_delete="set null"), service=True, default=ColumnDefault.CALLER_ID,
        label="Person", listed=True,
    )  # fmt: skip
    created_at = column(TIMESTAMP, required=True, service=True, default=ColumnDefault.NOW, label="Created", listed=True)
    updated_at = column(TIMESTAMP, required=True, service=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

"""The reports that were issued: frozen, numbered, signed and hashed."""

from __future__ import annotations

from typing import ClassVar, Final

from models.fields import ColumnDefault, Index, Model, column, references
from models.locks import building_of, held
from models.types import BIGINT, JSON, TEXT, TIMESTAMP, UUID
from models.vocabulary import LEAD, REPORT_KINDS

SIGNATURE_BYTES_MAX: Final = 65_536
"""Of a drawn signature: a PNG in base64."""


class IssuedReport(Model):
    """A report that was issued, with its content as of that moment. issue_report and withdraw_report write it.

    client_id is the client of the visit on the day of the issue, also after its building moved to another client.
    """

    __tablename__ = "issued_reports"
    tenant: ClassVar = "client_id"
    written_by_service: ClassVar = True
    expected_rows: ClassVar = 50_000
    label: ClassVar = "Issued report"
    plural: ClassVar = "Issued reports"
    title_column: ClassVar = "number"
    list_order: ClassVar = "issued_at.desc"
    refusals: ClassVar = (held(building_of("{row}.inspection_id"), "inspection_id"),)
    unique: ClassVar = {"number_key": ("client_id", "number")}
    indexes: ClassVar = (
        Index("issued_reports_inspection_id", ("inspection_id", "withdrawn_at")),
        Index(
            "issued_reports_active_key", ("inspection_id", "kind"), unique=True, where="withdrawn_at IS NULL",
            expected_rows=50_000, distinct=(1, 1), comment="A visit has one report of a kind that is not withdrawn.",
        ),
        Index("issued_reports_sha256", ("sha256",), comment="verify_report finds a report by its hash."),
    )  # fmt: skip

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    inspection_id = column(
        BIGINT, references("inspections.id", on_update="cascade"), required=True, service=True, label="Inspection",
        listed=True, example=1,
    )  # fmt: skip
    client_id = column(
        BIGINT, references("clients.id"), required=True, service=True, label="Client", listed=True, example=1
    )
    kind = column(TEXT, required=True, service=True, allowed_values=REPORT_KINDS, listed=True, example=LEAD)
    rule = column(TEXT, service=True, bytes_max=64, help="The rule of a lead report.", example="federal")
    number = column(
        TEXT, required=True, service=True, bytes_max=32, listed=True, narrow=True, searchable=True,
        help="The year and the number of the report in it. The numbers of a client have no holes.",
        example="2026-000017",
    )  # fmt: skip
    content = column(
        JSON, required=True, service=True, logged=False,
        help="What the report says, its page, and its thumbnails, as they were when it was issued.",
    )  # fmt: skip
    sha256 = column(
        TEXT, required=True, service=True, bytes_max=64, label="SHA-256",
        help="The hash of the content as canonical JSON.",
    )  # fmt: skip
    signed_name = column(
        TEXT, required=True, service=True, bytes_max=1_024, label="Signed by", listed=True, example="Mia Marsh"
    )
    signature = column(
        TEXT, service=True, logged=False, bytes_max=SIGNATURE_BYTES_MAX * 4 // 3 + 4,
        help="The drawn signature: a PNG in base64.",
    )  # fmt: skip
    issued_by = column(
        UUID, references("users.id", on_delete="set null"), service=True, default=ColumnDefault.CALLER_ID,
        label="Issued by",
    )  # fmt: skip
    issued_at = column(TIMESTAMP, required=True, service=True, default=ColumnDefault.NOW, label="Issued", listed=True)
    replaces_id = column(
        BIGINT, service=True, label="Replaces", help="The id of the withdrawn report that this one replaces.",
    )  # fmt: skip
    withdrawn_at = column(TIMESTAMP, service=True, label="Withdrawn", listed=True, narrow=True)
    withdrawn_by = column(
        UUID, references("users.id", on_delete="set null"), service=True, label="Withdrawn by",
    )  # fmt: skip
    withdrawn_note = column(TEXT, service=True, label="Reason", example="The address was wrong.")
    updated_at = column(TIMESTAMP, required=True, service=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

"""The letters to owners about findings: frozen, numbered and hashed."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Model, column, references
from models.locks import held
from models.types import BIGINT, DATE, JSON, TEXT, TIMESTAMP, UUID
from models.vocabulary import SERVICES


class Notice(Model):
    """A letter about findings of a building: what has to be corrected, and until when.

    issue_notice, serve_notice and withdraw_notice write it. Its findings are the events of the kind notified that name
    it. client_id is the client of the building on the day of the letter.
    """

    __tablename__ = "notices"
    tenant: ClassVar = "client_id"
    written_by_service: ClassVar = True
    expected_rows: ClassVar = 50_000
    label: ClassVar = "Letter"
    plural: ClassVar = "Letters"
    title_column: ClassVar = "number"
    list_order: ClassVar = "issued_at.desc"
    refusals: ClassVar = (held("{row}.building_id", "building_id"),)
    unique: ClassVar = {"number_key": ("client_id", "number")}

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    number = column(
        TEXT, required=True, service=True, bytes_max=32, listed=True, narrow=True, searchable=True,
        help="The year and the number of the letter in it. The numbers of a client have no holes.",
        example="2026-000017",
    )  # fmt: skip
    building_id = column(
        BIGINT, references("buildings.id"), required=True, service=True, label="Building", listed=True, example=1
    )
    client_id = column(BIGINT, references("clients.id"), required=True, service=True, label="Client", example=1)
    to_name = column(
        TEXT, required=True, service=True, bytes_max=1_024, label="To", listed=True, searchable=True,
        example="Pier Street Trust",
    )  # fmt: skip
    to_address = column(
        TEXT, required=True, service=True, bytes_max=4_096, label="Address", multiline=True,
        example="1 Harbor Road, Portland ME 04101",
    )  # fmt: skip
    answer_by = column(DATE, required=True, service=True, label="Answer by", listed=True, example="2026-12-31")
    served_on = column(DATE, service=True, label="Served on", listed=True, narrow=True, example="2026-12-02")
    served_how = column(
        TEXT, service=True, allowed_values=SERVICES, label="Served by", listed=True, example=SERVICES[0]
    )
    content = column(
        JSON, required=True, service=True, logged=False,
        help="What the letter says, its page, and its thumbnails, as they were when it was issued.",
    )  # fmt: skip
    sha256 = column(
        TEXT, required=True, service=True, bytes_max=64, label="SHA-256",
        help="The hash of the content as canonical JSON.",
    )  # fmt: skip
    issued_by = column(
        UUID, references("users.id", on_delete="set null"), service=True, default=ColumnDefault.CALLER_ID,
        label="Issued by",
    )  # fmt: skip
    issued_at = column(TIMESTAMP, required=True, service=True, default=ColumnDefault.NOW, label="Issued")
    withdrawn_at = column(TIMESTAMP, service=True, label="Withdrawn")
    withdrawn_note = column(TEXT, service=True, label="Reason", example="The findings were corrected.")
    updated_at = column(TIMESTAMP, required=True, service=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

"""The lead-paint readings of inspections, taken with an XRF analyzer."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column, references
from models.types import BIGINT, INTEGER, TEXT
from models.vocabulary import NEGATIVE, READING_RESULTS


class ReportLead(Model):
    """One XRF reading of an inspection."""

    __tablename__ = "reports_lead"
    # The hidden client_id equals the inspection's: by triggers on SQLite, by a compound foreign key on PostgreSQL.
    tenant: ClassVar = "inspection_id"
    expected_rows: ClassVar = 690_000
    label: ClassVar = "Reading"
    plural: ClassVar = "Lead readings"
    list_order: ClassVar = "id.desc"
    indexes: ClassVar = (
        Index("reports_lead_inspection_id", ("inspection_id",), "sqlite", distinct=(3,)),
        Index("reports_lead_client_id", ("client_id",), "sqlite", distinct=(34_500,)),
        Index("reports_lead_inspection_id", ("inspection_id", "client_id"), "postgresql"),
        Index("reports_lead_client_id", ("client_id", "id"), "postgresql"),
    )

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade", on_update="cascade"), required=True,
        label="Inspection", listed=True, narrow=True, example=1,
    )  # fmt: skip
    gun_id = column(INTEGER, label="XRF gun", help="The number of the device.", listed=True, example=20417)
    result = column(TEXT, common_values=READING_RESULTS, listed=True, narrow=True, searchable=True, example=NEGATIVE)

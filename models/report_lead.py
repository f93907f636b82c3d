"""The lead-paint readings of inspections, taken with an XRF analyzer."""

from __future__ import annotations

from typing import Any, ClassVar

import sqlalchemy as sa

from models.fields import ColumnDefault, Model, Row, column
from models.inspection import Inspection
from models.types import BIGINT, INTEGER, TEXT


def client_of_inspection(row: Row) -> sa.ColumnElement[Any]:
    """Return the inspection's client, or 0 without an inspection, so that the foreign key fails and not NOT NULL."""
    inspection = Inspection.__table__.alias("derived_inspections")
    client_id = sa.select(inspection.c.client_id).where(inspection.c.id == row.inspection_id)
    return sa.func.coalesce(client_id.scalar_subquery(), sa.literal_column("0"))


class ReportLead(Model):
    """One XRF reading of an inspection."""

    __tablename__ = "reports_lead"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["inspection_id"],
            ["inspections.id"],
            name="reports_lead_inspection_id_fkey",
            onupdate="CASCADE",
            ondelete="CASCADE",
        ),
    )
    # Hidden. It equals the inspection's client: by triggers on SQLite, by a foreign key on PostgreSQL (decision 0010).
    derived: ClassVar = {"client_id": client_of_inspection}

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
    inspection_id = column(BIGINT, required=True)
    gun_id = column(INTEGER)
    result = column(TEXT)
    client_id = column(BIGINT, required=True, hidden=True)

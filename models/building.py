"""The buildings."""

from __future__ import annotations

from typing import ClassVar

import sqlalchemy as sa

from models.fields import ColumnDefault, Model, column
from models.types import BIGINT, DOUBLE, INTEGER, TEXT, TIMESTAMP


class Building(Model):
    """A building that is inspected. It belongs to a client."""

    __tablename__ = "buildings"
    __table_args__ = (
        sa.ForeignKeyConstraint(["client_id"], ["clients.id"], name="buildings_client_id_fkey", ondelete="RESTRICT"),
    )

    indexed_texts: ClassVar = ("city",)

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
    name = column(TEXT, required=True)
    address = column(TEXT)
    city = column(TEXT)
    state = column(TEXT)
    zip = column(TEXT)
    client_id = column(BIGINT, required=True)
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE)
    latitude = column(DOUBLE)
    longitude = column(DOUBLE)
    building_type = column(TEXT)
    floors = column(INTEGER)
    units = column(INTEGER)

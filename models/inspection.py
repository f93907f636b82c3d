"""The inspections."""

from __future__ import annotations

from typing import Any, ClassVar

import sqlalchemy as sa

from models.building import Building
from models.fields import ColumnDefault, Model, Row, SkipScan, column
from models.types import BIGINT, DATE, TEXT, TIMESTAMP


def client_of_building(row: Row) -> sa.ColumnElement[Any]:
    """Return the building's client, or 0 without a building, so that the foreign key fails and not NOT NULL."""
    building = Building.__table__.alias("derived_buildings")
    client_id = sa.select(building.c.client_id).where(building.c.id == row.building_id)
    return sa.func.coalesce(client_id.scalar_subquery(), sa.literal_column("0"))


class Inspection(Model):
    """An inspection of a building: its type, date, status, inspector and notes."""

    __tablename__ = "inspections"
    __table_args__ = (
        sa.ForeignKeyConstraint(
            ["building_id", "client_id"],
            ["buildings.id", "buildings.client_id"],
            name="inspections_building_id_fkey",
            onupdate="CASCADE",
            ondelete="RESTRICT",
        ),
        sa.ForeignKeyConstraint(
            ["inspector_id"], ["inspectors.id"], name="inspections_inspector_id_fkey", ondelete="SET NULL"
        ),
    )
    # Hidden. It equals the building's client, by a foreign key (docs/decisions/0010).
    derived: ClassVar = {"client_id": client_of_building}
    indexed_texts: ClassVar = ("status",)
    index_prefix: ClassVar = {"building_id": "client_id"}
    skip_scan: ClassVar = SkipScan("clients", owner="client_id", partition_by="status", order="date_visited")

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE)
    building_id = column(BIGINT, required=True)
    inspection_type = column(TEXT, required=True)
    date_visited = column(DATE)
    status = column(TEXT)
    inspector_id = column(BIGINT)
    notes = column(TEXT)
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW)
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE)
    client_id = column(BIGINT, required=True, hidden=True)

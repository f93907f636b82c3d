"""The details of buildings that lead reports name."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Model, column, references
from models.types import BIGINT, INTEGER, TEXT, TIMESTAMP
from models.vocabulary import HAZARD_CLASSES, OCCUPANCIES


class BuildingDetail(Model):
    """The year, parcel, owner and use of a building: what lead reports and intervals of inspections depend on."""

    __tablename__ = "building_details"
    tenant: ClassVar = "building_id"
    expected_rows: ClassVar = 10_000
    label: ClassVar = "Details"
    plural: ClassVar = "Building details"
    title_column: ClassVar = "building_id"

    building_id = column(
        BIGINT, references("buildings.id", on_delete="cascade"), primary_key=True, label="Building", listed=True,
        narrow=True, example=1,
    )  # fmt: skip
    year_built = column(INTEGER, minimum=1600, maximum=2100, label="Year built", listed=True, narrow=True, example=1928)
    parcel = column(TEXT, label="Parcel", listed=True, searchable=True, example="034-B-012")
    owner_name = column(TEXT, label="Owner", listed=True, searchable=True, example="Pier Street Trust")
    owner_address = column(TEXT, label="Address of the owner", multiline=True, example="1 Harbor Road, Portland")
    owner_phone = column(TEXT, label="Telephone of the owner", example="+1 207 555 0100")
    child_occupied = column(
        TEXT,
        allowed_values=OCCUPANCIES,
        label="Occupied by children",
        listed=True,
        searchable=True,
        example=OCCUPANCIES[0],
    )
    hazard_class = column(
        TEXT,
        allowed_values=HAZARD_CLASSES,
        label="Hazard class",
        listed=True,
        searchable=True,
        example=HAZARD_CLASSES[0],
    )
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

"""The buildings, and the details of buildings that lead reports name."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column, references
from models.locks import HELD_DETAILS, held
from models.types import BIGINT, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP
from models.vocabulary import HAZARD_CLASSES, OCCUPANCIES

SHORT_CITY = "char_length(city) <= 200"


class Building(Model):
    """A building that is inspected. It belongs to a client."""

    __tablename__ = "buildings"
    tenant: ClassVar = "client_id"
    expected_rows: ClassVar = 10_000
    sqlite_compound_key: ClassVar = True
    indexes: ClassVar = (
        Index("buildings_client_id", ("client_id", "name"), "sqlite", distinct=(500, 1)),
        Index("buildings_client_city", ("client_id", "city", "name"), "sqlite", distinct=(500, 13, 1)),
        Index("buildings_city", ("city", "name"), "sqlite", distinct=(250, 1)),
        Index(
            "buildings_client_id", ("client_id", "substr(name, 1, 200)"), "postgresql",
            comment="An index entry holds at most 2,700 bytes, a text 64 KiB. Free text is indexed by its prefix, or"
            " only where it is short.",
        ),
        Index("buildings_client_city", ("client_id", "city"), "postgresql", where=SHORT_CITY),
        Index("buildings_city", ("city",), "postgresql", where=SHORT_CITY),
    )  # fmt: skip
    indexed_texts: ClassVar = ("city",)
    refusals: ClassVar = (held("{row}.id"),)

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    name = column(TEXT, required=True, listed=True, searchable=True, example="12 Pier Street")
    address = column(TEXT, listed=True, searchable=True, example="12 Pier Street")
    city = column(TEXT, listed=True, narrow=True, searchable=True, example="Portland")
    state = column(TEXT, example="ME")
    zip = column(TEXT, label="ZIP", searchable=True, example="04101")
    client_id = column(BIGINT, references("clients.id"), required=True, label="Client", listed=True, example=1)
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")
    latitude = column(DOUBLE, minimum=-90, maximum=90, help="Degrees north.", example=43.66)
    longitude = column(DOUBLE, minimum=-180, maximum=180, help="Degrees east.", example=-70.25)
    building_type = column(TEXT, label="Type", listed=True, searchable=True, example="apartments")
    floors = column(INTEGER, minimum=0, listed=True, example=4)
    units = column(INTEGER, minimum=0, listed=True, help="Dwellings in the building.", example=24)


class BuildingDetail(Model):
    """The year, parcel, owner and use of a building: what lead reports and intervals of inspections depend on."""

    __tablename__ = "building_details"
    tenant: ClassVar = "building_id"
    expected_rows: ClassVar = 10_000
    label: ClassVar = "Details"
    plural: ClassVar = "Building details"
    title_column: ClassVar = "building_id"
    refusals: ClassVar = (HELD_DETAILS,)

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
        label="Children",
        help="Whether children live in the building.",
        listed=True,
        searchable=True,
        example=OCCUPANCIES[0],
    )
    hazard_class = column(
        TEXT,
        allowed_values=HAZARD_CLASSES,
        label="Hazard",
        help="The hazard class of fire inspections.",
        listed=True,
        searchable=True,
        example=HAZARD_CLASSES[0],
    )
    closed_on = column(
        DATE, label="Closed on", listed=True, example="2030-12-31",
        help="No inspection is due after this day. Counts leave the building out from this day on; its record stays.",
    )  # fmt: skip
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")
    hold_reason = column(
        TEXT, label="Held for", example="Lawsuit 26-CV-104.",
        help="While it is set, nothing of the building is deleted. Super admins set it.",
    )  # fmt: skip

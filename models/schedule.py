"""The schedules of inspections."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Model, column, references
from models.types import BIGINT, DATE, INTEGER, TEXT, TIMESTAMP
from models.vocabulary import COUNTED_FROM, FIRE, INSPECTION_TYPES, MONTH, PLANNED, UNITS


class Schedule(Model):
    """A recurring inspection of a building. Each schedule has at most one open inspection."""

    __tablename__ = "schedules"
    tenant: ClassVar = "building_id"
    expected_rows: ClassVar = 20_000
    list_order: ClassVar = "id.desc"
    title_column: ClassVar = "inspection_type"
    unique: ClassVar = {"once_key": ("building_id", "inspection_type", "title")}

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    building_id = column(
        BIGINT, references("buildings.id", on_delete="cascade"), required=True, label="Building", listed=True,
        narrow=True, example=1,
    )  # fmt: skip
    inspection_type = column(
        TEXT, required=True, common_values=INSPECTION_TYPES, label="Type", listed=True, narrow=True, searchable=True,
        example=FIRE,
    )  # fmt: skip
    title = column(
        TEXT, required=True, stored_default="", listed=True, searchable=True,
        help="Distinguishes schedules of one building and type.", example="Sprinklers",
    )  # fmt: skip
    every = column(
        INTEGER, required=True, minimum=1, maximum=1_200, listed=True, help="The interval, in units.", example=3
    )
    unit = column(TEXT, required=True, allowed_values=UNITS, ranked=True, listed=True, example=MONTH)
    counted_from = column(
        TEXT, required=True, stored_default=PLANNED, allowed_values=COUNTED_FROM, label="Counted from",
        help="planned: due dates keep their rhythm. done: the interval begins on the day of the visit.",
        example=PLANNED,
    )  # fmt: skip
    first_due = column(DATE, required=True, label="First due", listed=True, example="2026-01-31")
    grace_days = column(
        INTEGER, required=True, stored_default=0, minimum=0, maximum=366, label="Days of grace",
        help="An inspection is late after this number of days.", example=0,
    )  # fmt: skip
    inspector_id = column(
        BIGINT, references("inspectors.id", on_delete="set null"), label="Inspector", listed=True, example=1
    )
    basis = column(TEXT, help="The rule that requires the inspection.", example="NFPA 25 5.2.1")
    ended_on = column(
        DATE, label="Ended on", help="No inspection is due after this day.", listed=True, example="2030-12-31"
    )
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

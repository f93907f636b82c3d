"""The calibration checks of XRF analyzers."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Model, column, references
from models.inspection import closed_to_managers
from models.locks import building_of, held, locked_by_reports
from models.types import BIGINT, DOUBLE, INTEGER, TEXT, TIMESTAMP, UUID
from models.vocabulary import CHECK_RESULTS


class CalibrationCheck(Model):
    """Three measurements of a standard with an XRF analyzer, before, between and after the readings of an inspection.

    The check passes if the mean lies within the limits of the device at that moment.
    """

    __tablename__ = "calibration_checks"
    tenant: ClassVar = "inspection_id"
    expected_rows: ClassVar = 50_000
    list_order: ClassVar = "taken_at.desc"
    title_column: ClassVar = "taken_at"
    unique: ClassVar = {"ref_key": ("client_id", "ref")}
    refusals: ClassVar = (
        closed_to_managers("{row}.inspection_id"),
        locked_by_reports("{row}.inspection_id"),
        held(building_of("{row}.inspection_id"), "inspection_id"),
    )
    deciding_columns: ClassVar = ("gun_id",)

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade", on_update="cascade"), required=True,
        label="Inspection", listed=True, example=1,
    )  # fmt: skip
    gun_id = column(
        INTEGER, required=True, label="XRF gun", help="The number of the device.", listed=True, example=20417
    )
    taken_at = column(
        TIMESTAMP, required=True, label="Taken", listed=True, narrow=True, example="2026-01-31T14:00:00+00:00"
    )
    first = column(DOUBLE, required=True, minimum=0, maximum=50, help="In mg/cm².", listed=True, example=0.9)
    second = column(DOUBLE, required=True, minimum=0, maximum=50, listed=True, example=1.1)
    third = column(DOUBLE, required=True, minimum=0, maximum=50, listed=True, example=1.1)
    mean = column(DOUBLE, service=True, default=ColumnDefault.COMPUTED, listed=True, example=1.033)
    result = column(
        TEXT, service=True, default=ColumnDefault.COMPUTED, allowed_values=CHECK_RESULTS, listed=True, narrow=True,
        searchable=True, example=CHECK_RESULTS[0],
    )  # fmt: skip
    check_low = column(
        DOUBLE, service=True, default=ColumnDefault.COMPUTED, label="Lowest mean", help="The limit of the device.",
        example=0.8,
    )  # fmt: skip
    check_high = column(
        DOUBLE, service=True, default=ColumnDefault.COMPUTED, label="Highest mean", help="The limit of the device.",
        example=1.2,
    )  # fmt: skip
    ref = column(UUID, label="Reference", help="An id that an offline client chooses, so that it can repeat a request.")
    note = column(TEXT, multiline=True, example="After a change of the battery.")
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")
    voided = column(TEXT, help="Why the check does not count.", example="Taken of the wrong block.")

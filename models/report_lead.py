"""The lead-paint readings of inspections, taken with an XRF analyzer."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column, references
from models.inspection import closed_to_managers
from models.locks import building_of, held, locked_by_reports
from models.types import BIGINT, BOOLEAN, DATE, DOUBLE, INTEGER, TEXT, TIMESTAMP, UUID
from models.vocabulary import LIMITS_FROM, NEGATIVE, QUALIFIERS, READING_METHODS, READING_RESULTS, SHEET, XRF


class ReportLead(Model):
    """One lead-paint reading of an inspection."""

    __tablename__ = "reports_lead"
    # The hidden client_id equals the inspection's: by triggers on SQLite, by a compound foreign key on PostgreSQL.
    tenant: ClassVar = "inspection_id"
    expected_rows: ClassVar = 690_000
    label: ClassVar = "Reading"
    plural: ClassVar = "Lead readings"
    list_order: ClassVar = "id.desc"
    unique: ClassVar = {"ref_key": ("client_id", "ref")}
    refusals: ClassVar = (
        closed_to_managers("{row}.inspection_id"),
        locked_by_reports("{row}.inspection_id"),
        held(building_of("{row}.inspection_id"), "inspection_id"),
    )
    deciding_columns: ClassVar = ("gun_id",)
    indexes: ClassVar = (
        Index(
            "reports_lead_reading_key", ("inspection_id", "gun_id", "reading_no", "taken_at"), unique=True,
            where="reading_no IS NOT NULL", distinct=(100, 100, 1, 1),
        ),
        Index("reports_lead_inspection_id", ("inspection_id",), "sqlite", distinct=(3,)),
        Index("reports_lead_client_id", ("client_id",), "sqlite", distinct=(34_500,)),
        Index("reports_lead_inspection_id", ("inspection_id", "client_id"), "postgresql"),
        Index("reports_lead_client_id", ("client_id", "id"), "postgresql"),
    )  # fmt: skip

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade", on_update="cascade"), required=True,
        label="Inspection", listed=True, narrow=True, example=1,
    )  # fmt: skip
    gun_id = column(INTEGER, label="XRF gun", help="The number of the device.", listed=True, example=20417)
    result = column(
        TEXT, default=ColumnDefault.COMPUTED, common_values=READING_RESULTS, listed=True, narrow=True,
        searchable=True, help="The result. By default it is the classification of the value.", example=NEGATIVE,
    )  # fmt: skip
    reading_no = column(INTEGER, label="No.", help="The number of the reading on the device.", example=12)
    taken_at = column(TIMESTAMP, label="Taken", example="2026-01-31T14:10:00+00:00")
    dwelling = column(TEXT, searchable=True, example="3D")
    room = column(TEXT, listed=True, searchable=True, example="Kitchen")
    wall = column(TEXT, help="A is the side of the street; B, C and D follow clockwise.", searchable=True, example="A")
    component = column(TEXT, listed=True, searchable=True, example="Window sill")
    substrate = column(TEXT, searchable=True, example="wood")
    color = column(TEXT, example="white")
    condition = column(TEXT, example="intact")
    lead_mg_cm2 = column(
        DOUBLE, minimum=-5, maximum=100, label="Lead (mg/cm²)", listed=True, narrow=True,
        help="A corrected value may be below zero.", example=0.3,
    )  # fmt: skip
    lead_percent = column(
        DOUBLE, minimum=0, maximum=100, label="Lead (% by weight)", help="Of a paint chip. 5,000 ppm are 0.5 %.",
        example=0.5,
    )  # fmt: skip
    qualifier = column(
        TEXT, allowed_values=QUALIFIERS, example="<",
        help="Whether the lead is less or more than the value. < without a value: below the detection limit.",
    )  # fmt: skip
    method = column(TEXT, required=True, stored_default=XRF, allowed_values=READING_METHODS, example=XRF)
    mode = column(TEXT, help="The mode of the device, if its limits differ by mode.", example="Standard")
    classification = column(
        TEXT, service=True, default=ColumnDefault.COMPUTED, allowed_values=READING_RESULTS,
        help="The value, compared with the limits of the reading.", example=NEGATIVE,
    )  # fmt: skip
    negative_below = column(
        DOUBLE, service=True, default=ColumnDefault.COMPUTED, label="Negative below",
        help="The limit with which the value was compared.", example=1.0,
    )  # fmt: skip
    positive_from = column(
        DOUBLE, service=True, default=ColumnDefault.COMPUTED, label="Positive from",
        help="The limit with which the value was compared.", example=1.0,
    )  # fmt: skip
    limits_from = column(
        TEXT, service=True, default=ColumnDefault.COMPUTED, allowed_values=LIMITS_FROM, label="Limits from",
        help="Whether the limits are those of the sheet of the device, or of the lead standard.", example=SHEET,
    )  # fmt: skip
    sample_no = column(TEXT, label="Sample", help="The number of a paint chip.", searchable=True, example="C-3")
    lab_name = column(TEXT, label="Laboratory", help="Who analyzed the paint chip.", example="Harbor Laboratories")
    reported_on = column(DATE, label="Reported", help="The date of the laboratory's report.", example="2026-02-09")
    confirms_id = column(
        BIGINT, label="Confirms", help="The id of the reading of this inspection that this one confirms.", example=1
    )
    time_is_by_order = column(
        BOOLEAN, required=True, service=True, stored_default=False, label="Time by order",
        help="Whether the file had no times, and the order of its lines gave this one.", example=False,
    )  # fmt: skip
    voided = column(TEXT, help="Why the reading does not count.", example="Taken through wallpaper.")
    ref = column(UUID, label="Reference", help="An id that an offline client chooses, so that it can repeat a request.")
    note = column(TEXT, multiline=True, example="Behind the radiator.")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

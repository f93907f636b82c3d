"""The schedules of inspections, and the planned visits: schedule, due date and case of an inspection."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column, references
from models.locks import building_of, held
from models.types import BIGINT, DATE, INTEGER, TEXT, TIMESTAMP
from models.vocabulary import COUNTED_FROM, DONE, FIRE, INSPECTION_TYPES, MONTH, OUTCOMES, PLANNED, UNITS


class Schedule(Model):
    """A recurring inspection of a building. Each schedule has at most one open inspection."""

    __tablename__ = "schedules"
    tenant: ClassVar = "building_id"
    expected_rows: ClassVar = 20_000
    list_order: ClassVar = "id.desc"
    title_column: ClassVar = "inspection_type"
    unique: ClassVar = {"once_key": ("building_id", "inspection_type", "title")}
    refusals: ClassVar = (held("{row}.building_id", "building_id"),)

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
    early_days = column(
        INTEGER, minimum=0, maximum=366, label="Days early", help="A visit counts from this number of days before its"
        " due date, and is early before that; at most the interval less a day. Empty: from any day.", example=30,
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


class InspectionPlan(Model):
    """Why an inspection exists: an occurrence of a schedule, or a round of a case. The service writes it.

    A case is an inspection and its re-inspections. The plan is open until it has an outcome.
    """

    __tablename__ = "inspection_plans"
    tenant: ClassVar = "inspection_id"
    written_by_service: ClassVar = True
    expected_rows: ClassVar = 100_000
    label: ClassVar = "Plan"
    plural: ClassVar = "Planned visits"
    list_order: ClassVar = "inspection_id.desc"
    # The plan of an untouched visit goes with it.
    refusals: ClassVar = (
        held(building_of("{row}.inspection_id AND NOT ({row}.outcome IS NULL AND {row}.touched_at IS NULL)")),
    )
    indexes: ClassVar = (
        Index(
            "inspection_plans_open_key", ("schedule_id",), unique=True, where="outcome IS NULL", expected_rows=20_000,
            distinct=(1,), comment="A schedule has at most one open inspection.",
        ),
        Index(
            "inspection_plans_open_round_key", ("case_id",), unique=True, where="outcome IS NULL",
            expected_rows=20_000, distinct=(1,), comment="A case has at most one open round.",
        ),
        Index("inspection_plans_case_id", ("case_id", "round"), distinct=(1, 1)),
        Index("inspection_plans_schedule_id", ("schedule_id", "occurrence"), distinct=(5, 1)),
    )  # fmt: skip

    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade", on_update="cascade"), primary_key=True,
        label="Inspection", listed=True, narrow=True, example=1,
    )  # fmt: skip
    schedule_id = column(
        BIGINT, references("schedules.id", on_delete="set null"), label="Schedule", listed=True, example=1
    )
    occurrence = column(
        INTEGER, minimum=0, listed=True, help="The number of the due date in the schedule, from 0.", example=0
    )
    due_on = column(DATE, label="Due on", listed=True, narrow=True, example="2026-01-31")
    case_id = column(
        BIGINT, required=True, label="Case", listed=True, help="The id of the first inspection of the case.", example=1
    )
    round = column(
        INTEGER, required=True, stored_default=1, minimum=1, maximum=99, listed=True,
        help="1 is the first inspection of the case, 2 its first re-inspection.", example=1,
    )  # fmt: skip
    outcome = column(TEXT, allowed_values=OUTCOMES, listed=True, searchable=True, example=DONE)
    touched_at = column(
        TIMESTAMP, label="Touched", help="When a person first changed the visit. The service moves untouched ones.",
    )  # fmt: skip
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

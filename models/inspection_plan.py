"""The planned visits: the schedule, the due date and the case that an inspection belongs to."""

from __future__ import annotations

from typing import ClassVar

from models.fields import ColumnDefault, Index, Model, column, references
from models.types import BIGINT, DATE, INTEGER, TEXT, TIMESTAMP
from models.vocabulary import DONE, OUTCOMES


class InspectionPlan(Model):
    """Why an inspection exists: an occurrence of a schedule, or a round of a case. The service writes it.

    A case is an inspection and its re-inspections. The plan is open until it has an outcome.
    """

    __tablename__ = "inspection_plans"
    tenant: ClassVar = "inspection_id"
    written_by_service: ClassVar = True
    expected_rows: ClassVar = 100_000
    label: ClassVar = "Plan"
    list_order: ClassVar = "inspection_id.desc"
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
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

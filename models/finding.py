"""The findings of inspections, and the events of findings."""

from __future__ import annotations

from typing import ClassVar

import sqlalchemy as sa

from models.fields import ColumnDefault, Index, Model, Row, column, references
from models.finding_move import EVENT_KINDS, FINDING_STATUSES
from models.inspection import closed_to_managers
from models.locks import OF_FINDING, building_of, held, locked_by_reports
from models.schedule import InspectionPlan
from models.types import BIGINT, INTEGER, TEXT, TIMESTAMP, UUID
from models.vocabulary import FIXED, MODERATE, OPEN, SEVERITIES, VERIFICATIONS


def case_of_inspection(inspection_id: sa.ColumnElement[int]) -> sa.ColumnElement[int]:
    """Return the case of an inspection: that of its plan, or else the inspection itself."""
    plan = InspectionPlan.__table__.alias("derived_plans")
    case_id = sa.select(plan.c.case_id).where(plan.c.inspection_id == inspection_id)
    return sa.func.coalesce(case_id.scalar_subquery(), inspection_id)


def case_of_finding(row: Row) -> sa.ColumnElement[int]:
    """Return the case of a finding's inspection."""
    return case_of_inspection(row.inspection_id)


class Finding(Model):
    """A defect that an inspection found, with its deadline. move_findings changes its status, and regrade_finding its
    severity.
    """

    __tablename__ = "findings"
    tenant: ClassVar = "inspection_id"
    expected_rows: ClassVar = 100_000
    list_order: ClassVar = "due_at.asc"
    title_column: ClassVar = "description"
    unique: ClassVar = {"ref_key": ("client_id", "ref")}
    # The functions that move findings change the other columns after the visit, too.
    refusals: ClassVar = (
        closed_to_managers(
            "{row}.inspection_id", columns=("inspection_id", "ref", "place", "item", "code", "description")
        ),
        locked_by_reports(
            "{row}.inspection_id",
            columns=("id", "inspection_id", "ref", "place", "item", "code", "description", "severity", "found_at"),
        ),
        held(building_of("{row}.inspection_id"), "inspection_id"),
    )
    indexes: ClassVar = (
        Index(
            "findings_inspection_id", ("inspection_id", "status", "due_at"), distinct=(3, 2, 1),
            comment="The dashboard of a manager counts the open findings of each visible inspection.",
        ),
        Index("findings_case_id", ("case_id", "status"), distinct=(3, 2)),
        Index("findings_status", ("client_id", "status", "due_at", "id"), distinct=(5_000, 1_250, 1, 1)),
        Index(
            "findings_status_due_at", ("status", "due_at", "id"), "postgresql",
            comment="A super admin counts and lists the open findings of all clients.",
        ),
    )  # fmt: skip

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    inspection_id = column(
        BIGINT, references("inspections.id", on_delete="cascade", on_update="cascade"), required=True,
        label="Inspection", listed=True, example=1,
    )  # fmt: skip
    case_id = column(
        BIGINT, required=True, service=True, label="Case", help="The id of the first inspection of the case.", example=1
    )
    ref = column(
        UUID, label="Reference",
        help="An id that an offline client chooses, so that it can repeat a request. It is unique within a client.",
    )  # fmt: skip
    place = column(TEXT, listed=True, searchable=True, example="3D, bathroom")
    item = column(TEXT, listed=True, searchable=True, example="Smoke alarm")
    code = column(TEXT, help="The rule that the building does not meet.", searchable=True, example="NSPIRE Smoke Alarm")
    description = column(
        TEXT, required=True, listed=True, narrow=True, searchable=True, multiline=True, example="No smoke alarm."
    )
    severity = column(
        TEXT, required=True, insert_only=True, allowed_values=SEVERITIES, ranked=True, listed=True, narrow=True,
        searchable=True, help="regrade_finding changes it.", example=MODERATE,
    )  # fmt: skip
    status = column(
        TEXT, required=True, service=True, stored_default=OPEN, allowed_values=FINDING_STATUSES, listed=True,
        searchable=True, example=OPEN,
    )  # fmt: skip
    found_at = column(
        TIMESTAMP, required=True, default=ColumnDefault.COMPUTED, insert_only=True, label="Found",
        help="When the defect was seen; by default now. The deadline counts from it.",
        example="2026-01-01T12:00:00+00:00",
    )  # fmt: skip
    due_at = column(
        TIMESTAMP, default=ColumnDefault.COMPUTED, insert_only=True, label="Due", listed=True,
        narrow=True, help="The deadline. By default it follows from `deadline_rules`; none without a rule.",
        example="2026-01-31T12:00:00+00:00",
    )  # fmt: skip
    fixed_at = column(TIMESTAMP, service=True, label="Fixed", help="When the finding was last marked fixed.")
    days_late = column(
        INTEGER, service=True, minimum=0, label="Days late",
        help="How many days after the deadline it was fixed; 0 in time, null before it is fixed.", example=3,
    )  # fmt: skip
    closed_at = column(TIMESTAMP, service=True, label="Closed", help="When the finding was verified or waived.")
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")


Finding.derived = {**Finding.derived, "case_id": case_of_finding}


class FindingEvent(Model):
    """A step of a finding: who made, fixed, verified, waived, reopened, extended or regraded it. Functions write it."""

    __tablename__ = "finding_events"
    tenant: ClassVar = "finding_id"
    written_by_service: ClassVar = True
    expected_rows: ClassVar = 300_000
    label: ClassVar = "Event"
    plural: ClassVar = "Events"
    title_column: ClassVar = "at"
    list_order: ClassVar = "id.asc"
    refusals: ClassVar = (held(building_of(OF_FINDING)),)

    id = column(BIGINT, primary_key=True, default=ColumnDefault.SEQUENCE, example=1)
    finding_id = column(
        BIGINT, references("findings.id", on_delete="cascade"), required=True, label="Finding", listed=True, example=1
    )
    at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Time", listed=True)
    user_id = column(
        UUID, references("users.id", on_delete="set null"), default=ColumnDefault.CALLER_ID, label="Person", listed=True
    )
    kind = column(
        TEXT, required=True, allowed_values=EVENT_KINDS, listed=True, narrow=True, searchable=True, example=FIXED
    )
    inspection_id = column(
        BIGINT, label="Visit", help="The inspection during which it happened.", listed=True, example=1
    )
    note = column(TEXT, listed=True, searchable=True, multiline=True, example="Replaced the alarm.")
    how = column(
        TEXT, allowed_values=VERIFICATIONS, help="What a verification relies on.", listed=True, example="photo"
    )
    severity_before = column(TEXT, allowed_values=SEVERITIES, help="The severity that this event replaced.")
    severity_after = column(TEXT, allowed_values=SEVERITIES, help="The severity that this event gave.")
    due_before = column(TIMESTAMP, label="Due before", help="The deadline that this event replaced.")
    due_after = column(TIMESTAMP, label="Due after", help="The deadline that this event gave.")
    notice_id = column(BIGINT, references("notices.id"), label="Letter", help="The letter that named the finding.")
    created_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW, label="Created")
    updated_at = column(TIMESTAMP, required=True, default=ColumnDefault.NOW_ON_WRITE, label="Changed")

"""The open inspections of schedules, counted by their due dates."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from access.caller import Caller
from access.decorators import function
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.rows import Select, prepared
from inspections.reporting.counts import LABELS_MAX, CountPlanner, Counts, labelled, over_all, shortened
from models import Finding, Inspection, InspectionPlan, Schedule
from models.finding_move import UNRESOLVED
from models.vocabulary import COMPLETED, FAILED

WEEK_DAYS = 7
MONTH_DAYS = 30
YEAR_DAYS = 365


@dataclass(frozen=True, slots=True)
class DueSummary:
    """The visible open inspections of schedules. Each is late after its due date and the schedule's days of grace.

    overdue: late today.
    due_today, due_7_days, due_30_days: due today, or from today to 7 or 30 days later.
    booked_late: not late today, and dated on a day on which they will be late.
    by_type: all of them.
    oldest_overdue_days: for how many days the latest one has been late; null if none is.
    failed_without_reinspection: failed inspections of the last 365 days after which the case has no round.
    completed_with_open_findings: completed inspections of the last 365 days whose case has findings that are neither
    verified nor waived.
    No count has inspections of closed buildings.
    """

    today: str
    overdue: int
    due_today: int
    due_7_days: int
    due_30_days: int
    booked_late: int
    by_type: Counts
    oldest_overdue_days: int | None
    failed_without_reinspection: int
    completed_with_open_findings: int


@function("get_due_summary", summary="The open inspections of schedules by their due dates", roles=EVERY_ROLE)
def read_due_summary(transaction: Transaction, caller: Caller) -> DueSummary:
    """Return the counts of the visible open inspections of schedules."""
    today = transaction.today
    key = ("due summary", caller.visibility, today)
    summary: DueSummary = transaction.cached(key, lambda: count_due(transaction, caller, today))
    return summary


def count_due(transaction: Transaction, caller: Caller, today: datetime.date) -> DueSummary:
    days = {
        name: (today + datetime.timedelta(days=number)).isoformat()
        for name, number in (("today", 0), ("in_a_week", WEEK_DAYS), ("soon", MONTH_DAYS))
    }
    rows = plan_due.all(transaction, caller, **days)
    _, _, total, overdue, due_today, due_7_days, due_30_days, booked_late, oldest = rows[0] if rows else EMPTY
    rest = total - sum(row[1] for row in rows)
    since = {"today": days["today"], "year_ago": (today - datetime.timedelta(days=YEAR_DAYS)).isoformat()}
    ((failed, completed),) = plan_neglected.all(transaction, caller, **since)
    return DueSummary(
        today.isoformat(),
        overdue or 0,
        due_today or 0,
        due_7_days or 0,
        due_30_days or 0,
        booked_late or 0,
        labelled(((row[0], row[1]) for row in rows), (), rest),
        (today - datetime.date.fromisoformat(oldest)).days if oldest is not None else None,
        failed,
        completed,
    )


EMPTY: tuple[Any, ...] = (None, 0, 0, 0, 0, 0, 0, 0, None)


@prepared(CountPlanner)
def plan_due(planner: CountPlanner) -> Select:
    """Plan rows of type and count, the most frequent types first. Each row repeats the counts of all types.

    A caller who does not see a schedule does not see its days of grace.
    """
    inspection, scope = planner.visible(Inspection)
    plan, plan_scope = planner.visible_by(InspectionPlan, Inspection)
    schedule, schedule_scope = planner.visible(Schedule)
    rows = plan.join(inspection, inspection.c.id == plan.c.inspection_id)
    rows = rows.outerjoin(schedule, sa.and_(schedule.c.id == plan.c.schedule_id, schedule_scope))
    due_on, today = plan.c.due_on, planner.named_parameter("today")
    last_day = planner.dialect.add_days(due_on, sa.func.coalesce(schedule.c.grace_days, sa.literal_column("0")))
    open_plans = (
        sa.select(
            shortened(inspection.c.inspection_type), inspection.c.date_visited, due_on, last_day.label("last_day")
        )
        .select_from(rows)
        .where(plan.c.outcome.is_(None), plan.c.schedule_id.is_not(None), plan_scope, scope)
        .where(inspection.c.building_id.not_in(planner.closed_buildings()))
    )
    found = planner.dialect.materialized(open_plans).subquery("found").c
    counted = sa.func.count()

    def of_all(condition: Any) -> Any:
        return over_all(sa.func.sum, sa.case((condition, sa.literal_column("1"))))

    late = found.last_day < today
    totals = sa.select(
        found.inspection_type,
        counted,
        sa.func.sum(counted).over(),
        of_all(late),
        of_all(found.due_on == today),
        of_all(found.due_on.between(today, planner.named_parameter("in_a_week"))),
        of_all(found.due_on.between(today, planner.named_parameter("soon"))),
        of_all(sa.and_(sa.not_(late), found.date_visited > found.last_day)),
        over_all(sa.func.min, sa.case((late, found.last_day))),
    ).group_by(found.inspection_type)
    return totals.order_by(counted.desc(), found.inspection_type).limit(LABELS_MAX)


@prepared(CountPlanner)
def plan_neglected(planner: CountPlanner) -> Select:
    """Plan one row: the failed inspections without a later round, and the completed ones with open findings."""
    failed, scope = planner.visible(Inspection)
    own, own_scope = planner.visible(InspectionPlan)
    later, later_scope = planner.visible(InspectionPlan)
    rows = failed.outerjoin(own, sa.and_(own.c.inspection_id == failed.c.id, own_scope))
    has_round = sa.exists().where(
        later.c.case_id == sa.func.coalesce(own.c.case_id, failed.c.id),
        later.c.round > sa.func.coalesce(own.c.round, sa.literal_column("1")),
        later_scope,
    )
    is_failed = failed.c.status == sa.literal_column(f"'{FAILED}'")
    neglected = sa.select(sa.func.count()).select_from(rows).where(is_failed, scope, ~has_round)
    neglected = neglected.where(
        failed.c.date_visited >= planner.named_parameter("year_ago"),
        failed.c.building_id.not_in(planner.closed_buildings()),
    )
    of_case = completed_visits(planner, by_case=True).union(completed_visits(planner, by_case=False)).subquery("found")
    with_findings = sa.select(sa.func.count()).select_from(of_case)
    return sa.select(neglected.scalar_subquery(), with_findings.scalar_subquery())


def completed_visits(planner: CountPlanner, *, by_case: bool) -> sa.Select[Any]:
    """Return the ids of the completed inspections with open findings: of their case, or of their own."""
    finding, finding_scope = planner.visible(Finding)
    visit, scope = planner.visible(Inspection)
    rows = finding.join(visit, visit.c.id == finding.c.inspection_id)
    conditions = [scope, finding_scope]
    if by_case:
        plan, plan_scope = planner.visible(InspectionPlan)
        of_case = finding.join(plan, plan.c.case_id == finding.c.case_id)
        rows = of_case.join(visit, visit.c.id == plan.c.inspection_id)
        conditions.append(plan_scope)
    is_open = finding.c.status.in_([sa.literal_column(f"'{each}'") for each in UNRESOLVED])
    is_completed = visit.c.status == sa.literal_column(f"'{COMPLETED}'")
    in_use = sa.and_(
        visit.c.date_visited >= planner.named_parameter("year_ago"),
        visit.c.building_id.not_in(planner.closed_buildings()),
    )
    return sa.select(visit.c.id).select_from(rows).where(is_open, is_completed, in_use, *conditions)

"""The numbers of the dashboard, over the rows that a row rule shows, and the first steps in an empty database.

The fields of `Dashboard` are the keys of the response, in that order. docs/decisions/0017 gives the cost. The steps
lead to the first inspection and its reader, and say which of them are done.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Final

import sqlalchemy as sa

from access.caller import Caller
from access.decorators import function
from access.roles import EVERY_ROLE
from engine.interface.database import Transaction
from engine.interface.versioned_cache import size_of
from engine.rows import Select, prepared
from inspections.reporting.counts import CountPlanner, Counts, read_status_counts
from models import Building, Finding
from models.finding_move import UNRESOLVED
from models.vocabulary import OPEN

ANY_FINDING = "SELECT 1 FROM findings LIMIT 1"
SECONDS_STALE_MAX = 60
LABEL_BYTES = 100  # of a label and its count in the cache, without the text


@dataclass(frozen=True, slots=True)
class Dashboard:
    """The counts of all visible rows. Days are those of `timezone`; `today` is the day of the transaction.

    overdue: scheduled or in progress, and dated before today.
    upcoming: scheduled, and dated from today to 30 days later.
    completed_this_month: completed, and dated in the current month.
    last_inspection: the latest day, up to today, of a completed or failed inspection.
    next_inspection: the earliest day, from today, of a scheduled inspection.
    An inspection without a date counts in none of these.
    open_findings: neither verified nor waived.
    findings_overdue: with the status open, and a deadline before now. The number is at most a minute old.
    total_buildings, open_findings and findings_overdue leave out closed buildings. The other counts are the record.
    """

    total_inspections: int
    total_buildings: int
    by_status: Counts
    by_type: Counts
    overdue: int
    upcoming: int
    completed_this_month: int
    last_inspection: str | None
    next_inspection: str | None
    open_findings: int
    findings_overdue: int
    generated_at: str
    today: str
    timezone: str


@function("get_inspections_dashboard_summary_fast", summary="Summary of all visible inspections", roles=EVERY_ROLE)
def read_dashboard(transaction: Transaction, caller: Caller) -> Dashboard:
    """Return the dashboard of all visible rows. It is counted once for each version of the data."""
    key = ("dashboard", caller.visibility, transaction.today)
    dashboard, counted = transaction.cached(key, partial(count_dashboard, transaction, caller), size_of_dashboard)
    findings = refresh_findings(transaction, caller, counted)
    current: Dashboard = replace(dashboard, findings_overdue=findings.overdue, generated_at=transaction.now)
    return current


def count_dashboard(transaction: Transaction, caller: Caller) -> tuple[Dashboard, FindingCounts]:
    """Count all visible rows. Return the dashboard, and the counts of findings with the next deadline."""
    counts, findings = read_status_counts(transaction, caller), count_findings(transaction, caller)
    dashboard = Dashboard(
        total_inspections=counts.total,
        total_buildings=plan_buildings.value(transaction, caller, today=transaction.today.isoformat()),
        by_status=counts.by_status(),
        by_type=counts.by_type(),
        overdue=counts.overdue,
        upcoming=counts.upcoming,
        completed_this_month=counts.completed_this_month,
        last_inspection=counts.last_inspection,
        next_inspection=counts.next_inspection,
        open_findings=findings.open,
        findings_overdue=findings.overdue,
        generated_at=transaction.now,
        today=transaction.today.isoformat(),
        timezone=str(transaction.time_zone),
    )
    return dashboard, findings


def size_of_dashboard(counted: tuple[Dashboard, FindingCounts]) -> int:
    """Return the size of a dashboard in the cache, in bytes."""
    dashboard, _ = counted
    return sum(LABEL_BYTES + size_of(label) for label in (*dashboard.by_status, *dashboard.by_type))


# Findings


@dataclass(frozen=True, slots=True)
class FindingCounts:
    """The numbers of open findings and of overdue ones, and the deadline after which more are overdue."""

    open: int = 0
    overdue: int = 0
    next_due: str | None = None

    def holds_at(self, now: str) -> bool:
        """Return whether the numbers are right at a later time, as long as no finding changes."""
        return self.next_due is None or now <= self.next_due


def count_findings(transaction: Transaction, caller: Caller) -> FindingCounts:
    """Count the visible open findings. Without any finding, the rule costs no time."""
    if transaction.value(ANY_FINDING) is None:
        return FindingCounts()
    days = {"now": transaction.now, "today": transaction.today.isoformat()}
    ((number, overdue, next_due),) = plan_findings_count.all(transaction, caller, **days)
    return FindingCounts(number, overdue or 0, next_due)


def refresh_findings(transaction: Transaction, caller: Caller, counted: FindingCounts) -> FindingCounts:
    """Return counts of this data version as of now. They are at most SECONDS_STALE_MAX seconds old."""
    if counted.holds_at(transaction.now):
        return counted
    key = ("findings", caller.visibility, transaction.unix // SECONDS_STALE_MAX)
    counts: FindingCounts = transaction.cached(key, partial(count_findings, transaction, caller))
    return counts


# Statements


@prepared(CountPlanner)
def plan_buildings(planner: CountPlanner) -> Select:
    """Plan one row: the number of visible buildings that are not closed."""
    building, scope = planner.visible(Building)
    is_open = building.c.id.not_in(planner.closed_buildings())
    return sa.select(sa.func.count()).select_from(building).where(scope, is_open)


@prepared(CountPlanner)
def plan_findings_count(planner: CountPlanner) -> Select:
    """Plan one row: the number of visible open findings and of overdue ones, and the next deadline."""
    finding, scope = planner.visible(Finding)
    due_at, now, to_fix = finding.c.due_at, planner.named_parameter("now"), finding.c.status == OPEN
    counted = sa.select(
        sa.func.count(),
        sa.func.sum(sa.case((sa.and_(to_fix, due_at < now), 1), else_=0)),
        sa.func.min(sa.case((sa.and_(to_fix, due_at >= now), due_at))),
    )
    is_open = finding.c.status.in_([sa.literal_column(f"'{each}'") for each in UNRESOLVED])
    is_in_use = finding.c.inspection_id.not_in(planner.inspections_of_closed_buildings())
    return counted.select_from(finding).where(is_open, scope, is_in_use)


class FirstStep(StrEnum):
    """What a new database lacks, in the order in which it is made."""

    CLIENT = "client"
    BUILDING = "building"
    USER = "user"
    INSPECTOR = "inspector"
    SIGN_IN = "sign_in"
    INSPECTION = "inspection"
    GRANT = "grant"


QUERIES: Final = {
    FirstStep.CLIENT: "SELECT 1 FROM clients LIMIT 1",
    FirstStep.BUILDING: "SELECT 1 FROM buildings LIMIT 1",
    FirstStep.USER: "SELECT 1 FROM users WHERE client_id IS NOT NULL LIMIT 1",
    FirstStep.INSPECTOR: "SELECT 1 FROM inspectors LIMIT 1",
    FirstStep.SIGN_IN: "SELECT 1 FROM inspectors WHERE user_id IS NOT NULL LIMIT 1",
    FirstStep.INSPECTION: "SELECT 1 FROM inspections LIMIT 1",
    FirstStep.GRANT: "SELECT 1 FROM client_manager_building_access UNION ALL"
    " SELECT 1 FROM client_manager_inspection_access UNION ALL SELECT 1 FROM client_admin_building_access UNION ALL"
    " SELECT 1 FROM client_admin_inspection_access LIMIT 1",
}
OPTIONAL: Final = FirstStep.SIGN_IN
"""A step that neither keeps the list nor is the next."""


@dataclass(frozen=True, slots=True)
class StepState:
    """A step and whether it is done. `is_next` marks the first required step that is not."""

    step: FirstStep
    is_done: bool
    is_next: bool


def read_first_steps(transaction: Transaction) -> list[StepState]:
    """Return the steps, or no steps once all but the optional one are done.

    The answer counts every row, so show it only to a super admin.
    """
    done: dict[FirstStep, bool] = transaction.cached(
        "first_steps", lambda: {step: transaction.value(sql) is not None for step, sql in QUERIES.items()}
    )
    following = next((step for step in FirstStep if not done[step] and step is not OPTIONAL), None)
    return [StepState(step, done[step], step is following) for step in FirstStep] if following else []

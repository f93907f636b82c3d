"""The numbers of the dashboard, over the rows that a row rule shows.

The fields of `Dashboard` are the keys of the response, in that order. docs/decisions/0017 gives the cost.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache, partial

import sqlalchemy as sa

from access.caller import Caller, VisibleRows
from access.functions import function
from access.roles import EVERY_ROLE
from engine.interface.transaction import Transaction
from engine.interface.versioned_cache import size_of
from engine.query.dialect.registry import DIALECTS
from engine.query.rule import Rule
from engine.query.statement import Statement
from inspections.reporting.counts import PLANS_MAX, CountPlanner, Counts, fetch_rows
from inspections.reporting.status_counts import read_status_counts
from models import Building, Finding
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
    open_findings: with the status open.
    findings_overdue: with the status open, and a deadline before now. The number is at most a minute old.
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
def get_dashboard(transaction: Transaction, caller: Caller) -> Dashboard:
    return read_dashboard(transaction, caller.visible_rows())


def read_dashboard(transaction: Transaction, visible: VisibleRows) -> Dashboard:
    """Return the dashboard of all visible rows. It is counted once for each version of the data."""
    key = ("dashboard", visible, transaction.today)
    dashboard, counted = transaction.cached(key, partial(count_dashboard, transaction, visible), size_of_dashboard)
    findings = refresh_findings(transaction, visible, counted)
    current: Dashboard = replace(dashboard, findings_overdue=findings.overdue, generated_at=transaction.now)
    return current


def count_dashboard(transaction: Transaction, visible: VisibleRows) -> tuple[Dashboard, FindingCounts]:
    """Count all visible rows. Return the dashboard, and the counts of findings with the next deadline."""
    buildings = plan_buildings(transaction.dialect.name, visible.rule)
    counts, findings = read_status_counts(transaction, visible), count_findings(transaction, visible)
    dashboard = Dashboard(
        total_inspections=counts.total,
        total_buildings=transaction.value(buildings.sql, buildings.bind(visible.binding())),
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


def count_findings(transaction: Transaction, visible: VisibleRows) -> FindingCounts:
    """Count the visible open findings. Without any finding, the rule costs no time."""
    if transaction.value(ANY_FINDING) is None:
        return FindingCounts()
    statement = plan_findings_count(transaction.dialect.name, visible.rule)
    ((number, overdue, next_due),) = fetch_rows(transaction, statement, visible.binding(now=transaction.now))
    return FindingCounts(number, overdue or 0, next_due)


def refresh_findings(transaction: Transaction, visible: VisibleRows, counted: FindingCounts) -> FindingCounts:
    """Return counts of this data version as of now. They are at most SECONDS_STALE_MAX seconds old."""
    if counted.holds_at(transaction.now):
        return counted
    key = ("findings", visible, transaction.unix // SECONDS_STALE_MAX)
    counts: FindingCounts = transaction.cached(key, partial(count_findings, transaction, visible))
    return counts


# Statements


@lru_cache(maxsize=PLANS_MAX)
def plan_buildings(database: str, rule: Rule) -> Statement:
    """Plan one row: the number of visible buildings."""
    planner = CountPlanner(DIALECTS[database], rule)
    building, scope = planner.visible(Building)
    return planner.finish(sa.select(sa.func.count()).select_from(building).where(scope))


@lru_cache(maxsize=PLANS_MAX)
def plan_findings_count(database: str, rule: Rule) -> Statement:
    """Plan one row: the number of visible open findings and of overdue ones, and the next deadline."""
    planner = CountPlanner(DIALECTS[database], rule)
    finding, scope = planner.visible(Finding)
    due_at, now = finding.c.due_at, planner.named_parameter("now")
    counted = sa.select(
        sa.func.count(), sa.func.sum(sa.case((due_at < now, 1), else_=0)), sa.func.min(sa.case((due_at >= now, due_at)))
    )
    return planner.finish(counted.select_from(finding).where(finding.c.status == OPEN, scope))

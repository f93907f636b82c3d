"""The open findings of visible rows, for the dashboard."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

import sqlalchemy as sa

from access.caller import VisibleRows
from engine.query.dialect.registry import DIALECTS
from engine.query.rule import Rule
from engine.query.statement import Statement
from engine.storage.transaction import Transaction
from inspections.reporting.counts import PLANS_MAX, CountPlanner, fetch_rows
from models import Finding
from models.vocabulary import OPEN

ANY_FINDING = "SELECT 1 FROM findings LIMIT 1"
SECONDS_STALE_MAX = 60


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

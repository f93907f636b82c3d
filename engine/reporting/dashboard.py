"""The numbers of dashboard and building, over whatever rows it is handed as visible.

The fields of what it answers are the keys of the answer, in that order. What counts as overdue, upcoming,
last, next and so on is said where it is answered; what it costs, in docs/decisions/0017.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from dataclasses import replace

from engine.audit import last_event_id
from engine.reporting import counts
from engine.reporting.counts import COMPLETED
from engine.reporting.counts import FAILED
from engine.reporting.incremental_counts import DashboardCounts
from engine.reporting.incremental_counts import update_dashboard_counts
from engine.reporting.status_counts import Counts
from engine.reporting.status_counts import labelled
from engine.reporting.status_counts import read_status_counts
from engine.reporting.visible_rows import VisibleRows
from engine.reporting.visible_rows import read_rows
from engine.storage.transaction import Transaction
from engine.storage.versioned_cache import size_of
from models.errors import Fault

RATE_DIGITS = 4
PAIR_BYTES = 100  # a pair and its count, without the texts


class NoSuchBuilding(Fault):
    """A building that is not there or not to be seen (PT404); nobody is told which."""

    def __init__(self) -> None:
        super().__init__("Building not found")


# The dashboard


@dataclass(frozen=True, slots=True)
class Dashboard:
    """Everything visible at a glance. Days are the calendar's in UTC; today is the transaction's.

    overdue: scheduled or in progress, dated before today. upcoming: scheduled from today to 30 days on.
    completed_this_month: completed, dated in today's month. last_inspection: the latest day, not after
    today, of a completed or failed inspection. next_inspection: the earliest day from today on of a
    scheduled one. What has no date is none of these.
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
    generated_at: str


def read_dashboard(transaction: Transaction, visible: VisibleRows) -> Dashboard:
    """Count everything visible as it stands at the transaction's moment."""
    key = ("dashboard", visible, transaction.moment.date())
    _, _, found = transaction.cached(
        key, lambda: count_dashboard(transaction, visible, key), size_of_dashboard, is_base=True
    )
    read_dashboard: Dashboard = replace(found, generated_at=transaction.now)
    return read_dashboard


def count_dashboard(
    transaction: Transaction, visible: VisibleRows, key: Hashable
) -> tuple[int, DashboardCounts, Dashboard]:
    """The last line of the audit log, the counts as of it, and their dashboard: incrementally, if that can be."""
    line, dashboard_counts = last_event_id(transaction), None
    latest = transaction.cache.latest(key)
    if latest is not None and latest[0] <= line:
        counted_at, then, _ = latest
        dashboard_counts = (
            then
            if counted_at == line
            else update_dashboard_counts(transaction, visible, then, counted_at)
        )
    if dashboard_counts is None:
        dashboard_counts = count_all(transaction, visible)
    return line, dashboard_counts, to_dashboard(dashboard_counts, transaction.now)


def size_of_dashboard(counted: tuple[int, DashboardCounts, Dashboard]) -> int:
    """The bytes that a dashboard takes in the cache."""
    _, dashboard_counts, _ = counted
    return sum(PAIR_BYTES + size_of(pair) for pair in dashboard_counts.status_counts.pairs)


def count_all(transaction: Transaction, visible: VisibleRows) -> DashboardCounts:
    buildings = counts.plan_buildings(transaction.dialect.name, visible.rule)
    status_counts = read_status_counts(transaction, visible)
    number = transaction.value(buildings.sql, buildings.bind(visible.binding()))
    return DashboardCounts(number, status_counts)


def to_dashboard(dashboard_counts: DashboardCounts, now: str) -> Dashboard:
    status_counts = dashboard_counts.status_counts
    return Dashboard(
        total_inspections=status_counts.total,
        total_buildings=dashboard_counts.buildings,
        by_status=status_counts.by_status(),
        by_type=status_counts.by_type(),
        overdue=status_counts.overdue,
        upcoming=status_counts.upcoming,
        completed_this_month=status_counts.completed_this_month,
        last_inspection=status_counts.last_inspection,
        next_inspection=status_counts.next_inspection,
        generated_at=now,
    )


# One building


@dataclass(frozen=True, slots=True)
class LeadReadings:
    """The lead-paint readings of a building."""

    readings: int
    by_result: Counts


@dataclass(frozen=True, slots=True)
class BuildingStats:
    """One building. The rates are the shares of completed and of failed ones among all its inspections,
    from 0 to 1, and 0 where it has none; the days are the dashboard's."""

    building_id: int
    name: str
    total_inspections: int
    by_status: Counts
    by_type: Counts
    last_inspection: str | None
    next_inspection: str | None
    overdue: int
    completion_rate: float
    failure_rate: float
    lead: LeadReadings


def read_building_stats(
    transaction: Transaction, visible: VisibleRows, building_id: int
) -> BuildingStats:
    """Count what happened in a building, or raise NoSuchBuilding."""
    named = counts.plan_building_name(transaction.dialect.name, visible.rule)
    name = transaction.value(named.sql, named.bind(visible.binding(building_id=building_id)))
    if name is None:
        raise NoSuchBuilding
    status_counts = read_status_counts(transaction, visible, building_id)
    by_status = status_counts.by_status()
    return BuildingStats(
        building_id=building_id,
        name=name,
        total_inspections=status_counts.total,
        by_status=by_status,
        by_type=status_counts.by_type(),
        last_inspection=status_counts.last_inspection,
        next_inspection=status_counts.next_inspection,
        overdue=status_counts.overdue,
        completion_rate=share(by_status[COMPLETED], status_counts.total),
        failure_rate=share(by_status[FAILED], status_counts.total),
        lead=read_lead(transaction, visible, building_id),
    )


def share(part: int, total: int) -> float:
    return round(part / total, RATE_DIGITS) if total else 0


def read_lead(transaction: Transaction, visible: VisibleRows, building_id: int) -> LeadReadings:
    statement = counts.plan_readings(transaction.dialect.name, visible.rule)
    rows = read_rows(transaction, statement, visible.binding(building_id=building_id))
    total = rows[0][2] if rows else 0
    rest = total - sum(row[1] for row in rows)
    return LeadReadings(total, labelled(((row[0], row[1]) for row in rows), (), rest))

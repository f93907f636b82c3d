"""The numbers of the dashboard and of one building, over the rows that a row rule shows.

The fields of `Dashboard` and `BuildingStats` are the keys of the response, in that order. docs/decisions/0017 gives
the cost.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, replace

from access.caller import VisibleRows
from engine.audit import last_entry_id
from engine.storage.transaction import Transaction
from engine.storage.versioned_cache import size_of
from inspections.faults import NoSuchBuilding
from inspections.reporting import counts
from inspections.reporting.counts import fetch_rows
from inspections.reporting.finding_counts import count_findings, refresh_findings
from inspections.reporting.incremental_counts import DashboardCounts, update_dashboard_counts
from inspections.reporting.status_counts import Counts, labelled, read_status_counts
from models.vocabulary import COMPLETED, FAILED

RATE_DIGITS = 4
PAIR_BYTES = 100  # of a pair and its count, without the texts


# The dashboard


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


def read_dashboard(transaction: Transaction, visible: VisibleRows) -> Dashboard:
    """Return the dashboard of all visible rows."""
    key = ("dashboard", visible, transaction.today)
    _, counted, cached = transaction.cached(
        key, lambda: count_dashboard(transaction, visible, key), size_of_dashboard, is_base=True
    )
    findings = refresh_findings(transaction, visible, counted.findings)
    dashboard: Dashboard = replace(cached, findings_overdue=findings.overdue, generated_at=transaction.now)
    return dashboard


def count_dashboard(
    transaction: Transaction, visible: VisibleRows, key: Hashable
) -> tuple[int, DashboardCounts, Dashboard]:
    """Return the last entry of the audit log, the counts as of it, and their dashboard.

    Update the cached counts, if possible; else count all rows.
    """
    entry, dashboard_counts = last_entry_id(transaction), None
    latest = transaction.cache.latest(key)
    if latest is not None and latest[0] <= entry:
        counted_at, cached, _ = latest
        dashboard_counts = (
            cached if counted_at == entry else update_dashboard_counts(transaction, visible, cached, counted_at)
        )
    if dashboard_counts is None:
        dashboard_counts = count_all(transaction, visible)
    return entry, dashboard_counts, to_dashboard(dashboard_counts, transaction)


def size_of_dashboard(counted: tuple[int, DashboardCounts, Dashboard]) -> int:
    """Return the size of a dashboard in the cache, in bytes."""
    _, dashboard_counts, _ = counted
    return sum(PAIR_BYTES + size_of(pair) for pair in dashboard_counts.status_counts.pairs)


def count_all(transaction: Transaction, visible: VisibleRows) -> DashboardCounts:
    """Return the counts of all visible rows by a full count."""
    buildings = counts.plan_buildings(transaction.dialect.name, visible.rule)
    status_counts = read_status_counts(transaction, visible)
    number = transaction.value(buildings.sql, buildings.bind(visible.binding()))
    return DashboardCounts(number, status_counts, count_findings(transaction, visible))


def to_dashboard(dashboard_counts: DashboardCounts, transaction: Transaction) -> Dashboard:
    """Return the dashboard of counts, at the time of a transaction."""
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
        open_findings=dashboard_counts.findings.open,
        findings_overdue=dashboard_counts.findings.overdue,
        generated_at=transaction.now,
        today=transaction.today.isoformat(),
        timezone=str(transaction.time_zone),
    )


# One building


@dataclass(frozen=True, slots=True)
class LeadReadings:
    """The lead-paint readings of a building."""

    readings: int
    by_result: Counts


@dataclass(frozen=True, slots=True)
class BuildingStats:
    """The counts of one building. The rates are the shares of completed and of failed inspections, from 0 to 1, and 0
    without an inspection. The other fields are those of `Dashboard`."""

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


def read_building_stats(transaction: Transaction, visible: VisibleRows, building_id: int) -> BuildingStats:
    """Return the counts of a building. Raise NoSuchBuilding if it is not visible."""
    statement = counts.plan_building_name(transaction.dialect.name, visible.rule)
    name = transaction.value(statement.sql, statement.bind(visible.binding(building_id=building_id)))
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
    """Return a share from 0 to 1, rounded to RATE_DIGITS digits; 0 of a total of 0."""
    return round(part / total, RATE_DIGITS) if total else 0


def read_lead(transaction: Transaction, visible: VisibleRows, building_id: int) -> LeadReadings:
    """Return the counts of a building's readings."""
    statement = counts.plan_readings(transaction.dialect.name, visible.rule)
    rows = fetch_rows(transaction, statement, visible.binding(building_id=building_id))
    total = rows[0][2] if rows else 0
    rest = total - sum(row[1] for row in rows)
    return LeadReadings(total, labelled(((row[0], row[1]) for row in rows), (), rest))

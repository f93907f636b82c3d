"""Update cached counts by the changes since, at a cost that depends on the changes and not on all rows.

Subtract the former states of the changed rows and add their current states. The functions return None if the result
is uncertain and a full count is needed (docs/decisions/0017).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from access.caller import VisibleRows
from engine.storage.transaction import Transaction
from inspections.reporting import chart_statements, counts
from inspections.reporting.changes import COUNT_DELTAS, ChangesSince, InspectionState, read_changes_since
from inspections.reporting.chart_counts import BusyBuilding, Points, Window, read_outcomes
from inspections.reporting.chart_statements import BUSIEST_MAX
from inspections.reporting.counts import LABEL_CHARACTERS_MAX, fetch_rows
from inspections.reporting.finding_counts import FindingCounts, count_findings
from inspections.reporting.status_counts import Pair, StatusCounts, calendar_days
from models.vocabulary import COMPLETED, IN_PROGRESS, SCHEDULED


@dataclass(frozen=True, slots=True)
class DashboardCounts:
    """The number of buildings and the counts of inspections and findings, as of an entry of the audit log."""

    buildings: int
    status_counts: StatusCounts
    findings: FindingCounts


def update_dashboard_counts(
    transaction: Transaction, visible: VisibleRows, cached: DashboardCounts, entry: int
) -> DashboardCounts | None:
    """Return the current counts, given the cached ones and their entry of the audit log, or None."""
    since = read_changes_since(transaction, visible, entry, cached.status_counts.total)
    if since is None:
        return None
    buildings = sum(COUNT_DELTAS[each.action] for each in since.buildings)
    status_counts = update_status_counts(transaction, visible, cached.status_counts, since)
    if status_counts is None:
        return None
    is_current = not since.has_findings and cached.findings.holds_at(transaction.now)
    findings = cached.findings if is_current else count_findings(transaction, visible)
    return DashboardCounts(cached.buildings + buildings, status_counts, findings)


def update_status_counts(
    transaction: Transaction, visible: VisibleRows, status_counts: StatusCounts, since: ChangesSince
) -> StatusCounts | None:
    """Return the counts after the changes, or None."""
    days = calendar_days(transaction.today)
    pairs = Counter(status_counts.pairs)
    sums = Counter(
        overdue=status_counts.overdue,
        upcoming=status_counts.upcoming,
        completed_this_month=status_counts.completed_this_month,
    )
    for state, times in state_deltas(since):
        pairs[pair_of(state)] += times
        for kind in calendar_counts(state, days):
            sums[kind] += times
    pairs = Counter({pair: count for pair, count in pairs.items() if count})
    if status_counts.rest or len(pairs) > counts.LABELS_MAX or min([*pairs.values(), *sums.values()]) < 0:
        return None
    ends = counts.plan_nearest_days(transaction.dialect.name, visible.rule)
    ((completed, failed, upcoming),) = fetch_rows(transaction, ends, visible.binding(**days))
    last = max((day for day in (completed, failed) if day is not None), default=None)
    return StatusCounts(pairs, 0, pairs.total(), **sums, last_inspection=last, next_inspection=upcoming)


def state_deltas(since: ChangesSince) -> Iterator[tuple[InspectionState, int]]:
    """Yield each former state with -1 and each current state with 1."""
    for states, times in ((since.former, -1), (since.current, 1)):
        yield from ((state, times) for state in states.values() if state is not None)


def pair_of(state: InspectionState) -> Pair:
    """Return the type and status that an inspection counts under."""
    return state["inspection_type"][:LABEL_CHARACTERS_MAX], status_of(state)


def status_of(state: InspectionState) -> str | None:
    """Return the status that an inspection counts under."""
    status: str | None = state["status"]
    return status[:LABEL_CHARACTERS_MAX] if status is not None else None


def calendar_counts(state: InspectionState, days: Mapping[str, str]) -> Iterator[str]:
    """Yield the names of the calendar counts that include an inspection."""
    status, day = state["status"], state["date_visited"]
    if day is None:
        return
    if status in (SCHEDULED, IN_PROGRESS) and day < days["today"]:
        yield "overdue"
    if status == SCHEDULED and days["today"] <= day <= days["soon"]:
        yield "upcoming"
    if status == COMPLETED and days["month_start"] <= day <= days["month_end"]:
        yield "completed_this_month"


# The chart


def update_points(
    transaction: Transaction, visible: VisibleRows, window: Window, cached: Points, entry: int
) -> Points | None:
    """Return the current points, given the cached ones and their entry of the audit log, or None."""
    since = read_changes_since(transaction, visible, entry, sum(cached.counted.values()))
    if since is None:
        return None
    counted, changed = Counter(cached.counted), {each.key for each in since.buildings}
    for state, times in state_deltas(since):
        day = state["date_visited"]
        if day is not None and window.start <= day <= window.end:
            counted[day[: window.characters], status_of(state)] += times
            changed.add(state["building_id"])
    counted = Counter({point: count for point, count in counted.items() if count})
    if len(counted) > chart_statements.POINT_LABELS_MAX or min(counted.values(), default=0) < 0:
        return None
    busiest = update_busiest(transaction, visible, window, cached.busiest, changed)
    return Points(counted, busiest) if busiest is not None else None


def update_busiest(
    transaction: Transaction, visible: VisibleRows, window: Window, cached: list[BusyBuilding], changed: set[int]
) -> list[BusyBuilding] | None:
    """Return the busiest buildings after a change of some, or None. The counts of other buildings are unchanged."""
    statement = chart_statements.plan_building_names(transaction.dialect.name, visible.rule)
    names = dict(fetch_rows(transaction, statement, visible.binding(*changed)))
    outcomes = read_outcomes(transaction, visible, window, names)
    busiest = [each for each in cached if each.building_id not in changed]
    busiest += [BusyBuilding(key, names[key], *outcome) for key, outcome in outcomes.items()]
    busiest = sorted(busiest, key=rank)[:BUSIEST_MAX]
    # A full list left out buildings. They are known only to rank after its last one.
    is_full = len(cached) == BUSIEST_MAX
    if is_full and (len(busiest) < BUSIEST_MAX or rank(busiest[-1]) > rank(cached[-1])):
        return None
    return busiest


def rank(building: BusyBuilding) -> tuple[int, int]:
    """Return the sort key of a building: by count descending, then by id."""
    return -building.total, building.building_id

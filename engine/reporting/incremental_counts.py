"""What was counted, brought up to date by what has changed since: it costs what changed, not all that there is.

What changed rows were is taken away, and what they are is added; None where that does not tell for certain,
and all has to be counted anew. Decision 0017 says when that is, and why.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass

from engine.query.dialect.base import json_array
from engine.reporting import chart_statements
from engine.reporting import counts
from engine.reporting.changes import COUNT_DELTAS
from engine.reporting.changes import ChangesSince
from engine.reporting.changes import InspectionState
from engine.reporting.changes import read_changes_since
from engine.reporting.chart_counts import BusyBuilding
from engine.reporting.chart_counts import Points
from engine.reporting.chart_counts import Window
from engine.reporting.chart_counts import read_outcomes
from engine.reporting.chart_statements import BUSIEST_MAX
from engine.reporting.counts import COMPLETED
from engine.reporting.counts import IN_PROGRESS
from engine.reporting.counts import LABEL_CHARACTERS_MAX
from engine.reporting.counts import SCHEDULED
from engine.reporting.status_counts import Pair
from engine.reporting.status_counts import StatusCounts
from engine.reporting.status_counts import calendar_days
from engine.reporting.visible_rows import VisibleRows
from engine.reporting.visible_rows import read_rows
from engine.storage.transaction import Transaction


@dataclass(frozen=True, slots=True)
class DashboardCounts:
    """How many buildings, and the tally of the inspections, as of one line of the trail."""

    buildings: int
    status_counts: StatusCounts


def update_dashboard_counts(
    transaction: Transaction, visible: VisibleRows, then: DashboardCounts, line: int
) -> DashboardCounts | None:
    """What was counted as of a line of the trail, as of now."""
    since = read_changes_since(transaction, visible, line, then.status_counts.total)
    if since is None:
        return None
    buildings = sum(COUNT_DELTAS[each.action] for each in since.buildings)
    status_counts = update_status_counts(transaction, visible, then.status_counts, since)
    return (
        DashboardCounts(then.buildings + buildings, status_counts)
        if status_counts is not None
        else None
    )


def update_status_counts(
    transaction: Transaction, visible: VisibleRows, status_counts: StatusCounts, since: ChangesSince
) -> StatusCounts | None:
    """A tally after inspections have become what they are."""
    days = calendar_days(transaction.moment.date())
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
    if (
        status_counts.rest
        or len(pairs) > counts.LABELS_MAX
        or min([*pairs.values(), *sums.values()]) < 0
    ):
        return None
    ends = counts.plan_nearest_days(transaction.dialect.name, visible.rule)
    ((completed, failed, following),) = read_rows(transaction, ends, visible.binding(**days))
    last = max((day for day in (completed, failed) if day is not None), default=None)
    return StatusCounts(
        pairs, 0, pairs.total(), **sums, last_inspection=last, next_inspection=following
    )


def state_deltas(since: ChangesSince) -> Iterator[tuple[InspectionState, int]]:
    """What changed rows were, each once less, and what they are, each once more."""
    for states, times in ((since.then, -1), (since.now, 1)):
        yield from ((state, times) for state in states.values() if state is not None)


def pair_of(state: InspectionState) -> Pair:
    return state["inspection_type"][:LABEL_CHARACTERS_MAX], status_of(state)


def status_of(state: InspectionState) -> str | None:
    status: str | None = state["status"]
    return status[:LABEL_CHARACTERS_MAX] if status is not None else None


def calendar_counts(state: InspectionState, days: Mapping[str, str]) -> Iterator[str]:
    """Which of the calendar's numbers an inspection counts in."""
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
    transaction: Transaction,
    visible: VisibleRows,
    window: Window,
    then: Points,
    line: int,
) -> Points | None:
    """What a chart counted as of a line of the trail, as of now."""
    since = read_changes_since(transaction, visible, line, sum(then.counted.values()))
    if since is None:
        return None
    counted, changed = Counter(then.counted), {each.key for each in since.buildings}
    for state, times in state_deltas(since):
        day = state["date_visited"]
        if day is not None and window.start <= day <= window.end:
            counted[day[: window.characters], status_of(state)] += times
            changed.add(state["building_id"])
    counted = Counter({point: count for point, count in counted.items() if count})
    if len(counted) > chart_statements.POINT_LABELS_MAX or min(counted.values(), default=0) < 0:
        return None
    busiest = update_busiest(transaction, visible, window, then.busiest, changed)
    return Points(counted, busiest) if busiest is not None else None


def update_busiest(
    transaction: Transaction,
    visible: VisibleRows,
    window: Window,
    then: list[BusyBuilding],
    changed: set[int],
) -> list[BusyBuilding] | None:
    """The busiest buildings after some have changed; the others are as busy as they were."""
    statement = chart_statements.plan_building_names(transaction.dialect.name, visible.rule)
    names = dict(read_rows(transaction, statement, visible.binding(json_array(changed))))
    outcomes = read_outcomes(transaction, visible, window, names)
    found = [each for each in then if each.building_id not in changed]
    found += [BusyBuilding(key, names[key], *outcome) for key, outcome in outcomes.items()]
    found = sorted(found, key=rank)[:BUSIEST_MAX]
    # Of those that a full list left out nothing is known but that they were no busier than its last.
    if len(then) == BUSIEST_MAX and (len(found) < BUSIEST_MAX or rank(found[-1]) > rank(then[-1])):
        return None
    return found


def rank(building: BusyBuilding) -> tuple[int, int]:
    """The place among the busiest: the busier first, then by id."""
    return -building.total, building.building_id

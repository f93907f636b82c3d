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
from engine.reporting import chart_statements as chart_statements
from engine.reporting import counts
from engine.reporting.changes import STEPS
from engine.reporting.changes import Since
from engine.reporting.changes import State
from engine.reporting.changes import read_since
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
from engine.reporting.status_counts import Tally
from engine.reporting.status_counts import calendar_days
from engine.reporting.visible_rows import Visible
from engine.reporting.visible_rows import read
from engine.storage.database import Transaction


@dataclass(frozen=True, slots=True)
class Followed:
    """How many buildings, and the tally of the inspections, as of one line of the trail."""

    buildings: int
    tally: Tally


def follow(
    transaction: Transaction, visible: Visible, then: Followed, line: int
) -> Followed | None:
    """What was counted as of a line of the trail, as of now."""
    since = read_since(transaction, visible, line, then.tally.total)
    if since is None:
        return None
    buildings = sum(STEPS[each.action] for each in since.buildings)
    tally = tally_after(transaction, visible, then.tally, since)
    return Followed(then.buildings + buildings, tally) if tally is not None else None


def tally_after(
    transaction: Transaction, visible: Visible, tally: Tally, since: Since
) -> Tally | None:
    """A tally after inspections have become what they are."""
    days = calendar_days(transaction.moment.date())
    pairs = Counter(tally.pairs)
    sums = Counter(
        overdue=tally.overdue,
        upcoming=tally.upcoming,
        completed_this_month=tally.completed_this_month,
    )
    for state, times in gone_and_come(since):
        pairs[pair_of(state)] += times
        for kind in kinds(state, days):
            sums[kind] += times
    pairs = Counter({pair: count for pair, count in pairs.items() if count})
    if tally.rest or len(pairs) > counts.LABELS_MAX or min([*pairs.values(), *sums.values()]) < 0:
        return None
    ends = counts.plan_ends(transaction.dialect.name, visible.rule)
    ((completed, failed, following),) = read(transaction, ends, visible.binding(**days))
    last = max((day for day in (completed, failed) if day is not None), default=None)
    return Tally(pairs, 0, pairs.total(), **sums, last_inspection=last, next_inspection=following)


def gone_and_come(since: Since) -> Iterator[tuple[State, int]]:
    """What changed rows were, each once less, and what they are, each once more."""
    for states, times in ((since.then, -1), (since.now, 1)):
        yield from ((state, times) for state in states.values() if state is not None)


def pair_of(state: State) -> Pair:
    return state["inspection_type"][:LABEL_CHARACTERS_MAX], status_of(state)


def status_of(state: State) -> str | None:
    status: str | None = state["status"]
    return status[:LABEL_CHARACTERS_MAX] if status is not None else None


def kinds(state: State, days: Mapping[str, str]) -> Iterator[str]:
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


def follow_points(
    transaction: Transaction,
    visible: Visible,
    window: Window,
    then: Points,
    line: int,
) -> Points | None:
    """What a chart counted as of a line of the trail, as of now."""
    since = read_since(transaction, visible, line, sum(then.counted.values()))
    if since is None:
        return None
    counted, changed = Counter(then.counted), {each.key for each in since.buildings}
    for state, times in gone_and_come(since):
        day = state["date_visited"]
        if day is not None and window.start <= day <= window.end:
            counted[day[: window.characters], status_of(state)] += times
            changed.add(state["building_id"])
    counted = Counter({point: count for point, count in counted.items() if count})
    if len(counted) > chart_statements.POINT_LABELS_MAX or min(counted.values(), default=0) < 0:
        return None
    busiest = busiest_after(transaction, visible, window, then.busiest, changed)
    return Points(counted, busiest) if busiest is not None else None


def busiest_after(
    transaction: Transaction,
    visible: Visible,
    window: Window,
    then: list[BusyBuilding],
    changed: set[int],
) -> list[BusyBuilding] | None:
    """The busiest buildings after some have changed; the others are as busy as they were."""
    statement = chart_statements.plan_names(transaction.dialect.name, visible.rule)
    names = dict(read(transaction, statement, visible.binding(json_array(changed))))
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

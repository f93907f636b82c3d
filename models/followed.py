"""A tally brought up to date by what the trail tells since: a change costs what it changed, not all that there is.

The trail has each change of a row as it was and as it became, in the order in which the changes were made; a
row that changes hands leaves one client and comes to another. So what a row was is what it is now, with the
lines since undone, the newest first..
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models import Building
from models import Inspection
from models.audit_log import AuditLog
from models.db import Transaction
from models.sql import counts
from models.sql.counts import COMPLETED
from models.sql.counts import IN_PROGRESS
from models.sql.counts import LABEL_CHARACTERS_MAX
from models.sql.counts import SCHEDULED
from models.sql.rule import Extent
from models.tally import Pair
from models.tally import Tally
from models.tally import Visible
from models.tally import calendar_days
from models.tally import read

LINES_MAX = 2_000  # beyond that, or a fiftieth of what there is, to count anew is no dearer
LINES_MIN = 50

INSPECTIONS, BUILDINGS = Inspection.__tablename__, Building.__tablename__

STEPS = {"insert": 1, "update": 0, "delete": -1}
"""What happens to rows, and how many more there are for it."""

State = Mapping[str, Any]
"""Of an inspection, its type, status and date, at least."""


@dataclass(frozen=True, slots=True)
class Followed:
    """How many buildings, and the tally of the inspections, as of one line of the trail."""

    buildings: int
    tally: Tally


@dataclass(frozen=True, slots=True)
class Change:
    """A line of the trail, of a change of a row; `before` are the columns that were other, or all of them."""

    relation: str
    key: int
    action: str
    before: State


def follow(
    transaction: Transaction, visible: Visible, earlier: tuple[int, Followed], line: int
) -> Followed | None:
    """What was counted as of an earlier line, as of this one; None where it has to be counted anew."""
    since, then = earlier
    bound = min(LINES_MAX, max(LINES_MIN, then.tally.total // 50))
    if not (transaction.spelling.trail_is_in_order and 0 < line - since <= bound):
        return None
    changes = read_changes(transaction, visible, since)
    if changes is None:
        return None
    buildings = sum(STEPS[each.action] for each in changes if each.relation == BUILDINGS)
    touched = [each for each in changes if each.relation == INSPECTIONS]
    tally = tally_after(transaction, visible, then.tally, touched) if touched else then.tally
    return None if tally is None else Followed(then.buildings + buildings, tally)


def read_changes(transaction: Transaction, visible: Visible, since: int) -> list[Change] | None:
    """The changes of visible rows, the newest first; None where the trail does not tell them row by row."""
    extents = {visible.rule.extent(model) for model in (Inspection, Building, AuditLog)}
    if extents not in ({Extent.EVERYTHING}, {Extent.OWN_CLIENT}):
        return None
    statement = counts.plan_lines(transaction.spelling.name)
    lines = read(transaction, statement, visible.binding(since=since))
    if any(relation not in (INSPECTIONS, BUILDINGS) for relation, *_ in lines):
        return None  # an import: one line for all of it
    return [
        Change(relation, int(key), action, json.loads(before) if before else {})
        for relation, key, action, client_id, before in lines
        if action in STEPS  # and no refusal
        and (extents == {Extent.EVERYTHING} or client_id == visible.caller_client_id)
    ]


def tally_after(
    transaction: Transaction, visible: Visible, tally: Tally, changes: list[Change]
) -> Tally | None:
    """A tally with these changes of inspections made to it; None where that cannot be told for certain."""
    now = read_states(transaction, visible, {each.key for each in changes})
    then: dict[int, State | None] = dict(now)
    for change in changes:
        state = then[change.key]
        if state is None and change.action == "update":
            return None  # a row that went without a line of its own
        then[change.key] = undone(change, state)
    pairs = Counter(tally.pairs)
    sums = Counter(
        overdue=tally.overdue,
        upcoming=tally.upcoming,
        completed_this_month=tally.completed_this_month,
    )
    days = calendar_days(transaction.moment.date())
    for states, times in ((then, -1), (now, 1)):
        for state in states.values():
            if state is not None:
                pairs[pair_of(state)] += times
                sums.update(dict.fromkeys(kinds(state, days), times))
    pairs = Counter({pair: count for pair, count in pairs.items() if count})
    if tally.rest or len(pairs) > counts.LABELS_MAX or min([*pairs.values(), *sums.values()]) < 0:
        return None
    ends = counts.plan_ends(transaction.spelling.name, visible.rule)
    ((completed, failed, following),) = read(transaction, ends, visible.binding(**days))
    last = max((day for day in (completed, failed) if day is not None), default=None)
    return Tally(pairs, 0, pairs.total(), **sums, last_inspection=last, next_inspection=following)


def read_states(
    transaction: Transaction, visible: Visible, keys: set[int]
) -> dict[int, State | None]:
    """Those inspections as they are now; None for those that are not there, or not visible."""
    statement = counts.plan_states(transaction.spelling.name, visible.rule)
    rows = read(transaction, statement, visible.binding(json.dumps(list(keys))))
    found = {
        key: {"inspection_type": kind, "status": status, "date_visited": day}
        for key, kind, status, day in rows
    }
    return {key: found.get(key) for key in keys}


def undone(change: Change, state: State | None) -> State | None:
    """What a row was before a change; None: there was none."""
    if change.action == "insert":
        return None
    return {**(state or {}), **change.before}


def pair_of(state: State) -> Pair:
    kind, status = state["inspection_type"], state["status"]
    short = status[:LABEL_CHARACTERS_MAX] if status is not None else None
    return kind[:LABEL_CHARACTERS_MAX], short


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

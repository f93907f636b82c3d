"""The numbers of dashboard, chart and building, over whatever rows it is handed as visible.

It is handed a rule and the values of whoever asks, and knows no role. The fields of what it answers are
the keys of the answer, in that order. What counts as overdue, upcoming, last, next and so on is said
where it is answered, and why in docs/decisions/0101; what it costs, in 0102.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import replace
from typing import Any

from models.audit import last_change
from models.db import Transaction
from models.faults import Fault
from models.sql import counts
from models.sql.counts import COMPLETED
from models.sql.counts import FAILED
from models.sql.counts import STATUSES
from models.sql.rule import Rule
from models.sql.statement import Binding
from models.sql.statement import Statement
from models.types import Bound

Counts = dict[str, int]

TYPES = ("annual", "fire", "lead", "structural", "emergency")

NO_LABEL = "none"  # where an inspection has no status, or a reading no result
OTHER_LABEL = "other"  # what is not told apart any more
UPCOMING_DAYS = 30
RATE_DIGITS = 4


class NoSuchBuilding(Fault):
    """A building that is not there or not to be seen (PT404); nobody is told which."""

    def __init__(self) -> None:
        super().__init__("Building not found")


@dataclass(frozen=True, slots=True)
class Visible:
    """The rows that count: a rule, and the values that it takes of whoever asks."""

    rule: Rule
    caller_id: str | None
    caller_client_id: int | None

    def binding(self, keys: str = "[]", **given: Bound) -> Binding:
        return Binding(
            caller_id=self.caller_id,
            caller_client_id=self.caller_client_id,
            keys=keys,
            new=counts.places(**given),
        )


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


def dashboard(transaction: Transaction, visible: Visible) -> Dashboard:
    """Count everything visible as it stands at the transaction's moment."""
    today = transaction.moment.date()
    found = transaction.remembered.get(
        last_change(transaction),
        ("dashboard", visible, today),
        lambda: count_dashboard(transaction, visible),
    )
    return replace(found, generated_at=transaction.now)


def count_dashboard(transaction: Transaction, visible: Visible) -> Dashboard:
    database = transaction.spelling.name
    tally = read_tally(transaction, visible)
    buildings = counts.plan_buildings(database, visible.rule)
    return Dashboard(
        total_inspections=tally.total,
        total_buildings=transaction.value(buildings.sql, buildings.bind(visible.binding())),
        by_status=tally.by_status,
        by_type=tally.by_type,
        overdue=tally.overdue,
        upcoming=tally.upcoming,
        completed_this_month=tally.completed_this_month,
        last_inspection=tally.last_inspection,
        next_inspection=tally.next_inspection,
        generated_at=transaction.now,
    )


# One building


@dataclass(frozen=True, slots=True)
class Lead:
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
    lead: Lead


def building_stats(transaction: Transaction, visible: Visible, building_id: int) -> BuildingStats:
    """Count what happened in a building, or raise NoSuchBuilding."""
    named = counts.plan_name(transaction.spelling.name, visible.rule)
    name = transaction.value(named.sql, named.bind(visible.binding(building_id=building_id)))
    if name is None:
        raise NoSuchBuilding
    tally = read_tally(transaction, visible, building_id)
    return BuildingStats(
        building_id=building_id,
        name=name,
        total_inspections=tally.total,
        by_status=tally.by_status,
        by_type=tally.by_type,
        last_inspection=tally.last_inspection,
        next_inspection=tally.next_inspection,
        overdue=tally.overdue,
        completion_rate=share(tally.by_status[COMPLETED], tally.total),
        failure_rate=share(tally.by_status[FAILED], tally.total),
        lead=read_lead(transaction, visible, building_id),
    )


def share(part: int, total: int) -> float:
    return round(part / total, RATE_DIGITS) if total else 0


def read_lead(transaction: Transaction, visible: Visible, building_id: int) -> Lead:
    statement = counts.plan_readings(transaction.spelling.name, visible.rule)
    rows = read(transaction, statement, visible.binding(building_id=building_id))
    total = rows[0][2] if rows else 0
    rest = total - sum(row[1] for row in rows)
    return Lead(total, labelled(((row[0], row[1]) for row in rows), (), rest))


# What dashboard and building have in common


@dataclass(frozen=True, slots=True)
class Tally:
    """Inspections by status and by type, each adding up to the total, and where they are in time."""

    by_status: Counts
    by_type: Counts
    total: int = 0
    overdue: int = 0
    upcoming: int = 0
    completed_this_month: int = 0
    last_inspection: str | None = None
    next_inspection: str | None = None


def read_tally(transaction: Transaction, visible: Visible, building_id: int | None = None) -> Tally:
    """Tally all visible inspections, or those of one building that is known to be visible.

    All that is counted over more than a building comes through here: totals kept beside the rows
    can take the place of its one pass.
    """
    statement = counts.plan_tally(
        transaction.spelling.name, visible.rule, of_building=building_id is not None
    )
    days = calendar_days(transaction.moment.date())
    rows = read(transaction, statement, visible.binding(building_id=building_id, **days))
    if not rows:
        return Tally(labelled((), STATUSES), labelled((), TYPES))
    total, overdue, upcoming, completed, last, following = rows[0][3:]
    rest = total - sum(row[2] for row in rows)
    return Tally(
        labelled(((row[1], row[2]) for row in rows), STATUSES, rest),
        labelled(((row[0], row[2]) for row in rows), TYPES, rest),
        total,
        overdue or 0,
        upcoming or 0,
        completed or 0,
        last,
        following,
    )


def read(transaction: Transaction, statement: Statement, binding: Binding) -> list[Any]:
    return transaction.all(statement.sql, statement.bind(binding))


def calendar_days(today: datetime.date) -> dict[str, str]:
    """The days on which the calendar's numbers turn.

    >>> calendar_days(datetime.date(2024, 2, 9))["month_end"]
    '2024-02-29'
    """
    one = datetime.timedelta(days=1)
    month_end = month_start(today, 1) - one
    return {
        "today": today.isoformat(),
        "soon": (today + UPCOMING_DAYS * one).isoformat(),
        "month_start": month_start(today).isoformat(),
        "month_end": month_end.isoformat(),
    }


def month_start(day: datetime.date, months_later: int = 0) -> datetime.date:
    """The first day of a day's month, or of one so many months later; never before the first of all.

    >>> month_start(datetime.date(2025, 3, 9), -3)
    datetime.date(2024, 12, 1)
    """
    place = max(day.year * 12 + day.month - 1 + months_later, 12)
    return datetime.date(place // 12, place % 12 + 1, 1)


def labelled(
    counted: Iterable[tuple[str | None, int]], common: tuple[str, ...], rest: int = 0
) -> Counts:
    """Counts by label: the common ones always and first, then what else there is, by name.

    >>> labelled([("b", 1), (None, 2), ("b", 3), ("a", 1)], ("z", "a"), rest=5)
    {'z': 0, 'a': 1, 'b': 4, 'none': 2, 'other': 5}
    """
    found: Counts = {}
    for label, count in counted:
        name = NO_LABEL if label is None else label
        found[name] = found.get(name, 0) + count
    if rest:
        found[OTHER_LABEL] = found.get(OTHER_LABEL, 0) + rest
    return {name: found.pop(name, 0) for name in common} | dict(sorted(found.items()))

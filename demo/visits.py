"""Inspections and their notes, from random values relative to today."""

from __future__ import annotations

import random
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from demo.vocabulary import INSPECTORS_OF_CLIENT, NOTES, NOTES_CANCELLED, NOTES_OPEN, NOTES_UNDER_WAY
from models.vocabulary import CANCELLED, COMPLETED, EMERGENCY, FAILED, IN_PROGRESS, INSPECTION_TYPES, SCHEDULED

Row = dict[str, Any]


class Sampler:
    """Draws values. Equal seeds and days give equal values."""

    def __init__(self, today: date, seed: int) -> None:
        self.today = today
        self.rng = random.Random(seed)  # noqa: S311  (no secrets)

    def day(self, days: int) -> date:
        """Return the date a number of days from today."""
        return self.today + timedelta(days=days)

    def moment(self, day: date, hour: int) -> str:
        """Return a timestamp within an hour of a day."""
        return datetime.combine(day, time(hour, self.count(0, 59)), UTC).isoformat()

    def count(self, least: int, most: int) -> int:
        return self.rng.randint(least, most)

    def weighted_choice(self, **weights: int) -> str:
        return self.rng.choices(list(weights), list(weights.values()))[0]


def working_day(day: date) -> date:
    """Return the day, or the Friday before a weekend."""
    return day - timedelta(days=max(0, day.weekday() - 4))


DAYS_PAST = 3 * 365
DAYS_AHEAD = 60
DAYS_UNDER_WAY = 14  # the longest time in progress
DAYS_OVERDUE = 45  # the longest time scheduled and overdue

TYPE_WEIGHTS = (42, 22, 15, 12, 9)


@dataclass(slots=True, eq=False)
class VisitRows:
    """The row of an inspection, and of its planned visit if it belongs to a schedule or a case."""

    building: Row
    inspection: Row
    planned: Row | None = None

    @property
    def day(self) -> date:
        return date.fromisoformat(self.inspection["date_visited"])

    @property
    def status(self) -> str:
        return str(self.inspection["status"])

    @property
    def closed_at(self) -> str:
        """The time of the last change: of a closed visit, the time at which it was closed."""
        return str(self.inspection["updated_at"])


class VisitComposer:
    """Generates inspections."""

    def __init__(self, sampler: Sampler) -> None:
        self.sampler = sampler

    def unplanned(self, building: Row) -> VisitRows:
        """Return an inspection of the last three years, or of the next weeks, that no schedule made."""
        kind = self.sampler.rng.choices(INSPECTION_TYPES, TYPE_WEIGHTS)[0]
        day = self.random_day(emergency=kind == EMERGENCY)
        # An emergency is created on its day. Other inspections are booked weeks before, on a past day.
        notice = 0 if kind == EMERGENCY else self.sampler.count(5, 42)
        created = self.sampler.moment(min(day - timedelta(days=notice), self.sampler.day(-1)), 8)
        return self.visit(building, kind, day, self.random_status(kind, day), self.inspector_of(building, day), created)

    def visit(
        self, building: Row, kind: str, day: date, status: str, inspector_id: int | None, created_at: str
    ) -> VisitRows:
        """Return an inspection. One that is no longer scheduled was changed on its day."""
        is_changed = status in (COMPLETED, FAILED, IN_PROGRESS) and day < self.sampler.today
        inspection = {
            "id": 0,
            "building_id": building["id"],
            "inspection_type": kind,
            "date_visited": day.isoformat(),
            "status": status,
            "inspector_id": inspector_id,
            "notes": self.notes(kind, status, building),
            "created_at": created_at,
            "updated_at": self.sampler.moment(day, 16) if is_changed else created_at,
        }
        return VisitRows(building, inspection)

    def random_day(self, *, emergency: bool) -> date:
        day = self.sampler.day(self.sampler.count(-DAYS_PAST, -1 if emergency else DAYS_AHEAD))
        return day if emergency else working_day(day)

    def random_status(self, kind: str, day: date) -> str:
        age_days, choice = (self.sampler.today - day).days, self.sampler.weighted_choice
        if kind == EMERGENCY:
            return choice(in_progress=50 if age_days < 4 else 0, completed=80, failed=20)
        if age_days < 0:
            return choice(scheduled=96, cancelled=4)
        if age_days <= DAYS_UNDER_WAY:
            return choice(scheduled=15, in_progress=25, completed=50, failed=7, cancelled=3)
        if age_days <= DAYS_OVERDUE:
            return choice(scheduled=10, completed=75, failed=10, cancelled=5)
        return choice(completed=84, failed=11, cancelled=5)

    def inspector_of(self, building: Row, day: date) -> int | None:
        """Choose an inspector of the client. Half of the inspections more than three weeks ahead have none."""
        if day > self.sampler.day(21) and self.sampler.rng.random() < 0.5:
            return None
        return self.sampler.rng.choice(INSPECTORS_OF_CLIENT[building["client_id"]])

    def notes(self, kind: str, status: str, building: Row) -> str | None:
        notes_by_status = {SCHEDULED: NOTES_OPEN, IN_PROGRESS: NOTES_UNDER_WAY, CANCELLED: NOTES_CANCELLED}
        templates = notes_by_status.get(status) or NOTES[kind, status]
        if self.sampler.rng.random() < (0.75 if status == SCHEDULED else 0.1):
            return None
        return with_unit(self.sampler.rng.choice(templates), self.sampler, building)


def with_unit(template: str, sampler: Sampler, building: Row) -> str:
    """Return a text with a floor and a unit of the building."""
    floor = sampler.count(1, building["floors"])
    return template.format(floor=floor, floors=building["floors"], unit=f"{floor}{sampler.rng.choice('ABCDEF')}")

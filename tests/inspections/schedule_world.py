"""Schedules over the data set, at a set time, and the plans that follow from requests."""

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass

from engine.storage.database import SqliteDatabase
from tests.conftest import DATASET, Api
from tests.support.set_clock import SetClock

MOMENT = "2026-01-05T12:00:00+00:00"
TODAY = "2026-01-05"

BUILDING, OTHER_BUILDING, VACANT = 1, 2, 6
"""Buildings of client 1."""
READ_ONLY, ELSEWHERE, MISSING = 5, 4, 999
"""A building of client 2 that ada reads by a grant, one that she does not see, and one that does not exist."""

REPRESENTED = "return=representation"
MERGE = "resolution=merge-duplicates"


@dataclass(frozen=True, slots=True)
class ScheduleWorld:
    """Requests of a super admin over schedules of VACANT. Ids of the data set's schedules are at most 4."""

    api: Callable

    @property
    def root(self) -> Api:
        return self.api("root")

    @property
    def stored(self) -> SqliteDatabase:
        return self.root.database.own.extensions["walkthrough"]

    def set_clock(self, moment: str) -> None:
        self.stored.clock.set(moment)

    def tick(self) -> None:
        """Advance the clock, so that a change has another time than the creation."""
        self.stored.clock.unix += 1

    def wait_until(self, day: str | None) -> None:
        """Advance the clock to noon of a day. A result lies in the past."""
        moment = datetime.datetime.fromisoformat(f"{day or TODAY}T12:00:00+00:00")
        self.stored.clock.unix = max(self.stored.clock.unix, int(moment.timestamp()))

    def body(self, **values: object) -> dict:
        """Return a new schedule: every 3 months from 2026-01-31, counted from the planned day."""
        plain = {"building_id": VACANT, "inspection_type": "fire", "every": 3, "unit": "month"}
        return {**plain, "first_due": "2026-01-31", **values}

    def create(self, **values: object) -> int:
        """Create a schedule, and return its id."""
        response = self.root.post("/schedules", self.body(**values), prefer=REPRESENTED)
        assert response.status == 201, response.text
        return response.json[0]["id"]

    def change(self, schedule_id: int, **values: object) -> None:
        """Change a schedule at a later time."""
        self.tick()
        response = self.root.patch(f"/schedules?id=eq.{schedule_id}", values)
        assert response.status == 204, response.text

    def plans(self, schedule_id: int) -> list[dict]:
        """Return the plans of a schedule with their inspections, in the order in which they were made."""
        return self.root.get(
            f"/inspection_plans?schedule_id=eq.{schedule_id}&order=inspection_id&select=*,inspections(*)"
        ).json

    def history(self, schedule_id: int) -> list[tuple[str, str | None]]:
        """Return due date and outcome of each plan of a schedule."""
        return [(plan["due_on"], plan["outcome"]) for plan in self.plans(schedule_id)]

    def open_plans(self, schedule_id: int) -> list[dict]:
        return [plan for plan in self.plans(schedule_id) if plan["outcome"] is None]

    def open_inspection(self, schedule_id: int) -> int:
        """Return the id of the open inspection of a schedule."""
        [plan] = self.open_plans(schedule_id)
        return plan["inspection_id"]

    def edit(self, inspection_id: int, **values: object) -> None:
        """Change an inspection at a later time."""
        self.tick()
        response = self.root.patch(f"/inspections?id=eq.{inspection_id}", values)
        assert response.status == 204, response.text

    def close(self, schedule_id: int, status: str, visited: str | None = None) -> str | None:
        """Close the open inspection of a schedule. Return the due date of the next one, if there is one."""
        values = {"status": status} if visited is None else {"status": status, "date_visited": visited}
        [plan] = self.open_plans(schedule_id)
        self.wait_until(visited or plan["inspections"]["date_visited"])
        self.edit(plan["inspection_id"], **values)
        return next((plan["due_on"] for plan in self.open_plans(schedule_id)), None)


def schedule_world(api: Callable) -> ScheduleWorld:
    """Return the data set of a test at MOMENT."""
    api("root").database.app_for("POST", "/").extensions["walkthrough"].clock = SetClock(MOMENT)
    return ScheduleWorld(api)


def schedule_world_in_zone(world: Callable, zone: str, moment: str) -> ScheduleWorld:
    """Return the data set in a time zone."""
    return ScheduleWorld(world(json.loads(DATASET.read_text(encoding="utf-8")), moment, TIMEZONE=zone))

"""Threads that close, skip and book the inspections of schedules, and a check of what is left of them."""

import itertools
import random
from collections.abc import Callable
from http.client import HTTPException

from engine.storage.sqlite import driver
from tests.durability.load import Load
from tests.durability.served import Answer, Consumer

BUILDING = 6
SCHEDULES = 24
CLOSED = ("completed", "failed", "cancelled")
LOCK_TIMEOUT = 503
RACES = ("23514", "PT404")
"""The codes of a skipped inspection that another thread has closed or deleted."""
NEXT_TOUCHED = "23505"
"""The code of another status for an inspection that another thread has closed, and whose next visit is booked."""


def create_schedules(consumer: Consumer) -> list[int]:
    """Create the schedules of all units, and return their ids."""
    units, origins = itertools.cycle(("day", "week", "month", "year")), itertools.cycle(("planned", "planned", "done"))
    rows = [
        {"building_id": BUILDING, "inspection_type": "fire", "title": f"{number}", "every": number % 5 + 1,
         "unit": next(units), "counted_from": next(origins), "first_due": "2025-01-31"}
        for number in range(SCHEDULES)
    ]  # fmt: skip
    answer = consumer.send("POST", "/schedules?select=id", rows, Prefer="return=representation")
    assert answer.status == 201, answer.body
    return [row["id"] for row in answer.json]


class VisitsLoad(Load):
    """A load whose numbers are the seeds of its requests. `acked` are the ids of closed inspections."""

    def __init__(self, port: int, first: int, threads: int, schedules: list[int]) -> None:
        super().__init__(port, first, 10_000_000, threads)
        self.schedules = schedules

    def run(self) -> None:
        consumer = Consumer(self.port)
        while (number := self.next()) is not None:
            try:
                self.request(consumer, random.Random(number))
            except (OSError, HTTPException):
                if not self.stop.wait(0.02):
                    continue
                break
        consumer.close()

    def request(self, consumer: Consumer, dice: random.Random) -> None:
        """Send one request about a schedule, or one that closes the inspections of several."""
        schedule_id = dice.choice(self.schedules)
        kinds: list[Callable] = [self.close, self.close, self.close, self.skip, self.book, self.end, self.close_several]
        dice.choice(kinds)(consumer, dice, schedule_id)

    def open_inspection(self, consumer: Consumer, schedule_id: int) -> int | None:
        path = f"/inspection_plans?schedule_id=eq.{schedule_id}&outcome=is.null&select=inspection_id"
        answer = consumer.send("GET", path)
        rows = answer.json if answer.status == 200 else []
        return rows[0]["inspection_id"] if rows else None

    def close(self, consumer: Consumer, dice: random.Random, schedule_id: int) -> None:
        inspection_id = self.open_inspection(consumer, schedule_id)
        self.patch(consumer, dice, f"id=eq.{inspection_id or 0}")

    def close_several(self, consumer: Consumer, dice: random.Random, schedule_id: int) -> None:
        self.patch(consumer, dice, f"building_id=eq.{BUILDING}&status=eq.scheduled&order=id&limit=8")

    def patch(self, consumer: Consumer, dice: random.Random, filters: str) -> None:
        changes = {"status": dice.choice(CLOSED), "date_visited": f"2025-{dice.randint(1, 12):02}-15"}
        path = f"/inspections?{filters}&select=id"
        answer = consumer.send("PATCH", path, changes, Prefer="return=representation")
        if answer.code != NEXT_TOUCHED:
            self.note(answer, [row["id"] for row in answer.json] if answer.status == 200 else [])

    def skip(self, consumer: Consumer, dice: random.Random, schedule_id: int) -> None:
        inspection_id = self.open_inspection(consumer, schedule_id) or 0
        body = {"p_inspection_id": inspection_id, "p_reason": "The building is empty."}
        answer = consumer.send("POST", "/rpc/skip_occurrence", body)
        if answer.code not in RACES:
            self.note(answer, [inspection_id])

    def book(self, consumer: Consumer, dice: random.Random, schedule_id: int) -> None:
        inspection_id = self.open_inspection(consumer, schedule_id) or 0
        self.note(consumer.send("PATCH", f"/inspections?id=eq.{inspection_id}", {"date_visited": "2026-06-01"}), [])

    def end(self, consumer: Consumer, dice: random.Random, schedule_id: int) -> None:
        changes = {"ended_on": dice.choice(("2026-01-01", None, None))}
        self.note(consumer.send("PATCH", f"/schedules?id=eq.{schedule_id}", changes), [])

    def note(self, answer: Answer, closed: list[int]) -> None:
        if answer.status in (200, 204):
            self.acked += closed
        elif answer.status != LOCK_TIMEOUT:
            self.refused.append((0, answer.status, answer.body[:200]))


STATES = f"""
SELECT schedule.id, schedule.ended_on IS NOT NULL, count(plan.inspection_id)
FROM schedules schedule LEFT JOIN inspection_plans plan ON plan.schedule_id = schedule.id AND plan.outcome IS NULL
WHERE schedule.building_id = {BUILDING} GROUP BY schedule.id
"""
CONTRADICTIONS = f"""
SELECT inspection.id FROM inspections inspection
LEFT JOIN inspection_plans plan ON plan.inspection_id = inspection.id
WHERE inspection.building_id = {BUILDING}
AND (plan.case_id IS NULL OR (plan.outcome IS NULL) <> (inspection.status = 'scheduled'))
"""


def visits_problems(connection: driver.Connection, acked: set[int]) -> list[str]:
    """Return the problems of a database: schedules without one open inspection, and inspections that differ from
    their plans or are lost."""
    problems = []
    for schedule_id, has_ended, count in connection.execute(STATES):
        if count > 1 or (count == 0 and not has_ended):
            problems.append(f"schedule {schedule_id} has {count} open inspections")
    contradictions = [row[0] for row in connection.execute(CONTRADICTIONS)]
    if contradictions:
        problems.append(f"{len(contradictions)} inspections differ from their plans, such as {contradictions[0]}")
    closed = {row[0] for row in connection.execute("SELECT id FROM inspections WHERE status <> 'scheduled'")}
    if lost := sorted(acked - closed):
        problems.append(f"{len(lost)} acknowledged and lost, such as {lost[0]}")
    return problems

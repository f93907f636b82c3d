"""get_due_summary counts the visible open inspections of schedules by their due dates."""

from collections.abc import Callable

import pytest

from tests.inspections.schedule_world import (
    BUILDING,
    ELSEWHERE,
    OTHER_BUILDING,
    READ_ONLY,
    TODAY,
    ScheduleWorld,
    schedule_world,
    schedule_world_in_zone,
)

EMPTY = {
    "today": TODAY, "overdue": 0, "due_today": 0, "due_7_days": 0, "due_30_days": 0, "booked_late": 0, "by_type": {},
    "oldest_overdue_days": None, "failed_without_reinspection": 1, "completed_with_open_findings": 1,
}  # fmt: skip


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    """Return the data set without its open plan."""
    agenda = schedule_world(api)
    assert agenda.root.delete("/schedules?id=eq.4").status == 204
    return agenda


def summary(agenda: ScheduleWorld, who: str = "root") -> dict:
    return agenda.api(who).rpc("get_due_summary", method="GET").json


def test_no_schedules(agenda: ScheduleWorld) -> None:
    assert summary(agenda) == EMPTY


@pytest.mark.parametrize(
    ("first_due", "grace_days", "counts"),
    [
        ("2026-01-04", 0, {"overdue": 1, "oldest_overdue_days": 1}),
        ("2026-01-04", 1, {}),
        ("2026-01-01", 3, {"overdue": 1, "oldest_overdue_days": 1}),
        ("2025-01-05", 0, {"overdue": 1, "oldest_overdue_days": 365}),
        ("2026-01-05", 0, {"due_today": 1, "due_7_days": 1, "due_30_days": 1}),
        ("2026-01-06", 0, {"due_7_days": 1, "due_30_days": 1}),
        ("2026-01-12", 0, {"due_7_days": 1, "due_30_days": 1}),
        ("2026-01-13", 0, {"due_30_days": 1}),
        ("2026-02-04", 0, {"due_30_days": 1}),
        ("2026-02-05", 0, {}),
        ("9999-12-31", 366, {}),
    ],
)
def test_due_dates_are_counted(agenda: ScheduleWorld, first_due: str, grace_days: int, counts: dict) -> None:
    agenda.create(first_due=first_due, grace_days=grace_days)

    assert summary(agenda) == {**EMPTY, "by_type": {"fire": 1}, **counts}


@pytest.mark.parametrize(
    ("first_due", "booked_on", "booked_late"),
    [
        ("2026-01-10", "2026-01-12", 0),
        ("2026-01-10", "2026-01-13", 1),
        ("2026-01-03", "2026-01-06", 1),
        ("2026-01-02", "2026-01-06", 0),
        ("2026-01-10", None, 0),
    ],
    ids=["within-grace", "after-grace", "after-today", "late-already", "no-date"],
)
def test_late_bookings_are_counted(
    agenda: ScheduleWorld, first_due: str, booked_on: str | None, booked_late: int
) -> None:
    inspection_id = agenda.open_inspection(agenda.create(first_due=first_due, grace_days=2))

    agenda.edit(inspection_id, date_visited=booked_on)

    assert summary(agenda)["booked_late"] == booked_late


def test_types_are_counted(agenda: ScheduleWorld) -> None:
    for number, inspection_type in enumerate(("fire", "fire", "lead", "x" * 300)):
        agenda.create(title=str(number), inspection_type=inspection_type, first_due=f"2026-01-0{number + 1}")

    counted = summary(agenda)

    assert counted["by_type"] == {"fire": 2, "lead": 1, "x" * 200: 1}
    assert (counted["overdue"], counted["oldest_overdue_days"]) == (4, 4)


def test_closed_inspections_and_rounds_do_not_count(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create(first_due="2025-12-01")
    assert agenda.close(schedule_id, "completed", "2025-12-02") == "2026-03-01"
    other_id = agenda.create(title="Other", first_due="2025-12-01")
    agenda.edit(agenda.open_inspection(other_id), notes="edited")
    assert agenda.root.delete(f"/schedules?id=eq.{other_id}").status == 204

    assert summary(agenda) == {**EMPTY, "by_type": {"fire": 1}}


def test_today_is_the_day_of_the_time_zone(world: Callable) -> None:
    agenda = schedule_world_in_zone(world, "Pacific/Auckland", "2026-01-05T20:00:00+00:00")
    agenda.create(first_due="2026-01-06")

    assert (summary(agenda)["today"], summary(agenda)["due_today"]) == ("2026-01-06", 1)


@pytest.mark.parametrize(
    ("who", "types"),
    [
        ("root", {"b1": 1, "b2": 1, "b4": 1, "b5": 1}),
        ("service", {"b1": 1, "b2": 1, "b4": 1, "b5": 1}),
        ("ada", {"b1": 1, "b2": 1, "b5": 1}),
        ("bob", {"b4": 1, "b5": 1}),
        ("moe", {"b1": 1}),
        ("max", {"b4": 1}),
        ("mia", {}),
    ],
)
def test_visible_inspections_are_counted(agenda: ScheduleWorld, who: str, types: dict) -> None:
    for building_id in (BUILDING, OTHER_BUILDING, ELSEWHERE, READ_ONLY):
        agenda.create(building_id=building_id, inspection_type=f"b{building_id}", first_due="2026-01-01")

    counted = summary(agenda, who)

    assert counted["by_type"] == types
    assert counted["overdue"] == len(types)


def test_grace_of_a_hidden_schedule_is_not_shown(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create(building_id=OTHER_BUILDING, first_due="2026-01-01", grace_days=100)
    grant = {"manager_id": agenda.api("mia").person.id, "inspection_id": agenda.open_inspection(schedule_id)}
    assert agenda.root.post("/client_manager_inspection_access", grant).status == 201

    assert agenda.api("mia").get("/schedules").json == []
    assert (summary(agenda, "mia")["overdue"], summary(agenda, "root")["overdue"]) == (1, 0)


def test_summary_follows_a_write(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create(first_due="2026-01-01")
    assert summary(agenda, "ada")["overdue"] == 1

    agenda.close(schedule_id, "completed", TODAY)

    assert summary(agenda, "ada")["overdue"] == 0

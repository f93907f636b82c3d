"""The end of a schedule, and the deletion of schedules and of their inspections."""

from collections.abc import Callable

import pytest

from tests.inspections.schedule_world import TODAY, ScheduleWorld, schedule_world

OPEN_PLAN = (400, "23514", "A visit that its schedule or case requires cannot be deleted. Cancel it.")


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


def edited_inspection(agenda: ScheduleWorld, schedule_id: int) -> int:
    """Edit the open inspection of a schedule, and return its id."""
    inspection_id = agenda.open_inspection(schedule_id)
    agenda.edit(inspection_id, notes="The key is at the office.")
    return inspection_id


# The end


@pytest.mark.parametrize("ended_on", ["2025-12-31", TODAY, "2026-01-30"], ids=["past", "today", "before-the-due-date"])
def test_end_deletes_an_unedited_inspection(agenda: ScheduleWorld, ended_on: str) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)

    agenda.change(schedule_id, ended_on=ended_on)

    assert agenda.plans(schedule_id) == []
    assert agenda.root.get(f"/inspections?id=eq.{inspection_id}").json == []


@pytest.mark.parametrize("ended_on", ["2026-01-31", "2030-01-01"])
def test_later_end_keeps_the_inspections_until_then(agenda: ScheduleWorld, ended_on: str) -> None:
    schedule_id = agenda.create()

    agenda.change(schedule_id, ended_on=ended_on)

    assert agenda.history(schedule_id) == [("2026-01-31", None)]


@pytest.mark.parametrize("ended_on", [TODAY, "2026-01-30"])
def test_end_keeps_an_edited_inspection(agenda: ScheduleWorld, ended_on: str) -> None:
    schedule_id = agenda.create()
    inspection_id = edited_inspection(agenda, schedule_id)

    agenda.change(schedule_id, ended_on=ended_on)

    assert agenda.open_inspection(schedule_id) == inspection_id
    assert agenda.close(schedule_id, "cancelled") is None
    assert agenda.history(schedule_id) == [("2026-01-31", "cancelled")]


@pytest.mark.parametrize(
    ("table", "row"),
    [("findings", {"description": "No alarm.", "severity": "low"}), ("reports_lead", {"gun_id": 1})],
    ids=["finding", "reading"],
)
def test_end_keeps_an_inspection_with_records(agenda: ScheduleWorld, table: str, row: dict) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)
    assert agenda.root.post(f"/{table}", {"inspection_id": inspection_id, **row}).status == 201

    agenda.change(schedule_id, ended_on=TODAY)

    assert agenda.open_inspection(schedule_id) == inspection_id


def test_no_inspection_follows_after_the_end(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create(ended_on="2026-04-29")

    assert agenda.close(schedule_id, "completed", "2026-02-01") is None


@pytest.mark.parametrize("ended_on", [TODAY, "2026-01-30"])
def test_schedule_that_has_ended_makes_no_inspection(agenda: ScheduleWorld, ended_on: str) -> None:
    assert agenda.plans(agenda.create(ended_on=ended_on)) == []


@pytest.mark.parametrize("ended_on", [None, "2026-12-31"])
def test_first_inspection_returns_with_the_schedule(agenda: ScheduleWorld, ended_on: str | None) -> None:
    schedule_id = agenda.create()
    agenda.change(schedule_id, ended_on=TODAY)

    agenda.change(schedule_id, ended_on=ended_on)

    assert agenda.history(schedule_id) == [("2026-01-31", None)]


@pytest.mark.parametrize(
    ("status", "next_due"), [("completed", "2026-07-31"), ("failed", "2026-07-31"), ("cancelled", "2026-04-30")]
)
def test_schedule_continues_after_its_last_outcome(agenda: ScheduleWorld, status: str, next_due: str) -> None:
    schedule_id = agenda.create()
    agenda.close(schedule_id, "completed", "2026-02-10")
    edited_inspection(agenda, schedule_id)
    agenda.change(schedule_id, ended_on=TODAY)
    assert agenda.close(schedule_id, status, "2026-05-10") is None

    agenda.change(schedule_id, ended_on=None)

    assert agenda.history(schedule_id)[2:] == [(next_due, None)]


def test_open_inspection_stays_the_only_one(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = edited_inspection(agenda, schedule_id)

    for ended_on in (TODAY, None, "2026-12-31", None):
        agenda.change(schedule_id, ended_on=ended_on)

    assert [plan["inspection_id"] for plan in agenda.plans(schedule_id)] == [inspection_id]


def test_ends_of_many_schedules(agenda: ScheduleWorld) -> None:
    ids = [agenda.create(title=f"Round {number}") for number in range(3)]
    edited_inspection(agenda, ids[1])
    filters = f"/schedules?id=in.({','.join(map(str, ids))})"

    agenda.tick()
    assert agenda.root.patch(filters, {"ended_on": TODAY}).status == 204
    assert [len(agenda.plans(each)) for each in ids] == [0, 1, 0]

    assert agenda.root.patch(filters, {"ended_on": None}).status == 204
    assert [agenda.history(each) for each in ids] == [[("2026-01-31", None)]] * 3


# Deletion


def test_open_inspection_is_not_deleted(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)

    for filters in (f"id=eq.{inspection_id}", "inspection_type=eq.fire&status=eq.scheduled"):
        assert agenda.root.delete(f"/inspections?{filters}").refusal == OPEN_PLAN

    assert agenda.open_inspection(schedule_id) == inspection_id
    assert len(agenda.root.get("/inspections?status=eq.scheduled").json) == 4


def test_open_round_of_a_case_is_not_deleted(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)
    with agenda.stored.writing() as transaction:
        transaction.run(
            "UPDATE inspection_plans SET schedule_id = NULL, occurrence = NULL, due_on = NULL, round = 2"
            f" WHERE inspection_id = {inspection_id}"
        )

    assert agenda.root.delete(f"/inspections?id=eq.{inspection_id}").refusal == OPEN_PLAN


def test_closed_inspection_is_deleted(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    first = agenda.open_inspection(schedule_id)
    agenda.close(schedule_id, "completed", "2026-02-01")

    assert agenda.root.delete(f"/inspections?id=eq.{first}").status == 204
    assert agenda.history(schedule_id) == [("2026-04-30", None)]


def test_open_inspection_of_an_ended_schedule_is_deleted(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = edited_inspection(agenda, schedule_id)
    agenda.change(schedule_id, ended_on=TODAY)

    assert agenda.root.delete(f"/inspections?id=eq.{inspection_id}").status == 204
    assert agenda.plans(schedule_id) == []


def test_deleted_schedule_takes_an_unedited_inspection_with_it(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    first = agenda.open_inspection(schedule_id)
    agenda.close(schedule_id, "completed", "2026-02-01")
    following = agenda.open_inspection(schedule_id)

    assert agenda.root.delete(f"/schedules?id=eq.{schedule_id}").status == 204

    inspections = agenda.root.get(f"/inspections?id=in.({first},{following})&select=id,inspection_plans(outcome)").json
    assert inspections == [{"id": first, "inspection_plans": {"outcome": "done"}}]


def test_edited_inspection_of_a_deleted_schedule_is_free(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = edited_inspection(agenda, schedule_id)
    before = len(agenda.root.get("/inspections").json)

    assert agenda.root.delete(f"/schedules?id=eq.{schedule_id}").status == 204
    [plan] = agenda.root.get(f"/inspection_plans?inspection_id=eq.{inspection_id}").json
    assert (plan["schedule_id"], plan["due_on"], plan["outcome"]) == (None, "2026-01-31", None)

    agenda.wait_until("2026-03-01")
    agenda.edit(inspection_id, status="completed")
    assert len(agenda.root.get("/inspections").json) == before
    agenda.edit(inspection_id, status="scheduled")
    assert agenda.root.delete(f"/inspections?id=eq.{inspection_id}").status == 204


def test_open_inspection_of_a_deleted_schedule_is_deleted(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = edited_inspection(agenda, schedule_id)
    agenda.root.delete(f"/schedules?id=eq.{schedule_id}")

    assert agenda.root.delete(f"/inspections?id=eq.{inspection_id}").status == 204


def test_rolled_back_requests_leave_nothing(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)
    agenda.wait_until("2026-01-31")
    rollback = {"prefer": "tx=rollback"}
    before = agenda.plans(schedule_id)
    counts = [len(agenda.root.get(f"/{table}").json) for table in ("inspections", "inspection_plans", "schedules")]

    assert agenda.root.patch(f"/inspections?id=eq.{inspection_id}", {"status": "failed"}, **rollback).status == 204
    assert agenda.root.post("/schedules", agenda.body(title="Other"), **rollback).status == 201
    assert agenda.root.patch(f"/schedules?id=eq.{schedule_id}", {"ended_on": "2026-01-31"}, **rollback).status == 204
    assert agenda.root.delete(f"/schedules?id=eq.{schedule_id}", **rollback).status == 204

    assert agenda.plans(schedule_id) == before
    tables = ("inspections", "inspection_plans", "schedules")
    assert [len(agenda.root.get(f"/{table}").json) for table in tables] == counts

"""The end of a schedule, and the deletion of schedules and of their inspections."""

from collections.abc import Callable

import pytest

from tests.inspections.schedule_world import TODAY, ScheduleWorld, schedule_world

OPEN_PLAN = (400, "23514", "an inspection that its schedule or case requires cannot be deleted: cancel it")


@pytest.fixture
def duties(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


def edited_inspection(duties: ScheduleWorld, schedule_id: int) -> int:
    """Edit the open inspection of a schedule, and return its id."""
    inspection_id = duties.open_inspection(schedule_id)
    duties.edit(inspection_id, notes="The key is at the office.")
    return inspection_id


# The end


@pytest.mark.parametrize("ended_on", ["2025-12-31", TODAY, "2026-01-30"], ids=["past", "today", "before-the-due-date"])
def test_end_deletes_an_unedited_inspection(duties: ScheduleWorld, ended_on: str) -> None:
    schedule_id = duties.create()
    inspection_id = duties.open_inspection(schedule_id)

    duties.change(schedule_id, ended_on=ended_on)

    assert duties.plans(schedule_id) == []
    assert duties.root.get(f"/inspections?id=eq.{inspection_id}").json == []


@pytest.mark.parametrize("ended_on", ["2026-01-31", "2030-01-01"])
def test_later_end_keeps_the_inspections_until_then(duties: ScheduleWorld, ended_on: str) -> None:
    schedule_id = duties.create()

    duties.change(schedule_id, ended_on=ended_on)

    assert duties.history(schedule_id) == [("2026-01-31", None)]


@pytest.mark.parametrize("ended_on", [TODAY, "2026-01-30"])
def test_end_keeps_an_edited_inspection(duties: ScheduleWorld, ended_on: str) -> None:
    schedule_id = duties.create()
    inspection_id = edited_inspection(duties, schedule_id)

    duties.change(schedule_id, ended_on=ended_on)

    assert duties.open_inspection(schedule_id) == inspection_id
    assert duties.close(schedule_id, "cancelled") is None
    assert duties.history(schedule_id) == [("2026-01-31", "cancelled")]


@pytest.mark.parametrize(
    ("table", "row"),
    [("findings", {"description": "No alarm.", "severity": "low"}), ("reports_lead", {"gun_id": 1})],
    ids=["finding", "reading"],
)
def test_end_keeps_an_inspection_with_records(duties: ScheduleWorld, table: str, row: dict) -> None:
    schedule_id = duties.create()
    inspection_id = duties.open_inspection(schedule_id)
    assert duties.root.post(f"/{table}", {"inspection_id": inspection_id, **row}).status == 201

    duties.change(schedule_id, ended_on=TODAY)

    assert duties.open_inspection(schedule_id) == inspection_id


def test_no_inspection_follows_after_the_end(duties: ScheduleWorld) -> None:
    schedule_id = duties.create(ended_on="2026-04-29")

    assert duties.close(schedule_id, "completed", "2026-02-01") is None


@pytest.mark.parametrize("ended_on", [TODAY, "2026-01-30"])
def test_schedule_that_has_ended_makes_no_inspection(duties: ScheduleWorld, ended_on: str) -> None:
    assert duties.plans(duties.create(ended_on=ended_on)) == []


@pytest.mark.parametrize("ended_on", [None, "2026-12-31"])
def test_first_inspection_returns_with_the_schedule(duties: ScheduleWorld, ended_on: str | None) -> None:
    schedule_id = duties.create()
    duties.change(schedule_id, ended_on=TODAY)

    duties.change(schedule_id, ended_on=ended_on)

    assert duties.history(schedule_id) == [("2026-01-31", None)]


@pytest.mark.parametrize(
    ("status", "next_due"), [("completed", "2026-07-31"), ("failed", "2026-07-31"), ("cancelled", "2026-04-30")]
)
def test_schedule_continues_after_its_last_outcome(duties: ScheduleWorld, status: str, next_due: str) -> None:
    schedule_id = duties.create()
    duties.close(schedule_id, "completed", "2026-02-10")
    edited_inspection(duties, schedule_id)
    duties.change(schedule_id, ended_on=TODAY)
    assert duties.close(schedule_id, status, "2026-05-10") is None

    duties.change(schedule_id, ended_on=None)

    assert duties.history(schedule_id)[2:] == [(next_due, None)]


def test_open_inspection_stays_the_only_one(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    inspection_id = edited_inspection(duties, schedule_id)

    for ended_on in (TODAY, None, "2026-12-31", None):
        duties.change(schedule_id, ended_on=ended_on)

    assert [plan["inspection_id"] for plan in duties.plans(schedule_id)] == [inspection_id]


def test_ends_of_many_schedules(duties: ScheduleWorld) -> None:
    ids = [duties.create(title=f"Round {number}") for number in range(3)]
    edited_inspection(duties, ids[1])
    filters = f"/schedules?id=in.({','.join(map(str, ids))})"

    duties.tick()
    assert duties.root.patch(filters, {"ended_on": TODAY}).status == 204
    assert [len(duties.plans(each)) for each in ids] == [0, 1, 0]

    assert duties.root.patch(filters, {"ended_on": None}).status == 204
    assert [duties.history(each) for each in ids] == [[("2026-01-31", None)]] * 3


# Deletion


def test_open_inspection_is_not_deleted(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    inspection_id = duties.open_inspection(schedule_id)

    for filters in (f"id=eq.{inspection_id}", "inspection_type=eq.fire&status=eq.scheduled"):
        assert duties.root.delete(f"/inspections?{filters}").refusal == OPEN_PLAN

    assert duties.open_inspection(schedule_id) == inspection_id
    assert len(duties.root.get("/inspections?status=eq.scheduled").json) == 4


def test_open_round_of_a_case_is_not_deleted(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    inspection_id = duties.open_inspection(schedule_id)
    with duties.stored.writing() as transaction:
        transaction.run(
            "UPDATE inspection_plans SET schedule_id = NULL, occurrence = NULL, due_on = NULL, round = 2"
            f" WHERE inspection_id = {inspection_id}"
        )

    assert duties.root.delete(f"/inspections?id=eq.{inspection_id}").refusal == OPEN_PLAN


def test_closed_inspection_is_deleted(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    first = duties.open_inspection(schedule_id)
    duties.close(schedule_id, "completed", "2026-02-01")

    assert duties.root.delete(f"/inspections?id=eq.{first}").status == 204
    assert duties.history(schedule_id) == [("2026-04-30", None)]


def test_open_inspection_of_an_ended_schedule_is_deleted(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    inspection_id = edited_inspection(duties, schedule_id)
    duties.change(schedule_id, ended_on=TODAY)

    assert duties.root.delete(f"/inspections?id=eq.{inspection_id}").status == 204
    assert duties.plans(schedule_id) == []


def test_deleted_schedule_takes_an_unedited_inspection_with_it(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    first = duties.open_inspection(schedule_id)
    duties.close(schedule_id, "completed", "2026-02-01")
    following = duties.open_inspection(schedule_id)

    assert duties.root.delete(f"/schedules?id=eq.{schedule_id}").status == 204

    inspections = duties.root.get(f"/inspections?id=in.({first},{following})&select=id,inspection_plans(outcome)").json
    assert inspections == [{"id": first, "inspection_plans": {"outcome": "done"}}]


def test_edited_inspection_of_a_deleted_schedule_is_free(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    inspection_id = edited_inspection(duties, schedule_id)
    before = len(duties.root.get("/inspections").json)

    assert duties.root.delete(f"/schedules?id=eq.{schedule_id}").status == 204
    [plan] = duties.root.get(f"/inspection_plans?inspection_id=eq.{inspection_id}").json
    assert (plan["schedule_id"], plan["due_on"], plan["outcome"]) == (None, "2026-01-31", None)

    duties.edit(inspection_id, status="completed")
    assert len(duties.root.get("/inspections").json) == before
    duties.edit(inspection_id, status="scheduled")
    assert duties.root.delete(f"/inspections?id=eq.{inspection_id}").status == 204


def test_open_inspection_of_a_deleted_schedule_is_deleted(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    inspection_id = edited_inspection(duties, schedule_id)
    duties.root.delete(f"/schedules?id=eq.{schedule_id}")

    assert duties.root.delete(f"/inspections?id=eq.{inspection_id}").status == 204


def test_rolled_back_requests_leave_nothing(duties: ScheduleWorld) -> None:
    schedule_id = duties.create()
    inspection_id = duties.open_inspection(schedule_id)
    duties.tick()
    rollback = {"prefer": "tx=rollback"}
    before = duties.plans(schedule_id)
    counts = [len(duties.root.get(f"/{table}").json) for table in ("inspections", "inspection_plans", "schedules")]

    assert duties.root.patch(f"/inspections?id=eq.{inspection_id}", {"status": "failed"}, **rollback).status == 204
    assert duties.root.post("/schedules", duties.body(title="Other"), **rollback).status == 201
    assert duties.root.patch(f"/schedules?id=eq.{schedule_id}", {"ended_on": TODAY}, **rollback).status == 204
    assert duties.root.delete(f"/schedules?id=eq.{schedule_id}", **rollback).status == 204

    assert duties.plans(schedule_id) == before
    tables = ("inspections", "inspection_plans", "schedules")
    assert [len(duties.root.get(f"/{table}").json) for table in tables] == counts

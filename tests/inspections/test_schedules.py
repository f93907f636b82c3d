"""A schedule makes inspections: the first one, and the next one after each that is closed."""

from collections.abc import Callable

import pytest

from tests.inspections.schedule_world import TODAY, VACANT, schedule_world, schedule_world_in_zone


def test_new_schedule_makes_its_first_inspection(api: Callable) -> None:
    agenda = schedule_world(api)

    schedule_id = agenda.create(inspector_id=2)

    [plan] = agenda.plans(schedule_id)
    inspection = plan["inspections"]
    assert plan.items() >= {
        "occurrence": 0, "due_on": "2026-01-31", "case_id": inspection["id"], "round": 1, "outcome": None,
    }.items()  # fmt: skip
    assert inspection.items() >= {
        "building_id": VACANT, "inspection_type": "fire", "date_visited": "2026-01-31", "status": "scheduled",
        "inspector_id": 2, "notes": None,
    }.items()  # fmt: skip


def test_planned_due_dates_keep_their_rhythm(api: Callable) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create()

    assert agenda.close(schedule_id, "completed", "2026-02-10") == "2026-04-30"
    assert agenda.close(schedule_id, "cancelled") == "2026-04-30"
    assert agenda.close(schedule_id, "completed", "2026-11-15") == "2027-01-31"
    failed = agenda.open_inspection(schedule_id)
    assert agenda.close(schedule_id, "failed", "2027-01-20") == "2027-04-30"
    agenda.edit(failed, status="completed")

    assert agenda.history(schedule_id) == [
        ("2026-01-31", "done"), ("2026-04-30", "cancelled"), ("2026-04-30", "done"), ("2027-01-31", "done"),
        ("2027-04-30", None),
    ]  # fmt: skip
    assert [plan["occurrence"] for plan in agenda.plans(schedule_id)] == [0, 1, 1, 4, 5]


@pytest.mark.parametrize(
    ("every", "unit", "counted_from", "first_due", "visited", "occurrence", "next_due"),
    [
        (2, "year", "done", "2026-05-31", "2026-05-31", 1, "2028-05-31"),
        (1, "year", "planned", "2021-10-01", "2021-09-29", 1, "2022-10-01"),
        (1, "week", "planned", "2026-01-09", "2026-01-10", 1, "2026-01-16"),
        (1, "week", "done", "2026-01-09", "2026-01-10", 1, "2026-01-17"),
        (10, "day", "planned", "2026-01-09", "2026-02-28", 6, "2026-03-10"),
        (1, "month", "done", "2026-01-31", "2026-01-31", 1, "2026-02-28"),
    ],
    ids=["done", "early", "friday-planned", "friday-done", "days-late", "end-of-month"],
)
def test_next_due_date(
    api: Callable,
    every: int,
    unit: str,
    counted_from: str,
    first_due: str,
    visited: str,
    occurrence: int,
    next_due: str,
) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create(every=every, unit=unit, counted_from=counted_from, first_due=first_due)

    assert agenda.close(schedule_id, "completed", visited) == next_due
    assert [plan["occurrence"] for plan in agenda.open_plans(schedule_id)] == [occurrence]


def test_yearly_due_date_of_a_leap_day(api: Callable) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create(every=1, unit="year", first_due="2024-02-29")

    due_dates = [
        agenda.close(schedule_id, "completed", visited) for visited in ("2024-02-29", "2025-02-28", "2026-02-28")
    ]

    assert [*due_dates, agenda.close(schedule_id, "completed", "2027-02-28")] == [
        "2025-02-28", "2026-02-28", "2027-02-28", "2028-02-29",
    ]  # fmt: skip


def test_inspection_without_a_date_counts_from_today(api: Callable) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create(counted_from="done", unit="day", every=10)
    agenda.edit(agenda.open_inspection(schedule_id), date_visited=None)

    assert agenda.close(schedule_id, "completed") == "2026-01-15", TODAY


def test_today_is_the_day_of_the_time_zone(world: Callable) -> None:
    agenda = schedule_world_in_zone(world, "Pacific/Auckland", "2026-01-05T20:00:00+00:00")
    schedule_id = agenda.create(counted_from="done", unit="day", every=10)
    agenda.edit(agenda.open_inspection(schedule_id), date_visited=None)

    assert agenda.close(schedule_id, "completed") == "2026-01-16"


def test_booking_keeps_the_due_date(api: Callable) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create()

    agenda.edit(agenda.open_inspection(schedule_id), date_visited="2026-02-17")

    [plan] = agenda.plans(schedule_id)
    assert (plan["due_on"], plan["inspections"]["date_visited"]) == ("2026-01-31", "2026-02-17")


@pytest.mark.parametrize("status", ["in_progress", "scheduled", "postponed", None])
def test_other_statuses_leave_the_plan_open(api: Callable, status: str | None) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create()

    agenda.edit(agenda.open_inspection(schedule_id), status=status)

    assert agenda.history(schedule_id) == [("2026-01-31", None)]


def test_reopened_inspection_makes_no_second_one(api: Callable) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create()
    first = agenda.open_inspection(schedule_id)
    agenda.close(schedule_id, "completed", "2026-02-01")

    for status in ("scheduled", "completed", "cancelled", "failed"):
        agenda.edit(first, status=status)

    assert agenda.history(schedule_id) == [("2026-01-31", "done"), ("2026-04-30", None)]


def test_next_inspection_has_the_current_values_of_the_schedule(api: Callable) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create(inspector_id=1)
    agenda.change(
        schedule_id, building_id=3, inspection_type="annual", inspector_id=None, every=1, first_due="2026-02-15"
    )

    agenda.close(schedule_id, "completed", "2026-02-01")

    [plan] = agenda.open_plans(schedule_id)
    names = ("building_id", "inspection_type", "inspector_id", "date_visited")
    assert [plan["inspections"][name] for name in names] == [3, "annual", None, "2026-03-15"]
    assert plan["occurrence"] == 1


def test_round_of_a_case_gets_an_outcome_only(world: Callable) -> None:
    rows = {
        "clients": [{"id": 1, "name": "C"}],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "users": [{"id": "00000000-0000-4000-8000-000000000001", "email": "r@x.example", "name": "R",
                   "role": "super_admin", "client_id": None}],
        "inspections": [{"id": 1, "building_id": 1, "inspection_type": "fire", "status": "scheduled"}],
        "inspection_plans": [{"inspection_id": 1, "case_id": 1, "round": 2}],
    }  # fmt: skip
    root = world(rows)("root")

    assert root.patch("/inspections?id=eq.1", {"status": "failed"}).status == 204

    assert root.get("/inspection_plans?select=outcome").json == [{"outcome": "done"}]
    assert len(root.get("/inspections").json) == 1


def test_series_ends_with_the_year_9999(api: Callable) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create(first_due="9999-12-31")

    assert agenda.close(schedule_id, "completed", "9999-12-31") is None
    assert agenda.history(schedule_id) == [("9999-12-31", "done")]


def test_audit_log_names_the_caller_for_each_row(api: Callable) -> None:
    agenda = schedule_world(api)
    schedule_id = agenda.create()
    first = agenda.open_inspection(schedule_id)
    ada = agenda.api("ada")
    agenda.wait_until("2026-01-31")
    last = agenda.root.get("/audit_log?select=id&order=id.desc&limit=1").json[0]["id"]

    assert ada.patch(f"/inspections?id=eq.{first}", {"status": "completed"}).status == 204

    entries = agenda.root.get(f"/audit_log?id=gt.{last}&order=id").json
    following = agenda.open_inspection(schedule_id)
    assert [(each["action"], each["relation"], each["row_key"]) for each in entries] == [
        ("update", "inspections", str(first)),
        ("update", "inspection_plans", str(first)),
        ("insert", "inspections", str(following)),
        ("insert", "inspection_plans", str(following)),
    ]
    assert {each["actor_id"] for each in entries} == {ada.person.id}

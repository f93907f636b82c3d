"""The open visit of an edited schedule, results in the future, and results that are taken back."""

from collections.abc import Callable

import pytest

from tests.inspections.schedule_world import (
    MERGE,
    OTHER_BUILDING,
    REPRESENTED,
    TODAY,
    VACANT,
    ScheduleWorld,
    schedule_world,
)


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


def open_visit(agenda: ScheduleWorld, schedule_id: int) -> dict:
    """Return the due date of the open visit of a schedule, with its inspection."""
    [plan] = agenda.open_plans(schedule_id)
    return {"due_on": plan["due_on"], "occurrence": plan["occurrence"], **plan["inspections"]}


# Edits of a schedule


@pytest.mark.parametrize(
    ("values", "follows"),
    [
        ({"first_due": "2026-02-15"}, {"due_on": "2026-02-15", "date_visited": "2026-02-15", "occurrence": 0}),
        ({"inspector_id": 2}, {"inspector_id": 2, "due_on": "2026-01-31"}),
        ({"inspection_type": "annual"}, {"inspection_type": "annual", "due_on": "2026-01-31"}),
        ({"building_id": OTHER_BUILDING}, {"building_id": OTHER_BUILDING, "due_on": "2026-01-31"}),
        ({"every": 1, "unit": "year"}, {"due_on": "2026-01-31", "occurrence": 0}),
        ({"title": "Sprinklers"}, {"due_on": "2026-01-31", "building_id": VACANT}),
    ],
    ids=lambda values: next(iter(values)),
)
def test_untouched_visit_follows_its_schedule(agenda: ScheduleWorld, values: dict, follows: dict) -> None:
    schedule_id = agenda.create()
    inspection_id = agenda.open_inspection(schedule_id)

    agenda.change(schedule_id, **values)

    visit = open_visit(agenda, schedule_id)
    assert visit["id"] == inspection_id
    assert visit.items() >= follows.items()


def test_visit_follows_repeated_edits(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    for first_due in ("2026-02-15", "2026-03-15"):
        agenda.change(schedule_id, first_due=first_due)

    assert open_visit(agenda, schedule_id)["date_visited"] == "2026-03-15"


@pytest.mark.parametrize(
    "edit", [{"date_visited": "2026-02-03"}, {"status": "in_progress"}, {"notes": "Key at the desk"}], ids=str
)
def test_touched_visit_stays_as_it_is(agenda: ScheduleWorld, edit: dict) -> None:
    schedule_id = agenda.create(inspector_id=1)
    agenda.edit(agenda.open_inspection(schedule_id), **edit)
    before = open_visit(agenda, schedule_id)

    agenda.change(schedule_id, first_due="2026-02-15", inspector_id=2, inspection_type="annual", every=1)

    assert open_visit(agenda, schedule_id) == before


def test_booked_visit_without_an_inspector_gets_the_one_of_its_schedule(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    agenda.edit(agenda.open_inspection(schedule_id), date_visited="2026-02-03")

    agenda.change(schedule_id, inspector_id=2, inspection_type="annual")

    visit = open_visit(agenda, schedule_id)
    assert (visit["inspector_id"], visit["date_visited"], visit["inspection_type"]) == (2, "2026-02-03", "fire")


def test_new_interval_counts_from_the_last_result(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    agenda.close(schedule_id, "completed", "2026-02-10")
    assert open_visit(agenda, schedule_id)["due_on"] == "2026-04-30"

    agenda.change(schedule_id, every=1)
    assert open_visit(agenda, schedule_id)["due_on"] == "2026-02-28"

    agenda.change(schedule_id, first_due="2026-01-15")
    assert open_visit(agenda, schedule_id)["due_on"] == "2026-02-28"


def test_upsert_of_a_schedule_moves_its_visit(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    agenda.tick()
    row = {**agenda.body(first_due="2026-02-15"), "title": ""}

    response = agenda.root.post(
        "/schedules?on_conflict=building_id,inspection_type,title", [row], prefer=f"{MERGE},{REPRESENTED}"
    )

    assert response.status == 200, response.text
    assert open_visit(agenda, schedule_id)["date_visited"] == "2026-02-15"


# Results in the future


@pytest.mark.parametrize("status", ["completed", "failed"])
@pytest.mark.parametrize("visited", ["2026-01-06", "2030-01-01"])
def test_result_in_the_future_is_refused(agenda: ScheduleWorld, status: str, visited: str) -> None:
    schedule_id = agenda.create(every=1)
    inspection_id = agenda.open_inspection(schedule_id)
    before = agenda.plans(schedule_id)
    rights = {"p_inspection_id": inspection_id, "p_status": status, "p_date_visited": visited}

    refusals = [
        agenda.root.patch(f"/inspections?id=eq.{inspection_id}", {"status": status, "date_visited": visited}),
        agenda.root.rpc("close_visit", rights),
        agenda.root.post(
            "/inspections",
            [{"id": inspection_id, "building_id": VACANT, "inspection_type": "fire", "status": status,
              "date_visited": visited}],
            prefer=MERGE,
        ),
    ]  # fmt: skip

    message = f"A visit that took place is not dated {visited}: today is {TODAY}."
    assert {refused.refusal for refused in refusals} == {(400, "23514", message)}
    assert {refused.json["details"] for refused in refusals} == {"inspections_result_date_check"}
    assert agenda.plans(schedule_id) == before


def test_result_is_not_moved_into_the_future(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    first = agenda.open_inspection(schedule_id)
    agenda.close(schedule_id, "completed", "2026-02-01")

    refused = agenda.root.patch(f"/inspections?id=eq.{first}", {"date_visited": "2026-02-02"})

    assert (refused.status, refused.code) == (400, "23514")


def test_close_visit_refuses_a_future_result_without_a_schedule(agenda: ScheduleWorld) -> None:
    refused = agenda.root.rpc(
        "close_visit", {"p_inspection_id": 4, "p_status": "failed", "p_date_visited": "2026-01-06"}
    )

    assert (refused.status, refused.code) == (400, "23514")


def test_overdue_visit_without_a_date_is_closed_today(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create(first_due="2025-11-30")
    inspection_id = agenda.open_inspection(schedule_id)

    agenda.root.rpc("close_visit", {"p_inspection_id": inspection_id, "p_status": "completed"})

    [plan, _] = agenda.plans(schedule_id)
    assert (plan["due_on"], plan["inspections"]["date_visited"]) == ("2025-11-30", TODAY)


@pytest.mark.parametrize("function", ["close_visit", "reinspect"])
def test_reinspection_does_not_precede_the_visit(agenda: ScheduleWorld, function: str) -> None:
    inspection_id = agenda.open_inspection(agenda.create(first_due=TODAY))
    if function == "close_visit":
        arguments = {"p_status": "failed", "p_date_visited": "2026-01-04", "p_reinspect_on": "2026-01-03"}
    else:
        agenda.root.rpc("close_visit", {"p_inspection_id": inspection_id, "p_status": "failed"})
        arguments = {"p_date_visited": "2026-01-04"}

    refused = agenda.root.rpc(function, {"p_inspection_id": inspection_id, **arguments})

    assert (refused.status, refused.code) == (400, "23514")
    assert "precedes the visit on" in refused.json["message"]


# Notes


@pytest.mark.parametrize(
    ("before", "after"), [(None, "Roof leaks"), ("Key at the desk", "Key at the desk\nRoof leaks")]
)
def test_notes_of_the_closing_are_appended(agenda: ScheduleWorld, before: str | None, after: str) -> None:
    inspection_id = agenda.open_inspection(agenda.create(first_due=TODAY))
    agenda.edit(inspection_id, notes=before)

    arguments = {"p_inspection_id": inspection_id, "p_status": "failed", "p_notes": "Roof leaks"}
    assert agenda.root.rpc("close_visit", arguments).status == 200

    assert agenda.root.get(f"/inspections?id=eq.{inspection_id}&select=notes").json == [{"notes": after}]


# Results that are taken back


@pytest.mark.parametrize("result", ["completed", "failed", "cancelled"])
@pytest.mark.parametrize("status", ["scheduled", "in_progress"])
def test_taking_a_result_back_leaves_one_open_visit(agenda: ScheduleWorld, result: str, status: str) -> None:
    schedule_id = agenda.create()
    first = agenda.open_inspection(schedule_id)
    agenda.close(schedule_id, result)

    agenda.edit(first, status=status)

    assert agenda.history(schedule_id) == [("2026-01-31", None)]
    assert agenda.open_inspection(schedule_id) == first
    assert agenda.close(schedule_id, "completed") == "2026-04-30"


@pytest.mark.parametrize("touch", ["edit", "book", "start", "close", "finding"])
def test_result_stays_once_the_next_visit_is_touched(agenda: ScheduleWorld, touch: str) -> None:
    schedule_id = agenda.create()
    first = agenda.open_inspection(schedule_id)
    agenda.close(schedule_id, "completed")
    following = agenda.open_inspection(schedule_id)
    if touch == "close":
        agenda.close(schedule_id, "completed")
    elif touch == "finding":
        row = {"inspection_id": following, "description": "No alarm", "severity": "low"}
        assert agenda.root.post("/findings", row).status == 201
    else:
        values = {"edit": {"notes": "n"}, "book": {"date_visited": "2026-05-02"}, "start": {"status": "in_progress"}}
        agenda.edit(following, **values[touch])
    before = agenda.plans(schedule_id)

    refused = agenda.root.patch(f"/inspections?id=eq.{first}", {"status": "scheduled"})

    assert (refused.status, refused.code) == (409, "23505")
    assert refused.json["details"].startswith("inspection_plans_next_touched: inspection ")
    assert agenda.plans(schedule_id) == before

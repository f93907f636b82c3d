"""The outcome of a planned visit follows its status: every outcome before, every status, by every way of writing it."""

from collections.abc import Callable
from itertools import product

import pytest

from tests.conftest import Response
from tests.inspections.schedule_world import MERGE, ScheduleWorld, schedule_world

FIRST, SECOND = "2026-01-31", "2026-04-30"
IN_WINDOW, BEFORE_WINDOW, TODAY = "2026-01-22", "2026-01-20", "2026-01-25"
STATUSES = ("scheduled", "in_progress", "completed", "failed", "cancelled")

EXPECTED = {
    None: (None, None, "done", "done", "cancelled"),
    "done": (None, None, "done", "done", "cancelled"),
    "early": (None, None, "early", "early", "cancelled"),
    "skipped": (None, None, "done", "done", "skipped"),
    "cancelled": (None, None, "done", "done", "cancelled"),
}
"""By outcome before: the outcome after each of STATUSES. The visit is dated within its window, except the early one."""

LATER = ("untouched", "touched", "none")
"""The visit that follows the outcome before. `none`: the schedule ends on the first due date."""


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


def patch(agenda: ScheduleWorld, visit: dict, status: str) -> Response:
    return agenda.root.patch(f"/inspections?id=eq.{visit['id']}", {"status": status})


def patch_by_other_filters(agenda: ScheduleWorld, visit: dict, status: str) -> Response:
    return agenda.root.patch(f"/inspections?id=in.({visit['id']},999)&building_id=eq.6", {"status": status})


def put(agenda: ScheduleWorld, visit: dict, status: str) -> Response:
    return agenda.root.put(f"/inspections?id=eq.{visit['id']}", {**visit, "status": status})


def upsert(agenda: ScheduleWorld, visit: dict, status: str) -> Response:
    row = {name: visit[name] for name in ("id", "building_id", "inspection_type")}
    return agenda.root.post("/inspections", [{**row, "status": status}], prefer=MERGE)


DOORS = (patch, patch_by_other_filters, put, upsert)


def planned(agenda: ScheduleWorld, outcome: str | None, later: str) -> tuple[int, int]:
    """Return a schedule and its first visit, which has an outcome."""
    ended = {"ended_on": FIRST} if later == "none" else {}
    schedule_id = agenda.create(first_due=FIRST, early_days=10, **ended)
    visit = agenda.open_inspection(schedule_id)
    agenda.wait_until(TODAY)
    agenda.edit(visit, date_visited=BEFORE_WINDOW if outcome == "early" else IN_WINDOW)
    if outcome == "skipped":
        assert agenda.root.rpc("skip_occurrence", {"p_inspection_id": visit, "p_reason": "Vacant"}).status == 200
    elif outcome is not None:
        agenda.edit(visit, status="cancelled" if outcome == "cancelled" else "completed")
    assert agenda.history(schedule_id)[0] == (FIRST, outcome)
    if later == "touched":
        for plan in agenda.open_plans(schedule_id):
            if plan["inspection_id"] != visit:
                agenda.edit(plan["inspection_id"], notes="Key at the office.")
    return schedule_id, visit


def following(outcome: str | None, later: str) -> list[tuple[str, None]]:
    """Return the plans that follow an outcome."""
    if outcome is None:
        return []
    if outcome in ("early", "cancelled"):
        return [(FIRST, None)]
    return [] if later == "none" else [(SECOND, None)]


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
@pytest.mark.parametrize(("before", "later"), [*product(EXPECTED, LATER)])
def test_outcome_follows_every_status(agenda: ScheduleWorld, door: Callable, before: str | None, later: str) -> None:
    for status, after in zip(STATUSES, EXPECTED[before], strict=True):
        schedule_id, _ = planned(agenda, before, later)
        kept = agenda.plans(schedule_id)

        answer = door(agenda, kept[0]["inspections"], status)

        if later == "touched" and before is not None and following(before, later) != following(after, later):
            assert (answer.status, answer.json["details"]) == (
                409, f"inspection_plans_next_touched: inspection {kept[1]['inspection_id']}",
            )  # fmt: skip
            assert agenda.plans(schedule_id) == kept
        else:
            assert answer.status in (200, 201, 204), answer.text
            assert agenda.history(schedule_id) == [(FIRST, after), *following(after, later)], status
        agenda.root.delete(f"/schedules?id=eq.{schedule_id}")


@pytest.mark.parametrize("before", EXPECTED)
def test_unknown_status_leaves_the_outcome(agenda: ScheduleWorld, before: str | None) -> None:
    schedule_id, visit = planned(agenda, before, "untouched")
    kept = agenda.history(schedule_id)

    for status in ("on hold", None):
        agenda.edit(visit, status=status)

    assert agenda.history(schedule_id) == kept


def test_visit_that_follows_stays_the_same_row_if_it_is_right(agenda: ScheduleWorld) -> None:
    """A skipped visit that took place after all is followed by the same visit."""
    schedule_id, visit = planned(agenda, "skipped", "untouched")
    second = agenda.open_inspection(schedule_id)

    agenda.edit(visit, status="completed")

    assert agenda.open_inspection(schedule_id) == second


@pytest.mark.parametrize("status", ["scheduled", "cancelled"])
def test_untouched_round_of_a_case_goes_with_the_result(agenda: ScheduleWorld, status: str) -> None:
    schedule_id, visit = planned(agenda, None, "untouched")
    closed = agenda.root.rpc(
        "close_visit", {"p_inspection_id": visit, "p_status": "failed", "p_reinspect_on": "2026-02-01"}
    )

    agenda.edit(visit, status=status)

    assert agenda.root.get(f"/inspections?id=eq.{closed.json['reinspection_id']}").json == []
    after = EXPECTED[None][STATUSES.index(status)]
    assert agenda.history(schedule_id) == [(FIRST, after), *following(after, "untouched")]


def test_visits_of_one_request_do_not_delete_each_other(agenda: ScheduleWorld) -> None:
    schedule_id, visit = planned(agenda, "done", "untouched")
    second = agenda.open_inspection(schedule_id)

    answer = agenda.root.patch(f"/inspections?id=in.({visit},{second})", {"status": "scheduled"})

    assert (answer.status, answer.code) == (409, "23505")
    assert agenda.history(schedule_id) == [(FIRST, "done"), (SECOND, None)]


# What a person has touched


@pytest.mark.parametrize(
    "door", [*DOORS, "start_visit", "booking", "notes"], ids=lambda door: getattr(door, "__name__", door)
)
def test_write_of_a_person_touches_a_visit(agenda: ScheduleWorld, door: object) -> None:
    schedule_id = agenda.create()
    [plan] = agenda.plans(schedule_id)
    assert plan["touched_at"] is None
    agenda.tick()

    if callable(door):
        answer = door(agenda, plan["inspections"], "scheduled")
    elif door == "start_visit":
        answer = agenda.root.rpc(door, {"p_inspection_id": plan["inspection_id"]})
    else:
        changes = {"booking": {"date_visited": "2026-02-02"}, "notes": {"notes": "n"}}[door]
        answer = agenda.root.patch(f"/inspections?id=eq.{plan['inspection_id']}", changes)

    assert answer.status in (200, 201, 204), answer.text
    assert agenda.plans(schedule_id)[0]["touched_at"] == "2026-01-05T12:00:01+00:00"


def test_first_touch_stays(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    for notes in ("a", "b"):
        agenda.edit(agenda.open_inspection(schedule_id), notes=notes)

    assert agenda.plans(schedule_id)[0]["touched_at"] == "2026-01-05T12:00:01+00:00"


@pytest.mark.parametrize(
    "values",
    [{"grace_days": 3}, {"inspector_id": 1}, {"basis": "NFPA 25"}, {"every": 3}, {"first_due": "2026-01-31"}],
    ids=lambda values: next(iter(values)),
)
def test_edit_that_changes_nothing_of_the_visit_leaves_its_times(agenda: ScheduleWorld, values: dict) -> None:
    schedule_id = agenda.create(inspector_id=1)
    before = agenda.plans(schedule_id)

    agenda.change(schedule_id, **values)

    assert agenda.plans(schedule_id) == before


def test_visit_that_follows_an_edit_keeps_its_creation_and_is_untouched(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    [before] = agenda.plans(schedule_id)

    agenda.change(schedule_id, inspector_id=2)

    [after] = agenda.plans(schedule_id)
    assert after["touched_at"] is None
    assert after["inspections"]["created_at"] == before["inspections"]["created_at"]
    assert after["inspections"]["updated_at"] == "2026-01-05T12:00:01+00:00"
    agenda.change(schedule_id, ended_on="2026-01-05")
    assert agenda.plans(schedule_id) == []


def test_archive_without_the_column_keeps_edited_visits(world: Callable) -> None:
    """Archives of versions before the column: the times of the visit say whether a person has edited it."""
    visit = {"building_id": 1, "inspection_type": "fire", "status": "scheduled", "created_at": "2026-01-01"}
    api = world({
        "clients": [{"id": 1, "name": "C"}],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "users": [{"id": "00000000-0000-4000-8000-000000000001", "email": "r@x.example", "name": "R",
                   "role": "super_admin", "client_id": None}],
        "inspections": [{**visit, "id": 1, "updated_at": "2026-01-01"}, {**visit, "id": 2, "updated_at": "2026-01-02"}],
        "inspection_plans": [{"inspection_id": each, "case_id": each} for each in (1, 2)],
    })  # fmt: skip

    touched = api("root").get("/inspection_plans?order=inspection_id&select=touched_at").json

    assert [each["touched_at"] for each in touched] == [None, "2026-01-02T00:00:00+00:00"]


def test_edit_of_first_due_moves_the_visit_that_repeats_a_cancelled_one(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    agenda.close(schedule_id, "cancelled")

    agenda.change(schedule_id, first_due="2026-02-15")

    assert agenda.history(schedule_id) == [("2026-01-31", "cancelled"), ("2026-02-15", None)]
    [_, plan] = agenda.plans(schedule_id)
    assert plan["inspections"]["date_visited"] == "2026-02-15"

"""The console's forms run the rules of schedules."""

from collections.abc import Callable

import pytest

from tests.console.inspection_rows import set_clock

pytestmark = pytest.mark.one_engine

SCHEDULE = {
    "building_id": "6", "inspection_type": "fire", "title": "Exits", "every": "3", "unit": "month",
    "counted_from": "planned", "first_due": "2026-01-31", "grace_days": "0",
}  # fmt: skip


@pytest.fixture
def schedule_path(browse: Callable, api: Callable) -> str:
    """Create a schedule with the form, and return its page."""
    answer = browse("ada").fill_in("/console/schedules/new", SCHEDULE)
    assert answer.status_code == 303, answer.text
    [row] = api("root").get("/schedules?order=id.desc&limit=1&select=id").json
    return f"/console/schedules/{row['id']}"


def history(api: Callable, schedule_path: str) -> list[tuple[str, str | None]]:
    key = schedule_path.rpartition("/")[2]
    plans = api("root").get(f"/inspection_plans?schedule_id=eq.{key}&order=inspection_id").json
    return [(plan["due_on"], plan["outcome"]) for plan in plans]


def open_inspection(api: Callable, schedule_path: str) -> str:
    """Return the page of the open inspection of a schedule."""
    key = schedule_path.rpartition("/")[2]
    [plan] = api("root").get(f"/inspection_plans?schedule_id=eq.{key}&outcome=is.null").json
    return f"/console/inspections/{plan['inspection_id']}"


def test_new_schedule_makes_its_first_inspection(api: Callable, schedule_path: str) -> None:
    assert history(api, schedule_path) == [("2026-01-31", None)]


def test_status_and_edit_close_a_planned_inspection(browse: Callable, api: Callable, schedule_path: str) -> None:
    ada = browse("ada")
    first = open_inspection(api, schedule_path)

    assert ada.send(f"{first}/status", {"status": "completed"}, form=first).status_code == 303
    following = open_inspection(api, schedule_path)
    assert ada.fill_in(f"{following}/edit", {"status": "failed"}).status_code == 303

    assert history(api, schedule_path) == [("2026-01-31", "done"), ("2026-04-30", "done"), ("2026-07-31", None)]


def test_open_inspection_is_not_deleted(browse: Callable, api: Callable, schedule_path: str) -> None:
    inspection = open_inspection(api, schedule_path)

    answer = browse("ada").send(f"{inspection}/delete")

    assert answer.status_code == 400
    assert "A visit that its schedule or case requires cannot be deleted. Cancel it." in answer.text
    assert history(api, schedule_path) == [("2026-01-31", None)]


def test_end_and_deletion_of_a_schedule(browse: Callable, api: Callable, schedule_path: str) -> None:
    ada = browse("ada")
    inspection = open_inspection(api, schedule_path)

    assert ada.fill_in(f"{schedule_path}/edit", {"ended_on": "2026-01-01"}).status_code == 303
    assert ada.get(inspection).status_code == 404
    assert ada.fill_in(f"{schedule_path}/edit", {"ended_on": ""}).status_code == 303
    assert history(api, schedule_path) == [("2026-01-31", None)]

    inspection = open_inspection(api, schedule_path)
    assert ada.send(f"{schedule_path}/delete").status_code == 303
    assert ada.get(inspection).status_code == 404


def test_form_says_whether_the_open_visit_follows(app: object, browse: Callable, api: Callable) -> None:
    clock = set_clock(app)
    schedule = {"id": 78, "building_id": 1, "inspection_type": "fire", "every": 1, "unit": "year"}
    assert api("service").post("/schedules", {**schedule, "first_due": "2026-05-01"}).status == 201
    [plan] = api("service").get("/inspection_plans?schedule_id=eq.78").json
    visit, ada = plan["inspection_id"], browse("ada")
    link = f'The visit on <a href="/console/inspections/{visit}">'
    edit = "/console/schedules/78/edit"
    assert f"{link}1 May 2026</a> follows what you change here." in ada.page(edit)

    clock.set("2026-03-10T12:05:00+00:00")
    assert api("service").patch(f"/inspections?id=eq.{visit}", {"date_visited": "2026-05-04"}).status == 204

    assert f"{link}4 May 2026</a> keeps its date, type and inspector" in ada.page(edit)
    assert "Open visit" not in ada.page("/console/schedules/new?building_id=1")

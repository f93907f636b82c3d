"""A closed building ends its schedules, loses untouched open visits, and gets no schedule that runs on."""

from collections.abc import Callable

import pytest

from tests.inspections.schedule_world import TODAY, VACANT, ScheduleWorld, schedule_world

LATER = "2026-06-01"


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


def close(agenda: ScheduleWorld, day: str, method: str = "post") -> None:
    if method == "post":
        answer = agenda.root.post("/building_details", {"building_id": VACANT, "closed_on": day})
    else:
        assert agenda.root.post("/building_details", {"building_id": VACANT, "parcel": "1"}).status == 201
        answer = agenda.root.patch(f"/building_details?building_id=eq.{VACANT}", {"closed_on": day})
    assert answer.status in (201, 204), answer.text


def open_visits(agenda: ScheduleWorld, schedule_id: int) -> list[int]:
    path = f"/inspection_plans?schedule_id=eq.{schedule_id}&outcome=is.null&select=inspection_id"
    return [row["inspection_id"] for row in agenda.root.get(path).json]


@pytest.mark.parametrize("method", ["post", "patch"])
def test_schedules_end_and_untouched_visits_go(agenda: ScheduleWorld, method: str) -> None:
    untouched, booked = agenda.create(title="a"), agenda.create(title="b")
    [kept] = open_visits(agenda, booked)
    agenda.edit(kept, notes="booked")

    close(agenda, TODAY, method)

    ended = agenda.root.get(f"/schedules?id=in.({untouched},{booked})&select=ended_on").json
    assert ended == [{"ended_on": TODAY}] * 2
    assert (open_visits(agenda, untouched), open_visits(agenda, booked)) == ([], [kept])


def test_schedule_that_ends_earlier_stays(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create(ended_on="2026-02-28")

    close(agenda, LATER)

    assert agenda.root.get(f"/schedules?id=eq.{schedule_id}&select=ended_on").json == [{"ended_on": "2026-02-28"}]
    assert len(open_visits(agenda, schedule_id)) == 1


def test_building_gets_no_schedule_that_runs_on_after_its_closing(agenda: ScheduleWorld) -> None:
    close(agenda, LATER)

    refused = agenda.root.post("/schedules", agenda.body())
    ended = agenda.create(ended_on=LATER)
    reopened = agenda.root.patch(f"/schedules?id=eq.{ended}", {"ended_on": None})

    for answer in (refused, reopened):
        assert (answer.status, answer.code) == (400, "23514")
        assert answer.json["details"] == "schedules_building_closed_check"


def test_building_without_a_day_of_closing_keeps_its_schedules(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()

    assert agenda.root.post("/building_details", {"building_id": VACANT, "parcel": "1"}).status == 201

    assert len(open_visits(agenda, schedule_id)) == 1

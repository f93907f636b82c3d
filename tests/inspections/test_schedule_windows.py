"""Windows of schedules: visits that are early, and changes of an interval that make nothing overdue."""

from collections.abc import Callable

import pytest

from tests.inspections.schedule_world import OTHER_BUILDING, VACANT, ScheduleWorld, schedule_world


@pytest.fixture
def agenda(api: Callable) -> ScheduleWorld:
    return schedule_world(api)


@pytest.mark.parametrize("close", ["patch", "close_visit"])
def test_quarter_is_done_once_in_its_window(agenda: ScheduleWorld, close: str) -> None:
    """Closed on the 5th, 6th and 7th of January: one quarter is done."""
    schedule_id = agenda.create(early_days=30)
    for day in ("2026-01-05", "2026-01-06", "2026-01-07"):
        agenda.wait_until(day)
        if close == "patch":
            agenda.close(schedule_id, "completed", day)
        else:
            closing = {"p_inspection_id": agenda.open_inspection(schedule_id), "p_status": "completed"}
            assert agenda.root.rpc("close_visit", closing).status == 200

    assert agenda.history(schedule_id) == [
        ("2026-01-31", "done"), ("2026-04-30", "early"), ("2026-04-30", "early"), ("2026-04-30", None),
    ]  # fmt: skip


def test_without_a_window_each_visit_counts(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()

    for day in ("2026-01-05", "2026-01-06", "2026-01-07"):
        agenda.close(schedule_id, "completed", day)

    assert [outcome for _, outcome in agenda.history(schedule_id)] == ["done", "done", "done", None]


@pytest.mark.parametrize(
    ("early_days", "visited", "next_due"),
    [(30, "2026-04-29", "2026-07-31"), (None, "2026-04-29", "2026-04-30"), (30, "2026-03-30", "2026-04-30"),
     (30, "2026-03-31", "2026-07-31"), (0, "2026-04-29", "2026-04-30"), (0, "2026-04-30", "2026-07-31")],
)  # fmt: skip
def test_late_visit_is_followed_by_the_first_window_that_opens_after_it(
    agenda: ScheduleWorld, early_days: int | None, visited: str, next_due: str
) -> None:
    assert agenda.close(agenda.create(early_days=early_days), "completed", visited) == next_due


@pytest.mark.parametrize(
    ("early_days", "day", "outcome"),
    [(10, "2026-01-20", "early"), (10, "2026-01-21", "done"), (0, "2026-01-30", "early"), (0, "2026-01-31", "done"),
     (None, "2026-01-05", "done")],
)  # fmt: skip
@pytest.mark.parametrize("status", ["completed", "failed"])
@pytest.mark.parametrize("counted_from", ["planned", "done"])
def test_first_day_of_a_window(
    agenda: ScheduleWorld, early_days: int | None, day: str, outcome: str, status: str, counted_from: str
) -> None:
    schedule_id = agenda.create(early_days=early_days, counted_from=counted_from)

    agenda.close(schedule_id, status, day)

    assert agenda.history(schedule_id)[0] == ("2026-01-31", outcome)
    assert (agenda.history(schedule_id)[1][0] == "2026-01-31") == (outcome == "early")


@pytest.mark.parametrize(
    ("every", "unit", "expected"),
    [(1, "week", ["2026-01-12", "2026-01-19"]), (1, "month", ["2026-02-05", "2026-03-05"])],
)
def test_window_longer_than_the_interval_loses_no_occurrence(
    agenda: ScheduleWorld, every: int, unit: str, expected: list[str]
) -> None:
    schedule_id = agenda.create(first_due="2026-01-05", every=every, unit=unit, early_days=366)

    assert [agenda.close(schedule_id, "completed", day) for day in ("2026-01-05", expected[0])] == expected


def test_early_visit_whose_schedule_ends_is_not_repeated(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create(early_days=10)
    agenda.edit(agenda.open_inspection(schedule_id), notes="n")
    agenda.change(schedule_id, ended_on="2026-01-10")

    assert agenda.close(schedule_id, "completed", "2026-01-05") is None


# A new interval


def test_shorter_interval_makes_nothing_overdue(agenda: ScheduleWorld) -> None:
    """Every 5 years becomes every 3."""
    schedule_id = agenda.create(first_due="2021-01-31", every=5, unit="year")
    agenda.close(schedule_id, "completed", "2026-02-01")
    agenda.wait_until("2029-06-01")
    assert agenda.open_plans(schedule_id)[0]["due_on"] == "2031-01-31"

    agenda.change(schedule_id, every=3, counted_from="done")

    [plan] = agenda.open_plans(schedule_id)
    assert (plan["due_on"], plan["inspections"]["date_visited"]) == ("2029-06-01", "2029-06-01")
    assert agenda.close(schedule_id, "completed", "2029-06-02") == "2032-06-02"


@pytest.mark.parametrize(
    ("today", "every", "due_on"),
    [("2026-03-01", 1, "2026-03-01"), ("2026-02-10", 1, "2026-02-28"), ("2026-06-01", 1, "2026-04-30"),
     ("2026-06-01", 6, "2026-07-31")],
    ids=["due-today", "in-the-future", "stays-overdue", "longer"],
)  # fmt: skip
def test_interval_counts_from_the_last_result(agenda: ScheduleWorld, today: str, every: int, due_on: str) -> None:
    """Quarterly, done on 2026-01-31, next due on 2026-04-30."""
    schedule_id = agenda.create()
    agenda.close(schedule_id, "completed", "2026-01-31")
    agenda.wait_until(today)

    agenda.change(schedule_id, every=every)

    assert agenda.open_plans(schedule_id)[0]["due_on"] == due_on


def test_later_edits_leave_the_day_that_an_interval_has_moved(agenda: ScheduleWorld) -> None:
    schedule_id = agenda.create()
    agenda.close(schedule_id, "completed", "2026-01-31")
    agenda.wait_until("2026-03-01")
    agenda.change(schedule_id, every=1)
    agenda.wait_until("2026-03-10")

    agenda.change(schedule_id, inspector_id=2)

    assert agenda.open_plans(schedule_id)[0]["due_on"] == "2026-03-01"


# apply_schedule


def test_bulk_takes_window_grace_and_basis(agenda: ScheduleWorld) -> None:
    made = agenda.root.rpc(
        "apply_schedule",
        {"p_building_ids": [VACANT, OTHER_BUILDING], "p_inspection_type": "fire", "p_title": "Bulk", "p_every": 3,
         "p_unit": "month", "p_first_due": "2026-01-31", "p_grace_days": 5, "p_early_days": 30, "p_basis": "NFPA 25"},
    )  # fmt: skip

    rows = agenda.root.get("/schedules?title=eq.Bulk&select=grace_days,early_days,basis").json
    assert (made.json, rows) == (
        {"made": 2, "already": 0}, [{"grace_days": 5, "early_days": 30, "basis": "NFPA 25"}] * 2,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("first_due", "booked"),
    [("2026-01-31", "2026-01-30"), ("2026-02-01", "2026-01-30"), ("2026-02-02", "2026-02-02"),
     ("2026-01-03", "2026-01-05")],
    ids=["saturday", "sunday", "monday", "past"],
)  # fmt: skip
def test_weekdays_only_moves_the_booking_and_not_the_due_date(
    agenda: ScheduleWorld, first_due: str, booked: str
) -> None:
    agenda.root.rpc(
        "apply_schedule",
        {"p_building_ids": [VACANT], "p_inspection_type": "fire", "p_title": "Bulk", "p_every": 3, "p_unit": "month",
         "p_first_due": first_due, "p_weekdays_only": True},
    )  # fmt: skip

    [schedule] = agenda.root.get("/schedules?title=eq.Bulk").json
    [plan] = agenda.plans(schedule["id"])
    assert (plan["due_on"], plan["inspections"]["date_visited"], plan["touched_at"]) == (first_due, booked, None)
    agenda.change(schedule["id"], inspector_id=1)
    assert agenda.plans(schedule["id"])[0]["inspections"]["date_visited"] == booked


@pytest.mark.parametrize("value", [{"p_early_days": -1}, {"p_early_days": 367}, {"p_grace_days": 367}])
def test_days_out_of_range_are_refused(agenda: ScheduleWorld, value: dict) -> None:
    refused = agenda.root.rpc(
        "apply_schedule",
        {"p_building_ids": [VACANT], "p_inspection_type": "fire", "p_every": 3, "p_unit": "month",
         "p_first_due": "2026-01-31", **value},
    )  # fmt: skip

    assert (refused.status, refused.code) == (400, "22023")

"""start_visit and close_visit: statuses, dates and rights."""

from collections.abc import Callable

import pytest

from tests.conftest import dump
from tests.inspections.case_world import (
    CALLS,
    DAY_BEFORE,
    ELSEWHERE,
    FAILED,
    FIRST_DAY,
    INES,
    IVO,
    MISSING,
    MOMENT,
    OLD,
    OPEN,
    SCHEDULED,
    TODAY,
    TOMORROW,
    VISITS,
    call,
    case_rows,
    inspection,
    visit_row,
)

NOT_FOUND = {"code": "PT404", "message": "Inspection not found", "details": None, "hint": None}
CONDUCTING = ("root", "ada", "mia", "service")
CLOSED = ("completed", "failed", "cancelled")
OPEN_STATUSES = ("scheduled", "in_progress", None)


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(case_rows(), MOMENT)


def status_of(case: Callable, key: int) -> tuple:
    row = visit_row(case, key)
    return row["status"], row["date_visited"]


# Who


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize("who", CONDUCTING)
def test_admins_and_the_inspector_conduct_a_visit(case: Callable, function: str, who: str) -> None:
    assert call(case, who, function).status == 200


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize("who", ["moe", "bob"])
def test_readers_do_not_conduct_a_visit(case: Callable, function: str, who: str) -> None:
    before = dump(case)

    refused = call(case, who, function, FAILED if who == "bob" else None)

    assert refused.refusal == (403, "42501", "permission denied for this inspection")
    assert dump(case) == before


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize(("who", "key"), [("ada", ELSEWHERE), ("mia", ELSEWHERE), ("moe", MISSING), ("max", FAILED)])
def test_visits_out_of_reach_do_not_exist(case: Callable, function: str, who: str, key: int) -> None:
    before = dump(case)

    hidden, missing = call(case, who, function, key), call(case, who, function, MISSING)

    assert (hidden.status, hidden.json) == (404, NOT_FOUND)
    assert hidden.whole == missing.whole
    assert dump(case) == before


@pytest.mark.parametrize("function", CALLS)
@pytest.mark.parametrize(("day", "status"), [(FIRST_DAY, 200), (DAY_BEFORE, 404)], ids=["90 days", "91 days"])
def test_an_inspector_conducts_visits_of_the_last_90_days(
    world: Callable, function: str, day: str, status: int
) -> None:
    rows = case_rows()
    rows["inspections"].append(inspection(1930, 1, "failed" if function == "reinspect" else "postponed", day))
    case = world(rows, MOMENT)

    assert len(case("mia").get("/inspections?id=eq.1930").json) == (status == 200)
    assert call(case, "mia", function, 1930).status == status


def test_a_visit_of_91_days_ago_is_neither_seen_nor_closed(case: Callable) -> None:
    assert case("mia").get(f"/inspections?id=eq.{OLD}").json == []
    for function in CALLS:
        assert call(case, "mia", function, OLD).json == NOT_FOUND


def test_another_inspector_takes_a_visit_away(case: Callable) -> None:
    assert call(case, "mia", "start_visit").status == 200

    assert case("ada").patch(f"/inspections?id=eq.{SCHEDULED}", {"inspector_id": IVO}).status == 204

    assert case("mia").get(f"/inspections?id=eq.{SCHEDULED}").json == []
    assert call(case, "mia", "close_visit").json == NOT_FOUND
    assert status_of(case, SCHEDULED) == ("in_progress", TODAY)


@pytest.mark.parametrize("function", CALLS)
def test_an_inspector_who_is_unlinked_conducts_nothing(case: Callable, function: str) -> None:
    assert case("root").patch(f"/inspectors?id=eq.{INES}", {"user_id": None}).status == 204

    assert call(case, "mia", function).json == NOT_FOUND


@pytest.mark.parametrize("function", CALLS)
def test_a_rolled_back_call_leaves_nothing(case: Callable, function: str) -> None:
    before = dump(case)

    arguments = {"p_inspection_id": VISITS[function], **CALLS[function]}
    response = case("mia").rpc(function, arguments, prefer="tx=rollback")

    assert response.status == 200
    assert dump(case) == before


# Start


@pytest.mark.parametrize("status", OPEN_STATUSES)
@pytest.mark.parametrize(
    ("day", "started_on"),
    [(None, TODAY), ("2026-12-01", TODAY), (TODAY, TODAY), ("2026-11-03", TODAY)],
    ids=["no day", "later", "today", "before"],
)
def test_start_of_a_visit(world: Callable, status: str | None, day: str | None, started_on: str) -> None:
    rows = case_rows()
    rows["inspections"].append(inspection(1930, 1, status, day))
    case = world(rows, MOMENT)

    started = call(case, "ada", "start_visit", 1930)

    assert started.json == {"status": "in_progress", "date_visited": started_on}
    assert status_of(case, 1930) == ("in_progress", started_on)


@pytest.mark.parametrize("function", ["start_visit", "close_visit"])
@pytest.mark.parametrize("status", CLOSED)
def test_a_closed_visit_is_neither_started_nor_closed(world: Callable, function: str, status: str) -> None:
    rows = case_rows()
    rows["inspections"].append(inspection(1930, 1, status, TODAY))
    case = world(rows, MOMENT)
    message = {
        "start_visit": f"The visit is {status} and cannot be started.",
        "close_visit": f"The visit is {status} already and cannot be closed again.",
    }[function]

    refused = call(case, "mia", function, 1930)

    assert refused.json == {"code": "23514", "message": message, "details": f"{function}_status_check", "hint": None}
    assert refused.status == 400
    assert status_of(case, 1930) == (status, TODAY)


def test_today_is_the_day_in_the_time_zone(world: Callable) -> None:
    case = world(case_rows(), "2026-11-20T14:05:00+00:00", TIMEZONE="Pacific/Auckland")

    assert call(case, "mia", "start_visit").json["date_visited"] == TOMORROW


# Close


@pytest.mark.parametrize("status", ["completed", "failed"])
@pytest.mark.parametrize(
    ("day", "given", "closed_on"),
    [
        (None, None, TODAY),
        ("2026-12-01", None, TODAY),
        ("2026-11-03", None, "2026-11-03"),
        ("2026-12-01", "2026-11-18", "2026-11-18"),
    ],
    ids=["no day", "later", "before", "given"],
)
def test_close_of_a_visit(world: Callable, status: str, day: str | None, given: str | None, closed_on: str) -> None:
    rows = case_rows()
    rows["inspections"].append(inspection(1930, 1, "in_progress", day))
    case = world(rows, MOMENT)

    closed = call(case, "mia", "close_visit", 1930, p_status=status, p_date_visited=given)

    assert closed.json == {
        "status": status, "next_inspection_id": None, "reinspection_id": None, "open_findings": 0
    }  # fmt: skip
    assert status_of(case, 1930) == (status, closed_on)


def test_a_failed_visit_is_reinspected_only_if_the_call_asks_for_it(world: Callable) -> None:
    rows = case_rows()
    rows["inspections"] += [inspection(key, 1, "in_progress", TODAY) for key in (1930, 1931, 1932)]
    case = world(rows, MOMENT)

    asked = [
        call(case, "mia", "close_visit", 1930, p_status="failed", p_reinspect_on="2026-12-15").json,
        call(case, "mia", "close_visit", 1931, p_status="failed", p_reinspect_on=None).json,
        call(case, "mia", "close_visit", 1932, p_status="completed", p_reinspect_on=None).json,
    ]

    made = [each["reinspection_id"] for each in asked]
    assert made[1:] == [None, None]
    assert case("root").get("/inspections?id=gt.1932&select=id,status,date_visited,inspector_id").json == [
        {"id": made[0], "status": "scheduled", "date_visited": "2026-12-15", "inspector_id": INES}
    ]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"p_status": "cancelled"}, "22023"),
        ({"p_status": None}, "22P02"),
        ({"p_date_visited": "soon"}, "22007"),
        ({"p_reinspect_on": 5}, "22P02"),
        ({"p_reinspect_on": "2026-12-15"}, "22023"),
    ],
)
def test_invalid_values_close_nothing(case: Callable, change: dict, code: str) -> None:
    refused = call(case, "ada", "close_visit", **change)

    assert (refused.status, refused.code) == (400, code)
    assert status_of(case, SCHEDULED) == ("scheduled", "2026-12-01")


# Schedules


def test_the_next_visit_of_the_schedule_is_named(case: Callable) -> None:
    row = {"building_id": 1, "inspection_type": "fire", "every": 1, "unit": "year", "first_due": TODAY}
    made = case("ada").post("/schedules", {**row, "inspector_id": INES}, prefer="return=representation")
    [plan] = case("ada").get(f"/inspection_plans?schedule_id=eq.{made.json[0]['id']}").json

    closed = call(case, "mia", "close_visit", plan["inspection_id"], p_status="failed", p_reinspect_on="2026-12-15")

    following = closed.json["next_inspection_id"]
    assert status_of(case, following) == ("scheduled", "2027-11-20")
    rounds = case("ada").get(f"/inspection_plans?case_id=eq.{plan['inspection_id']}&order=round").json
    assert [(each["inspection_id"], each["round"], each["schedule_id"]) for each in rounds] == [
        (plan["inspection_id"], 1, made.json[0]["id"]),
        (closed.json["reinspection_id"], 2, None),
    ]
    again = call(case, "mia", "close_visit", closed.json["reinspection_id"])
    assert again.json["next_inspection_id"] is None


def test_fixed_findings_are_open_until_they_are_verified(case: Callable) -> None:
    case("moe").rpc("move_findings", {"p_finding_ids": [OPEN], "p_to": "fixed"})

    assert call(case, "ada", "reinspect").json["open_findings"] == 2

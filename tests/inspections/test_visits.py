"""start_visit, close_visit and reinspect: statuses, dates, rights, and the rounds of a case."""

import copy
from collections.abc import Callable

import pytest

from tests.conftest import Response, dump
from tests.inspections.case_world import (
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
    case_rows,
    inspection,
)

NOT_FOUND = {"code": "PT404", "message": "Inspection not found", "details": None, "hint": None}
CONDUCTING = ("root", "ada", "mia", "service")
CALLS = {"start_visit": {}, "close_visit": {"p_status": "completed"}, "reinspect": {"p_date_visited": "2026-12-15"}}
VISITS = {"start_visit": SCHEDULED, "close_visit": SCHEDULED, "reinspect": FAILED}
CLOSED = ("completed", "failed", "cancelled")
OPEN_STATUSES = ("scheduled", "in_progress", None)


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(case_rows(), MOMENT)


def call(case: Callable, who: str, function: str, key: int | None = None, **arguments: object) -> Response:
    key = VISITS[function] if key is None else key
    return case(who).rpc(function, {"p_inspection_id": key, **CALLS[function], **arguments})


def visit_row(case: Callable, key: int) -> dict:
    [row] = case("root").get(f"/inspections?id=eq.{key}").json
    return row


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


# Re-inspection


def test_a_reinspection_is_the_next_round_of_the_case(case: Callable) -> None:
    made = call(case, "mia", "reinspect")

    key = made.json["inspection_id"]
    assert made.json == {"inspection_id": key, "case_id": FAILED, "round": 2, "open_findings": 1}
    before, after = visit_row(case, FAILED), visit_row(case, key)
    new = {"id": key, "status": "scheduled", "date_visited": "2026-12-15", "created_at": MOMENT, "updated_at": MOMENT}
    assert after == {**before, **new}
    plan = {"schedule_id": None, "occurrence": None, "due_on": None, "created_at": MOMENT, "updated_at": MOMENT}
    assert case("root").get("/inspection_plans?order=round").json == [
        {"inspection_id": FAILED, "case_id": FAILED, "round": 1, "outcome": "done", **plan},
        {"inspection_id": key, "case_id": FAILED, "round": 2, "outcome": None, **plan},
    ]
    assert {(row["inspection_id"], row["case_id"]) for row in case("ada").get("/findings").json} == {(FAILED, FAILED)}


def test_a_finding_of_a_reinspection_belongs_to_the_case(case: Callable) -> None:
    key = call(case, "mia", "reinspect").json["inspection_id"]

    made = case("mia").post(
        "/findings", {"inspection_id": key, "description": "New", "severity": "low"}, prefer="return=representation"
    )

    assert (made.json[0]["inspection_id"], made.json[0]["case_id"]) == (key, FAILED)


def test_a_reinspection_may_name_another_inspector(case: Callable) -> None:
    made = call(case, "ada", "reinspect", p_inspector_id=IVO).json

    assert visit_row(case, made["inspection_id"])["inspector_id"] == IVO


@pytest.mark.parametrize(("who", "key"), [("ada", MISSING), ("mia", MISSING), ("mia", IVO)])
def test_an_inspector_out_of_reach_does_not_exist(case: Callable, who: str, key: int) -> None:
    before = dump(case)

    refused = call(case, who, "reinspect", p_inspector_id=key)

    assert refused.refusal == (404, "PT404", "Inspector not found")
    assert dump(case) == before


@pytest.mark.parametrize("status", [*OPEN_STATUSES, "cancelled"])
def test_only_a_completed_or_failed_visit_is_reinspected(world: Callable, status: str | None) -> None:
    rows = case_rows()
    rows["inspections"].append(inspection(1930, 1, status, TODAY))
    case = world(rows, MOMENT)

    refused = call(case, "ada", "reinspect", 1930)

    assert refused.refusal == (400, "23514", "Only a completed or failed visit is re-inspected.")


def test_a_completed_visit_may_be_reinspected(world: Callable) -> None:
    rows = case_rows()
    rows["inspections"].append(inspection(1930, 1, "completed", TODAY))

    assert call(world(rows, MOMENT), "ada", "reinspect", 1930).json["round"] == 2


def test_a_case_has_one_open_round(case: Callable) -> None:
    first = call(case, "mia", "reinspect").json["inspection_id"]
    before = dump(case)

    again = call(case, "ada", "reinspect")

    message = 'duplicate key value violates unique constraint "inspection_plans_open_round_key"'
    assert again.json == {"code": "23505", "message": message, "details": None, "hint": None}
    assert again.status == 409
    assert dump(case) == before
    assert call(case, "mia", "close_visit", first).status == 200
    assert call(case, "ada", "reinspect").json["round"] == 3


def test_a_result_that_is_taken_back_takes_the_round_back(case: Callable) -> None:
    reinspection = call(case, "mia", "reinspect").json["inspection_id"]

    assert case("ada").patch(f"/inspections?id=eq.{FAILED}", {"status": "in_progress"}).status == 204

    assert case("ada").get(f"/inspections?id=eq.{reinspection}").json == []
    closed = call(case, "mia", "close_visit", FAILED, p_status="failed", p_reinspect_on="2026-12-15").json
    assert closed["reinspection_id"] > reinspection


def test_a_result_stays_once_the_round_after_it_is_touched(case: Callable) -> None:
    reinspection = call(case, "mia", "reinspect").json["inspection_id"]
    case("root").database.own.extensions["walkthrough"].clock.unix += 1
    assert call(case, "mia", "start_visit", reinspection).status == 200
    before = dump(case)

    refused = case("ada").patch(f"/inspections?id=eq.{FAILED}", {"status": "scheduled"})

    assert (refused.status, refused.code) == (409, "23505")
    assert refused.json["details"] == f"inspection_plans_next_touched: inspection {reinspection}"
    assert dump(case) == before


def test_a_case_has_at_most_99_rounds(world: Callable) -> None:
    rows = case_rows()
    rows["inspection_plans"] = [{"inspection_id": FAILED, "case_id": FAILED, "round": 99, "outcome": "done"}]
    case = world(rows, MOMENT)
    before = dump(case)

    refused = call(case, "ada", "reinspect")

    assert (refused.status, refused.code) == (400, "23514")
    assert dump(case) == before


def test_a_round_has_the_inspector_of_the_round_before(case: Callable) -> None:
    second = call(case, "ada", "reinspect", p_inspector_id=IVO).json["inspection_id"]
    call(case, "ada", "close_visit", second, p_status="failed")

    third = call(case, "ada", "reinspect", FAILED).json["inspection_id"]

    assert visit_row(case, third)["inspector_id"] == IVO


def test_a_cancelled_round_is_followed_by_another(case: Callable) -> None:
    second = call(case, "mia", "reinspect").json["inspection_id"]
    assert case("ada").patch(f"/inspections?id=eq.{second}", {"status": "cancelled"}).status == 204

    assert call(case, "mia", "reinspect").json["round"] == 3


CHAIN = (
    "/inspection_plans?case_id=eq.1918&order=round&select=round,inspections(id,date_visited,status,inspectors(name))"
)


@pytest.mark.parametrize("who", ["ada", "mia"])
def test_a_case_of_three_rounds(world: Callable, who: str) -> None:
    rows = copy.deepcopy(case_rows())
    rows["findings"] = [{**each, "status": "open", "closed_at": None} for each in rows["findings"][:3]]
    case = world(rows, MOMENT)

    second = call(case, who, "reinspect").json
    verified = case(who).rpc(
        "move_findings", {"p_finding_ids": [1, 2], "p_to": "verified", "p_inspection_id": second["inspection_id"]}
    )
    key = second["inspection_id"]
    closed = call(case, who, "close_visit", key, p_status="failed", p_reinspect_on="2027-01-15").json

    assert (second["round"], second["open_findings"]) == (2, 3)
    assert verified.json == {"moved": 2, "already": 0}
    third = closed["reinspection_id"]
    assert closed == {
        "status": "failed", "next_inspection_id": None, "reinspection_id": third, "open_findings": 1
    }  # fmt: skip
    name = {"name": "Ines"}
    assert case(who).get(CHAIN).json == [
        {
            "round": 1,
            "inspections": {"id": FAILED, "date_visited": "2026-11-19", "status": "failed", "inspectors": name},
        },
        {"round": 2, "inspections": {"id": key, "date_visited": TODAY, "status": "failed", "inspectors": name}},
        {
            "round": 3,
            "inspections": {"id": third, "date_visited": "2027-01-15", "status": "scheduled", "inspectors": name},
        },
    ]
    still_open = case(who).get("/findings?case_id=eq.1918&status=in.(open,fixed)").json
    assert [row["id"] for row in still_open] == [3]
    assert case("max").get(CHAIN).json == []


def test_counts_of_a_case_hold_visible_findings_only(world: Callable) -> None:
    """mia conducts the second round, and does not read the findings of the first one."""
    rows = case_rows()
    rows["inspections"][0]["inspector_id"] = IVO
    rows["inspections"].append(inspection(1930, 1, "in_progress", TODAY))
    plan = {"case_id": FAILED, "outcome": None}
    rows["inspection_plans"] = [
        {"inspection_id": FAILED, "round": 1, **plan, "outcome": "done"},
        {"inspection_id": 1930, "round": 2, **plan},
    ]
    counted = [call(world(rows, MOMENT), who, "close_visit", 1930).json["open_findings"] for who in ("mia", "ada")]

    assert counted == [0, 1]


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


def test_fixed_findings_are_not_open(case: Callable) -> None:
    case("moe").rpc("move_findings", {"p_finding_ids": [OPEN], "p_to": "fixed"})

    assert call(case, "ada", "reinspect").json["open_findings"] == 0

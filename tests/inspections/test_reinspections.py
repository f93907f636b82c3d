"""Re-inspections: the rounds of a case."""

import copy
from collections.abc import Callable

import pytest

from tests.conftest import dump
from tests.inspections.case_world import FAILED, IVO, MISSING, MOMENT, TODAY, call, case_rows, inspection, visit_row

OPEN_STATUSES = ("scheduled", "in_progress", None)


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(case_rows(), MOMENT)


def test_a_reinspection_is_the_next_round_of_the_case(case: Callable) -> None:
    made = call(case, "mia", "reinspect")

    key = made.json["inspection_id"]
    assert made.json == {"inspection_id": key, "case_id": FAILED, "round": 2, "open_findings": 2}
    before, after = visit_row(case, FAILED), visit_row(case, key)
    new = {"id": key, "status": "scheduled", "date_visited": "2026-12-15", "created_at": MOMENT, "updated_at": MOMENT}
    assert after == {**before, **new}
    plan = {"schedule_id": None, "occurrence": None, "due_on": None, "touched_at": None}
    plan |= {"created_at": MOMENT, "updated_at": MOMENT}
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
    key = second["inspection_id"]
    verifying = {"p_finding_ids": [1, 2], "p_to": "verified", "p_inspection_id": key, "p_how": "visit"}
    assert case(who).rpc("move_findings", verifying).code == "23514", "the visit is not started"
    assert call(case, who, "start_visit", key).status == 200
    verified = case(who).rpc("move_findings", verifying)
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
    counted = [
        call(world(rows, MOMENT), who, "close_visit", 1930, p_reason="x").json["open_findings"]
        for who in ("mia", "ada")
    ]

    assert counted == [0, 2]

"""A visit with open grave findings is completed for a reason only, and findings without a follow-up are counted."""

from collections.abc import Callable

import pytest

from tests.inspections.case_world import (
    AGAIN,
    ELSEWHERE,
    FAILED,
    MOMENT,
    OLD,
    case_rows,
    finding,
    inspection,
    rounds_of_case,
)

GRAVE = 10


def completed(case: Callable, who: str = "mia", **more: object) -> object:
    return case(who).rpc("close_visit", {"p_inspection_id": AGAIN, "p_status": "completed", **more})


def case_with(world: Callable, severity: str, status: str = "open") -> Callable:
    rows = rounds_of_case()
    rows["findings"].append(finding(GRAVE, AGAIN, status, severity=severity, case_id=FAILED))
    return world(rows, MOMENT)


@pytest.mark.parametrize("status", ["open", "fixed"])
@pytest.mark.parametrize("severity", ["life_threatening", "severe"])
def test_completion_with_grave_findings_needs_a_reason(world: Callable, severity: str, status: str) -> None:
    case = case_with(world, severity, status)

    refused = [completed(case), completed(case, p_reason=" "), completed(case, "ada")]

    assert {(each.status, each.code) for each in refused} == {(400, "23514")}
    assert all(each.json["details"] == "inspections_open_findings_check" for each in refused)
    assert case("root").get(f"/inspections?id=eq.{AGAIN}&select=status").json == [{"status": "in_progress"}]
    assert case("root").get("/finding_events").json == []


def test_reason_is_kept_as_a_remark_on_the_grave_findings(world: Callable) -> None:
    case = case_with(world, "severe")

    assert completed(case, p_reason=" The landlord repairs tonight. ").status == 200

    [event] = case("root").get("/finding_events?select=finding_id,kind,inspection_id,note").json
    assert event == {
        "finding_id": GRAVE, "kind": "remark", "inspection_id": AGAIN, "note": "The landlord repairs tonight.",
    }  # fmt: skip


@pytest.mark.parametrize(("severity", "status"), [("moderate", "open"), ("severe", "verified"), ("severe", "waived")])
def test_other_findings_need_no_reason(world: Callable, severity: str, status: str) -> None:
    assert completed(case_with(world, severity, status)).status == 200


def test_failed_visit_needs_no_reason(world: Callable) -> None:
    case = case_with(world, "life_threatening")

    assert completed(case, p_status="failed").status == 200


# Counts of findings without a follow-up


def counts(case: Callable, who: str) -> tuple[int, int]:
    body = case(who).rpc("get_due_summary", method="GET").json
    return body["failed_without_reinspection"], body["completed_with_open_findings"]


@pytest.mark.parametrize(
    ("who", "numbers"), [("root", (3, 0)), ("ada", (2, 0)), ("bob", (2, 0)), ("moe", (2, 0)), ("max", (0, 0))]
)
def test_failed_visits_without_a_round_are_counted(world: Callable, who: str, numbers: tuple[int, int]) -> None:
    """They are FAILED, OLD and ELSEWHERE, as far as a person sees them."""
    assert counts(world(case_rows(), MOMENT), who) == numbers


def test_a_round_follows_a_failed_visit_up(world: Callable) -> None:
    case = world(rounds_of_case(), MOMENT)
    before = counts(case, "root")

    assert completed(case).status == 200

    assert before == (2, 0)
    assert counts(case, "root") == (2, 1)
    assert case("ada").rpc("move_findings", {"p_finding_ids": [1, 2], "p_to": "waived", "p_note": "x"}).status == 200
    assert counts(case, "root") == (2, 0)


def test_visits_of_more_than_a_year_ago_do_not_count(world: Callable) -> None:
    rows = case_rows()
    rows["inspections"] += [inspection(1940, 1, "failed", "2025-11-19"), inspection(1941, 1, "failed", "2025-11-20")]

    assert counts(world(rows, MOMENT), "root") == (4, 0)


# Closed buildings


def test_closed_building_leaves_the_counts_and_keeps_its_record(world: Callable) -> None:
    case = world(case_rows(), MOMENT)
    dashboard = case("ada").rpc("get_inspections_dashboard_summary_fast").json

    made = case("ada").post("/building_details", {"building_id": 1, "closed_on": "2026-11-20"})

    assert made.status == 201, made.text
    assert counts(case, "ada") == (0, 0)
    assert counts(case, "root") == (1, 0)
    closed = case("ada").rpc("get_inspections_dashboard_summary_fast").json
    assert (dashboard["total_buildings"], dashboard["open_findings"]) == (1, 2)
    assert (closed["total_buildings"], closed["open_findings"], closed["findings_overdue"]) == (0, 0, 0)
    assert closed["total_inspections"] == dashboard["total_inspections"]
    assert {row["id"] for row in case("ada").get("/inspections?select=id").json} >= {FAILED, OLD}
    assert ELSEWHERE in {row["id"] for row in case("root").get("/inspections?select=id").json}


def test_building_that_closes_later_still_counts(world: Callable) -> None:
    case = world(case_rows(), MOMENT)

    assert case("ada").post("/building_details", {"building_id": 1, "closed_on": "2026-11-21"}).status == 201

    assert counts(case, "ada") == (2, 0)

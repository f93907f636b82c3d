"""report_defect and regrade_finding: who may call them, what they need, and what they leave."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, MOE, ROOT, Response
from tests.inspections.case_world import (
    DUE_AT,
    FIXED,
    HIDDEN,
    MISSING,
    MOMENT,
    OPEN,
    SCHEDULED,
    VERIFIED,
    WAIVED,
    case_rows,
    stored_findings,
)

DEFECT = {"p_building_id": 1, "p_description": "The stair rail is loose.", "p_severity": "severe"}
EXTENDED = "2027-01-15T12:00:00+00:00"


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(case_rows(), MOMENT)


def stored(case: Callable) -> list:
    return [case("root").get("/inspections?order=id").json, *stored_findings(case)]


def report(case: Callable, who: str, prefer: str | None = None, **arguments: object) -> Response:
    return case(who).rpc("report_defect", {**DEFECT, **arguments}, prefer=prefer)


def regrade(case: Callable, who: str, key: int = OPEN, severity: str = "severe", note: str = "It spread.") -> Response:
    return case(who).rpc("regrade_finding", {"p_finding_id": key, "p_severity": severity, "p_note": note})


# report_defect


@pytest.mark.parametrize(("who", "user"), [("root", ROOT), ("ada", ADA), ("moe", MOE), ("service", None)])
def test_a_defect_is_a_visit_in_progress_and_its_finding(case: Callable, who: str, user: str | None) -> None:
    answer = report(case, who, p_place="Stair", p_item="Rail")

    assert answer.status == 200, answer.text
    made = answer.json
    [visit] = case("root").get(f"/inspections?id=eq.{made['inspection_id']}").json
    columns = ("building_id", "inspection_type", "status", "date_visited", "inspector_id")
    assert [visit[name] for name in columns] == [1, "complaint", "in_progress", MOMENT[:10], None]
    [found] = case("root").get(f"/findings?id=eq.{made['finding_id']}").json
    columns = ("inspection_id", "description", "severity", "status", "place", "item", "found_at", "due_at")
    assert [found[name] for name in columns] == [
        visit["id"], DEFECT["p_description"], "severe", "open", "Stair", "Rail", MOMENT, "2026-11-21T14:05:00+00:00",
    ]  # fmt: skip
    [event] = case("root").get(f"/finding_events?finding_id=eq.{found['id']}").json
    assert (event["kind"], event["inspection_id"], event["user_id"]) == ("made", visit["id"], user)


@pytest.mark.parametrize(
    ("who", "building", "status"),
    [("bob", 1, 404), ("mia", 1, 403), ("max", 1, 404), ("ada", 2, 404), ("moe", 2, 404), ("root", MISSING, 404)],
)
def test_a_defect_of_another_building_is_refused(case: Callable, who: str, building: int, status: int) -> None:
    before = stored(case)

    answer = report(case, who, p_building_id=building)

    assert (answer.status, answer.code) == (status, "42501" if status == 403 else "PT404"), answer.text
    assert stored(case) == before


def test_a_hidden_building_and_a_missing_one_have_one_body(case: Callable) -> None:
    hidden, missing = (report(case, "moe", p_building_id=key) for key in (2, MISSING))

    assert hidden.whole == missing.whole


def test_a_defect_of_an_earlier_day_is_a_visit_of_that_day(case: Callable) -> None:
    made = report(case, "moe", p_found_at="2026-11-18T22:00:00-05:00").json

    [found] = case("root").get(f"/findings?id=eq.{made['finding_id']}").json
    [visit] = case("root").get(f"/inspections?id=eq.{made['inspection_id']}").json
    assert (found["found_at"], found["due_at"]) == ("2026-11-19T03:00:00+00:00", "2026-11-20T03:00:00+00:00")
    assert visit["date_visited"] == "2026-11-19"


@pytest.mark.parametrize(
    "change",
    [
        {"p_found_at": "2026-11-20T14:10:01Z"},
        {"p_found_at": "soon"},
        {"p_severity": "fatal"},
        {"p_description": None},
        {"p_description": ""},
        {"p_description": " \t\n\u00a0"},
        {"p_place": "x" * 70_000},
    ],
)
def test_an_invalid_defect_leaves_nothing(case: Callable, change: dict) -> None:
    before = stored(case)

    answer = report(case, "moe", **change)

    assert answer.status == 400, answer.text
    assert stored(case) == before


@pytest.mark.parametrize("description", ["", " \n"])
def test_a_defect_needs_a_description_after_the_right(case: Callable, description: str) -> None:
    refused, denied = (report(case, who, p_description=description) for who in ("moe", "mia"))

    assert (refused.status, refused.code, denied.code) == (400, "23514", "42501")
    assert refused.json["details"] == "report_defect_description_check"


def test_a_defect_that_is_rolled_back_leaves_nothing(case: Callable) -> None:
    before = stored(case)

    assert report(case, "ada", prefer="tx=rollback").status == 200
    assert stored(case) == before


# regrade_finding


@pytest.mark.parametrize("who", ["root", "ada", "service"])
def test_a_regraded_finding_is_due_by_the_rule_of_its_severity(case: Callable, who: str) -> None:
    answer = regrade(case, who)

    due = "2026-11-20T08:00:00+00:00"
    assert (answer.status, answer.json) == (200, {"severity": "severe", "due_at": due})
    [row] = case("root").get(f"/findings?id=eq.{OPEN}").json
    assert (row["severity"], row["due_at"], row["status"]) == ("severe", due, "open")
    columns = "kind,note,severity_before,severity_after,due_before,due_after"
    assert case("root").get(f"/finding_events?finding_id=eq.{OPEN}&select={columns}").json == [
        {"kind": "regraded", "note": "It spread.", "severity_before": "moderate", "severity_after": "severe",
         "due_before": DUE_AT, "due_after": due},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("who", "key", "status", "code"),
    [
        ("bob", OPEN, 403, "42501"),
        ("moe", OPEN, 403, "42501"),
        ("mia", OPEN, 403, "42501"),
        ("max", OPEN, 404, "PT404"),
        ("ada", HIDDEN, 404, "PT404"),
        ("ada", MISSING, 404, "PT404"),
        ("ada", FIXED, 400, "23514"),
        ("ada", VERIFIED, 400, "23514"),
        ("ada", WAIVED, 400, "23514"),
        ("moe", FIXED, 403, "42501"),
    ],
)
def test_refused_grades_change_nothing(case: Callable, who: str, key: int, status: int, code: str) -> None:
    before = stored(case)

    answer = regrade(case, who, key)

    assert (answer.status, answer.code) == (status, code), answer.text
    assert stored(case) == before


def test_an_inspector_regrades_while_the_visit_is_open(case: Callable) -> None:
    row = {"inspection_id": SCHEDULED, "description": "A crack.", "severity": "low"}
    made = case("mia").post("/findings", row, prefer="return=representation").json[0]

    assert regrade(case, "mia", made["id"]).status == 200
    assert case("mia").rpc("start_visit", {"p_inspection_id": SCHEDULED}).status == 200
    assert case("mia").rpc("close_visit", {"p_inspection_id": SCHEDULED, "p_status": "failed"}).status == 200
    assert regrade(case, "mia", made["id"], "low").refusal[:2] == (403, "42501")


@pytest.mark.parametrize("note", ["", " \n"])
def test_a_grade_needs_a_note_after_the_right(case: Callable, note: str) -> None:
    before = stored(case)

    refused = regrade(case, "ada", note=note)

    assert (refused.status, refused.code) == (400, "23514")
    assert refused.json["details"] == f"findings_move_check: finding {OPEN}: open -> regraded needs p_note"
    assert regrade(case, "moe", note=note).status == 403
    assert stored(case) == before


def test_the_same_severity_leaves_no_event(case: Callable) -> None:
    before = stored(case)

    assert regrade(case, "ada", severity="moderate").json == {"severity": "moderate", "due_at": DUE_AT}
    assert stored(case) == before


def test_an_extended_deadline_stays(case: Callable) -> None:
    extension = {"p_finding_ids": [OPEN], "p_to": "open", "p_due_at": EXTENDED, "p_note": "Parts are late."}
    assert case("ada").rpc("move_findings", extension).status == 200

    assert regrade(case, "ada").json == {"severity": "severe", "due_at": EXTENDED}

    [event] = case("root").get("/finding_events?kind=eq.regraded").json
    assert (event["due_before"], event["due_after"]) == (EXTENDED, EXTENDED)


def test_a_grade_without_a_rule_has_no_deadline(case: Callable) -> None:
    assert case("root").delete("/deadline_rules?severity=eq.low").status == 204

    assert regrade(case, "ada", severity="low").json == {"severity": "low", "due_at": None}
    extension = {"p_finding_ids": [OPEN], "p_to": "open", "p_due_at": EXTENDED, "p_note": "Agreed."}
    assert case("ada").rpc("move_findings", extension).json == {"moved": 1, "already": 0}
    event = case("root").get("/finding_events?kind=eq.extended").json[0]
    assert (event["due_before"], event["due_after"]) == (None, EXTENDED)

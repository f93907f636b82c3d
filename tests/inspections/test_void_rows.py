"""void_rows: readings and calibration checks that count no longer, with the reason."""

from collections.abc import Callable

import pytest

from tests.inspections.case_world import ELSEWHERE, MISSING, MOMENT
from tests.inspections.issued_world import CLOSED, ISSUED, LOCK, NEW, OPEN_VISIT, ROWS, WITHDRAWN, issue, issued_rows

TABLES = ("reports_lead", "calibration_checks")
REASON = "Taken through wallpaper."
HIDDEN = 90


@pytest.fixture
def case(world: Callable) -> Callable:
    rows = issued_rows()
    for table in TABLES:
        rows[table].append({**rows[table][0], "id": HIDDEN, "inspection_id": ELSEWHERE, "ref": None})
    made = world(rows, MOMENT)
    issue(made)
    return made


def void(case: Callable, who: str, table: str, *ids: int, reason: str = REASON) -> object:
    return case(who).rpc("void_rows", {"p_table": table, "p_ids": list(ids), "p_reason": reason})


def reasons(case: Callable, table: str) -> dict[int, str | None]:
    return {row["id"]: row["voided"] for row in case("root").get(f"/{table}?select=id,voided&order=id").json}


@pytest.mark.parametrize("table", TABLES)
def test_rows_become_void_and_keep_their_values(case: Callable, table: str) -> None:
    ids = [ROWS[WITHDRAWN], ROWS[CLOSED], ROWS[CLOSED]]
    before = case("root").get(f"/{table}?id=eq.{ROWS[CLOSED]}").json[0]

    answer = void(case, "ada", table, *ids)

    assert (answer.status, answer.json) == (200, {"voided": 2}), answer.text
    [after] = case("root").get(f"/{table}?id=eq.{ROWS[CLOSED]}").json
    assert {**before, "voided": REASON, "updated_at": after["updated_at"]} == after
    assert {key for key, reason in reasons(case, table).items() if reason} == set(ids)


@pytest.mark.parametrize("table", TABLES)
def test_inspector_voids_rows_of_own_open_visits(case: Callable, table: str) -> None:
    assert void(case, "mia", table, ROWS[OPEN_VISIT]).json == {"voided": 1}
    refused = void(case, "mia", table, ROWS[CLOSED])
    assert (refused.status, refused.json["details"][-24:]) == (400, "inspections_closed_check")
    assert void(case, "moe", table, ROWS[CLOSED]).refusal[:2] == (403, "42501")


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("who", ["mia", "ada", "root", "service"])
def test_rows_of_an_issued_visit_are_not_voided(case: Callable, who: str, table: str) -> None:
    before = reasons(case, table)

    assert void(case, who, table, ROWS[OPEN_VISIT], ROWS[ISSUED]).refusal == LOCK
    assert reasons(case, table) == before


@pytest.mark.parametrize("table", TABLES)
def test_a_void_row_keeps_its_reason(case: Callable, table: str) -> None:
    assert void(case, "ada", table, ROWS[CLOSED]).status == 200

    refused = void(case, "ada", table, ROWS[OPEN_VISIT], ROWS[CLOSED], reason="Another.")

    assert refused.refusal == (400, "23514", "Some rows are void already.")
    assert refused.json["details"] == f"{table}_voided_check: {ROWS[CLOSED]}"
    assert reasons(case, table)[ROWS[OPEN_VISIT]] is None


@pytest.mark.parametrize("table", TABLES)
def test_hidden_rows_are_as_missing_ones(case: Callable, table: str) -> None:
    hidden, missing = (void(case, "ada", table, ROWS[CLOSED], key) for key in (HIDDEN, MISSING))

    assert (hidden.status, hidden.text) == (missing.status, missing.text)
    assert hidden.status == 404
    assert reasons(case, table)[ROWS[CLOSED]] is None


@pytest.mark.parametrize("reason", ["", " ", "x" * 1_001])
def test_reason_has_1_to_1000_characters(case: Callable, reason: str) -> None:
    assert void(case, "ada", "reports_lead", ROWS[CLOSED], reason=reason).refusal[:2] == (400, "22023")
    assert void(case, "ada", "reports_lead", ROWS[CLOSED], reason="x" * 1_000).status == 200
    assert void(case, "ada", "findings", ROWS[CLOSED]).refusal[:2] == (400, "22023")


def test_a_void_check_confirms_no_reading(case: Callable) -> None:
    """The only check of the instrument is before the reading."""
    reading = {"inspection_id": CLOSED, "taken_at": "2026-11-19T10:30:00+00:00", **NEW["reports_lead"]}
    assert case("ada").post("/reports_lead", reading).status == 201
    again = {**NEW["calibration_checks"], "inspection_id": CLOSED, "taken_at": "2026-11-19T11:00:00+00:00"}
    assert case("ada").post("/calibration_checks", again).status == 201
    summary = {"p_inspection_id": CLOSED}
    assert case("ada").rpc("lead_summary", summary).json["validity"]["valid"] == 1

    assert void(case, "ada", "calibration_checks", ROWS[CLOSED]).status == 200

    counted = case("ada").rpc("lead_summary", summary).json
    assert (counted["validity"]["valid"], counted["guns"][0]["checks"]) == (0, 1)
    report = case("ada").get(f"/reports/inspections/{CLOSED}?kind=lead")
    assert f"Void: {REASON}" in report.text
    assert "<s>1.0</s>" in report.text

"""The lead inspections of the demo: one with a failed check, others without problems, and one with gaps."""

from collections.abc import Callable
from datetime import date

import pytest

from demo.portfolio import SEED, compose
from inspections.lead.classification import classify
from inspections.reports.reports import RULES
from tests.conftest import Bearer
from tests.inspections.lead_world import WORKED_CHECKS, WORKED_READINGS
from tests.support.tokens import SERVICE_KEY

PORTFOLIO = compose(date(2026, 11, 20), SEED)
FINISHED = sorted(
    (
        row
        for row in PORTFOLIO["inspections"]
        if row["inspection_type"] == "lead" and row["status"] in ("completed", "failed") and row["inspector_id"]
    ),
    key=lambda row: row["date_visited"],
)
EXAMPLE = next(row for row in reversed(FINISHED) if row["status"] == "failed")
WITH_GAPS = {"year_built", "calibration_checks.end"}


@pytest.fixture
def demo(shared_world: Callable) -> Callable:
    return shared_world(PORTFOLIO)


def rows_of(table: str, inspection: dict) -> list[dict]:
    return [row for row in PORTFOLIO[table] if row["inspection_id"] == inspection["id"]]


def clock(row: dict) -> str:
    return row["taken_at"][11:16]


def test_example_begins_with_the_checks_and_readings_of_the_design() -> None:
    checks, readings = rows_of("calibration_checks", EXAMPLE), rows_of("reports_lead", EXAMPLE)

    made = [(clock(row), (row["first"], row["second"], row["third"]), row["mean"], row["result"]) for row in checks]
    assert made[:3] == [(at[11:16], *rest) for at, *rest in WORKED_CHECKS]
    measured = [(row["reading_no"], clock(row), row["lead_mg_cm2"], row["classification"]) for row in readings]
    assert measured[:6] == [(number, at[11:16], value, word) for number, at, _, value, word, _ in WORKED_READINGS]
    assert {row["gun_id"] for row in [*checks, *readings]} == {20417}


def test_readings_that_do_not_count_were_taken_again() -> None:
    readings = {row["reading_no"]: row for row in rows_of("reports_lead", EXAMPLE)}

    voided = {number: row["voided"] for number, row in readings.items() if row["voided"]}
    assert voided == {4: "Repeated as reading 7", 5: "Repeated as reading 8", 6: "Repeated as reading 9"}
    for former, later in ((4, 7), (5, 8), (6, 9)):
        for name in ("room", "wall", "component", "substrate", "lead_mg_cm2", "classification"):
            assert readings[former][name] == readings[later][name]


def test_classifications_follow_from_the_limits() -> None:
    sheets = {row["gun_id"]: (row["negative_below"], row["positive_from"]) for row in PORTFOLIO["xrf_instruments"]}

    for row in PORTFOLIO["reports_lead"]:
        assert row["result"] == row["classification"] == classify(row["lead_mg_cm2"], None, sheets[row["gun_id"]])


@pytest.mark.parametrize("rule", RULES)
def test_reports_are_complete_but_those_of_one_building(demo: Callable, rule: str) -> None:
    described = {row["building_id"] for row in PORTFOLIO["building_details"]}
    complete = [row for row in FINISHED if row["building_id"] in described]
    [incomplete] = [row for row in FINISHED if len(rows_of("calibration_checks", row)) == 1]

    assert {code for row in complete for code in call(demo, "report_gaps", row, p_rule=rule)} == set()
    assert EXAMPLE in complete
    assert incomplete["building_id"] not in described
    assert set(call(demo, "report_gaps", incomplete, p_rule=rule)) == WITH_GAPS - (
        {"year_built"} if rule == "MN" else set()
    )


def call(demo: Callable, name: str, inspection: dict, **more: object) -> object:
    answer = demo(Bearer(f"Bearer {SERVICE_KEY}")).rpc(name, {"p_inspection_id": inspection["id"], **more}, "GET")
    assert answer.status == 200, answer.text
    return answer.json


def test_summaries_but_one_are_complete(demo: Callable) -> None:
    problems = [problem["code"] for row in FINISHED for problem in call(demo, "lead_summary", row)["problems"]]

    assert problems == ["open"]

"""lead_summary: the validity of readings, the problems, and who reads what of them."""

from collections.abc import Callable

import pytest

from tests.inspections.case_world import MISSING
from tests.inspections.lead_world import (
    LEAD,
    MOMENT,
    OTHER_LEAD,
    OTHERS,
    OWN,
    SHARED,
    UNKNOWN,
    WORKED_READINGS,
    at,
    check,
    lead_rows,
    make,
    reading,
    worked_checks,
    worked_readings,
)

FEDERAL = {
    "is_exclusive": False, "state": None, "city": None, "valid_from": "1992-10-28",
    "basis": "40 CFR 745.227(h)(1) and 42 U.S.C. 4851b(23)",
}  # fmt: skip
GOOD, BAD = (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)
COUNTS = {"valid": 0, "no_check": 0, "late": 0, "open": 0, "doubtful": 0}


@pytest.fixture
def lead(world: Callable) -> Callable:
    return world(lead_rows(), MOMENT)


def summary(lead: Callable, who: str = "ada", inspection_id: int = LEAD) -> dict:
    answer = lead(who).rpc("lead_summary", {"p_inspection_id": inspection_id})
    assert answer.status == 200, answer.text
    result: dict = answer.json
    return result


def test_worked_example(lead: Callable) -> None:
    make(lead, "calibration_checks", worked_checks())
    made = make(lead, "reports_lead", worked_readings())

    assert [each["classification"] for each in made] == [each[4] for each in WORKED_READINGS]
    assert summary(lead) == {
        "readings": 6,
        "positive": 3,
        "negative": 3,
        "inconclusive": 0,
        "validity": {**COUNTS, "valid": 3, "late": 1, "doubtful": 2},
        "guns": [{"gun_id": SHARED, "serial": f"S-{SHARED}", "checks": 3, "failed": 1}],
        "problems": [
            {"code": "late", "gun_id": SHARED, "at": at("18:02"), "mean": None, "readings": 1},
            {"code": "failed_check", "gun_id": SHARED, "at": at("20:00"), "mean": 1.267, "readings": 2},
        ],
        "complete": False,
        "by_component": [
            {"component": "door", "readings": 3, "positive": 2, "negative": 1, "inconclusive": 0},
            {"component": "sill", "readings": 3, "positive": 1, "negative": 2, "inconclusive": 0},
        ],
        "standard": {"id": 1, "unit": "mg_cm2", "from_value": 1.0, **FEDERAL},
        "standard_percent": {"id": 2, "unit": "percent", "from_value": 0.5, **FEDERAL},
    }


@pytest.mark.parametrize(
    ("checks", "taken_at", "validity"),
    [
        ([], at("15:00"), "no_check"),
        ([(at("15:30"), GOOD)], at("15:00"), "no_check"),
        ([(at("14:00"), BAD), (at("16:00"), GOOD)], at("15:00"), "no_check"),
        ([(at("14:00"), GOOD)], at("15:00"), "open"),
        ([(at("14:00"), GOOD)], None, "no_check"),
        ([(at("14:00"), GOOD), (at("16:00"), BAD)], at("15:00"), "doubtful"),
        ([(at("14:00"), GOOD), (at("16:00"), GOOD)], at("15:00"), "valid"),
        ([(at("14:00"), GOOD), (at("19:00"), GOOD)], at("18:00"), "valid"),
        ([(at("14:00"), GOOD), (at("19:00"), GOOD)], at("18:01"), "late"),
        ([(at("14:00"), GOOD), (at("16:00"), GOOD)], at("14:00"), "valid"),
    ],
)
def test_validity_follows_from_the_checks_around_a_reading(
    lead: Callable, checks: list, taken_at: str | None, validity: str
) -> None:
    for clock, values in checks:
        make(lead, "calibration_checks", check(clock, values))
    make(lead, "reports_lead", reading(0.3, taken_at=taken_at))

    found = summary(lead)

    assert found["validity"] == {**COUNTS, validity: 1}
    assert found["complete"] == (validity == "valid")


def test_minutes_between_checks_are_those_of_the_instrument(lead: Callable) -> None:
    for clock in ("14:00", "16:00"):
        make(lead, "calibration_checks", check(at(clock), (0.5, 0.5, 0.5), gun_id=OWN))
    make(lead, "reports_lead", [reading(0.3, OWN, taken_at=at("15:00")), reading(0.3, OWN, taken_at=at("15:01"))])

    assert summary(lead)["validity"] == {**COUNTS, "valid": 1, "late": 1}


def test_checks_of_other_inspections_and_instruments_confirm_nothing(lead: Callable) -> None:
    for clock in ("14:00", "16:00"):
        make(lead, "calibration_checks", check(at(clock), GOOD, inspection_id=OTHER_LEAD), "root")
        make(lead, "calibration_checks", check(at(clock), GOOD, gun_id=OWN), "root")
    make(lead, "reports_lead", reading(0.3, taken_at=at("15:00")))

    assert summary(lead)["validity"] == {**COUNTS, "no_check": 1}


def test_voided_readings_and_other_methods_need_no_check(lead: Callable) -> None:
    more = {"result": "positive", "component": "door"}
    make(lead, "reports_lead", reading(1.4, voided="Through wallpaper."))
    make(lead, "reports_lead", reading(None, None, method="assumed", **more))
    make(lead, "reports_lead", reading(0.3, None, method="paint_chip"))

    found = summary(lead)

    assert (found["readings"], found["positive"], found["negative"]) == (2, 1, 1)
    assert (found["validity"], found["problems"], found["complete"]) == (COUNTS, [], True)


def test_inspection_without_readings_is_not_complete(lead: Callable) -> None:
    assert summary(lead)["complete"] is False
    assert summary(lead)["by_component"] == []


def test_unknown_instrument_is_a_problem(lead: Callable) -> None:
    for clock in ("14:00", "16:00"):
        make(lead, "calibration_checks", check(at(clock), GOOD, gun_id=UNKNOWN))
    make(lead, "reports_lead", reading(0.3, UNKNOWN, taken_at=at("15:00")))

    found = summary(lead)

    assert found["guns"] == [{"gun_id": UNKNOWN, "serial": None, "checks": 2, "failed": 0}]
    assert found["problems"] == [{"code": "unknown_gun", "gun_id": UNKNOWN, "at": None, "mean": None, "readings": 1}]


def test_instrument_of_another_client_is_unknown_to_everybody(lead: Callable) -> None:
    make(lead, "reports_lead", reading(0.3, OTHERS))

    for who in ("ada", "moe", "root"):
        assert summary(lead, who)["guns"][0]["serial"] is None
        assert "unknown_gun" in [each["code"] for each in summary(lead, who)["problems"]]


@pytest.mark.parametrize("who", ["root", "service", "ada", "moe", "mia"])
def test_everybody_who_sees_the_inspection_reads_the_same_summary(lead: Callable, who: str) -> None:
    make(lead, "calibration_checks", worked_checks())
    make(lead, "reports_lead", worked_readings())

    assert summary(lead, who) == summary(lead, "ada")


@pytest.mark.parametrize("who", ["bob", "max"])
def test_hidden_inspection_answers_as_a_missing_one(lead: Callable, who: str) -> None:
    make(lead, "reports_lead", reading(0.3))

    hidden, missing = (lead(who).rpc("lead_summary", {"p_inspection_id": key}) for key in (LEAD, MISSING))

    assert hidden.status == 404
    assert hidden.whole == missing.whole

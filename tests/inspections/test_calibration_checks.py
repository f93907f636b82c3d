"""Calibration checks: mean, result and limits, as the sheet was when the check was written."""

from collections.abc import Callable

import pytest

from tests.inspections.lead_world import (
    MOMENT,
    OTHERS,
    OWN,
    RETURN,
    SHARED,
    UNKNOWN,
    WORKED_CHECKS,
    at,
    check,
    lead_rows,
    make,
    stored,
    worked_checks,
)

CHECKS = [
    (SHARED, (0.7, 0.8, 0.9), 0.8, "pass"),
    (SHARED, (1.1, 1.2, 1.3), 1.2, "pass"),
    (SHARED, (1.2, 1.2, 1.3), 1.233, "fail"),
    (SHARED, (0.7, 0.8, 0.8), 0.767, "fail"),
    (OWN, (0.5, 0.55, 0.6), 0.55, "pass"),
    (OWN, (1.0, 1.0, 1.0), 1.0, "fail"),
    (OTHERS, (1.0, 1.0, 1.0), 1.0, "pass"),
    (UNKNOWN, (1.0, 1.0, 1.0), 1.0, "pass"),
]


@pytest.fixture
def lead(world: Callable) -> Callable:
    return world(lead_rows(), MOMENT)


def test_mean_and_result_follow_from_the_measurements(lead: Callable) -> None:
    bodies = [check(MOMENT, values, gun_id=gun_id) for gun_id, values, _, _ in CHECKS]

    one_by_one = [make(lead, "calibration_checks", each)[0] for each in bodies]
    at_once = make(lead, "calibration_checks", bodies)

    for made in (one_by_one, at_once):
        assert [(each["mean"], each["result"]) for each in made] == [each[2:] for each in CHECKS]
    assert (at_once[0]["check_low"], at_once[0]["check_high"]) == (0.8, 1.2)
    assert (at_once[4]["check_low"], at_once[4]["check_high"]) == (0.5, 0.6)


def test_checks_of_the_worked_example(lead: Callable) -> None:
    made = make(lead, "calibration_checks", worked_checks())

    assert [(each["taken_at"], each["mean"], each["result"]) for each in made] == [
        (clock, mean, result) for clock, _, mean, result in WORKED_CHECKS
    ]


def test_changed_sheet_changes_no_check(lead: Callable) -> None:
    [made] = make(lead, "calibration_checks", check(at("14:00"), (1.0, 1.0, 1.0)))
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"check_low": 2, "check_high": 3})

    [noted] = lead("ada").patch(f"/calibration_checks?id=eq.{made['id']}", {"first": 1.0, "note": "x"},
                                prefer=RETURN).json  # fmt: skip

    assert (noted["result"], noted["check_low"], noted["check_high"]) == ("pass", 0.8, 1.2)


def test_changed_measurement_changes_the_result(lead: Callable) -> None:
    [made] = make(lead, "calibration_checks", check(at("14:00"), (1.0, 1.0, 1.0)))

    [changed] = lead("ada").patch(f"/calibration_checks?id=eq.{made['id']}", {"first": 3.0}, prefer=RETURN).json

    assert (changed["mean"], changed["result"]) == (1.667, "fail")


@pytest.mark.parametrize("column", ["mean", "result", "check_low", "check_high"])
def test_nobody_sends_the_outcome(lead: Callable, column: str) -> None:
    [made] = make(lead, "calibration_checks", check(at("14:00"), (1.0, 1.0, 1.0)))
    value = "fail" if column == "result" else 2.0

    posted = lead("ada").post("/calibration_checks", check(at("15:00"), (1.0, 1.0, 1.0), **{column: value}))
    patched = lead("root").patch(f"/calibration_checks?id=eq.{made['id']}", {column: value})

    assert [posted.code, patched.code] == ["428C9", "428C9"]
    assert stored(lead, "calibration_checks", made["id"]) == made


def test_missing_measurement_is_refused(lead: Callable) -> None:
    body = check(at("14:00"), (1.0, 1.0, 1.0))
    del body["third"]

    refused = lead("ada").post("/calibration_checks", body)

    assert (refused.status, refused.code) == (400, "23502")
    assert '"third"' in refused.message

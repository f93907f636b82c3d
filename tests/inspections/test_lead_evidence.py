"""Readings that are true: the graver result counts, doubts stay until they are decided, limits belong to a reading."""

import datetime
import sys
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from inspections.lead.assessment import Assessment, Lead, checks_by_instrument
from tests.inspections.lead_world import (
    BANDED,
    LEAD,
    MOMENT,
    OWN,
    RETURN,
    SHARED,
    UNKNOWN,
    at,
    check,
    instrument,
    lead_rows,
    make,
    reading,
    stored,
)

MERGE = "resolution=merge-duplicates"
GOOD = (1.0, 1.0, 1.0)
LEAD_GAPS = {
    "conflict", "inconclusive", "unknown_gun", "limits_of_another_standard", "out_of_service", "outside_visit",
    "reports_lead", "reports_lead.lead_mg_cm2", "calibration_checks.start", "calibration_checks.interval",
    "calibration_checks.failed", "calibration_checks.end",
}  # fmt: skip
"""The gaps of a report that are problems of lead_summary, too."""


@pytest.fixture
def lead(world: Callable) -> Callable:
    return world(lead_rows(), MOMENT)


def place(lead: Callable, **values: object) -> None:
    """Set columns of the building of the inspection."""
    assert lead("root").patch("/buildings?id=eq.1", values).status == 204


def checked(lead: Callable, gun_id: int = SHARED, values: tuple = GOOD) -> None:
    for clock in ("14:00", "16:00"):
        make(lead, "calibration_checks", check(at(clock), values, gun_id=gun_id), "root")


def shot(value: float | None = None, gun_id: int | None = SHARED, **more: object) -> dict:
    return reading(value, gun_id, taken_at=at("15:00"), **more)


def summary(lead: Callable, who: str = "ada") -> dict:
    """Return the summary, which says the same of completeness as the gaps of the report."""
    found: dict = lead(who).rpc("lead_summary", {"p_inspection_id": LEAD}).json
    gaps = lead(who).rpc("report_gaps", {"p_inspection_id": LEAD, "p_rule": "federal"}).json
    assert found["complete"] == (not LEAD_GAPS & {*gaps}), gaps
    assert {each["code"] for each in found["problems"]} & LEAD_GAPS <= {*gaps}
    return found


def counts(found: dict) -> tuple[int, int, int]:
    return found["positive"], found["negative"], found["inconclusive"]


def problems(found: dict) -> dict[str, int]:
    return {each["code"]: each["readings"] for each in found["problems"]}


def report(lead: Callable, accept: str = "application/json") -> object:
    answer = lead("ada").get(f"/reports/inspections/{LEAD}?kind=lead", accept=accept)
    return answer.json if accept == "application/json" else answer.text


def classify_again(lead: Callable, who: str = "ada") -> int:
    answer = lead(who).rpc("reclassify_readings", {"p_inspection_id": LEAD}, "POST")
    assert answer.status == 200, answer.text
    changed: int = answer.json["changed"]
    return changed


# Conflicts


@pytest.mark.parametrize(
    ("value", "result", "expected"),
    [
        (0.6, "positive", (1, 0, 0)),
        (0.6, "POSITIVE", (1, 0, 0)),
        (0.6, "inconclusive", (0, 0, 1)),
        (1.4, "negative", (1, 0, 0)),
        (0.6, "see note", (0, 1, 0)),
    ],
)
def test_graver_of_result_and_classification_counts(lead: Callable, value: float, result: str, expected: tuple) -> None:
    checked(lead)
    make(lead, "reports_lead", shot(value, result=result))

    found = summary(lead)

    assert counts(found) == expected
    assert problems(found)["conflict"] == 1
    assert found["complete"] is False


def test_conflict_is_positive_in_front_and_ends_with_a_note(lead: Callable) -> None:
    checked(lead)
    [made] = make(lead, "reports_lead", shot(0.6, component="sill", result="positive"))
    path = f"/reports_lead?id=eq.{made['id']}"

    assert [(each["id"], each["result"]) for each in report(lead)["positives"]] == [(made["id"], "positive")]
    refused = lead("ada").patch(path, {"result": "negative"})
    assert (refused.status, refused.code, refused.json["details"]) == (400, "23514", "reports_lead_conflict_check")
    assert stored(lead, "reports_lead", made["id"]) == made
    assert lead("ada").patch(path, {"result": "negative", "note": "Typed wrong."}).status == 204
    assert (summary(lead)["problems"], counts(summary(lead))) == ([], (0, 1, 0))


@pytest.mark.parametrize("door", ["upsert", "put"])
def test_note_is_required_by_every_door(lead: Callable, door: str) -> None:
    [made] = make(lead, "reports_lead", shot(0.6, result="positive"))

    changed = {**made, "result": "negative"}
    refused = {
        "upsert": lambda: lead("root").post("/reports_lead", changed, prefer=MERGE),
        "put": lambda: lead("root").put(f"/reports_lead?id=eq.{made['id']}", changed),
    }[door]()

    assert (refused.status, refused.code) == (400, "23514")


def test_voided_reading_is_no_conflict(lead: Callable) -> None:
    checked(lead)
    make(
        lead, "reports_lead", [shot(0.6, result="positive", voided="Wrong wall."), shot(0.3, voided=None, result=None)]
    )

    assert summary(lead)["complete"] is True


# Unknown instruments


def test_readings_made_before_their_instrument_was_registered_stay_a_problem(lead: Callable) -> None:
    checked(lead, UNKNOWN)
    make(lead, "reports_lead", [shot(0.6, UNKNOWN), shot(0.5, UNKNOWN)])
    new = instrument(9, UNKNOWN, negative_below=0.5, positive_from=0.5)
    make(lead, "xrf_instruments", new, "root")
    make(lead, "reports_lead", shot(0.6, UNKNOWN))

    before = summary(lead)
    assert (counts(before), problems(before)) == ((1, 2, 0), {"unknown_gun": 2})
    assert classify_again(lead) == 2
    assert (counts(summary(lead)), summary(lead)["complete"]) == ((3, 0, 0), True)
    assert classify_again(lead) == 0


@pytest.mark.parametrize(("who", "refusal"), [("moe", (403, "42501")), ("bob", (404, "PT404"))])
def test_who_may_not_write_readings_does_not_classify_them_again(lead: Callable, who: str, refusal: tuple) -> None:
    make(lead, "reports_lead", shot(0.6))

    answer = lead(who).rpc("reclassify_readings", {"p_inspection_id": LEAD}, "POST")

    assert (answer.status, answer.code) == refusal


def test_inspector_classifies_the_readings_of_own_visits_again(lead: Callable) -> None:
    make(lead, "reports_lead", shot(0.6))
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"negative_below": 0.5, "positive_from": 0.5})

    assert classify_again(lead, "mia") == 1


def test_own_result_stays_when_readings_are_classified_again(lead: Callable) -> None:
    [made] = make(lead, "reports_lead", shot(0.6, result="positive"))
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"negative_below": 0.5, "positive_from": 0.5})

    assert classify_again(lead) == 1
    after = stored(lead, "reports_lead", made["id"])
    assert (after["classification"], after["result"], after["positive_from"]) == ("positive", "positive", 0.5)


# Inconclusive readings


@pytest.mark.parametrize(
    ("confirming", "expected", "is_complete"),
    [
        (None, (0, 1, 1), False),
        ({"method": "paint_chip", "gun_id": None, "lead_mg_cm2": 0.2}, (0, 3, 0), True),
        ({"method": "paint_chip", "gun_id": None, "lead_percent": 0.6}, (2, 1, 0), True),
        ({"method": "assumed", "gun_id": None}, (2, 1, 0), True),
        ({"lead_mg_cm2": 0.1}, (0, 3, 0), True),
        ({"lead_mg_cm2": 1.1}, (0, 1, 2), False),
    ],
)
def test_inconclusive_reading_waits_for_a_decision(
    lead: Callable, confirming: dict | None, expected: tuple, is_complete: bool
) -> None:
    checked(lead, BANDED)
    first, _ = make(lead, "reports_lead", [shot(1.0, BANDED), shot(0.1, BANDED)])
    if confirming is not None:
        make(lead, "reports_lead", {**shot(None, BANDED, confirms_id=first["id"]), **confirming})

    found = summary(lead)

    assert (counts(found), found["complete"]) == (expected, is_complete)
    assert ("inconclusive" in problems(found)) != is_complete


def test_undecided_reading_is_in_front_and_in_the_conclusions(lead: Callable) -> None:
    checked(lead, BANDED)
    make(lead, "reports_lead", [shot(1.0, BANDED), shot(0.1, BANDED)])

    page = report(lead, "text/html")

    assert [each["lead_mg_cm2"] for each in report(lead)["positives"]] == [1.0]
    assert (
        "1 of the 2\n  readings that count is positive" in page or "1 of the 2 readings that count is positive" in page
    )
    assert "1 is inconclusive and counts as positive" in " ".join(page.split())


def test_repeated_shot_without_a_check_decides_nothing(lead: Callable) -> None:
    checked(lead, BANDED)
    [first] = make(lead, "reports_lead", shot(1.0, BANDED))
    make(lead, "reports_lead", reading(0.1, BANDED, confirms_id=first["id"], taken_at=at("13:00")))

    assert problems(summary(lead))["inconclusive"] == 1


@pytest.mark.parametrize("confirms", ["itself", "elsewhere", "missing"])
def test_reading_confirms_another_one_of_its_inspection(lead: Callable, confirms: str) -> None:
    [made] = make(lead, "reports_lead", shot(1.0))
    [other] = make(lead, "reports_lead", {**shot(1.0), "inspection_id": 2001}, "root")
    named = {"itself": made["id"], "elsewhere": other["id"], "missing": 999}[confirms]

    refused = lead("ada").patch(f"/reports_lead?id=eq.{made['id']}", {"confirms_id": named})

    assert (refused.status, refused.code) == (409, "23503")
    assert "reports_lead_confirms_id_fkey" in refused.message


# Values


@pytest.mark.parametrize("more", [{}, {"lead_mg_cm2": 0.1}])
def test_less_than_the_detection_limit_is_negative(lead: Callable, more: dict) -> None:
    checked(lead)
    [made] = make(lead, "reports_lead", {**shot(None, qualifier="<"), **more})

    found = summary(lead)

    assert (made["classification"], made["result"], counts(found)) == ("negative", "negative", (0, 1, 0))
    assert (found["problems"], found["complete"]) == ([], True)


def test_reading_without_a_value_is_a_problem_and_a_gap(lead: Callable) -> None:
    checked(lead)
    make(lead, "reports_lead", shot(None, result="negative"))

    assert problems(summary(lead)) == {"no_value": 1}


@pytest.mark.parametrize("value", [-0.1, -5.0])
def test_corrected_value_may_be_below_zero(lead: Callable, value: float) -> None:
    [made] = make(lead, "reports_lead", shot(value))

    assert (made["lead_mg_cm2"], made["classification"]) == (value, "negative")


@pytest.mark.parametrize(
    ("more", "classification", "limit"),
    [
        ({"lead_mg_cm2": 0.99}, "negative", 1.0),
        ({"lead_mg_cm2": 1.0}, "positive", 1.0),
        ({"lead_percent": 0.49}, "negative", 0.5),
        ({"lead_percent": 0.5}, "positive", 0.5),
        ({"lead_mg_cm2": 0.2, "lead_percent": 0.7}, "positive", 0.5),
        ({"lead_percent": 0.9, "qualifier": "<"}, "positive", 0.5),
        ({"lead_percent": 0.1, "qualifier": "<"}, "negative", 0.5),
    ],
)
def test_paint_chip_has_its_own_standard(lead: Callable, more: dict, classification: str, limit: float) -> None:
    """The instrument's band does not count, and a chip is never inconclusive."""
    [made] = make(lead, "reports_lead", {**shot(None, BANDED, method="paint_chip"), **more})

    assert (made["classification"], made["limits_from"]) == (classification, "standard")
    assert made["positive_from"] == made["negative_below"] == limit


def test_assumed_reading_is_positive(lead: Callable) -> None:
    [made] = make(lead, "reports_lead", shot(None, None, method="assumed"))

    assert (made["classification"], made["result"], made["limits_from"]) == ("positive", "positive", None)
    assert (counts(summary(lead)), summary(lead)["complete"]) == ((1, 0, 0), True)


def test_components_do_not_differ_by_case_and_blanks(lead: Callable) -> None:
    make(lead, "reports_lead", [shot(0.1, component=each) for each in ("WINDOW SILL", "Window  sill", "Door")])

    found = [(each["component"], each["readings"]) for each in summary(lead)["by_component"]]
    assert found == [("Door", 1), ("WINDOW SILL", 2)]


# The limits of a reading


@pytest.mark.parametrize("door", ["upsert", "put"])
@pytest.mark.parametrize(("value", "word"), [(2.5, "positive"), (0.1, "negative")])
def test_null_result_is_the_classification_again(lead: Callable, door: str, value: float, word: str) -> None:
    [made] = make(lead, "reports_lead", shot(0.2))
    changed = {**made, "lead_mg_cm2": value, "result": None, "classification": None}

    answer = {
        "upsert": lambda: lead("root").post("/reports_lead", changed, prefer=f"{MERGE},{RETURN}"),
        "put": lambda: lead("root").put(f"/reports_lead?id=eq.{made['id']}", changed, prefer=RETURN),
    }[door]()

    assert answer.status == 200, answer.text
    assert (answer.json[0]["result"], answer.json[0]["classification"]) == (word, word)


@pytest.mark.parametrize(
    ("changes", "classification", "limit"),
    [
        ({"result": "negative"}, "negative", 1.0),
        ({"note": "Again."}, "negative", 1.0),
        ({"lead_mg_cm2": 0.7}, "negative", 1.0),
        ({"lead_mg_cm2": 1.0}, "positive", 1.0),
        ({"substrate": "brick"}, "positive", 0.5),
        ({"mode": "K"}, "positive", 0.5),
        ({"gun_id": OWN}, "positive", 0.5),
    ],
)
def test_reading_keeps_its_limits_until_its_instrument_substrate_or_mode_changes(
    lead: Callable, changes: dict, classification: str, limit: float
) -> None:
    [made] = make(lead, "reports_lead", shot(0.6))
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"negative_below": 0.5, "positive_from": 0.5})

    [changed] = lead("ada").patch(f"/reports_lead?id=eq.{made['id']}", changes, prefer=RETURN).json

    assert (changed["classification"], changed["positive_from"]) == (classification, limit)


def test_check_keeps_its_limits(lead: Callable) -> None:
    [made] = make(lead, "calibration_checks", check(at("14:00"), (0.9, 0.9, 0.9)))
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"check_low": 1.0})

    [changed] = (
        lead("ada").patch(f"/calibration_checks?id=eq.{made['id']}", {"first": 0.8, "second": 0.8}, prefer=RETURN).json
    )

    assert (changed["result"], changed["check_low"]) == ("pass", 0.8)


def test_one_instrument_has_limits_by_mode(lead: Callable) -> None:
    limits = ({"mode": "K"}, 0.3), ({"mode": "K", "substrate": "brick"}, 0.2), ({"substrate": "brick"}, 0.4)
    for scope, limit in limits:
        body = {"gun_id": OWN, **scope, "negative_below": limit, "positive_from": limit}
        make(lead, "xrf_limits", body)
    scopes = [("K", "wood"), ("k", "Brick"), (None, "brick"), (None, None)]

    made = make(lead, "reports_lead", [shot(0.35, OWN, mode=mode, substrate=name) for mode, name in scopes])

    assert [each["positive_from"] for each in made] == [0.3, 0.2, 0.4, 0.5]
    assert report(lead)["readings"][0]["mode"] == "K"


def test_limit_names_a_substrate_or_a_mode(lead: Callable) -> None:
    refused = lead("ada").post("/xrf_limits", {"gun_id": OWN, "negative_below": 1, "positive_from": 1})

    assert (refused.status, refused.code) == (400, "23514")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (f"/xrf_instruments?gun_id=eq.{OWN}", {"negative_below": 1.3, "positive_from": 1.2}),
        (f"/xrf_instruments?gun_id=eq.{OWN}", {"check_low": 1.3}),
        ("/xrf_limits?id=eq.1", {"negative_below": 0.61}),
    ],
)
def test_reversed_limits_are_refused(lead: Callable, path: str, body: dict) -> None:
    refused = lead("root").patch(path, body)

    assert (refused.status, refused.code) == (400, "23514")


# Instruments and visits


@pytest.mark.parametrize(
    ("changes", "is_problem"),
    [
        ({"retired_on": "2026-11-20"}, True),
        ({"retired_on": "2026-11-21"}, False),
        ({"service_due_on": "2026-11-19"}, True),
        ({"service_due_on": "2026-11-20"}, False),
        ({"leak_test_due_on": "2026-11-19"}, True),
    ],
)
def test_instrument_is_in_service_on_the_day_of_a_reading(lead: Callable, changes: dict, is_problem: bool) -> None:
    checked(lead)
    make(lead, "reports_lead", shot(0.1))
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", changes)

    assert ("out_of_service" in problems(summary(lead))) == is_problem


@pytest.mark.parametrize(("day", "is_problem"), [("2026-11-18", True), ("2026-11-19", False), ("2026-11-21", False)])
def test_reading_is_taken_at_most_a_day_from_the_visit(lead: Callable, day: str, is_problem: bool) -> None:
    make(lead, "reports_lead", reading(0.1, taken_at=f"{day}T12:00:00+00:00"))

    assert ("outside_visit" in problems(summary(lead))) == is_problem


def test_number_of_another_client_is_no_conflict_and_the_own_instrument_wins(lead: Callable) -> None:
    body = {"gun_id": 30003, "make": "Viken", "model": "Pb200i", "serial": "V-1", "client_id": 1}
    own = {**body, "negative_below": 0.2, "positive_from": 0.2}

    make(lead, "xrf_instruments", own)
    make(lead, "xrf_instruments", {**body, "gun_id": SHARED, "negative_below": 0.3, "positive_from": 0.3})
    made = make(lead, "reports_lead", [shot(0.25, 30003), shot(0.25, SHARED)])
    again = lead("ada").post("/xrf_instruments", own)

    assert [each["positive_from"] for each in made] == [0.2, 0.3]
    assert (again.status, again.code) == (409, "23505")


@pytest.mark.parametrize(("table", "body"), [("reports_lead", shot(0.1)), ("calibration_checks", check(MOMENT, GOOD))])
def test_ref_of_another_client_is_no_conflict(lead: Callable, table: str, body: dict) -> None:
    ref = "7b1c1c1e-0000-4000-8000-000000000009"
    make(lead, table, {**body, "inspection_id": 2001, "ref": ref}, "bob")

    [first] = make(lead, f"{table}?on_conflict=ref", {**body, "ref": ref}, "ada")
    again = lead("ada").post(f"/{table}?on_conflict=ref", {**body, "ref": ref}, prefer=f"{MERGE},{RETURN}")

    assert (again.status, again.json[0]["id"]) == (200, first["id"])


# Lead standards


@pytest.mark.parametrize(
    ("building", "value", "unit_value", "basis"),
    [
        ({"city": "Brooklyn", "state": "NY"}, 0.6, 0.5, "Local Law 66 of 2019"),
        ({"city": "bronx ", "state": "ny"}, 0.6, 0.5, "Local Law 66 of 2019"),
        ({"city": "Baltimore", "state": "MD"}, 0.71, 0.7, "6-1001(c)"),
        ({"city": "Buffalo", "state": "NY"}, 1.0, 1.0, "40 CFR 745.227(h)(1)"),
        ({"city": None, "state": None}, 1.0, 1.0, "40 CFR 745.227(h)(1)"),
    ],
)
def test_report_prints_the_standard_of_the_place(
    lead: Callable, building: dict, value: float, unit_value: float, basis: str
) -> None:
    place(lead, **building)
    [made] = make(lead, "reports_lead", shot(value, OWN))

    page = str(report(lead, "text/html"))

    assert made["classification"] == "positive"
    assert summary(lead)["standard"]["from_value"] == unit_value
    assert basis in summary(lead)["standard"]["basis"]
    assert basis in page
    assert ("1.0 mg/cm²" in page) == (unit_value == 1.0)


def test_standard_is_that_of_the_day_of_the_visit(lead: Callable) -> None:
    place(lead, city="Bronx", state="NY")
    lead("root").patch(f"/inspections?id=eq.{LEAD}", {"date_visited": "2021-11-30"})
    assert summary(lead)["standard"]["from_value"] == 1.0

    lead("root").patch(f"/inspections?id=eq.{LEAD}", {"date_visited": "2021-12-01"})
    assert summary(lead)["standard"]["from_value"] == 0.5


def test_limits_of_another_standard_are_a_problem_and_what_lies_between_is_positive(lead: Callable) -> None:
    place(lead, city="Bronx", state="NY")
    checked(lead)
    make(lead, "reports_lead", [shot(0.4), shot(0.6)])

    assert (counts(summary(lead)), problems(summary(lead))) == ((1, 1, 0), {"limits_of_another_standard": 2})
    assert [each["lead_mg_cm2"] for each in report(lead)["positives"]] == [0.6]
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"negative_below": 0.5, "positive_from": 0.5})
    assert classify_again(lead) == 2
    assert (counts(summary(lead)), summary(lead)["complete"]) == ((1, 1, 0), True)


def test_more_than_a_value_excludes_the_value(lead: Callable) -> None:
    place(lead, city="Baltimore", state="MD")
    made = make(lead, "reports_lead", [shot(each, UNKNOWN) for each in (0.7, 0.701)])

    assert [each["classification"] for each in made] == ["negative", "positive"]


def test_standard_of_the_client_precedes_that_of_everybody(lead: Callable) -> None:
    body = {"unit": "mg_cm2", "from_value": 0.2, "valid_from": "2020-01-01", "basis": "House rule", "client_id": 1}
    make(lead, "lead_standards", body)
    make(lead, "lead_standards", {**body, "client_id": 2, "from_value": 0.1}, "bob")

    assert (summary(lead)["standard"]["basis"], summary(lead)["standard"]["from_value"]) == ("House rule", 0.2)


# The same for everybody


def test_validity_is_that_of_the_instrument_whoever_asks(lead: Callable) -> None:
    for clock in ("08:00", "12:00"):
        make(lead, "calibration_checks", check(at(clock), (0.5, 0.5, 0.5), gun_id=OWN))
    make(lead, "reports_lead", reading(0.1, OWN, taken_at=at("10:00")))
    bob = lead("root").get("/users?email=like.bob*&select=id").json
    assert (
        lead("root").post("/client_admin_inspection_access", {"admin_id": bob[0]["id"], "inspection_id": LEAD}).status
        == 201
    )

    assert summary(lead, "bob") == summary(lead, "ada") == summary(lead, "moe")
    assert problems(summary(lead, "bob")) == {"late": 1}
    assert lead("bob").get(f"/xrf_instruments?gun_id=eq.{OWN}&select=gun_id").json == [{"gun_id": OWN}]


def test_work_of_a_summary_is_linear() -> None:
    """The calls of Python functions for twice the rows are at most twice as many, and some."""
    few, many = (calls_of_assessment(number) for number in (500, 1_000))

    assert many < 2.2 * few


def calls_of_assessment(number: int) -> int:
    rows = [
        {
            "id": each, "gun_id": each if each % 2 else 0, "taken_at": at(f"{8 + each % 10:02}:{each % 60:02}"),
            "component": "sill", "method": "xrf", "lead_mg_cm2": 0.1, "lead_percent": None, "qualifier": None,
            "classification": "inconclusive", "result": "inconclusive", "negative_below": 1.0, "limits_from": "sheet",
            "voided": None, "confirms_id": each - 1 or None,
        }
        for each in range(1, number + 1)
    ]  # fmt: skip
    checks = [
        {"id": each, "gun_id": 0, "taken_at": at(f"{8 + each % 10:02}:{each % 60:02}"), "result": "pass", "mean": 1.0}
        for each in range(number)
    ]
    transaction = SimpleNamespace(time_zone=datetime.UTC)
    counted = [0]

    def count(frame: object, event: str, argument: object) -> None:
        counted[0] += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        by_gun = checks_by_instrument(checks)
        assessed = Assessment(transaction, {"date_visited": "2026-11-20"}, {}, by_gun, {}).assess(rows)
        groups: dict = {}
        for each in assessed:
            groups.setdefault(each.row["gun_id"], []).append(each)
        Lead(assessed, by_gun, {}, {}, groups).problems()
    finally:
        sys.setprofile(None)
    return counted[0]

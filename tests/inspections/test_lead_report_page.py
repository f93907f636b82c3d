"""The page of a lead report: standards, conclusions, chips, confirmations, limits, and times by order."""

import html
import random
import re
from collections.abc import Callable

import pytest

from inspections.lead.assessment import DOUBTS, FAILED_CHECK
from models.vocabulary import VALIDITIES
from tests.inspections.lead_world import BANDED, LEAD, MOMENT, OWN, SHARED, UNKNOWN, at, check, lead_rows, make, reading

GOOD, BAD = (1.0, 1.0, 1.0), (2.0, 2.0, 2.0)
BRONX = {"city": "Bronx", "state": "NY"}
GAPS = {
    "no_check": "calibration_checks.start", "late": "calibration_checks.interval",
    "open": "calibration_checks.end", "failed_check": "calibration_checks.failed",
    "no_value": "reports_lead.lead_mg_cm2", "unknown_gun": "unknown_gun", "conflict": "conflict",
    "inconclusive": "inconclusive", "limits_of_another_standard": "limits_of_another_standard",
    "out_of_service": "out_of_service", "outside_visit": "outside_visit",
}  # fmt: skip
"""The gap of a report for each problem of lead_summary."""


@pytest.fixture
def lead(world: Callable) -> Callable:
    return world(lead_rows(), MOMENT)


def place(lead: Callable, values: dict) -> None:
    assert lead("root").patch("/buildings?id=eq.1", values).status == 204


def checked(lead: Callable, *guns: int) -> None:
    for gun_id in guns:
        for clock in ("14:00", "16:00"):
            make(lead, "calibration_checks", check(at(clock), GOOD, gun_id=gun_id), "root")


def shot(value: float | None = None, gun_id: int | None = SHARED, **more: object) -> dict:
    return reading(value, gun_id, taken_at=at("15:00"), **more)


def add(lead: Callable, *rows: dict) -> list[dict]:
    """Add readings of different columns."""
    return [made for row in rows for made in make(lead, "reports_lead", row)]


def page_of(lead: Callable) -> str:
    """Return the text of the page as a person reads it, without tags."""
    answer = lead("ada").get(f"/reports/inspections/{LEAD}?kind=lead", accept="text/html")
    body = re.sub(r"<style>.*?</style>", "", answer.text, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]*>", " ", body)).split())


def json_of(lead: Callable) -> dict:
    found: dict = lead("ada").get(f"/reports/inspections/{LEAD}?kind=lead", accept="application/json").json
    return found


def section(page: str, title: str, following: str) -> str:
    """Return the part of a page from one heading to another, behind the table of contents."""
    start = page.rindex(title)
    return page[start : page.index(following, start)]


def conclusions(page: str) -> str:
    return section(page, "Conclusions", "Building and owner")


# The standard


def test_standard_that_counted_is_printed_with_source_and_date(lead: Callable) -> None:
    place(lead, BRONX)
    add(lead, shot(0.6, OWN), shot(None, None, method="paint_chip", lead_percent=0.3))

    page = page_of(lead)

    source = "New York City Administrative Code 27-2056.2"
    assert f"0.5 mg/cm² or more of lead in Bronx, since 2021-12-01: {source}" in conclusions(page)
    assert f"0.25 % by weight or more of lead in Bronx, since 2021-12-01: {source}" in conclusions(page)
    assert page.count("standard 0.5 mg/cm² or more, or 0.25 % by weight or more") >= len(("front", "chips", "all"))
    assert not re.search(r"\b1\.0\b(?! 1\.0)", re.sub(r"Calibration checks.*?(?=Paint chips)", "", page))


def test_standard_of_the_country_is_printed_elsewhere(lead: Callable) -> None:
    place(lead, {"city": "Portland", "state": "ME"})
    make(lead, "reports_lead", shot(1.2))

    assert "1.0 mg/cm² or more of lead, since 1992-10-28: 40 CFR 745.227(h)(1)" in conclusions(page_of(lead))


def test_standard_that_excludes_its_value_says_more_than(lead: Callable) -> None:
    place(lead, {"city": "Baltimore", "state": "MD"})
    make(lead, "reports_lead", shot(0.8, OWN))

    assert "holds more than 0.7 mg/cm² of lead in MD, since 2024-11-01" in conclusions(page_of(lead))


def test_place_without_a_standard_is_named(lead: Callable) -> None:
    assert lead("root").delete("/lead_standards?id=gte.1").status == 204
    make(lead, "reports_lead", shot(1.2))

    page = page_of(lead)

    assert "No lead standard is known for this place and day." in conclusions(page)
    assert json_of(lead)["standard"] is None


# Conclusions


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (
            shot(1.0, BANDED),
            "1 of the 2 readings that count is positive, of which 1 is inconclusive and counts as positive",
        ),
        (
            shot(0.6, result="positive"),
            "1 of the 2 readings that count is positive. 1 reading is stated otherwise than the value says",
        ),
        (shot(1.4, result="negative"), "1 of the 2 readings that count is positive. 1 reading is stated otherwise"),
        (shot(None, None, method="assumed"), "1 of the 2 readings that count is positive. A surface"),
    ],
)
def test_front_and_conclusions_count_what_is_not_decided_as_positive(lead: Callable, row: dict, words: str) -> None:
    checked(lead, SHARED, BANDED)
    add(lead, {**shot(0.1), "room": "Attic"}, {**row, "room": "Kitchen"})

    page = conclusions(page_of(lead))

    assert words in page
    assert ("Kitchen" in page, "Attic" in page) == (True, False)
    assert [each["room"] for each in json_of(lead)["positives"]] == ["Kitchen"]


def test_limits_of_another_standard_are_named_in_the_conclusions(lead: Callable) -> None:
    place(lead, BRONX)
    checked(lead, SHARED)
    make(lead, "reports_lead", [shot(0.6), shot(0.1)])

    page = conclusions(page_of(lead))

    assert "1 of the 2 readings that count is positive. 2 readings are compared with limits of another standard" in page
    assert "0.6 positive" in page


# Chips and confirmations


def test_chip_that_decides_is_printed_with_its_laboratory(lead: Callable) -> None:
    checked(lead, BANDED)
    [first] = make(lead, "reports_lead", shot(1.0, BANDED, reading_no=12, component="Sill"))
    chip = {"method": "paint_chip", "sample_no": "C-3", "lab_name": "Harbor Laboratories", "reported_on": "2026-12-09"}
    [made] = make(
        lead, "reports_lead", {**reading(None, None), **chip, "lead_percent": 0.1, "confirms_id": first["id"]}
    )

    page = page_of(lead)

    assert "0 of the 2 readings that count are positive." in conclusions(page)
    assert f"id {made['id']} C-3 Harbor Laboratories 2026-12-09 12 0.1 negative" in page
    assert f"Decided by id {made['id']}" in page
    assert "Confirms 12" in page
    found = {each["id"]: each for each in json_of(lead)["readings"]}
    assert found[first["id"]]["confirmed_by"] == [made["id"]]
    names = ("confirms_id", "sample_no", "lab_name", "reported_on")
    assert [found[made["id"]][each] for each in names] == [first["id"], "C-3", "Harbor Laboratories", "2026-12-09"]


def test_void_reading_confirms_nothing(lead: Callable) -> None:
    [first] = make(lead, "reports_lead", shot(1.0, BANDED))
    make(lead, "reports_lead", shot(0.1, None, method="paint_chip", confirms_id=first["id"], voided="Mixed up."))

    assert json_of(lead)["readings"][0]["confirmed_by"] == []
    assert "Decided by" not in page_of(lead)


def test_repeated_numbers_of_two_instruments_are_told_apart(lead: Callable) -> None:
    first, second = make(lead, "reports_lead", [shot(1.0, BANDED, reading_no=1), shot(0.1, SHARED, reading_no=1)])
    make(lead, "reports_lead", shot(None, None, method="assumed", confirms_id=first["id"]))

    page = page_of(lead)

    assert f"Confirms id {first['id']}" in page
    assert f"Confirms id {second['id']}" not in page


# Limits and times


def test_limits_of_the_readings_are_printed(lead: Callable) -> None:
    checked(lead, BANDED)
    rows = [{"substrate": "Brick"}, {"substrate": "wood"}, {"substrate": "plaster"}, {"substrate": "wood", "mode": "K"}]
    add(lead, *(shot(0.1, BANDED, **each) for each in rows), shot(0.1, UNKNOWN))

    page = page_of(lead)

    table = section(page, "Limits that the XRF readings were compared with", "Calibration checks")
    assert f"{BANDED} – Brick 0.4 0.6 Sheet of the instrument" in table
    assert f"{BANDED} – wood, plaster 0.91 1.2 Sheet of the instrument" in table
    assert f"{BANDED} K wood 0.91 1.2 Sheet of the instrument" in table
    assert f"{UNKNOWN} – – 1.0 1.0 Lead standard" in table
    assert "negative Negative below 0.91, positive from 1.2 mg/cm²" in page


def test_times_by_order_are_said_so(lead: Callable) -> None:
    file = "Reading,Room,Component,Substrate,Concentration\n1,Hall,Sill,Wood,0.1\n2,Hall,Door,Wood,0.2\n"
    arguments = {
        "p_target": "reports_lead", "p_csv": file, "p_dry_run": False,
        "p_defaults": {"inspection_id": LEAD, "gun_id": SHARED},
        "p_taken_from": at("14:10"), "p_taken_to": at("14:20"),
    }  # fmt: skip
    answer = lead("ada").rpc("import_csv", arguments)
    assert (answer.status, answer.json["inserted"]) == (200, 2), answer.text

    page = page_of(lead)

    assert "Times by order: the file of 2 readings had no times." in page
    assert page.count("Time by the order of the file") == 2
    assert [each["time_is_by_order"] for each in json_of(lead)["readings"]] == [True, True]


def test_report_without_such_readings_says_nothing_of_them(lead: Callable) -> None:
    make(lead, "reports_lead", shot(0.1))

    page = page_of(lead)

    absent = ("Times by order", "Paint chips", "Laboratory", "stated otherwise", "another standard", "Confirms")
    assert [each for each in absent if each in page] == []


# Years later


def test_old_report_says_the_same_after_changes_of_limits_and_standards(lead: Callable) -> None:
    """New limits of the instrument, an end of the standard and a new one change no word of the report."""
    place(lead, BRONX)
    checked(lead, OWN)
    make(lead, "xrf_limits", {"gun_id": OWN, "substrate": "metal", "negative_below": 0.4, "positive_from": 0.5}, "root")
    rows = [shot(0.6, OWN, substrate="wood"), shot(0.45, OWN, substrate="metal"), shot(0.1, OWN, substrate="metal")]
    chip = shot(None, None, method="paint_chip", lead_percent=0.3)
    add(lead, *rows, chip)
    before = page_of(lead), json_of(lead)
    root = lead("root")

    assert root.patch(f"/xrf_instruments?gun_id=eq.{OWN}", {"negative_below": 0.9, "positive_from": 1.3}).status == 204
    assert root.patch("/xrf_limits?substrate=eq.metal", {"negative_below": 0.1, "positive_from": 0.2}).status == 204
    for column, value in (
        ("from_value", 0.1),
        ("is_exclusive", True),
        ("unit", "percent"),
        ("valid_from", "2026-11-21"),
    ):
        refused = root.patch("/lead_standards?unit=eq.mg_cm2", {column: value})
        assert (refused.status, refused.code) == (400, "428C9"), column
    new = {
        "kind": "paint", "state": "NY", "city": "Bronx", "from_value": 0.1, "valid_from": "2026-11-21",
        "basis": "A later law",
    }  # fmt: skip
    for unit in ("mg_cm2", "percent"):
        assert root.patch(f"/lead_standards?unit=eq.{unit}&city=not.is.null", {"valid_to": "2026-11-20"}).status == 204
        make(lead, "lead_standards", {**new, "unit": unit}, "root")

    assert (page_of(lead), json_of(lead)) == before
    root.patch(f"/inspections?id=eq.{LEAD}", {"date_visited": "2026-11-21"})
    assert "0.1 mg/cm² or more of lead in Bronx, since 2026-11-21: A later law" in page_of(lead)


# One answer


def random_rows(rng: random.Random) -> list[dict]:
    rows = []
    for _ in range(rng.randrange(6)):
        method = rng.choice(["xrf", "xrf", "xrf", "paint_chip", "assumed"])
        rows.append({
            **reading(rng.choice([None, 0.1, 0.4, 0.6, 1.0, 1.4]), rng.choice([None, SHARED, BANDED, OWN, UNKNOWN])),
            "method": method,
            "qualifier": rng.choice([None, None, None, "<", ">"]),
            "result": rng.choice([None, None, None, "positive", "negative", "see note"]),
            "lead_percent": rng.choice([None, 0.3]) if method == "paint_chip" else None,
            "taken_at": rng.choice([at("15:00"), at("15:30"), at("21:00"), None, "2026-11-18T12:00:00+00:00"]),
            "voided": rng.choice([None, None, None, "Wrong wall."]),
        })  # fmt: skip
    return rows


@pytest.mark.parametrize("seed", range(24))
def test_summary_gaps_and_report_never_disagree(lead: Callable, seed: int) -> None:
    rng = random.Random(seed)
    place(lead, rng.choice([BRONX, {"city": "Portland", "state": "ME"}]))
    for gun_id in (SHARED, BANDED, UNKNOWN):
        for clock in rng.sample(["14:00", "15:15", "16:00"], rng.randrange(4)):
            make(lead, "calibration_checks", check(at(clock), rng.choice([GOOD, GOOD, BAD]), gun_id=gun_id), "root")
    made: list[dict] = []
    for row in random_rows(rng):
        confirms = rng.choice([None, *(each["id"] for each in made)])
        made += make(lead, "reports_lead", {**row, "confirms_id": confirms})
    if rng.random() < 0.2:
        lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"retired_on": "2026-01-01"})

    found = lead("ada").rpc("lead_summary", {"p_inspection_id": LEAD}).json
    report = json_of(lead)
    gaps = [each["code"] for each in report["gaps"]]

    of_readings = {*GAPS.values(), "reports_lead"}
    expected = {GAPS[each["code"]] for each in found["problems"]} | (
        {"reports_lead"} if not found["readings"] else set()
    )
    assert {*gaps} & of_readings == expected
    assert found["complete"] == (not expected)
    assert lead("ada").rpc("report_gaps", {"p_inspection_id": LEAD, "p_rule": report["rule"]}).json == gaps
    assert report["is_complete"] == (not gaps)
    positive = found["positive"] + found["inconclusive"]
    assert len(report["positives"]) == positive
    assert ("Incomplete" in page_of(lead)) == (not report["is_complete"])


def test_every_problem_has_a_gap() -> None:
    assert {*GAPS} == {*DOUBTS, FAILED_CHECK, *VALIDITIES} - {"valid", "doubtful"}

"""The classification of readings, by every door: limits of instruments and substrates, results, later changes."""

from collections.abc import Callable

import pytest

from tests.inspections.lead_world import (
    BANDED,
    LEAD,
    MOMENT,
    OTHER_LEAD,
    OTHERS,
    OWN,
    RETURN,
    SHARED,
    UNKNOWN,
    lead_rows,
    make,
    reading,
    stored,
)

MERGE = "resolution=merge-duplicates"
REF, OTHER_REF = "7b1c1c1e-0000-4000-8000-000000000001", "7b1c1c1e-0000-4000-8000-000000000002"

CLASSES = [
    (SHARED, "wood", 0.999, None, "negative"),
    (SHARED, "wood", 1.0, None, "positive"),
    (BANDED, "wood", 0.90, None, "negative"),
    (BANDED, "wood", 0.91, None, "inconclusive"),
    (BANDED, "wood", 1.19, None, "inconclusive"),
    (BANDED, "wood", 1.20, None, "positive"),
    (BANDED, "brick", 0.39, None, "negative"),
    (BANDED, "BRICK", 0.4, None, "inconclusive"),
    (BANDED, "Brick", 0.6, None, "positive"),
    (BANDED, None, 0.6, None, "negative"),
    (OWN, "wood", 0.5, None, "positive"),
    (OTHERS, "wood", 0.5, None, "negative"),
    (UNKNOWN, "wood", 0.5, None, "negative"),
    (None, "wood", 1.0, None, "positive"),
    (SHARED, "wood", 0.1, "<", "negative"),
    (SHARED, "wood", 1.0, "<", "negative"),
    (SHARED, "wood", 1.5, "<", "inconclusive"),
    (SHARED, "wood", 5.0, ">", "positive"),
    (SHARED, "wood", 0.5, ">", "inconclusive"),
    (SHARED, "wood", 0.9999999, None, "positive"),
    (SHARED, "wood", None, None, None),
]
"""Gun, substrate, value, qualifier and classification. OTHERS is of another client: its limits stay unknown."""


@pytest.fixture
def lead(world: Callable) -> Callable:
    return world(lead_rows(), MOMENT)


def payload(gun_id: int | None, substrate: str | None, value: float | None, qualifier: str | None) -> dict:
    return reading(value, gun_id, substrate=substrate, qualifier=qualifier)


def outcomes(rows: list[dict]) -> list[str | None]:
    assert [each["result"] for each in rows] == [each["classification"] for each in rows]
    return [each["classification"] for each in rows]


EXPECTED = [each[4] for each in CLASSES]
PAYLOADS = [payload(*each[:4]) for each in CLASSES]


def test_each_single_reading_is_classified(lead: Callable) -> None:
    assert [outcomes(make(lead, "reports_lead", each))[0] for each in PAYLOADS] == EXPECTED


def test_readings_of_one_request_are_classified(lead: Callable) -> None:
    assert outcomes(make(lead, "reports_lead", PAYLOADS)) == EXPECTED


def test_readings_of_a_csv_are_classified(lead: Callable) -> None:
    columns = ("inspection_id", "gun_id", "substrate", "lead_mg_cm2", "qualifier")
    lines = [",".join("" if each[name] is None else str(each[name]) for name in columns) for each in PAYLOADS]
    body = "\n".join([",".join(columns), *lines])

    made = lead("ada").send("POST", "/reports_lead", body, content_type="text/csv", prefer=RETURN)

    assert made.status == 201, made.text
    assert outcomes(made.json) == EXPECTED


def test_readings_of_an_upsert_are_classified_and_changed_ones_again(lead: Callable) -> None:
    first = {**reading(0.3), "ref": REF}
    make(lead, "reports_lead", first)
    both = [{**first, "lead_mg_cm2": 1.4}, {**reading(1.0), "ref": OTHER_REF}]

    made = lead("ada").post("/reports_lead?on_conflict=ref", both, prefer=f"{MERGE},{RETURN}")

    assert outcomes(made.json) == ["positive", "positive"]


@pytest.mark.parametrize(
    ("changes", "classification"),
    [
        ({"lead_mg_cm2": 1.4}, "positive"),
        ({"gun_id": OWN}, "positive"),
        ({"gun_id": BANDED, "substrate": "brick"}, "inconclusive"),
        ({"qualifier": ">"}, "inconclusive"),
        ({"lead_mg_cm2": None}, None),
        ({"note": "Behind the radiator."}, "negative"),
    ],
)
def test_changed_reading_is_classified_again(lead: Callable, changes: dict, classification: str | None) -> None:
    [made] = make(lead, "reports_lead", reading(0.55))

    [changed] = lead("ada").patch(f"/reports_lead?id=eq.{made['id']}", changes, prefer=RETURN).json

    assert changed["classification"] == changed["result"] == classification


def test_readings_of_one_patch_are_classified_each(lead: Callable) -> None:
    make(lead, "reports_lead", [reading(0.55), reading(0.45)])

    changed = lead("ada").patch(f"/reports_lead?inspection_id=eq.{LEAD}", {"gun_id": OWN}, prefer=RETURN).json

    assert {each["lead_mg_cm2"]: each["classification"] for each in changed} == {0.55: "positive", 0.45: "negative"}


def test_named_result_stays(lead: Callable) -> None:
    [made] = make(lead, "reports_lead", {**reading(0.3), "result": "see note"})
    [changed] = lead("ada").patch(f"/reports_lead?id=eq.{made['id']}", {"lead_mg_cm2": 1.4}, prefer=RETURN).json

    assert (made["classification"], made["result"]) == ("negative", "see note")
    assert (changed["classification"], changed["result"]) == ("positive", "see note")


def test_removed_result_is_the_classification_again(lead: Callable) -> None:
    [made] = make(lead, "reports_lead", {**reading(0.3), "result": "see note"})

    [changed] = lead("ada").patch(f"/reports_lead?id=eq.{made['id']}", {"result": None}, prefer=RETURN).json

    assert changed["result"] == "negative"


def test_reading_with_neither_value_nor_result_is_taken(lead: Callable) -> None:
    [made] = make(lead, "reports_lead", {"inspection_id": LEAD, "gun_id": 7})

    assert (made["classification"], made["result"], made["method"]) == (None, None, "xrf")


@pytest.mark.parametrize("door", ["post", "patch", "upsert", "put"])
def test_nobody_sends_another_classification(lead: Callable, door: str) -> None:
    [made] = make(lead, "reports_lead", {**reading(0.3), "ref": REF})
    path, other = f"/reports_lead?id=eq.{made['id']}", {"classification": "positive"}
    requests = {
        "post": lambda: lead("ada").post("/reports_lead", {**reading(0.3), **other}),
        "patch": lambda: lead("ada").patch(path, other),
        "upsert": lambda: lead("ada").post("/reports_lead?on_conflict=ref", {**reading(0.3), "ref": REF, **other},
                                           prefer=MERGE),
        "put": lambda: lead("root").put(path, {**made, **other}),
    }  # fmt: skip

    refused = requests[door]()

    assert (refused.status, refused.code) == (400, "428C9")
    assert stored(lead, "reports_lead", made["id"]) == made


@pytest.mark.parametrize("door", ["patch", "upsert", "upsert with null", "put"])
def test_changed_sheet_changes_no_reading(lead: Callable, door: str) -> None:
    """A repeated request is no change of a value, either."""
    body = {**reading(0.95, SHARED, substrate="wood"), "ref": REF}
    [made] = make(lead, "reports_lead", body)
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"negative_below": 0.5, "positive_from": 0.5})
    make(lead, "xrf_limits", {"gun_id": SHARED, "substrate": "wood", "negative_below": 0, "positive_from": 0}, "root")
    path, upsert = f"/reports_lead?id=eq.{made['id']}", "/reports_lead?on_conflict=ref"
    requests = {
        "patch": lambda: lead("ada").patch(path, {"lead_mg_cm2": 0.95, "note": "Again."}),
        "upsert": lambda: lead("ada").post(upsert, body, prefer=MERGE),
        "upsert with null": lambda: lead("ada").post(upsert, {**body, "result": None}, prefer=MERGE),
        "put": lambda: lead("root").put(path, made),
    }

    assert requests[door]().status in (200, 201, 204)

    kept = stored(lead, "reports_lead", made["id"])
    assert (kept["classification"], kept["result"]) == ("negative", "negative")
    assert outcomes(make(lead, "reports_lead", reading(0.95, substrate="wood"))) == ["positive"]


def test_new_reading_may_name_the_default_of_its_classification(lead: Callable) -> None:
    body = {**reading(1.4), "classification": None, "ref": REF}

    [made] = make(lead, "reports_lead", body)
    [merged] = lead("ada").post("/reports_lead?on_conflict=ref", {**body, "ref": OTHER_REF},
                                prefer=f"{MERGE},{RETURN}").json  # fmt: skip

    assert (made["classification"], merged["classification"]) == ("positive", "positive")


def test_limits_of_another_client_show_in_no_reading(lead: Callable) -> None:
    [hidden] = make(lead, "reports_lead", reading(0.15, OTHERS))
    [own] = make(lead, "reports_lead", {**reading(0.15, OTHERS), "inspection_id": OTHER_LEAD}, "bob")

    assert (hidden["classification"], own["classification"]) == ("negative", "positive")


def test_new_reading_is_one_audit_entry(lead: Callable) -> None:
    [made] = make(lead, "reports_lead", reading(1.4))

    [entry] = lead("ada").get(f"/audit_log?relation=eq.reports_lead&row_key=eq.{made['id']}").json

    assert (entry["action"], entry["after"]["classification"]) == ("insert", "positive")


@pytest.mark.parametrize("value", ["abc", -5.1, 100.5])
def test_invalid_value_is_refused_as_such(lead: Callable, value: object) -> None:
    refused = lead("ada").post("/reports_lead", {"result": None, **reading(value)})

    assert (refused.status, refused.code) == (400, "22P02" if value == "abc" else "23514")


def test_number_of_a_reading_is_unique_on_a_device_at_a_time(lead: Callable) -> None:
    body = reading(0.3, reading_no=1, taken_at=MOMENT)
    make(lead, "reports_lead", body)

    again = lead("ada").post("/reports_lead", body)
    make(lead, "reports_lead", [{**body, "reading_no": None}, {**body, "reading_no": None}, {**body, "reading_no": 2}])

    assert (again.status, again.code) == (409, "23505")
    assert "reports_lead_reading_key" in again.message

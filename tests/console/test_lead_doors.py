"""Each situation of lead readings by three doors: the API, an import, and the console."""

import re
from collections.abc import Callable

import pytest

from tests.console.conftest import Form
from tests.console.test_imports import submit
from tests.console.test_lead import PAGE, READINGS, enter, lead
from tests.console.test_lead_readings import checked, shot
from tests.inspections.lead_world import BANDED, LEAD, OTHERS, SHARED, UNKNOWN, at, make, reading, stored

pytestmark = pytest.mark.one_engine

__all__ = ["lead"]

DOORS = ("api", "import", "console")
IMPORT = "/console/import/reports_lead"
CSV = {
    "lead_mg_cm2": "PbC", "lead_percent": "lead_percent", "result": "Result", "method": "Method", "gun_id": "gun_id",
    "taken_at": "taken_at", "confirms_id": "confirms_id", "qualifier": "qualifier", "mode": "Mode",
    "component": "Component", "room": "Room", "reading_no": "reading_no",
}  # fmt: skip
STANDARD = {"unit": "mg_cm2", "from_value": "0.2", "valid_from": "2026-01-01", "basis": "House rule"}
BRONX = {"state": "NY", "city": "Bronx"}


class Door:
    """A way in which readings reach the service."""

    def __init__(self, name: str, api: Callable, browse: Callable) -> None:
        self.name = name
        self.api = api
        self.browse = browse

    def add(self, row: dict) -> dict:
        """Add a reading of the visit, and return it as it was stored."""
        before = {each["id"] for each in self.rows()}
        {"api": self.post, "import": self.import_file, "console": self.submit}[self.name](row)
        [made] = [each for each in self.rows() if each["id"] not in before]
        found: dict = made
        return found

    def rows(self) -> list[dict]:
        found: list[dict] = self.api("root").get(f"/reports_lead?inspection_id=eq.{LEAD}&order=id").json
        return found

    def post(self, row: dict) -> None:
        make(self.api, "reports_lead", {"inspection_id": LEAD, **row}, "mia")

    def import_file(self, row: dict) -> None:
        given = {name: value for name, value in row.items() if name != "inspection_id" and value is not None}
        text = ",".join(CSV[each] for each in given) + "\n" + ",".join(str(each) for each in given.values()) + "\n"
        body = {
            "p_target": "reports_lead", "p_csv": text, "p_dry_run": False, "p_defaults": {"inspection_id": LEAD},
            "p_mapping": {CSV[name]: name for name in given},
        }  # fmt: skip
        answer = self.api("mia").rpc("import_csv", body)
        assert (answer.status, answer.json["inserted"]) == (200, 1), answer.text

    def submit(self, row: dict) -> None:
        ada = self.browse("ada")
        typed = {"taken_at": ""} | {
            name: str(value) for name, value in row.items() if value is not None and name != "inspection_id"
        }
        answer = ada.fill_in(f"/console/reports_lead/new?inspection_id={LEAD}", typed)
        assert answer.status_code == 303, answer.text


@pytest.fixture(params=DOORS)
def door(request: pytest.FixtureRequest, lead: Callable, browse: Callable) -> Door:
    return Door(request.param, lead, browse)


def summary(api: Callable) -> dict:
    found: dict = api("ada").rpc("lead_summary", {"p_inspection_id": LEAD}).json
    return found


def problems(api: Callable) -> dict[str, int]:
    return {each["code"]: each["readings"] for each in summary(api)["problems"]}


def counts(api: Callable) -> tuple[int, int, int]:
    found = summary(api)
    return found["positive"], found["negative"], found["inconclusive"]


def gaps(api: Callable) -> list[str]:
    found: list[str] = api("ada").rpc("report_gaps", {"p_inspection_id": LEAD, "p_rule": "federal"}).json
    return found


# The lines of the table


def test_stated_result_that_differs_is_a_conflict_until_it_is_explained(door: Door, lead: Callable) -> None:
    checked(lead, SHARED)
    made = door.add(shot(0.6, result="positive"))

    assert (made["classification"], made["result"]) == ("negative", "positive")
    assert (counts(lead), problems(lead)) == ((1, 0, 0), {"conflict": 1})
    assert "conflict" in gaps(lead)
    ada, path = door.browse("ada"), f"/console/reports_lead/{made['id']}/edit"
    refused = ada.fill_in(path, {"result": "negative"})
    assert (refused.status_code, stored(lead, "reports_lead", made["id"])) == (400, made)
    assert ada.fill_in(path, {"result": "negative", "note": "Typed wrong."}).status_code == 303
    assert (counts(lead), problems(lead), "conflict" in gaps(lead)) == ((0, 1, 0), {}, False)


def test_conflict_ends_when_the_reading_is_void(door: Door, lead: Callable) -> None:
    checked(lead, SHARED)
    door.add(shot(0.1))
    made = door.add(shot(0.6, result="positive"))

    voided = door.browse("mia").fill_in(f"/console/reports_lead/{made['id']}/void", {"reason": "Wrong wall."})

    assert voided.status_code == 303
    assert (counts(lead), problems(lead), summary(lead)["complete"]) == ((0, 1, 0), {}, True)


def test_reading_of_an_unknown_instrument_stays_a_problem_until_it_is_classified_again(
    door: Door, lead: Callable
) -> None:
    checked(lead, UNKNOWN)
    made = door.add(shot(0.6, UNKNOWN))
    instrument = {"gun_id": UNKNOWN, "make": "Viken", "model": "Pb200i", "serial": "V-1", "client_id": 1}
    make(lead, "xrf_instruments", {**instrument, "negative_below": 0.5, "positive_from": 0.5})

    assert (made["limits_from"], problems(lead)) == ("standard", {"unknown_gun": 1})
    assert lead("mia").rpc("reclassify_readings", {"p_inspection_id": LEAD}, "POST").json == {"changed": 1}
    assert (counts(lead), problems(lead)) == ((1, 0, 0), {})


def test_inconclusive_reading_is_decided_by_a_chip(door: Door, lead: Callable) -> None:
    checked(lead, BANDED)
    first = door.add(shot(1.0, BANDED))
    assert (counts(lead), problems(lead)) == ((0, 0, 1), {"inconclusive": 1})
    assert "inconclusive" in gaps(lead)

    door.add({"method": "paint_chip", "lead_percent": 0.1, "confirms_id": first["id"]})

    assert (counts(lead), problems(lead), "inconclusive" in gaps(lead)) == ((0, 2, 0), {}, False)


def test_inconclusive_reading_is_decided_by_an_assumption(door: Door, lead: Callable) -> None:
    checked(lead, BANDED)
    first = door.add(shot(1.0, BANDED))
    door.add({"method": "assumed", "confirms_id": first["id"]})

    assert (counts(lead), problems(lead)) == ((2, 0, 0), {})


def test_less_than_the_detection_limit_is_negative_and_complete(door: Door, lead: Callable) -> None:
    checked(lead, SHARED)
    made = door.add(shot(None, qualifier="<"))

    assert (made["lead_mg_cm2"], made["classification"], made["result"]) == (None, "negative", "negative")
    assert summary(lead)["complete"] is True
    assert "reports_lead.lead_mg_cm2" not in gaps(lead)


@pytest.mark.parametrize(
    ("value", "word"),
    [({"lead_percent": 0.5}, "positive"), ({"lead_percent": 0.4}, "negative"), ({"lead_mg_cm2": 1.0}, "positive")],
)
def test_paint_chip_is_compared_with_its_own_standard(door: Door, lead: Callable, value: dict, word: str) -> None:
    share = {"unit": "percent", "from_value": 0.5, "valid_from": "1992-10-28", "basis": "40 CFR 745.227(h)(1)"}
    make(lead, "lead_standards", share, "root")
    made = door.add({"method": "paint_chip", **value})

    assert (made["classification"], made["limits_from"], problems(lead)) == (word, "standard", {})


def test_assumed_reading_is_positive(door: Door, lead: Callable) -> None:
    made = door.add({"method": "assumed", "component": "Sill"})

    assert (made["classification"], counts(lead), summary(lead)["complete"]) == ("positive", (1, 0, 0), True)


def test_value_below_zero_is_kept(door: Door) -> None:
    made = door.add(shot(-0.1))

    assert (made["lead_mg_cm2"], made["classification"]) == (-0.1, "negative")


@pytest.mark.parametrize("value", [-5.1, 100.5])
def test_value_out_of_bounds_is_refused(lead: Callable, browse: Callable, value: float) -> None:
    posted = lead("mia").post("/reports_lead", shot(value))
    text = f"gun_id,lead_mg_cm2\n{SHARED},{value}\n"
    imported = lead("mia").rpc(
        "import_csv", {"p_target": "reports_lead", "p_csv": text, "p_defaults": {"inspection_id": LEAD}}
    )
    typed = browse("ada").fill_in(f"/console/reports_lead/new?inspection_id={LEAD}", {"lead_mg_cm2": str(value)})

    assert (posted.status, imported.json["errors_total"], typed.status_code) == (400, 1, 400)


def test_instrument_that_was_out_of_service_is_a_problem(door: Door, lead: Callable) -> None:
    checked(lead, SHARED)
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"leak_test_due_on": "2026-11-19"})
    door.add(shot(0.1))

    assert problems(lead) == {"out_of_service": 1}
    assert "out_of_service" in gaps(lead)


def test_reading_of_another_day_is_a_problem(door: Door, lead: Callable) -> None:
    door.add(reading(0.1, taken_at="2026-11-18T12:00:00+00:00"))

    assert problems(lead)["outside_visit"] == 1
    assert "outside_visit" in gaps(lead)


def test_limits_of_another_standard_count_as_positive_until_classified_again(door: Door, lead: Callable) -> None:
    lead("root").patch("/buildings?id=eq.1", BRONX)
    city = {**BRONX, "unit": "mg_cm2", "from_value": 0.5, "valid_from": "2021-12-01", "basis": "27-2056.2"}
    make(lead, "lead_standards", city, "root")
    checked(lead, SHARED)
    door.add(shot(0.6))

    assert (counts(lead), problems(lead)) == ((1, 0, 0), {"limits_of_another_standard": 1})
    assert "limits_of_another_standard" in gaps(lead)
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"negative_below": 0.5, "positive_from": 0.5})
    mia = door.browse("mia")
    done = mia.client.post(f"{PAGE}/reclassify", data=Form(mia.page(PAGE), f"{PAGE}/reclassify").with_({}))
    assert done.status_code == 303
    assert (counts(lead), problems(lead)) == ((1, 0, 0), {})


def test_components_do_not_differ_by_case_and_blanks(door: Door, lead: Callable) -> None:
    for component in ("WINDOW SILL", "Window  sill"):
        door.add(shot(0.1, component=component))

    assert [each["readings"] for each in summary(lead)["by_component"]] == [2]


def test_instrument_of_another_client_is_unknown(door: Door, lead: Callable) -> None:
    """Its limits of 0.1 do not count, and its serial number is not named."""
    made = door.add(shot(0.6, OTHERS))

    assert (made["classification"], made["limits_from"]) == ("negative", "standard")
    assert problems(lead)["unknown_gun"] == 1
    assert summary(lead)["guns"][0]["serial"] is None


def test_mode_of_a_reading_chooses_the_limits(door: Door, lead: Callable) -> None:
    make(lead, "xrf_limits", {"gun_id": SHARED, "mode": "K", "negative_below": 0.4, "positive_from": 0.4}, "root")
    made = door.add(shot(0.6, mode="K"))

    assert (made["classification"], made["positive_from"]) == ("positive", 0.4)


# Lines of two doors


def test_removed_result_is_the_classification_again(lead: Callable, browse: Callable) -> None:
    """By the console; the API has its test in test_lead_evidence.py, and an import changes no row."""
    [made] = make(lead, "reports_lead", shot(1.4, result="see note"))

    done = browse("ada").fill_in(f"/console/reports_lead/{made['id']}/edit", {"result": "", "lead_mg_cm2": "2.5"})

    assert done.status_code == 303, done.text
    row = stored(lead, "reports_lead", made["id"])
    assert (row["result"], row["classification"]) == ("positive", "positive")


@pytest.mark.parametrize(
    ("path", "changes", "words"),
    [
        (
            "/console/xrf_instruments/13/edit",
            {"negative_below": "1.3", "positive_from": "1.2"},
            "not below “Negative below”",
        ),
        ("/console/xrf_instruments/13/edit", {"check_low": "1.3", "check_high": "1.2"}, "not below the lowest one"),
        (
            "/console/xrf_limits/new",
            {"gun_id": "30002", "substrate": "Wood", "negative_below": "1", "positive_from": "0.5"},
            "not below “Negative below”",
        ),
        (
            "/console/xrf_limits/new",
            {"gun_id": "30002", "negative_below": "1", "positive_from": "1"},
            "Enter the substrate, the mode, or both.",
        ),
        ("/console/lead_standards/new", {**STANDARD, "valid_to": "2025-12-31"}, "The last day precedes the first one."),
        ("/console/lead_standards/new", {**STANDARD, "city": "Bronx"}, "A city needs its state."),
    ],
)  # fmt: skip
def test_reversed_limits_are_refused_in_words(
    lead: Callable, browse: Callable, path: str, changes: dict, words: str
) -> None:
    before = lead("root").get("/xrf_instruments?order=id").json, lead("root").get("/xrf_limits?order=id").json

    refused = browse("ada").fill_in(path, changes)

    assert (refused.status_code, words in refused.text) == (400, True)
    assert not re.search(r"null value|constraint|violates", refused.text)
    after = lead("root").get("/xrf_instruments?order=id").json, lead("root").get("/xrf_limits?order=id").json
    assert after == before


def test_number_of_another_client_is_no_conflict(lead: Callable, browse: Callable) -> None:
    typed = {"gun_id": str(OTHERS), "make": "Viken", "model": "Pb200i", "serial": "V-1", "negative_below": "0.2",
             "positive_from": "0.2"}  # fmt: skip
    ada = browse("ada")

    made = ada.fill_in("/console/xrf_instruments/new", typed)
    again = ada.fill_in("/console/xrf_instruments/new", typed)

    assert (made.status_code, again.status_code) == (303, 409)
    [row] = make(lead, "reports_lead", shot(0.25, OTHERS))
    assert (row["classification"], row["limits_from"], row["positive_from"]) == ("positive", "sheet", 0.2)


def test_file_without_times_asks_for_them_in_the_console(lead: Callable, browse: Callable) -> None:
    """The page has fields for the first and the last time; the readings between are marked."""
    checked(lead, SHARED)
    mia = browse("mia")
    text = "Reading,Room,Component,Concentration\n1,Hall,Sill,0.1\n2,Hall,Door,0.2\n"
    typed = {"inspection_id": str(LEAD), "gun_id": str(SHARED), "date_format": "ymd"}
    times = {"taken_from": "2026-11-20T15:00", "taken_to": "2026-11-20T15:30"}

    page = submit(mia, mia.page(IMPORT), {**typed, **times}, "check", text.encode()).text
    written = submit(mia, page, {}, "write")

    assert written.status_code == 303, written.text
    rows = (
        lead("mia").get(f"/reports_lead?inspection_id=eq.{LEAD}&order=reading_no&select=taken_at,time_is_by_order").json
    )
    assert [tuple(each.values()) for each in rows] == [(at("15:00"), True), (at("15:30"), True)]
    assert summary(lead)["validity"]["valid"] == 2


@pytest.mark.parametrize(
    ("person", "codes"),
    [
        ({"license_state": "NH", "license_expires_on": "2030-01-01"}, {"inspector.license_state"}),
        ({"license_state": "ME", "license_expires_on": None}, {"inspector.license_expires_on"}),
        ({"license_state": "ME", "license_expires_on": "2030-01-01"}, set()),
    ],
)
def test_license_of_another_state_or_without_expiry_is_a_gap(lead: Callable, person: dict, codes: set) -> None:
    lead("root").patch("/buildings?id=eq.1", {"state": "ME"})
    lead("root").patch("/inspectors?id=eq.1", person)

    assert {"inspector.license_state", "inspector.license_expires_on"} & {*gaps(lead)} == codes


def test_quick_form_of_the_page_adds_the_same_reading(lead: Callable, browse: Callable) -> None:
    checked(lead, BANDED)
    line = {"gun_id": str(BANDED), "lead_mg_cm2": "1.0", "room": "Kitchen", "component": "Sill"}

    assert enter(browse("mia"), READINGS, line).status_code == 303

    assert counts(lead) == (0, 0, 1)

"""Lead readings in the console, without scripts: the quick form, their problems in words, Void, and lead standards."""

import re
from collections.abc import Callable

import pytest

from tests.console.conftest import Form, FormClient
from tests.console.test_lead import PAGE, READINGS, enter, lead
from tests.inspections.lead_world import BANDED, LEAD, SHARED, UNKNOWN, at, check, make, reading, stored

pytestmark = pytest.mark.one_engine

__all__ = ["lead"]

GOOD = (1.0, 1.0, 1.0)
STANDARDS = "/console/lead_standards"
RULE = {
    "unit": "mg_cm2", "from_value": "0.2", "valid_from": "2026-01-01", "basis": "House rule of Harbor", "state": "ME",
}  # fmt: skip


def shot(value: float | None, gun_id: int | None = SHARED, **more: object) -> dict:
    return reading(value, gun_id, taken_at=at("15:00"), **more)


def checked(api: Callable, *guns: int) -> None:
    for gun_id in guns:
        for clock in ("14:00", "16:00"):
            make(api, "calibration_checks", check(at(clock), GOOD, gun_id=gun_id), "root")


def calibration(browser: FormClient) -> str:
    """Return the section with the problems of the readings."""
    page = browser.page(PAGE)
    start = page.index('id="checks"')
    return page[start : page.index("</section>", start)]


def last_reading(api: Callable) -> dict:
    row: dict = api("root").get(f"/reports_lead?inspection_id=eq.{LEAD}&order=id.desc&limit=1").json[0]
    return row


# The quick form


def test_quick_form_adds_a_reading_below_the_detection_limit_in_a_mode(lead: Callable, browse: Callable) -> None:
    line = {"room": "Hall", "component": "Door", "gun_id": str(SHARED), "qualifier": "<", "mode": "K"}

    added = enter(browse("mia"), READINGS, line)

    assert added.status_code == 303, added.text
    row = last_reading(lead)
    names = ("qualifier", "mode", "lead_mg_cm2", "classification", "result", "method")
    assert [row[each] for each in names] == ["<", "K", None, "negative", "negative", "xrf"]
    kept = dict(Form(browse("mia").page(PAGE), READINGS).fields)
    assert (kept["mode"], kept["qualifier"], kept["method"]) == ("K", "", "xrf")


def test_further_fields_open_without_a_script(lead: Callable, browse: Callable) -> None:
    mia = browse("mia")
    closed = mia.page(PAGE)
    enter(mia, READINGS, {"lead_mg_cm2": "0.1", "mode": "K"})

    assert "<details><summary>More: Mode, Method, Confirms" in closed
    assert "<details open><summary>More: Mode, Method, Confirms" in mia.page(PAGE)
    for name in ("lead_percent", "sample_no", "lab_name", "reported_on", "confirms_id", "note"):
        assert f'name="{name}"' in closed


def test_chip_decides_an_inconclusive_reading(lead: Callable, browse: Callable) -> None:
    checked(lead, BANDED)
    [first] = make(lead, "reports_lead", shot(1.0, BANDED, reading_no=12, room="Kitchen", component="Sill"))
    mia = browse("mia")
    assert "Reading 12, Kitchen, Sill, 1.0 mg/cm²" in mia.page(PAGE)
    chip = {
        "room": "Kitchen", "component": "Sill", "method": "paint_chip", "confirms_id": str(first["id"]),
        "lead_percent": "0.1", "sample_no": "C-3", "lab_name": "Harbor Laboratories", "reported_on": "2026-12-09",
    }  # fmt: skip

    added = enter(mia, READINGS, chip)

    assert added.status_code == 303, added.text
    row = last_reading(lead)
    assert {name: str(row[name]) for name in chip} == chip
    assert (row["gun_id"], row["taken_at"], row["classification"]) == (None, None, "negative")
    assert "inconclusive" not in calibration(mia)


@pytest.mark.parametrize("typed", [{"lead_percent": "0.1"}, {"sample_no": "C-3"}, {"lab_name": "Harbor"}])
def test_values_of_a_chip_need_its_method(lead: Callable, browse: Callable, typed: dict) -> None:
    refused = enter(browse("mia"), READINGS, {"lead_mg_cm2": "0.1", **typed})

    assert refused.status_code == 400
    assert "belong to a paint chip: choose that method" in refused.text
    assert lead("mia").get(f"/reports_lead?inspection_id=eq.{LEAD}").json == []


def test_reading_of_another_visit_is_not_confirmed(lead: Callable, browse: Callable) -> None:
    typed = {"method": "assumed", "confirms_id": "1"}
    sent = browse("mia").send(READINGS, {"room": "Hall", **typed}, form=READINGS)

    assert sent.status_code == 409
    assert "There is no" in sent.text or "confirms" in sent.text.lower()
    assert lead("mia").get(f"/reports_lead?inspection_id=eq.{LEAD}").json == []


# Problems in words


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (shot(1.0, BANDED), "Inconclusive: counts as positive until it is decided"),
        (shot(0.6, result="positive"), "The stated result differs from the value"),
        (shot(0.6, UNKNOWN), "Not compared with the limits of its instrument"),
        (shot(None, result="negative"), "No value"),
        (reading(0.1, taken_at="2026-11-18T12:00:00+00:00"), "Taken more than a day from the visit"),
    ],
)  # fmt: skip
def test_problem_of_each_reading_is_in_words(lead: Callable, browse: Callable, row: dict, words: str) -> None:
    checked(lead, SHARED, BANDED, UNKNOWN)
    [made] = make(lead, "reports_lead", {**row, "reading_no": 7, "room": "Attic"})

    for who in ("ada", "mia", "moe"):
        section = calibration(browse(who))
        assert f'href="/console/reports_lead/{made["id"]}"' in section
        assert "Reading 7, Attic" in section
        assert words in section
        assert (f"/console/reports_lead/{made['id']}/void" in section) == (who != "moe")


def test_reading_without_a_problem_is_not_among_them(lead: Callable, browse: Callable) -> None:
    checked(lead, SHARED)
    make(lead, "reports_lead", shot(0.1))

    assert "Readings with problems" not in calibration(browse("ada"))


def test_link_of_an_undecided_reading_opens_the_form_of_a_chip(lead: Callable, browse: Callable) -> None:
    [made] = make(lead, "reports_lead", shot(1.0, BANDED, reading_no=3))
    mia = browse("mia")
    [link] = re.findall(
        r'href="(/console/inspections/\d+/add/reports_lead\?[^"]*)">Confirm by a chip', calibration(mia)
    )

    form = dict(Form(mia.page(link.replace("&amp;", "&"))).fields)

    assert (form["method"], form["confirms_id"]) == ("paint_chip", str(made["id"]))


# Void


def test_button_voids_a_reading_with_a_reason(lead: Callable, browse: Callable) -> None:
    [made] = make(lead, "reports_lead", shot(1.4))
    mia = browse("mia")
    page, path = mia.page(PAGE), f"/console/reports_lead/{made['id']}/void?back=/inspections/{LEAD}"
    assert f'href="{path}">Void' in page
    assert "<button>Void</button>" in re.sub(r"<button[^>]*>", "<button>", mia.page(path))

    refused = mia.fill_in(path, {"reason": " "})
    done = mia.fill_in(path, {"reason": "Wrong wall."})

    assert (refused.status_code, "Reason is required." in refused.text) == (400, True)
    assert done.headers["Location"].startswith(PAGE)
    assert stored(lead, "reports_lead", made["id"])["voided"] == "Wrong wall."
    assert f'href="{path}">Void' not in mia.page(PAGE)


@pytest.mark.parametrize(("who", "status"), [("moe", 403), ("bob", 404)])
def test_who_may_not_write_a_reading_does_not_void_it(lead: Callable, browse: Callable, who: str, status: int) -> None:
    [made] = make(lead, "reports_lead", shot(1.4))
    path = f"/console/reports_lead/{made['id']}/void"

    answers = [browse(who).get(path), browse(who).send(path, {"reason": "x"}, form="/console/")]

    assert [each.status_code for each in answers] == [status, status]
    assert stored(lead, "reports_lead", made["id"])["voided"] is None


# Classified again


def test_button_classifies_readings_again(lead: Callable, browse: Callable) -> None:
    checked(lead, UNKNOWN)
    make(lead, "reports_lead", shot(0.6, UNKNOWN))
    instrument = {"gun_id": UNKNOWN, "make": "Viken", "model": "Pb200i", "serial": "V-1", "client_id": 1}
    make(lead, "xrf_instruments", {**instrument, "negative_below": 0.5, "positive_from": 0.5})
    mia, action = browse("mia"), f"{PAGE}/reclassify"
    form = Form(mia.page(PAGE), action)

    done = mia.client.post(action, data=form.with_({}))

    assert done.status_code == 303, done.text
    assert "1 reading classified again." in mia.page(done.headers["Location"])
    assert last_reading(lead)["classification"] == "positive"
    assert action not in mia.page(PAGE)


def test_button_is_offered_where_limits_are_of_another_standard(lead: Callable, browse: Callable) -> None:
    lead("root").patch("/buildings?id=eq.1", {"city": "Bronx", "state": "NY"})
    city = {"state": "NY", "city": "Bronx", "unit": "mg_cm2", "from_value": 0.5, "valid_from": "2021-12-01"}
    make(lead, "lead_standards", {**city, "basis": "Administrative Code 27-2056.2"}, "root")
    make(lead, "reports_lead", shot(0.6))

    assert f"{PAGE}/reclassify" in browse("ada").page(PAGE)
    assert f"{PAGE}/reclassify" not in browse("moe").page(PAGE)
    refused = browse("moe").send(f"{PAGE}/reclassify", {}, form="/console/")
    assert refused.status_code == 403


# Lead standards


def test_list_of_lead_standards_has_everybodys_and_the_own(lead: Callable, browse: Callable) -> None:
    body = {"unit": "mg_cm2", "from_value": 0.2, "valid_from": "2020-01-01", "state": "ME"}
    make(lead, "lead_standards", {**body, "client_id": 1, "basis": "House rule of Harbor"}, "root")
    make(lead, "lead_standards", {**body, "client_id": 2, "basis": "House rule of others"}, "root")

    for who in ("root", "ada", "moe"):
        page = browse(who).page(STANDARDS)
        assert "Basis 1" in page
        assert "House rule of Harbor" in page
        assert ("House rule of others" in page) == (who == "root")
    assert f'href="{STANDARDS}"' in browse("ada").page("/console/inspectors")


def test_client_admin_makes_and_ends_an_own_standard(lead: Callable, browse: Callable) -> None:
    ada = browse("ada")
    assert f'href="{STANDARDS}/new"' in ada.page(STANDARDS)

    made = ada.fill_in(f"{STANDARDS}/new", RULE)

    assert made.status_code == 303, made.text
    [row] = lead("ada").get("/lead_standards?basis=like.House*").json
    assert (row["client_id"], row["from_value"], row["kind"], row["is_exclusive"]) == (1, 0.2, "paint", False)
    ended = ada.fill_in(f"{STANDARDS}/{row['id']}/edit", {"valid_to": "2026-12-31"})
    assert ended.status_code == 303, ended.text
    assert stored(lead, "lead_standards", row["id"])["valid_to"] == "2026-12-31"


def test_client_admin_changes_no_standard_of_everybody(lead: Callable, browse: Callable) -> None:
    before = stored(lead, "lead_standards", 1)

    assert browse("ada").get(f"{STANDARDS}/1/edit").status_code == 404
    sent = browse("ada").send(f"{STANDARDS}/1/edit", {"basis": "x"}, form="/console/")

    assert (sent.status_code, stored(lead, "lead_standards", 1)) == (404, before)
    assert f"{STANDARDS}/1/edit" not in browse("ada").page(f"{STANDARDS}/1")


@pytest.mark.parametrize("who", ["moe", "mia"])
def test_managers_write_no_standard(lead: Callable, browse: Callable, who: str) -> None:
    count = len(lead("root").get("/lead_standards").json)
    manager = browse(who)

    assert f"{STANDARDS}/new" not in manager.page(STANDARDS)
    assert manager.get(f"{STANDARDS}/new").status_code == 403
    assert manager.send(f"{STANDARDS}/new", RULE, form="/console/").status_code == 403
    assert manager.send(f"{STANDARDS}/1/edit", RULE, form="/console/").status_code == 403
    assert manager.send(f"{STANDARDS}/1/delete", {}, form="/console/").status_code == 403
    assert len(lead("root").get("/lead_standards").json) == count


def test_standard_without_a_source_is_refused(lead: Callable, browse: Callable) -> None:
    refused = browse("ada").fill_in(f"{STANDARDS}/new", {**RULE, "basis": ""})

    assert (refused.status_code, "Source is required." in refused.text) == (400, True)


def test_end_before_the_beginning_is_refused(lead: Callable, browse: Callable) -> None:
    refused = browse("ada").fill_in(f"{STANDARDS}/new", {**RULE, "valid_to": "2025-12-31"})

    assert refused.status_code == 400
    assert lead("ada").get("/lead_standards?basis=like.House*").json == []

"""The console of lead inspections: entry of readings and checks, the strip of an instrument, and the instruments."""

from collections.abc import Callable

import pytest
from werkzeug.test import TestResponse

from tests.conftest import MIA
from tests.console.conftest import Form, FormClient
from tests.inspections.lead_world import (
    LEAD,
    OTHERS,
    OWN,
    SHARED,
    UNKNOWN,
    at,
    check,
    lead_rows,
    make,
    reading,
    worked_checks,
    worked_readings,
)

pytestmark = pytest.mark.one_engine

FIRE = 9
"""A fire inspection of the data set."""

PAGE = f"/console/inspections/{LEAD}"
READINGS, CHECKS = f"{PAGE}/add/reports_lead", f"{PAGE}/add/calibration_checks"


@pytest.fixture
def lead(api: Callable) -> Callable:
    """Add a lead inspection of the inspector whose user is mia, and the instruments."""
    rows = lead_rows()
    api("root").patch("/inspectors?id=eq.1", {"user_id": MIA})
    make(api, "inspections", [each for each in rows["inspections"] if each["id"] == LEAD], "root")
    for each in rows["xrf_instruments"]:
        make(api, "xrf_instruments", {**each, "id": 10 + each["id"]}, "root")
    return api


def enter(browser: FormClient, path: str, typed: dict[str, str]) -> TestResponse:
    """Submit a form of one line on the page of the inspection."""
    return browser.client.post(path, data=Form(browser.page(PAGE), path).with_(typed))


def test_strip_of_the_worked_example(lead: Callable, browse: Callable) -> None:
    make(lead, "calibration_checks", worked_checks())
    make(lead, "reports_lead", worked_readings())

    for who in ("ada", "mia", "moe"):
        page = browse(who).page(PAGE)
        assert f"Gun {SHARED}: checked 14:00 UTC pass, 18:05 UTC pass, 20:00 UTC fail: 3 readings to repeat" in page


def test_strip_names_missing_checks_and_unknown_instruments(lead: Callable, browse: Callable) -> None:
    make(lead, "calibration_checks", check(at("14:00"), (1.0, 1.0, 1.0)))
    make(lead, "reports_lead", [reading(0.3, gun_id, taken_at=at("15:00")) for gun_id in (SHARED, UNKNOWN, OTHERS)])

    page = browse("ada").page(PAGE)

    assert f"Gun {SHARED}: checked 14:00 UTC pass: 1 reading without a check after it" in page
    assert f"Gun {UNKNOWN}: not checked: 1 reading to repeat: not among the XRF instruments" in page
    assert f"Gun {OTHERS}: not checked: 1 reading to repeat: not among the XRF instruments" in page


def test_entry_keeps_room_component_and_gun_for_the_next_reading(lead: Callable, browse: Callable) -> None:
    mia = browse("mia")
    line = {"room": "Kitchen", "component": "Sill", "gun_id": str(SHARED), "lead_mg_cm2": "1.4"}

    added = enter(mia, READINGS, line)

    assert added.status_code == 303
    [row] = lead("mia").get(f"/reports_lead?inspection_id=eq.{LEAD}").json
    assert (row["room"], row["result"]) == ("Kitchen", "positive")
    assert row["taken_at"] is not None
    for url in (added.headers["Location"], PAGE):
        kept = dict(Form(mia.page(url), READINGS).fields)
        assert (kept["room"], kept["component"], kept["gun_id"]) == ("Kitchen", "Sill", str(SHARED))
        assert kept["lead_mg_cm2"] == ""


def test_entry_refuses_a_reading_with_neither_value_nor_result(lead: Callable, browse: Callable) -> None:
    mia, line = browse("mia"), {"room": "Kitchen", "component": "Sill", "gun_id": str(SHARED)}

    refused = enter(mia, READINGS, line)

    assert refused.status_code == 400
    assert "Enter the value, or choose a result." in refused.text
    assert lead("mia").get(f"/reports_lead?inspection_id=eq.{LEAD}").json == []
    assert enter(mia, READINGS, {**line, "result": "negative"}).status_code == 303


def test_forms_of_readings_refuse_neither_value_nor_result(lead: Callable, browse: Callable) -> None:
    [made] = make(lead, "reports_lead", reading(1.4))
    ada = browse("ada")

    new = ada.fill_in("/console/reports_lead/new", {"inspection_id": str(LEAD), "lead_mg_cm2": "", "result": ""})
    edited = ada.fill_in(f"/console/reports_lead/{made['id']}/edit", {"lead_mg_cm2": "", "result": ""})

    assert (new.status_code, edited.status_code) == (400, 400)
    assert "Enter the value, or choose a result." in new.text


def test_edited_value_changes_the_result(lead: Callable, browse: Callable) -> None:
    [made] = make(lead, "reports_lead", reading(1.4))

    browse("ada").fill_in(f"/console/reports_lead/{made['id']}/edit", {"lead_mg_cm2": "0.3"})

    [row] = lead("ada").get(f"/reports_lead?id=eq.{made['id']}").json
    assert (row["lead_mg_cm2"], row["classification"], row["result"]) == (0.3, "negative", "negative")


def test_entry_adds_a_check_of_the_same_gun(lead: Callable, browse: Callable) -> None:
    make(lead, "calibration_checks", check(at("14:00"), (1.0, 1.0, 1.0)))
    mia = browse("mia")

    added = enter(mia, CHECKS, {"first": "1.3", "second": "1.3", "third": "1.2"})

    assert added.status_code == 303
    rows = lead("mia").get(f"/calibration_checks?inspection_id=eq.{LEAD}&order=id").json
    assert [(each["gun_id"], each["result"]) for each in rows] == [(SHARED, "pass"), (SHARED, "fail")]


def test_fire_inspection_has_no_lead_section(lead: Callable, browse: Callable) -> None:
    page = browse("ada").page(f"/console/inspections/{FIRE}")

    assert "Lead readings" not in page
    assert "Calibration" not in page
    assert "Lead readings" in browse("ada").page(PAGE)


def test_list_of_instruments_has_those_due(lead: Callable, browse: Callable) -> None:
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{SHARED}", {"service_due_on": "2026-12-01"})
    lead("root").patch(f"/xrf_instruments?gun_id=eq.{OWN}", {"leak_test_due_on": "2027-12-01"})
    ada = browse("ada")

    page = ada.page("/console/xrf_instruments?retired_on=is.null")
    assert "New XRF instrument" in page
    due = ada.page("/console/xrf_instruments?retired_on=is.null&service_due_on=lte.2026-12-20&order=service_due_on.asc")

    assert f"Gun {SHARED}, Niton XLp 300A" in page
    assert "1 Dec 2026" in page
    assert f"Gun {OTHERS}" not in page
    assert f"Gun {SHARED}," in due
    assert f"Gun {OWN}," not in due


def test_page_of_an_instrument_adds_a_limit(lead: Callable, browse: Callable) -> None:
    ada = browse("ada")
    assert "XRF limits" in ada.page("/console/xrf_instruments/13")

    limit = {"gun_id": str(OWN), "substrate": "Metal, painted", "negative_below": "0.2", "positive_from": "0.9"}
    made = ada.fill_in("/console/xrf_limits/new", limit)

    assert made.status_code == 303
    assert ada.get(made.headers["Location"]).status_code == 200
    assert "Metal, painted" in ada.get(made.headers["Location"]).text

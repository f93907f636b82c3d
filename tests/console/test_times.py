"""Times on pages: they are in TIMEZONE, with its name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any
from zoneinfo import ZoneInfo

import pytest

pytestmark = pytest.mark.one_engine

CHECK = {"id": 90, "inspection_id": 4, "gun_id": 7, "first": 1.0, "second": 1.0, "third": 1.0}
TAKEN = "2026-01-15T02:30:00+00:00"
IN_BOSTON = "14 Jan 2026, 21:30 EST"
FIELD = re.compile(r'name="taken_at"[^>]*value="([^"]*)"')


@pytest.fixture
def in_boston(app: Any, api: Callable) -> None:
    """Put the service into the zone of Boston, with a calibration check of 21:30."""
    app.extensions["walkthrough"].time_zone = ZoneInfo("America/New_York")
    assert api("service").post("/calibration_checks", {**CHECK, "taken_at": TAKEN}).status == 201


def test_pages_end_with_the_zone_of_their_times(browse: Callable) -> None:
    pages = [browse("root").page("/console/"), browse().get("/console/sign-in").get_data(as_text=True)]

    assert ["Times are those of UTC." in page for page in pages] == [True, True]


@pytest.mark.usefixtures("in_boston")
def test_every_time_of_a_check_is_in_the_zone_of_the_setting(browse: Callable) -> None:
    root = browse("root")

    visit, listed = root.page("/console/inspections/4"), root.page("/console/calibration_checks")

    assert "checked 21:30 EST" in visit
    assert IN_BOSTON in listed
    assert "UTC" not in visit + listed
    assert re.search(r"Times are those of America/New_York \(E[SD]T\)\.", listed)


@pytest.mark.usefixtures("in_boston")
def test_form_takes_times_of_the_zone(browse: Callable, api: Callable) -> None:
    root, path = browse("root"), "/console/calibration_checks/90/edit"
    shown = FIELD.search(root.page(path))
    assert shown
    assert shown[1] == "2026-01-14 21:30-05:00"

    for typed, stored in (
        (shown[1], TAKEN),
        ("2026-07-01 08:00", "2026-07-01T12:00:00+00:00"),
        ("2026-07-01 08:00Z", "2026-07-01T08:00:00+00:00"),
    ):
        assert root.fill_in(path, {"taken_at": typed}).status_code == 303
        assert api("service").get("/calibration_checks?id=eq.90&select=taken_at").json == [{"taken_at": stored}]


@pytest.mark.usefixtures("in_boston")
def test_form_keeps_a_typed_time_that_is_none(browse: Callable) -> None:
    root, path = browse("root"), "/console/calibration_checks/90/edit"

    refused = root.fill_in(path, {"taken_at": "yesterday"})

    assert refused.status_code == 400
    assert 'value="yesterday"' in refused.get_data(as_text=True)


@pytest.mark.usefixtures("in_boston")
def test_days_of_filters_are_days_of_the_zone(browse: Callable) -> None:
    root = browse("root")

    found = [
        "check" if IN_BOSTON in root.page(f"/console/calibration_checks?from={day}&to={day}") else ""
        for day in ("2026-01-13", "2026-01-14", "2026-01-15")
    ]

    assert found == ["", "check", ""]
    assert "Prefer: timezone=America/New_York" in root.page("/console/calibration_checks")


@pytest.mark.usefixtures("in_boston")
def test_times_of_the_api_and_of_downloads_stay_utc(browse: Callable, api: Callable) -> None:
    assert json.loads(api("service").get("/calibration_checks?id=eq.90").text)[0]["taken_at"] == TAKEN
    assert TAKEN in browse("root").page("/console/calibration_checks.csv")


@pytest.mark.usefixtures("in_boston")
@pytest.mark.parametrize("moment", ["0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59+00:00"])
def test_first_and_last_time_are_shown(api: Callable, browse: Callable, moment: str) -> None:
    assert api("service").patch("/calibration_checks?id=eq.90", {"taken_at": moment}).status == 204

    assert f"{int(moment[:4])}, " in browse("root").page("/console/calibration_checks/90")

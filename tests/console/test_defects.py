"""The form that reports a defect of a building."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.one_engine

BUILDING, HIDDEN = 1, 4
PATH = "/console/buildings/{}/defect"


def visits(api: Callable) -> list[dict]:
    return api("service").get("/inspections?inspection_type=eq.complaint&select=*,findings(*)").json


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_a_defect_is_reported_on_the_page_of_its_building(browse: Callable, api: Callable, who: str) -> None:
    user, path = browse(who), PATH.format(BUILDING)
    assert path in user.page(f"/console/buildings/{BUILDING}")

    sent = user.fill_in(path, {"description": "The rail is <loose>.", "severity": "severe", "place": "Stair"})

    assert (sent.status_code, sent.headers["Location"]) == (303, f"/console/buildings/{BUILDING}")
    [visit] = visits(api)
    [found] = visit["findings"]
    assert (visit["building_id"], visit["status"], visit["inspector_id"]) == (BUILDING, "in_progress", None)
    assert (found["description"], found["severity"], found["place"], found["item"]) == (
        "The rail is <loose>.", "severe", "Stair", None,
    )  # fmt: skip
    assert f"Defect reported as finding {found['id']}." in user.page(sent.headers["Location"])


def test_a_defect_without_a_description_keeps_the_rest(browse: Callable, api: Callable) -> None:
    answer = browse("ada").fill_in(PATH.format(BUILDING), {"severity": "severe", "place": "Stair"})

    assert (answer.status_code, "Description is required." in answer.text) == (400, True)
    assert 'value="Stair"' in answer.text
    assert visits(api) == []


@pytest.mark.parametrize("key", [HIDDEN, 999])
def test_buildings_out_of_reach_have_no_form(browse: Callable, api: Callable, key: int) -> None:
    moe = browse("moe")

    sent = moe.send(PATH.format(key), {"description": "x", "severity": "low"}, form="/console/")

    assert (moe.get(PATH.format(key)).status_code, sent.status_code) == (404, 404)
    assert visits(api) == []

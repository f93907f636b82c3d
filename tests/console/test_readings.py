"""Lead readings on the inspection page: list, create, edit, delete."""

import re
from collections.abc import Callable

import pytest

pytestmark = pytest.mark.one_engine

HERE = "/console/inspections/2"
NEW = "/console/reports_lead/new"
READING = "/console/reports_lead"


def readings(api: Callable) -> list[dict]:
    return api("root").get("/reports_lead?order=id").json


def test_create_edit_and_delete_reading(browse: Callable, api: Callable) -> None:
    ada = browse("ada")

    made = ada.send(NEW, {"inspection_id": "2", "gun_id": "79", "result": "positive"})

    page = ada.page(made.headers["Location"])
    assert "Reading created." in page
    (key,) = {row["id"] for row in readings(api)} - {1, 2, 3, 4}
    assert readings(api)[-1].items() >= {"id": key, "inspection_id": 2, "gun_id": 79, "result": "positive"}.items()
    changed = ada.send(f"{READING}/{key}/edit", {"inspection_id": "2", "gun_id": "", "result": "negative"})
    assert changed.headers["Location"].startswith(HERE)
    assert readings(api)[-1].items() >= {"id": key, "inspection_id": 2, "gun_id": None, "result": "negative"}.items()
    assert f"Delete reading {key}, Negative?" in ada.page(f"{READING}/{key}/delete")
    assert ada.send(f"{READING}/{key}/delete").status_code == 303
    assert [row["id"] for row in readings(api)] == [1, 2, 3, 4]


def test_invalid_reading_returns_the_form_with_its_input(browse: Callable) -> None:
    answer = browse("ada").send(NEW, {"inspection_id": "2", "gun_id": "7.5", "result": "keep me"})

    assert answer.status_code == 400
    assert "XRF gun is not a" in answer.text
    assert 'value="keep me"' in answer.text


@pytest.mark.parametrize(
    ("who", "key", "changes"),
    [("root", 2, True), ("ada", 2, True), ("moe", 2, False), ("root", 6, True), ("ada", 8, False)],
)
def test_reading_links_match_privileges(browse_shared: Callable, who: str, key: int, changes: bool) -> None:
    page = browse_shared(who).page(f"/console/inspections/{key}")

    assert (f'href="{NEW}?inspection_id={key}"' in page) is changes
    assert bool(re.search(r"/reports_lead/\d+/edit", page)) is changes
    assert ("Positive</td>" in page) is (key == 2)


@pytest.mark.parametrize(
    ("who", "path", "status"),
    [
        ("moe", NEW, 403),
        ("moe", f"{READING}/1/edit", 403),
        ("moe", f"{READING}/1/delete", 403),
        ("ada", f"{READING}/3/edit", 404),
        ("ada", f"{READING}/3/delete", 404),
    ],
)
def test_reading_write_out_of_reach_is_refused(
    browse: Callable, api: Callable, who: str, path: str, status: int
) -> None:
    before = readings(api)

    answer = browse(who).send(path, {"inspection_id": "1", "gun_id": "1", "result": "x"}, form="/console/")

    assert answer.status_code == status
    assert browse(who).get(path).status_code == status
    assert readings(api) == before


@pytest.mark.parametrize(("who", "inspection"), [("ada", 6), ("ada", 8), ("root", 999), ("bob", 3)])
@pytest.mark.parametrize("path", [NEW, f"{READING}/1/edit"])
def test_reading_of_an_inspection_out_of_reach_is_refused(
    browse: Callable, api: Callable, who: str, inspection: int, path: str
) -> None:
    before = readings(api)

    answer = browse(who).send(path, {"inspection_id": str(inspection), "result": "x"}, form="/console/")

    assert answer.status_code in (403, 404, 409)
    assert readings(api) == before


def test_newest_readings_are_shown_with_a_link_to_all(browse: Callable, api: Callable) -> None:
    api("root").post("/reports_lead", [{"inspection_id": 1, "gun_id": each} for each in range(120)])
    ada = browse("ada")

    page = ada.page("/console/inspections/1")
    everything = ada.page("/console/reports_lead?inspection_id=eq.1")

    assert page.count("/edit") == 1 + 20
    assert "Only the last 20 are shown." in page
    assert 'href="/console/reports_lead?inspection_id=eq.1"' in page
    assert "1–50 of 120" in everything

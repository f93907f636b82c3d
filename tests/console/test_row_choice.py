"""Choices of many rows: suggestions, the texts that name a row, and the rows of a text that names none."""

import json
import re
from collections.abc import Callable
from html import unescape

import pytest

from engine.interface.database import TimedOut
from routes.console.components import row_choice
from tests.console.conftest import EMAILS
from tests.console.test_row_filters import numbers

NEW = "/console/inspections/new"
HARBOR = "Harbor House, 1 Pier Rd, number 1"


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_choice, "CHOICES_MAX", 1)


def suggestions(client: object, path: str, **query: str) -> list[str]:
    answer = client.get(f"/console/{path}/suggest", query_string=query)
    assert answer.status_code == 200, answer.text
    return [each["value"] for each in json.loads(answer.get_data(as_text=True))]


@pytest.mark.parametrize(
    ("who", "path", "words", "values"),
    [
        ("ada", "buildings", "house har", [HARBOR]),
        ("ada", "buildings", "pier", [HARBOR]),
        ("ada", "buildings", "100%", ["Depot 100%, 3_Rail Ave, number 3"]),
        ("ada", "buildings", "lofts", []),
        ("ada", "buildings", " ", []),
        ("moe", "buildings", "mill", []),
        ("root", "people", "bob borough", [EMAILS["bob"]]),
        ("ada", "people", "bob", []),
        ("ada", "inspectors", "ines", ["Ines Vega, ines@inspect.example, number 1"]),
        ("root", "clients", "acme", ["Acme Housing, number 1"]),
    ],
)
def test_suggestions_contain_every_word(
    browse_shared: Callable, who: str, path: str, words: str, values: list[str]
) -> None:
    assert suggestions(browse_shared(who), path, q=words) == values


def test_suggestions_are_rows_that_the_caller_may_change(browse_shared: Callable) -> None:
    """Ada reads the granted building 5 of another client."""
    ada = browse_shared("ada")

    assert suggestions(ada, "buildings", q="größe") == ["Größe Straße, 5 Oak, number 5"]
    assert suggestions(ada, "buildings", q="größe", within="update") == []
    assert suggestions(ada, "buildings", q="o", city="eq.Albany") == ["Depot 100%, 3_Rail Ave, number 3"]


def test_suggestions_are_limited_and_not_stored(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_choice, "SUGGESTED_MAX", 2)
    answer = browse_shared("root").get("/console/buildings/suggest?q=o")

    assert len(json.loads(answer.get_data(as_text=True))) == 2
    assert "no-store" in answer.headers["Cache-Control"]
    assert answer.mimetype == "application/json"


def test_suggestions_end_at_the_time_limit(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def time_out(*arguments: object, **named: object) -> None:
        raise TimedOut()

    monkeypatch.setattr(row_choice.queries, "select_rows", time_out)

    assert browse_shared("root").get("/console/buildings/suggest?q=o").status_code == 503


@pytest.mark.parametrize(("who", "path"), [("nobody", "buildings"), ("moe", "people")])
def test_suggestions_need_a_session_and_the_privilege(browse_shared: Callable, who: str, path: str) -> None:
    assert browse_shared(who).get(f"/console/{path}/suggest?q=a").status_code in (303, 403)


@pytest.mark.parametrize("typed", ["1", "Harbor House", "harbor house", HARBOR, "anything, number 1"])
def test_field_takes_a_number_a_name_and_a_suggestion(few: None, browse: Callable, typed: str) -> None:
    ada = browse("ada")
    page = ada.page(NEW)
    assert 'data-suggest="/console/buildings/suggest?within=update"' in page
    assert '<datalist id="s-building_id">' in page

    answer = ada.fill_in(NEW, {"building_id": typed, "inspection_type": "fire"}, page)

    assert answer.status_code == 303
    assert "Harbor House" in ada.page(answer.location)


def test_text_of_several_rows_offers_them(few: None, browse: Callable) -> None:
    """Without a script, the form is the search, and its next step is a short select."""
    ada = browse("ada")
    typed = {"building_id": "bo", "inspection_type": "fire", "inspector_id": "in"}
    answer = ada.fill_in(NEW, typed)
    assert answer.status_code == 400
    offered = re.findall(r'<option value="(\d+)">([^<]+)<', answer.text.partition('id="f-building_id"')[2])
    assert ("1", "Harbor House") in offered
    assert "Building: choose one of the rows with this text." in answer.text

    again = ada.fill_in(NEW, {}, answer.text)
    assert again.status_code == 400
    chosen = ada.fill_in(NEW, {"building_id": "1", "inspector_id": "1"}, answer.text)
    assert chosen.status_code == 303
    assert "Ines Vega" in ada.page(chosen.location)


def test_text_of_no_row_is_refused(few: None, browse: Callable) -> None:
    hidden, missing = (
        browse("ada").fill_in(NEW, {"building_id": each, "inspection_type": "fire"}) for each in ("lofts", "zzzzz")
    )

    assert hidden.status_code == missing.status_code == 400
    for answer in (hidden, missing):
        assert "Building: no row has this name." in answer.text
        assert 'class="other"' not in answer.text.partition('id="f-building_id"')[2].partition("</div>")[0]


def test_edit_shows_the_chosen_row_and_keeps_it(few: None, browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    page = ada.page("/console/inspections/1/edit")
    assert f'value="{HARBOR}"' in page

    assert ada.fill_in("/console/inspections/1/edit", {"notes": "Other"}, page).status_code == 303
    row = api("root").get("/inspections?id=eq.1&select=building_id,inspector_id,notes").json[0]
    assert row == {"building_id": 1, "inspector_id": 1, "notes": "Other"}


def test_rows_of_one_name_are_told_apart(browse: Callable, api: Callable) -> None:
    rows = [
        {"name": "Elm Court", "client_id": 1, "address": "1 Elm St"},
        {"name": "Elm Court", "client_id": 1, "address": "2 Elm St"},
        {"name": "Oak Court", "client_id": 1, "address": None},
        {"name": "Oak Court", "client_id": 1, "address": None},
    ]
    assert api("root").post("/buildings", rows).status == 201
    keys = [row["id"] for row in api("root").get("/buildings?name=eq.Oak Court&select=id&order=id").json]

    for path in (NEW, "/console/inspections"):
        page = unescape(browse("ada").page(path))
        for label in ("Elm Court, 1 Elm St", "Elm Court, 2 Elm St", *(f"Oak Court, number {each}" for each in keys)):
            assert f">{label}</option>" in page, (path, label)
        assert ">Mill Court</option>" in page


def test_filter_takes_a_suggestion_and_shows_it(few: None, browse_shared: Callable) -> None:
    root = browse_shared("root")

    by_building = root.narrow("/console/inspections", {"has_buildings.name": HARBOR}).text
    by_client = root.narrow("/console/inspections", {"is_buildings.client_id": "Borough Estates, number 2"}).text

    assert numbers(by_building) == [1, 2, 9]
    assert f'value="{HARBOR}"' in by_building
    assert 'data-suggest="/console/buildings/suggest"' in by_building
    assert numbers(by_client) == [6, 7, 8]
    assert "Also filtered by" not in by_building + by_client

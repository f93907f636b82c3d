"""Filters of a list by building, inspector and client, the numbers of its pages, and its reset."""

import re
from collections.abc import Callable
from html import unescape

import pytest

from routes.console.components import lists, row_choice

PATH = "/console/inspections"


def options(page: str, column: str) -> dict[str, str]:
    """Return the values of a select of the list's form, by label."""
    select = page.partition(f'<select name="{column}">')[2].partition("</select>")[0]
    return {unescape(label): value for value, label in re.findall(r'<option value="([^"]*)"[^>]*>([^<]+)<', select)}


def numbers(page: str) -> list[int]:
    return sorted({int(each) for each in re.findall(rf'href="{PATH}/([0-9]+)"', page)})


@pytest.mark.parametrize(
    ("who", "column", "label", "found"),
    [
        ("root", "building_id", "Harbor House", [1, 2, 9]),
        ("root", "inspector_id", "Uma Öz", [5, 6]),
        ("root", "inspector_id", "No inspector", [4, 7, 9]),
        ("root", "buildings.client_id", "Borough Estates", [6, 7, 8]),
        ("ada", "building_id", "Größe Straße", [8]),
        ("moe", "inspector_id", "Ines Vega", [1, 3]),
    ],
)
def test_list_is_filtered_by_a_row(browse_shared: Callable, who: str, column: str, label: str, found: list) -> None:
    client = browse_shared(who)

    narrowed = client.narrow(PATH, {column: options(client.page(PATH), column)[label]}).text

    assert numbers(narrowed) == found
    assert f"of {len(found)}</p>" in narrowed
    assert "Also filtered by" not in narrowed
    assert "selected" in narrowed.partition(f'<select name="{column}">')[2].partition("</select>")[0]


@pytest.mark.parametrize(
    ("who", "path", "columns"),
    [
        ("root", PATH, {"building_id", "inspector_id", "buildings.client_id"}),
        ("ada", PATH, {"building_id", "inspector_id"}),
        ("root", "/console/buildings", {"client_id"}),
        ("ada", "/console/buildings", set()),
        ("root", "/console/people", {"client_id"}),
        ("root", "/console/reports_lead", set()),
        ("ada", "/console/client_manager_building_access", {"manager_id", "building_id"}),
    ],
)
def test_lists_offer_the_rows_that_the_caller_sees(browse_shared: Callable, who: str, path: str, columns: set) -> None:
    page = browse_shared(who).page(path)

    assert {each for each in re.findall(r'<select name="([a-z_.]+)"', page) if each.endswith("_id")} == columns
    shown = {label for each in columns for label in options(page, each)}
    assert who == "root" or shown.isdisjoint({'Ash, "The" Lofts (North)', "Max", "Borough Estates"})


def test_too_many_rows_are_filtered_by_a_part_of_the_name(
    browse_shared: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_choice, "CHOICES_MAX", 1)
    root = browse_shared("root")

    by_name = root.narrow(PATH, {"has_buildings.name": " harbor "}).text
    by_client = root.narrow(PATH, {"is_buildings.client_id": "2", "has_inspectors.name": "ivo"}).text

    assert numbers(by_name) == [1, 2, 9]
    assert 'name="has_buildings.name" placeholder="part of the name" value="harbor"' in by_name
    assert numbers(by_client) == [8]
    assert "Also filtered by" not in by_name + by_client
    assert ">Filter: Building contains “harbor”<" in by_name


def test_pages_are_numbered(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PAGE_ROWS", 1)
    root = browse_shared("root")

    page = root.page(f"{PATH}?order=id.asc&offset=4")
    pager = page.partition('class="pager"')[2]
    shown = re.findall(r'<(?:a|b)[^>]*><span class="vh">Page </span>(\d+)', pager)
    last = re.search(r'href="([^"]+)"><span class="vh">Page </span>9<', pager)

    assert shown == ["1", "3", "4", "5", "6", "7", "9"]
    assert '<b aria-current="page"><span class="vh">Page </span>5</b>' in pager
    assert last
    assert numbers(root.page(unescape(last[1]))) == [9]


def test_pages_of_an_uncounted_list_are_numbered(browse_shared: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lists, "PAGE_ROWS", 2)

    pager = browse_shared("root").page(f"{PATH}?q=a&offset=2").partition('class="pager"')[2]

    assert re.findall(r'<(?:a|b)[^>]*><span class="vh">Page </span>(\d+)', pager) == ["1", "2", "3"]


@pytest.mark.parametrize("query", ["q=harbor", "status=eq.failed", "buildings.city=eq.Boston", "order=status.asc"])
def test_reset_removes_every_filter(browse_shared: Callable, query: str) -> None:
    root = browse_shared("root")
    reset = f'<a class="button" href="{PATH}">Reset</a>'

    assert reset in root.page(f"{PATH}?{query}")
    assert reset not in root.page(PATH)

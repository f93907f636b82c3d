"""The visits of a month, by day and by inspector; what a building's page shows on top."""

import html
import re
from collections.abc import Callable

import pytest

from tests.console.inspection_rows import CLOSED_VISIT, VISIT, add_visits, set_clock

PAGE = "/console/inspections/month"


@pytest.fixture(autouse=True)
def visits(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)


def days(page: str) -> dict[int, int]:
    found = re.findall(r"<small>(\d+)</small> (?:<a href=\"[^\"]+\">(\d+)<span)?", page)
    return {int(day): int(number) for day, number in found if number}


def test_days_have_the_numbers_of_their_visits(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    assert days(ada.page(PAGE)) == {1: 1, 9: 1, 10: 1, 11: 1}
    api("service").patch(f"/inspections?id=eq.{VISIT}", {"status": "cancelled"})

    page = ada.page(PAGE)

    assert "<h1>Visits in March 2026</h1>" in page
    assert days(page) == {1: 1, 9: 1, 11: 1}
    assert "Filtered by" not in page
    link = re.search(r'<a href="([^"]+)">1<span class="vh"> visit on day 9', page)
    assert link
    assert "1–1 of 1" in ada.page(html.unescape(link[1]))


def test_inspectors_have_their_load_by_week(browse: Callable) -> None:
    ada = browse("ada")
    load = ada.page(PAGE).partition('class="list month load"')[2]

    name, *numbers = re.findall(r">([^<>]+?)<(?:span|/th|/td)", load.partition("<tbody>")[2])

    assert "Ivo Kral" in name
    assert [each for each in numbers if each.isdigit()] == ["1", "3", "4"]
    link = re.search(r'href="([^"]+)">3<span', load)
    assert link
    assert "1–3 of 3" in ada.page(html.unescape(link[1]))


def test_month_keeps_the_filters_of_the_list(browse: Callable) -> None:
    ada = browse("ada")
    listed = ada.page("/console/inspections?building_id=eq.1&status=eq.completed&from=2026-01-01&order=status.asc")
    link = re.search(r'href="([^"]+)">Month</a>', listed)
    assert link

    page = html.unescape(ada.page(html.unescape(link[1])))

    assert days(page) == {1: 1}
    assert "Filtered by <b>Building: Harbor House</b>, <b>Status: Completed</b>" in page
    assert 'rel="prev" href="/console/inspections/month?month=2026-02&building_id=eq.1&status=eq.completed"' in page
    assert days(ada.page(f"{PAGE}?month=2026-03&building_id=eq.2")) == {}
    assert "<b>Buildings: In use</b>" in ada.page(f"{PAGE}?closed=no")
    assert days(ada.page(f"{PAGE}?buildings.name=ilike.*Court*")) == {}
    assert len(days(ada.page(f"{PAGE}?buildings.name=ilike.*Harbor*"))) == 4


@pytest.mark.parametrize("month", ["", "x", "2026-13", "0001-01", "9999-12"])
def test_any_month_is_a_page(browse: Callable, month: str) -> None:
    assert "<h1>Visits in " in browse("ada").page(f"{PAGE}?month={month}")


def test_rows_of_another_client_are_not_counted(browse: Callable, api: Callable) -> None:
    api("service").patch("/inspections?id=in.(6,7)", {"status": "scheduled", "date_visited": "2026-03-15"})

    assert days(browse("root").page(PAGE))[15] == 2
    page = browse("ada").page(PAGE)

    assert 15 not in days(page)
    assert "Uma" not in page
    assert days(browse("mia").page(PAGE)) == {1: 1, 9: 1, 10: 1, 11: 1}


def test_building_begins_with_its_open_findings(browse: Callable, api: Callable) -> None:
    closed = {"id": 70, "inspection_id": CLOSED_VISIT, "description": "Waived one", "severity": "low"}
    others = {**closed, "id": 71, "inspection_id": 3, "description": "At Mill Court"}
    assert api("service").post("/findings", [closed, others]).status == 201
    assert api("service").rpc("move_findings", {"p_finding_ids": [70], "p_to": "waived", "p_note": "x"}).status == 200

    page = browse("ada").page("/console/buildings/1")
    section = page.partition("<h2>Open findings</h2>")[2].partition("</section>")[0]

    assert page.index("<h2>Open findings</h2>") < page.index("<h2>Building</h2>")
    assert re.findall(r'href="/console/findings/(\d+)"', section) == ["1"]
    assert "No open findings." in browse("ada").page("/console/buildings/3")


def test_building_with_a_place_has_a_map(browse: Callable) -> None:
    ada = browse("ada")
    page = html.unescape(ada.page("/console/buildings/1"))
    assert 'href="https://www.openstreetmap.org/?mlat=42.360000&mlon=-71.050000#map=18/42.360000/-71.050000"' in page
    assert "openstreetmap" not in ada.page("/console/buildings/2")

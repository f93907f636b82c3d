"""Closed buildings: console lists, the dashboard and kiosk displays leave them out, and a filter shows their record."""

import html
import re
from collections.abc import Callable

import pytest

from tests.console.inspection_rows import (
    DUE_THIS_WEEK,
    FIXED,
    LATE,
    LATE_VISIT,
    TODAY,
    TOMORROW,
    YESTERDAY,
    add_findings,
    add_visits,
    set_clock,
)

HARBOR, MILL = 1, 2
"""Buildings of ada's client: the first is closed in most tests."""
SURVIVOR, FINDING = 51, 52
"""An open visit of Mill Court, and its finding."""


@pytest.fixture(autouse=True)
def rows(app: object, api: Callable) -> None:
    set_clock(app)
    add_visits(api)
    add_findings(api)
    root = api("service")
    visit = {"id": SURVIVOR, "building_id": MILL, "inspection_type": "fire", "status": "scheduled"}
    assert root.post("/inspections", {**visit, "date_visited": YESTERDAY}).status == 201
    found = {"id": FINDING, "inspection_id": SURVIVOR, "description": "Loose rail", "severity": "severe"}
    assert root.post("/findings", found).status == 201


def close(api: Callable, day: str = TODAY, building: int = HARBOR) -> None:
    root, where = api("service"), f"/building_details?building_id=eq.{building}"
    if root.get(where).json:
        answer = root.patch(where, {"closed_on": day})
    else:
        answer = root.post("/building_details", {"building_id": building, "closed_on": day})
    assert answer.status in (201, 204), answer.text


def listed(page: str, table: str) -> set[int]:
    """Return the ids of the rows of a list."""
    body = page.partition("<tbody>")[2].partition("</tbody>")[0]
    return {int(each) for each in re.findall(rf'href="/console/{table}/(\d+)"', body)}


def listed_at(client: object, path: str) -> set[int]:
    """Return the ids of the rows of the list at a path."""
    return listed(client.page(path), path.split("?")[0].rpartition("/")[2])


@pytest.mark.parametrize(("day", "is_closed"), [(YESTERDAY, True), (TODAY, True), (TOMORROW, False)])
def test_lists_leave_a_closed_building_out_from_its_day_on(
    browse: Callable, api: Callable, day: str, is_closed: bool
) -> None:
    close(api, day)
    ada = browse("ada")

    buildings, closed = (listed(ada.page(f"/console/buildings?closed={each}"), "buildings") for each in ("no", "yes"))

    assert (HARBOR in buildings, HARBOR in closed) == (not is_closed, is_closed)
    assert (MILL in buildings, MILL in closed) == (True, False)
    found = {
        each: listed(ada.page(f"/console/findings?status=eq.open&closed={each}"), "findings") for each in ("no", "yes")
    }
    assert ({LATE, DUE_THIS_WEEK} <= found["no"], {LATE, DUE_THIS_WEEK} <= found["yes"]) == (not is_closed, is_closed)
    assert FINDING in found["no"] - found["yes"]


@pytest.mark.parametrize("table", ["buildings", "inspections", "findings"])
def test_navigation_and_quick_views_leave_it_out_and_all_is_the_record(
    browse: Callable, api: Callable, table: str
) -> None:
    close(api)
    ada = browse("ada")
    first = re.search(rf'href="(/console/{table}\?[^"]*closed=no[^"]*)"', ada.page("/console/"))
    assert first
    page = ada.page(html.unescape(first[1]))
    views = {
        label: html.unescape(url)
        for url, label in re.findall(r'<li><a href="([^"]+)"[^>]*>([^<]+?)(?: <b>|</a>)', page)
    }
    closed = listed(ada.page(views.get("Closed buildings", views.get("Closed", ""))), table)

    in_use, everything = listed(page, table), listed(ada.page(f"/console/{table}"), table)

    assert closed
    assert in_use
    assert in_use & closed == set()
    assert in_use | closed <= everything
    for label in ("Open", "Late", "Today", "This week", "In use"):
        if label in views:
            assert listed(ada.page(views[label]), table) & closed == set(), label


@pytest.mark.parametrize("path", ["/console/", "/console/kiosk", "/console/kiosk/board"])
def test_dashboard_and_displays_leave_it_out(browse: Callable, api: Callable, path: str) -> None:
    ada, lists = browse("ada"), re.compile(r"<li.*?</li>", re.DOTALL)
    before = [each for each in lists.findall(ada.page(path)) if "Harbor House" in each]
    close(api)

    page = ada.page(path)

    assert before
    assert [each for each in lists.findall(page) if "Harbor House" in each] == []
    assert "Mill Court" in page


def test_file_of_a_list_has_its_rows(browse: Callable, api: Callable) -> None:
    close(api)
    ada = browse("ada")

    closed, in_use = (ada.page(f"/console/buildings.csv?closed={each}").splitlines() for each in ("yes", "no"))

    assert [line.split(",")[0] for line in closed[1:]] == [str(HARBOR)]
    assert str(HARBOR) not in [line.split(",")[0] for line in in_use[1:]]
    assert closed[0] == in_use[0] == ada.page("/console/buildings.csv").splitlines()[0]


def test_record_of_a_closed_building_stays(browse: Callable, api: Callable) -> None:
    close(api)
    ada = browse("ada")

    assert f"/console/findings/{LATE}" in ada.page(f"/console/inspections/{LATE_VISIT}")
    for path in (f"/console/buildings/{HARBOR}", f"/console/findings/{FIXED}"):
        assert ada.get(path).status_code == 200
    assert {LATE, FIXED} <= listed(ada.page("/console/findings"), "findings")


def test_without_a_closed_building_the_filter_changes_nothing(browse: Callable) -> None:
    ada = browse("ada")

    assert listed(ada.page("/console/findings?closed=no"), "findings") == listed(
        ada.page("/console/findings"), "findings"
    )
    assert listed(ada.page("/console/findings?closed=yes"), "findings") == set()


def test_form_offers_the_filter_and_keeps_it(browse: Callable, api: Callable) -> None:
    close(api)

    page = browse("ada").page("/console/inspections?closed=yes")

    assert '<option value="yes" selected>Closed</option>' in page
    assert re.search(r"<label>Buildings\s*<select name=\"closed\">", page)


def test_a_schedule_is_applied_to_the_buildings_of_the_list(browse: Callable, api: Callable) -> None:
    ada = browse("ada")
    shown = re.search(r'href="(/console/schedules/apply\?[^"]+)"', ada.page("/console/buildings?closed=no"))
    assert shown
    path = html.unescape(shown[1])
    before = re.search(r"Apply a schedule to (\d+) buildings", ada.page(path))

    close(api)

    after = re.search(r"Apply a schedule to (\d+) buildings", ada.page(path))
    assert before
    assert after
    assert int(after[1]) == int(before[1]) - 1

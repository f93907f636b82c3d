"""The quick views of inspections, the links of the dashboard's bars, and its first steps."""

import html
import re
from collections.abc import Callable

import pytest

from inspections.reporting import dashboard

VIEWS = re.compile(r'<nav class="views".*?</nav>', re.DOTALL)


def links(page: str) -> list[str]:
    return [html.unescape(each) for each in re.findall(r'href="([^"]+)"', page)]


def test_navigation_opens_the_longest_overdue_inspection_first(browse: Callable) -> None:
    ada = browse("ada")
    first = next(each for each in links(ada.page("/console/")) if each.startswith("/console/inspections?"))

    page = ada.page(first)

    assert re.search(r'aria-current="page">Inspections</a>', page)
    assert re.search(r'aria-current="page">Open</a>', page)
    assert page.index("11 Apr 2025") < page.index("2 Jun 2025")
    assert "Completed</span>" not in page


def test_each_quick_view_is_a_list_and_marks_itself(browse: Callable) -> None:
    ada = browse("ada")
    found = VIEWS.search(ada.page("/console/inspections"))
    assert found
    assert len(links(found[0])) == 10
    for label in ("Late", "This week", "Next week", "This month", "Next month"):
        assert f">{label}</a>" in found[0]

    for each in links(found[0]):
        view = VIEWS.search(ada.page(each))
        assert view
        assert view[0].count('aria-current="page"') == 1, each


def test_late_view_fills_in_the_form(browse: Callable) -> None:
    found = VIEWS.search(browse("ada").page("/console/inspections"))
    assert found
    late = next(each for each in links(found[0]) if "lte." in each and "gte." not in each)
    assert "Also filtered by" not in browse("ada").page(late)


def test_first_click_sorts_upward_and_dates_newest_first(browse: Callable) -> None:
    ada = browse("ada")
    assert "order=inspection_type.asc" in ada.page("/console/inspections")
    assert "order=inspection_type.desc" in ada.page("/console/inspections?order=inspection_type.asc")
    for column in ("buildings", "inspectors"):
        assert f"order={column}(name).asc" in ada.page("/console/inspections")
        page = ada.page(f"/console/inspections?order={column}(name).asc")
        assert f"order={column}(name).desc" in page
        assert 'aria-sort="ascending"' in page
    assert "order=first_due.desc" in ada.page("/console/schedules")


def test_empty_list_has_no_filter_to_clear(browse: Callable) -> None:
    empty = browse("mia").page("/console/inspections")
    assert "No inspections to show. An inspection of a building: its type, date, status, inspector and notes." in empty
    assert "Create the first" not in empty
    assert "Clear the filters" in browse("ada").page("/console/inspections?q=nothing")


def test_empty_list_says_what_it_is_for_and_creates_the_first_row(browse: Callable, api: Callable) -> None:
    """Bob may create the first schedule of his client."""
    assert api("root").delete("/schedules?building_id=in.(4,5)").status in (200, 204)
    bob = browse("bob")

    page = bob.page("/console/schedules")

    assert "Create the first schedule" in page.replace("\n", " ")
    assert "No schedules to show. A recurring inspection of a building." in page


def test_refusal_is_in_words(browse: Callable) -> None:
    answer = browse("moe").get("/console/clients/new")
    assert answer.status_code == 403
    assert "you may not" in answer.text


def test_bars_link_to_the_rows_that_they_count(browse: Callable) -> None:
    root = browse("root")
    page = root.page("/console/?from=2025-01-01&to=2025-12-31")
    bars = re.findall(r'<a href="([^"]+)" tabindex="-1"[^>]*><rect [^>]*><title>[^:]*: (\d+) ', page)
    word = r'<span class="long">[A-Z][a-z]+</span>'
    types = re.findall(rf'<a href="([^"]+=eq\.[a-z]+)">{word}</a></th>\s*<td class="n">(\d+)<', page)
    busiest = re.findall(r'<td class="n"><a href="([^"]+)">(\d+)<', page)
    assert bars
    assert types
    assert busiest

    for address, count in (*bars, *types, *busiest):
        assert f"of {count}</p>" in root.page(html.unescape(address)), address


def test_overdue_inspection_says_how_late(browse: Callable) -> None:
    page = browse("ada").page("/console/")
    late = r"Fire at Mill Court, 11 Apr 2025</span> <span class=\"when late-by\">late by [\d,]+ days<"

    assert re.search(late, page)


def test_first_steps_are_shown_to_super_admins(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "First steps" not in browse("root").page("/console/")
    never = {**dashboard.QUERIES, dashboard.FirstStep.INSPECTION: "SELECT 1 FROM inspections WHERE id < 0"}
    monkeypatch.setattr(dashboard, "QUERIES", never)

    assert "First steps" in browse("root").page("/console/")
    assert "First steps" not in browse("ada").page("/console/")


def test_links_of_the_console_show_no_filter_in_the_dialect(browse: Callable) -> None:
    root = browse("root")
    opened = 0
    for path in (
        "/console/?from=2025-01-01&to=2025-12-31",
        "/console/buildings/1",
        "/console/inspections",
        "/console/findings",
    ):
        for each in dict.fromkeys(links(root.page(path))):
            if re.match(r"/console/(inspections|findings|schedules|reports_lead)\?", each):
                assert '<p class="unshown">' not in root.page(each), (path, each)
                opened += 1
    assert opened > 20


def test_overdue_of_the_dashboard_is_the_late_view_with_closed_buildings(browse: Callable) -> None:
    root = browse("root")
    overdue = next(each for each in links(root.page("/console/")) if "date_visited=lte." in each)

    found = VIEWS.search(root.page("/console/inspections"))
    assert found
    assert overdue in [each.replace("&closed=no", "") for each in links(found[0])]

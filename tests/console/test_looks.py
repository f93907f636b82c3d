"""What every page keeps to: one filled button, a menu in groups, and a way on from a choice without options."""

import re
from collections.abc import Callable

import pytest

from inspections.reporting import dashboard
from routes.console.components.queries import ResultPage
from routes.console.components.row_choice import RowChoice
from tests.console.kinds_of_pages import PAGES

pytestmark = pytest.mark.one_engine

CLOSED = re.compile(r"(<details(?![^>]* open)[^>]*><summary.*?</summary>).*?</details>", re.DOTALL)
FILLED = re.compile(r'<(?:a|button|label|summary)[^>]*class="(?:button )?main"[^>]*>([^<]*)')
FINAL = ("Delete", "End", "Waive", "Deactivate", "Revoke")


@pytest.mark.parametrize("who", PAGES)
def test_page_has_at_most_one_filled_button_which_can_be_undone(browse_shared: Callable, who: str) -> None:
    client = browse_shared(who)
    for path in PAGES[who]:
        filled = [text.strip() for text in FILLED.findall(CLOSED.sub(r"\1", client.get(path).text))]
        assert len(filled) <= 1, (path, filled)
        assert not set(filled) & set(FINAL), path


def test_menu_has_the_daily_work_and_groups(browse_shared: Callable) -> None:
    menu = browse_shared("root").page("/console/people").partition("<nav")[2].partition("</nav>")[0]
    work, *groups = menu.split("<details")

    assert re.findall(r">([^<>]+)</a>", work) == ["Dashboard", "Inspections", "Schedules", "Findings"]
    names = [re.findall(r">([^<>]+)</summary>", each)[0] for each in groups]
    assert names == ["Places", "People", "Settings"]
    assert ['class="on"' in each for each in groups] == [False, True, False]
    assert re.findall(r">([^<>]+)</a>", groups[1]) == ["Users", "Inspectors", "Access", "Why?"]


def test_buildings_of_a_new_user_are_grouped_by_client(browse_shared: Callable) -> None:
    page = browse_shared("root").page("/console/people/new")
    groups = {part.partition("</h2>")[0]: part for part in page.split("<h2>")[1:]}

    assert len(groups) == 2
    assert all('name="building"' in part for part in groups.values())
    assert "<h2>" not in browse_shared("ada").page("/console/people/new")


def test_row_page_leads_to_the_next_first_step(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    never = {**dashboard.QUERIES, dashboard.FirstStep.BUILDING: "SELECT 1 FROM buildings WHERE id < 0"}
    monkeypatch.setattr(dashboard, "QUERIES", never)

    assert '<a href="/console/buildings/new">Create a building of the client' in browse("root").page(
        "/console/clients/1"
    )
    assert "First steps" not in browse("ada").page("/console/clients/1")


def test_choice_without_options_links_to_where_one_is_made(browse: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "none to choose" not in browse("root").page("/console/buildings/new")
    monkeypatch.setattr(RowChoice, "first_page", lambda self: ResultPage([], 1, False, None))

    link = r'There is none to choose yet\.\s+<a href="/console/{}/new">New {}</a>'
    assert re.search(link.format("clients", "client"), browse("root").page("/console/buildings/new"))
    assert re.search(link.format("buildings", "building"), browse("ada").page("/console/inspections/new"))
    assert "/console/inspectors/new" not in browse("ada").page("/console/inspections/new")


def test_totals_stand_above_the_columns_of_the_chart(browse_shared: Callable) -> None:
    page = browse_shared("root").page("/console/?from=2025-01-01&to=2025-12-31")
    totals = re.findall(r'class="tick total mid">([\d,]+)<', page)
    rows = re.findall(r'<th scope="row"><a [^>]*>[^<]*2025</a></th>\s*<td class="n">(\d+)</td>', page)

    assert totals
    assert totals == [each for each in rows if each != "0"]
    assert 'class="axis"' in page

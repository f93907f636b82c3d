"""Changes of many rows in Chromium, on a telephone: an inspector's visits are handed over, and rows are ticked."""

import re
from collections.abc import Callable, Iterator

import httpx
import pytest

from tests.clients.server import KEYS
from tests.console.conftest import Service

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

SMALL = {"width": 320, "height": 640}
TAPS_MAX = 6
VISITS = 49
INES, UMA = 1, 3
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@pytest.fixture
def visits(service: Service) -> Iterator[Callable[[int], int]]:
    """Give Ines open visits of the next years, and return the number of those of an inspector."""
    headers = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
    made = f"{service.url}/inspections?id=gte.7000"
    rows = [
        {"id": 7_000 + each, "building_id": 2, "inspection_type": "fire", "status": "scheduled",
         "date_visited": f"2090-01-{1 + each % 28:02}", "inspector_id": INES}
        for each in range(VISITS)
    ]  # fmt: skip
    assert httpx.post(f"{service.url}/inspections", headers=headers, json=rows).status_code == 201
    yield lambda inspector: len(httpx.get(f"{made}&inspector_id=eq.{inspector}", headers=headers).json())
    assert httpx.delete(made, headers=headers).status_code == 204


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without"])
def test_visits_are_handed_over_with_few_taps(open_page: Callable, visits: Callable[[int], int], scripts: bool) -> None:
    page, taps = open_page("ada", scripts=scripts, size=SMALL), 0
    page.goto("/console/inspectors")
    for locator in (page.get_by_role("link", name="Ines Vega"), page.get_by_role("link", name="Hand over")):
        locator.click()
        taps += 1
    page.get_by_label("To whom").select_option(label="Uma Öz")
    taps += 1
    for name in ("Preview", "Save"):
        button = page.get_by_role("button", name=name, exact=True)
        button.wait_for()
        assert page.evaluate(OVERFLOW) <= 0 if scripts else True
        button.click()
        taps += 1

    page.get_by_text(f"{VISITS} inspections assigned to Uma Öz.").wait_for()
    assert taps <= TAPS_MAX
    assert (visits(INES), visits(UMA)) == (0, VISITS)
    page.get_by_role("button", name="Undo").click()
    page.get_by_text(f"{VISITS} inspections assigned to Ines Vega.").wait_for()
    assert (visits(INES), visits(UMA)) == (VISITS, 0)


def test_bar_of_actions_appears_with_the_first_tick(open_page: Callable, visits: Callable[[int], int]) -> None:
    page = open_page("ada", size=SMALL)
    page.goto("/console/inspections?building_id=eq.2&inspector_id=eq.1&from=2090-01-01")
    assert page.evaluate(OVERFLOW) <= 0
    move = page.get_by_role("button", name="Move the date")
    assert not move.is_visible()
    box = page.locator(".tick-box input").first
    plain = page.evaluate("getComputedStyle(document.querySelector('.rows tbody tr')).backgroundColor")

    box.check()

    move.wait_for()
    assert page.evaluate("getComputedStyle(document.querySelector('.rows tbody tr')).backgroundColor") != plain
    box.uncheck()
    assert not move.is_visible()

    page.get_by_role("link", name=f"Tick all {VISITS}").click()
    page.locator(".tick-box input").nth(1).uncheck()
    assert page.evaluate(OVERFLOW) <= 0
    page.get_by_role("button", name="Move the date").click()
    page.get_by_role("heading", name=re.compile(f"Move the date: {VISITS - 1} inspections")).wait_for()


def test_filters_of_a_list_fold_on_a_telephone(open_page: Callable) -> None:
    page = open_page("ada", size=SMALL)
    page.goto("/console/inspections?building_id=eq.2")
    status = page.locator(".filters select[name=status]")
    assert not status.is_visible()

    page.get_by_text("Filters (1)").click()

    status.wait_for()
    page.set_viewport_size({"width": 1280, "height": 800})
    assert status.is_visible()
    assert not page.get_by_text("Filters (1)").is_visible()


@pytest.mark.parametrize("path", ["/console/inspections/month?month=2090-01", "/console/buildings/1"])
def test_page_fits_a_small_screen(open_page: Callable, visits: Callable[[int], int], path: str) -> None:
    page = open_page("ada", size=SMALL)
    page.goto(path)
    assert page.evaluate(OVERFLOW) <= 0

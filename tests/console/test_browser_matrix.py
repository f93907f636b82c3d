"""The access matrix in Chromium: keyboard focus and print."""

from collections.abc import Callable

import httpx
import pytest

from tests.clients.server import KEYS
from tests.console.conftest import Service

BUILDINGS = 24
HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
IS_HIDDEN = """() => {
  const box = document.activeElement, edges = box.getBoundingClientRect();
  return ![[.5, .5], [.1, .1], [.9, .9], [.1, .9], [.9, .1]].some(([x, y]) =>
    document.elementFromPoint(edges.left + edges.width * x, edges.top + edges.height * y) === box);
}"""
LAST = "[...document.querySelectorAll('.matrix input[type=checkbox]')].pop().focus()"


@pytest.fixture(scope="module")
def many_buildings(service: Service) -> None:
    buildings = [{"name": f"Wharf House {each:02}", "client_id": 1} for each in range(BUILDINGS)]
    assert httpx.post(f"{service.url}/buildings", headers=HEADS, json=buildings).status_code == 201
    people = [
        {"name": f"Person {each}", "email": f"p{each}@x.example", "role": "client_manager", "client_id": 1}
        for each in range(6)
    ]  # fmt: skip
    assert httpx.post(f"{service.url}/users", headers=HEADS, json=people).status_code == 201


@pytest.mark.parametrize("width", [pytest.param(1280, marks=pytest.mark.long), 640])
def test_sticky_headers_do_not_cover_the_focused_cell(open_page: Callable, many_buildings: None, width: int) -> None:
    page = open_page("ada", size={"width": width, "height": 700})
    page.goto("/console/access")
    page.evaluate(LAST)

    hidden = 0
    for _ in range(page.locator(".matrix input[type=checkbox]").count() - 1):
        page.keyboard.press("Shift+Tab")
        hidden += page.evaluate(IS_HIDDEN)

    assert hidden == 0


def test_matrix_prints_without_clipping(open_page: Callable, many_buildings: None) -> None:
    page = open_page("ada")
    page.goto("/console/access")
    page.emulate_media(media="print")

    cut = "(each => each.scrollHeight - each.clientHeight)(document.querySelector('.matrix'))"
    assert page.evaluate(cut) == 0
    assert page.locator(".matrix tbody tr").count() == BUILDINGS

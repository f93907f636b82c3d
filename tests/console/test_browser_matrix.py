"""The access matrix in Chromium: keyboard focus, print, the button in sight, and names on a telephone."""

from collections.abc import Callable

import httpx
import pytest

from tests.clients.server import KEYS
from tests.console.conftest import DESK, PHONE, Service

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

BUILDINGS = 24
HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
IS_HIDDEN = """() => {
  const box = document.activeElement, edges = box.getBoundingClientRect();
  return ![[.5, .5], [.1, .1], [.9, .9], [.1, .9], [.9, .1]].some(([x, y]) =>
    document.elementFromPoint(edges.left + edges.width * x, edges.top + edges.height * y) === box);
}"""
BROKEN_WORDS = """() => {
  const found = new Set(), texts = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const node = texts.currentNode;
    if (node.parentElement.closest('.vh, svg, code, option')) continue;
    for (const word of node.data.matchAll(/[^\\s-]+/g)) {
      const range = document.createRange();
      range.setStart(node, word.index);
      range.setEnd(node, word.index + word[0].length);
      const lines = [...range.getClientRects()].filter(each => each.width).map(each => Math.round(each.top));
      if (new Set(lines).size > 1) found.add(word[0]);
    }
  }
  return [...found];
}"""
LONG_NAMES = {
    "users": {
        "name": "Bartholomew Featherstonehaugh",
        "email": "bf@x.example",
        "role": "client_manager",
        "client_id": 1,
    },
    "inspectors": {
        "name": "Wilhelmina Throckmorton",
        "email": "wilhelmina.throckmorton@harborline-inspections.example",
    },
    "buildings": {"name": "Waterfront Apartments Northumberland", "client_id": 1, "city": "Winston-Salem"},
}
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


@pytest.fixture(scope="module")
def long_names(service: Service) -> None:
    for table, row in LONG_NAMES.items():
        assert httpx.post(f"{service.url}/{table}", headers=HEADS, json=row).status_code == 201


@pytest.mark.parametrize(
    "path",
    [
        "",
        "access",
        "inspectors",
        "people",
        "people/new",
        "buildings",
        "inspections",
        "findings",
        "schedules",
        "inspections/3",
        "buildings/1",
        "findings/1",
    ],
)
def test_telephone_breaks_no_words(open_page: Callable, long_names: None, path: str) -> None:
    page = open_page("root", size=PHONE)
    page.goto(f"/console/{path}")

    assert page.evaluate(BROKEN_WORDS) == []
    assert page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0


def test_desk_breaks_no_words_of_findings(open_page: Callable, service: Service) -> None:
    words = {"item": "Extinguisher", "description": "Carbon monoxide alarm does not sound.", "place": "3D, bathroom"}
    changed = httpx.patch(f"{service.url}/findings?id=gt.0", headers=HEADS, json=words)
    assert changed.status_code == 204
    page = open_page("ada", size=DESK)
    page.goto("/console/findings")

    assert page.evaluate(BROKEN_WORDS) == []


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "telephone"])
def test_button_of_the_matrix_is_in_sight(open_page: Callable, many_buildings: None, size: dict) -> None:
    page = open_page("ada", size=size)
    page.goto("/console/access")
    button = page.get_by_role("button", name="Preview changes")

    assert button.bounding_box()["y"] + button.bounding_box()["height"] <= size["height"]
    page.locator(".matrix input[type=checkbox]").last.click()
    button.click()
    page.get_by_role("button", name="Save").click()
    assert page.get_by_role("status").inner_text() in ("1 granted, 0 revoked.", "0 granted, 1 revoked.")

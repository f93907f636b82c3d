"""Every list in Chromium: the filters stand on one line of a desk, and a long name breaks in its own cell."""

from collections.abc import Callable

import httpx
import pytest

from routes.console.components.display import WORD_CHARACTERS_MAX, is_text
from routes.console.components.tables import all_tables
from routes.console.session.urls import PATH
from tests.clients.server import KEYS
from tests.conftest import WRITABLE
from tests.console.conftest import Service
from tests.support.factories import existing_row, key_filter

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
LAPTOP = {"width": 1366, "height": 768}
MANY = 301  # rows, which a field suggests instead of listing them
LINES = """() => {
  const form = document.querySelector('form.filters');
  if (!form) return [];
  const shown = [...form.querySelectorAll('input, select, button, .button')].filter(each => each.checkVisibility());
  const edges = shown.map(each => [each, each.getBoundingClientRect()]);
  const words = edges.map(([each, edge]) => `${each.name || each.textContent} ${Math.round(edge.width)}`);
  const right = form.getBoundingClientRect().right + 1;
  const faults = [];
  if (new Set(edges.map(([, edge]) => Math.round(edge.top))).size > 1) faults.push('several lines');
  if (edges.some(([, edge]) => edge.right > right)) faults.push('wider than the page');
  if (edges.some(([each, edge]) => each.matches('input, select') && edge.width < 60)) faults.push('too narrow');
  if ([...form.querySelectorAll('label')].some(each => each.offsetHeight > 75)) faults.push('label of two lines');
  return faults.map(each => [each, words.join(', ')]);
}"""

LONG_NAME = "W" * 60
SCREENS = ((390, 844), (1366, 768), (1920, 1080))
BROKEN = """length => {
  const faults = [];
  for (const cell of document.querySelectorAll('.list tbody td')) {
    const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (!text.parentElement.checkVisibility() || text.parentElement.closest('.vh, .slim')) continue;
      for (const word of text.data.matchAll(/[^\\s@.-]+/g)) {
        if (word[0].length > length) continue;
        const range = document.createRange();
        range.setStart(text, word.index);
        range.setEnd(text, word.index + word[0].length);
        const lines = new Set([...range.getClientRects()].map(each => Math.round(each.top)));
        if (lines.size > 1) faults.push(word[0]);
      }
    }
  }
  return faults;
}"""


@pytest.fixture(scope="module")
def send(service: Service) -> Callable:
    def sent(method: str, path: str, body: object) -> None:
        answer = httpx.request(method, f"{service.url}/{path}", headers=HEADS, json=body)
        assert answer.status_code in (201, 204), answer.text

    return sent


def issue_report_and_letter(service: Service) -> None:
    """Issue a report of a new visit, and a letter about a finding. Functions write these rows."""
    visit = {"building_id": 1, "inspection_type": "fire", "status": "completed", "date_visited": "2026-01-31"}
    heads = {**HEADS, "Prefer": "return=representation"}
    [made] = httpx.post(f"{service.url}/inspections", headers=heads, json=visit).json()
    [finding] = httpx.get(f"{service.url}/findings?status=eq.open&limit=1", headers=HEADS).json()
    calls = {
        "issue_report": {"p_inspection_id": made["id"], "p_kind": "findings", "p_signed_name": LONG_NAME},
        "issue_notice": {
            "p_finding_ids": [finding["id"]], "p_to_name": LONG_NAME, "p_to_address": "1 Pier",
            "p_answer_by": "2100-01-01",
        },
    }  # fmt: skip
    for function, arguments in calls.items():
        answer = httpx.post(f"{service.url}/rpc/{function}", headers=HEADS, json=arguments)
        assert answer.status_code == 200, answer.text


def test_filters_of_every_list_stand_on_one_line(open_page: Callable, send: Callable) -> None:
    page = open_page("root", size=LAPTOP)
    found = []

    def look_at_lists(rows: str) -> None:
        for table in all_tables():
            for query in ("", f"?order={table.relation.key[-1]}.asc"):
                page.goto(f"{PATH}{table.path}{query}")
                found.extend((rows, table.name, query, *each) for each in page.evaluate(LINES))
        for path in ("/console/access", "/console/access?role=client_admin&q=o&who=o"):
            page.goto(path)
            found.extend((rows, path, *each) for each in page.evaluate(LINES))

    look_at_lists("few rows")
    numbers = range(1_000, 1_000 + MANY)
    send("POST", "clients", [{"id": each, "name": f"Client {each}"} for each in numbers])
    send("POST", "buildings", [{"id": each, "name": f"Building {each}", "client_id": 1} for each in numbers])
    send("POST", "inspectors", [{"id": each, "name": f"Inspector {each}"} for each in numbers])
    look_at_lists("many rows")

    assert found == [], "\n".join(map(str, found))


def test_name_without_a_break_does_not_break_the_words_of_other_columns(
    open_page: Callable, service: Service, send: Callable
) -> None:
    page = open_page("root", size=LAPTOP)
    for table in all_tables():
        if table.name not in WRITABLE:
            continue
        if not httpx.get(f"{service.url}/{table.name}?limit=1", headers=HEADS).json():
            send("POST", table.name, existing_row(table.name))
        [row] = httpx.get(f"{service.url}/{table.name}?limit=1", headers=HEADS).json()
        names = {
            each.name: f"{LONG_NAME}@x.example" if each.name == "email" else LONG_NAME
            for each in table.relation.attributes.values()
            if is_text(each) and each.info.listed and not each.info.allowed_values
        }
        if names:
            send("PATCH", f"{table.name}?{key_filter(table.name, row)}", names)
    issue_report_and_letter(service)
    document = {**HEADS, "Content-Type": "application/pdf"}
    stored = httpx.post(
        f"{service.url}/storage/v1/object/buildings/1/{LONG_NAME}.pdf", headers=document, content=b"%PDF-1.7\n"
    )
    assert stored.status_code == 200, stored.text
    found = []
    for table in all_tables():
        page.goto(f"{PATH}{table.path}")
        assert page.locator(".list tbody tr").count(), f"{table.name} has no row"
        for width, height in SCREENS:
            page.set_viewport_size({"width": width, "height": height})
            found += [(table.name, width, each) for each in page.evaluate(BROKEN, WORD_CHARACTERS_MAX)]
            if (over := page.evaluate(OVERFLOW)) > 0:
                found.append((table.name, width, "wider than the screen", over))

    assert found == [], "\n".join(map(str, found))

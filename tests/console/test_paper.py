"""The console on paper: Chromium prints each kind of page, and `pdftotext` reads the sheets."""

import datetime
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.clients.server import KEYS
from tests.conftest import ADA, BOB, MOE
from tests.console.conftest import DESK, PHONE, Service

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

HEADS = {"apikey": KEYS["ANON_KEY"], "Authorization": f"Bearer {KEYS['SERVICE_KEY']}"}
ROWS = 45  # more than a sheet holds
KEY = 9_000
SHEET_WITHOUT_ROWS_WORDS_MAX = 9  # the last sheet may hold only the line below the list
DESCRIPTION = "The self-closing device of the stairwell door on the third floor is disconnected; it stays open."
LISTS = ["inspections", "findings", "buildings", "schedules", "audit_log", "people", "access", "inspection_plans"]
SHORT_LISTS = [
    "inspectors",
    "clients",
    "reports_lead",
    "finding_events",
    "client_admin_building_access",
    "client_manager_building_access",
    "client_admin_inspection_access",
    "client_manager_inspection_access",
    "devices",
]
PAGES = [
    *LISTS,
    *SHORT_LISTS,
    "",
    "account",
    "account/api_keys",
    f"inspections/{KEY}",
    f"inspections/{KEY}/delete",
    f"inspections/1/access?person={MOE}",
    "inspections/new",
    "buildings/1",
    "findings/9000",
    f"schedules/{KEY}",
    "inspection_plans/2",
    "finding_events/1",
    "reports_lead/1",
    "clients/1",
    "inspectors/1",
    f"people/{MOE}",
    f"client_admin_building_access/{ADA},1",
    f"client_manager_building_access/{MOE},1",
    f"client_admin_inspection_access/{BOB},3",
    f"client_manager_inspection_access/{MOE},3",
    "audit_log/1",
    f"why?person={MOE}&kind=building&key=1",
]
TEXT = """() => {
  const walker = document.createTreeWalker(document.querySelector('main'), NodeFilter.SHOW_TEXT);
  const without = '.vh, .slim, .screen, button, .button, .actions, .api, .crumb, td.doing, .filters, .views, .pager,'
    + ' .offers, .links, svg, summary, form:not(:has(table, .findings), .card), option,'
    + ' section.card:has(> form), .hint';
  let text = '';
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (element.checkVisibility() && !element.closest(without)) text += ' ' + walker.currentNode.data;
  }
  return text;
}"""
ROWS_TEXT = """() => [...document.querySelectorAll('main tbody tr')].map(row => [...row.cells]
  .filter(each => each.checkVisibility() && !each.matches('.doing, .tick-box')).map(each => {
    const copy = each.cloneNode(true);
    copy.querySelectorAll('.vh, .slim, .button, button').forEach(part => part.remove());
    return copy.textContent;
  }).join(' '))"""
CONTROLS = """() => [...document.querySelectorAll('button, .button, input, select, textarea, form.quick, form.filters')]
  .filter(each => each.checkVisibility() && !each.closest('form.card, .vh')).map(each => each.outerHTML.slice(0, 80))"""


@pytest.fixture(scope="module")
def many_rows(service: Service) -> None:
    today = datetime.datetime.now(datetime.UTC).date()
    numbers = range(ROWS)
    rows = {
        "buildings": [{"id": KEY + each, "name": f"Elm Court {each}", "client_id": 1} for each in numbers],
        "inspections": [
            {"id": KEY + each, "building_id": 1, "inspection_type": "fire", "status": "scheduled",
             "date_visited": str(today + datetime.timedelta(each - 9)), "inspector_id": 1}
            for each in numbers
        ],
        "schedules": [
            {"id": KEY + each, "building_id": 1, "inspection_type": "fire", "title": f"Yearly round {each}", "every": 1,
             "unit": "year", "first_due": str(today)}
            for each in numbers
        ],
        "findings": [
            {"id": KEY + each, "inspection_id": KEY, "place": f"Hall {each}", "item": "Extinguisher",
             "description": f"{each}. {DESCRIPTION}", "severity": "moderate"}
            for each in numbers
        ],
    }  # fmt: skip
    for table, body in rows.items():
        answer = httpx.post(f"{service.url}/{table}", headers=HEADS, json=body)
        assert answer.status_code == 201, answer.text


def print_page(page: Any, size: str, directory: Path) -> list[str]:
    """Return the text of each sheet."""
    if shutil.which("pdftotext") is None:
        pytest.skip("pdftotext is not installed")
    file = directory / "page.pdf"
    page.pdf(path=file, format=size)
    text = subprocess.run(["pdftotext", "-layout", file, "-"], capture_output=True, text=True, check=True).stdout
    return text.removesuffix("\f").split("\f")


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


PRINTS = [*((path, "A4") for path in PAGES), *((path, "Letter") for path in LISTS)]


@pytest.mark.parametrize(("path", "size"), PRINTS)
def test_page_prints_every_word_and_row_below_its_heading_and_no_control(
    open_page: Callable, many_rows: None, tmp_path: Path, path: str, size: str
) -> None:
    page = open_page("root", size=DESK)
    page.goto(f"/console/{path}")
    shown = words(page.evaluate(TEXT))
    rows = [words(each) for each in page.evaluate(ROWS_TEXT)]
    heading = page.locator("main thead th:not(.tick-box)").first.inner_text().split()[0] if path in LISTS else ""
    first_row = page.locator("main tbody tr").first.locator(":scope > :not(.tick-box)")

    sheets = print_page(page, size, tmp_path)

    printed = words(" ".join(sheets))
    assert shown
    assert shown - printed == Counter()
    assert [each for each in rows if each - printed] == []
    if path in LISTS:
        assert len(rows) >= (ROWS if path in LISTS[:4] else 1)
        assert first_row.first.inner_text().split()[0] in sheets[0]
        with_rows = [each for each in sheets if len(each.split()) > SHEET_WITHOUT_ROWS_WORDS_MAX]
        assert [each for each in with_rows if heading not in each] == []
    elif path in SHORT_LISTS:
        assert rows or path == "devices"
    page.emulate_media(media="print")
    assert page.evaluate(CONTROLS) == []


def test_list_prints_texts_that_the_screen_cuts(open_page: Callable, many_rows: None, tmp_path: Path) -> None:
    page = open_page("root", size=PHONE)
    page.goto("/console/findings")
    cut = page.locator(".long").first.evaluate("each => each.scrollHeight > each.clientHeight")

    sheets = print_page(page, "A4", tmp_path)

    printed = words(" ".join(sheets))
    assert cut
    assert (printed["disconnected"], printed["stays"]) == (ROWS, ROWS)

"""Letters on paper: Chromium prints them to Letter and A4, and `pdftotext` says where their words are."""

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.console.conftest import DESK, Service
from tests.console.test_paper import HEADS, print_page
from tests.support.photographs import photograph

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

KEY = 9_700
FINDINGS, WITH_PHOTOGRAPHS = 40, 6
LONG_WORD = "Ω" * 150
"""A word that no column holds on one line."""
ADDRESS = ("Addressee", "c/o Harbor Management", "Floor 3", "1 Harbor Road", "Portland ME 04101", "USA-Ende")
MILLIMETERS = 25.4 / 72
LEFT, TOP, WIDTH, HEIGHT = 20, 50, 80, 30
"""The window of the envelope, in millimeters from the corner of the sheet."""
WORD = re.compile(r'<word xMin="([\d.]+)" yMin="([\d.]+)" xMax="([\d.]+)" yMax="([\d.]+)">([^<]*)</word>')


@pytest.fixture(scope="module")
def letter(service: Service) -> str:
    """Return the path of a letter with many findings and photographs."""
    rows = {
        "buildings": [{"id": KEY, "name": "Harbor House", "client_id": 1, "address": "12 Pier Street",
                       "city": "Portland", "state": "ME", "zip": "04101"}],
        "inspections": [{"id": KEY, "building_id": KEY, "inspection_type": "annual", "status": "failed",
                         "date_visited": "2026-11-20"}],
        "findings": [
            {"id": KEY + each, "inspection_id": KEY, "place": f"row-{each:03}", "item": "Extinguisher",
             "description": f"The stairwell door does not close. {LONG_WORD if each == 7 else ''}",
             "severity": "severe" if each % 2 else "low", "code": "NSPIRE Door"}
            for each in range(FINDINGS)
        ],
    }  # fmt: skip
    for table, body in rows.items():
        answer = httpx.post(f"{service.url}/{table}", headers=HEADS, json=body)
        assert answer.status_code == 201, answer.text
    for each in range(WITH_PHOTOGRAPHS):
        url = f"{service.url}/storage/v1/object/findings/{KEY + each}/door-{each}.jpg"
        image = photograph(f"{each}", (1_200, 900))
        assert httpx.post(url, headers=HEADS, content=image).status_code == 200
    arguments = {
        "p_finding_ids": list(range(KEY, KEY + FINDINGS)), "p_answer_by": "2999-12-31", "p_to_name": ADDRESS[0],
        "p_to_address": "\n".join(ADDRESS[1:]),
    }  # fmt: skip
    answer = httpx.post(f"{service.url}/rpc/issue_notice", headers=HEADS, json=arguments)
    assert answer.status_code == 200, answer.text
    return f"/console/notices/{answer.json()['id']}/letter"


def words_of_first_sheet(file: Path) -> list[tuple[float, float, float, float, str]]:
    """Return the words of the first sheet with their edges in millimeters: left, top, right, bottom."""
    run = ["pdftotext", "-bbox", "-l", "1", file, "-"]
    text = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    return [(*(float(each) * MILLIMETERS for each in found[:4]), found[4]) for found in WORD.findall(text)]


@pytest.mark.parametrize("size", ["A4", "Letter"])
def test_letter_prints_every_finding_with_its_address_in_the_window(
    open_page: Callable, letter: str, tmp_path: Path, size: str
) -> None:
    page = open_page("root", size=DESK)
    page.goto(letter)
    sheets = print_page(page, size, tmp_path)
    text = "\n".join(sheets)

    places = [int(each) for each in re.findall(r"^ *\d+ +row-(\d{3})", text, re.MULTILINE)]
    assert places == [*range(1, FINDINGS, 2), *range(0, FINDINGS, 2)], "the gravest first"
    assert text.count("Ω") == len(LONG_WORD)
    assert text.count("SHA-256") == WITH_PHOTOGRAPHS
    assert all("Correct by" in sheet for sheet in sheets if re.search(r"^ *\d+ +row-", sheet, re.MULTILINE))
    assert "Print this page" not in text
    assert [int(each) for each in re.findall(r"(\d+) */ *\d+\s*$", text, re.MULTILINE)] == [*range(1, len(sheets) + 1)]

    found = words_of_first_sheet(tmp_path / "page.pdf")
    in_window = [
        word for left, top, right, bottom, word in found
        if left >= LEFT and right <= LEFT + WIDTH and top >= TOP and bottom <= TOP + HEIGHT
    ]  # fmt: skip
    touching = [
        word for left, top, right, bottom, word in found
        if left < LEFT + WIDTH and right > LEFT and top < TOP + HEIGHT and bottom > TOP
    ]  # fmt: skip
    assert in_window == touching == " ".join(ADDRESS).split()


def test_letter_makes_no_request_but_its_own(open_page: Callable, letter: str) -> None:
    page = open_page("root", size=DESK)
    page.goto("about:blank")
    requested, refused = [], []
    page.on("request", lambda request: requested.append(request.url) if request.url.startswith("http") else None)
    page.on("console", lambda message: refused.append(message.text))

    page.goto(letter)

    assert (len(requested), refused) == (1, [])
    assert page.evaluate("[...document.images].every(each => each.naturalWidth > 0)")
    assert page.evaluate("document.images.length") == WITH_PHOTOGRAPHS
    assert page.evaluate("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"


@pytest.mark.parametrize("width", [390, 1280])
def test_letter_fits_the_screen(open_page: Callable, letter: str, width: int) -> None:
    page = open_page("root", size={"width": width, "height": 800})
    page.goto(letter)

    assert page.evaluate("document.documentElement.scrollWidth") <= width

"""Reports on paper: Chromium prints them to Letter and A4, and `pdftotext` counts their rows."""

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from tests.console.conftest import DESK, Service
from tests.console.test_paper import HEADS, print_page

pytestmark = [pytest.mark.slow, pytest.mark.sqlite("a browser shows the same pages over both engines")]

KEY = 9_500
READINGS, FINDINGS = 400, 120
POSITIVE = range(0, READINGS, 8)
LONG_WORD = "Ω" * 150
"""A word that no column holds on one line."""


@pytest.fixture(scope="module")
def rows(service: Service) -> None:
    rows = {
        "inspections": [{"id": KEY, "building_id": 1, "inspection_type": "lead", "status": "completed"}],
        "reports_lead": [
            {"id": KEY + each, "inspection_id": KEY, "gun_id": 20417, "reading_no": each, "dwelling": "Flat 3",
             "taken_at": f"2026-11-20T{10 + each // 60}:{each % 60:02}:00Z", "wall": "A", "component": "Window sill",
             "room": f"row-{each:03}", "substrate": "plaster", "color": "white", "condition": "deteriorated",
             "lead_mg_cm2": 2.5 if each in POSITIVE else 0.25, "note": None}
            for each in range(READINGS)
        ],
        "calibration_checks": [
            {"inspection_id": KEY, "gun_id": 20417, "taken_at": "2026-11-20T09:59:00Z", "first": 1, "second": 1,
             "third": 1}
        ],
        "findings": [
            {"id": KEY + each, "inspection_id": KEY, "place": f"row-{each:03}", "item": "Extinguisher",
             "description": f"The stairwell door does not close. {LONG_WORD if each == 7 else ''}",
             "severity": "severe" if each % 2 else "low"}
            for each in range(FINDINGS)
        ],
    }  # fmt: skip
    for table, body in rows.items():
        answer = httpx.post(f"{service.url}/{table}", headers=HEADS, json=body)
        assert answer.status_code == 201, answer.text
    answer = httpx.patch(f"{service.url}/reports_lead?id=eq.{KEY + 5}", headers=HEADS, json={"component": LONG_WORD})
    assert answer.status_code == 204, answer.text


def printed(open_page: Callable, directory: Path, kind: str, size: str) -> list[str]:
    """Return the text of each sheet of a report."""
    page = open_page("root", size=DESK)
    page.goto(f"/console/inspections/{KEY}/report?kind={kind}")
    return print_page(page, size, directory)


@pytest.mark.parametrize("size", ["A4", "Letter"])
def test_lead_report_prints_every_reading(open_page: Callable, rows: None, tmp_path: Path, size: str) -> None:
    sheets = printed(open_page, tmp_path, "lead", size)
    text = "\n".join(sheets)

    expected = [each for part in (POSITIVE, range(READINGS)) for each in part]
    assert [int(each) for each in re.findall(r"row-(\d{3})", text)] == expected
    assert text.count("deteriorated") == len(expected)
    assert text.count("plaster") == len(expected) + 1  # and in the limits of the instrument
    assert text.count("Ω") == len(LONG_WORD)
    assert all("Substrate" in sheet for sheet in sheets if "row-" in sheet)
    assert "Incomplete" in sheets[0]
    assert "Signature" in text
    assert [sheet.count("Draft") for sheet in sheets] == [1] * len(sheets)
    assert "Print this page" not in text
    assert [int(each) for each in re.findall(r"(\d+) / \d+\s*$", text, re.MULTILINE)] == [*range(1, len(sheets) + 1)]


@pytest.mark.parametrize("size", ["A4", "Letter"])
def test_findings_report_prints_every_finding(open_page: Callable, rows: None, tmp_path: Path, size: str) -> None:
    sheets = printed(open_page, tmp_path, "findings", size)
    text = "\n".join(sheets)

    assert [sheet.count("Draft") for sheet in sheets] == [1] * len(sheets)
    expected = [*range(1, FINDINGS, 2), *range(0, FINDINGS, 2)]
    assert [int(each) for each in re.findall(r"row-(\d{3})", text)] == expected
    assert text.count("Ω") == len(LONG_WORD)
    assert text.index("Severe (60)") < text.index("Low (60)")


def test_report_makes_no_request_but_its_own(open_page: Callable, rows: None) -> None:
    page = open_page("root", size=DESK)
    page.goto("about:blank")
    requested, refused = [], []
    page.on("request", lambda request: requested.append(request.url.partition("?")[0].rpartition("/")[2]))
    page.on("console", lambda message: refused.append(message.text))

    page.goto(f"/console/inspections/{KEY}/report?kind=lead")

    assert (requested, refused) == (["report"], [])
    assert page.evaluate("getComputedStyle(document.querySelector('table')).borderCollapse") == "collapse"


@pytest.mark.parametrize("width", [390, 1280])
def test_report_fits_the_screen(open_page: Callable, rows: None, width: int) -> None:
    page = open_page("root", size={"width": width, "height": 800})
    page.goto(f"/console/inspections/{KEY}/report?kind=lead")

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_issued_report_prints_without_a_draft_and_with_its_signature(
    open_page: Callable, service: Service, rows: None, tmp_path: Path
) -> None:
    said = {"p_inspection_id": KEY, "p_kind": "findings", "p_signed_name": "Ines Park"}
    made = httpx.post(f"{service.url}/rpc/issue_report", headers=HEADS, json=said)
    assert made.status_code == 200, made.text
    address = f"{service.url}/reports/issued/{made.json()['id']}"
    frozen = httpx.get(address, headers={**HEADS, "Accept": "text/html"})
    (tmp_path / "report.html").write_bytes(frozen.content)
    page = open_page("root", size=DESK)

    page.goto((tmp_path / "report.html").as_uri())
    text = "\n".join(print_page(page, "Letter", tmp_path))

    assert "Draft" not in text
    assert f"Report {made.json()['number']}, issued" in text
    assert re.search(r"Ines Park\s+20\d\d-\d\d-\d\d\s+Signed by Ines Park\s+Date", text)

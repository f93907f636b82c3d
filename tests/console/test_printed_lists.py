"""What paper adds to a list: the company, the date, the filter in words, and the days of deadlines."""

import re
from collections.abc import Callable

import pytest

from tests.support.set_clock import SetClock

pytestmark = pytest.mark.one_engine

MOMENT = "2026-03-10T12:00:00+00:00"
FINDING = {"inspection_id": 1, "description": "A crack.", "severity": "low", "found_at": "2026-03-09T12:00:00+00:00"}
FINDING |= {"due_at": "2026-03-14T12:00:00+00:00"}


@pytest.fixture(autouse=True)
def finding(app: object, api: Callable) -> None:
    """Add a finding that is due in four days, on 10 March 2026."""
    database = app.extensions["walkthrough"]
    database.clock = app.extensions["walkthrough.clock"] = SetClock(MOMENT)
    assert api("service").post("/findings", FINDING).status == 201


def on_paper(page: str) -> list[str]:
    return [" ".join(each.split()) for each in re.findall(r'<p class="paper">(.*?)</p>', page, re.DOTALL)]


@pytest.mark.parametrize(
    ("who", "company"), [("ada", "Acme Housing"), ("moe", "Acme Housing"), ("root", "All clients")]
)
def test_printed_list_begins_with_company_and_date(browse: Callable, who: str, company: str) -> None:
    for path in ("/console/findings", "/console/inspections"):
        assert on_paper(browse(who).page(path)) == [f"{company} · Printed 10 Mar 2026, 12:00 UTC", "Filter: none"]


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("status=eq.open&severity=eq.low&q=crack", "Contains “crack”; Status: Open; Severity: Low"),
        ("due_at=late", "Due: Late"),
        ("due_at=gte.2026-01-01&due_at=lt.2026-02-01", "Due from 1 Jan 2026; Due until 31 Jan 2026"),
        ("inspections.building_id=eq.1", "inspections.building_id=eq.1"),
        ("or=(id.eq.1,id.eq.2)", "or=(id.eq.1,id.eq.2)"),
    ],
)
def test_printed_list_has_its_filter_in_words(browse: Callable, query: str, words: str) -> None:
    assert on_paper(browse("ada").page(f"/console/findings?{query}"))[1] == f"Filter: {words}"


def test_deadline_on_paper_has_its_day(browse: Callable) -> None:
    page = browse("ada").page("/console/findings?description=eq.A crack.")

    assert re.search(r'in 4 days\s*<span class="paper">, 14 Mar 2026</span>', page)

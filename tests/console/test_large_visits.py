"""The page of a visit with more rows than a report holds: it opens, and says how many rows it shows."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.applications import import_world
from tests.support.reports import CHECK, READING

pytestmark = pytest.mark.slow

LARGE, LARGE_TOO, FINDINGS = 10_050, 10_001, 201
VISIT, CHECKED, FOUND = 5_001, 5_002, 5_003
"""Inspections of Harbor House with too many readings, too many checks, and more findings than a page shows."""

TIMES = {"created_at": "2026-11-01T09:00:00+00:00", "updated_at": "2026-11-01T09:00:00+00:00"}


@pytest.fixture
def large_visits(app: object, tmp_path: Path) -> None:
    visits = ((VISIT, "lead"), (CHECKED, "lead"), (FOUND, "annual"))
    rows = {
        "inspections": [
            {"id": key, "building_id": 1, "inspection_type": kind, "date_visited": "2026-11-19",
             "status": "in_progress", **TIMES}
            for key, kind in visits
        ],
        "reports_lead": [
            {**READING, "id": 100_000 + each, "inspection_id": VISIT, "gun_id": each % 50, "reading_no": each}
            for each in range(LARGE)
        ],
        "calibration_checks": [
            {**CHECK, "id": 100_000 + each, "inspection_id": CHECKED, "taken_at": "2026-11-19T14:00:00+00:00"}
            for each in range(LARGE_TOO)
        ],
        "findings": [
            {"id": 100_000 + each, "inspection_id": FOUND, "case_id": FOUND, "description": f"Rail {each}",
             "severity": "low", "status": "open", "found_at": "2026-11-19T14:00:00+00:00",
             "due_at": "2026-12-19T14:00:00+00:00", **TIMES}
            for each in range(FINDINGS)
        ],
    }  # fmt: skip
    import_world(app, tmp_path / "large.db", rows)


@pytest.mark.slow
def test_visits_with_more_rows_than_a_report_open(large_visits: None, browse: Callable, api: Callable) -> None:
    ada = browse("ada")

    for key, table in ((VISIT, "reports_lead"), (CHECKED, "calibration_checks")):
        page, limit = ada.page(f"/console/inspections/{key}"), f"A report has at most 10,000 rows of {table}."
        part = re.search(rf'<section class="card span2" id="{table}">.*?</section>', page, re.DOTALL)[0]
        shown, words = (20, "the last 20") if table == "reports_lead" else (15, "the first 15")
        assert part.count('<a class="row"') == shown
        assert f"Only {words} are shown." in part
        assert f'href="/console/{table}?inspection_id=eq.{key}"' in part
        assert limit in page
        assert api("ada").rpc("lead_summary", {"p_inspection_id": key}).refusal == (400, "54000", limit)
        assert api("ada").get(f"/reports/inspections/{key}").refusal == (400, "54000", limit)
    page = ada.page(f"/console/inspections/{FOUND}")
    assert len(re.findall(r'<li id="findings-\d+">', page)) == 200
    assert "Only the first 200 are shown" in page
    assert f'href="/console/findings?inspection_id=eq.{FOUND}"' in page


def test_short_lists_do_not_say_so(browse: Callable) -> None:
    assert "are shown" not in browse("ada").page("/console/inspections/2")

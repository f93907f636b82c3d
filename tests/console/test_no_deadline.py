"""Findings without a deadline: each page that shows findings names them, says so, and shows them after the others."""

import csv
import io
import re
from collections.abc import Callable

import pytest

from tests.console.inspection_rows import DUE_THIS_WEEK, LATE, LATE_VISIT, add_findings, add_visits, set_clock

UNDATED = 41
DEADLINE = "no deadline"
DESCRIPTION = f"Finding {UNDATED}"
FINDING, VISIT = f"/console/findings/{UNDATED}", f"/console/inspections/{LATE_VISIT}"
LISTS = (
    "/console/", "/console/findings", "/console/findings?status=eq.open", "/console/findings?order=due_at.asc",
    "/console/findings?q=Finding", "/console/kiosk", "/console/kiosk/board", VISIT,
    f"/console/findings/photographs?ids={UNDATED}&ids={LATE}&ids={DUE_THIS_WEEK}",
)  # fmt: skip
"""Pages with all open findings."""

PAGES = (
    FINDING, "/console/buildings/1", f"{FINDING}/edit",
    *(f"/console/findings/move/{kind}?ids={UNDATED}" for kind in ("fixed", "waived", "extended", "regraded", "remark")),
)  # fmt: skip
"""Other pages that read findings."""


@pytest.fixture(autouse=True)
def findings(app: object, api: Callable) -> None:
    """Three findings with a deadline, and one that no rule of a deadline applies to."""
    set_clock(app)
    add_visits(api)
    root = api("service")
    assert root.patch("/deadline_rules?severity=eq.severe", {"valid_from": "2026-03-11"}).status == 204
    add_findings(api)
    row = {"id": UNDATED, "inspection_id": LATE_VISIT, "place": "3D", "item": "Door", "severity": "severe"}
    made = root.post("/findings", {**row, "description": DESCRIPTION}, prefer="return=representation")
    assert (made.status, made.json[0]["due_at"]) == (201, None), made.text


def text_of(page: str) -> str:
    """Return the visible text of a page, without the options and the addresses that it offers."""
    hidden = r"<(script|style|template|option|details|code)\b.*?</\1>"
    return " ".join(re.sub(r"<[^>]*>", " ", re.sub(hidden, "", page, flags=re.DOTALL)).split())


@pytest.mark.parametrize("path", LISTS)
def test_lists_show_it_after_the_others(browse: Callable, path: str) -> None:
    text = text_of(browse("ada").page(path))

    places = [text.lower().index(each) for each in ("late by 3 days", "in 4 days", DEADLINE)]
    assert places == sorted(places)
    assert re.search(r"\bNone\b", text) is None


def test_report_shows_it_after_the_others(browse: Callable) -> None:
    text = text_of(browse("ada").page(f"{VISIT}/report?kind=findings"))

    places = [text.index(f"Finding {each}") for each in (LATE, DUE_THIS_WEEK, UNDATED)]
    assert places == sorted(places)
    assert f"{DESCRIPTION} 2026-03-10 12:00 – – Open" in text


@pytest.mark.parametrize("path", PAGES)
def test_other_pages_answer(browse: Callable, path: str) -> None:
    text = text_of(browse("ada").page(path))

    assert re.search(r"\bNone\b", text) is None


def test_page_of_the_finding_says_that_there_is_none(browse: Callable) -> None:
    assert DEADLINE in text_of(browse("ada").page(FINDING)).lower()


@pytest.mark.parametrize(("view", "is_listed"), [("late", False), ("today", False), ("week", False), ("", True)])
def test_quick_views_by_deadline_leave_it_out(browse: Callable, view: str, is_listed: bool) -> None:
    page = browse("ada").page(f"/console/findings?status=eq.open&due_at={view}")

    assert (DESCRIPTION in page) is is_listed


def test_filter_for_findings_without_a_deadline(browse: Callable) -> None:
    page = text_of(browse("ada").page("/console/findings?due_at=is.null"))

    assert (DESCRIPTION in page, f"Finding {LATE}" in page) == (True, False)


def test_files_have_an_empty_cell(browse: Callable, api: Callable) -> None:
    """The first row is the earliest deadline, and the last one has none."""
    for text in (
        browse("ada").page("/console/findings.csv?order=due_at.asc"),
        api("service").get("/findings?select=description,due_at&order=due_at", accept="text/csv").text,
    ):
        rows = list(csv.DictReader(io.StringIO(text)))
        assert (rows[-1]["description"], rows[-1]["due_at"]) == (DESCRIPTION, "")
        assert all(each["due_at"] for each in rows[:-1])


def test_functions_count_it_as_open_and_never_as_late(api: Callable) -> None:
    dashboard = api("service").rpc("get_inspections_dashboard_summary_fast").json
    assert (dashboard["open_findings"], dashboard["findings_overdue"]) == (5, 1)
    assert api("service").rpc("get_due_summary").status == 200


def test_it_is_fixed_and_has_no_days_late(browse: Callable, api: Callable) -> None:
    sent = browse("ada").fill_in(f"/console/findings/move/fixed?ids={UNDATED}", {})
    assert sent.status_code == 303, sent.text

    [row] = api("service").get(f"/findings?id=eq.{UNDATED}").json
    assert (row["status"], row["due_at"], row["days_late"]) == ("fixed", None, None)
    assert DEADLINE in text_of(browse("ada").page(FINDING)).lower()

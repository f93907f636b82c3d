"""Lists of inspections: the open ones, the soonest first, and then the others, the newest first; the end of a list."""

import html
import re
from collections.abc import Callable

import pytest

LIST = "/console/inspections"
OPEN = {1_001: "2026-05-02", 1_002: "2026-03-01", 1_003: None, 1_004: "2026-04-01"}
PAST = {1_005: "2024-01-01", 1_006: "2026-01-01", 1_007: "2025-01-01"}
IN_ORDER = [1_002, 1_004, 1_001, 1_003, 1_006, 1_007, 1_005]
LOT = "building_id=eq.6"
NUMBER = re.compile(rf'class="row" href="{LIST}/(\d+)"')


@pytest.fixture(autouse=True)
def rows(api: Callable) -> None:
    plain = {"building_id": 6, "inspection_type": "fire", "inspector_id": 3}
    visits = [{**plain, "id": key, "date_visited": day, "status": "scheduled"} for key, day in OPEN.items()]
    results = [
        {**plain, "id": key, "date_visited": day, "status": status}
        for (key, day), status in zip(PAST.items(), ("completed", None, "failed"), strict=True)
    ]
    assert api("service").post("/inspections", visits + results).status == 201


def numbers(page: str) -> list[int]:
    return [int(each) for each in NUMBER.findall(page)]


@pytest.mark.parametrize("who", ["root", "ada"])
def test_open_inspections_come_first(browse: Callable, who: str) -> None:
    user = browse(who)
    assert numbers(user.page(f"{LIST}?{LOT}")) == IN_ORDER
    assert [each for each in numbers(user.page(LIST)) if each in IN_ORDER] == IN_ORDER
    assert numbers(user.page(f"{LIST}?{LOT}&order=date_visited.desc"))[1:3] == [1_001, 1_004]


def test_page_of_a_building_lists_them_in_this_order(browse: Callable) -> None:
    assert numbers(browse("ada").page("/console/buildings/6")) == IN_ORDER


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        ("in.(scheduled,in_progress)", IN_ORDER[:4]),
        ("eq.scheduled", IN_ORDER[:4]),
        ("eq.failed", [1_007]),
        ("is.null", [1_006]),
        ("in.(failed,scheduled)", [*IN_ORDER[:4], 1_007]),
        ("eq.in_progress", []),
    ],
)
def test_status_selects_among_them(browse: Callable, status: str, expected: list[int]) -> None:
    page = browse("ada").page(f"{LIST}?{LOT}&status={status}")
    assert numbers(page) == expected
    assert (f" of {len(expected)}" in page) is bool(expected)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_pages_repeat_and_skip_no_row(browse: Callable, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr("routes.console.components.lists.PAGE_ROWS", size)
    ada = browse("ada")
    found: list[int] = []
    for offset in range(0, len(IN_ORDER), size):
        found += numbers(ada.page(f"{LIST}?{LOT}&offset={offset}"))
        searched = numbers(ada.page(f"{LIST}?{LOT}&q=fire&offset={offset}"))
        assert searched == found[offset:]
    assert found == IN_ORDER


def test_file_has_the_order_of_the_list(browse: Callable) -> None:
    lines = browse("ada").get(f"{LIST}.csv?{LOT}").text.splitlines()[1:]
    assert [int(each.partition(",")[0]) for each in lines] == IN_ORDER


@pytest.mark.parametrize("filters", [LOT, f"{LOT}&q=fire"])
def test_page_after_the_end_leads_to_the_last_one(
    browse: Callable, monkeypatch: pytest.MonkeyPatch, filters: str
) -> None:
    monkeypatch.setattr("routes.console.components.lists.PAGE_ROWS", 3)
    ada = browse("ada")

    page = ada.page(f"{LIST}?{filters}&offset=900")

    assert "The list ends before this page: it has 7 inspections." in page
    link = re.search(r'<a href="([^"]+)">Last page</a>', page)
    assert link
    assert numbers(ada.page(html.unescape(link[1]))) == IN_ORDER[6:]


def test_filter_by_day_names_its_column(browse: Callable) -> None:
    ada = browse("ada")
    assert '<label>Date from <input type="date" name="from"' in ada.page(LIST)
    assert "<label>Time from <input" in ada.page("/console/audit_log")
    assert "<label>First due from <input" in ada.page("/console/schedules")

"""Rows above the response limit: pages open, show fewer rows, and say so."""

import re
from collections.abc import Callable

import pytest

from engine import execute
from engine.interface.database import ResponseTooLarge
from engine.rows import QueryResult
from routes.console.components import queries
from tests.conftest import MOE

ANSWER_BYTES_MAX = 20_000
BUILDINGS = 90
PAGES = [
    "/console/",
    "/console/inspections",
    "/console/inspections/1",
    "/console/inspections/new",
    "/console/inspections/1/edit",
    "/console/buildings",
    "/console/buildings/1",
    "/console/people",
    "/console/people/new",
    f"/console/people/{MOE}",
    "/console/access",
    "/console/devices",
    "/console/why",
    "/console/kiosk",
]


@pytest.fixture
def crowd(api: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ninety buildings, an inspection in each, and ninety people; of each kind an answer holds fewer
    than fifty."""
    root, numbers, long = api("root"), range(1_000, 1_000 + BUILDINGS), "n" * 500
    rows = {
        "buildings": [{"id": each, "name": f"{each} {long}", "client_id": 1} for each in numbers],
        "inspections": [{"id": each, "building_id": each, "inspection_type": long} for each in numbers],
        "users": [
            {"name": f"{each} {long}", "email": f"p{each}@x.example", "role": "client_manager", "client_id": 1}
            for each in numbers
        ],
        "client_manager_building_access": [{"manager_id": MOE, "building_id": each} for each in numbers],
    }  # fmt: skip
    for table, body in rows.items():
        assert root.post(f"/{table}", body).status == 201
    monkeypatch.setattr(execute, "VALUE_BYTES_MAX", ANSWER_BYTES_MAX)


@pytest.mark.parametrize("path", PAGES)
def test_pages_open_with_large_rows(crowd: None, browse: Callable, path: str) -> None:
    ada = browse("ada")

    ada.page(path)


def test_large_rows_use_smaller_pages_without_gaps(crowd: None, browse: Callable) -> None:
    ada, path, shown, pages = browse("ada"), "/console/buildings?id=gte.1000", [], []
    while path:
        page = ada.page(path)
        shown += re.findall(r'class="row" href="/console/buildings/(\d+)"', page)
        pages.append(path)
        following = re.search(r'rel="next" href="([^"]+)"', page)
        path = following[1].replace("&amp;", "&") if following else ""

    assert shown == [str(each) for each in range(1_000, 1_000 + BUILDINGS)]
    assert len(pages) == 13, "the last rows fit into one page"
    third = ada.page(pages[2])
    assert "11–15 of 90" in third
    assert f'rel="prev" href="{pages[1].replace("&", "&amp;")}"' in third


def test_search_matches_large_rows(crowd: None, browse: Callable) -> None:
    assert "1–5" in browse("ada").page("/console/inspections?q=nnn")


def test_cut_lists_say_so(crowd: None, browse: Callable) -> None:
    ada = browse("ada")

    assert 'id="f-building_id" name="building_id" autocomplete="off" required' in ada.page("/console/inspections/new")
    assert "Type a part of the name or the address to choose, or the number." in ada.page("/console/inspections/new")
    assert "Only the first 20 buildings are shown." in ada.page("/console/people/new")
    assert ">All building access of client managers</a>" in ada.page(f"/console/people/{MOE}")


def test_single_row_above_the_limit_raises() -> None:
    limits = []

    def fetch(limit: int) -> QueryResult:
        limits.append(limit)
        raise ResponseTooLarge

    with pytest.raises(ResponseTooLarge):
        queries.fetch_page(fetch, 50)
    assert limits == [51, 6, 2]

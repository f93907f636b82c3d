"""Lists of a manager: one index search for each grant. Each row comes once, in order, whatever grants show it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import MIA, MOE

BY_BUILDING = (1, 2)
ONE_BY_ONE = (1, 4, 9, 13, 14, 17)  # of granted buildings and of others
DATES = ("2025-01-02", None, "2025-01-01", "2025-01-02", None)
STATUSES = ("completed", "scheduled", "completed")


def inspection(number: int) -> dict:
    return {
        "id": number,
        "building_id": 1 + number % 4,
        "inspection_type": "annual",
        "date_visited": DATES[number % 5],
        "status": STATUSES[number % 3],
        "notes": None if number % 2 else f"note {number % 4}",
    }


INSPECTIONS = [inspection(number) for number in range(1, 21)]
SEEN = [each for each in INSPECTIONS if each["building_id"] in BY_BUILDING or each["id"] in ONE_BY_ONE]
ROWS = {
    "clients": [{"id": 1, "name": "C"}],
    "users": [
        {"id": who, "email": f"{who}@x", "name": "M", "role": "client_manager", "client_id": 1} for who in (MOE, MIA)
    ],
    "buildings": [{"id": number, "name": f"B{number}", "client_id": 1} for number in (1, 2, 3, 4)],
    "inspections": INSPECTIONS,
    "client_manager_building_access": [{"manager_id": MOE, "building_id": number} for number in BY_BUILDING]
    + [{"manager_id": MIA, "building_id": 4}],
    "client_manager_inspection_access": [{"manager_id": MOE, "inspection_id": number} for number in ONE_BY_ONE]
    + [{"manager_id": MIA, "inspection_id": 20}],
}


@pytest.fixture
def moe(shared_world: Callable) -> object:
    return shared_world(ROWS)("moe")


def in_order(rows: list[dict], column: str, descending: bool, nulls_first: bool) -> list[int]:
    """Return ids ordered by a column, then by id in the same direction."""
    known = sorted(
        (each for each in rows if each[column] is not None),
        key=lambda each: (each[column], each["id"]),
        reverse=descending,
    )
    absent = sorted((each for each in rows if each[column] is None), key=lambda each: each["id"], reverse=descending)
    return [each["id"] for each in (absent + known if nulls_first else known + absent)]


def whole_and_paged(person: object, path: str, count: int, page: int) -> list[list[int]]:
    """Return the ids of a list read at once, and read page by page."""
    whole = person.get(path).json
    pages = [person.get(f"{path}&limit={page}&offset={place}").json for place in range(0, count, page)]
    return [[row["id"] for row in rows] for rows in (whole, [row for each in pages for row in each])]


@pytest.mark.parametrize("column", ["date_visited", "notes", "status"])
@pytest.mark.parametrize(
    ("direction", "descending", "nulls_first"),
    [("asc", False, False), ("desc", True, True), ("asc.nullsfirst", False, True), ("desc.nullslast", True, False)],
)
@pytest.mark.parametrize("status", [None, "completed"])
def test_list_returns_each_row_once_in_order(
    moe: object, column: str, direction: str, descending: bool, nulls_first: bool, status: str | None
) -> None:
    rows = [each for each in SEEN if status in (None, each["status"])]
    expected = in_order(rows, column, descending, nulls_first)
    where = f"&status=eq.{status}" if status else ""

    path = f"/inspections?select=id&order={column}.{direction}{where}"

    assert whole_and_paged(moe, path, len(rows), 3) == [expected, expected]


def test_order_by_an_embed_puts_hidden_rows_last(moe: object) -> None:
    """A hidden building has no name, so its rows are last."""
    names = {number: f"B{number}" for number in BY_BUILDING}
    rows = [{**each, "name": names.get(each["building_id"])} for each in SEEN]

    found = moe.get("/inspections?select=id,buildings(name)&order=buildings(name)").json

    assert [row["id"] for row in found] == in_order(rows, "name", False, False)


@pytest.mark.parametrize(
    "query",
    [
        "notes=like.*2",
        "or=(status.eq.scheduled,id.lt.9)",
        "date_visited=eq.2025-01-02",
        "status=eq.completed&date_visited=eq.2025-01-02",
        "status=not.eq.completed",
        "building_id=eq.3",
        "id=in.(1,4,5,9,13)",
        "select=id,status,buildings!inner(name)",
    ],
)
def test_filters_apply_to_every_disjunct(moe: object, query: str) -> None:
    """The order changes the access path, but not the rows."""
    anyhow = {row["id"] for row in moe.get(f"/inspections?{query}").json}
    ordered = [row["id"] for row in moe.get(f"/inspections?{query}&order=date_visited").json]

    page = moe.get(f"/inspections?{query}&order=date_visited&limit=1", prefer="count=exact")
    head = moe.head(f"/inspections?{query}", prefer="count=exact")

    assert anyhow
    assert sorted(ordered) == sorted(anyhow)
    assert {each.headers["Content-Range"].split("/")[1] for each in (page, head)} == {str(len(anyhow))}


def test_count_counts_each_row_once(moe: object) -> None:
    response = moe.get("/inspections?order=date_visited&limit=2", prefer="count=exact")

    assert response.headers["Content-Range"] == f"0-1/{len(SEEN)}"

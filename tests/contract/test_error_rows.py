"""Errors of a write name the row or line, and the column."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.conftest import dump

CSV = "text/csv"


# -- the row of an error ------------------------------------------------------------------------

INSPECTION = {"building_id": 1, "inspection_type": "fire", "date_visited": None}

# id, the changed values of the 434th row, code, and the start of the details
INVALID_ROWS = [
    ("date", {"date_visited": "01/02/2024"}, "22007", "row 434, column date_visited"),
    ("date-out-of-range", {"date_visited": "2024-02-31"}, "22008", "row 434, column date_visited"),
    ("number", {"building_id": "one"}, "22P02", "row 434, column building_id"),
    ("text", {"inspection_type": 7}, "22P02", "row 434, column inspection_type"),
    ("null", {"inspection_type": None}, "23502", "row 434, column inspection_type"),
    ("reference", {"building_id": 987}, "23503", "row 434, column building_id: Key (building_id)=(987) is not"),
]


def inspections(position: int, changes: dict, count: int = 600) -> list[dict]:
    rows = [dict(INSPECTION) for _ in range(count)]
    rows[position].update(changes)
    return rows


@pytest.mark.parametrize(
    ("changes", "code", "start"), [line[1:] for line in INVALID_ROWS], ids=[line[0] for line in INVALID_ROWS]
)
@pytest.mark.parametrize("prefer", [None, "resolution=merge-duplicates"])
def test_error_names_row_and_column(
    unchanging_api: Callable, prefer: str | None, changes: dict, code: str, start: str
) -> None:
    before = dump(unchanging_api)

    answer = unchanging_api("root").post("/inspections", inspections(433, changes), prefer=prefer)

    assert answer.code == code
    assert answer.json["details"].startswith(start)
    assert dump(unchanging_api) == before


def test_date_of_a_locale_has_a_hint(api: Callable) -> None:
    answer = api("root").post("/inspections", {**INSPECTION, "date_visited": "01/02/2024"})

    assert answer.code == "22007"
    assert answer.json["details"] is None
    assert all(form in answer.json["hint"] for form in ("2024-01-31", "20240131", "2024/01/31", "2024-1-31"))


@pytest.mark.parametrize("building_id", [4, 987])
def test_denied_row_is_named_alike_for_hidden_and_missing_buildings(unchanging_api: Callable, building_id: int) -> None:
    answer = unchanging_api("ada").post("/inspections", inspections(2, {"building_id": building_id}, 5))

    assert (answer.code, answer.json["details"]) == ("42501", "row 3")


def test_first_of_several_denied_rows_is_named(unchanging_api: Callable) -> None:
    rows = inspections(1, {"building_id": 4}, 5)
    rows[4]["building_id"] = 987

    assert unchanging_api("ada").post("/inspections", rows).json["details"] == "row 2"


@pytest.mark.parametrize(
    ("path", "row", "code", "details"),
    [
        ("/inspectors", {"id": 1, "name": "x"}, "23505", "row 2, column id: Key (id)=(1) already exists."),
        ("/inspectors", {"id": 0, "name": "x"}, "22003", "row 2, column id"),
        ("/inspectors", {"name": "x"}, "PGRST102", "row 2, column id: the row has no such key"),
    ],
)
def test_error_names_the_row_of_a_key(api: Callable, path: str, row: dict, code: str, details: str) -> None:
    answer = api("root").post(path, [{"id": 700, "name": "y"}, row])

    assert (answer.code, answer.json["details"]) == (code, details)


def test_repeated_row_of_an_upsert_is_named(api: Callable) -> None:
    rows = [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}, {"id": 1, "name": "c"}]

    answer = api("root").post("/inspectors", rows, prefer="resolution=merge-duplicates")

    assert (answer.code, answer.json["details"]) == ("21000", "row 3, column id")


def test_taken_email_names_no_row(api: Callable) -> None:
    [taken] = api("root").get("/users?select=email&limit=1").json
    row = {"name": "x", "role": "client_manager", "client_id": 1}

    answer = api("root").post("/users", [{**row, "email": "new@x.test"}, {**row, **taken}])

    assert (answer.code, answer.json["details"]) == ("23505", None)


def test_array_item_that_is_no_object_is_named(api: Callable) -> None:
    assert api("root").post("/inspectors", [{"name": "x"}, 7]).json["details"] == "row 2 is no object"


@pytest.mark.parametrize(
    ("who", "body", "code", "details"),
    [
        ("root", 'name,email,id\n"a\nb",x,701\n\nAnn,x,one\n', "22P02", "line 5, column id"),
        ("root", "email,name\nx,Ann\nx,\n", "23502", "line 3, column name"),
        ("root", "id,name\n1,Ann\n", "23505", "line 2, column id: Key (id)=(1) already exists."),
        ("ada", "id,name\n1,Ann\n", "42501", None),
    ],
)
def test_csv_error_names_the_line(api: Callable, who: str, body: str, code: str, details: str | None) -> None:
    answer = api(who).post("/inspectors", body, content_type=CSV)

    assert (answer.code, answer.json["details"]) == (code, details)


def test_denied_line_of_csv_is_named(api: Callable) -> None:
    body = "building_id,inspection_type\n1,fire\n\n4,fire\n"

    answer = api("ada").post("/inspections", body, content_type=CSV)

    assert (answer.code, answer.json["details"]) == ("42501", "line 4")


@pytest.mark.parametrize(
    ("method", "path"), [("POST", "/buildings"), ("PATCH", "/buildings?id=eq.1"), ("PUT", "/buildings?id=eq.1")]
)
def test_unknown_columns_are_named_at_once(api: Callable, method: str, path: str) -> None:
    answer = api("root").send(method, path, {"id": 1, "nam": "x", "Client ID": 1, "qqqq": 2})

    assert answer.code == "PGRST204"
    assert answer.message == "Could not find the 'nam', 'Client ID', 'qqqq' columns of 'buildings' in the schema cache"
    assert answer.json["hint"] == 'Perhaps you meant "name" instead of "nam", "client_id" instead of "Client ID".'

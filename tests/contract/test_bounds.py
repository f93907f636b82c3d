"""Latitude, longitude, floors and units: values within bounds are stored, others are refused with 23514."""

from collections.abc import Callable

import pytest

BOUNDS = {"latitude": (-90, 90), "longitude": (-180, 180), "floors": (0, 2**31 - 1), "units": (0, 2**31 - 1)}
BUILDING = {"name": "N", "client_id": 1}
REPRESENTED = "return=representation"

INSIDE = [
    *[(column, value) for column, bounds in BOUNDS.items() for value in (*bounds, 0, None)],
    *[("latitude", -89.999999), ("latitude", 89.999999), ("latitude", "90"), ("longitude", 179.99999999999997)],
]
OUTSIDE = [
    *[("latitude", value) for value in (-90.000001, 90.000001, 90.00000000000001, 1e308, "-91", 180)],
    *[("longitude", value) for value in (-180.000001, 180.000001, -(2**53))],
    *[("floors", value) for value in (-1, "-1", -(2**31))],
    ("units", -1),
]


def refusal_of(column: str) -> tuple[int, str, str]:
    message = f'new row for relation "buildings" violates check constraint "buildings_{column}_check"'
    return (400, "23514", message)


@pytest.mark.parametrize(("column", "value"), INSIDE)
def test_value_within_bounds_is_stored(api: Callable, column: str, value: object) -> None:
    expected = None if value is None else float(value)

    [created] = api("ada").post("/buildings", {**BUILDING, column: value}, prefer=REPRESENTED).json
    [changed] = api("ada").patch("/buildings?id=eq.1", {column: value}, prefer=REPRESENTED).json

    assert created[column] == changed[column] == expected


@pytest.mark.parametrize(("column", "value"), OUTSIDE)
def test_value_out_of_bounds_is_refused(api: Callable, column: str, value: object) -> None:
    root = api("root")
    before = root.get("/buildings").json
    put = {"id": 1, **BUILDING, column: value}
    merge = "resolution=merge-duplicates"

    bulk = [{**BUILDING, column: 1}, {**BUILDING, column: value}]
    for response, details in (
        (api("ada").post("/buildings", {**BUILDING, column: value}), None),
        (api("ada").post("/buildings", bulk), f"row 2, column {column}"),
        (
            api("ada").post("/buildings", f"name,client_id,{column}\nN,1,{value}", content_type="text/csv"),
            f"line 2, column {column}",
        ),
        (api("ada").patch("/buildings?id=eq.1", {column: value}), None),
        (api("ada").put("/buildings?id=eq.1", put), None),
        (root.post("/buildings", put, prefer=merge), None),
    ):
        assert response.refusal == refusal_of(column)
        assert response.json == {"code": "23514", "message": response.message, "details": details, "hint": None}
    assert root.get("/buildings").json == before


def test_row_rule_precedes_bounds(api: Callable) -> None:
    response = api("bob").post("/buildings", {**BUILDING, "latitude": 91})

    assert (response.status, response.code) == (403, "42501")


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1])
def test_number_beyond_the_type_is_out_of_range(api: Callable, value: int) -> None:
    response = api("ada").post("/buildings", {**BUILDING, "floors": value})

    assert (response.status, response.code) == (400, "22003")


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/inspections", {"building_id": 1, "inspection_type": "gas", "status": "postponed"}),
        ("/reports_lead", {"inspection_id": 1, "result": "unclear"}),
    ],
)
def test_columns_with_common_values_take_other_texts(api: Callable, path: str, body: dict) -> None:
    assert api("ada").post(path, body).status == 201

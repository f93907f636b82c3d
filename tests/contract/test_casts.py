"""Casts at the limits of their types, equal to PostgreSQL's on both engines."""

from collections.abc import Callable

import pytest

from tests.conftest import Response
from tests.support import databases

INSPECTION = {"building_id": 1, "inspection_type": "odd"}
REPRESENTED = "return=representation"


def cast_of_text(api: Callable, text: str, kind: str) -> Response:
    """Return the response of a write that casts a text."""
    path = f"/inspections?select=value:notes::{kind}"
    return api("ada").post(path, {**INSPECTION, "notes": text}, prefer=REPRESENTED)


def cast_of_double(api: Callable, number: float, kind: str) -> Response:
    """Return the response of a write that casts a double."""
    path = f"/buildings?id=eq.1&select=value:latitude::{kind}"
    return api("root").patch(path, {"latitude": number}, prefer=REPRESENTED)


@pytest.mark.parametrize(
    ("text", "kind", "refusal"),
    [
        (
            "2025-01-01T12:30+16:00",
            "date",
            (400, "22009", 'time zone displacement out of range: "2025-01-01T12:30+16:00"'),
        ),
        ("noon", "date", (400, "22007", 'invalid input syntax for type date: "noon"')),
        ("seven", "integer", (400, "22P02", 'invalid input syntax for type integer: "seven"')),
    ],
)
def test_cast_invalid_text_is_refused(api: Callable, text: str, kind: str, refusal: tuple) -> None:
    assert cast_of_text(api, text, kind).refusal == refusal


@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_cast_time_with_unknown_zone_is_refused(api: Callable, zone: str | None) -> None:
    """PostgreSQL parses zone names in a time; SQLite does not."""
    path = "/inspections?id=eq.1"
    assert api("root").patch(path, {"notes": "2025-06-15 12:00:00 Nowhere/Land"}).status == 204

    prefer = f"timezone={zone}" if zone else None
    response = api("root").get(f"{path}&select=value:notes::date", prefer=prefer)

    code = "22007" if databases.SERVER is None else "22023"
    assert (response.status, response.code) == (400, code)


@pytest.mark.parametrize(("number", "whole"), [(42.5, 42), (43.5, 44), (-0.4, 0)])
def test_cast_double_to_integer_rounds_halves_to_even(api: Callable, number: float, whole: int) -> None:
    assert cast_of_double(api, number, "int").json == [{"value": whole}]


@pytest.mark.parametrize("kind", ["bigint", "numeric", "float8", "timestamp", "boolean", "uuid", "json", "money"])
def test_cast_to_another_type_is_refused(api: Callable, kind: str) -> None:
    response = api("root").get(f"/buildings?select=zip::{kind}")

    assert response.refusal == (400, "42704", f'type "{kind}" does not exist')


@pytest.mark.parametrize(
    ("select", "refusal"),
    [
        ("created_at::int", "cannot cast type timestamp with time zone to integer"),
        ("id::date", "cannot cast type bigint to date"),
    ],
)
def test_cast_between_unrelated_types_is_refused(api: Callable, select: str, refusal: str) -> None:
    assert api("root").get(f"/buildings?select={select}").refusal == (400, "42846", refusal)


def test_cast_beyond_integer_is_refused(api: Callable) -> None:
    assert api("root").patch("/inspections?id=eq.1", {"notes": str(2**31)}).status == 204

    response = api("root").get("/inspections?id=eq.1&select=notes::int")

    assert (response.status, response.code) == (400, "22003")


@pytest.mark.parametrize(
    ("moment", "zone", "expected"),
    [
        ("1880-01-01T00:00:00Z", "America/New_York", "1879-12-31T19:03:58-04:56:02"),
        ("0001-06-01T00:00:00Z", "Asia/Kolkata", "0001-06-01T05:53:28+05:53:28"),
        ("2025-01-01T00:00:00Z", "America/New_York", "2024-12-31T19:00:00-05:00"),
        ("2025-01-01T00:00:00Z", "Asia/Kolkata", "2025-01-01T05:30:00+05:30"),
    ],
)
def test_offset_with_seconds_is_rendered(api: Callable, moment: str, zone: str, expected: str) -> None:
    response = api("root").patch(
        "/inspections?id=eq.2&select=created_at", {"created_at": moment}, prefer=f"{REPRESENTED}, timezone={zone}"
    )

    assert response.json == [{"created_at": expected}]


@pytest.mark.parametrize("select", ["created_at::date", "created_at.max()::date", "created_at::date.max()"])
def test_cast_timestamp_with_seconds_offset(api: Callable, select: str) -> None:
    path = "/inspections?id=eq.2"
    assert api("root").patch(path, {"created_at": "1960-01-01T00:00:00Z"}).status == 204

    response = api("root").get(f"{path}&select=value:{select}", prefer="timezone=Africa/Monrovia")

    assert (response.status, response.json) == (200, [{"value": "1959-12-31"}])


@pytest.mark.parametrize("offset", ["-00:44:30", "-004430"])
def test_rendered_timestamp_is_parsed_again(api: Callable, offset: str) -> None:
    path = "/inspections?select=id&id=eq.2"
    assert api("root").patch(path, {"created_at": f"1959-12-31T23:15:30{offset}"}).status == 204

    found = api("root").get(f"{path}&created_at=eq.1960-01-01T00:00:00Z")

    assert found.json == [{"id": 2}]
    assert api("root").get(f"{path}&created_at=eq.1959-12-31T23:15:30-00:44:60").status == 400

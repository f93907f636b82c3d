"""Casts at the limits of their types, equal to PostgreSQL's on both engines."""

from collections.abc import Callable

import pytest

from engine.query.dialect import sqlite_functions as functions
from models.types import InvalidInput
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
    ("text", "kind", "value"),
    [
        ("2025-01-01T00:00:00+05:30", "timestamp", "2025-01-01T00:00:00"),
        ("2025-06-15T12:00:00Z", "timestamp", "2025-06-15T12:00:00"),
        ("2025-06-15 24:00:00", "timestamp", "2025-06-16T00:00:00"),
        ("2025-01-01T00:00:00+05:30", "timestamptz", "2024-12-31T18:30:00+00:00"),
        ("12:30", "time", "12:30:00"),
        ("24:00:00", "time", "24:00:00"),
        ("2025-06-15 12:00:00.50+05:30", "time", "12:00:00.5"),
    ],
)
def test_cast_text_to_time(api: Callable, text: str, kind: str, value: str) -> None:
    assert cast_of_text(api, text, kind).json == [{"value": value}]


@pytest.mark.parametrize(
    ("text", "kind", "refusal"),
    [
        *(
            ("2025-01-01T12:30+16:00", kind, (400, "22009", "time zone displacement out of range"))
            for kind in ("date", "timestamp", "timestamptz")
        ),
        ("2025-06-15T12:00:00Z", "time", (400, "22007", "invalid input syntax for type time")),
        ("25:00", "time", (400, "22008", "date/time field value out of range")),
        ("noon", "time", (400, "22007", "invalid input syntax for type time")),
        ("noon", "timestamp", (400, "22007", "invalid input syntax for type timestamp")),
        ("seven", "numeric", (400, "22P02", "invalid input syntax for type numeric")),
        ("seven", "real", (400, "22P02", "invalid input syntax for type real")),
    ],
)
def test_cast_invalid_text_is_refused(api: Callable, text: str, kind: str, refusal: tuple) -> None:
    status, code, words = refusal
    assert cast_of_text(api, text, kind).refusal == (status, code, f'{words}: "{text}"')


@pytest.mark.parametrize("kind", ["date", "time", "timestamp", "timestamptz"])
@pytest.mark.parametrize("zone", [None, "Asia/Tokyo"])
def test_cast_time_with_unknown_zone_is_refused(api: Callable, kind: str, zone: str | None) -> None:
    """PostgreSQL parses zone names in a time; SQLite does not."""
    path = "/inspections?id=eq.1"
    assert api("root").patch(path, {"notes": "2025-06-15 12:00:00 Nowhere/Land"}).status == 204

    prefer = f"timezone={zone}" if zone else None
    response = api("root").get(f"{path}&select=value:notes::{kind}", prefer=prefer)

    code = "22007" if databases.SERVER is None else "22023"
    assert (response.status, response.code) == (400, code)


@pytest.mark.parametrize(("number", "real"), [(1 / 3, 0.33333334), (2.4094455242156982, 2.4094455), (0.0, 0.0)])
def test_cast_double_to_real(api: Callable, number: float, real: float) -> None:
    assert cast_of_double(api, number, "real").json == [{"value": real}]


def test_cast_double_beyond_real_is_refused(api: Callable) -> None:
    assert cast_of_double(api, 1e-46, "real").refusal == (400, "22003", "value out of range: underflow")


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


@pytest.mark.parametrize(
    ("select", "row"),
    [
        ("value:created_at::date", "1959-12-31"),
        ("value:created_at::timestamp", "1959-12-31T23:15:30"),
        ("value:created_at::time", "23:15:30"),
        ("value:created_at.max()::date", "1959-12-31"),
        ("value:created_at::date.max()", "1959-12-31"),
    ],
)
def test_cast_timestamp_with_seconds_offset(api: Callable, select: str, row: str) -> None:
    path = "/inspections?id=eq.2"
    assert api("root").patch(path, {"created_at": "1960-01-01T00:00:00Z"}).status == 204

    response = api("root").get(f"{path}&select={select}", prefer="timezone=Africa/Monrovia")

    assert (response.status, response.json) == (200, [{"value": row}])


@pytest.mark.parametrize("offset", ["-00:44:30", "-004430"])
def test_rendered_timestamp_is_parsed_again(api: Callable, offset: str) -> None:
    path = "/inspections?select=id&id=eq.2"
    assert api("root").patch(path, {"created_at": f"1959-12-31T23:15:30{offset}"}).status == 204

    found = api("root").get(f"{path}&created_at=eq.1960-01-01T00:00:00Z")

    assert found.json == [{"id": 2}]
    assert api("root").get(f"{path}&created_at=eq.1959-12-31T23:15:30-00:44:60").status == 400


NEWEST = "/inspections?select=value:created_at"


@pytest.mark.parametrize(
    ("cast", "value"),
    [
        ("::timestamp.max()", "2025-05-25T10:00:00"),
        ("::timestamp.max()::timestamp", "2025-05-25T10:00:00"),
        ("::timestamp.max()::date", "2025-05-25"),
        ("::timestamp.max()::time", "10:00:00"),
        ("::timestamp.max()::text", "2025-05-25 10:00:00"),
        ("::timestamp.max()::timestamptz", "2025-05-25T10:00:00+00:00"),
        ("::time.min()::time", "10:00:00"),
        ("::time.min()::text", "10:00:00"),
    ],
)
def test_cast_time_24_00(api: Callable, cast: str, value: str) -> None:
    response = api("root").get(NEWEST + cast)

    assert (response.status, response.json) == (200, [{"value": value}])


def test_cast_time_24_00_with_zone(api: Callable) -> None:
    response = api("root").get(f"{NEWEST}::timestamp.max()::timestamptz", prefer="timezone=America/New_York")

    assert response.json == [{"value": "2025-05-25T06:00:00-04:00"}]


@pytest.mark.parametrize(
    ("cast", "target"),
    [
        ("::timestamp.max()::int", "timestamp to integer"),
        ("::timestamp.max()::uuid", "timestamp to uuid"),
        ("::time.max()::date", "time to date"),
        ("::time.max()::timestamptz", "time to timestamp with time zone"),
        ("::time.max()::numeric", "time to numeric"),
    ],
)
def test_cast_time_24_00_to_other_types_is_refused(api: Callable, cast: str, target: str) -> None:
    response = api("root").get(NEWEST + cast)

    assert response.refusal == (400, "42846", f"cannot cast type {target}")


@pytest.mark.parametrize("number", ["1e28", "-1e28", "1.7e308"])
@pytest.mark.parametrize("whole", ["integer", "bigint", "smallint"])
def test_cast_numeric_beyond_bigint_is_refused(api: Callable, number: str, whole: str) -> None:
    path = "/inspections?id=eq.1"
    assert api("root").patch(path, {"notes": number}).status == 204

    response = api("root").get(f"{path}&select=notes::numeric.max()::{whole}")

    assert response.refusal == (400, "22003", f"{whole} out of range")


def test_cast_too_deep_json_is_refused(api: Callable) -> None:
    path = "/inspections?id=eq.1"
    assert api("root").patch(path, {"notes": "[" * 32_000 + "]" * 32_000}).status == 204

    response = api("root").get(f"{path}&select=notes::json")

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.sqlite("a server reads JSON itself")
def test_json_depth_limit_is_sqlites(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python 3.13 parses thousands of nested arrays, Python 3.11 fewer than a thousand."""
    monkeypatch.setattr(functions.json, "loads", lambda text, parse_constant: None)
    deepest = "[" * 1_000 + "]" * 1_000

    assert functions.cast_json(deepest) == deepest
    assert functions.cast_json(f'{{"{deepest}": [[], []], "\\"{{": []}}').startswith("{")
    with pytest.raises(InvalidInput):
        functions.cast_json(f"[{deepest}]")


@pytest.mark.parametrize("text", ["NaN", "Infinity"])
@pytest.mark.parametrize("kind", ["numeric", "real", "double precision"])
def test_cast_invalid_integer_text_is_refused(api: Callable, text: str, kind: str) -> None:
    """PostgreSQL reports a fraction as invalid for the integer type; SQLite reports an invalid number."""
    path = "/inspections?id=eq.1"
    assert api("root").patch(path, {"notes": text}).status == 204

    response = api("root").get(f"{path}&select=notes::{kind}.max()::int")

    code = "22P02" if databases.SERVER is None else "22003"
    assert (response.status, response.code) == (400, code)

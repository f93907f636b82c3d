"""Regular expressions, and the text of moments and numbers."""

import pathlib
from collections.abc import Callable

import pytest

from engine.query.dialect import sqlite_functions
from tests.contract.test_reads import ids
from tests.support import databases

REPRESENTED = "return=representation"


# ── regular expressions ──────────────────────────────────────────────────────────────────────────────────


def test_pattern_matches_line_breaks(api: Callable) -> None:
    assert api("root").patch("/inspections?id=eq.1", {"notes": "crack\nin wall"}).status == 204

    for pattern, is_found in (
        ("match.crack.*wall", True),
        ("imatch.CRACK.IN", True),
        ("match.^in", False),
        ("match.crack$", False),
        ("match.k[^a]i", True),
    ):
        found = ids(api("root").get(f"/inspections?id=eq.1&notes={pattern}"))
        assert found == [1] * is_found, pattern


def test_oversized_case_insensitive_pattern_is_refused(api: Callable) -> None:
    pattern = "(?:[^ks]){1000}" * 17

    response = api("root").get(f"/inspections?notes=imatch.{pattern}")

    assert (response.status, response.code) == (400, "2201B")


@pytest.mark.parametrize("operator", ["match", "imatch"])
def test_regular_expressions_without_re2_are_refused(
    api: Callable, monkeypatch: pytest.MonkeyPatch, operator: str
) -> None:
    monkeypatch.setattr(sqlite_functions, "re2", None)

    response = api("root").get(f"/inspections?notes={operator}.x")

    assert (response.status, response.code) == (400, "0A000")


# ── moments at the ends of the calendar ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("stored", "zone", "shown"),
    [
        ("9999-12-31T23:59:59+00:00", "Asia/Tokyo", "9999-12-31T23:59:59+00:00"),
        ("9999-12-31T23:59:59+00:00", "America/New_York", "9999-12-31T18:59:59-05:00"),
        ("0001-01-01T00:00:00+00:00", "America/New_York", "0001-01-01T00:00:00+00:00"),
    ],
)
def test_timestamp_beyond_zone_range_is_utc(api: Callable, stored: str, zone: str, shown: str) -> None:
    path = "/client_manager_building_access?building_id=eq.1"
    assert api("root").patch(path, {"assigned_at": stored}).status == 204

    response = api("root").get(f"{path}&select=assigned_at", prefer=f"timezone={zone}")

    assert (response.status, response.json) == (200, [{"assigned_at": shown}])


@pytest.mark.parametrize(
    ("number", "asked", "printed"),
    [
        (42, "latitude", '"latitude":42}'),
        (42, "latitude::text", '"latitude":"42"}'),
        (42.5, "latitude", '"latitude":42.5}'),
        (1.5e-7, "latitude::text", '"latitude":"1.5e-07"}'),
    ],
)
def test_numbers_are_formatted_as_in_postgresql(api: Callable, number: float, asked: str, printed: str) -> None:
    row = {"name": "N", "client_id": 1, "latitude": number, "units": 7}
    [made] = api("root").post("/buildings?select=id", row, prefer=REPRESENTED).json

    answer = api("root").get(f"/buildings?select={asked}&id=eq.{made['id']}")

    assert printed in answer.text


@pytest.mark.sqlite("PostgreSQL always checks constraints")
@pytest.mark.parametrize(("number", "printed"), [(1e15, "1e+15"), (1234567890123456.0, "1.234567890123456e+15")])
def test_large_double_is_formatted_as_in_postgresql(
    api: Callable, tmp_path: pathlib.Path, number: float, printed: str
) -> None:
    assert api("root").patch("/buildings?id=eq.1", {"latitude": 42}).status == 204
    databases.sql_without_checks(tmp_path / "walkthrough.db", f"UPDATE buildings SET latitude = {number} WHERE id = 1")

    assert api("root").get("/buildings?select=latitude::text&id=eq.1").json == [{"latitude": printed}]

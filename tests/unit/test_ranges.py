"""The Range header and its intersection with limit and offset."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.types import Fault
from routes.postgrest.lexer import NegativeLimit, NumberOutOfRange, UnsatisfiableRange
from routes.postgrest.preferences import intersect, parse_range

EVERY_ROW = (0, None)
METHODS = ("GET", "HEAD", "POST", "PATCH", "PUT", "DELETE")


@pytest.mark.parametrize(
    ("header", "method", "window"),
    [
        (None, "GET", EVERY_ROW),
        ("", "GET", EVERY_ROW),
        ("0-1", "GET", (0, 2)),
        ("1-2", "GET", (1, 2)),
        (" 1-2 ", "GET", (1, 2)),
        ("01-02", "GET", (1, 2)),
        ("0-0", "GET", (0, 1)),
        ("2-", "GET", (2, None)),
        ("1-9223372036854775807", "GET", (1, 2**63 - 1)),
        ("1-2", "HEAD", EVERY_ROW),
        ("3-2", "HEAD", EVERY_ROW),
        ("abc", "GET", EVERY_ROW),
        ("-5", "GET", EVERY_ROW),
        ("-", "GET", EVERY_ROW),
        ("1 - 2", "GET", EVERY_ROW),
        ("1-2,4-5", "GET", EVERY_ROW),
        ("items=0-1", "GET", EVERY_ROW),
        ("bytes=0-1", "GET", EVERY_ROW),
        ("1-2\n", "GET", EVERY_ROW),
        ("١-٢", "GET", EVERY_ROW),
        *(("3-2", method, EVERY_ROW) for method in ("POST", "PATCH", "PUT", "DELETE")),
    ],
)
def test_range_header_is_parsed(header: str | None, method: str, window: tuple[int, int | None]) -> None:
    assert parse_range(header, method) == window


def test_inverted_range_is_refused() -> None:
    with pytest.raises(UnsatisfiableRange) as refused:
        parse_range("3-2", "GET")

    assert refused.value.message == "Requested range not satisfiable"
    assert refused.value.details == (
        "The lower boundary must be lower than or equal to the upper boundary in the Range header."
    )


@pytest.mark.parametrize("header", ["9223372036854775808-", "0-9223372036854775807", "0-99999999999999999999"])
def test_range_beyond_bigint_is_out_of_range(header: str) -> None:
    with pytest.raises(NumberOutOfRange):
        parse_range(header, "GET")


@pytest.mark.parametrize(
    ("asked", "window"),
    [
        ((0, None), (1, 3)),
        ((0, 2), (1, 1)),
        ((2, None), (2, 2)),
        ((2, 2), (2, 2)),
        ((1, 1), (1, 1)),
        ((0, 9), (1, 3)),
        ((0, 0), (0, 0)),
    ],
)
def test_range_and_limit_are_intersected(asked: tuple[int, int | None], window: tuple[int, int | None]) -> None:
    assert intersect((1, 3), asked) == window


def test_missing_range_uses_query_limit() -> None:
    assert intersect(EVERY_ROW, (4, 2)) == (4, 2)
    assert intersect((2, None), EVERY_ROW) == (2, None)


@pytest.mark.parametrize("header", [EVERY_ROW, (1, 3)])
def test_limit_zero_requires_offset_zero(header: tuple[int, int | None]) -> None:
    with pytest.raises(NegativeLimit):
        intersect(header, (3, 0))


@pytest.mark.parametrize("asked", [(5, None), (9, 2), (0, 1)])
def test_disjoint_range_and_limit_are_refused(asked: tuple[int, int | None]) -> None:
    with pytest.raises(NegativeLimit):
        intersect((1, 3), asked)


@given(st.text(alphabet="0123456789- ,=x", max_size=30), st.sampled_from(METHODS))
def test_any_range_header_is_parsed_or_refused(header: str, method: str) -> None:
    with contextlib.suppress(Fault):
        offset, limit = parse_range(header, method)

        assert offset >= 0
        assert limit is None or limit > 0

"""CSV and form bodies, and their content types."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routes.postgrest.lexer import LimitExceeded
from routes.postgrest.payload import InvalidPayload, Payload, Row, Undecodable
from routes.postgrest.preferences import UnsupportedMediaType
from tests.support.bodies import CSV, FORM, TEXTS, parse_body

# -- CSV ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("a,b\n1,2\n", [{"a": "1", "b": "2"}]),
        ("a,b\n1,2", [{"a": "1", "b": "2"}]),
        ("a,b\r\n1,2\r\n", [{"a": "1", "b": "2"}]),
        ("a,b\r1,2\r", [{"a": "1", "b": "2"}]),
        ("a\n1\n2\n", [{"a": "1"}, {"a": "2"}]),
        ("a,b\n", []),
        ("\n\na,b\n\n1,2\n\n\n", [{"a": "1", "b": "2"}]),
        ("a,b\n1,\n", [{"a": "1", "b": None}]),
        ('a,b\n1,""\n', [{"a": "1", "b": ""}]),
        ('a\n""\n', [{"a": ""}]),
        ("a,b\nNULL,null\n", [{"a": None, "b": "null"}]),
        ('a,b\n"NULL", NULL\n', [{"a": "NULL", "b": " NULL"}]),
        ('"a","b"\n1,2\n', [{"a": "1", "b": "2"}]),
        ('a\n"x, ""y""\r\nz"\n', [{"a": 'x, "y"\r\nz'}]),
        ("a\n x \n", [{"a": " x "}]),
        ("a,b\n,\n,,,\n1,2\n", [{"a": "1", "b": "2"}]),
        (" a,b\n1,2\n", [{" a": "1", "b": "2"}]),
        ("a;b\n1;2\n", [{"a;b": "1;2"}]),
        ("ü\n\U0001f3e2\n", [{"ü": "\U0001f3e2"}]),
        ("a\n=1+1\n", [{"a": "=1+1"}]),
        ("\ufeffa,b\r\n1,2\r\n", [{"a": "1", "b": "2"}]),
        ('\ufeff"a","b"\n1,2\n', [{"a": "1", "b": "2"}]),
        ("\ufeff\ufeffa\n\ufeff1\n", [{"\ufeffa": "\ufeff1"}]),
    ],
)
def test_csv_is_parsed(text: str, rows: list[Row]) -> None:
    payload = parse_body(text, CSV)

    assert payload.rows == rows
    assert payload.is_array
    assert payload.uniform


@pytest.mark.parametrize("text", ["a,b\n1\n", "a,b\n1,2\n3\n", "a,b\n1,2,3\n", "a,b\n  \n1,2\n"])
def test_ragged_csv_is_refused(text: str) -> None:
    with pytest.raises(InvalidPayload, match=r"^All lines must have same number of fields$"):
        parse_body(text, CSV)


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "\r\n\r\n", '"', '"a', 'a"b\n1\n', 'a\nx"y\n', 'a\n"x"y\n', 'a\n "x"\n'),
        *("a,b", "a,a\n1,2\n", 'a\n"x\n', 'a\n"x""\n', 'a,b\n"x" ,1\n', '"a"b\n1\n'),
    ],
)
def test_malformed_csv_is_refused(text: str) -> None:
    with pytest.raises(InvalidPayload, match=r"^Empty or invalid csv$"):
        parse_body(text, CSV)


def test_malformed_csv_error_names_the_line() -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse_body('a\n1\n\nx"y\n', CSV)

    assert refused.value.details == "Misplaced quotation mark in line 4."


@pytest.mark.parametrize("body", [b"a\nx\x00y\n", b"a\n\xff\n", b"a\n\xed\xa0\x80\n"])
def test_csv_must_be_utf8(body: bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"^Empty or invalid body$"):
        parse_body(body, CSV)


def test_csv_columns_are_limited() -> None:
    assert len(parse_body(",".join(map(str, range(100))) + "\n", CSV).rows) == 0

    with pytest.raises(LimitExceeded, match="at most 100 names"):
        parse_body(",".join(map(str, range(101))), CSV)


# -- forms --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a=1&b=x+y%26z", {"a": "1", "b": "x y&z"}),
        ("a=1&a=2", {"a": "2"}),
        ("a&b=", {"a": "", "b": ""}),
        ("", {}),
        ("a=NULL", {"a": "NULL"}),
        ("a=1;b=2", {"a": "1;b=2"}),
    ],
)
def test_form_is_parsed(text: str, row: Row) -> None:
    assert parse_body(text, FORM) == Payload([row], tuple(row), True, False)


@pytest.mark.parametrize("text", ["a=%ff", "a=%00", "%ed%a0%80=1"])
def test_form_must_be_utf8(text: str) -> None:
    with pytest.raises(Undecodable):
        parse_body(text, FORM)


# -- Content-Type -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content_type",
    [
        None,
        "application/json",
        "Application/Json",
        "application/json;charset=utf-8",
        "application/json ; charset=UTF-8",
        'application/json; charset="utf-8"',
        "application/json; charset=utf8; profile=x",
    ],
)
def test_json_content_types(content_type: str | None) -> None:
    assert parse_body('{"a": 1}', content_type).rows == [{"a": 1}]


@pytest.mark.parametrize(
    ("content_type", "message"),
    [
        ("text/plain", "text/plain"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("multipart/form-data; boundary=x", "multipart/form-data"),
        ("application/octet-stream", "application/octet-stream"),
        ("application/vnd.pgrst.object+json", "application/vnd.pgrst.object+json"),
        ("application/vnd.pgrst.array+json; nulls=stripped", "application/vnd.pgrst.array+json"),
        ("application/openapi+json", "application/openapi+json"),
        ("text/json", "text/json"),
        ("json", "json"),
        ("*/*", "*/*"),
        ("", ""),
        ("application/json;charset=latin1", "application/json;charset=latin1"),
        ("application/json; charset=utf-16", "application/json;charset=utf-16"),
        ("text/csv; charset=windows-1252", "text/csv;charset=windows-1252"),
        ("application/x-www-form-urlencoded;charset=x", f"{FORM};charset=x"),
    ],
)
def test_unsupported_content_types_are_refused(content_type: str, message: str) -> None:
    with pytest.raises(UnsupportedMediaType) as refused:
        parse_body('{"a": 1}', content_type)

    assert refused.value.message == f"Content-Type not acceptable: {message}"


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=4))
def test_csv_round_trip(cells: list[list[str]]) -> None:
    quoted = (",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in cells)

    rows = parse_body("\n".join(["a,b", *quoted, ""]), CSV).rows

    assert [list(row.values()) for row in rows] == cells

"""Bodies of writes: JSON, CSV, forms; what they hold, and every way they can be broken. Pure room."""

from __future__ import annotations

import contextlib
import gc
import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.faults import Fault
from routes.postgrest.csv import MalformedCsv
from routes.postgrest.encoding import Undecodable
from routes.postgrest.limits import NumberOutOfRange
from routes.postgrest.limits import TooMuch
from routes.postgrest.media import UnsupportedMediaType
from routes.postgrest.payload import InvalidPayload
from routes.postgrest.payload import Payload
from routes.postgrest.payload import Row
from routes.postgrest.payload import UnequalKeys
from routes.postgrest.payload import UntranslatableText
from routes.postgrest.payload import parse_payload
from tests.waiting import TIMED

CSV = "text/csv"
FORM = "application/x-www-form-urlencoded"


def read(text: str | bytes, content_type: str | None = "application/json") -> Payload:
    return parse_payload(text.encode() if isinstance(text, str) else text, content_type)


# -- JSON ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("{}", Payload([{}], (), True, False)),
        ("[]", Payload([], (), True, True)),
        ("[{}]", Payload([{}], (), True, True)),
        ("[{},{}]", Payload([{}, {}], (), True, True)),
        (' \n{"a": 1}\t', Payload([{"a": 1}], ("a",), True, False)),
        ('[{"a": 1, "b": 2}]', Payload([{"a": 1, "b": 2}], ("a", "b"), True, True)),
        (
            '[{"a": 1, "b": 2}, {"b": 3, "a": 4}]',
            Payload([{"a": 1, "b": 2}, {"b": 3, "a": 4}], ("a", "b"), True, True),
        ),
        ('[{"a": 1}, {"b": 2}]', Payload([{"a": 1}, {"b": 2}], ("a",), False, True)),
        ('[{"a": 1}, {}]', Payload([{"a": 1}, {}], ("a",), False, True)),
        ('{"a": 1, "a": 2}', Payload([{"a": 2}], ("a",), True, False)),
        ('{"": null}', Payload([{"": None}], ("",), True, False)),
        (
            '{"a": true, "b": [1, {"c": "x"}]}',
            Payload([{"a": True, "b": [1, {"c": "x"}]}], ("a", "b"), True, False),
        ),
        ('{"a": "\\ud83c\\udfe2"}', Payload([{"a": "\U0001f3e2"}], ("a",), True, False)),
        ('{"a": "\U0001f3e2 ü"}', Payload([{"a": "\U0001f3e2 ü"}], ("a",), True, False)),
        ('{"a": "\\\\u0000"}', Payload([{"a": "\\u0000"}], ("a",), True, False)),
    ],
)
def test_json_is_read_as(text: str, payload: Payload) -> None:
    assert read(text) == payload


@pytest.mark.parametrize(
    ("literal", "value"),
    [
        ("7", 7),
        ("-0", 0),
        ("9007199254740993", 9007199254740993),
        ("9" * 400, int("9" * 400)),
        ("1.0", 1.0),
        ("1e0", 1.0),
        ("42.360082123456789", 42.360082123456789),
        ("-1.5e-3", -0.0015),
        ("1.7976931348623157e308", 1.7976931348623157e308),
    ],
)
def test_numbers_keep_their_kind_and_digits(literal: str, value: float) -> None:
    parsed = read(f'{{"a": {literal}}}').rows[0]["a"]

    assert parsed == value
    assert type(parsed) is type(value)


@pytest.mark.parametrize(
    "body",
    [
        *("", " ", "{", "}", "[", "[{]", '{"a"}', '{"a":}', '{"a":1,}', "[{},]", "{'a': 1}"),
        *('{"a": 1} x', '{"a": 1}{"b": 2}', "[{}] []", "{a: 1}", '{"a": 01}', '{"a": +1}'),
        *('{"a": .5}', '{"a": 1.}', '{"a": 0x1}', '{"a": "x}', '{"a": "\\x"}', '{"a": "\\u12"}'),
        *('{"a": NaN}', '{"a": Infinity}', '{"a": -Infinity}', '{"a": nan}', '{"a": True}'),
        *('{"a": "b\nc"}', '{"a": "\t"}', "// {}", '{"a": 1 /* b */}', "\x0c{}"),
        b"\xef\xbb\xbf{}",
        '{"a": 1}'.encode("utf-16"),
        '{"a": 1}'.encode("utf-16-le"),
        '{"a": 1}'.encode("utf-32"),
        b'{"a": "\xff"}',
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": "\xc0\x80"}',
        b'{"a": "b\x00c"}',
        b"\x00",
    ],
)
def test_what_is_no_json_is_refused(body: str | bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"^Empty or invalid"):
        read(body)


@pytest.mark.parametrize(
    "text",
    [
        *("null", "1", "1.5", '"x"', "true", "false"),
        *("[1]", "[[]]", "[null]", '["a"]', "[{}, 1]", "[[{}]]", "[{}, null]"),
    ],
)
def test_only_objects_are_rows(text: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        read(text)

    assert refused.value.message == "A JSON object or an array of JSON objects is expected"


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ('{"a": "x\\u0000"}', "\\u0000 cannot be converted to text."),
        ('{"x\\u0000": 1}', "\\u0000 cannot be converted to text."),
        ('[{}, {"a": [["\\u0000"]]}]', "\\u0000 cannot be converted to text."),
    ],
)
def test_escapes_that_no_text_holds_are_refused(text: str, details: str) -> None:
    with pytest.raises(UntranslatableText) as refused:
        read(text)

    assert refused.value.message == "unsupported Unicode escape sequence"
    assert refused.value.details == details


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ('{"a": "\\ud800"}', "\\ud800 is half of a surrogate pair."),
        ('{"a": "\\udfe2\\ud83c"}', "\\udfe2 is half of a surrogate pair."),
        ('{"\\ud800": 1}', "\\ud800 is half of a surrogate pair."),
        ('{"a": {"b": {"\\ud800": 1}}}', "\\ud800 is half of a surrogate pair."),
    ],
)
def test_escapes_that_are_no_characters_are_no_json(text: str, details: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        read(text)

    assert refused.value.message == "Empty or invalid json"
    assert refused.value.details == details


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("1e999", 'value "1e999" is out of range for type double precision'),
        ("-1e999", 'value "-1e999" is out of range for type double precision'),
        ("9" * 401, "is out of range for type bigint"),
        ("9" * 5000, "is out of range for type bigint"),
        ("-" + "9" * 5000, "is out of range for type bigint"),
        ("0." + "1" * 5000, "is out of range for type double precision"),
        ("9" * 500_000, "is out of range for type bigint"),
    ],
    ids=lambda value: value[:20],
)
def test_numbers_without_end_are_refused(literal: str, message: str) -> None:
    with pytest.raises(NumberOutOfRange) as refused:
        read(f'{{"a": {literal}}}')

    assert message in refused.value.message
    assert len(refused.value.message) < 300


@pytest.mark.parametrize(
    ("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["arrays", "objects"]
)
def test_nesting_is_bounded(opening: str, closing: str) -> None:
    inside = 63  # the row itself is the first level

    assert read(
        '{"a":' + opening * inside + "1" * (opening != "[") + closing * inside + "}"
    ).uniform
    for levels in (inside + 1, 500, 100_000):
        with pytest.raises(InvalidPayload, match="at most 64 levels of nesting"):
            read('{"a":' + opening * levels + "1" * (opening != "[") + closing * levels + "}")


def test_a_thousand_rows_are_taken_and_no_more() -> None:
    assert len(read("[" + ",".join(["{}"] * 1000) + "]").rows) == 1000
    assert len(read("a\n" + "x\n" * 1000, CSV).rows) == 1000

    with pytest.raises(TooMuch, match="at most 1000 rows"):
        read("[" + ",".join(["{}"] * 1001) + "]")
    with pytest.raises(TooMuch, match="at most 1000 rows"):
        read("a\n" + "x\n" * 1001, CSV)


def test_unequal_keys_are_refused_when_told() -> None:
    unequal, equal = read('[{"a": 1}, {"b": 1}]'), read('[{"a": 1}, {"a": 1}]')

    assert equal.require_uniform() is equal
    with pytest.raises(UnequalKeys, match=r"^All object keys must match$"):
        unequal.require_uniform()


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
        ("a,b", []),
        ("\n\na,b\n\n1,2\n\n\n", [{"a": "1", "b": "2"}]),
        ("a,b\n1,\n", [{"a": "1", "b": ""}]),
        ('a,b\n1,""\n', [{"a": "1", "b": ""}]),
        ('a\n""\n', [{"a": ""}]),
        ("a,b\nNULL,null\n", [{"a": None, "b": "null"}]),
        ('a,b\n"NULL", NULL\n', [{"a": None, "b": " NULL"}]),
        ('"a","b"\n1,2\n', [{"a": "1", "b": "2"}]),
        ('a\n"x, ""y""\r\nz"\n', [{"a": 'x, "y"\r\nz'}]),
        ("a\n x \n", [{"a": " x "}]),
        ("a,a\n1,2\n", [{"a": "2"}]),
        (" a,b\n1,2\n", [{" a": "1", "b": "2"}]),
        ("a;b\n1;2\n", [{"a;b": "1;2"}]),
        ("ü\n\U0001f3e2\n", [{"ü": "\U0001f3e2"}]),
        ("a\n=1+1\n", [{"a": "=1+1"}]),
    ],
)
def test_csv_is_read_as(text: str, rows: list[Row]) -> None:
    payload = read(text, CSV)

    assert payload.rows == rows
    assert payload.is_array
    assert payload.uniform


@pytest.mark.parametrize("text", ["a,b\n1\n", "a,b\n1,2\n3\n", "a,b\n1,2,3\n", "a,b\n  \n1,2\n"])
def test_ragged_csv_is_refused(text: str) -> None:
    with pytest.raises(MalformedCsv, match=r"^All lines must have same number of fields$"):
        read(text, CSV)


@pytest.mark.parametrize(
    "text",
    [
        *("", "\n", "\r\n\r\n", '"', '"a', 'a"b\n1\n', 'a\nx"y\n', 'a\n"x"y\n', 'a\n "x"\n'),
        *('a\n"x\n', 'a\n"x""\n', 'a,b\n"x" ,1\n', '"a"b\n1\n'),
    ],
)
def test_malformed_csv_is_refused(text: str) -> None:
    with pytest.raises(MalformedCsv, match=r"^Empty or invalid csv$"):
        read(text, CSV)


def test_malformed_csv_names_the_line() -> None:
    with pytest.raises(MalformedCsv) as refused:
        read('a\n1\n\nx"y\n', CSV)

    assert refused.value.details == "Misplaced quotation mark in line 4."


@pytest.mark.parametrize("body", [b"a\nx\x00y\n", b"a\n\xff\n", b"a\n\xed\xa0\x80\n"])
def test_csv_holds_characters_only(body: bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"^Empty or invalid body$"):
        read(body, CSV)


def test_columns_of_csv_are_bounded() -> None:
    assert len(read(",".join(map(str, range(100))), CSV).rows) == 0

    with pytest.raises(TooMuch, match="at most 100 columns"):
        read(",".join(map(str, range(101))), CSV)


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
def test_form_is_read_as(text: str, row: Row) -> None:
    assert read(text, FORM) == Payload([row], tuple(row), True, False)


@pytest.mark.parametrize("text", ["a=%ff", "a=%00", "%ed%a0%80=1"])
def test_a_form_holds_characters_only(text: str) -> None:
    with pytest.raises(Undecodable):
        read(text, FORM)


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
def test_json_goes_by_these_names(content_type: str | None) -> None:
    assert read('{"a": 1}', content_type).rows == [{"a": 1}]


@pytest.mark.parametrize(
    ("content_type", "message"),
    [
        ("text/plain", "text/plain"),
        ("text/plain; charset=utf-8", "text/plain"),
        ("multipart/form-data; boundary=x", "multipart/form-data"),
        ("application/octet-stream", "application/octet-stream"),
        ("application/vnd.pgrst.object+json", "application/vnd.pgrst.object+json"),
        ("application/vnd.pgrst.array", "application/vnd.pgrst.array"),
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
def test_other_content_types_are_refused(content_type: str, message: str) -> None:
    with pytest.raises(UnsupportedMediaType) as refused:
        read('{"a": 1}', content_type)

    assert refused.value.message == f"Content-Type not acceptable: {message}"


# -- floods and properties ----------------------------------------------------------------------

FLOODS = {
    "a MiB of opened arrays": (b"[" * 2**20, "application/json"),
    "a MiB of opened objects": (b'{"a":' * 200_000, "application/json"),
    "wide and flat": (b"[" + b"[]," * 340_000 + b"[]]", "application/json"),
    "a MiB of escapes": (b'{"a":"' + b"\\u0041" * 170_000 + b'"}', "application/json"),
    "5 MiB of blank lines": (b"\n" * 5 * 2**20, CSV),
    "5 MiB of commas": (b"," * 5 * 2**20, CSV),
    "5 MiB of rows": (b"a\n" * 2_500_000, CSV),
    "an open quote": (b'a\n"' + b"x" * 5 * 2**20, CSV),
    "5 MiB of quotes": (b'a\n"' + b'"' * 5 * 2**20, CSV),
    "10^6 columns": (",".join(map(str, range(10**6))).encode(), CSV),
}


@TIMED
@pytest.mark.parametrize(("body", "content_type"), FLOODS.values(), ids=FLOODS)
def test_floods_are_answered_at_once(body: bytes, content_type: str) -> None:
    gc.collect()
    gc.freeze()  # to look through what thousands of other tests left behind is no part of the answer
    try:
        begun = time.process_time()
        with contextlib.suppress(Fault):
            parse_payload(body, content_type)
        taken = time.process_time() - begun
    finally:
        gc.unfreeze()

    assert taken < 1


@given(st.binary(max_size=120), st.sampled_from(["application/json", CSV, FORM]))
def test_any_bytes_are_read_or_refused(body: bytes, content_type: str) -> None:
    with contextlib.suppress(Fault):
        assert isinstance(parse_payload(body, content_type), Payload)


CHARACTERS = st.characters(exclude_characters="\0", exclude_categories=["Cs"])
TEXTS = st.text(CHARACTERS, max_size=20)
VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS


@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=4))
def test_rows_survive_json(rows: list[Row]) -> None:
    finite = [
        {key: value for key, value in row.items() if value not in (math.inf, -math.inf)}
        for row in rows
    ]

    assert read(json.dumps(finite)).rows == finite


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=2), max_size=4))
def test_cells_survive_csv(cells: list[list[str]]) -> None:
    quoted = (",".join('"' + cell.replace('"', '""') + '"' for cell in line) for line in cells)

    rows = read("\n".join(["a,b", *quoted]), CSV).rows

    expected = [[None if cell == "NULL" else cell for cell in line] for line in cells]
    assert [list(row.values()) for row in rows] == expected

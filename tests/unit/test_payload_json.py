"""JSON bodies: rows, invalid JSON, limits and oversized input."""

from __future__ import annotations

import contextlib
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.types import Fault
from routes.postgrest.lexer import LimitExceeded, NumberOutOfRange
from routes.postgrest.payload import InvalidPayload, KeysDiffer, Payload, Row, UntranslatableText, parse_payload
from tests.support.bodies import CSV, FORM, TEXTS, parse_body
from tests.support.cpu_time import cpu_time


@pytest.mark.parametrize(
    ("text", "payload"),
    [
        ("{}", Payload([{}], (), True, False)),
        ("[]", Payload([], (), True, True)),
        ("[{}]", Payload([{}], (), True, True)),
        ("[{},{}]", Payload([{}, {}], (), True, True)),
        (' \n{"a": 1}\t', Payload([{"a": 1}], ("a",), True, False)),
        ('[{"a": 1, "b": 2}]', Payload([{"a": 1, "b": 2}], ("a", "b"), True, True)),
        ('[{"a": 1, "b": 2}, {"b": 3, "a": 4}]', Payload([{"a": 1, "b": 2}, {"b": 3, "a": 4}], ("a", "b"), True, True)),
        ('[{"a": 1}, {"b": 2}]', Payload([{"a": 1}, {"b": 2}], ("a",), False, True)),
        ('[{"a": 1}, {}]', Payload([{"a": 1}, {}], ("a",), False, True)),
        ('{"a": 1, "a": 2}', Payload([{"a": 2}], ("a",), True, False)),
        ('{"": null}', Payload([{"": None}], ("",), True, False)),
        ('{"a": true, "b": [1, {"c": "x"}]}', Payload([{"a": True, "b": [1, {"c": "x"}]}], ("a", "b"), True, False)),
        ('{"a": "\\ud83c\\udfe2"}', Payload([{"a": "\U0001f3e2"}], ("a",), True, False)),
        ('{"a": "\U0001f3e2 ü"}', Payload([{"a": "\U0001f3e2 ü"}], ("a",), True, False)),
        ('{"a": "\\\\u0000"}', Payload([{"a": "\\u0000"}], ("a",), True, False)),
    ],
)
def test_json_is_parsed(text: str, payload: Payload) -> None:
    assert parse_body(text) == payload


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
def test_numbers_keep_type_and_digits(literal: str, value: float) -> None:
    parsed = parse_body(f'{{"a": {literal}}}').rows[0]["a"]

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
        b"\xef\xbb\xbf\xef\xbb\xbf{}",
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
def test_invalid_json_is_refused(body: str | bytes) -> None:
    with pytest.raises(InvalidPayload, match=r"^Empty or invalid"):
        parse_body(body)


@pytest.mark.parametrize(
    "text",
    [
        *("null", "1", "1.5", '"x"', "true", "false"),
        *("[1]", "[[]]", "[null]", '["a"]', "[{}, 1]", "[[{}]]", "[{}, null]"),
    ],
)
def test_rows_must_be_objects(text: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse_body(text)

    assert refused.value.message == "A JSON object or an array of JSON objects is expected"


@pytest.mark.parametrize(
    ("text", "details"),
    [
        ('{"a": "x\\u0000"}', "\\u0000 cannot be converted to text."),
        ('{"x\\u0000": 1}', "\\u0000 cannot be converted to text."),
        ('[{}, {"a": [["\\u0000"]]}]', "\\u0000 cannot be converted to text."),
    ],
)
def test_nul_escape_is_refused(text: str, details: str) -> None:
    with pytest.raises(UntranslatableText) as refused:
        parse_body(text)

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
def test_lone_surrogate_escape_is_refused(text: str, details: str) -> None:
    with pytest.raises(InvalidPayload) as refused:
        parse_body(text)

    assert refused.value.message == "Empty or invalid json"
    assert refused.value.details == details


@pytest.mark.parametrize(
    ("literal", "message"),
    [
        ("1e999", '"1e999" is out of range for type double precision'),
        ("-1e999", '"-1e999" is out of range for type double precision'),
        ("1e-400", '"1e-400" is out of range for type double precision'),
        ("-0.02e-330", '"-0.02e-330" is out of range for type double precision'),
        ("9" * 401, "is out of range for type bigint"),
        ("9" * 5000, "is out of range for type bigint"),
        ("-" + "9" * 5000, "is out of range for type bigint"),
        ("0." + "1" * 5000, "is out of range for type double precision"),
        ("9" * 500_000, "is out of range for type bigint"),
    ],
    ids=lambda value: value[:20],
)
def test_infinite_and_overlong_numbers_are_refused(literal: str, message: str) -> None:
    with pytest.raises(NumberOutOfRange) as refused:
        parse_body(f'{{"a": {literal}}}')

    assert message in refused.value.message
    assert len(refused.value.message) < 300


@pytest.mark.parametrize("literal", ["0.0", "-0e-400", "0.000e999", "5e-324"])
def test_zero_and_smallest_doubles_are_accepted(literal: str) -> None:
    assert parse_body(f'{{"a": {literal}}}').rows == [{"a": float(literal)}]


@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}")], ids=["arrays", "objects"])
def test_nesting_depth_is_limited(opening: str, closing: str) -> None:
    inside = 63  # the row itself is the first level

    assert parse_body('{"a":' + opening * inside + "1" * (opening != "[") + closing * inside + "}").uniform
    for levels in (inside + 1, 500, 100_000):
        with pytest.raises(InvalidPayload, match="at most 64 levels of nesting"):
            parse_body('{"a":' + opening * levels + "1" * (opening != "[") + closing * levels + "}")


def test_payload_rows_are_limited_to_1000() -> None:
    assert len(parse_body("[" + ",".join(["{}"] * 1000) + "]").rows) == 1000
    assert len(parse_body("a\n" + "x\n" * 1000, CSV).rows) == 1000

    with pytest.raises(LimitExceeded, match="at most 1000 rows"):
        parse_body("[" + ",".join(["{}"] * 1001) + "]")
    with pytest.raises(LimitExceeded, match="at most 1000 rows"):
        parse_body("a\n" + "x\n" * 1001, CSV)


def test_require_uniform_refuses_differing_keys() -> None:
    unequal, equal = parse_body('[{"a": 1}, {"b": 1}]'), parse_body('[{"a": 1}, {"a": 1}]')

    assert equal.require_uniform() is equal
    with pytest.raises(KeysDiffer, match=r"^All object keys must match$"):
        unequal.require_uniform()


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


@pytest.mark.slow
@pytest.mark.parametrize(("body", "content_type"), FLOODS.values(), ids=FLOODS)
def test_oversized_input_is_refused_quickly(body: bytes, content_type: str) -> None:
    with cpu_time() as seconds, contextlib.suppress(Fault):
        parse_payload(body, content_type)

    assert seconds[0] < 5


@given(st.binary(max_size=120), st.sampled_from(["application/json", CSV, FORM]))
def test_any_bytes_are_parsed_or_refused(body: bytes, content_type: str) -> None:
    with contextlib.suppress(Fault):
        assert isinstance(parse_payload(body, content_type), Payload)


VALUES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS


@given(st.lists(st.dictionaries(TEXTS, VALUES, max_size=4), max_size=4))
def test_json_round_trip(rows: list[Row]) -> None:
    finite = [{key: value for key, value in row.items() if value not in (math.inf, -math.inf)} for row in rows]

    assert parse_body(json.dumps(finite)).rows == finite

"""The query string parser over recorded query strings (`data/cases.json`) and random input."""

from __future__ import annotations

import contextlib
import json
import pathlib
from urllib.parse import quote, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engine.query.shape import NotEmbedded, Query
from models.types import Fault
from routes.postgrest.lexer import LIMITS, Limits, NumberOutOfRange, Unparsable
from routes.postgrest.querystring import pairs, parse
from tests.support.querystrings import words

CASES = json.loads((pathlib.Path(__file__).parents[1] / "data" / "cases.json").read_text("utf-8"))
FAULTS_BY_CODE = {"PGRST100": Unparsable, "PGRST108": NotEmbedded}
# -- recorded by PostgREST ----------------------------------------------------------------------


def recorded() -> list[object]:
    """Return each recorded query string of a table request, with the expected fault or None."""
    found: dict[str, str | None] = {}
    for case in CASES:
        url = urlsplit(case["path"])
        if "/rpc/" in url.path or not url.query:
            continue
        code = case["expect"].get("code")
        found.setdefault(url.query, code if code in (*FAULTS_BY_CODE, "22003") else None)
    found["select=id&order=inspections(id)"] = None  # whether that is embedded, the planner tells
    return [pytest.param(query, code, id=query) for query, code in found.items()]


@pytest.mark.parametrize(("query", "code"), recorded())
def test_recorded_query_strings_are_accepted_or_refused(query: str, code: str | None) -> None:
    query_string = query.encode()

    if code is None:
        assert isinstance(parse(query_string), Query)
    else:
        with pytest.raises({**FAULTS_BY_CODE, "22003": NumberOutOfRange}[code]):
            parse(query_string)


# -- pairs --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("encoded", "decoded"),
    [
        pytest.param(b"", [], id="nothing"),
        pytest.param(b"a=1&b=2", [("a", "1"), ("b", "2")], id="two"),
        pytest.param(b"a&b=", [("a", None), ("b", "")], id="no value, empty value"),
        pytest.param(b"a=1=2", [("a", "1=2")], id="an equals sign in a value"),
        pytest.param(b"a=1;b=2", [("a", "1;b=2")], id="a semicolon is no separator"),
        pytest.param(b"a+b=c+d", [("a b", "c d")], id="a plus is a space"),
        pytest.param(b"a=%2B%26%3D", [("a", "+&=")], id="escapes"),
        pytest.param(b"a=%zz%4", [("a", "%zz%4")], id="what is no escape stands for itself"),
        pytest.param("a=é".encode(), [("a", "é")], id="bare UTF-8"),
        pytest.param(b"a=%F0%9F%8F%A2", [("a", "\U0001f3e2")], id="four bytes"),
        pytest.param(b"a=%0d%0a", [("a", "\r\n")], id="line ends are values too"),
    ],
)
def test_pairs_are_decoded(encoded: bytes, decoded: list[tuple[str, str | None]]) -> None:
    assert pairs(encoded) == decoded


# -- properties ---------------------------------------------------------------------------------

WORDS = st.sampled_from(
    [
        *words("select order limit offset and or not columns on_conflict a b id eq in is like any"),
        *words('null ( ) , . & = " \\ { } * -> ->> : :: ! ... count() + %20 %ff %00 é - 1 desc ;'),
        *words("nullslast inner"),
    ]
)


@given(st.binary(max_size=200))
@example(b"\xed\xa0\x80=eq.1")
def test_any_bytes_are_parsed_or_refused(query_string: bytes) -> None:
    with contextlib.suppress(Fault):
        assert isinstance(parse(query_string), Query)


@given(st.lists(WORDS, max_size=40).map("".join))
def test_any_grammar_tokens_are_parsed_or_refused(text: str) -> None:
    try:
        query = parse(text.encode())
    except Fault:
        return

    assert query == parse(text.encode(), Limits(query_bytes=LIMITS.query_bytes))
    assert hash(query.shape) == query.shape.fingerprint


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=60))
def test_any_value_round_trips(value: str) -> None:
    quoted = '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'

    query = parse(
        f"a=eq.{quote(value, safe='')}&b=in.({quote(quoted, safe='')},x)"
        f"&c=eq(any).{{{quote(quoted, safe='')}}}&or=(d.eq.{quote(quoted, safe='')})".encode()
    )

    assert query.values == (value, (value, "x"), (value,), value)


def outcome(query_string: bytes, limits: Limits) -> object:
    try:
        return parse(query_string, limits)
    except Fault as fault:
        return type(fault), fault.message, fault.details, fault.hint


PARAMETERS = st.builds(
    "{}{}{}".format,
    st.sampled_from([*words("a= id= b.a= select= columns= on_conflict= order= limit= offset= and= a=x= ="), ""]),
    st.sampled_from([*words("eq. neq. not.eq. gt. gte. lt. lte. like. in. is. eq(any). not. eq eq.. gte.eq."), ""]),
    st.sampled_from([*words("1 -1 a-b blank0 blank1 null a.b (1) {1} a*b %31 + desc é 9223372036854775808"), ""]),
)


@given(st.lists(PARAMETERS, min_size=1, max_size=5).map("&".join))
@example("b=like.blank0&a=eq.1")
@example("a=eq.1&b=like.blank0")
@example("id=eq.&a=eq.x")
@example("select=a,b(a)&b.a=eq.1&a=not.gte.2&limit=1")
@example("a=eq." + "x" * 64 + "&b=eq." + "x" * 65)
@example("&".join(f"a=eq.{number}" for number in range(LIMITS.conditions + 1)))
def test_cached_template_holds_no_values(text: str) -> None:
    query_string = text.encode()
    anew = outcome(query_string, Limits(query_bytes=LIMITS.query_bytes))

    assert outcome(query_string, LIMITS) == anew
    assert outcome(query_string, LIMITS) == anew  # and again, from memory


def test_template_is_filled_with_other_values() -> None:
    first, second = (parse(b"select=a&a=eq.%d&limit=3" % number) for number in (1, 2))

    assert (first.values, second.values) == (("1", 3), ("2", 3))
    assert first.shape is second.shape

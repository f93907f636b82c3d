"""Prefer, Range, Accept: what is taken, what is ignored and what is refused. Pure room."""

from __future__ import annotations

import contextlib
import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.faults import Fault
from routes.postgrest.limits import NegativeLimit
from routes.postgrest.limits import NumberOutOfRange
from routes.postgrest.limits import UnsatisfiableRange
from routes.postgrest.media import DOCUMENT
from routes.postgrest.media import ROWS
from routes.postgrest.media import NotAcceptable
from routes.postgrest.preferences import Count
from routes.postgrest.preferences import Handling
from routes.postgrest.preferences import InvalidPreferences
from routes.postgrest.preferences import MediaType
from routes.postgrest.preferences import Missing
from routes.postgrest.preferences import Operation
from routes.postgrest.preferences import Preferences
from routes.postgrest.preferences import Resolution
from routes.postgrest.preferences import Return
from routes.postgrest.preferences import Transaction
from routes.postgrest.preferences import intersect
from routes.postgrest.preferences import parse_accept
from routes.postgrest.preferences import parse_prefer
from routes.postgrest.preferences import parse_range

CASES = json.loads((pathlib.Path(__file__).parent / "data" / "cases.json").read_text("utf-8"))
OPERATIONS = {
    "GET": Operation.READ,
    "HEAD": Operation.READ,
    "POST": Operation.INSERT,
    "PATCH": Operation.UPDATE,
    "PUT": Operation.UPSERT,
    "DELETE": Operation.DELETE,
}


def zones() -> frozenset[str]:
    return frozenset({"UTC", "America/New_York"})


# -- Prefer -------------------------------------------------------------------------------------

PREFERS: dict[str, Preferences] = {
    "": Preferences(),
    ",": Preferences(),
    "return=minimal": Preferences(representation=Return.MINIMAL),
    "return=headers-only": Preferences(representation=Return.HEADERS_ONLY),
    "return=representation": Preferences(representation=Return.REPRESENTATION),
    "count=exact": Preferences(count=Count.EXACT),
    "count=planned": Preferences(count=Count.PLANNED),
    "count=estimated": Preferences(count=Count.ESTIMATED),
    "resolution=merge-duplicates": Preferences(resolution=Resolution.MERGE_DUPLICATES),
    "resolution=ignore-duplicates": Preferences(resolution=Resolution.IGNORE_DUPLICATES),
    "missing=default": Preferences(missing=Missing.DEFAULT),
    "missing=null": Preferences(missing=Missing.NULL),
    "handling=strict": Preferences(handling=Handling.STRICT),
    "handling=lenient": Preferences(handling=Handling.LENIENT),
    "tx=commit": Preferences(transaction=Transaction.COMMIT),
    "tx=rollback": Preferences(transaction=Transaction.ROLLBACK),
    "timezone=America/New_York": Preferences(timezone="America/New_York"),
    "timezone=UTC ": Preferences(timezone="UTC"),
    "timezone=utc": Preferences(),
    "timezone=": Preferences(),
    "timezone=Nowhere/Land": Preferences(),
    "timezone=Nowhere/Land,timezone=UTC": Preferences(),
    "timezone=../../etc/passwd": Preferences(),
    "max-affected=0": Preferences(max_affected=0),
    "max-affected=12": Preferences(max_affected=12),
    "max-affected=-1": Preferences(),
    "max-affected=x,max-affected=2": Preferences(max_affected=2),
    "max-affected=" + "9" * 5000: Preferences(),
    "return=minimal,count=exact": Preferences(representation=Return.MINIMAL, count=Count.EXACT),
    " return=minimal ,\tcount=exact,": Preferences(
        representation=Return.MINIMAL, count=Count.EXACT
    ),
    "count=exact, count=planned": Preferences(count=Count.EXACT),
    "count=nope, count=planned": Preferences(count=Count.PLANNED),
    "foo=bar": Preferences(),
    "Count=exact": Preferences(),
    "count = exact": Preferences(),
    'count="exact"': Preferences(),
    "return=minimal;x": Preferences(),
    "params=single-object": Preferences(),
    "handling=strict, count=exact, max-affected=1": Preferences(
        count=Count.EXACT, handling=Handling.STRICT, max_affected=1
    ),
    "handling=strict,,": Preferences(handling=Handling.STRICT),
    "handling=lenient, handling=strict, foo": Preferences(handling=Handling.LENIENT),
    "handling=strict;x, foo": Preferences(),
}


@pytest.mark.parametrize(
    ("header", "preferences"), [pytest.param(*row, id=row[0][:60]) for row in PREFERS.items()]
)
def test_prefer_is_read_as(header: str, preferences: Preferences) -> None:
    assert parse_prefer([header], zones) == preferences


def test_several_headers_count_as_one() -> None:
    preferences = parse_prefer(["count=exact", "return=minimal, count=planned"], zones)

    assert preferences == Preferences(count=Count.EXACT, representation=Return.MINIMAL)
    assert parse_prefer([], zones) == Preferences()


@pytest.mark.parametrize(
    ("header", "details"),
    [
        ("handling=strict, foo=bar", "Invalid preferences: foo=bar"),
        ("foo, handling=strict,bar=1", "Invalid preferences: foo, bar=1"),
        ("handling=strict, count=nope", "Invalid preferences: count=nope"),
        ("handling=strict, timezone=Nope", "Invalid preferences: timezone=Nope"),
        ("handling=strict, timezone=UTC, foo", "Invalid preferences: foo"),
        ("handling=strict, timezone=UTC, timezone=X", "Invalid preferences: timezone=X"),
        ("handling=strict, max-affected=x", "Invalid preferences: max-affected=x"),
        ("handling=strict, max-affected=-1", "Invalid preferences: max-affected=-1"),
        ("handling=strict, params=single-object", "Invalid preferences: params=single-object"),
        ("handling=strict, handling=lenient, x", "Invalid preferences: x"),
    ],
)
def test_strict_handling_names_what_nobody_knows(header: str, details: str) -> None:
    with pytest.raises(InvalidPreferences) as refused:
        parse_prefer([header], zones)

    assert refused.value.message == "Invalid preferences given with handling=strict"
    assert refused.value.details == details


def test_time_zones_are_those_of_the_machine_unless_told() -> None:
    assert parse_prefer(["timezone=America/New_York"]).timezone == "America/New_York"
    assert parse_prefer(["timezone=posixrules/.."]).timezone is None


EVERYTHING = (
    "max-affected=3, timezone=UTC, handling=strict, tx=rollback, count=exact, return=minimal,"
    " missing=default, resolution=merge-duplicates"
)


COMMON = "count=exact, tx=rollback, handling=strict, timezone=UTC"


@pytest.mark.parametrize(
    ("operation", "applied"),
    [
        (Operation.READ, COMMON),
        (
            Operation.INSERT,
            f"resolution=merge-duplicates, missing=default, return=minimal, {COMMON}",
        ),
        (Operation.UPDATE, f"missing=default, return=minimal, {COMMON}, max-affected=3"),
        (Operation.UPSERT, f"return=minimal, {COMMON}"),
        (Operation.DELETE, f"return=minimal, {COMMON}, max-affected=3"),
        (Operation.CALL, f"{COMMON}, max-affected=3"),
    ],
)
def test_only_what_was_honoured_is_told(operation: Operation, applied: str) -> None:
    assert parse_prefer([EVERYTHING], zones).applied(operation) == applied


@pytest.mark.parametrize("operation", Operation)
def test_nothing_is_told_when_nothing_was_asked(operation: Operation) -> None:
    assert parse_prefer(["foo=bar"], zones).applied(operation) is None


def test_max_affected_is_not_honoured_leniently() -> None:
    assert parse_prefer(["max-affected=1"], zones).applied(Operation.DELETE) is None


def recorded() -> list[object]:
    """List every distinct (method, Prefer) that was answered well, with what the answer told."""
    found = {}
    for case in CASES:
        prefer = case["headers"].get("Prefer")
        if prefer and case["expect"]["status"] < 300 and "/rpc/" not in case["path"]:
            told = case["expect"]["headers"].get("preference-applied")
            found[case["method"], prefer] = told
    return [pytest.param(*key, told, id=" ".join(key)) for key, told in found.items()]


@pytest.mark.parametrize(("method", "prefer", "told"), recorded())
def test_preference_applied_is_as_recorded(method: str, prefer: str, told: str | None) -> None:
    assert parse_prefer([prefer]).applied(OPERATIONS[method]) == told


@given(st.text(max_size=80))
def test_any_prefer_is_read_or_refused(header: str) -> None:
    with contextlib.suppress(InvalidPreferences):
        assert isinstance(parse_prefer([header], zones), Preferences)


# -- Range --------------------------------------------------------------------------------------

EVERY_ROW = (0, None)


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
def test_range_is_read_as(header: str | None, method: str, window: tuple[int, int | None]) -> None:
    assert parse_range(header, method) == window


def test_a_range_that_ends_before_it_begins_is_refused() -> None:
    with pytest.raises(UnsatisfiableRange) as refused:
        parse_range("3-2", "GET")

    assert refused.value.message == "Requested range not satisfiable"
    assert refused.value.details == (
        "The lower boundary must be lower than or equal to the upper boundary in the Range header."
    )


@pytest.mark.parametrize(
    "header", ["9223372036854775808-", "0-9223372036854775807", "0-99999999999999999999"]
)
def test_a_range_beyond_every_row_is_out_of_range(header: str) -> None:
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
def test_range_and_limit_hold_both(
    asked: tuple[int, int | None], window: tuple[int, int | None]
) -> None:
    assert intersect((1, 3), asked) == window


def test_without_a_range_the_query_decides() -> None:
    assert intersect(EVERY_ROW, (4, 2)) == (4, 2)
    assert intersect((2, None), EVERY_ROW) == (2, None)


@pytest.mark.parametrize("header", [EVERY_ROW, (1, 3)])
def test_a_limit_of_zero_begins_at_the_first_row(header: tuple[int, int | None]) -> None:
    with pytest.raises(NegativeLimit):
        intersect(header, (3, 0))


@pytest.mark.parametrize("asked", [(5, None), (9, 2), (0, 1)])
def test_range_and_limit_without_a_row_in_common_are_refused(asked: tuple[int, int | None]) -> None:
    with pytest.raises(NegativeLimit):
        intersect((1, 3), asked)


@given(st.text(alphabet="0123456789- ,=x", max_size=30), st.sampled_from(sorted(OPERATIONS)))
def test_any_range_is_read_or_refused(header: str, method: str) -> None:
    with contextlib.suppress(Fault):
        offset, limit = parse_range(header, method)

        assert offset >= 0
        assert limit is None or limit > 0


# -- Accept -------------------------------------------------------------------------------------

JSON, OBJECT, CSV = MediaType.JSON, MediaType.OBJECT, MediaType.CSV
OBJECT_STRIPPED, ARRAY_STRIPPED = MediaType.OBJECT_STRIPPED, MediaType.ARRAY_STRIPPED

ACCEPTS: dict[str | None, MediaType] = {
    None: JSON,
    "": JSON,
    ",": JSON,
    "*/*": JSON,
    "*/*;q=0": JSON,
    "application/json": JSON,
    "Application/JSON": JSON,
    "application/json;charset=utf-8": JSON,
    "application/json ; charset=utf-8": JSON,
    "application/json;q=abc": JSON,
    "application/vnd.pgrst.object+json": OBJECT,
    "application/vnd.pgrst.object": OBJECT,
    "application/vnd.pgrst.object+json;charset=utf-8": OBJECT,
    "application/vnd.pgrst.object+json;nulls=other": OBJECT,
    "application/vnd.pgrst.object+json;nulls=stripped": OBJECT_STRIPPED,
    "application/vnd.pgrst.object+json; nulls=stripped": OBJECT_STRIPPED,
    "application/vnd.pgrst.object;nulls=stripped": OBJECT_STRIPPED,
    "application/vnd.pgrst.array+json": JSON,
    "application/vnd.pgrst.array": JSON,
    "application/vnd.pgrst.array+json;nulls=stripped": ARRAY_STRIPPED,
    "application/vnd.pgrst.array;nulls=stripped": ARRAY_STRIPPED,
    "application/vnd.pgrst.array+json;nulls=stripped;q=0.5, application/json;q=0.4": ARRAY_STRIPPED,
    "text/csv": CSV,
    "text/csv;q=0": CSV,
    "image/png, */*": JSON,
    "text/html, application/json;q=0.9": JSON,
    "text/html, */*;q=0.1": JSON,
    "text/csv, application/json": CSV,
    "application/json, text/csv": JSON,
    "*/*, text/csv": CSV,
    "text/csv, */*": CSV,
    "text/csv;q=0.5, application/json": JSON,
    "text/csv;q=0.5, application/json;q=0.4": CSV,
    "text/csv;Q=0.5, application/json;q=0.6": JSON,
    "text/csv, application/json;x=1": JSON,
    "text/csv;q=0.1;x=1, application/json;q=0.2": JSON,
    "application/json;q=0.5, application/vnd.pgrst.object+json;q=0.5": JSON,
    "text/html,": JSON,
}


@pytest.mark.parametrize(
    ("accept", "media"), [pytest.param(*row, id=str(row[0])) for row in ACCEPTS.items()]
)
def test_accept_is_read_as(accept: str | None, media: MediaType) -> None:
    assert parse_accept(accept) is media


@pytest.mark.parametrize(
    ("accept", "message"),
    [
        ("text/html", "text/html"),
        ("text/html;level=1, image/png;q=0.2", "text/html, image/png"),
        ("image/png;q=0.2,text/html", "text/html, image/png"),
        ("application/*", "application/*"),
        ("text/*", "text/*"),
        ("json", "json"),
        ("application/xml", "application/xml"),
        ("text/plain", "text/plain"),
        ("application/geo+json", "application/geo+json"),
        ("application/openapi+json", "application/openapi+json"),
        ("application/x-www-form-urlencoded", "application/x-www-form-urlencoded"),
        (
            'application/vnd.pgrst.plan+text; for="application/json"; options=;',
            "application/vnd.pgrst.plan+text",
        ),
    ],
)
def test_what_is_not_offered_is_named(accept: str, message: str) -> None:
    with pytest.raises(NotAcceptable) as refused:
        parse_accept(accept)

    assert refused.value.message == f"None of these media types are available: {message}"


@pytest.mark.parametrize(
    ("accept", "media"),
    [
        (None, MediaType.OPENAPI),
        ("*/*", MediaType.OPENAPI),
        ("application/openapi+json", MediaType.OPENAPI),
        ("application/json", MediaType.JSON),
        ("text/csv, application/json;q=0.1", MediaType.JSON),
    ],
)
def test_the_root_offers_its_document(accept: str | None, media: MediaType) -> None:
    assert parse_accept(accept, DOCUMENT) is media


@pytest.mark.parametrize("accept", ["text/csv", "application/vnd.pgrst.object+json"])
def test_the_root_offers_nothing_else(accept: str) -> None:
    with pytest.raises(NotAcceptable):
        parse_accept(accept, DOCUMENT)


@given(st.text(max_size=80))
def test_any_accept_is_read_or_refused(accept: str) -> None:
    with contextlib.suppress(NotAcceptable):
        assert parse_accept(accept) in ROWS

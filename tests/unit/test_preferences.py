"""The Prefer header: applied, ignored and refused preferences."""

from __future__ import annotations

import contextlib
import json
import pathlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.types import UnknownTimezone
from routes.postgrest.preferences import (
    Count,
    Handling,
    InvalidPreferences,
    Missing,
    Operation,
    Preferences,
    Resolution,
    Return,
    TransactionEnd,
    parse_prefer,
)

CASES = json.loads((pathlib.Path(__file__).parents[1] / "data" / "cases.json").read_text("utf-8"))
OPERATIONS = {
    "GET": Operation.READ,
    "HEAD": Operation.READ,
    "POST": Operation.INSERT,
    "PATCH": Operation.UPDATE,
    "PUT": Operation.UPSERT,
    "DELETE": Operation.DELETE,
}


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
    "tx=commit": Preferences(transaction=TransactionEnd.COMMIT),
    "tx=rollback": Preferences(transaction=TransactionEnd.ROLLBACK),
    "timezone=America/New_York": Preferences(timezone="America/New_York"),
    "timezone=UTC ": Preferences(timezone="UTC"),
    "timezone=-4": Preferences(timezone="-4"),
    "timezone=+05:30": Preferences(timezone="+05:30"),
    "timezone=utc": Preferences(timezone="UTC"),
    "timezone=aMERICA/nEW_yORK": Preferences(timezone="America/New_York"),
    "timezone=UTC,timezone=Nowhere/Land": Preferences(timezone="UTC"),
    "handling=strict, timezone=UTC, timezone=X": Preferences(handling=Handling.STRICT, timezone="UTC"),
    "max-affected=0": Preferences(max_affected=0),
    "max-affected=12": Preferences(max_affected=12),
    "max-affected=-1": Preferences(),
    "max-affected=x,max-affected=2": Preferences(max_affected=2),
    "max-affected=" + "9" * 5000: Preferences(),
    "return=minimal,count=exact": Preferences(representation=Return.MINIMAL, count=Count.EXACT),
    " return=minimal ,\tcount=exact,": Preferences(representation=Return.MINIMAL, count=Count.EXACT),
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


@pytest.mark.parametrize(("header", "preferences"), [pytest.param(*row, id=row[0][:60]) for row in PREFERS.items()])
def test_prefer_header_is_parsed(header: str, preferences: Preferences) -> None:
    assert parse_prefer(header) == preferences


def test_repeated_prefer_headers_are_combined() -> None:
    preferences = parse_prefer("count=exact,return=minimal, count=planned")

    assert preferences == Preferences(count=Count.EXACT, representation=Return.MINIMAL)
    assert parse_prefer("") == Preferences()


@pytest.mark.parametrize(
    ("header", "details"),
    [
        ("handling=strict, foo=bar", "Invalid preferences: foo=bar"),
        ("foo, handling=strict,bar=1", "Invalid preferences: foo, bar=1"),
        ("handling=strict, count=nope", "Invalid preferences: count=nope"),
        ("handling=strict, timezone=UTC, foo", "Invalid preferences: foo"),
        ("handling=strict, timezone=Nope, foo", "Invalid preferences: foo"),
        ("handling=strict, max-affected=x", "Invalid preferences: max-affected=x"),
        ("handling=strict, max-affected=-1", "Invalid preferences: max-affected=-1"),
        ("handling=strict, params=single-object", "Invalid preferences: params=single-object"),
        ("handling=strict, handling=lenient, x", "Invalid preferences: x"),
    ],
)
def test_strict_handling_names_unknown_preferences(header: str, details: str) -> None:
    with pytest.raises(InvalidPreferences) as refused:
        parse_prefer(header)

    assert refused.value.message == "Invalid preferences given with handling=strict"
    assert refused.value.details == details


@pytest.mark.parametrize("handling", ["", "handling=lenient, ", "handling=strict, "])
@pytest.mark.parametrize(
    "name", ["", "Nowhere/Land", "+16", "+0530", "+05:60", "<+05>-5", "1e1", "٤", "../../etc/passwd"]
)
def test_unknown_time_zone_is_refused(handling: str, name: str) -> None:
    """Timestamps in a wrong zone would look valid."""
    with pytest.raises(UnknownTimezone) as refused:
        parse_prefer(f"{handling}timezone={name}, timezone=UTC")

    assert refused.value.message == f'invalid value for parameter "TimeZone": "{name}"'


def test_time_zones_are_the_systems() -> None:
    assert parse_prefer("timezone=America/New_York").timezone == "America/New_York"
    with pytest.raises(UnknownTimezone):
        parse_prefer("timezone=posixrules/..")


EVERYTHING = (
    "max-affected=3, timezone=UTC, handling=strict, tx=rollback, count=exact, return=minimal,"
    " missing=default, resolution=merge-duplicates"
)


COMMON = "count=exact, tx=rollback, handling=strict, timezone=UTC"


@pytest.mark.parametrize(
    ("operation", "applied"),
    [
        (Operation.READ, COMMON),
        (Operation.INSERT, f"resolution=merge-duplicates, missing=default, return=minimal, {COMMON}, max-affected=3"),
        (Operation.UPDATE, f"missing=default, return=minimal, {COMMON}, max-affected=3"),
        (Operation.UPSERT, f"return=minimal, {COMMON}, max-affected=3"),
        (Operation.DELETE, f"return=minimal, {COMMON}, max-affected=3"),
        (Operation.CALL, f"{COMMON.removesuffix(', timezone=UTC')}, max-affected=3"),
    ],
)
def test_preference_applied_lists_honoured_preferences(operation: Operation, applied: str) -> None:
    assert parse_prefer(EVERYTHING).applied(operation) == applied


@pytest.mark.parametrize("operation", Operation)
def test_no_preference_gives_no_preference_applied(operation: Operation) -> None:
    assert parse_prefer("foo=bar").applied(operation) is None


def test_lenient_max_affected_is_not_applied() -> None:
    assert parse_prefer("max-affected=1").applied(Operation.DELETE) is None


def recorded() -> list[object]:
    """Return each recorded method and Prefer header of a successful response, with its Preference-Applied."""
    found = {}
    for case in CASES:
        prefer = case["headers"].get("Prefer")
        if prefer and case["expect"]["status"] < 300 and "/rpc/" not in case["path"]:
            expected = case["expect"]["headers"].get("preference-applied")
            found[case["method"], prefer] = expected
    return [pytest.param(*key, expected, id=" ".join(key)) for key, expected in found.items()]


@pytest.mark.parametrize(("method", "prefer", "expected"), recorded())
def test_preference_applied_matches_recorded_responses(method: str, prefer: str, expected: str | None) -> None:
    assert parse_prefer(prefer).applied(OPERATIONS[method]) == expected


@given(st.text(max_size=80))
def test_any_prefer_header_is_parsed_or_refused(header: str) -> None:
    with contextlib.suppress(InvalidPreferences, UnknownTimezone):
        assert isinstance(parse_prefer(header), Preferences)

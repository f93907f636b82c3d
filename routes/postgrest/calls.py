"""Function calls: parses the arguments and renders the result.

`access/predicates.py` describes the parameters. Nothing here knows a function by name.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from access.decorators import Function
from access.predicates import PREFIX, unprefixed
from engine.query.catalog import UnknownColumn
from models.types import Fault
from routes.postgrest.lexer import LIMITS, ParseState, TooManyNames, Unparsable, excerpt, parse_array
from routes.postgrest.payload import InvalidPayload, parse_payload
from routes.postgrest.preferences import Handling, MediaType, Operation, Preferences, parse_content_type
from routes.postgrest.querystring import pairs, parse_filter
from routes.postgrest.representation import (
    STRIPPED,
    MethodNotAllowed,
    Representation,
    applied,
    cell,
    content_headers,
    content_range,
    without_nulls,
)
from routes.postgrest.selection import parse_names

Arguments = dict[str, Any]
"""Values by parameter name without `p_`. Absent arguments have no entry."""

RESERVED_PARAMETERS: Final = frozenset({"select", "order", "limit", "offset", "columns", "on_conflict"})
"""Query parameters that are not arguments. Client libraries send them with any call."""
ABSENT_TEXTS: Final = frozenset({"", "null"})
"""Texts of an absent value in a query string: Python's client sends "", JavaScript's sends "null"."""
NULL_BODY: Final = b"null"
"""The body of a call without arguments from Dart's client, and from JavaScript's for null."""
NAME_CHARACTERS_MAX: Final = 64
"""Longer names are cut before they are compared with function names. PostgreSQL's names are no longer."""
LIKENESS_MIN: Final = 0.75
"""The minimum similarity of a name to a suggestion, as in PostgREST."""
SCALAR: Final = "pgrst_scalar"
"""PostgREST's column name for a scalar result."""


class UnknownFunction(Fault, code="PGRST202"):
    """No function has this name and these parameters."""

    def __init__(self, name: str, call: CallInput, hint: str | None) -> None:
        named = excerpt(f"public.{name}")
        names = sorted(call.values)
        listed = excerpt(", ".join(names))
        called = f"{named}({listed})" if names else f"{named} without parameters"
        searched = f"with parameter{'s' * (len(names) > 1)} {listed}" if names else "without parameters"
        if call.as_json:
            searched += " or with a single unnamed json/jsonb parameter"
        super().__init__(
            f"Could not find the function {called} in the schema cache",
            f"Searched for the function {named} {searched}, but no matches were found in the schema cache.",
            hint,
        )


class ConflictingArguments(Fault, code="22023"):
    """A parameter with and without `p_`, with different values."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f'the parameter "{name}" is given twice with different values',
            hint=f'Give either "{name}" or "{PREFIX}{name}".',
        )


class MethodCannotCall(MethodNotAllowed, code="PGRST101"):
    """A method that cannot call the function."""

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        super().__init__(method, allowed)
        self.message = f"Cannot use the {method} method on RPC"


class MaxAffectedOnScalar(Fault, code="PGRST128"):
    """A strict max-affected preference on a function that returns no rows."""

    def __init__(self) -> None:
        super().__init__(
            "Function must return SETOF or TABLE when max-affected preference is used with handling=strict"
        )


# Arguments


@dataclass(frozen=True, slots=True)
class CallInput:
    """The arguments of a call as they were sent.

    `absent` are the values that mean "not given". `filters` are names in the query that filter the result.
    """

    values: Mapping[str, object]
    absent: frozenset[object] = frozenset({None})
    as_json: bool = False
    filters: tuple[str, ...] = ()


def read_query(query_string: bytes) -> CallInput:
    """Return the arguments in a query string.

    As in PostgREST, the last of a repeated parameter applies, and a value in filter syntax is a filter.

    >>> read_query(b"id=1&select=name&id=2&flag").values
    {'id': '2'}
    >>> read_query(b"id=1&city=eq.Boston").filters
    ('city',)
    """
    parameters_sent = call_parameters(query_string)
    filters = tuple(key for key, value in parameters_sent.items() if reads_as_filter(key, value))
    values = {key: value for key, value in parameters_sent.items() if key not in filters}
    return CallInput(values, ABSENT_TEXTS, filters=filters)


def call_parameters(query_string: bytes) -> dict[str, str]:
    """Return the query's parameters except the reserved ones; raise TooManyNames."""
    sent = {key: value for key, value in pairs(query_string) if value is not None and key not in RESERVED_PARAMETERS}
    if len(sent) > LIMITS.payload_columns:
        raise TooManyNames(LIMITS.payload_columns)
    return sent


def reads_as_filter(name: str, text: str) -> bool:
    try:
        parse_filter(name, (), text, ParseState(LIMITS))
    except Unparsable:
        return False
    return True


def read_body(name: str, body: bytes, content_type: str | None, query_string: bytes) -> CallInput:
    """Return the arguments in a body, which may be empty, limited to `columns` if that is given.

    Other query parameters are filters on the result. A scalar has no columns, so they raise UnknownColumn.

    >>> read_body("f", b'{"id": 1}', "application/json", b"select=*").values
    {'id': 1}
    >>> read_body("f", b"null", "application/json", b"").values
    {}
    >>> read_body("f", b'{"id": 1, "name": "x"}', "application/json", b"columns=id").values
    {'id': 1}
    >>> read_body("f", b"", None, b"id=eq.1")
    Traceback (most recent call last):
    engine.query.catalog.UnknownColumn: column f.id does not exist
    """
    for key, value in call_parameters(query_string).items():
        parse_filter(key, (), value, ParseState(LIMITS))
        raise no_column(name, key)
    media = parse_content_type(content_type)
    as_json = media is MediaType.JSON
    selected = column_names(query_string)
    if not body.strip() or (as_json and body.strip() == NULL_BODY):
        return CallInput(dict.fromkeys(selected or ()), as_json=as_json)
    payload = parse_payload(body, content_type)
    if payload.is_array:
        # Differs from PostgREST 12, which uses the first object of an array.
        raise InvalidPayload("A JSON object is expected")
    row = payload.rows[0]
    values = row if selected is None else {name: row.get(name) for name in selected}
    return CallInput(values, frozenset({None}) if as_json else ABSENT_TEXTS, as_json)


def column_names(query_string: bytes) -> tuple[str, ...] | None:
    """Return the names in the first `columns` parameter; None if it is absent or empty."""
    parameters_sent = (value for key, value in pairs(query_string) if key == "columns")
    text = next(parameters_sent, None)
    return parse_names("columns", text, LIMITS) if text else None


def read_arguments(function: Function[..., Any], call: CallInput) -> Arguments:
    """Return the function's arguments without `p_`; raise UnknownFunction if the names do not match its parameters."""
    parameters = function.schema.fields
    required = {name for name, parameter in parameters.items() if parameter.required}
    names = {unprefixed(key) for key in call.values if is_spelling(key, function)}
    if not required <= names or not all(is_spelling(key, function) for key in call.values):
        raise UnknownFunction(function.name, call, f"Perhaps you meant to call the function {function}")
    for name in call.filters:
        raise no_column(function.name, name)
    present = {
        key: value
        for key, value in call.values.items()
        if parameters[unprefixed(key)].required or not is_absent(value, call.absent)
    }
    plain = deserialize(function, {key: present[key] for key in present if not key.startswith(PREFIX)})
    prefixed = deserialize(function, {unprefixed(key): present[key] for key in present if key.startswith(PREFIX)})
    for name in plain.keys() & prefixed.keys():
        if plain[name] != prefixed[name]:
            raise ConflictingArguments(name)
    return plain | prefixed


def no_column(function: str, name: str) -> UnknownColumn:
    return UnknownColumn(f"column {function}.{excerpt(name)} does not exist")


def is_spelling(key: str, function: Function[..., Any]) -> bool:
    """Return whether a key is a parameter's name, with or without `p_`."""
    return key in function.schema.fields or (key.startswith(PREFIX) and unprefixed(key) in function.schema.fields)


def is_absent(value: object, absent: frozenset[object]) -> bool:
    return (value is None or isinstance(value, str)) and value in absent


def deserialize(function: Function[..., Any], values: dict[str, object]) -> Arguments:
    arrays = {name for name, each in function.parameters.items() if each.is_array}
    arrays = set(map(unprefixed, arrays))
    read = {name: read_array(value) if name in arrays else value for name, value in values.items()}
    loaded: Arguments = function.schema.load(read, partial=True)
    return loaded


def read_array(value: object) -> object:
    """Return the values of an array literal, which a query string holds; other values as they are."""
    return list(parse_array(value, LIMITS)) if isinstance(value, str) else value


# The result


def refuse_max_affected(preferences: Preferences) -> None:
    """Raise MaxAffectedOnScalar for a strict max-affected preference, which a scalar cannot honour."""
    if preferences.handling is Handling.STRICT and preferences.max_affected is not None:
        raise MaxAffectedOnScalar


def represent(value: object, media: MediaType, preferences: Preferences) -> Representation:
    """Return the representation of a scalar: one row with one column, as in PostgREST.

    >>> represent(True, MediaType.JSON, Preferences())
    Representation(status=200, headers={'Content-Range': '0-0/*', \
'Content-Type': 'application/json; charset=utf-8'}, body='true')
    >>> represent({"a": 1}, MediaType.CSV, Preferences()).body
    'pgrst_scalar\\n"{""a"": 1}"'
    """
    headers = {
        "Content-Range": content_range(0, 1, None if preferences.count is None else 1),
        **content_headers(media),
        **applied(preferences, Operation.CALL),
    }
    if media is MediaType.CSV:
        return Representation(200, headers, f"{SCALAR}\n{cell(value)}")
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return Representation(200, headers, without_nulls(text) if media in STRIPPED else text)

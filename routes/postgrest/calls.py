"""Calls: from names and values, however they were sent, to a function's arguments; then its answer.

What a function takes is its signature (`signatures.py`). Knows no function by name.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any
from typing import Final

from engine.query.catalog import UnknownColumn
from models.errors import Fault
from routes.postgrest.conditions import parse_filter
from routes.postgrest.lexer import Reading
from routes.postgrest.lexer import Unparsable
from routes.postgrest.limits import LIMITS
from routes.postgrest.limits import excerpt
from routes.postgrest.media import MediaType
from routes.postgrest.media import parse_content_type
from routes.postgrest.payload import InvalidPayload
from routes.postgrest.payload import parse_payload
from routes.postgrest.preferences import Handling
from routes.postgrest.preferences import Operation
from routes.postgrest.preferences import Preferences
from routes.postgrest.querystring import pairs
from routes.postgrest.representation import STRIPPED
from routes.postgrest.representation import Representation
from routes.postgrest.representation import applied
from routes.postgrest.representation import cell
from routes.postgrest.representation import content_headers
from routes.postgrest.representation import content_range
from routes.postgrest.representation import stripped
from routes.postgrest.requests import MethodNotAllowed
from routes.postgrest.selection import parse_names
from routes.postgrest.signatures import PREFIX
from routes.postgrest.signatures import Signature
from routes.postgrest.signatures import bare

Arguments = dict[str, Any]
"""Values by parameter, without `p_`; what is absent is not in it."""

WORDS_OF_THE_DIALECT: Final = frozenset(
    {"select", "order", "limit", "offset", "columns", "on_conflict"}
)
"""No parameters: consumers send them with any call, and none of them changes a single value."""
NO_TEXTS: Final = frozenset({"", "null"})
"""How consumers put an absent value into a query string: Python's nothing, JavaScript's null."""
NOTHING: Final = b"null"
"""What Dart's client, and JavaScript's where it is told null, send with a call that has no arguments."""
NAME_CHARACTERS_MAX: Final = 64
"""Of a name that is compared with those of functions; PostgreSQL's are no longer."""
LIKENESS_MIN: Final = 0.75
"""Of a name to the one that may have been meant, as PostgREST has it."""
SCALAR: Final = "pgrst_scalar"
"""What PostgREST calls the one column of a single value."""


class UnknownFunction(Fault):
    """No function of that name takes parameters of these names (PGRST202)."""

    def __init__(self, name: str, sent: Sent, hint: str | None) -> None:
        named = excerpt(f"public.{name}")
        names = sorted(sent.given)
        listed = excerpt(", ".join(names))
        called = f"{named}({listed})" if names else f"{named} without parameters"
        searched = (
            f"with parameter{'s' * (len(names) > 1)} {listed}" if names else "without parameters"
        )
        if sent.as_json:
            searched += " or with a single unnamed json/jsonb parameter"
        super().__init__(
            f"Could not find the function {called} in the schema cache",
            f"Searched for the function {named} {searched}, but no matches were found in the schema cache.",
            hint,
        )


class ConflictingArguments(Fault):
    """One parameter in both its spellings, with different values (22023)."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f'the parameter "{name}" is given twice with different values',
            hint=f'Give either "{name}" or "{PREFIX}{name}".',
        )


class MethodCannotCall(MethodNotAllowed):
    """A method by which a function cannot be called (PGRST101)."""

    def __init__(self, method: str, allowed: Iterable[str]) -> None:
        super().__init__(method, allowed)
        self.message = f"Cannot use the {method} method on RPC"


class NoRowsToBound(Fault):
    """A strict max-affected for a function that returns no rows (PGRST128)."""

    def __init__(self) -> None:
        super().__init__(
            "Function must return SETOF or TABLE when max-affected preference is used with "
            "handling=strict"
        )


# Arguments


@dataclass(frozen=True, slots=True)
class Sent:
    """Names and values as they came; `absent` are the values that stand for none, `filters` the names
    beside them that filter the answer."""

    given: Mapping[str, object]
    absent: frozenset[object] = frozenset({None})
    as_json: bool = False
    filters: tuple[str, ...] = ()


def read_query(query_string: bytes) -> Sent:
    """The arguments in a query string; of one that repeats the last counts, as in PostgREST, and what
    reads as a filter is one.

    >>> read_query(b"id=1&select=name&id=2&flag").given
    {'id': '2'}
    >>> read_query(b"id=1&city=eq.Boston").filters
    ('city',)
    """
    said = words(query_string)
    filters = tuple(key for key, value in said.items() if reads_as_filter(key, value))
    given = {key: value for key, value in said.items() if key not in filters}
    return Sent(given, NO_TEXTS, filters=filters)


def words(query_string: bytes) -> dict[str, str]:
    """What a query string says in other words than the dialect's own."""
    return {
        key: value
        for key, value in pairs(query_string)
        if value is not None and key not in WORDS_OF_THE_DIALECT
    }


def reads_as_filter(name: str, text: str) -> bool:
    try:
        parse_filter(name, (), text, Reading(LIMITS))
    except Unparsable:
        return False
    return True


def read_body(name: str, body: bytes, content_type: str | None, query_string: bytes) -> Sent:
    """The arguments in a body, which may be empty; those that `columns` chooses, if it is there. What else stands in
    the query are filters on the answer, and a single value has no columns to filter by.

    >>> read_body("f", b'{"id": 1}', "application/json", b"select=*").given
    {'id': 1}
    >>> read_body("f", b"null", "application/json", b"").given
    {}
    >>> read_body("f", b'{"id": 1, "name": "x"}', "application/json", b"columns=id").given
    {'id': 1}
    >>> read_body("f", b"", None, b"id=eq.1")
    Traceback (most recent call last):
    engine.query.catalog.UnknownColumn: column f.id does not exist
    """
    for key, value in words(query_string).items():
        parse_filter(key, (), value, Reading(LIMITS))
        raise no_column(name, key)
    media = parse_content_type(content_type)
    as_json = media is MediaType.JSON
    chosen = chosen_names(query_string)
    if not body.strip() or (as_json and body.strip() == NOTHING):
        return Sent(dict.fromkeys(chosen or ()), as_json=as_json)
    payload = parse_payload(body, content_type)
    if payload.is_array:
        # Differs from PostgREST 12, which takes the first object of an array.
        raise InvalidPayload("A JSON object is expected")
    row = payload.rows[0]
    given = row if chosen is None else {name: row.get(name) for name in chosen}
    return Sent(given, frozenset({None}) if as_json else NO_TEXTS, as_json)


def chosen_names(query_string: bytes) -> tuple[str, ...] | None:
    """The names in `columns`, of which the first counts; None if it is not there, or empty."""
    said = (value for key, value in pairs(query_string) if key == "columns")
    text = next(said, None)
    return parse_names("columns", text, LIMITS) if text else None


def read_arguments(signed: Signature, sent: Sent) -> Arguments:
    """The function's arguments, or UnknownFunction where it takes no parameters of these names."""
    parameters = signed.schema.fields
    required = {name for name, parameter in parameters.items() if parameter.required}
    named = {bare(key) for key in sent.given if is_spelling(key, signed)}
    if not required <= named or not all(is_spelling(key, signed) for key in sent.given):
        raise UnknownFunction(signed.name, sent, f"Perhaps you meant to call the function {signed}")
    for name in sent.filters:
        raise no_column(signed.name, name)
    present = {
        key: value
        for key, value in sent.given.items()
        if parameters[bare(key)].required or not is_absent(value, sent.absent)
    }
    plain = load(signed, {key: present[key] for key in present if not key.startswith(PREFIX)})
    prefixed = load(signed, {bare(key): present[key] for key in present if key.startswith(PREFIX)})
    for name in plain.keys() & prefixed.keys():
        if plain[name] != prefixed[name]:
            raise ConflictingArguments(name)
    return plain | prefixed


def no_column(function: str, name: str) -> UnknownColumn:
    return UnknownColumn(f"column {function}.{excerpt(name)} does not exist")


def is_spelling(key: str, signed: Signature) -> bool:
    """Whether a key is one of the two names of a parameter."""
    return key in signed.schema.fields or (
        key.startswith(PREFIX) and bare(key) in signed.schema.fields
    )


def is_absent(value: object, absent: frozenset[object]) -> bool:
    return (value is None or isinstance(value, str)) and value in absent


def load(signed: Signature, given: dict[str, object]) -> Arguments:
    loaded: Arguments = signed.schema.load(given, partial=True)
    return loaded


# The answer


def require_no_bound(preferences: Preferences) -> None:
    """Refuse to be bound in rows; to ignore it would let through what was meant to be stopped."""
    if preferences.handling is Handling.STRICT and preferences.max_affected is not None:
        raise NoRowsToBound


def represent(value: object, media: MediaType, preferences: Preferences) -> Representation:
    """One value, which is always one row of one column, as PostgREST has it.

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
    return Representation(200, headers, stripped(text) if media in STRIPPED else text)


def as_json(answered: object) -> object:
    """What a function answers as a JSON value: dataclasses by their fields, in order.

    `dataclasses.asdict` copies all that they hold, too, and takes several times as long.
    """
    if isinstance(answered, list | tuple):
        return [as_json(each) for each in answered]
    kind: Any = type(answered)
    names = field_names(kind)
    if names is None:
        return answered
    return {name: as_json(getattr(answered, name)) for name in names}


@cache
def field_names(kind: Any) -> tuple[str, ...] | None:
    """The fields of a dataclass; None for any other type."""
    if not dataclasses.is_dataclass(kind):
        return None
    return tuple(each.name for each in dataclasses.fields(kind))

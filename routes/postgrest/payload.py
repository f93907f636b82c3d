"""Parses a write's body, JSON, CSV or form, into rows of plain values.

Columns and types are checked later, and middleware limits the size. Any bytes give rows or a `Fault`.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from models.errors import Fault
from models.spreadsheets import BYTE_ORDER_MARK
from models.types import has_vanished
from routes.postgrest.csv import parse_csv
from routes.postgrest.encoding import Undecodable, decode_pairs, decode_utf8
from routes.postgrest.limits import LIMITS, LimitExceeded, Limits, NumberOutOfRange, TooManyNames, excerpt
from routes.postgrest.media import MediaType, parse_content_type

Row = dict[str, object]

NO_JSON = "Empty or invalid json"
NO_OBJECTS = "A JSON object or an array of JSON objects is expected"
SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")  # NUL or a lone surrogate


class InvalidPayload(Fault):
    """A body that is not a list of rows."""


class KeysDiffer(Fault):
    """Objects of one array with different keys, without `columns`. `keys` are the first row's."""

    def __init__(self, keys: tuple[str, ...], rows: list[Row]) -> None:
        number, row = next((number, row) for number, row in enumerate(rows, 1) if row.keys() != set(keys))
        column = min(row.keys() ^ set(keys))
        super().__init__(
            "All object keys must match",
            f"row {number}, column {excerpt(column)}: "
            + ("the row has no such key" if column in keys else "the first row has no such key"),
        )


class UntranslatableText(Fault):
    """A JSON escape for NUL, which PostgreSQL's text cannot hold."""

    def __init__(self, details: str) -> None:
        super().__init__("unsupported Unicode escape sequence", details)


@dataclass(frozen=True, slots=True)
class Payload:
    """The rows of a write.

    `keys`: the names in a CSV's header, or the first row's keys. `uniform`: whether all rows have the same keys.
    `lines`: the numbers of the lines on which a CSV's rows begin; None for other formats.
    """

    rows: list[Row]
    keys: tuple[str, ...]
    uniform: bool
    is_array: bool
    lines: tuple[int, ...] | None = None

    def require_uniform(self) -> Payload:
        """Return the payload; raise KeysDiffer unless all rows have the same keys. `columns` lifts this
        rule, as in PostgREST.
        """
        if not self.uniform:
            raise KeysDiffer(self.keys, self.rows)
        return self


def parse_payload(body: bytes, content_type: str | None, limits: Limits = LIMITS) -> Payload:
    """Parse a body; raise a Fault if it is invalid.

    >>> parse_payload(b'{"name": "Mill Court", "floors": 3}', "application/json")
    Payload(rows=[{'name': 'Mill Court', 'floors': 3}], keys=('name', 'floors'), uniform=True, \
is_array=False, lines=None)
    >>> parse_payload(b"name,city\\nDepot,NULL\\n", "text/csv").rows
    [{'name': 'Depot', 'city': None}]
    >>> parse_payload(b"name=Mill+Court", "application/x-www-form-urlencoded").rows
    [{'name': 'Mill Court'}]
    >>> parse_payload(b'[{"a": 1}, {"b": 2}]', None).require_uniform()
    Traceback (most recent call last):
    routes.postgrest.payload.KeysDiffer: All object keys must match
    """
    media = parse_content_type(content_type)
    if media is MediaType.CSV:
        table = parse_csv(_decode(body), limits)
        return Payload(table.rows, table.header, uniform=True, is_array=True, lines=table.lines)
    if media is MediaType.FORM:
        return _single(parse_form(body, limits))
    parsed = _parse_json(_decode(body).removeprefix(BYTE_ORDER_MARK), limits)
    if isinstance(parsed, dict):
        _limit_names(parsed, limits)
        return _single(parsed)
    if not isinstance(parsed, list):
        raise InvalidPayload(NO_OBJECTS)
    if not set(map(type, parsed)) <= {dict}:
        number = next(number for number, row in enumerate(parsed, 1) if type(row) is not dict)
        raise InvalidPayload(NO_OBJECTS, f"row {number} is no object")
    if len(parsed) > limits.payload_rows:
        raise LimitExceeded(limits.payload_rows, "rows in a payload")
    for row in parsed:
        _limit_names(row, limits)
    return _gather(parsed)


def parse_form(body: bytes, limits: Limits) -> Row:
    """Return the fields of a form; raise LimitExceeded. The last of several fields with the same name applies."""
    body = body.removeprefix(BYTE_ORDER_MARK.encode())
    if body.count(b"&") >= limits.payload_columns:
        raise TooManyNames(limits.payload_columns)
    return {key: value or "" for key, value in decode_pairs(body)}


def _limit_names(row: Row, limits: Limits) -> None:
    if len(row) > limits.payload_columns:
        raise TooManyNames(limits.payload_columns)


def _single(row: Row) -> Payload:
    return Payload([row], tuple(row), uniform=True, is_array=False)


def _gather(rows: list[Row]) -> Payload:
    keys = rows[0].keys() if rows else {}.keys()
    uniform = all(row.keys() == keys for row in rows)
    return Payload(rows, tuple(keys), uniform, is_array=True)


def _decode(body: bytes) -> str:
    try:
        return decode_utf8(body)
    except Undecodable as undecodable:
        raise InvalidPayload("Empty or invalid body", undecodable.message) from undecodable


def _parse_json(text: str, limits: Limits) -> object:
    """Parse strict JSON: one value, finite numbers, no lone surrogates, limited depth."""
    try:
        parsed: object = _decoder(limits.number_characters).decode(text)
    except RecursionError:
        raise InvalidPayload(depth_message(limits)) from None
    except ValueError as error:
        raise InvalidPayload(NO_JSON, str(error)) from error
    _limit_depth(parsed, limits)
    if SUSPECT_ESCAPE.search(text):
        _check_characters(parsed)
    return parsed


@lru_cache(maxsize=2)
def _decoder(characters_max: int) -> json.JSONDecoder:
    """Return a JSON decoder that refuses longer numbers, since `int` takes quadratic time."""

    def parse_int(digits: str) -> int:
        if len(digits) > characters_max:
            raise NumberOutOfRange(digits)
        return int(digits)

    def parse_float(digits: str) -> float:
        number = float(digits) if len(digits) <= characters_max else math.inf
        if math.isinf(number) or (number == 0 and has_vanished(digits)):
            raise NumberOutOfRange(digits, "double precision")
        return number

    def parse_constant(word: str) -> NoReturn:
        raise ValueError(f"{word} is no JSON value")

    return json.JSONDecoder(parse_int=parse_int, parse_float=parse_float, parse_constant=parse_constant)


def depth_message(limits: Limits) -> str:
    return f"A payload may have at most {limits.payload_depth} levels of nesting."


def _limit_depth(parsed: object, limits: Limits) -> None:
    """Raise InvalidPayload if the value is nested too deeply. The search is iterative."""
    level = [parsed] if isinstance(parsed, (dict, list)) else []
    for _ in range(limits.payload_depth):
        level = [
            child
            for parent in level
            for child in (parent.values() if isinstance(parent, dict) else parent)
            if isinstance(child, (dict, list))
        ]
        if not level:
            return
    raise InvalidPayload(depth_message(limits))


def _check_characters(parsed: object) -> None:
    """Raise for NUL and lone surrogates, which JSON can express by escapes."""
    level = [parsed]
    while level:
        for text in level:
            if isinstance(text, str):
                _check_text(text)
        level = [child for parent in level for child in _children(parent)]


def _check_text(text: str) -> None:
    if "\0" in text:
        raise UntranslatableText("\\u0000 cannot be converted to text.")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"\\u{ord(text[error.start]):04x}"
        raise InvalidPayload(NO_JSON, f"{half} is half of a surrogate pair.") from error


def _children(value: object) -> list[object]:
    """Return the keys and values of a container; an empty list for any other value."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []

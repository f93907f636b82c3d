"""What a write is to store: JSON, CSV or a form in, rows of plain values out.

Whether a column exists and takes such a value is asked later, by model and type; how many bytes
came is the edge's. Whatever the bytes are, nothing but a `Fault` leaves this room.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from functools import lru_cache
from typing import NoReturn

from models.errors import Fault
from models.types import has_vanished
from routes.postgrest.csv import parse_csv
from routes.postgrest.encoding import Undecodable
from routes.postgrest.encoding import decode_pairs
from routes.postgrest.encoding import decode_utf8
from routes.postgrest.limits import LIMITS
from routes.postgrest.limits import Limits
from routes.postgrest.limits import NumberOutOfRange
from routes.postgrest.limits import TooMuch
from routes.postgrest.media import MediaType
from routes.postgrest.media import parse_content_type

Row = dict[str, object]

NO_JSON = "Empty or invalid json"
RUN_SHOWN = 10  # digits in a row, which nothing but a long number has where only few characters are looked at
DOUBTFUL_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")  # of NUL, or of half a character


class InvalidPayload(Fault):
    """A body that cannot be read as rows."""


class UnequalKeys(Fault):
    """Objects of one array that name different columns, without `columns` to say which count."""

    def __init__(self) -> None:
        super().__init__("All object keys must match")


class UntranslatableText(Fault):
    """A JSON escape for NUL, which no text can hold."""

    def __init__(self, details: str) -> None:
        super().__init__("unsupported Unicode escape sequence", details)


@dataclass(frozen=True, slots=True)
class Payload:
    """The rows of a write, as they came: `keys` are the first row's, `uniform` if all rows'."""

    rows: list[Row]
    keys: tuple[str, ...]
    uniform: bool
    is_array: bool

    def require_uniform(self) -> Payload:
        """Insist that all rows name the same columns, as PostgREST does unless told `columns`."""
        if not self.uniform:
            raise UnequalKeys
        return self


def parse_payload(body: bytes, content_type: str | None, limits: Limits = LIMITS) -> Payload:
    """Read a body.

    >>> parse_payload(b'{"name": "Mill Court", "floors": 3}', "application/json")
    Payload(rows=[{'name': 'Mill Court', 'floors': 3}], keys=('name', 'floors'), uniform=True, \
is_array=False)
    >>> parse_payload(b"name,city\\nDepot,NULL\\n", "text/csv").rows
    [{'name': 'Depot', 'city': None}]
    >>> parse_payload(b"name=Mill+Court", "application/x-www-form-urlencoded").rows
    [{'name': 'Mill Court'}]
    >>> parse_payload(b'[{"a": 1}, {"b": 2}]', None).require_uniform()
    Traceback (most recent call last):
    routes.postgrest.payload.UnequalKeys: All object keys must match
    """
    media = parse_content_type(content_type)
    if media is MediaType.CSV:
        return _gather(parse_csv(_decode(body), limits))
    if media is MediaType.FORM:
        return _single({key: value or "" for key, value in decode_pairs(body)})
    parsed = _parse_json(_decode(body), limits)
    if isinstance(parsed, dict):
        return _single(parsed)
    if not isinstance(parsed, list) or not set(map(type, parsed)) <= {dict}:
        raise InvalidPayload("A JSON object or an array of JSON objects is expected")
    if len(parsed) > limits.payload_rows:
        raise TooMuch(limits.payload_rows, "rows in a payload")
    return _gather(parsed)


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
    """Read JSON strictly: one value, finite numbers, characters only, no deeper than allowed."""
    characters_max = limits.number_characters
    try:
        parsed: object = _decoder(
            characters_max, counts_digits=_may_hold_longer(text, characters_max)
        ).decode(text)
    except RecursionError:
        raise InvalidPayload(too_deep(limits)) from None
    except ValueError as error:
        raise InvalidPayload(NO_JSON, str(error)) from error
    if limits.payload_depth < 2 or not _is_flat(parsed, text):
        _bound_depth(parsed, limits)
    if DOUBTFUL_ESCAPE.search(text):
        _check_characters(parsed)
    return parsed


def _may_hold_longer(text: str, characters_max: int) -> bool:
    """Whether there may be a number of more characters: one would show as a run of digits among few of them.

    >>> _may_hold_longer("[" + "7" * 401 + "]", 400), _may_hold_longer('{"a": 7, "b": "2026-11-26"}' * 99, 400)
    (True, False)
    """
    shown = min(RUN_SHOWN, characters_max)
    return _run_of(shown).search(text[:: characters_max // shown]) is not None


@lru_cache(maxsize=RUN_SHOWN)
def _run_of(digits: int) -> re.Pattern[str]:
    return re.compile(f"[0-9]{{{digits}}}")


@lru_cache(maxsize=2)
def _decoder(characters_max: int, *, counts_digits: bool) -> json.JSONDecoder:
    """What reads JSON. To count the digits of each integer takes a call of ours for each, a quarter of the whole."""

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

    return json.JSONDecoder(
        parse_int=parse_int if counts_digits else int,
        parse_float=parse_float,
        parse_constant=parse_constant,
    )


def too_deep(limits: Limits) -> str:
    return f"A payload may have at most {limits.payload_depth} levels of nesting."


def _is_flat(parsed: object, text: str) -> bool:
    """Whether a body is surely an object, or an array of some, with nothing in it that is opened: all brackets are its
    own."""
    opened = text.count("{") + text.count("[")
    if isinstance(parsed, dict):
        return opened == 1
    return (
        isinstance(parsed, list) and set(map(type, parsed)) <= {dict} and opened == len(parsed) + 1
    )


def _bound_depth(parsed: object, limits: Limits) -> None:
    """Go down level by level, not by calling itself."""
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
    raise InvalidPayload(too_deep(limits))


def _check_characters(parsed: object) -> None:
    """Refuse what only an escape can smuggle in: NUL, and halves of surrogate pairs."""
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
    """List what a container holds, its keys too; anything else holds nothing."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []

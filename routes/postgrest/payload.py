"""Parses a write's body, JSON, CSV or form, into rows of plain values, and decodes percent-encoded UTF-8.

Columns and types are checked later, and middleware limits the size. Any bytes give rows or a `Fault`. CSV follows RFC
4180: a header line and rows. An unquoted empty cell is null, and so is an unquoted `NULL`. A quoted cell is a text:
`""` is the empty text. Backslashes stand for themselves. Rows of empty cells alone are skipped. All other rows have as
many cells as the header. PostgREST drops surplus cells and accepts a short first row. A byte order mark marks a
spreadsheet's file, such as the console writes. In such a file a `'` before a formula is not part of the text.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NoReturn
from urllib.parse import unquote_to_bytes

from engine.query.catalog import Relation, UnknownPayloadColumn
from models.types import BYTE_ORDER_MARK, Fault, has_vanished, unescape_formula
from routes.postgrest.lexer import LIMITS, LimitExceeded, Limits, NumberOutOfRange, TooManyNames, excerpt
from routes.postgrest.preferences import MediaType, parse_content_type

_CELL: Final = re.compile(r'"([^"]*(?:""[^"]*)*+)"|([^",\r\n]*)')
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_BLANK_LINES: Final = re.compile(r"[\r\n]*")
_NULLS: Final = ("", "NULL")
_SEPARATORS: Final = {";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
"""The separators that spreadsheets write in place of a comma."""

CsvRows = tuple[list[dict[str, object]], tuple[str, ...]]
"""The rows of a CSV, and the names of its columns."""


@dataclass(frozen=True, slots=True)
class CsvTable:
    """A parsed CSV: the header's names, the rows by name, and the number of the line on which each row begins."""

    header: tuple[str, ...]
    rows: list[dict[str, object]]
    lines: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A header or row: the line on which it begins, and each cell's text with whether it is quoted."""

    line: int
    cells: list[tuple[str, bool]]

    @property
    def is_blank(self) -> bool:
        return not any(text or is_quoted for text, is_quoted in self.cells)


def parse_csv(text: str, limits: Limits) -> CsvTable:
    """Return the table; raise InvalidPayload or LimitExceeded.

    >>> parse_csv('name,city,state\\n"Ash, ""The"" Lofts",NULL,""\\n', Limits()).rows
    [{'name': 'Ash, "The" Lofts', 'city': None, 'state': ''}]
    >>> parse_csv("name,city\\n\\n,\\nDepot,\\n", Limits())
    CsvTable(header=('name', 'city'), rows=[{'name': 'Depot', 'city': None}], lines=(4,))
    >>> parse_csv("name,city\\nDepot\\n", Limits())
    Traceback (most recent call last):
    routes.postgrest.payload.InvalidPayload: All lines must have same number of fields
    """
    is_spreadsheet = text.startswith(BYTE_ORDER_MARK)
    text = text.removeprefix(BYTE_ORDER_MARK)
    records = _parse_records(text, limits)
    header = _parse_header(next(records, None))
    rows: list[dict[str, object]] = []
    lines: list[int] = []
    for record in records:
        if record.is_blank:
            continue
        if len(record.cells) != len(header):
            raise InvalidPayload(
                "All lines must have same number of fields",
                f"line {record.line}: {len(record.cells)} cells, and the header has {len(header)}",
                separator_hint(",".join(header)),
            )
        if len(rows) == limits.payload_rows:
            raise LimitExceeded(limits.payload_rows, "rows in a payload")
        values = [None if cell in _NULLS and not is_quoted else cell for cell, is_quoted in record.cells]
        if is_spreadsheet:
            values = [unescape_formula(cell) if cell is not None else None for cell in values]
        rows.append(dict(zip(header, values, strict=True)))
        lines.append(record.line)
    if not rows and not text.endswith(("\n", "\r")):
        # `curl -d @FILE` removes the line ends, and the rows become part of the header.
        raise InvalidPayload(
            "Empty or invalid csv", "The header has no line end.", "curl keeps line ends with --data-binary."
        )
    return CsvTable(header, rows, tuple(lines))


def title_name(column: str) -> str:
    """Return the name of the column with the title of a referred row, beside the column of its id.

    >>> title_name("building_id"), title_name("assigned_by")
    ('building', 'assigned_by_title')
    """
    return column.removesuffix("_id") if column.endswith("_id") else f"{column}_title"


def without_titles(rows: list[dict[str, object]], header: Iterable[str], references: Iterable[str]) -> CsvRows:
    """Return the rows and the names of a CSV without the titles that stand beside the ids of these references."""
    names = tuple(header)
    titles = {title_name(each) for each in references if each in names} & set(names)
    if not titles:
        return rows, names
    names = tuple(name for name in names if name not in titles)
    return [{name: row[name] for name in names} for row in rows], names


def separator_hint(text: str) -> str | None:
    """Return the hint for a header with another separator than a comma; None if it has none.

    >>> separator_hint("name;email")
    'The separator of CSV is a comma. The header has a semicolon.'
    """
    found = next((name for mark, name in _SEPARATORS.items() if mark in text), None)
    return f"The separator of CSV is a comma. The header has {found}." if found is not None else None


def require_header(relation: Relation, header: tuple[str, ...], columns: tuple[str, ...] | None = None) -> None:
    """Raise UnknownPayloadColumn for unknown names of a header. With `columns`, its names have to be in the header."""
    separator = separator_hint(header[0]) if len(header) == 1 else None
    if columns is None:
        try:
            relation.require_payload_columns(header)
        except UnknownPayloadColumn as unknown:
            unknown.hint = separator or unknown.hint
            raise
        return
    absent = [name for name in columns if name not in header]
    if absent:
        nearest = {relation.nearest_column(name): name for name in header if name not in columns}
        meant = [f'"{name}" instead of "{excerpt(nearest[name])}"' for name in absent if name in nearest]
        raise UnknownPayloadColumn(
            f"The header of the CSV has no {', '.join(map(excerpt, absent))}",
            hint=separator or (f"Perhaps you meant {', '.join(meant)}." if meant else None),
        )


def _parse_header(record: Record | None) -> tuple[str, ...]:
    if record is None:
        raise InvalidPayload("Empty or invalid csv", "A header line is expected.")
    header = tuple(name for name, _ in record.cells)
    repeated = next((name for name in header if header.count(name) > 1), None)
    if repeated is not None:
        raise InvalidPayload("Empty or invalid csv", f'The header has the column "{excerpt(repeated)}" twice.')
    return header


def _parse_records(text: str, limits: Limits) -> Iterator[Record]:
    position = counted = 0
    line = 1
    while (position := _skip(_BLANK_LINES, text, position)) < len(text):
        line += len(_LINE_END.findall(text, counted, position))
        counted = position
        cells: list[tuple[str, bool]] = []
        while True:
            if len(cells) == limits.payload_columns:
                raise TooManyNames(limits.payload_columns)
            match = _CELL.match(text, position)
            assert match is not None  # an empty cell is a cell
            quoted, bare = match.groups()
            cells.append((bare, False) if quoted is None else (quoted.replace('""', '"'), True))
            position = match.end()
            if not text.startswith(",", position):
                break
            position += 1
        if position < len(text) and _LINE_END.match(text, position) is None:
            line += len(_LINE_END.findall(text, counted, position))
            raise InvalidPayload(
                "Empty or invalid csv",
                f"Misplaced quotation mark in line {line}.",
                separator_hint(text[position : position + 1]),
            )
        yield Record(line, cells)


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()


class Undecodable(Fault, code="PGRST100"):
    """Bytes that are not UTF-8, lone surrogates included."""

    def __init__(self, invalid: bytes) -> None:
        shown = " ".join(f"0x{byte:02x}" for byte in invalid[:4])
        super().__init__(f'invalid byte sequence for encoding "UTF8": {shown}')
        self.invalid = invalid


def decode_pairs(encoded: bytes) -> list[tuple[str, str | None]]:
    """Split `key=value&key` and decode both sides. A key without `=` has the value None.

    Only `&` separates pairs, `+` is a space, and a `%` without two hexadecimal digits stands for itself.

    >>> decode_pairs(b"name=eq.a+b%26c&id&or=(a.eq.1)&x=100%")
    [('name', 'eq.a b&c'), ('id', None), ('or', '(a.eq.1)'), ('x', '100%')]
    >>> decode_pairs(b"&&"), decode_pairs(b"a;b=1"), decode_pairs(b"=")
    ([], [('a;b', '1')], [('', '')])
    >>> decode_pairs(b"name=eq.%ff")
    Traceback (most recent call last):
    routes.postgrest.payload.Undecodable: invalid byte sequence for encoding "UTF8": 0xff
    """
    pairs: list[tuple[str, str | None]] = []
    for part in encoded.split(b"&"):
        if part:
            key, equals, value = part.partition(b"=")
            pairs.append((_decode(key), _decode(value) if equals else None))
    return pairs


def decode_utf8(encoded: bytes) -> str:
    """Decode UTF-8 without NUL; raise Undecodable otherwise.

    >>> decode_utf8(b"Z\\xc3\\xbcrich")
    'Zürich'
    """
    try:
        text = encoded.decode()
    except UnicodeDecodeError as error:
        raise Undecodable(encoded[error.start : error.end]) from error
    if "\0" in text:
        raise Undecodable(b"\0")
    return text


def _decode(part: bytes) -> str:
    part = part.replace(b"+", b" ")
    return decode_utf8(unquote_to_bytes(part) if b"%" in part else part)


Row = dict[str, object]

NO_JSON = "Empty or invalid json"
NO_OBJECTS = "A JSON object or an array of JSON objects is expected"
SUSPECT_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")  # NUL or a lone surrogate


class InvalidPayload(Fault, code="PGRST102"):
    """A body that is not a list of rows."""


class KeysDiffer(Fault, code="PGRST102"):
    """Objects of one array with different keys, without `columns`. `keys` are the first row's."""

    def __init__(self, keys: tuple[str, ...], rows: list[Row]) -> None:
        number, row = next((number, row) for number, row in enumerate(rows, 1) if row.keys() != set(keys))
        column = min(row.keys() ^ set(keys))
        super().__init__(
            "All object keys must match",
            f"row {number}, column {excerpt(column)}: "
            + ("the row has no such key" if column in keys else "the first row has no such key"),
        )


class UntranslatableText(Fault, code="22P05"):
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
        table = parse_csv(_decode_json(body), limits)
        return Payload(table.rows, table.header, uniform=True, is_array=True, lines=table.lines)
    if media is MediaType.FORM:
        return _single(parse_form(body, limits))
    parsed = _parse_json(_decode_json(body).removeprefix(BYTE_ORDER_MARK), limits)
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


def _decode_json(body: bytes) -> str:
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

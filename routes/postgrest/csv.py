"""CSV in: a header line and rows (RFC 4180), after the parser PostgREST uses.

Every cell is a text, but NULL is null, quoted or not. Blank lines count for nothing. Stricter than
PostgREST, which drops surplus cells and lets the first row be short: all lines have as many cells.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from models.errors import Fault
from routes.postgrest.limits import Limits
from routes.postgrest.limits import TooMuch

_BYTE_ORDER_MARK: Final = "\ufeff"
"""What spreadsheets begin a CSV with. Left there it would be part of the first column's name, which `columns` then
does not know: the column would be dropped in silence."""

_CELL: Final = re.compile(r'"([^"]*(?:""[^"]*)*+)"|([^",\r\n]*)')
_LINE_END: Final = re.compile(r"\r\n|\n|\r|\Z")
_BLANK_LINES: Final = re.compile(r"[\r\n]*")


class MalformedCsv(Fault):
    """A text that is no table."""


def parse_csv(text: str, limits: Limits) -> list[dict[str, object]]:
    """Read a table; every row has the header's names, of which the last of its kind counts.

    >>> parse_csv('name,city\\n"Ash, ""The"" Lofts",NULL\\n', Limits())
    [{'name': 'Ash, "The" Lofts', 'city': None}]
    >>> parse_csv("name,city\\n", Limits())
    []
    >>> parse_csv("name,city\\nDepot\\n", Limits())
    Traceback (most recent call last):
    routes.postgrest.csv.MalformedCsv: All lines must have same number of fields
    """
    lines = _parse_lines(text.removeprefix(_BYTE_ORDER_MARK), limits)
    header = next(lines, None)
    if header is None:
        raise MalformedCsv("Empty or invalid csv", "A header line is expected.")
    rows: list[dict[str, object]] = []
    for cells in lines:
        if len(cells) != len(header):
            raise MalformedCsv("All lines must have same number of fields")
        if len(rows) == limits.payload_rows:
            raise TooMuch(limits.payload_rows, "rows in a payload")
        values = (None if cell == "NULL" else cell for cell in cells)
        rows.append(dict(zip(header, values, strict=True)))
    return rows


def _parse_lines(text: str, limits: Limits) -> Iterator[list[str]]:
    position = _skip(_BLANK_LINES, text, 0)
    while position < len(text):
        cells: list[str] = []
        while True:
            if len(cells) == limits.payload_columns:
                raise TooMuch(limits.payload_columns, "columns in a payload")
            match = _CELL.match(text, position)
            assert match is not None  # an empty cell is a cell
            quoted, bare = match.groups()
            cells.append(bare if quoted is None else quoted.replace('""', '"'))
            position = match.end()
            if not text.startswith(",", position):
                break
            position += 1
        if _LINE_END.match(text, position) is None:
            line = len(text[:position].splitlines())
            raise MalformedCsv("Empty or invalid csv", f"Misplaced quotation mark in line {line}.")
        position = _skip(_BLANK_LINES, text, position)
        yield cells


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()

"""Parses CSV bodies (RFC 4180): a header line and rows, after PostgREST's parser.

Every cell is a text, except that NULL, quoted or not, is null. Blank lines are ignored. All lines must have the
same number of cells; PostgREST drops surplus cells and accepts a short first row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from models.errors import Fault
from routes.postgrest.limits import LimitExceeded, Limits

_BYTE_ORDER_MARK: Final = "\ufeff"
"""Spreadsheets start a CSV with a byte order mark. It would become part of the first column's name."""

_CELL: Final = re.compile(r'"([^"]*(?:""[^"]*)*+)"|([^",\r\n]*)')
_LINE_END: Final = re.compile(r"\r\n|\n|\r|\Z")
_BLANK_LINES: Final = re.compile(r"[\r\n]*")


class MalformedCsv(Fault):
    """A body that is not valid CSV."""


def parse_csv(text: str, limits: Limits) -> list[dict[str, object]]:
    """Return the rows, each keyed by the header's names. The last of equal names applies.

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
            raise LimitExceeded(limits.payload_rows, "rows in a payload")
        values = (None if cell == "NULL" else cell for cell in cells)
        rows.append(dict(zip(header, values, strict=True)))
    return rows


def _parse_lines(text: str, limits: Limits) -> Iterator[list[str]]:
    position = _skip(_BLANK_LINES, text, 0)
    while position < len(text):
        cells: list[str] = []
        while True:
            if len(cells) == limits.payload_columns:
                raise LimitExceeded(limits.payload_columns, "columns in a payload")
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

"""Parses CSV bodies (RFC 4180): a header line and rows.

An unquoted empty cell is null, and so is an unquoted `NULL`. A quoted cell is a text: `""` is the empty text.
Backslashes stand for themselves. Rows of empty cells alone are skipped. All other rows have as many cells as the
header. PostgREST drops surplus cells and accepts a short first row.

A byte order mark marks a spreadsheet's file, such as the console writes. In such a file a `'` before a formula is not
part of the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from engine.query.catalog import Relation, UnknownPayloadColumn
from models.errors import Fault
from models.spreadsheets import BYTE_ORDER_MARK, unescape_formula
from routes.postgrest.limits import LimitExceeded, Limits, TooManyNames, excerpt

_CELL: Final = re.compile(r'"([^"]*(?:""[^"]*)*+)"|([^",\r\n]*)')
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_BLANK_LINES: Final = re.compile(r"[\r\n]*")
_NULLS: Final = ("", "NULL")
_SEPARATORS: Final = {";": "a semicolon", "\t": "a tab", "|": "a vertical bar"}
"""The separators that spreadsheets write in place of a comma."""

CsvRows = tuple[list[dict[str, object]], tuple[str, ...]]
"""The rows of a CSV, and the names of its columns."""


class MalformedCsv(Fault):
    """A body that is not valid CSV."""


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
    """Return the table; raise MalformedCsv or LimitExceeded.

    >>> parse_csv('name,city,state\\n"Ash, ""The"" Lofts",NULL,""\\n', Limits()).rows
    [{'name': 'Ash, "The" Lofts', 'city': None, 'state': ''}]
    >>> parse_csv("name,city\\n\\n,\\nDepot,\\n", Limits())
    CsvTable(header=('name', 'city'), rows=[{'name': 'Depot', 'city': None}], lines=(4,))
    >>> parse_csv("name,city\\nDepot\\n", Limits())
    Traceback (most recent call last):
    routes.postgrest.csv.MalformedCsv: All lines must have same number of fields
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
            raise MalformedCsv(
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
        raise MalformedCsv(
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
        raise MalformedCsv("Empty or invalid csv", "A header line is expected.")
    header = tuple(name for name, _ in record.cells)
    repeated = next((name for name in header if header.count(name) > 1), None)
    if repeated is not None:
        raise MalformedCsv("Empty or invalid csv", f'The header has the column "{excerpt(repeated)}" twice.')
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
            raise MalformedCsv(
                "Empty or invalid csv",
                f"Misplaced quotation mark in line {line}.",
                separator_hint(text[position : position + 1]),
            )
        yield Record(line, cells)


def _skip(pattern: re.Pattern[str], text: str, position: int) -> int:
    match = pattern.match(text, position)
    return position if match is None else match.end()

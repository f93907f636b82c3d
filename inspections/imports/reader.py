"""Reads a CSV file: its separator, the lines of metadata before its header, and the lines of its table."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from inspections.faults import UnreadableFile
from models.spreadsheets import BYTE_ORDER_MARK, unescape_formula

BYTES_MAX: Final = 5 << 20
LINES_MAX: Final = 10_000
CELLS_MAX: Final = 1_000  # of a line
HEADER_LINES_MAX: Final = 25
HEADER_NAMES_MIN: Final = 2
SEPARATORS: Final = (",", ";", "\t")
SAVE_AS: Final = "Save the file as CSV in UTF-8. Excel calls it “CSV UTF-8 (Comma delimited)”."


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of the table. A quoted cell may continue on the next lines; `number` is that of the first one."""

    number: int
    cells: list[str]


@dataclass(frozen=True, slots=True)
class FileTable:
    """The table of a file. `meta` are the names and values of the lines before the header."""

    header_line: int
    header: list[str]
    lines: list[FileLine]
    meta: dict[str, str]


def decode(data: bytes) -> str:
    """Return the text of a file; raise UnreadableFile unless it is UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UnreadableFile(f"The file is not in UTF-8. {SAVE_AS}") from None


def read_table(text: str, is_known: Callable[[str], bool], names_min: int = HEADER_NAMES_MIN) -> FileTable:
    """Return the table of a file. Raise UnreadableFile.

    The header is the first line with `names_min` names for which `is_known` holds. The separator is that of most known
    names. In a spreadsheet's file, the `'` before a formula is no part of the text.

    >>> read_table("Model;Pb200i\\n\\nRoom;Result\\nHall;x\\n", {"Room", "Result"}.__contains__).meta
    {'Model': 'Pb200i'}
    """
    is_spreadsheet = text.startswith(BYTE_ORDER_MARK)
    text = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")
    if "\0" in text:
        raise UnreadableFile(f"The file has NUL characters, so it is not in UTF-8. {SAVE_AS}")
    start = "\n".join(text.split("\n", HEADER_LINES_MAX)[:HEADER_LINES_MAX])
    found = {each: find_header(start, each, is_known, names_min) for each in SEPARATORS}
    headers = {each: header for each, header in found.items() if header is not None}
    if not headers:
        raise UnreadableFile(
            f"None of the first {HEADER_LINES_MAX} lines has {names_min} known column names.",
            hint="The separator is a comma, a semicolon or a tab. A mapping says what the columns are.",
        )
    separator = max(headers, key=lambda each: sum(map(is_known, names_of(headers[each]))))
    header = headers[separator]
    table: list[FileLine] = []
    meta: dict[str, str] = {}
    for line in read_lines(text, separator):
        if line.number > header.number:
            table.append(FileLine(line.number, [*map(unescape_formula, line.cells)]) if is_spreadsheet else line)
        elif line.number < header.number and line.cells[0].strip():
            meta[line.cells[0].strip().rstrip(":")] = " ".join(filter(None, map(str.strip, line.cells[1:])))
        if len(table) > LINES_MAX:
            raise UnreadableFile(f"A file may have at most {LINES_MAX:,} lines.")
    return FileTable(header.number, names_of(header), table, meta)


def names_of(header: FileLine) -> list[str]:
    return [each.strip() for each in header.cells]


def find_header(start: str, separator: str, is_known: Callable[[str], bool], names_min: int) -> FileLine | None:
    """Return the header among the first lines of a file, or None if the separator gives none."""
    try:
        lines = read_lines(start, separator)
        return next((line for line in lines if sum(map(is_known, {*names_of(line)})) >= names_min), None)
    except UnreadableFile:
        return None


def read_lines(text: str, separator: str) -> Iterator[FileLine]:
    """Yield the lines that are not blank. Raise UnreadableFile for a misplaced quotation mark or too many cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    number = 1
    try:
        for cells in reader:
            if len(cells) > CELLS_MAX:
                raise UnreadableFile(f"Line {number} has more than {CELLS_MAX:,} cells.")
            if any(map(str.strip, cells)):
                yield FileLine(number, cells)
            number = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFile(f"Line {number} is not valid CSV: {error}.") from None

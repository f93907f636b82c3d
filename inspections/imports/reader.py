"""Reads a CSV file: its separator, the metadata before its header, its lines, and what its columns mean.

The fields that columns fill are proposed by the columns' names or given by the caller.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, islice, zip_longest
from typing import Final

from engine.query.catalog import Relation
from inspections.faults import InvalidImport, UnreadableFile
from inspections.imports.sources import (
    ALTERNATIVE_FIELDS,
    DWELLING,
    FILE_FIELDS,
    JOINED_FIELDS,
    TAKEN_AT,
    UNIT,
    UNUSED_NAMES,
    Source,
    find_source,
    is_measure,
    letters,
    split_unit,
)
from models.types import BYTE_ORDER_MARK, TEXT, unescape_formula

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
    """The table of a file. `meta` are the names and values of the lines before the header.

    `is_known`: the header has known names. Otherwise it is the first line with the most cells.
    """

    header_line: int
    header: list[str]
    lines: list[FileLine]
    meta: dict[str, str]
    is_known: bool = True


def decode(data: bytes) -> str:
    """Return the text of a file; raise UnreadableFile unless it is UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise UnreadableFile(f"The file is not in UTF-8. {SAVE_AS}") from None


def read_table(
    text: str, is_known: Callable[[str], bool], names_min: int = HEADER_NAMES_MIN, *, takes_unknown: bool = False
) -> FileTable:
    """Return the table of a file. Raise UnreadableFile.

    The header is the first line with `names_min` names for which `is_known` holds. The separator is that of most known
    names. With `takes_unknown`, the widest line is the header of a file without such a line. In a spreadsheet's file,
    the `'` before a formula is no part of the text.

    >>> read_table("Model;Pb200i\\n\\nRoom;Result\\nHall;x\\n", {"Room", "Result"}.__contains__).meta
    {'Model': 'Pb200i'}
    """
    is_spreadsheet = text.startswith(BYTE_ORDER_MARK)
    text = plain_text(text)
    if "\0" in text:
        raise UnreadableFile(f"The file has NUL characters, so it is not in UTF-8. {SAVE_AS}")
    start = "\n".join(text.split("\n", HEADER_LINES_MAX)[:HEADER_LINES_MAX])
    found = {each: find_header(start, each, is_known, names_min) for each in SEPARATORS}
    headers = {each: header for each, header in found.items() if header is not None}
    has_known = bool(headers)
    if not has_known and takes_unknown:
        headers = widest_lines(start)
    if not headers:
        raise UnreadableFile(
            f"None of the first {HEADER_LINES_MAX} lines has {names_min} known column names.",
            hint="The separator is a comma, a semicolon or a tab. A mapping says what the columns are.",
        )
    known = is_known if has_known else bool
    separator = max(headers, key=lambda each: sum(map(known, names_of(headers[each]))))
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
    return FileTable(header.number, names_of(header), table, meta, has_known)


def plain_text(text: str) -> str:
    """Return the text of a file without a byte order mark, and with one kind of line ends."""
    return text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").replace("\r", "\n")


def first_cells(text: str, names: Collection[str]) -> dict[str, str]:
    """Return the cells of the first line below the header by column, in the order of the file.

    `names` are the columns that `read_table` found. Return no column of a text without such a header.
    """
    for separator in SEPARATORS:
        try:
            lines = islice(read_lines(plain_text(text), separator), HEADER_LINES_MAX + 1)
            header = next((line for line in lines if {*names} <= {*names_of(line)}), None)
            line = next(lines, None) if header is not None else None
        except UnreadableFile:
            continue
        if header is not None:
            cells = [*map(str.strip, line.cells)] if line is not None else []
            found: dict[str, str] = {}
            for name, cell in zip_longest(names_of(header), cells[: len(header.cells)], fillvalue=""):
                found.setdefault(name, cell)
            return {name: cell for name, cell in found.items() if name}
    return {}


def widest_lines(start: str) -> dict[str, FileLine]:
    """Return the first line with the most names, of at least two, by separator."""
    found: dict[str, FileLine] = {}
    for separator in SEPARATORS:
        try:
            lines = [*read_lines(start, separator)]
        except UnreadableFile:
            continue
        widest = max(lines, key=lambda line: sum(map(bool, names_of(line))), default=None)
        if widest is not None and sum(map(bool, names_of(widest))) >= HEADER_NAMES_MIN:
            found[separator] = widest
    return found


def names_of(header: FileLine) -> list[str]:
    return [each.strip() for each in header.cells]


def find_header(start: str, separator: str, is_known: Callable[[str], bool], names_min: int) -> FileLine | None:
    """Return the header among the first lines of a file, or None if the separator gives none."""
    try:
        lines = read_lines(start, separator)
        return next((line for line in lines if sum(map(is_known, {*names_of(line)})) >= names_min), None)
    except UnreadableFile:
        return None


TEXT_FORMULA: Final = re.compile(r'\s*="((?:[^"]|"")*)"\s*')


def without_formula(cell: str) -> str:
    """Return the text of a cell that is written as a formula, to keep its zeros. Return other cells unchanged.

    >>> without_formula('="04101"'), without_formula("=A1")
    ('04101', '=A1')
    """
    found = TEXT_FORMULA.fullmatch(cell) if "=" in cell else None
    return cell if found is None else found[1].replace('""', '"')


def read_lines(text: str, separator: str) -> Iterator[FileLine]:
    """Yield the lines that are not blank. Raise UnreadableFile for a misplaced quotation mark or too many cells."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    number = 1
    try:
        for cells in reader:
            if len(cells) > CELLS_MAX:
                raise UnreadableFile(f"Line {number} has more than {CELLS_MAX:,} cells.")
            if any(map(str.strip, cells)):
                yield FileLine(number, [*map(without_formula, cells)])
            number = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableFile(f"Line {number} is not valid CSV: {error}.") from None


NAME_CHARACTERS_MAX: Final = 64


@dataclass(frozen=True, slots=True)
class FileColumn:
    """A column of the file, and what it fills."""

    position: int
    name: str
    source: Source

    @property
    def unit(self) -> str:
        """The unit behind the name; empty if there is none."""
        return split_unit(self.name)[1]


@dataclass(frozen=True, slots=True)
class ColumnMapping:
    """The columns that fill each field, in the order in which they contribute to it. `left_out` are named so."""

    columns: Mapping[str, tuple[FileColumn, ...]]
    header: Sequence[str]
    left_out: frozenset[str] = frozenset()

    @property
    def names(self) -> dict[str, str]:
        """The field of each column, in the order of the file."""
        columns = sorted((each for found in self.columns.values() for each in found), key=lambda each: each.position)
        return {each.name: each.source.field for each in columns}

    @property
    def unmapped(self) -> list[str]:
        names = self.names
        return [name for name in dict.fromkeys(self.header) if name and name not in names]


def proposed_mapping(sources: Sequence[Source], header: Sequence[str], lines: Sequence[FileLine] = ()) -> ColumnMapping:
    """Return the mapping by the names of the columns. Of several columns for one field, the first one counts."""
    found: list[FileColumn] = []
    fields: dict[str, list[Source]] = {}
    for position, name in enumerate(header):
        source = find_source(sources, name)
        if source is not None and source.field == UNIT and is_dwelling(sources, position, lines):
            source = DWELLING
        if source is None or not contributes(source, fields.get(source.field, [])):
            continue
        fields.setdefault(source.field, []).append(source)
        found.append(FileColumn(position, name, source))
    return mapping_of(sources, header, found)


def contributes(source: Source, others: Sequence[Source]) -> bool:
    """Return whether a column may fill a field beside others. A day and a time of day make one time."""
    if not others or source.field in JOINED_FIELDS or source.field in ALTERNATIVE_FIELDS:
        return True
    return len(others) == 1 and source.field == TAKEN_AT and {"date", "time"} == {source.names[0], others[0].names[0]}


def is_dwelling(sources: Sequence[Source], position: int, lines: Sequence[FileLine]) -> bool:
    """Return whether a column "Unit" names dwellings: it has cells, and none is a unit of measure."""
    cells = [line.cells[position].strip() for line in lines if position < len(line.cells)]
    return DWELLING in sources and any(cells) and not any(map(is_measure, cells))


def given_mapping(
    relation: Relation, sources: Sequence[Source], header: Sequence[str], fields: Mapping[str, str | None]
) -> ColumnMapping:
    """Return the mapping that a caller gives. Null leaves a column out.

    Raise InvalidImport for a column that the file does not have, and UnknownPayloadColumn for an unknown field.
    """
    if len(fields) > CELLS_MAX:
        raise InvalidImport(f"a mapping has at most {CELLS_MAX} columns")
    found: list[FileColumn] = []
    wanted_before: set[str] = set()
    positions = {name: position for position, name in reversed([*enumerate(header)])}
    for name, wanted in fields.items():
        if wanted is None:
            continue
        if name.strip() not in positions:
            raise InvalidImport(f'the file has no column "{name[:NAME_CHARACTERS_MAX]}"')
        if wanted not in FILE_FIELDS.get(relation.name, ()):
            relation.require_payload_columns((wanted,))
        if wanted in wanted_before and not takes_several(relation, wanted):
            raise InvalidImport(f'several columns fill the field "{wanted}", which is no text')
        wanted_before.add(wanted)
        named = find_source(sources, name)
        if named is None or named.field != wanted:
            named = next((each for each in sources if each.field == wanted and each.words), Source(wanted, ()))
        found.append(FileColumn(positions[name.strip()], name.strip(), named))
    left_out = frozenset(name.strip() for name, wanted in fields.items() if wanted is None)
    return mapping_of(sources, header, found, left_out)


def takes_several(relation: Relation, field: str) -> bool:
    attribute = relation.attributes.get(field)
    return field in ALTERNATIVE_FIELDS or field == TAKEN_AT or (attribute is not None and attribute.type is TEXT)


def mapping_of(
    sources: Sequence[Source],
    header: Sequence[str],
    found: Sequence[FileColumn],
    left_out: frozenset[str] = frozenset(),
) -> ColumnMapping:
    """Return the mapping of these columns; raise InvalidImport if the header has the name of one of them twice."""
    counts = Counter(header)
    repeated = next((each.name for each in found if counts[each.name] > 1), None)
    if repeated is not None:
        raise InvalidImport(f'the header has the column "{repeated[:NAME_CHARACTERS_MAX]}" twice')
    places = {each: place for place, each in reversed([*enumerate(sources)])}

    def order(column: FileColumn) -> tuple[str, int, int]:
        return column.source.field, places.get(column.source, len(sources)), column.position

    fields = {
        name: tuple(columns) for name, columns in groupby(sorted(found, key=order), lambda each: each.source.field)
    }
    in_order = sorted(fields.items(), key=lambda each: min(column.position for column in each[1]))
    return ColumnMapping(dict(in_order), header, left_out)


def columns_without_field(relation: Relation, mapping: ColumnMapping, lines: Sequence[FileLine]) -> list[str]:
    """Return the columns with several values that no field takes, unless they are left out or known as unused."""
    unused = UNUSED_NAMES.get(relation.name, frozenset()) | {letters(name) for name in relation.attributes}
    asked = [
        name for name in mapping.unmapped if name not in mapping.left_out and letters(split_unit(name)[0]) not in unused
    ]
    places = {name: position for position, name in enumerate(mapping.header)}
    return [name for name in asked if has_several_values(lines, places[name])]


def has_several_values(lines: Sequence[FileLine], position: int) -> bool:
    values: set[str] = set()
    for line in lines:
        text = line.cells[position].strip() if position < len(line.cells) else ""
        if text:
            values.add(text)
            if len(values) > 1:
                return True
    return False

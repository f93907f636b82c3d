"""The rows of a file: the values of each line by field, and the problems of cells.

Readings of a file without times get times between two given ones, in the order of the file. A file may have the rows of
several jobs, each of which belongs to a visit.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from engine.interface.database import Transaction
from engine.query.catalog import Attribute, Relation, catalog
from engine.query.statement import Binding
from engine.query.write.row_layout import convert_value
from inspections.faults import InvalidImport, SkippedLines, UnfitCell
from inspections.imports.reader import CELLS_MAX, ColumnMapping, FileColumn, FileTable
from inspections.imports.sources import (
    ALTERNATIVE_FIELDS,
    CLASS,
    CLOSED_ON,
    FILE_FIELDS,
    FINDINGS,
    FOUND_AT,
    JOB,
    MEASURED,
    PART,
    POINT,
    READINGS,
    SHARE,
    TAKEN_AT,
    UNIT,
    YMD,
    add_deadline,
    read_cell,
    read_date,
    read_measurement,
    read_percent,
    read_result,
    require_unit,
    skip_reason,
)
from models.types import Bound, Fault, read_timestamp, write_timestamp

PROBLEMS_MAX: Final = 200
VALUE_CHARACTERS_MAX: Final = 200
ID: Final = "id"
ID_DIGITS_MAX: Final = 18
READINGS_OF_CHECK: Final = ("first", "second", "third")


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """An error of a cell or a line, or a warning, with its place in the file."""

    line: int
    column: str | None
    value: str | None
    code: type[Fault]
    message: str


@dataclass(frozen=True, slots=True)
class SkippedLine:
    """A line of the file that is no row of the target, and why."""

    line: int
    reason: str


@dataclass(slots=True, eq=False)
class ImportRow:
    """A line of the file with its values by field. `invalid` are the fields whose cells have no value.

    `file_values` are values of fields that are no columns of the target. `service_values` are values that the service
    gives to columns of its own. `file_id` is the id of the row that the file was exported from.
    """

    line: int
    cells: Sequence[str]
    mapping: ColumnMapping
    values: dict[str, Bound] = field(default_factory=dict)
    file_values: dict[str, Bound] = field(default_factory=dict)
    service_values: dict[str, Bound] = field(default_factory=dict)
    file_id: int | None = None
    invalid: set[str] = field(default_factory=set)
    is_valid: bool = True

    def place(self, name: str) -> tuple[int, str | None, str | None]:
        """Return the line, the first column with a cell that fills a field, and this cell."""
        columns = self.mapping.columns.get(name)
        if not columns:
            value = self.values.get(name)
            return self.line, name or None, None if value is None else str(value)
        column = next((each for each in columns if cell_of(self.cells, each)), columns[0])
        return self.line, column.name, cell_of(self.cells, column)


@dataclass(slots=True, eq=False)
class CheckRow(ImportRow):
    """A calibration check: three lines, of which the first one has the time."""

    readings: Sequence[ImportRow] = ()

    def place(self, name: str) -> tuple[int, str | None, str | None]:
        if name in READINGS_OF_CHECK:
            return self.readings[READINGS_OF_CHECK.index(name)].place(MEASURED)
        return self.readings[0].place(name)


class ProblemLog:
    """The problems of a file, and the lines that it skips. The first PROBLEMS_MAX of each are listed."""

    def __init__(self) -> None:
        self.total = 0
        self.listed: list[ImportProblem] = []
        self.of_defaults: set[tuple[str, type[Fault]]] = set()
        self.skipped_total = 0
        self.skipped: list[SkippedLine] = []

    def add(self, row: ImportRow, name: str, fault: Fault) -> None:
        """Add an error of a field. A default is a value of every line, so its error is listed once."""
        row.is_valid = False
        if name and name not in row.mapping.columns and not isinstance(row, CheckRow):
            if (name, type(fault)) in self.of_defaults:
                return
            self.of_defaults.add((name, type(fault)))
        self.total += 1
        self.list(*row.place(name), fault)

    def add_of_file(self, line: int, column: str, value: str | None, fault: Fault) -> None:
        """Add an error of a column or of several lines."""
        self.total += 1
        self.list(line, column, value, fault)

    def add_of_column(self, rows: Sequence[ImportRow], name: str, fault: Fault) -> None:
        """Add one error of a field of several lines, with the place of the first one that has a value."""
        first = next((row for row in rows if name in row.values or name in row.file_values), rows[0])
        self.total += 1
        self.list(*first.place(name), fault)

    def warn(self, line: int, column: str | None, value: str | None, message: str) -> None:
        self.list(line, column, value, SkippedLines(message))

    def skip(self, line: int, reason: str) -> None:
        self.skipped_total += 1
        if len(self.skipped) < PROBLEMS_MAX:
            self.skipped.append(SkippedLine(line, reason))

    def list(self, line: int, column: str | None, value: str | None, fault: Fault) -> None:
        if len(self.listed) < PROBLEMS_MAX:
            message = ": ".join(filter(None, (fault.message, fault.details)))
            cut = None if value is None else value[:VALUE_CHARACTERS_MAX]
            self.listed.append(ImportProblem(line, column, cut, type(fault), message))


def cell_of(cells: Sequence[str], column: FileColumn) -> str:
    """Return the text of a cell. Instruments leave empty cells at the end of a line out."""
    return cells[column.position].strip() if column.position < len(cells) else ""


def text_of(cells: Sequence[str], columns: Sequence[FileColumn]) -> str:
    """Return the text of a field to which one or several columns contribute."""
    if len(columns) == 1 and columns[0].source.part == PART:
        return cell_of(cells, columns[0])
    if columns[0].source.field in ALTERNATIVE_FIELDS:
        return next(filter(None, (cell_of(cells, each) for each in columns)), "")
    parts = ((each, cell_of(cells, each)) for each in columns)
    return "".join(each.source.part.format(text) for each, text in parts if text).strip(", ")


def read_id(text: str) -> int | None:
    """Return the id of a cell; None if it is none.

    >>> read_id(" 17 "), read_id("A17")
    (17, None)
    """
    text = text.strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) <= ID_DIGITS_MAX else None


@dataclass(frozen=True, slots=True)
class FileFormat:
    """The order of dates, and the decimal mark."""

    date_format: str = YMD
    decimal: str = POINT


class RowReader:
    """Reads the rows of a table for a relation. `binding` has the time zone of times without an offset."""

    def __init__(
        self, transaction: Transaction, relation: Relation, binding: Binding, file_format: FileFormat, log: ProblemLog
    ) -> None:
        self.transaction = transaction
        self.relation = relation
        self.binding = binding
        self.format = file_format
        self.log = log

    def read(
        self,
        table: FileTable,
        mapping: ColumnMapping,
        defaults: Mapping[str, Bound],
        left_out: Collection[int] = frozenset(),
    ) -> list[ImportRow]:
        """Return the rows of the lines. `left_out` are the numbers of the lines that the caller does not want."""
        rows: list[ImportRow] = []
        id_place = next((place for place, name in enumerate(table.header) if name.lower() == ID), CELLS_MAX)
        converted: dict[str, dict[str, dict[str, Bound] | Fault]] = {name: {} for name in mapping.columns}
        for line in table.lines:
            texts = {name: text_of(line.cells, columns) for name, columns in mapping.columns.items()}
            reason = "left out as asked" if line.number in left_out else None
            if reason is None and self.relation.name == READINGS:
                reason = skip_reason(texts)
            if reason is not None:
                self.log.skip(line.number, reason)
                continue
            row = ImportRow(line.number, line.cells, mapping)
            row.file_id = read_id(line.cells[id_place]) if id_place < len(line.cells) else None
            rows.append(row)
            if any(map(str.strip, line.cells[len(table.header) :])):
                number = len(line.cells)
                self.log.add(row, "", UnfitCell(f"{number} cells, and the header has {len(table.header)}"))
            for name, columns in mapping.columns.items():
                if text := texts[name]:
                    known = converted[name]
                    if text not in known:
                        known[text] = self.convert(name, columns[0], text)
                    self.store(row, name, known[text])
            row.values = {**defaults, **row.values}
            if self.relation.name == FINDINGS and "due_at" not in row.invalid:
                self.add_deadline(row)
        return rows

    def add_deadline(self, row: ImportRow) -> None:
        try:
            add_deadline(self.transaction, row.values, row.file_values)
        except Fault as fault:
            self.log.add(row, FOUND_AT, fault)

    def store(self, row: ImportRow, name: str, found: dict[str, Bound] | Fault) -> None:
        if isinstance(found, Fault):
            row.invalid.add(name)
            self.log.add(row, name, found)
            return
        for field_name, value in found.items():
            values = row.values if field_name in self.relation.attributes else row.file_values
            if field_name == name or field_name not in values:
                values[field_name] = value

    def convert(self, name: str, column: FileColumn, text: str) -> dict[str, Bound] | Fault:
        """Return the values by field that a text stands for, or its fault."""
        try:
            return self.values_of(name, column, text)
        except Fault as fault:
            return fault

    def values_of(self, name: str, column: FileColumn, text: str) -> dict[str, Bound]:
        attribute = self.relation.attributes.get(name)
        if attribute is None:
            if name == UNIT:
                require_unit(text)
            elif name == CLOSED_ON:
                return {name: read_timestamp(read_date(text, self.format.date_format), self.binding.zone)}
            return {name: text}
        if name in (MEASURED, SHARE):
            number, qualifier, result = self.measurement_of(name, column.unit, text)
            found = {name: number, "qualifier": qualifier, "result": result}
            return {each: self.stored(self.relation.attributes[each], value) for each, value in found.items() if value}
        if name == "result" and self.relation.name == READINGS:
            return {name: read_result(text)}
        word = text.lower()
        known = {CLASS: word} if word in column.source.words else {}
        text = column.source.words.get(word, text)
        value = read_cell(attribute, text, self.format.date_format, self.format.decimal)
        return {name: self.stored(attribute, value), **known}

    def measurement_of(self, name: str, unit: str, text: str) -> tuple[str | None, str | None, str | None]:
        """Return the number, the qualifier and the result of a measurement in a column with this unit."""
        if name == SHARE:
            return read_percent(text, self.format.decimal, unit)
        require_unit(unit)
        return read_measurement(text, self.format.decimal)

    def stored(self, attribute: Attribute, value: Bound) -> Bound:
        return convert_value(attribute, value, self.binding)


BY_ORDER: Final = "time_is_by_order"
"""The column that says so."""


def spread_times(rows: Sequence[ImportRow], start: datetime.datetime, end: datetime.datetime) -> None:
    """Give a time to the rows that have none: between their neighbours with a time, or else from `start` to `end`.

    Raise InvalidImport if the end precedes the start.
    """
    if end < start:
        raise InvalidImport("p_taken_to precedes p_taken_from")
    untimed: list[ImportRow] = []
    before: datetime.datetime | None = None
    for row in rows:
        if TAKEN_AT in row.invalid:
            continue
        if row.values.get(TAKEN_AT) is None:
            untimed.append(row)
            continue
        known = datetime.datetime.fromisoformat(str(row.values[TAKEN_AT]))
        spread_between(untimed, before, known, start, end)
        untimed, before = [], known
    spread_between(untimed, before, None, start, end)


def spread_between(
    rows: Sequence[ImportRow],
    before: datetime.datetime | None,
    after: datetime.datetime | None,
    start: datetime.datetime,
    end: datetime.datetime,
) -> None:
    """Give equal intervals to rows between two readings. A missing neighbour is the start or the end itself."""
    low = before or start
    high = max(after or end, low)
    steps = len(rows) - 1 + (before is not None) + (after is not None)
    step = (high - low) / max(steps, 1)
    for place, row in enumerate(rows, start=int(before is not None)):
        moment = low + step * place
        if step >= datetime.timedelta(seconds=1):
            moment = moment.replace(microsecond=0)
        row.values[TAKEN_AT] = write_timestamp(moment.astimezone(datetime.UTC))
        row.service_values[BY_ORDER] = True


PARENT: Final = "inspection_id"
NAMED_MAX: Final = 20


def split_jobs(
    target: str, rows: Sequence[ImportRow], visits: Mapping[str, Bound] | None, log: ProblemLog
) -> list[str]:
    """Give the rows of each job its visit, and return the jobs of a file that has several or whose visits are given.

    Raise InvalidImport for a job that no line has, and for a target whose rows belong to no visit.
    """
    jobs = list(dict.fromkeys(str(row.file_values[JOB]) for row in rows if JOB in row.file_values))
    if visits is None:
        if len(jobs) > 1:
            log.add_of_column(rows, JOB, several_jobs(jobs))
        return jobs if len(jobs) > 1 else []
    if JOB not in FILE_FIELDS.get(target, ()):
        raise InvalidImport("p_split sends rows to visits, and the rows of this target belong to none")
    unknown = next((name for name in visits if name not in jobs), None)
    if unknown is not None:
        raise InvalidImport(f'no line of the file has the job "{unknown[:200]}"')
    attribute = catalog().relations[target].attributes[PARENT]
    ids = {name: attribute.type.read_json(visit) for name, visit in visits.items()}
    for row in rows:
        job = row.file_values.get(JOB)
        if job in ids:
            row.values[PARENT] = ids[str(job)]
        else:
            message = "the line has no job" if job is None else f'p_split has no visit of the job "{str(job)[:200]}"'
            log.add(row, JOB, UnfitCell(message))
    return jobs


def several_jobs(jobs: Sequence[str]) -> UnfitCell:
    named = ", ".join(f'"{each[:60]}"' for each in jobs[:NAMED_MAX])
    more = f" and {len(jobs) - NAMED_MAX} more" if len(jobs) > NAMED_MAX else ""
    return UnfitCell(f"the column has several values: {named}{more}. Say the visit of each (p_split)")

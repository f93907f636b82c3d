"""The rows of a file: the values of each line by field, the calibration checks, and the problems of cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final

from engine.interface.transaction import Transaction
from engine.query.catalog import Attribute, Relation
from engine.query.statement import Binding
from engine.query.write.domain_rules import DOMAIN_RULES
from engine.query.write.row_layout import convert_value
from inspections.faults import SkippedLines, UnfitCell
from inspections.imports.cells import read_cell, read_date, read_measurement, require_unit
from inspections.imports.mapping import FOUND_ON, PART, UNIT, ColumnMapping, FileColumn
from inspections.imports.reader import FileTable
from models.errors import Fault
from models.types import TIMESTAMP, Bound

PROBLEMS_MAX: Final = 200
VALUE_CHARACTERS_MAX: Final = 200
MEASURED: Final = "lead_mg_cm2"
CHECK_WORDS: Final = frozenset({"cal", "calibrate", "calibration", "cal check", "calibration check"})
"""The components of lines that measure the standard of the instrument."""
READINGS_OF_CHECK: Final = ("first", "second", "third")


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """An error of a cell or a line, or a warning, with its place in the file."""

    line: int
    column: str | None
    value: str | None
    code: type[Fault]
    message: str


@dataclass(slots=True, eq=False)
class ImportRow:
    """A line of the file with its values by field. `invalid` are the fields whose cells have no value."""

    line: int
    cells: Sequence[str]
    mapping: ColumnMapping
    values: dict[str, Bound] = field(default_factory=dict)
    invalid: set[str] = field(default_factory=set)
    is_valid: bool = True

    def place(self, name: str) -> tuple[int, str | None, str | None]:
        """Return the line, the column that fills a field, and its cell."""
        columns = self.mapping.columns.get(name)
        if not columns:
            value = self.values.get(name)
            return self.line, name or None, None if value is None else str(value)
        return self.line, columns[0].name, cell_of(self.cells, columns[0])


@dataclass(slots=True, eq=False)
class CheckRow(ImportRow):
    """A calibration check: three lines, of which the first one has the time."""

    readings: Sequence[ImportRow] = ()

    def place(self, name: str) -> tuple[int, str | None, str | None]:
        if name in READINGS_OF_CHECK:
            return self.readings[READINGS_OF_CHECK.index(name)].place(MEASURED)
        return self.readings[0].place(name)


class ProblemLog:
    """The problems of a file. The first PROBLEMS_MAX are listed."""

    def __init__(self) -> None:
        self.total = 0
        self.listed: list[ImportProblem] = []
        self.of_defaults: set[tuple[str, type[Fault]]] = set()

    def add(self, row: ImportRow, name: str, fault: Fault) -> None:
        """Add an error of a field. A default is a value of every line, so its error is listed once."""
        row.is_valid = False
        if name and name not in row.mapping.columns and not isinstance(row, CheckRow):
            if (name, type(fault)) in self.of_defaults:
                return
            self.of_defaults.add((name, type(fault)))
        self.total += 1
        self.list(*row.place(name), fault)

    def warn(self, line: int, message: str) -> None:
        self.list(line, None, None, SkippedLines(message))

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
    parts = ((each, cell_of(cells, each)) for each in columns)
    return "".join(each.source.part.format(text) for each, text in parts if text).strip(", ")


class RowReader:
    """Reads the rows of a table for a relation. `binding` has the time zone of times without an offset."""

    def __init__(
        self, transaction: Transaction, relation: Relation, binding: Binding, date_format: str, log: ProblemLog
    ) -> None:
        self.transaction = transaction
        self.relation = relation
        self.binding = binding
        self.date_format = date_format
        self.log = log

    def read(self, table: FileTable, mapping: ColumnMapping, defaults: Mapping[str, Bound]) -> list[ImportRow]:
        rows = [ImportRow(line.number, line.cells, mapping) for line in table.lines]
        converted: dict[str, dict[str, dict[str, Bound] | Fault]] = {name: {} for name in mapping.columns}
        for row in rows:
            if any(map(str.strip, row.cells[len(table.header) :])):
                number = len(row.cells)
                self.log.add(row, "", UnfitCell(f"{number} cells, and the header has {len(table.header)}"))
            for name, columns in mapping.columns.items():
                text = text_of(row.cells, columns)
                if text:
                    known = converted[name]
                    if text not in known:
                        known[text] = self.convert(name, columns[0], text)
                    self.store(row, name, known[text])
            if FOUND_ON in row.values:
                self.add_deadline(row)
            row.values = {**defaults, **row.values}
        return rows

    def store(self, row: ImportRow, name: str, found: dict[str, Bound] | Fault) -> None:
        if isinstance(found, Fault):
            row.invalid.add(name)
            self.log.add(row, name, found)
        else:
            row.values |= {field: value for field, value in found.items() if field == name or field not in row.values}

    def convert(self, name: str, column: FileColumn, text: str) -> dict[str, Bound] | Fault:
        """Return the values by field that a text stands for, or its fault."""
        try:
            return self.values_of(name, column, text)
        except Fault as fault:
            return fault

    def values_of(self, name: str, column: FileColumn, text: str) -> dict[str, Bound]:
        if name == UNIT and name not in self.relation.attributes:
            require_unit(text)
            return {}
        if name == FOUND_ON:
            return {name: TIMESTAMP.read_json(read_date(text, self.date_format))}
        attribute = self.relation.attributes[name]
        if name == MEASURED:
            number, qualifier, result = read_measurement(text)
            found = {name: number, "qualifier": qualifier, "result": result}
            return {each: self.stored(self.relation.attributes[each], value) for each, value in found.items() if value}
        text = column.source.words.get(text.lower(), text)
        return {name: self.stored(attribute, read_cell(attribute, text, self.date_format))}

    def stored(self, attribute: Attribute, value: Bound) -> Bound:
        return convert_value(attribute, value, self.binding)

    def add_deadline(self, row: ImportRow) -> None:
        """Give a finding without a deadline that of the day on which it was made."""
        found = row.values.pop(FOUND_ON)
        if "due_at" not in row.values and "due_at" not in row.invalid:
            rule, known = DOMAIN_RULES[self.relation.name], {**row.values, "created_at": found}
            [row.values["due_at"]] = rule.defaults(self.transaction, self.binding, "due_at", [known])


def split_checks(rows: Sequence[ImportRow], log: ProblemLog) -> tuple[list[ImportRow], list[CheckRow]]:
    """Return the readings, and the calibration checks: successive lines of one instrument, in threes.

    Other numbers of lines are left out with a warning, since a check has three readings.
    """
    readings: list[ImportRow] = []
    checks: list[CheckRow] = []
    for instrument, group in groupby(rows, key=instrument_of_check):
        lines = list(group)
        if instrument is None:
            readings += lines
            continue
        rest = len(lines) % len(READINGS_OF_CHECK)
        if rest:
            left_out = ", ".join(str(each.line) for each in lines[-rest:])
            log.warn(lines[-rest].line, f"a calibration check has 3 readings: line {left_out} is not imported")
        whole = lines[: len(lines) - rest]
        checks += [check_of(whole[place : place + 3], log) for place in range(0, len(whole), 3)]
    return readings, checks


def instrument_of_check(row: ImportRow) -> tuple[Bound, Bound] | None:
    """Return the inspection and the instrument of a calibration line; None for any other line."""
    if str(row.values.get("component", "")).lower() not in CHECK_WORDS:
        return None
    return row.values.get("inspection_id"), row.values.get("gun_id")


def check_of(lines: Sequence[ImportRow], log: ProblemLog) -> CheckRow:
    """Return the calibration check of three lines. A qualifier has no place in a mean."""
    first = lines[0]
    check = CheckRow(first.line, first.cells, first.mapping, readings=lines)
    check.values = {name: first.values.get(name) for name in ("inspection_id", "gun_id", "taken_at")}
    for name, line in zip(READINGS_OF_CHECK, lines, strict=True):
        check.values[name] = line.values.get(MEASURED)
        check.invalid |= {name} if MEASURED in line.invalid else set()
        check.is_valid = check.is_valid and line.is_valid
        if line.values.get("qualifier") is not None:
            log.add(check, name, UnfitCell("a calibration reading is a number"))
    check.invalid |= first.invalid
    return check

"""The rows of an insert: converts their values, fills in defaults, and runs the statements that write them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from operator import itemgetter
from typing import Any

from engine.interface.transaction import Transaction
from engine.query.catalog import Relation
from engine.query.constraints import ConstraintViolation, NotNullViolation, UniqueViolation
from engine.query.statement import Binding, Statement
from engine.query.write.constraint_diagnosis import diagnose_write
from engine.query.write.domain_rules import Key
from engine.query.write.plan import InsertPlan, UpsertPlan
from engine.query.write.row_layout import MEMOIZED_TYPES, ColumnSource, MemoizedConverter, Row, RowLayout, row_layout
from models.errors import Fault
from models.fields import TENANT_COLUMN, ColumnDefault
from models.types import Bound


class Conflict(Enum):
    """What an insert does if a row exists: fail, merge the new values into it, or ignore the new row."""

    FAIL = "fail"
    MERGE = "merge"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Insertion:
    """The rows to insert, as raw JSON values.

    `columns`: the columns to write. `target`: the columns of `on_conflict`. `default_missing`: whether a missing value
    is the column's default instead of null. `lines`: the numbers of the lines on which the rows of a CSV begin.
    """

    rows: Sequence[Row]
    columns: tuple[str, ...]
    conflict: Conflict = Conflict.FAIL
    target: tuple[str, ...] | None = None
    default_missing: bool = False
    lines: tuple[int, ...] | None = None

    def locate(self, fault: Fault, position: int, columns: Sequence[str] = ()) -> None:
        """Begin a fault's details with the row, or with the line of a CSV, and the columns.

        The fault of a single JSON object has no place. A taken e-mail has none either: it may be that of a hidden user.
        """
        is_single = self.lines is None and len(self.rows) == 1
        if is_single or (isinstance(fault, UniqueViolation) and fault.columns == ("email",)):
            return
        row = f"row {position + 1}" if self.lines is None else f"line {self.lines[position]}"
        named = f", column{'s' * (len(columns) > 1)} {', '.join(columns)}" if columns else ""
        fault.locate(row + named)

    def rows_with(self, name: str) -> set[int]:
        """Return the positions of the rows that set a column. A missing value sets null unless it means the default."""
        return {position for position, row in enumerate(self.rows) if name in row or not self.default_missing}


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The result of a write: the keys of the written rows, the number of new rows, and the representation.

    `is_cut`: the representation ends at the largest number of rows of a response.
    """

    keys: list[Key]
    inserted: int = 0
    rows: list[str] | None = None
    is_cut: bool = False
    unchanged: frozenset[Key] = frozenset()
    """The updated rows of an upsert in which no column changed that the domain rule watches."""


to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class InsertRows:
    """The converted rows of an insert.

    `values`: a tuple for each row, in the order of `columns`. `binding`: the parameters of statements that write all
    rows. It holds the rows as JSON, and the values of the `constant` columns once.
    """

    def __init__(self, transaction: Transaction, relation: Relation, insertion: Insertion, binding: Binding) -> None:
        self.transaction = transaction
        self.relation = relation
        self.insertion = insertion
        self.request = binding
        self.now = transaction.now
        named = effective_columns(relation, insertion)
        layout = row_layout(relation.name, named, insertion.default_missing)
        self.columns, self.constant = layout.columns, layout.constant
        self.required = layout.required
        self.values = self.convert_rows(layout, insertion.rows)

    def convert_rows(self, layout: RowLayout, rows: Sequence[Row]) -> list[tuple[Bound, ...]]:
        """Return the converted rows.

        Values are converted by column. If one is invalid, they are converted by row to raise the first row's error.
        """
        if len(rows) > 1 and layout.columns:
            with suppress(KeyError, Fault):
                pairs = zip(layout.columns, layout.sources, strict=True)
                columns = [self.convert_column(name, source, rows) for name, source in pairs]
                return list(zip(*columns, strict=True))
        return [self.convert_row(layout, row, position) for position, row in enumerate(rows)]

    def written(self, row: Row) -> Row:
        """Return the values of a row that are written: a request with `columns` ignores the others."""
        return {name: row[name] for name in self.insertion.columns if name in row}

    def replace_values(self, name: str, values: Mapping[int, Bound]) -> None:
        """Replace the values of a column in the rows at these positions."""
        place = self.columns.index(name)
        for position, value in values.items():
            row = self.values[position]
            self.values[position] = (*row[:place], value, *row[place + 1 :])
        self.__dict__.pop("binding", None)

    def convert_row(self, layout: RowLayout, row: Row, position: int) -> tuple[Bound, ...]:
        values: list[Bound] = []
        for name, source in zip(layout.columns, layout.sources, strict=True):
            try:
                if source.convert is None or name not in row:
                    values.append(source.from_row(self, row))
                else:
                    values.append(source.convert(row[name]))
            except Fault as fault:
                self.insertion.locate(fault, position, (name,))
                raise
        return tuple(values)

    def convert_column(self, name: str, source: ColumnSource, rows: Sequence[Row]) -> list[Bound]:
        """Return the converted values of a column; raise KeyError if a row does not have it."""
        convert, from_row = source.convert, source.from_row
        if source.is_constant:
            return [from_row(self, {})] * len(rows)
        if source.from_rows is not None:
            return source.from_rows(self, rows)
        if convert is None:
            return [from_row(self, row) for row in rows]
        raw = [row[name] for row in rows]
        if source.is_memoized and set(map(type, raw)) in MEMOIZED_TYPES:
            return list(map(MemoizedConverter(convert).__getitem__, raw))
        return list(map(convert, raw))

    @cached_property
    def binding(self) -> Binding:
        varying = len(self.columns) - len(self.constant)
        rows = to_json([values[:varying] for values in self.values])
        constant = self.values[0][varying:] if self.values else ()
        return self.request.replace(rows=rows, new=constant)

    def write_one_by_one(self, plan: InsertPlan) -> list[Key]:
        """Insert the rows one by one, and return their keys; raise the violation of the first invalid row."""
        keys = [self.write_row(plan, position) for position in range(len(self.values))]
        return [key for key in keys if key is not None]

    def write_all(self, plan: InsertPlan | UpsertPlan) -> list[Key] | None:
        """Write several rows by one statement, and return their keys.

        Return None and write nothing if a row violates a constraint or is denied, or if there is only one row.
        """
        statement = plan.insert_all if len(self.values) > 1 and self.keys_are_known() else None
        if statement is None or not self.are_complete():
            return None
        self.transaction.run("SAVEPOINT many")
        try:
            cursor = self.transaction.run(statement.sql, statement.bind(self.binding))
        except ConstraintViolation:
            self.transaction.run("ROLLBACK TO many")
            return None
        if cursor.rowcount != len(self.values):
            self.transaction.run("ROLLBACK TO many")
            return None
        if self.have_keys:
            keys = [self.key(values) for values in self.values]
        else:
            keys = [(each,) for each in self.transaction.inserted_ids(cursor, len(self.values))]
        self.transaction.run("RELEASE many")
        return keys

    @cached_property
    def have_keys(self) -> bool:
        """Whether every row has a key."""
        return set(self.relation.key) <= set(self.columns) and not any(
            None in self.key(values) for values in self.values
        )

    def keys_are_known(self) -> bool:
        """Return whether every row has a key, or none has and the database generates consecutive ids."""
        return self.have_keys or not set(self.relation.key) & set(self.columns)

    def require_client(self) -> None:
        """Raise NotNullViolation for the first row without a required client. The rule would deny the row."""
        for name, column in self.required:
            if name == TENANT_COLUMN:
                for position, values in enumerate(self.values):
                    if column is None or values[column] is None:
                        raise self.null_violation(position, name)

    def require_complete(self, position: int) -> None:
        """Raise NotNullViolation for a missing required value. The database would run triggers and conflicts first."""
        name = self.missing_column(self.values[position])
        if name is not None:
            raise self.null_violation(position, name)

    def null_violation(self, position: int, name: str) -> NotNullViolation:
        violation = NotNullViolation(self.relation.name, name)
        self.insertion.locate(violation, position, (name,))
        return violation

    def missing_column(self, values: tuple[Bound, ...]) -> str | None:
        """Return the first required column without a value; None if there is none."""
        for name, position in self.required:
            if position is None or values[position] is None:
                return name
        return None

    def are_complete(self) -> bool:
        """Return whether every row has all required values."""
        return not any(
            position is None or None in map(itemgetter(position), self.values) for _, position in self.required
        )

    def key(self, values: tuple[Bound, ...]) -> Key:
        return tuple(values[self.columns.index(name)] for name in self.relation.key)

    def write_row(self, plan: InsertPlan | UpsertPlan, position: int) -> Key | None:
        """Write one of several rows. A row without an id leaves the column out, so that the database generates it."""
        values, id_position = self.values[position], self.id_position
        self.require_complete(position)
        try:
            if id_position is None or values[id_position] is not None:
                return self.write(plan.insert, values)
            return self.write(plan.insert_without_id, values, values[:id_position] + values[id_position + 1 :])
        except ConstraintViolation as violation:
            self.insertion.locate(violation, position, violation.columns)
            raise

    @cached_property
    def id_position(self) -> int | None:
        """The position of the generated id among the columns, or None."""
        name = self.relation.sequence_column
        return self.columns.index(name) if name in self.columns else None

    def write(
        self, statement: Statement, values: tuple[Bound, ...], new: tuple[Bound, ...] | None = None
    ) -> Key | None:
        """Write one row, and return its key; None if no row was written.

        `new`: the parameters of the statement, by default all values.
        """
        by_name = dict(zip(self.columns, values, strict=True))
        bound = self.request.replace(new=values if new is None else new)
        with diagnose_write(self.transaction, self.relation, lambda: by_name, []):
            cursor: Any = self.transaction.run(statement.sql, statement.bind(bound))
        if cursor.rowcount == 0:
            return None
        return tuple(
            by_name[name] if by_name.get(name) is not None else self.transaction.inserted_id(cursor)
            for name in self.relation.key
        )


def effective_columns(relation: Relation, insertion: Insertion) -> tuple[str, ...]:
    """Return the columns to write, without an id that the database generates for every row."""
    if not insertion.default_missing:
        return insertion.columns
    return tuple(
        name
        for name in insertion.columns
        if relation.payload_attribute(name).default is not ColumnDefault.SEQUENCE
        or any(name in row for row in insertion.rows)
    )


def keys_as_json(keys: Iterable[Key]) -> str:
    return json.dumps([list(key) for key in keys])

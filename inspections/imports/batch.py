"""The rows of an import for one table: their problems, the existing rows, and the rows to insert.

The checks only read, so a dry run takes no lock and uses no id. Their order is that of a write: a row that the rule
denies has no error of a constraint, which could reveal a hidden row.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from access.caller import Caller
from access.policy import WRITES_CLOSED_VISITS
from engine import execute
from engine.interface.database import Transaction
from engine.query.catalog import (
    CheckViolation,
    ForeignKeyViolation,
    NotNullViolation,
    Relation,
    UniqueViolation,
    unique_indexes,
)
from engine.query.shape import SHORT_CHARACTERS_MAX, Column, Filter, Node, Query, Shape
from engine.query.statement import UNRESTRICTED, Binding
from engine.query.write import statements
from engine.query.write.insert import Insertion, InsertRows, SameRowTwice
from engine.query.write.rules import Key, is_allowed, row_violation
from engine.rows import read_rows
from inspections.faults import RowExists
from inspections.imports.rows import PARENT, ImportRow, ProblemLog
from inspections.imports.sources import BUILDINGS, CHECKS, FINDINGS, FOUND_AT, INSPECTIONS, READINGS, SCHEDULES
from inspections.retention import locked_visits
from models.inspection import CLOSED_CHECK
from models.locks import LOCK, has_refusal
from models.types import TEXT, Bound
from models.vocabulary import CLOSED_STATUSES

NATURAL_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    BUILDINGS: ("client_id", "name", "address"),
    INSPECTIONS: ("building_id", "inspection_type", "date_visited", "inspector_id"),
    READINGS: ("inspection_id", "gun_id", "reading_no", "taken_at"),
    CHECKS: ("inspection_id", "gun_id", "taken_at"),
    FINDINGS: ("inspection_id", "place", "item", "code", "description"),
    SCHEDULES: ("building_id", "inspection_type", "title"),
}
"""The columns by which a row of the file is the same as an existing one."""

NUMBERED: Final[Mapping[str, str]] = {READINGS: "reading_no"}
"""Columns without which the natural key says nothing. Then all columns of the file are the key."""

ROWS_MAX: Final = 2**62

BY_FILE_ID: Final = ("id",)
"""The key that compares rows by the ids of the file, which an import does not write."""

RowKey = tuple[Bound, ...]


class Batch:
    """Rows for one table. `key` are the columns that say which row of the file is the same as an existing one."""

    def __init__(
        self,
        transaction: Transaction,
        caller: Caller,
        relation: Relation,
        rows: Sequence[ImportRow],
        log: ProblemLog,
        binding: Binding,
        key: tuple[str, ...] | None = None,
    ) -> None:
        self.transaction, self.caller, self.relation, self.rows, self.log = transaction, caller, relation, rows, log
        self.binding = binding
        self.named = tuple(dict.fromkeys(name for row in rows for name in row.values))
        self.insertion = self.insertion_of(rows)
        self.values = InsertRows(transaction, relation, self.insertion, binding)
        self.place = {name: place for place, name in enumerate(self.values.columns)}
        self.key = key
        execute.require_writable_columns(relation, self.insertion, caller.rule)
        self.already = 0
        self.new: list[ImportRow] = []

    def insertion_of(self, rows: Sequence[ImportRow]) -> Insertion:
        """Return the insertion of rows. An absent value of a column with a default means the default."""
        absent = {name: None for name in self.named if not self.relation.attributes[name].has_default}
        return Insertion(
            [{**absent, **row.values} for row in rows],
            self.named,
            default_missing=True,
            lines=tuple(row.line for row in rows),
        )

    def with_service_values(self, insertion: Insertion) -> Insertion:
        """Return the insertion of the new rows with the values that no file has. A finding may precede its visit."""
        names = tuple(dict.fromkeys(name for row in self.new for name in row.service_values))
        rows = [{**values, **row.service_values} for values, row in zip(insertion.rows, self.new, strict=True)]
        vouched = frozenset(names) | ({FOUND_AT} & {*insertion.columns})
        return replace(insertion, rows=rows, columns=(*insertion.columns, *names), service_columns=vouched)

    def value(self, position: int, name: str) -> Bound:
        place = self.place.get(name)
        return None if place is None else self.values.values[position][place]

    def check(self) -> None:
        """Find the problems, the rows that exist and the rows to insert."""
        if not self.rows:
            return
        self.check_required()
        allowed = self.check_rule()
        self.check_values(allowed)
        self.check_references(allowed)
        self.compare([position for position in allowed if self.rows[position].is_valid])

    def write(self) -> list[Key]:
        """Insert the new rows, and return their keys."""
        if not self.new:
            return []
        result = execute.insert(
            self.transaction,
            self.caller.rule,
            self.binding,
            relation=self.relation,
            insertion=self.with_service_values(self.insertion_of(self.new)),
            shape=None,
        )
        return result.keys

    # Problems

    def check_required(self) -> None:
        for name, _ in self.values.required:
            for position, row in enumerate(self.rows):
                if self.value(position, name) is None and name not in row.invalid:
                    self.log.add(row, name, NotNullViolation(self.relation.name, name))

    def check_rule(self) -> list[int]:
        """Return the positions of the rows that the access rule allows."""
        tenant = self.relation.model.tenant or ""
        plan = statements.plan_insert(
            self.transaction.dialect.name,
            self.relation.name,
            self.values.columns,
            self.values.constant,
            self.caller.rule,
        )
        statement = plan.every_denied
        denied = set()
        if statement is not None:
            denied = {
                position for (position,) in self.transaction.all(statement.sql, statement.bind(self.values.binding))
            }
        allowed = []
        for position, row in enumerate(self.rows):
            if self.value(position, tenant) is None:
                continue
            if position in denied:
                self.log.add(row, tenant, row_violation(self.relation))
            else:
                allowed.append(position)
        return allowed

    def check_closed_visits(self) -> None:
        """Take the new rows out whose visit is closed to the caller, or reported, as triggers do (`Model.refusals`)."""
        if not has_refusal(self.relation.model, CLOSED_CHECK):
            return
        ids = {row.values[PARENT] for row in self.new}
        refused: dict[Bound, str] = dict.fromkeys(locked_visits(self.transaction, ids), LOCK)
        if not WRITES_CLOSED_VISITS[self.caller.role]:
            found = read_rows(self.transaction, UNRESTRICTED, INSPECTIONS, ("id",), id=ids, status=CLOSED_STATUSES)
            refused = dict.fromkeys((each["id"] for each in found), CLOSED_CHECK) | refused
        for row in self.new:
            if (constraint := refused.get(row.values[PARENT])) is not None:
                self.log.add(row, PARENT, CheckViolation(constraint))
        self.new = [row for row in self.new if row.is_valid]

    def check_values(self, allowed: Sequence[int]) -> None:
        for name in self.named:
            info = self.relation.attributes[name].info
            verdicts: dict[Bound, bool] = {}
            for position in allowed:
                value = self.value(position, name)
                if value not in verdicts:
                    verdicts[value] = is_allowed(info, value)
                if not verdicts[value]:
                    self.log.add(self.rows[position], name, CheckViolation(f"{self.relation.name}_{name}_check"))

    def check_references(self, allowed: Sequence[int]) -> None:
        for fk in self.relation.foreign_keys:
            if fk.column not in self.named:
                continue
            values = {value: None for each in allowed if (value := self.value(each, fk.column)) is not None}
            column = fk.referred_column
            filters: Any = {column: list(values)}
            found = read_rows(self.transaction, UNRESTRICTED, fk.referred, (column,), **filters)
            existing = {each[column] for each in found}
            for position in allowed:
                value = self.value(position, fk.column)
                if value is not None and value not in existing:
                    missing = ForeignKeyViolation.missing(self.relation.name, fk.name, fk.column, value, fk.referred)
                    self.log.add(self.rows[position], fk.column, missing)

    # Existing rows

    def compare(self, positions: Sequence[int]) -> None:
        """Divide the rows into new ones and existing ones that the caller reads."""
        new: list[int] = []
        for key, group in self.keys_of(positions):
            new += self.compare_by(key, group) if key else group
        new = self.compare_ids(new)
        self.check_uniques(sorted(new))
        self.new = [self.rows[each] for each in sorted(new) if self.rows[each].is_valid]

    def keys_of(self, positions: Sequence[int]) -> Iterator[tuple[tuple[str, ...], list[int]]]:
        """Yield the key of rows, and their positions."""
        if self.key is not None:
            yield () if self.key == BY_FILE_ID else self.key, list(positions)
            return
        numbered = NUMBERED.get(self.relation.name)
        natural = [each for each in positions if numbered is None or self.value(each, numbered) is not None]
        yield NATURAL_KEYS[self.relation.name], natural
        yield self.named, sorted({*positions} - {*natural})

    def compare_ids(self, positions: Sequence[int]) -> list[int]:
        """Return the positions of the rows without the id of an existing row.

        A row with such an id came out of this database. With the key `id` it exists. By default it is an error, since
        the import would write a second row. Another key decides by itself.
        """
        if self.key not in (None, BY_FILE_ID):
            return list(positions)
        ids = {str(self.rows[each].file_id) for each in positions if self.rows[each].file_id is not None}
        if not ids:
            return list(positions)
        existing = {int(row["id"]) for row in self.select(("id",), {"id": ids})}
        new: list[int] = []
        for position in positions:
            row = self.rows[position]
            if row.file_id not in existing:
                new.append(position)
            elif self.key == BY_FILE_ID:
                self.already += 1
            else:
                self.log.add_of_file(row.line, "id", str(row.file_id), RowExists(self.relation.name, row.file_id))
        return new

    def compare_by(self, key: tuple[str, ...], positions: Sequence[int]) -> list[int]:
        """Return the positions of the rows that are new by a key.

        A unique key is that of one row. By another key, each existing row is the same as one row of the file.
        """
        new: list[int] = []
        existing = self.count_existing(key, positions)
        is_unique = key == self.key or any(set(key) == set(each) for each in self.uniques.values())
        seen: dict[RowKey, int] = {}
        for position in positions:
            values = tuple(self.value(position, name) for name in key)
            first = seen.get(values) if is_unique and None not in values else None
            if existing[values]:
                existing[values] -= 0 if is_unique and None not in values else 1
            elif first is None:
                seen[values] = position
                new.append(position)
                continue
            elif self.rows[first].values != self.rows[position].values:
                fault = SameRowTwice(f"line {self.rows[first].line} has the same {', '.join(key)} and other values")
                self.log.add(self.rows[position], key[-1], fault)
                continue
            self.already += 1
        return new

    def count_existing(self, key: tuple[str, ...], positions: Sequence[int]) -> Counter[RowKey]:
        """Return the numbers of rows that the caller reads and that have the key of one of these rows."""
        if not positions:
            return Counter()
        columns = {name: {self.value(position, name) for position in positions} for name in key}
        complete = {name: values for name, values in columns.items() if None not in values}
        short = {name: values for name, values in complete.items() if self.relation.attributes[name].type is not TEXT}
        rows = self.select(key, {name: set(map(str, values)) for name, values in (short or complete).items()})
        return Counter(tuple(map(row.get, key)) for row in rows)

    def select(self, columns: tuple[str, ...], among: Mapping[str, Collection[str]]) -> Iterator[dict[str, Any]]:
        """Yield columns of the rows that the caller reads, and whose columns are among these values."""
        conditions = tuple(
            Filter(name, "in", value=place, is_long=any(len(each) > SHORT_CHARACTERS_MAX for each in values))
            for place, (name, values) in enumerate(among.items())
        )
        query = Query(Shape(Node(tuple(map(Column, columns)), conditions)), tuple(map(tuple, among.values())))
        binding = Binding(query.values, self.caller.parameters, ROWS_MAX)
        selected = execute.select(
            self.transaction, self.caller.rule, binding, relation=self.relation, query=query, count=False
        )
        return map(json.loads, selected.rows)

    @property
    def uniques(self) -> dict[str, tuple[str, ...]]:
        """The columns of unique constraints and unique indexes, by name, without those of the primary key."""
        found = {**self.relation.uniques, **unique_indexes(self.relation)}
        return {name: columns for name, columns in found.items() if columns != self.relation.key}

    def check_uniques(self, positions: Sequence[int]) -> None:
        """Find new rows that have the unique key of another row, as the write of each one would."""
        for name, columns in self.uniques.items():
            if not set(columns) <= set(self.named):
                continue
            plan = statements.plan_upsert(
                self.transaction.dialect.name,
                self.relation.name,
                self.values.columns,
                self.values.constant,
                columns,
                None,
                self.caller.rule,
            )
            statement = plan.existing_rows
            found = self.transaction.all(statement.sql, statement.bind(self.values.binding))
            taken, seen = {position for position, *_ in found}, set()
            for position in positions:
                values = tuple(self.value(position, each) for each in columns)
                if position in taken or values in seen:
                    self.log.add(self.rows[position], columns[-1], UniqueViolation(name))
                elif None not in values:
                    seen.add(values)

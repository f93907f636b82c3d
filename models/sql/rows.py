"""An insertion's rows: converted, filled, and in the forms in which they are checked and written."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from enum import Enum
from typing import Any

from models.base import Filled
from models.db import Transaction
from models.faults import Fault
from models.sql import blame
from models.sql.catalog import Attribute
from models.sql.catalog import Relation
from models.sql.constraints import NotNullViolation
from models.sql.statement import Binding
from models.sql.statement import Statement
from models.types import TIMESTAMP
from models.types import Bound
from models.types import OutOfRange
from models.types import new_uuid
from models.types import read_timestamp

ID_MAX = 2**52  # so that JavaScript can hold a chosen id and its successors

Row = dict[str, object]
Key = tuple[Bound, ...]
Reader = Callable[[Row], Bound]


class Conflict(Enum):
    """What an insert does with a row that exists: fail, merge into it, or leave it alone."""

    FAIL = "fail"
    MERGE = "merge"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Insertion:
    """What is to be inserted: rows of raw JSON values, and which columns count."""

    rows: Sequence[Row]
    columns: tuple[str, ...]
    conflict: Conflict = Conflict.FAIL
    target: tuple[str, ...] | None = None
    default_missing: bool = False


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did: the keys it touched, how many rows it made, and the rows as they now read."""

    keys: list[Key]
    inserted: int = 0
    rows: list[str] | None = None


class Rows:
    """`values` are the rows, each a tuple in the order of `columns`; `binding` carries them as JSON."""

    def __init__(
        self, transaction: Transaction, relation: Relation, insertion: Insertion, binding: Binding
    ) -> None:
        self.transaction = transaction
        self.relation = relation
        self.original = binding
        self.now = transaction.now
        named = listed(relation, insertion)
        given = [relation.payload_attribute(name) for name in named]
        silent = [
            each for name, each in relation.attributes.items()
            if name not in named and each.filled not in (None, Filled.BY_SEQUENCE)
        ]  # fmt: skip
        required = [
            name for name, each in relation.attributes.items()
            if each.required
            and (each.filled is not Filled.BY_SEQUENCE
                 or (name in named and not insertion.default_missing))
        ]  # fmt: skip
        self.columns = tuple(each.name for each in (*given, *silent))
        self.required = [
            (name, self.columns.index(name) if name in self.columns else None) for name in required
        ]
        readers = [self.reader(each, insertion) for each in given]
        readers += [self.filler(each) for each in silent]
        self.values = [tuple(read(row) for read in readers) for row in insertion.rows]
        self.binding = replace(
            binding, rows=json.dumps(self.values, ensure_ascii=False, allow_nan=False)
        )

    def reader(self, attribute: Attribute, insertion: Insertion) -> Reader:
        """How a listed column's value is read from a row, or what it is where the row is silent."""
        name, binding = attribute.name, self.original
        missing = self.filler(attribute) if insertion.default_missing else nothing
        if attribute.filled is Filled.BY_SEQUENCE:
            return lambda row: (
                require_id(self.relation, converted(attribute, row[name], binding))
                if name in row
                else missing(row)
            )
        return lambda row: converted(attribute, row[name], binding) if name in row else missing(row)

    def filler(self, attribute: Attribute) -> Reader:
        """What stands in a column that nothing was said of."""
        if attribute.filled is Filled.BY_UUID:
            return lambda row: new_uuid()
        if attribute.filled in (Filled.BY_CLOCK, Filled.BY_CLOCK_ALWAYS):
            return constantly(self.now)
        return (
            constantly(self.original.caller_id) if attribute.filled is Filled.BY_CALLER else nothing
        )

    def write_all(self, statement: Statement) -> list[Key]:
        """Insert every row: at once where that goes well, else one by one to find what is at fault."""
        if len(self.values) > 1 and self.keys_are_known():
            try:
                return self.write_many(statement)
            except Fault:
                self.transaction.run("ROLLBACK TO many")
        written = [self.write(statement, values) for values in self.values]
        return [key for key in written if key is not None]

    def keys_are_known(self) -> bool:
        """Whether every row names its key, or none does and the database counts on from one id."""
        places = [self.columns.index(name) for name in self.relation.key if name in self.columns]
        named = all(values[place] is not None for values in self.values for place in places)
        return not places or (len(places) == len(self.relation.key) and named)

    def require_complete(self, values: tuple[Bound, ...]) -> None:
        """Insist on what a row must have; the database would ask its triggers and conflicts first."""
        for name, place in self.required:
            if place is None or values[place] is None:
                raise NotNullViolation(self.relation.name, name)

    def write_many(self, statement: Statement) -> list[Key]:
        places = statement.bind(replace(self.original, new=tuple(range(len(self.columns)))))
        self.transaction.run("SAVEPOINT many")
        for row in self.values:
            self.require_complete(row)
        made = self.transaction.insert_many(
            statement.sql,
            [[values[place] for place in places] for values in self.values],  # type: ignore[index]
        )
        self.transaction.run("RELEASE many")
        if set(self.relation.key) <= set(self.columns):
            return [self.key(values) for values in self.values]
        return [(each,) for each in made]

    def key(self, values: tuple[Bound, ...]) -> Key:
        return tuple(values[self.columns.index(name)] for name in self.relation.key)

    def write(self, statement: Statement, values: tuple[Bound, ...]) -> Key | None:
        """Write one row; its key, or None if it was left alone."""
        self.require_complete(values)
        named = dict(zip(self.columns, values, strict=True))
        with blame.assigned(self.transaction, self.relation, lambda: named, []):
            cursor: Any = self.transaction.run(
                statement.sql, statement.bind(replace(self.original, new=values))
            )
        if cursor.rowcount == 0:
            return None
        return tuple(
            named[name] if named.get(name) is not None else self.transaction.made_id(cursor)
            for name in self.relation.key
        )


def listed(relation: Relation, insertion: Insertion) -> list[str]:
    """The columns that count, but for an id that the database is to choose for every row."""
    return [
        name
        for name in insertion.columns
        if relation.payload_attribute(name).filled is not Filled.BY_SEQUENCE
        or not insertion.default_missing
        or any(name in row for row in insertion.rows)
    ]


def nothing(row: Row) -> Bound:
    return None


def constantly(value: Bound) -> Reader:
    return lambda row: value


def require_id(relation: Relation, value: Bound) -> Bound:
    """A chosen id that can be kept, or the fact that it cannot."""
    if value is None:
        raise NotNullViolation(relation.name, "id")
    if not isinstance(value, int) or not 1 <= value <= ID_MAX:
        raise OutOfRange(f'value "{value}" is out of range for a chosen id (1 to {ID_MAX})')
    return value


def converted(attribute: Attribute, value: object, binding: Binding) -> Bound:
    """A payload's value as its column takes it; timestamps read in the preferred time zone."""
    if attribute.type is TIMESTAMP and binding.zone is not None and isinstance(value, str):
        return read_timestamp(value, binding.zone)
    return attribute.type.read_json(value)

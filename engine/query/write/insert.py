"""An insertion's rows: converted, filled, and in the forms in which they are checked and written."""

from __future__ import annotations

import json
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from functools import lru_cache
from operator import itemgetter
from typing import Any

from engine.query.catalog import Attribute
from engine.query.catalog import Relation
from engine.query.catalog import catalog
from engine.query.constraints import VIOLATIONS
from engine.query.constraints import NotNullViolation
from engine.query.plan_cache import PLANS_MAX
from engine.query.statement import Binding
from engine.query.statement import Statement
from engine.query.write import constraint_diagnosis as blame
from engine.query.write.plan import InsertPlan
from engine.query.write.plan import UpsertPlan
from engine.storage.transaction import Transaction
from models.errors import Fault
from models.fields import ColumnDefault
from models.types import DOUBLE
from models.types import TIMESTAMP
from models.types import Bound
from models.types import OutOfRange
from models.types import new_uuid
from models.types import read_timestamp

CHOSEN_ID_MAX = 2**52  # so that JavaScript can hold a chosen id and its successors
IMPORTED_ID_MAX = 2**52 + 2**51  # an export has those as well, and they have successors in turn
ID_MAX = 2**53 - 1  # that the tables hold

Row = dict[str, object]
Key = tuple[Bound, ...]


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

    def saying(self, name: str) -> set[int]:
        """The places of the rows that say something of a column: all, unless silence means its default."""
        return {
            place for place, row in enumerate(self.rows) if name in row or not self.default_missing
        }


@dataclass(frozen=True, slots=True)
class WriteResult:
    """What a write did: the keys it touched, how many rows it made, and the rows as they now read, or `is_cut` of them
    as many as a response may hold."""

    keys: list[Key]
    inserted: int = 0
    rows: list[str] | None = None
    is_cut: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """Where a row's value for a column comes from; `read` makes it of what the row says, if no more is to it. It may be
    the same for all of them, whatever they say. `reads_once`: what equal values are read as may be looked up."""

    of: Callable[[Rows, Row], Bound]
    read: Callable[[object], Bound] | None = None
    is_same: bool = False
    reads_once: bool = False


READ_ONCE = ({str}, {str, type(None)}, {int}, {int, type(None)})
"""Kinds of values of which equal ones are the same. Of several kinds of numbers they may differ (1 == 1.0 == True), and
of doubles (0.0 == -0.0)."""


class ReadOnce(dict[Any, Bound]):
    """What values are read as: dates, statuses and buildings come again and again in a body, and are read once."""

    def __init__(self, read: Callable[[object], Bound]) -> None:
        super().__init__()
        self.read = read

    def __missing__(self, given: object) -> Bound:
        value = self[given] = self.read(given)
        return value


@dataclass(frozen=True, slots=True)
class Layout:
    """Which columns the rows of an insertion have, each from its source, last those of one value in all of them, and
    where those stand that must be there."""

    columns: tuple[str, ...]
    same: tuple[str, ...]
    sources: tuple[Source, ...]
    required: tuple[tuple[str, int | None], ...]


@lru_cache(maxsize=PLANS_MAX)
def lay_out(relation_name: str, named: tuple[str, ...], default_missing: bool) -> Layout:
    """The layout of rows that say something of these columns, or of some of them."""
    attributes = catalog().relations[relation_name].attributes
    silent = [
        each for name, each in attributes.items()
        if name not in named and each.default not in (None, ColumnDefault.SEQUENCE)
    ]  # fmt: skip
    same = [each for each in silent if unsaid(each).is_same]
    silent = [*(each for each in silent if each not in same), *same]
    columns = (*named, *(each.name for each in silent))
    required = [
        name for name, each in attributes.items()
        if each.required
        and (each.default is not ColumnDefault.SEQUENCE or (name in named and not default_missing))
    ]  # fmt: skip
    return Layout(
        columns,
        tuple(each.name for each in same),
        (*(said(attributes[name], default_missing) for name in named), *map(unsaid, silent)),
        tuple((name, columns.index(name) if name in columns else None) for name in required),
    )


def said(attribute: Attribute, default_missing: bool) -> Source:
    """A listed column's value is the row's own, or what it is where the row is silent."""
    name, read = attribute.name, attribute.type.read_json
    missing = unsaid(attribute).of if default_missing else nothing
    if attribute.type is TIMESTAMP:
        return Source(
            lambda rows, row: (
                converted(attribute, row[name], rows.original)
                if name in row
                else missing(rows, row)
            )
        )
    if attribute.default is ColumnDefault.SEQUENCE:
        return Source(
            lambda rows, row: (
                require_id(rows.relation, read(row[name])) if name in row else missing(rows, row)
            )
        )
    return Source(
        lambda rows, row: read(row[name]) if name in row else missing(rows, row),
        read,
        # A column of doubles takes integers of hundreds of digits, which can be chosen so that a look-up takes long.
        reads_once=attribute.type is not DOUBLE,
    )


def unsaid(attribute: Attribute) -> Source:
    """What stands in a column that nothing was said of."""
    filled = attribute.default
    if filled is None:
        return Source(nothing, is_same=True)
    return Source(
        lambda rows, row: default(filled, rows.now, rows.original),
        is_same=filled is not ColumnDefault.RANDOM_UUID,
    )


def nothing(rows: Rows, row: Row) -> Bound:
    return None


def default(filled: ColumnDefault | None, now: str, binding: Binding) -> Bound:
    """What fills a column of which nothing is said; None where nothing does, or the database's next id."""
    if filled is ColumnDefault.RANDOM_UUID:
        return new_uuid()
    if filled in (ColumnDefault.NOW, ColumnDefault.NOW_ON_WRITE):
        return now
    return binding.caller_id if filled is ColumnDefault.CALLER_ID else None


to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class Rows:
    """`values` are the rows, each a tuple in the order of `columns`; `binding` carries them as JSON, but for the last
    columns, of which the values are the `same` in all of them."""

    def __init__(
        self, transaction: Transaction, relation: Relation, insertion: Insertion, binding: Binding
    ) -> None:
        self.transaction = transaction
        self.relation = relation
        self.original = binding
        self.now = transaction.now
        named = listed(relation, insertion)
        layout = lay_out(relation.name, named, insertion.default_missing)
        self.columns, self.same = layout.columns, layout.same
        self.required = layout.required
        self.values = self.read_columns(layout, insertion.rows)

    def read_columns(self, layout: Layout, rows: Sequence[Row]) -> list[tuple[Bound, ...]]:
        """The rows' values, read column by column; row by row, if one is at fault, to tell the first of them."""
        if len(rows) > 1 and layout.columns:
            with suppress(KeyError, Fault):
                pairs = zip(layout.columns, layout.sources, strict=True)
                columns = [self.read_column(name, source, rows) for name, source in pairs]
                return list(zip(*columns, strict=True))
        return [self.read_row(layout, row) for row in rows]

    def read_row(self, layout: Layout, row: Row) -> tuple[Bound, ...]:
        """The values of one of them."""
        pairs = zip(layout.columns, layout.sources, strict=True)
        return tuple(
            [
                source.of(self, row) if source.read is None or name not in row
                else source.read(row[name])
                for name, source in pairs
            ]
        )  # fmt: skip

    def read_column(self, name: str, source: Source, rows: Sequence[Row]) -> list[Bound]:
        """What the rows have in a column. KeyError if one says nothing of it."""
        read, of = source.read, source.of
        if source.is_same:
            return [of(self, {})] * len(rows)
        if read is None:
            return [of(self, row) for row in rows]
        given = [row[name] for row in rows]
        if source.reads_once and set(map(type, given)) in READ_ONCE:
            return list(map(ReadOnce(read).__getitem__, given))
        return list(map(read, given))

    @cached_property
    def binding(self) -> Binding:
        own = len(self.columns) - len(self.same)
        rows = to_json([values[:own] for values in self.values])
        return self.original.but(rows=rows, new=self.values[0][own:] if self.values else ())

    def write_each(self, plan: InsertPlan) -> list[Key]:
        """Insert the rows one by one, to find what is at fault."""
        written = [self.write_by(plan, values) for values in self.values]
        return [key for key in written if key is not None]

    def write_at_once(self, plan: InsertPlan | UpsertPlan) -> list[Key] | None:
        """Write all of many rows by one statement; None, and nothing is written, where one of them is at fault, or
        refused."""
        statement = plan.insert_all if len(self.values) > 1 and self.keys_are_known() else None
        if statement is None or not self.are_complete():
            return None
        self.transaction.run("SAVEPOINT many")
        try:
            cursor = self.transaction.run(statement.sql, statement.bind(self.binding))
        except VIOLATIONS:
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
        """Whether every row names its key."""
        return set(self.relation.key) <= set(self.columns) and not any(
            None in self.key(values) for values in self.values
        )

    def keys_are_known(self) -> bool:
        """Whether every row names its key, or none does and the database counts on from one id."""
        return self.have_keys or not set(self.relation.key) & set(self.columns)

    def require_complete(self, values: tuple[Bound, ...]) -> None:
        """Insist on what a row must have; the database would ask its triggers and conflicts first."""
        name = self.missing(values)
        if name is not None:
            raise NotNullViolation(self.relation.name, name)

    def missing(self, values: tuple[Bound, ...]) -> str | None:
        """The first column that a row must have and has not."""
        for name, place in self.required:
            if place is None or values[place] is None:
                return name
        return None

    def are_complete(self) -> bool:
        """Whether every row has what a row must have."""
        places = [place for _, place in self.required]
        return not any(
            place is None or None in map(itemgetter(place), self.values) for place in places
        )

    def key(self, values: tuple[Bound, ...]) -> Key:
        return tuple(values[self.columns.index(name)] for name in self.relation.key)

    def write_by(self, plan: InsertPlan | UpsertPlan, values: tuple[Bound, ...]) -> Key | None:
        """Write one of several rows. One that leaves its id to the database says nothing of it, where others do."""
        place = self.id_place
        if place is None or values[place] is not None:
            return self.write(plan.insert, values)
        return self.write(plan.insert_unnumbered, values, values[:place] + values[place + 1 :])

    @cached_property
    def id_place(self) -> int | None:
        """Where the rows' id stands, if they name one that the database can choose."""
        name = self.relation.numbered
        return self.columns.index(name) if name in self.columns else None

    def write(
        self, statement: Statement, values: tuple[Bound, ...], new: tuple[Bound, ...] | None = None
    ) -> Key | None:
        """Write one row; its key, or None if it was left alone. `new` is what the statement takes of it, if not all."""
        self.require_complete(values)
        named = dict(zip(self.columns, values, strict=True))
        bound = self.original.but(new=values if new is None else new)
        with blame.assigned(self.transaction, self.relation, lambda: named, []):
            cursor: Any = self.transaction.run(statement.sql, statement.bind(bound))
        if cursor.rowcount == 0:
            return None
        return tuple(
            named[name] if named.get(name) is not None else self.transaction.inserted_id(cursor)
            for name in self.relation.key
        )


def listed(relation: Relation, insertion: Insertion) -> tuple[str, ...]:
    """The columns that count, but for an id that the database is to choose for every row."""
    if not insertion.default_missing:
        return insertion.columns
    return tuple(
        name
        for name in insertion.columns
        if relation.payload_attribute(name).default is not ColumnDefault.SEQUENCE
        or any(name in row for row in insertion.rows)
    )


def require_id(relation: Relation, value: Bound, at_most: int = CHOSEN_ID_MAX) -> Bound:
    """A chosen id that can be kept, or the fact that it cannot."""
    if value is None:
        raise NotNullViolation(relation.name, "id")
    if not isinstance(value, int) or not 1 <= value <= at_most:
        raise OutOfRange(f'value "{value}" is out of range for a chosen id (1 to {at_most})')
    return value


def json_keys(keys: Iterable[Key]) -> str:
    return json.dumps([list(key) for key in keys])


def converted(attribute: Attribute, value: object, binding: Binding) -> Bound:
    """A payload's value as its column takes it; timestamps read in the preferred time zone."""
    if attribute.type is TIMESTAMP and binding.zone is not None and isinstance(value, str):
        return read_timestamp(value, binding.zone)
    return attribute.type.read_json(value)

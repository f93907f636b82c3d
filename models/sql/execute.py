"""When: runs plans in the transaction it is given. Binds, checks, writes, reads back, counts, vetoes.

Builds no SQL. No other module runs any over a resource in a request, but the functions of
models/statistics.py and access/, whose statements are plans of the same planner.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from enum import Enum
from typing import Any

from models.base import Filled
from models.db import Transaction
from models.faults import Fault
from models.sql import blame
from models.sql import mutate
from models.sql import plan
from models.sql.catalog import Attribute
from models.sql.catalog import Relation
from models.sql.catalog import UnknownColumn
from models.sql.constraints import ForeignKeyViolation
from models.sql.constraints import NotNullViolation
from models.sql.constraints import UniqueViolation
from models.sql.query import Query
from models.sql.query import Shape
from models.sql.rule import Rule
from models.sql.statement import Binding
from models.types import TIMESTAMP
from models.types import Bound
from models.types import OutOfRange
from models.types import read_timestamp

RESPONSE_BYTES_MAX = 32 << 20
ID_MAX = 2**52  # so that JavaScript can hold a chosen id and its successors

Row = dict[str, object]
Key = tuple[Bound, ...]


class RowDenied(Fault):
    """A row that would end up out of the caller's reach (42501)."""


class NotChosen(Fault):
    """A value for a column whose values only the database, or a super admin, chooses (428C9)."""


class ResponseTooLarge(Fault):
    """More than RESPONSE_BYTES_MAX bytes of rows (54000)."""


class NoSuchConstraint(Fault):
    """An `on_conflict` over columns that no key covers (42P10)."""


class SameRowTwice(Fault):
    """A merge that names one row twice (21000)."""


class Conflict(Enum):
    """What an insert does with a row that exists: fail, merge into it, or leave it alone."""

    FAIL = "fail"
    MERGE = "merge"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Selected:
    """Rows as JSON texts, and the number of all of them where that was asked for."""

    rows: list[str]
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did: the keys it touched, how many rows it made, and the rows as they now read."""

    keys: list[Key]
    inserted: int = 0
    rows: list[str] | None = None


@dataclass(frozen=True, slots=True)
class Insertion:
    """What is to be inserted: rows of raw JSON values, and which columns count."""

    rows: Sequence[Row]
    columns: tuple[str, ...]
    conflict: Conflict = Conflict.FAIL
    target: tuple[str, ...] | None = None
    default_missing: bool = False


Veto = Callable[[int], None]
"""Called with the number of rows that a write touched, before it is kept; raises to stop it."""


def select(
    transaction: Transaction,
    rule: Rule,
    binding: Binding,
    *,
    relation: Relation,
    query: Query,
    count: bool,
) -> Selected:
    """The rows within the binding's range, and their total where it is wanted."""
    plans = plan.plan_read(transaction.spelling.name, relation.name, query.shape, rule)
    rows = fetch(transaction, plans.rows.sql, plans.rows.bind(binding))
    if not count:
        return Selected(rows)
    complete = len(rows) < binding.limit and (rows or not binding.offset)
    if complete and not plans.grouped:
        return Selected(rows, binding.offset + len(rows))
    return Selected(rows, transaction.value(plans.count.sql, plans.count.bind(binding)))


def fetch(transaction: Transaction, sql: str, parameters: list[Bound]) -> list[str]:
    rows = [row[0] for row in transaction.all(sql, parameters)]
    if sum(map(len, rows)) > RESPONSE_BYTES_MAX:
        raise ResponseTooLarge(
            f"the response is larger than {RESPONSE_BYTES_MAX} bytes",
            hint="Narrow the select or lower the limit.",
        )
    return rows


def insert(
    transaction: Transaction,
    rule: Rule,
    binding: Binding,
    *,
    relation: Relation,
    insertion: Insertion,
    shape: Shape | None,
    veto: Veto,
) -> Written:
    """Insert or upsert every row or none; `shape` is the representation that is wanted, if any."""
    rows = Rows(transaction, relation, insertion, binding)
    require_chosen(relation, insertion, rule)
    if insertion.conflict is Conflict.FAIL:
        statements = mutate.plan_insert(
            transaction.spelling.name, relation.name, rows.columns, rule
        )
        deny(transaction, relation, statements.denied, rows.binding)
        keys = [rows.write(statements.insert, values) for values in rows.values]
        written = Written([key for key in keys if key is not None], len(keys))
    else:
        written = upsert(transaction, relation, insertion, rule, rows)
    veto(len(written.keys))
    return represented(transaction, relation, written, rule, binding, shape)


def upsert(
    transaction: Transaction, relation: Relation, insertion: Insertion, rule: Rule, rows: Rows
) -> Written:
    target = conflict_target(relation, insertion.target)
    merge = insertion.conflict is Conflict.MERGE
    if not set(target) <= set(rows.columns):
        # The key is the database's to choose, so nothing can be taken.
        return insert_new(transaction, relation, rule, rows)
    merged = insertion.columns if merge else None
    statements = mutate.plan_upsert(
        transaction.spelling.name, relation.name, rows.columns, target, merged, rule
    )
    existing = {
        found[0]: (bool(found[1]), tuple(found[2:]))
        for found in transaction.all(
            statements.existing.sql, statements.existing.bind(rows.binding)
        )
    }
    require_own_keys(relation, insertion, target, existing, rule, len(rows.values))
    deny(transaction, relation, statements.denied, rows.binding)
    require_reached(relation, target, existing)
    deny(transaction, relation, statements.merged_denied, rows.binding)
    if merge:
        require_distinct(relation, rows, target)
    keys: list[Key] = []
    inserted = 0
    for position, values in enumerate(rows.values):
        if position in existing and not merge:
            continue
        key = rows.write(statements.insert, values)
        if position in existing:
            keys.append(key_after_merge(relation, existing[position][1], values, rows.columns, merged))
        elif key is not None:
            keys.append(key)
            inserted += 1
    return Written(keys, inserted)


def insert_new(
    transaction: Transaction, relation: Relation, rule: Rule, rows: Rows
) -> Written:
    statements = mutate.plan_insert(transaction.spelling.name, relation.name, rows.columns, rule)
    deny(transaction, relation, statements.denied, rows.binding)
    keys = [rows.write(statements.insert, values) for values in rows.values]
    return Written([key for key in keys if key is not None], len(keys))


def key_after_merge(
    relation: Relation,
    key: Key,
    values: tuple[Bound, ...],
    columns: tuple[str, ...],
    merged: tuple[str, ...] | None,
) -> Key:
    """The key of a row once a merge has written it: the payload's, where it names one."""
    return tuple(
        values[columns.index(name)] if merged is not None and name in merged else old
        for name, old in zip(relation.key, key, strict=True)
    )


def conflict_target(relation: Relation, wanted: tuple[str, ...] | None) -> tuple[str, ...]:
    if wanted is None:
        return relation.key
    for name in wanted:
        if name not in relation.attributes:
            raise UnknownColumn(f'column "{name}" does not exist')
    for columns in relation.uniques.values():
        if set(columns) == set(wanted):
            return columns
    raise NoSuchConstraint(
        "there is no unique or exclusion constraint matching the ON CONFLICT specification"
    )


def require_chosen(relation: Relation, insertion: Insertion, rule: Rule) -> None:
    """Refuse values for columns the caller may not choose; an upsert's key is judged by its row."""
    for name in insertion.columns:
        keyed = name in relation.key and insertion.conflict is not Conflict.FAIL
        if not keyed and not rule.may_choose(name):
            raise not_chosen(name)


def not_chosen(column: str) -> NotChosen:
    return NotChosen(
        f'cannot insert a non-DEFAULT value into column "{column}"',
        f'Column "{column}" is chosen by the service.',
    )


def require_own_keys(
    relation: Relation,
    insertion: Insertion,
    target: tuple[str, ...],
    existing: dict[int, tuple[bool, Key]],
    rule: Rule,
    count: int,
) -> None:
    """A key that one may not choose must be that of a row that one may write."""
    chosen = next(
        (name for name in relation.key if name in insertion.columns and not rule.may_choose(name)),
        None,
    )
    if chosen is not None:
        named = {position for position, (reached, _) in existing.items() if reached}
        if chosen not in target or len(named) < count:
            raise not_chosen(chosen)


def require_reached(
    relation: Relation, target: tuple[str, ...], existing: dict[int, tuple[bool, Key]]
) -> None:
    """What exists must be within reach of a write."""
    if all(reached for reached, _ in existing.values()):
        return
    if target == relation.key:
        raise row_denied(relation, " (USING expression)")
    constraint = next(name for name, over in relation.uniques.items() if over == target)
    raise UniqueViolation(constraint)


def require_distinct(relation: Relation, rows: Rows, target: tuple[str, ...]) -> None:
    places = [rows.columns.index(name) for name in target]
    seen = {tuple(values[place] for place in places) for values in rows.values}
    if len(seen) < len(rows.values):
        raise SameRowTwice(
            "ON CONFLICT DO UPDATE command cannot affect row a second time",
            hint="Ensure that no rows proposed for insertion within the same command have "
            "duplicate constrained values.",
        )


def update(
    transaction: Transaction,
    rule: Rule,
    binding: Binding,
    *,
    relation: Relation,
    query: Query,
    changes: Row,
    shape: Shape | None,
    veto: Veto,
) -> Written:
    """Change every row within reach that the filters match, or none."""
    for name in changes:
        if not rule.may_choose(name):
            raise not_chosen(name)
    new = {
        name: converted(relation.payload_attribute(name), value, binding)
        for name, value in changes.items()
    }
    for name, each in relation.attributes.items():
        if each.filled is Filled.BY_CLOCK_ALWAYS and name not in new:
            new[name] = transaction.now
    columns = tuple(new)
    statements = mutate.plan_update(
        transaction.spelling.name, relation.name, columns, query.shape, rule
    )
    keys = reached_keys(transaction, statements.keys, binding)
    bound = replace(binding, keys=json_keys(keys), new=tuple(new.values()))
    if keys:
        deny(transaction, relation, statements.denied, bound)
        with blame.assigned(transaction, relation, lambda: new, keys):
            transaction.run(statements.update.sql, statements.update.bind(bound))
    veto(len(keys))
    keys = [
        tuple(new.get(name, old) for name, old in zip(relation.key, key, strict=True))
        for key in keys
    ]
    return represented(transaction, relation, Written(keys), rule, binding, shape)


def delete(
    transaction: Transaction,
    rule: Rule,
    binding: Binding,
    *,
    relation: Relation,
    query: Query,
    shape: Shape | None,
    veto: Veto,
) -> Written:
    """Delete every row within reach that the filters match, or none."""
    statements = mutate.plan_delete(transaction.spelling.name, relation.name, query.shape, rule)
    keys = reached_keys(transaction, statements.keys, binding)
    veto(len(keys))
    written = represented(transaction, relation, Written(keys), rule, binding, shape)
    if keys:
        bound = replace(binding, keys=json_keys(keys))
        with blame.deleted(transaction, relation, keys):
            transaction.run(statements.delete.sql, statements.delete.bind(bound))
    return written


def reached_keys(transaction: Transaction, statement: Any, binding: Binding) -> list[Key]:
    return [tuple(row) for row in transaction.all(statement.sql, statement.bind(binding))]


def json_keys(keys: Iterable[Key]) -> str:
    return json.dumps([list(key) for key in keys])


def deny(transaction: Transaction, relation: Relation, statement: Any, binding: Binding) -> None:
    """Raise RowDenied if the rule refuses any would-be row."""
    if statement is not None and transaction.one(statement.sql, statement.bind(binding)) is not None:
        raise row_denied(relation)


def row_denied(relation: Relation, how: str = "") -> RowDenied:
    return RowDenied(
        f'new row violates row-level security policy{how} for table "{relation.name}"'
    )


def represented(
    transaction: Transaction,
    relation: Relation,
    written: Written,
    rule: Rule,
    binding: Binding,
    shape: Shape | None,
) -> Written:
    """The written rows, read back by key under the rule for reading."""
    if shape is None:
        return written
    statement = plan.plan_representation(transaction.spelling.name, relation.name, shape, rule)
    bound = replace(binding, keys=json_keys(written.keys))
    rows = fetch(transaction, statement.sql, statement.bind(bound))
    return replace(written, rows=rows)


class Rows:
    """An insertion's rows, converted, filled, and in the form in which they are checked and written."""

    def __init__(
        self, transaction: Transaction, relation: Relation, insertion: Insertion, binding: Binding
    ) -> None:
        self.transaction = transaction
        self.relation = relation
        self.insertion = insertion
        self.original = binding
        given = [relation.payload_attribute(name) for name in insertion.columns]
        filled = [
            each for name, each in relation.attributes.items()
            if name not in insertion.columns
            and each.filled not in (None, Filled.BY_SEQUENCE)
        ]  # fmt: skip
        self.columns = tuple(each.name for each in (*given, *filled))
        self.values = [
            tuple(self.value(each, row) for each in (*given, *filled)) for row in insertion.rows
        ]
        self.binding = replace(
            binding,
            rows=json.dumps([list(values) for values in self.values], ensure_ascii=False),
        )

    def value(self, attribute: Attribute, row: Row) -> Bound:
        name = attribute.name
        listed = name in self.insertion.columns
        if listed and name in row:
            value = converted(attribute, row[name], self.original)
            if name == "id" and attribute.filled is Filled.BY_SEQUENCE:
                require_id(self.relation, value)
            return value
        if listed and not self.insertion.default_missing:
            return None
        return self.fill(attribute)

    def fill(self, attribute: Attribute) -> Bound:
        if attribute.filled is Filled.BY_UUID:
            return str(uuid.uuid4())
        if attribute.filled in (Filled.BY_CLOCK, Filled.BY_CLOCK_ALWAYS):
            return self.transaction.now
        return self.original.caller_id if attribute.filled is Filled.BY_CALLER else None

    def write(self, statement: Any, values: tuple[Bound, ...]) -> Key | None:
        """Write one row; its key, or None if it was left alone."""
        binding = replace(self.original, new=values, now=self.transaction.now)
        named = dict(zip(self.columns, values, strict=True))
        with blame.assigned(self.transaction, self.relation, lambda: named, []):
            cursor = self.transaction.run(statement.sql, statement.bind(binding))
        if cursor.rowcount == 0:
            return None
        return tuple(
            named[name] if named.get(name) is not None else cursor.lastrowid
            for name in self.relation.key
        )


def require_id(relation: Relation, value: Bound) -> None:
    if value is None:
        raise NotNullViolation(relation.name, "id")
    if not isinstance(value, int) or not 1 <= value <= ID_MAX:
        raise OutOfRange(f'value "{value}" is out of range for a chosen id (1 to {ID_MAX})')


def converted(attribute: Attribute, value: object, binding: Binding) -> Bound:
    """A payload's value as its column takes it; timestamps read in the preferred time zone."""
    if attribute.type is TIMESTAMP and binding.zone is not None and isinstance(value, str):
        return read_timestamp(value, binding.zone)
    return attribute.type.read_json(value)


__all__ = [
    "Conflict", "ForeignKeyViolation", "Insertion", "NoSuchConstraint", "NotChosen",
    "ResponseTooLarge", "RowDenied", "SameRowTwice", "Selected", "Veto", "Written",
    "delete", "insert", "select", "update",
]  # fmt: skip

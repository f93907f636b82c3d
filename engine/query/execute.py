"""When: runs plans in the transaction it is given. Binds, checks, writes, reads back, counts, vetoes.

This module builds no SQL. The planner (read/) and the write plans (write/) do.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace
from functools import partial

from engine.query.catalog import Relation
from engine.query.constraints import NotNullViolation
from engine.query.read import plan
from engine.query.rule import Rule
from engine.query.shape import Query
from engine.query.shape import Shape
from engine.query.statement import LARGE_CHARACTERS
from engine.query.statement import Binding
from engine.query.statement import Statement
from engine.query.write import constraint_diagnosis as blame
from engine.query.write import plan as mutate
from engine.query.write.insert import Conflict
from engine.query.write.insert import Insertion
from engine.query.write.insert import Key
from engine.query.write.insert import Row
from engine.query.write.insert import Rows
from engine.query.write.insert import WriteResult
from engine.query.write.insert import converted
from engine.query.write.insert import default
from engine.query.write.insert import json_keys
from engine.query.write.insert import require_id
from engine.query.write.row_security import deny
from engine.query.write.row_security import not_chosen
from engine.query.write.upsert import insert_new
from engine.query.write.upsert import require_target
from engine.query.write.upsert import upsert
from engine.storage.library_limits import VALUE_BYTES_MAX
from engine.storage.sqlite import ResponseTooLarge
from engine.storage.transaction import Transaction
from models.fields import ColumnDefault
from models.types import Bound

DEFAULT = object()
"""Among the values of a change: whatever fills the column by itself."""

QUESTION_CHARACTERS_MAX = 2_000  # of the values of a list or a count that is cached


@dataclass(frozen=True, slots=True)
class SelectResult:
    """Rows as JSON texts, and the number of all of them where that was asked for."""

    rows: list[str]
    total: int | None = None

    @property
    def shown(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class CountResult:
    """The numbers that a SelectResult would have, without its rows."""

    shown: int
    total: int | None = None


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
) -> SelectResult:
    """The rows within the binding's range, and their total where it is wanted."""
    plans = plan.plan_read(transaction.dialect.name, relation.name, query.shape, rule)
    rows = listed(transaction, plans, binding)
    if not count:
        return SelectResult(rows)
    complete = len(rows) < binding.limit and (rows or not binding.offset)
    if complete and not plans.grouped:
        return SelectResult(rows, binding.offset + len(rows))
    return SelectResult(rows, total_of(transaction, plans.count, binding))


def count(
    transaction: Transaction,
    rule: Rule,
    binding: Binding,
    *,
    relation: Relation,
    query: Query,
    total: bool,
) -> CountResult:
    """How many rows a select would show, and of how many: what HEAD asks."""
    plans = plan.plan_read(transaction.dialect.name, relation.name, query.shape, rule)
    if plans.grouped:
        selected = select(transaction, rule, binding, relation=relation, query=query, count=total)
        return CountResult(selected.shown, selected.total)
    if not total:
        return CountResult(transaction.value(plans.shown.sql, plans.shown.bind(binding)))
    found = total_of(transaction, plans.count, binding)
    return CountResult(max(0, min(binding.limit, found - binding.offset)), found)


def listed(transaction: Transaction, plans: plan.ReadPlan, binding: Binding) -> list[str]:
    """The rows of a list, cached until the next commit. The caller must not change the list."""
    statement = plans.rows
    values = statement.bind(binding)
    if plans.is_of_one or is_long(statement, values):
        return fetch(transaction, statement.sql, values)
    rows: list[str] = transaction.cached(
        (statement.sql, *values), partial(fetch, transaction, statement.sql, values)
    )
    return rows


def is_long(statement: Statement, values: Iterable[Bound]) -> bool:
    """Whether a statement or its values are too large to be cached."""
    given = sum(len(each) for each in values if isinstance(each, str))
    return given > QUESTION_CHARACTERS_MAX or len(statement.sql) > LARGE_CHARACTERS


def total_of(transaction: Transaction, statement: Statement, binding: Binding) -> int:
    """The number of rows of a count, whatever the range; cached until the next commit.

    The key holds all values of the statement, caller and client among them.
    """
    values = statement.bind(binding)
    count: Callable[[], int] = partial(transaction.value, statement.sql, values)
    if is_long(statement, values):
        return count()
    total: int = transaction.cached((statement.sql, *values), count)
    return total


def fetch(transaction: Transaction, sql: str, parameters: Sequence[Bound]) -> list[str]:
    """The rows of a statement, one by one: all of them at once could be gigabytes."""
    rows: list[str] = []
    left = VALUE_BYTES_MAX
    for (row,) in transaction.each(sql, parameters):
        left -= len(row) if row.isascii() else len(row.encode())
        if left < 0:
            raise ResponseTooLarge
        rows.append(row)
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
) -> WriteResult:
    """Insert or upsert every row or none; `shape` is the representation that is wanted, if any."""
    require_showable(transaction, relation, rule, shape)
    require_target(relation, insertion)
    rows = Rows(transaction, relation, insertion, binding)
    require_chosen(relation, insertion, rule)
    write = insert_new if insertion.conflict is Conflict.FAIL else upsert
    written = write(transaction, relation, insertion, rule, rows)
    veto(len(written.keys))
    return represented(transaction, relation, written, rule, binding, shape)


def require_chosen(relation: Relation, insertion: Insertion, rule: Rule) -> None:
    """Refuse values for columns the caller may not choose; an upsert's key is judged by its row."""
    unchosen = rule.unchosen
    for name in insertion.columns:
        if name not in unchosen:
            continue
        keyed = name in relation.key and insertion.conflict is not Conflict.FAIL
        if not keyed and insertion.saying(name):
            raise not_chosen(name)


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
) -> WriteResult:
    """Change every row within reach that the filters match, or none."""
    require_showable(transaction, relation, rule, shape)
    for name in changes:
        if name in rule.unchosen:
            raise not_chosen(name, of_a_change=True)
    new = {
        name: default(relation.payload_attribute(name).default, transaction.now, binding)
        if value is DEFAULT
        else converted(relation.payload_attribute(name), value, binding)
        for name, value in changes.items()
    }
    for name, each in relation.attributes.items():
        if each.default is ColumnDefault.NOW_ON_WRITE and name not in new:
            new[name] = transaction.now
    statements = mutate.plan_update(
        transaction.dialect.name, relation.name, tuple(new), query.shape, rule
    )
    keys = change_one(transaction, relation, statements, new, binding)
    if not keys:
        keys = change_reached(transaction, relation, statements, new, binding)
    veto(len(keys))
    return represented(transaction, relation, WriteResult(keys), rule, binding, shape)


def change_one(
    transaction: Transaction,
    relation: Relation,
    statements: mutate.UpdatePlan,
    new: dict[str, Bound],
    binding: Binding,
) -> list[Key]:
    """Change the one row that the filters name, if it may be; its key. Where there is none, why is not known yet."""
    statement = statements.at_once
    if statement is None or emptied(relation, new) is not None:
        return []
    with blame.assigned(transaction, relation, lambda: new, []):
        return keys_of(transaction, statement, binding.but(new=tuple(new.values())))


def change_reached(
    transaction: Transaction,
    relation: Relation,
    statements: mutate.UpdatePlan,
    new: dict[str, Bound],
    binding: Binding,
) -> list[Key]:
    """Change every row that the filters match, or none if one may not be; the keys that they have now."""
    keys = keys_of(transaction, statements.keys, binding)
    if not keys:
        return []
    bound = binding.but(keys=json_keys(keys), new=tuple(new.values()))
    deny(transaction, relation, statements.denied, bound)
    missing = emptied(relation, new)
    if missing is not None:  # the database would ask its triggers first
        raise NotNullViolation(relation.name, missing)
    for name, value in new.items():
        if relation.attributes[name].default is ColumnDefault.SEQUENCE:
            require_id(relation, value)
    renamed = [key for key in keys if renewed(relation, key, new) != key]
    # Looked for before: the hidden half of a compound key follows its row's client, and its id along with that.
    pointed_at = blame.referenced(transaction, relation, renamed, blame.REFUSE_CHANGE)
    with blame.assigned(transaction, relation, lambda: new, keys):
        transaction.run(statements.update.sql, statements.update.bind(bound))
    if pointed_at is not None:
        raise pointed_at
    return [renewed(relation, key, new) for key in keys]


def emptied(relation: Relation, new: dict[str, Bound]) -> str | None:
    """The first column that a row must have and that a change takes away."""
    found = (name for name, value in new.items() if value is None)
    return next((name for name in found if relation.attributes[name].required), None)


def renewed(relation: Relation, key: Key, new: dict[str, Bound]) -> Key:
    """A row's key after a change."""
    return tuple(new.get(name, old) for name, old in zip(relation.key, key, strict=True))


def delete(
    transaction: Transaction,
    rule: Rule,
    binding: Binding,
    *,
    relation: Relation,
    query: Query,
    shape: Shape | None,
    veto: Veto,
) -> WriteResult:
    """Delete every row within reach that the filters match, or none."""
    require_showable(transaction, relation, rule, shape)
    statements = mutate.plan_delete(transaction.dialect.name, relation.name, query.shape, rule)
    keys = keys_of(transaction, statements.keys, binding)
    veto(len(keys))
    written = represented(transaction, relation, WriteResult(keys), rule, binding, shape)
    if keys:
        bound = binding.but(keys=json_keys(keys))
        with blame.deleted(transaction, relation, keys):
            transaction.run(statements.delete.sql, statements.delete.bind(bound))
    return written


def keys_of(transaction: Transaction, statement: Statement, binding: Binding) -> list[Key]:
    return [tuple(row) for row in transaction.all(statement.sql, statement.bind(binding))]


def require_showable(
    transaction: Transaction, relation: Relation, rule: Rule, shape: Shape | None
) -> None:
    """What cannot be shown is told before anything is written, and before anything else is wrong."""
    if shape is not None:
        plan.plan_representation(transaction.dialect.name, relation.name, shape, rule)


def represented(
    transaction: Transaction,
    relation: Relation,
    written: WriteResult,
    rule: Rule,
    binding: Binding,
    shape: Shape | None,
) -> WriteResult:
    """The written rows, read back by key under the rule for reading."""
    if shape is None:
        return written
    statement = plan.plan_representation(transaction.dialect.name, relation.name, shape, rule)
    bound = binding.but(keys=json_keys(written.keys))
    rows = fetch(transaction, statement.sql, statement.bind(bound))
    is_cut = len(rows) == binding.rows_max < len(written.keys)
    return replace(written, rows=rows, is_cut=is_cut)

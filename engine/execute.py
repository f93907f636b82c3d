"""Run the plans of reads and writes in a transaction, and compile prepared statements over internal tables.

The packages `read` and `write` build the SQL. A prepared statement is compiled once for each SQL dialect. A prepared
statement that lists rows of a resource has to include the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from engine.interface.database import VALUE_BYTES_MAX, ResponseTooLarge, Transaction
from engine.query.catalog import NotNullViolation, Relation
from engine.query.dialect.base import keys_as_json
from engine.query.read import plan as read_plan
from engine.query.shape import Query, Shape
from engine.query.statement import LARGE_BYTES, LARGE_CHARACTERS, UNRESTRICTED, Binding, Rule, Statement, take_slot
from engine.query.write import statements
from engine.query.write.insert import Conflict, Insertion, InsertRows, WriteResult, insert_new, require_target, upsert
from engine.query.write.row_layout import Row, convert_value, default_value, require_id
from engine.query.write.rules import (
    DOMAIN_RULES,
    REFUSE_CHANGE,
    Key,
    UpdatedRow,
    diagnose_deletion,
    diagnose_write,
    protected_column,
    remaining_reference,
    require_allowed,
    rule_columns,
)
from models.fields import ColumnDefault
from models.types import Bound

DEFAULT = object()
"""As a value in an update: the column's default."""

CACHED_VALUE_CHARACTERS_MAX = 2_000  # the total length of a cached query's values


@dataclass(frozen=True, slots=True)
class SelectResult:
    """Rows as JSON texts, and the total number of rows if it was requested."""

    rows: list[str]
    total: int | None = None

    @property
    def shown(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, slots=True)
class CountResult:
    """The number of rows in the range, and the total number of rows if it was requested."""

    shown: int
    total: int | None = None


RowCountCheck = Callable[[int], None]
"""A function that is called with the number of written rows before the commit. It raises to roll back."""


def accept_any_count(count: int) -> None:
    """Accept any number of written rows."""


def select(
    transaction: Transaction, rule: Rule, binding: Binding, *, relation: Relation, query: Query, count: bool
) -> SelectResult:
    """Return the rows in the binding's range; with `count`, also the total number of rows."""
    plan = read_plan.plan_read(transaction.dialect.name, relation.name, query.shape, rule)
    rows = cached_rows(transaction, plan, binding)
    if not count:
        return SelectResult(rows)
    is_last_page = len(rows) < binding.limit and (rows or not binding.offset)
    if is_last_page and not plan.grouped:
        return SelectResult(rows, binding.offset + len(rows))
    return SelectResult(rows, cached_total(transaction, plan.count, binding))


def count(
    transaction: Transaction, rule: Rule, binding: Binding, *, relation: Relation, query: Query, total: bool
) -> CountResult:
    """Return the number of rows in the binding's range, for HEAD; with `total`, also the total number of rows."""
    plan = read_plan.plan_read(transaction.dialect.name, relation.name, query.shape, rule)
    if plan.grouped:
        result = select(transaction, rule, binding, relation=relation, query=query, count=total)
        return CountResult(result.shown, result.total)
    if not total:
        return CountResult(transaction.value(plan.shown.sql, plan.shown.bind(binding)))
    rows = cached_total(transaction, plan.count, binding)
    return CountResult(max(0, min(binding.limit, rows - binding.offset)), rows)


def cached_rows(transaction: Transaction, plan: read_plan.ReadPlan, binding: Binding) -> list[str]:
    """Return the rows of a list, cached until the next commit. The caller must not change the list."""
    statement = plan.rows
    values = statement.bind(binding)
    if plan.is_point_read or is_too_large_to_cache(statement, values):
        return fetch_rows(transaction, statement.sql, values)
    rows: list[str] = transaction.cached(
        (statement.sql, *values), partial(fetch_rows, transaction, statement.sql, values)
    )
    if sum(map(len, rows)) > LARGE_BYTES:  # another request may have fetched them
        take_slot()
    return rows


def is_too_large_to_cache(statement: Statement, values: Iterable[Bound]) -> bool:
    characters = sum(len(each) for each in values if isinstance(each, str))
    return characters > CACHED_VALUE_CHARACTERS_MAX or len(statement.sql) > LARGE_CHARACTERS


def cached_total(transaction: Transaction, statement: Statement, binding: Binding) -> int:
    """Return the total number of rows, cached until the next commit.

    The cache key holds all values of the statement, including the caller's id and client.
    """
    values = statement.bind(binding)
    count_rows: Callable[[], int] = partial(transaction.value, statement.sql, values)
    if is_too_large_to_cache(statement, values):
        return count_rows()
    total: int = transaction.cached((statement.sql, *values), count_rows)
    return total


def fetch_rows(transaction: Transaction, sql: str, parameters: Sequence[Bound]) -> list[str]:
    """Return the rows of a statement; raise ResponseTooLarge at VALUE_BYTES_MAX, or TooManyLargeResults.

    Rows are fetched one at a time, because all of them could be gigabytes.
    """
    rows: list[str] = []
    bytes_left = VALUE_BYTES_MAX
    for (row,) in transaction.each(sql, parameters):
        bytes_left -= len(row) if row.isascii() else len(row.encode())
        if bytes_left < 0:
            raise ResponseTooLarge
        if bytes_left < VALUE_BYTES_MAX - LARGE_BYTES:
            take_slot(waits=not transaction.writes)
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
    check_row_count: RowCountCheck = accept_any_count,
) -> WriteResult:
    """Insert or upsert all rows or none. With `shape`, return the rows as they are after the write."""
    check_representation(transaction, relation, rule, shape)
    require_target(relation, insertion)
    rows = InsertRows(transaction, relation, insertion, binding)
    require_writable_columns(relation, insertion, rule)
    write = insert_new if insertion.conflict is Conflict.FAIL else upsert
    result = write(transaction, relation, insertion, rule, rows)
    check_row_count(len(result.keys))
    domain_rule = DOMAIN_RULES.get(relation.name)
    if domain_rule is not None and result.keys:
        is_new = result.inserted == len(result.keys)
        if is_new:
            domain_rule.inserted(transaction, result.keys, insertion.service_columns)
        else:
            concerned = [key for key in result.keys if key not in result.unchanged]
            domain_rule.merged(transaction, concerned, frozenset(insertion.columns))
    return with_representation(transaction, relation, result, rule, binding, shape)


def protected_columns(relation: Relation, rule: Rule) -> frozenset[str]:
    """Return the columns that a payload may not set: the columns of the rule, and the columns of the service."""
    protected = rule.protected_columns(relation.model)
    return protected if rule is UNRESTRICTED else protected | relation.service_columns


def require_writable_columns(relation: Relation, insertion: Insertion, rule: Rule) -> None:
    """Raise ProtectedColumn if the rows set a protected column. An upsert checks its key columns itself.

    New rows may name the default of a column that only the service changes.
    """
    protected = protected_columns(relation, rule) - insertion.service_columns
    for name in insertion.columns:
        if name not in protected:
            continue
        attribute = relation.attributes[name]
        if attribute.info.service and (
            insertion.conflict is not Conflict.FAIL  # an upsert compares the stored values
            or all(row.get(name, attribute.stored_default) == attribute.stored_default for row in insertion.rows)
        ):
            continue
        is_upsert_key = name in relation.key and insertion.conflict is not Conflict.FAIL
        rows = insertion.rows_with(name)
        # A merge gives an existing row the default of a column that no row of the payload has.
        if not is_upsert_key and (rows or insertion.conflict is Conflict.MERGE):
            fault = protected_column(name)
            insertion.locate(fault, min(rows, default=0), (name,))
            raise fault


def update(
    transaction: Transaction,
    rule: Rule,
    binding: Binding,
    *,
    relation: Relation,
    query: Query,
    changes: Row,
    shape: Shape | None,
    check_row_count: RowCountCheck = accept_any_count,
) -> WriteResult:
    """Update all rows that match the filters and that the rule allows, or none. `changes` are raw JSON values."""
    check_representation(transaction, relation, rule, shape)
    protected = protected_columns(relation, rule)
    if rule is not UNRESTRICTED:
        protected |= relation.insert_only_columns
    for name in changes:
        if name in protected:
            is_insert_only = name in relation.insert_only_columns
            raise protected_column(name, is_update=True, is_insert_only=is_insert_only)
    new = {
        name: default_value(relation, relation.payload_attribute(name), transaction, binding, {})
        if value is DEFAULT
        else convert_value(relation.payload_attribute(name), value, binding)
        for name, value in changes.items()
    }
    for name, each in relation.attributes.items():
        if each.default is ColumnDefault.NOW_ON_WRITE and name not in new:
            new[name] = transaction.now
    plan = statements.plan_update(transaction.dialect.name, relation.name, tuple(new), query.shape, rule)
    found = update_by_key(transaction, relation, plan, new, binding)
    if not found.keys:
        found = update_matching(transaction, relation, plan, new, rule, binding)
    check_row_count(len(found.keys))
    domain_rule = DOMAIN_RULES.get(relation.name)
    if domain_rule is not None and found.concerned:
        domain_rule.updated(transaction, found.concerned, frozenset(changes))
    return with_representation(transaction, relation, WriteResult(found.keys), rule, binding, shape)


def update_by_key(
    transaction: Transaction, relation: Relation, plan: statements.UpdatePlan, new: dict[str, Bound], binding: Binding
) -> MatchingKeys:
    """Update the row that the filters select by its key, and return the key.

    Return no key if no such row was updated. Then the row is missing, or the rule denies the update, or the plan has
    no such statement.
    """
    statement = plan.update_by_key
    if statement is None or null_violation(relation, new) is not None:
        return NO_KEYS
    with diagnose_write(transaction, relation, lambda: new, []):
        return fetch_keys(transaction, relation, statement, binding.replace(new=tuple(new.values())))


def update_matching(
    transaction: Transaction,
    relation: Relation,
    plan: statements.UpdatePlan,
    new: dict[str, Bound],
    rule: Rule,
    binding: Binding,
) -> MatchingKeys:
    """Update all rows that match the filters, and return their new keys; raise RowDenied if the rule denies a row."""
    binding = binding.replace(new=tuple(new.values()))
    found = fetch_keys(transaction, relation, plan.keys, binding)
    keys = found.keys
    if not keys:
        return NO_KEYS
    bound = binding.replace(keys=keys_as_json(keys))
    name = null_violation(relation, new)
    require_allowed(transaction, relation, plan.denied, bound)
    if name is not None:  # the database would run its triggers first
        raise NotNullViolation(relation.name, name)
    for name, value in new.items():
        if relation.attributes[name].default is ColumnDefault.SEQUENCE:
            require_id(relation, value)
    changed_keys = [key for key in keys if updated_key(relation, key, new) != key]
    # The search precedes the update: ON UPDATE CASCADE would change the references by their compound keys.
    violation = remaining_reference(transaction, relation, changed_keys, REFUSE_CHANGE)
    with diagnose_write(transaction, relation, lambda: new, keys):
        for values, among in recomputed_values(transaction, relation, plan, new, found, binding):
            columns = tuple(values)
            update = statements.plan_update(transaction.dialect.name, relation.name, columns, plan.shape, rule).update
            bound = binding.replace(new=tuple(values.values()), keys=keys_as_json(among))
            transaction.run(update.sql, update.bind(bound))
    if violation is not None:
        raise violation
    new_keys, concerned = ([updated_key(relation, key, new) for key in each] for each in (keys, found.concerned))
    return MatchingKeys(new_keys, concerned)


def recomputed_values(
    transaction: Transaction,
    relation: Relation,
    plan: statements.UpdatePlan,
    new: dict[str, Bound],
    found: MatchingKeys,
    binding: Binding,
) -> list[tuple[dict[str, Bound], list[Key]]]:
    """Return the values that an update sets or the domain rule computes, and the rows that get them."""
    columns = rule_columns(relation.name)
    rule = DOMAIN_RULES.get(relation.name)
    if rule is None or not found.concerned or rule.watched.isdisjoint(new):
        columns = ()
    if rule is None or not columns:
        return [(new, found.keys)]
    statement, width = plan.stored_values, len(relation.key)
    stored = transaction.all(statement.sql, statement.bind(binding.replace(keys=keys_as_json(found.concerned))))
    rows = {tuple(row[:width]): UpdatedRow(dict(zip(columns, row[width:], strict=True)), new) for row in stored}
    computed = dict(zip(rows, rule.recompute(transaction, list(rows.values())), strict=True))
    groups: dict[tuple[Bound, ...], list[Key]] = {}
    for key in found.keys:
        values = computed.get(key)
        groups.setdefault(() if values is None else tuple(values[name] for name in rule.recomputed), []).append(key)
    return [({**new, **dict(zip(rule.recomputed, values, strict=False))}, keys) for values, keys in groups.items()]


def null_violation(relation: Relation, new: dict[str, Bound]) -> str | None:
    """Return the first required column that an update sets to null."""
    nulls = (name for name, value in new.items() if value is None)
    return next((name for name in nulls if relation.attributes[name].required), None)


def updated_key(relation: Relation, key: Key, new: dict[str, Bound]) -> Key:
    """Return a row's key after an update."""
    return tuple(new.get(name, old) for name, old in zip(relation.key, key, strict=True))


def delete(
    transaction: Transaction,
    rule: Rule,
    binding: Binding,
    *,
    relation: Relation,
    query: Query,
    shape: Shape | None,
    check_row_count: RowCountCheck = accept_any_count,
) -> WriteResult:
    """Delete all rows that match the filters and that the rule allows, or none."""
    check_representation(transaction, relation, rule, shape)
    plan = statements.plan_delete(transaction.dialect.name, relation.name, query.shape, rule)
    found = fetch_keys(transaction, relation, plan.keys, binding)
    keys = found.keys
    check_row_count(len(keys))
    result = with_representation(transaction, relation, WriteResult(keys), rule, binding, shape)
    if keys:
        domain_rule = DOMAIN_RULES.get(relation.name)
        if domain_rule is not None and found.concerned:
            domain_rule.deleting(transaction, found.concerned)
        bound = binding.replace(keys=keys_as_json(keys))
        with diagnose_deletion(transaction, relation, keys):
            transaction.run(plan.delete.sql, plan.delete.bind(bound))
    return result


@dataclass(frozen=True, slots=True)
class MatchingKeys:
    """The keys of rows that match, and those of the rows that the table's domain rule concerns."""

    keys: list[Key]
    concerned: list[Key]


NO_KEYS = MatchingKeys([], [])


def fetch_keys(transaction: Transaction, relation: Relation, statement: Statement, binding: Binding) -> MatchingKeys:
    """Return the keys of a statement's rows. Each key is followed by `WriteBuilder.concern`."""
    rows = transaction.all(statement.sql, statement.bind(binding))
    width = len(relation.key)
    keys = [tuple(row[:width]) for row in rows]
    return MatchingKeys(keys, [key for key, row in zip(keys, rows, strict=True) if all(row[width:])])


def check_representation(transaction: Transaction, relation: Relation, rule: Rule, shape: Shape | None) -> None:
    """Plan the representation before the write, so that its errors precede all others."""
    if shape is not None:
        read_plan.plan_representation(transaction.dialect.name, relation.name, shape, rule)


def with_representation(
    transaction: Transaction, relation: Relation, result: WriteResult, rule: Rule, binding: Binding, shape: Shape | None
) -> WriteResult:
    """Return the result with the written rows, read by key under the rule for reads."""
    if shape is None:
        return result
    statement = read_plan.plan_representation(transaction.dialect.name, relation.name, shape, rule)
    bound = binding.replace(keys=keys_as_json(result.keys))
    rows = fetch_rows(transaction, statement.sql, statement.bind(bound))
    is_cut = len(rows) == binding.rows_max < len(result.keys)
    return replace(result, rows=rows, is_cut=is_cut)

"""Inserts and upserts: the order of their checks and writes.

An upsert checks protected key columns first. Then it checks the rule for the payload's rows, for existing rows, and for
merged rows. The first failed check gives the error.
"""

from __future__ import annotations

from engine.interface.transaction import Transaction
from engine.query.catalog import Relation, UnknownColumn
from engine.query.constraints import ConstraintViolation, UniqueViolation
from engine.query.rule import Rule
from engine.query.write import plan as write_plan
from engine.query.write.domain_rules import Key
from engine.query.write.insert import Conflict, Insertion, InsertRows, WriteResult
from engine.query.write.row_security import protected_column, require_allowed, row_violation
from engine.query.write.statements import stored_columns
from models.errors import Fault
from models.fields import ColumnDefault
from models.types import Bound


class NoSuchConstraint(Fault):
    """An `on_conflict` over columns without a unique constraint (42P10)."""


class SameRowTwice(Fault):
    """A merge whose payload holds a key twice (21000)."""


def upsert(
    transaction: Transaction, relation: Relation, insertion: Insertion, rule: Rule, rows: InsertRows
) -> WriteResult:
    """Insert the rows that do not exist; merge or ignore those that do. Raise the errors of the checks."""
    target = conflict_target(relation, insertion.target)
    merge = insertion.conflict is Conflict.MERGE
    if not set(target) <= set(rows.columns):
        # The database generates the key, so there is no conflict.
        require_stored_values(relation, insertion, rows, {}, frozenset())
        return insert_new(transaction, relation, insertion, rule, rows)
    merged = insertion.columns if merge else None
    plan = write_plan.plan_upsert(
        transaction.dialect.name, relation.name, rows.columns, rows.constant, target, merged, rule
    )
    found = transaction.all(plan.existing_rows.sql, plan.existing_rows.bind(rows.binding))
    size = len(relation.key)
    existing = {position: (bool(is_writable), tuple(values[:size])) for position, is_writable, _, *values in found}
    unchanged = {position for position, _, is_changed, *_ in found if not is_changed}
    names = stored_columns(relation, rows.columns)
    stored = {position: dict(zip(names, values[size:], strict=True)) for position, _, _, *values in found}
    keep_computed(relation, insertion, rows, stored)
    unwritable = frozenset(position for position, (is_writable, _) in existing.items() if not is_writable)
    require_stored_values(relation, insertion, rows, stored, unwritable)
    require_writable_keys(relation, insertion, target, existing, rule)
    rows.require_client()
    require_allowed(transaction, relation, plan.denied, rows.binding, insertion.locate)
    require_writable_rows(relation, target, existing, insertion)
    require_allowed(transaction, relation, plan.denied_merge, rows.binding, insertion.locate)
    written: list[Key] | None = None
    if merge:
        require_distinct(rows, target)
        # One statement that changes keys could reuse a key before the check of the references to it.
        keeps_keys = set(relation.key) & set(insertion.columns) <= set(target)
        written = rows.write_all(plan) if keeps_keys and rows.have_keys else None
    keys: list[Key] = []
    unchanged_keys: set[Key] = set()
    inserted = 0
    for position, values in enumerate(rows.values):
        if position in existing and not merge:
            rows.require_complete(position)
            continue
        key = rows.write_row(plan, position) if written is None else written[position]
        if position in existing:
            keys.append(merged_key(relation, existing[position][1], values, rows.columns, merged))
            if position in unchanged:
                unchanged_keys.add(keys[-1])
        elif key is not None:
            keys.append(key)
            inserted += 1
    return WriteResult(keys, inserted, unchanged=frozenset(unchanged_keys))


def insert_new(
    transaction: Transaction, relation: Relation, insertion: Insertion, rule: Rule, rows: InsertRows
) -> WriteResult:
    """Insert rows without a conflict target; raise RowDenied or the violation of a constraint."""
    plan = write_plan.plan_insert(transaction.dialect.name, relation.name, rows.columns, rows.constant, rule)
    rows.require_client()
    statement = plan.insert_if_allowed if len(rows.values) == 1 else None
    if statement is not None and rows.missing_column(rows.values[0]) is None:
        try:
            key = rows.write(statement, rows.values[0])
        except ConstraintViolation as violation:
            insertion.locate(violation, 0, violation.columns)
            raise
        if key is None:
            denial = row_violation(relation)
            insertion.locate(denial, 0)
            raise denial
        return WriteResult([key], 1)
    keys = rows.write_all(plan)
    if keys is None:
        require_allowed(transaction, relation, plan.denied, rows.binding, insertion.locate)
        keys = rows.write_one_by_one(plan)
    return WriteResult(keys, len(keys))


StoredValues = dict[int, dict[str, Bound]]
"""Values of existing rows by position in the payload and by column."""


def keep_computed(relation: Relation, insertion: Insertion, rows: InsertRows, stored: StoredValues) -> None:
    """Replace a null in a computed column with the stored value, so that a repeated request does not change it."""
    for name in insertion.columns:
        if relation.attributes[name].default is ColumnDefault.COMPUTED:
            nulls = (position for position in stored if insertion.rows[position].get(name) is None)
            rows.replace_values(name, {position: stored[position][name] for position in nulls})


def require_stored_values(
    relation: Relation, insertion: Insertion, rows: InsertRows, stored: StoredValues, unwritable: frozenset[int]
) -> None:
    """Raise ProtectedColumn if a row changes a column of the service, or if a new row does not have its default.

    Skip the `unwritable` rows, which another check refuses: the error would reveal the values of a hidden row.
    """
    for name in insertion.columns:
        attribute = relation.attributes[name]
        if not attribute.info.service:
            continue
        place = rows.columns.index(name)
        is_computed = attribute.default is ColumnDefault.COMPUTED
        for position, values in enumerate(rows.values):
            kept = stored[position][name] if position in stored else attribute.stored_default
            if position not in stored and is_computed and insertion.rows[position].get(name) is None:
                continue
            if values[place] != kept and position not in unwritable:
                fault = protected_column(name)
                insertion.locate(fault, position, (name,))
                raise fault


def merged_key(
    relation: Relation, key: Key, values: tuple[Bound, ...], columns: tuple[str, ...], merged: tuple[str, ...] | None
) -> Key:
    """Return the key of an existing row after a merge: the merged columns have the payload's values."""
    return tuple(
        values[columns.index(name)] if merged is not None and name in merged else old
        for name, old in zip(relation.key, key, strict=True)
    )


def require_target(relation: Relation, insertion: Insertion) -> None:
    """Raise NoSuchConstraint or UnknownColumn for the invalid target of an upsert, even of no rows."""
    if insertion.conflict is not Conflict.FAIL:
        conflict_target(relation, insertion.target)


def conflict_target(relation: Relation, requested: tuple[str, ...] | None) -> tuple[str, ...]:
    """Return the columns of the unique constraint for `on_conflict`, by default of the primary key."""
    if requested is None:
        return relation.key
    for name in requested:
        if name not in relation.attributes:
            raise UnknownColumn(f'column "{name}" does not exist')
    for columns in relation.uniques.values():
        if set(columns) == set(requested):
            return columns
    raise NoSuchConstraint("there is no unique or exclusion constraint matching the ON CONFLICT specification")


def require_writable_keys(
    relation: Relation, insertion: Insertion, target: tuple[str, ...], existing: dict[int, tuple[bool, Key]], rule: Rule
) -> None:
    """Raise ProtectedColumn if the payload sets a protected key column of a row that the caller may not update."""
    protected = next(
        (name for name in relation.key if name in insertion.columns and name in rule.protected_columns), None
    )
    if protected is not None:
        writable = {position for position, (is_writable, _) in existing.items() if is_writable}
        setting = insertion.rows_with(protected)
        refused = setting - writable if protected in target else setting
        if refused:
            fault = protected_column(protected)
            insertion.locate(fault, min(refused), (protected,))
            raise fault


def require_writable_rows(
    relation: Relation, target: tuple[str, ...], existing: dict[int, tuple[bool, Key]], insertion: Insertion
) -> None:
    """Raise RowDenied if the caller may not update an existing row, or UniqueViolation for another target than the
    primary key."""
    refused = [position for position, (is_writable, _) in existing.items() if not is_writable]
    if not refused:
        return
    if target == relation.key:
        denial = row_violation(relation, " (USING expression)")
        insertion.locate(denial, min(refused))
        raise denial
    constraint = next(name for name, key in relation.uniques.items() if key == target)
    violation = UniqueViolation(constraint)
    insertion.locate(violation, min(refused), target)
    raise violation


def require_distinct(rows: InsertRows, target: tuple[str, ...]) -> None:
    """Raise SameRowTwice if two rows have the same target."""
    positions = [rows.columns.index(name) for name in target]
    seen: set[Key] = set()
    for row, values in enumerate(rows.values):
        key = tuple(values[position] for position in positions)
        if None in key:  # nulls are distinct
            continue
        if key in seen:
            fault = SameRowTwice(
                "ON CONFLICT DO UPDATE command cannot affect row a second time",
                hint="Ensure that no rows proposed for insertion within the same command have "
                "duplicate constrained values.",
            )
            rows.insertion.locate(fault, row, target)
            raise fault
        seen.add(key)

"""The rows of inserts and upserts: their values, their defaults, and the order of checks and writes.

An upsert checks protected key columns first. Then it checks the rule for the payload's rows, for existing rows, and for
merged rows. The first failed check gives the error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from operator import itemgetter
from typing import Any

from engine.interface.database import Transaction
from engine.query.catalog import ConstraintViolation, NotNullViolation, Relation, UniqueViolation, UnknownColumn
from engine.query.statement import Binding, Rule, Statement
from engine.query.write import statements
from engine.query.write.row_layout import MEMOIZED_TYPES, ColumnSource, MemoizedConverter, Row, RowLayout, row_layout
from engine.query.write.rules import (
    DOMAIN_RULES,
    Key,
    UpdatedRow,
    diagnose_write,
    protected_column,
    require_allowed,
    row_violation,
    rule_columns,
)
from engine.query.write.statements import InsertPlan, UpsertPlan, stored_columns
from models.fields import ColumnDefault
from models.types import Bound, Fault


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
    `service_columns`: columns whose values the service sets, not the payload.
    """

    rows: Sequence[Row]
    columns: tuple[str, ...]
    conflict: Conflict = Conflict.FAIL
    target: tuple[str, ...] | None = None
    default_missing: bool = False
    lines: tuple[int, ...] | None = None
    service_columns: frozenset[str] = frozenset()

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


class NoSuchConstraint(Fault, code="42P10"):
    """An `on_conflict` over columns without a unique constraint."""


class SameRowTwice(Fault, code="21000"):
    """A merge whose payload holds a key twice."""


def upsert(
    transaction: Transaction, relation: Relation, insertion: Insertion, rule: Rule, rows: InsertRows
) -> WriteResult:
    """Insert the rows that do not exist; merge or ignore the existing ones. Raise the errors of the checks."""
    target = conflict_target(relation, insertion.target)
    merge = insertion.conflict is Conflict.MERGE
    if not set(target) <= set(rows.columns):
        # The database generates the key, so there is no conflict.
        require_stored_values(relation, insertion, rows, {}, frozenset())
        return insert_new(transaction, relation, insertion, rule, rows)
    recomputed = DOMAIN_RULES[relation.name].recomputed if rule_columns(relation.name) else ()
    merged = tuple(dict.fromkeys((*insertion.columns, *recomputed))) if merge else None
    plan = statements.plan_upsert(
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
    require_allowed(transaction, relation, plan.denied, rows.binding, insertion.locate)
    require_writable_rows(relation, target, existing, insertion)
    require_allowed(transaction, relation, plan.denied_merge, rows.binding, insertion.locate)
    written: list[Key] | None = None
    if merge:
        recompute(transaction, relation, insertion, rows, stored, unchanged)
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
    plan = statements.plan_insert(transaction.dialect.name, relation.name, rows.columns, rows.constant, rule)
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


def recompute(
    transaction: Transaction,
    relation: Relation,
    insertion: Insertion,
    rows: InsertRows,
    stored: StoredValues,
    unchanged: set[int],
) -> None:
    """Set the columns that the domain rule computes in existing rows. Rows without a watched change keep theirs."""
    columns = rule_columns(relation.name)
    if not columns:
        return
    rule = DOMAIN_RULES[relation.name]
    changed: dict[int, UpdatedRow] = {}
    values: dict[str, dict[int, Bound]] = {name: {} for name in rule.recomputed}
    for position, old in stored.items():
        row = dict(zip(rows.columns, rows.values[position], strict=True))
        new = {name: row[name] for name in insertion.columns}
        for name in rule.recomputed:
            values[name][position] = new.get(name, old[name])
            if name in new and insertion.rows[position].get(name) is None:
                new[name] = None
        if position not in unchanged or any(name in new and new[name] != old[name] for name in rule.recomputed):
            changed[position] = UpdatedRow({name: old[name] for name in columns}, new)
    computed = rule.recompute(transaction, list(changed.values())) if changed else []
    for position, each in zip(changed, computed, strict=True):
        for name in rule.recomputed:
            values[name][position] = each[name]
    for name, of_rows in values.items():
        rows.replace_values(name, of_rows)


def require_stored_values(
    relation: Relation, insertion: Insertion, rows: InsertRows, stored: StoredValues, unwritable: frozenset[int]
) -> None:
    """Raise ProtectedColumn if a row changes a column of the service, or if a new row does not have its default.

    A merge does not change an insert-only column, either. Skip the `unwritable` rows, which another check refuses: the
    error would reveal the values of a hidden row.
    """
    for name in insertion.columns:
        attribute = relation.attributes[name]
        is_kept = attribute.info.insert_only and insertion.conflict is Conflict.MERGE
        if not (attribute.info.service or is_kept):
            continue
        place = rows.columns.index(name)
        is_computed = attribute.default is ColumnDefault.COMPUTED
        for position, values in enumerate(rows.values):
            kept = stored[position][name] if position in stored else attribute.stored_default
            is_given = insertion.rows[position].get(name) is not None
            if position not in stored and (is_kept or (is_computed and not is_given)):
                continue
            if values[place] != kept and position not in unwritable:
                fault = protected_column(name, is_update=is_kept, is_insert_only=is_kept)
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
    columns = rule.protected_columns(relation.model)
    protected = next((name for name in relation.key if name in insertion.columns and name in columns), None)
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

"""Domain rules and row-level security of writes, and the diagnosis of violated constraints.

A domain rule is what a write of one table checks, and what follows from it in the same transaction. Every write of the
API, of functions and of the console runs the domain rules. An archive's import and `flask copy` do not: their rows are
complete. Row-level security refuses rows that the access rule denies, and columns that a payload may not set. SQLite
reports only that a foreign key failed. Queries then find the key and the row. They run after the statement failed, in
the same transaction, which is then rolled back. Of several violated CHECKs the engines report different ones, so bounds
are checked here again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import sqlalchemy as sa

from engine.interface.database import Transaction
from engine.query.catalog import CheckViolation, ForeignKey, ForeignKeyViolation, Relation, UniqueViolation, catalog
from engine.query.statement import Binding, Statement, compile_statement, parameter
from models.fields import ColumnInfo, Row
from models.types import Bound, Denial, Fault

Key = tuple[Bound, ...]


@dataclass(frozen=True, slots=True)
class UpdatedRow:
    """A row before an update: the stored values of the rule's columns, and the values that the update sets."""

    old: Mapping[str, Any]
    new: Mapping[str, Any]

    @property
    def row(self) -> dict[str, Any]:
        """The values as the update leaves them."""
        return {**self.old, **self.new}


class DomainRule:
    """The rule of one table. Each method may raise a fault, which undoes the write.

    The statements of a write also compute which rows the rule concerns. It does not run for the others.
    """

    watched: ClassVar[frozenset[str]] = frozenset()
    """If any: an update that sets some of these columns concerns only the rows in which one of them changes."""

    recomputed: ClassVar[tuple[str, ...]] = ()
    """The columns with ColumnDefault.COMPUTED that `recompute` sets. They need watched columns."""

    def concerns_update(self, row: Row, columns: frozenset[str]) -> sa.ColumnElement[bool]:
        """Return the condition that `updated` runs for a row whose `columns` are set."""
        return sa.true()

    def concerns_deletion(self, row: Row) -> sa.ColumnElement[bool]:
        """Return the condition that `deleting` runs for a row."""
        return sa.true()

    def defaults(
        self, transaction: Transaction, binding: Binding, column: str, rows: Sequence[Mapping[str, object]]
    ) -> Sequence[Bound]:
        """Return the values of a column with ColumnDefault.COMPUTED. `rows` hold the JSON values of the others."""
        return [None] * len(rows)

    def recompute(self, transaction: Transaction, rows: Sequence[UpdatedRow]) -> Sequence[Mapping[str, Bound]]:
        """Return the values of `recomputed` for rows in which a watched column changes. The same UPDATE sets them.

        An upsert's null in one of these columns is in `UpdatedRow.new`.
        """
        return [{}] * len(rows)

    def inserted(
        self, transaction: Transaction, keys: Sequence[Key], service_columns: frozenset[str] = frozenset()
    ) -> None:
        """Run after rows were inserted. `keys` are theirs, in the order of the payload.

        The service vouches for the values of `service_columns`.
        """

    def updated(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Run after rows were updated. `columns` are the changed ones."""

    def merged(self, transaction: Transaction, keys: Sequence[Key], columns: frozenset[str]) -> None:
        """Run after an upsert that inserted some of the rows and updated the others.

        `keys` lack the updated rows in which no watched column changed.
        """
        self.updated(transaction, keys, columns)

    def imported(self, transaction: Transaction, columns: frozenset[str]) -> None:
        """Run after the import of an archive with rows of this table. Every row has these `columns`.

        Fills in what the archive of an earlier version lacks.
        """

    def deleting(self, transaction: Transaction, keys: Sequence[Key]) -> None:
        """Run before rows are deleted."""


DOMAIN_RULES: dict[str, DomainRule] = {}
"""The rules by table. The application registers them."""


def rule_columns(relation_name: str) -> tuple[str, ...]:
    """Return the columns on which the computed columns of a table depend, and these; none if no update computes any."""
    rule = DOMAIN_RULES.get(relation_name)
    return () if rule is None or not rule.recomputed else (*sorted(rule.watched - {*rule.recomputed}), *rule.recomputed)


@contextmanager
def diagnose_write(
    transaction: Transaction, relation: Relation, values: Callable[[], dict[str, Bound]], keys: Sequence[Key]
) -> Iterator[None]:
    """Add details to the violation of a write. `values`: the new values. `keys`: the keys of updated rows."""
    try:
        yield
    except ForeignKeyViolation as violation:
        if violation.details is not None:
            raise
        raise (
            missing_reference(transaction, relation, values())
            or remaining_reference(transaction, relation, keys, REFUSE_CHANGE)
            or violation
        ) from violation
    except UniqueViolation as violation:
        violation.details = duplicate_key_details(relation, violation.constraint, values())
        raise
    except CheckViolation as violation:
        raise (exceeded_bound(relation, values()) or violation) from violation


@contextmanager
def diagnose_deletion(transaction: Transaction, relation: Relation, keys: Sequence[Key]) -> Iterator[None]:
    """Add details to the violation of a delete."""
    try:
        yield
    except ForeignKeyViolation as violation:
        if violation.details is not None:
            raise
        raise (remaining_reference(transaction, relation, keys, REFUSE_DELETION) or violation) from violation


def missing_reference(
    transaction: Transaction, relation: Relation, values: dict[str, Bound]
) -> ForeignKeyViolation | None:
    """Return the violation of the first foreign key whose value refers to a missing row; None if there is none."""
    for fk in relation.foreign_keys:
        value = values.get(fk.column)
        if value is not None and not row_exists(transaction, fk.referred, fk.referred_column, value):
            return ForeignKeyViolation.missing(relation.name, fk.name, fk.column, value, fk.referred)
    return None


def exceeded_bound(relation: Relation, values: dict[str, Bound]) -> CheckViolation | None:
    """Return the violation of the first column, in the table's order, whose number exceeds its bounds."""
    for name, attribute in relation.attributes.items():
        value = values.get(name)
        if isinstance(value, int | float) and not is_allowed(attribute.info, value):
            return CheckViolation(f"{relation.name}_{name}_check")
    return None


def is_allowed(info: ColumnInfo, value: Bound) -> bool:
    """Return whether a value is within the bounds of its column, and one of the allowed values."""
    if isinstance(value, int | float):
        is_below = info.minimum is not None and value < info.minimum
        return not is_below and (info.maximum is None or value <= info.maximum)
    return value is None or not info.allowed_values or value in info.allowed_values


REFUSE_DELETION = frozenset({"RESTRICT", "NO ACTION"})
REFUSE_CHANGE = frozenset({"RESTRICT", "NO ACTION", "CASCADE", "SET NULL"})


def remaining_reference(
    transaction: Transaction, relation: Relation, keys: Sequence[Key], refusing: frozenset[str]
) -> ForeignKeyViolation | None:
    """Return the violation of the first foreign key that refers to one of these rows; None if there is none.

    `refusing`: the ON DELETE actions of the foreign keys to check. References to other columns than keys cascade.
    """
    for fk in references_to(relation):
        if fk.ondelete not in refusing or fk.referred_column not in relation.key:
            continue
        position = relation.key.index(fk.referred_column)
        for key in keys:
            if row_exists(transaction, fk.relation, fk.column, key[position]):
                return ForeignKeyViolation.referenced(
                    relation.name, fk.name, fk.referred_column, key[position], fk.relation
                )
    return None


def references_to(relation: Relation) -> Iterator[ForeignKey]:
    """Yield the foreign keys to a relation, by the name of their own relation."""
    for other in sorted(catalog().relations.values(), key=lambda each: each.name):
        for fk in other.foreign_keys:
            if fk.referred == relation.name:
                yield fk


def row_exists(transaction: Transaction, relation_name: str, column: str, value: Bound) -> bool:
    table = catalog().relations[relation_name].table
    statement = compile_statement(
        sa.select(sa.literal_column("1")).where(table.c[column] == parameter("value")).limit(1),
        transaction.dialect.sa_dialect,
    )
    return transaction.one(statement.sql, statement.bind(Binding(parameters={"value": value}))) is not None


def duplicate_key_details(relation: Relation, constraint: str, values: dict[str, Bound]) -> str | None:
    """Return `Key (id)=(1) already exists.`; None for an email, which may be that of a hidden user."""
    columns = relation.uniques.get(constraint, ())
    if not columns or any(values.get(name) is None for name in columns) or columns == ("email",):
        return None
    key = ", ".join(str(values[name]) for name in columns)
    return f"Key ({', '.join(columns)})=({key}) already exists."


class RowDenied(Denial):
    """A write whose resulting row the rule denies."""


class ProtectedColumn(Fault, code="428C9"):
    """A value for a column that only the database or a super admin sets."""


def require_allowed(
    transaction: Transaction,
    relation: Relation,
    statement: Statement | None,
    binding: Binding,
    locate: Callable[[Fault, int], object] | None = None,
) -> None:
    """Run a statement that finds a denied candidate row; raise RowDenied if it finds one. None allows all rows.

    `locate`: adds the position of the row in the payload to the fault.
    """
    if statement is None:
        return
    denied = transaction.one(statement.sql, statement.bind(binding))
    if denied is not None:
        violation = row_violation(relation)
        if locate is not None:
            locate(violation, denied[0])
        raise violation


def row_violation(relation: Relation, clause: str = "") -> RowDenied:
    """Return PostgreSQL's error for a denied row. `clause` is ` (USING expression)` for an existing row."""
    return RowDenied(f'new row violates row-level security policy{clause} for table "{relation.name}"')


def protected_column(column: str, *, is_update: bool = False, is_insert_only: bool = False) -> ProtectedColumn:
    """Return PostgreSQL's error for a value for a generated column."""
    return ProtectedColumn(
        f'column "{column}" can only be updated to DEFAULT'
        if is_update
        else f'cannot insert a non-DEFAULT value into column "{column}"',
        f'Only functions change column "{column}" after the insert.'
        if is_insert_only
        else f'The service sets column "{column}".',
    )

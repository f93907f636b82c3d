"""Finds the foreign key and the row that violate a constraint. SQLite reports only that one failed.

The queries run after a statement failed, in the same transaction, which is then rolled back. PostgreSQL reports the
constraint itself. Of several violated CHECKs the engines report different ones, so bounds are checked here again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from engine.interface.transaction import Transaction
from engine.query.catalog import ForeignKey, Relation, catalog
from engine.query.constraints import CheckViolation, ForeignKeyViolation, UniqueViolation
from engine.query.statement import Binding, compile_statement, parameter
from engine.query.write.domain_rules import Key
from models.fields import ColumnInfo
from models.types import Bound


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

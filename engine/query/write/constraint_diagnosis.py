"""Which foreign key was it? SQLite says only that one failed; these find out which, and by which row.

Only run once a statement has failed, in the same transaction, which is then rolled back. PostgreSQL
names the constraint itself.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from engine.query.catalog import ForeignKey
from engine.query.catalog import Relation
from engine.query.catalog import catalog
from engine.query.constraints import ForeignKeyViolation
from engine.query.constraints import UniqueViolation
from engine.query.statement import Binding
from engine.query.statement import compile_statement
from engine.query.statement import new_value
from engine.query.statement import parameter
from engine.storage.transaction import Transaction
from models.types import Bound

Key = tuple[Bound, ...]


@contextmanager
def assigned(
    transaction: Transaction,
    relation: Relation,
    values: Callable[[], dict[str, Bound]],
    keys: Sequence[Key],
) -> Iterator[None]:
    """Around a statement that gives columns these values: name the key or the constraint at fault."""
    try:
        yield
    except ForeignKeyViolation as violation:
        if violation.details is not None:
            raise
        raise (
            missing(transaction, relation, values())
            or referenced(transaction, relation, keys, REFUSE_CHANGE)
            or violation
        ) from violation
    except UniqueViolation as violation:
        violation.details = taken(relation, violation.constraint, values())
        raise


@contextmanager
def deleted(transaction: Transaction, relation: Relation, keys: Sequence[Key]) -> Iterator[None]:
    """Around a delete of these keys."""
    try:
        yield
    except ForeignKeyViolation as violation:
        if violation.details is not None:
            raise
        raise referenced(transaction, relation, keys, REFUSE_DELETION) or violation from violation


def missing(
    transaction: Transaction, relation: Relation, values: dict[str, Bound]
) -> ForeignKeyViolation | None:
    """The first foreign key among these values that points at nothing."""
    for fk in relation.foreign_keys:
        value = values.get(fk.column)
        if value is not None and not exists(transaction, fk.referred, fk.referred_column, value):
            return ForeignKeyViolation.missing(
                relation.name, fk.name, fk.column, value, fk.referred
            )
    return None


REFUSE_DELETION = frozenset({"RESTRICT", "NO ACTION"})
REFUSE_CHANGE = frozenset({"RESTRICT", "NO ACTION", "CASCADE", "SET NULL"})


def referenced(
    transaction: Transaction, relation: Relation, keys: Sequence[Key], refusing: frozenset[str]
) -> ForeignKeyViolation | None:
    """The first foreign key that still points at any of these rows, of those that refuse."""
    for fk in pointing_at(relation):
        if fk.ondelete not in refusing:
            continue
        place = relation.key.index(fk.referred_column)
        for key in keys:
            if exists(transaction, fk.relation, fk.column, key[place]):
                return ForeignKeyViolation.referenced(
                    relation.name, fk.name, fk.referred_column, key[place], fk.relation
                )
    return None


def pointing_at(relation: Relation) -> Iterator[ForeignKey]:
    for other in sorted(catalog().relations.values(), key=lambda each: each.name):
        for fk in other.foreign_keys:
            if fk.referred == relation.name:
                yield fk


def exists(transaction: Transaction, relation_name: str, column: str, value: Bound) -> bool:
    table = catalog().relations[relation_name].table
    statement = compile_statement(
        sa.select(sa.literal_column("1")).where(table.c[column] == parameter("value")).limit(1),
        transaction.dialect.sa_dialect,
        {"value": new_value(0)},
    )
    return transaction.one(statement.sql, statement.bind(Binding(new=(value,)))) is not None


def taken(relation: Relation, constraint: str, values: dict[str, Bound]) -> str | None:
    """`Key (id)=(1) already exists.`, but never of an e-mail, which may be a hidden person's."""
    columns = relation.uniques.get(constraint, ())
    if not columns or any(values.get(name) is None for name in columns) or columns == ("email",):
        return None
    shown = ", ".join(str(values[name]) for name in columns)
    return f"Key ({', '.join(columns)})=({shown}) already exists."

"""Reads and writes of domain rules: without the caller's row rules, in the transaction of the caller's write.

The audit log names the caller as the actor of these writes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlalchemy as sa

from engine import execute
from engine.interface.database import Transaction
from engine.query.catalog import catalog
from engine.query.dialect.base import is_among, keys_as_json
from engine.query.dialect.registry import DIALECTS
from engine.query.shape import Filter, Node, Query, Shape
from engine.query.statement import PLANS_MAX, UNRESTRICTED, Binding, Statement, compile_statement
from engine.query.write.insert import Insertion
from engine.query.write.rules import Key
from engine.query.write.statements import WriteBuilder
from models.fields import ColumnDefault
from models.types import Bound

Row = Mapping[str, Any]

BY_ID = Shape(Node(conditions=(Filter("id", "eq", value=0),)))
"""The filter `id=eq.…`."""


def insert_rows(transaction: Transaction, table: str, rows: Sequence[Row]) -> list[Key]:
    """Insert rows, and return their keys in order. All rows have the same columns. Domain rules run, too."""
    if not rows:
        return []
    result = execute.insert(
        transaction,
        UNRESTRICTED,
        Binding(parameters={"caller_id": transaction.actor_id}),
        relation=catalog().relations[table],
        insertion=Insertion([dict(row) for row in rows], tuple(rows[0])),
        shape=None,
    )
    return result.keys


def update_rows(transaction: Transaction, table: str, keys: Sequence[Key], changes: Row) -> None:
    """Set columns of the rows with these keys to values in their stored form. Domain rules do not run."""
    if not keys:
        return
    relation = catalog().relations[table]
    stamps = {
        name: transaction.now
        for name, each in relation.attributes.items()
        if each.default is ColumnDefault.NOW_ON_WRITE
    }
    new: dict[str, Bound] = {**changes, **stamps}
    statement = update_statement(transaction.dialect.name, table, tuple(new))
    transaction.run(statement.sql, statement.bind(Binding(keys=keys_as_json(keys), new=tuple(new.values()))))


def update_row_with_rules(transaction: Transaction, table: str, row_id: int, changes: Row) -> None:
    """Set columns of the row with this id to JSON values, and run the domain rules of its table."""
    execute.update(
        transaction,
        UNRESTRICTED,
        Binding((str(row_id),), {"caller_id": transaction.actor_id}),
        relation=catalog().relations[table],
        query=Query(BY_ID),
        changes=dict(changes),
        shape=None,
    )


def delete_rows(transaction: Transaction, table: str, keys: Sequence[Key]) -> None:
    """Delete the rows with these keys. Domain rules do not run."""
    if keys:
        statement = delete_statement(transaction.dialect.name, table)
        transaction.run(statement.sql, statement.bind(Binding(keys=keys_as_json(keys))))


def read_rows(
    transaction: Transaction, table: str, columns: tuple[str, ...], by: str, values: Sequence[Bound]
) -> list[dict[str, Any]]:
    """Return columns of the rows whose column `by` is one of the values, in the order of the primary key."""
    if not values:
        return []
    statement = read_statement(transaction.dialect.name, table, columns, by)
    rows = transaction.all(statement.sql, statement.bind(Binding(keys=keys_as_json((value,) for value in values))))
    return [dict(zip(columns, row, strict=True)) for row in rows]


@lru_cache(maxsize=PLANS_MAX)
def update_statement(database: str, table: str, columns: tuple[str, ...]) -> Statement:
    return WriteBuilder(database, table, UNRESTRICTED).update(columns)


@lru_cache(maxsize=PLANS_MAX)
def delete_statement(database: str, table: str) -> Statement:
    return WriteBuilder(database, table, UNRESTRICTED).delete()


@lru_cache(maxsize=PLANS_MAX)
def read_statement(database: str, table: str, columns: tuple[str, ...], by: str) -> Statement:
    dialect, relation = DIALECTS[database], catalog().relations[table]
    row = relation.table.alias("row")
    keys = dialect.key_table("k", [(by, relation.attributes[by].type)], "keys")
    statement = sa.select(*(row.c[name] for name in columns)).where(is_among([row.c[by]], sa.select(keys.c[by])))
    statement = statement.order_by(*(row.c[name] for name in relation.key))
    return compile_statement(statement, dialect.sa_dialect, {})

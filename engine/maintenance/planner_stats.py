"""Fixed planner statistics: SQLite plans every statement as if each file held the same number of rows.

ANALYZE counts the rows of all clients and so would choose the index of a list. The rows of other clients would
then decide the order of a list without `order`, and its first page (docs/decisions/0009). The figures follow from the
descriptions of the tables: a portfolio of 20 clients, 10,000 buildings and a million inspections.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import sqlalchemy as sa

from engine.interface.database import Transaction
from models import RESOURCES, Client
from models.fields import TENANT_COLUMN, Index, Model, indexes_of

Statistic = tuple[str, str | None, str]
"""A row of `sqlite_stat1`: table, index, and numbers: all rows, then the rows of equal first column, first two, …"""

STORED_STATS: Final = "SELECT tbl, idx, stat FROM sqlite_stat1"
STAT_TABLES: Final = "SELECT name FROM sqlite_schema WHERE name LIKE 'sqlite_stat_'"

VALUES_OF_PLAIN_COLUMN: Final = 10
"""The assumed number of different values of a column that is no key. Index.distinct says it better."""


def planner_stats() -> frozenset[Statistic]:
    """Return the statistics of every resource, by its description."""
    return frozenset(statistic for model in RESOURCES.values() for statistic in table_stats(model))


def table_stats(model: type[Model]) -> list[Statistic]:
    """Return the statistics of a table: one for each index, or one without an index."""
    name = model.__tablename__
    indexes = [*constraint_indexes(model), *indexes_of(model, "sqlite")]
    return [(name, index.name, numbers(model, index)) for index in indexes] or [(name, None, str(model.expected_rows))]


def constraint_indexes(model: type[Model]) -> Iterator[Index]:
    """Yield the indexes that SQLite makes for a key and for unique constraints, under the names that it gives them."""
    table, name = model.__table__, model.__tablename__
    key = tuple(column.name for column in table.primary_key)
    uniques = list(model.unique.values())
    if model.sqlite_compound_key:
        uniques.append((*key, TENANT_COLUMN))
    # An integer key needs no index.
    if len(key) > 1 or not isinstance(table.c[key[0]].type, sa.Integer):
        uniques.insert(0, key)
    for place, columns in enumerate(uniques, 1):
        # A table with a key of several columns is WITHOUT ROWID, and its name stands for the index of the key.
        is_table = columns == key and len(key) > 1
        distinct = model.key_distinct if columns == key else ()
        yield Index(name if is_table else f"sqlite_autoindex_{name}_{place}", columns, unique=True, distinct=distinct)


def numbers(model: type[Model], index: Index) -> str:
    """Return all rows, then the rows of equal first column, first two, …: as described, or else estimated.

    The rows are spread evenly over the rows of a table that a foreign key refers to.
    """
    every_row = index.expected_rows or model.expected_rows
    if index.distinct:
        return " ".join(map(str, (every_row, *index.distinct)))
    counts = [every_row]
    for column in index.columns:
        counts.append(max(1, counts[-1] // values_of(model, column)))
    if index.unique:
        counts[-1] = 1
    return " ".join(map(str, counts))


def values_of(model: type[Model], column: str) -> int:
    """Return the number of different values of a column or expression of an index."""
    table = model.__table__
    if column not in table.c:
        return VALUES_OF_PLAIN_COLUMN
    parents = {key.column.table.name for key in table.c[column].foreign_keys}
    parents |= {Client.__tablename__} if column == TENANT_COLUMN else set()
    if table.c[column].primary_key and not parents:
        return model.expected_rows
    return max((RESOURCES[name].expected_rows for name in parents), default=VALUES_OF_PLAIN_COLUMN)


def has_planner_stats(transaction: Transaction) -> bool:
    """Return whether a file holds exactly these statistics."""
    tables = {name for (name,) in transaction.all(STAT_TABLES)}
    if "sqlite_stat1" not in tables or set(transaction.all(STORED_STATS)) != planner_stats():
        return False
    samples = "SELECT EXISTS (SELECT 1 FROM sqlite_stat4)"
    return "sqlite_stat4" not in tables or not transaction.value(samples)


def write_planner_stats(transaction: Transaction) -> None:
    """Replace the statistics of a file by `planner_stats`."""
    if has_planner_stats(transaction):
        return
    # Open connections reload statistics tables that are recreated, but not changed rows.
    for (name,) in transaction.all(STAT_TABLES):
        transaction.run(f"DROP TABLE {name}")
    transaction.run("ANALYZE audit_context")
    for (name,) in transaction.all(STAT_TABLES):
        transaction.run(f"DELETE FROM {name}")  # noqa: S608
    for row in sorted(planner_stats(), key=str):
        transaction.run("INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES (?, ?, ?)", row)
    transaction.run("ANALYZE sqlite_schema")

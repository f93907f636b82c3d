"""Prepared statements over internal tables and single users, compiled once for each SQL dialect.

A statement that lists rows of a resource has to include the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import sqlalchemy as sa

from engine.interface.transaction import Transaction
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding, Statement, compile_statement
from models.types import Bound

STATEMENTS_MAX = 256  # there are a few dozen, some of them once for each grant profile


class PreparedStatement:
    """A statement whose parameters (`parameter("name")`) are passed by name."""

    def __init__(self, statement: sa.ClauseElement) -> None:
        self.statement = statement

    def on(self, transaction: Transaction, values: dict[str, Bound]) -> tuple[str, list[Bound]]:
        """Return the SQL text and its parameters, in order."""
        compiled = compile_for(self, transaction.dialect.name)
        return compiled.sql, compiled.bind(Binding(parameters=values))

    def run(self, transaction: Transaction, **values: Bound) -> int:
        """Run the statement; return the number of rows written."""
        count: int = transaction.run(*self.on(transaction, values)).rowcount
        return count

    def one(self, transaction: Transaction, **values: Bound) -> tuple[Bound, ...] | None:
        """Return the first row, or None."""
        row: tuple[Bound, ...] | None = transaction.one(*self.on(transaction, values))
        return row

    def each(self, transaction: Transaction, **values: Bound) -> Iterator[tuple[Bound, ...]]:
        """Yield the rows, one at a time."""
        yield from transaction.each(*self.on(transaction, values))

    def all(self, transaction: Transaction, **values: Bound) -> list[tuple[Bound, ...]]:
        rows: list[tuple[Bound, ...]] = transaction.all(*self.on(transaction, values))
        return rows


@lru_cache(STATEMENTS_MAX)
def compile_for(prepared: PreparedStatement, database: str) -> Statement:
    return compile_statement(prepared.statement, DIALECTS[database].sa_dialect)

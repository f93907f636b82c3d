"""Statements over the hidden tables and over one user: written once in Core, compiled once a database.

They are this room's only SQL, and none of them lists a resource's rows but under the rule.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import sqlalchemy as sa
from sqlalchemy.sql.compiler import SQLCompiler

from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding
from engine.query.statement import Slot
from engine.query.statement import Statement
from engine.query.statement import compile_statement
from engine.query.statement import new_value
from engine.storage.transaction import Transaction
from models.types import Bound

STATEMENTS_MAX = 256  # far above what there is: a few dozen, some of them once a standing


class Prepared:
    """A statement whose explicit parameters (`parameter("name")`) are given by name."""

    def __init__(self, statement: sa.ClauseElement) -> None:
        self.statement = statement

    def on(self, transaction: Transaction, values: dict[str, Bound]) -> tuple[str, list[Bound]]:
        """The text and its parameters, in order."""
        compiled, names = compile_for(self, transaction.dialect.name)
        assert names.keys() <= values.keys(), f"{sorted(names.keys() - values)} is missing"
        return compiled.sql, compiled.bind(Binding(new=tuple(values[name] for name in names)))

    def run(self, transaction: Transaction, **values: Bound) -> int:
        """Run it; the number of rows it wrote."""
        count: int = transaction.run(*self.on(transaction, values)).rowcount
        return count

    def one(self, transaction: Transaction, **values: Bound) -> tuple[Bound, ...] | None:
        """Its first row, or None."""
        row: tuple[Bound, ...] | None = transaction.one(*self.on(transaction, values))
        return row

    def each(self, transaction: Transaction, **values: Bound) -> Iterator[tuple[Bound, ...]]:
        """Its rows, one at a time."""
        yield from transaction.each(*self.on(transaction, values))

    def all(self, transaction: Transaction, **values: Bound) -> list[tuple[Bound, ...]]:
        rows: list[tuple[Bound, ...]] = transaction.all(*self.on(transaction, values))
        return rows


@lru_cache(STATEMENTS_MAX)
def compile_for(prepared: Prepared, database: str) -> tuple[Statement, dict[str, None]]:
    dialect = DIALECTS[database].sa_dialect
    compiled = prepared.statement.compile(dialect=dialect)
    assert isinstance(compiled, SQLCompiler)
    # SQLAlchemy marks as unique what it named itself: constants, which are no slots of ours.
    names = dict.fromkeys(name for name, bind in compiled.binds.items() if not bind.unique)
    slots: dict[str, Slot] = {name: new_value(place) for place, name in enumerate(names)}
    return compile_statement(prepared.statement, dialect, slots), names

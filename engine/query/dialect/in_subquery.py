"""SQL expressions for `key IN (sub-select)`, which each dialect compiles in the form its planner handles best."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

Expression = sa.ColumnElement[Any]


class InSubquery(FunctionElement[bool]):
    """The condition that a key is among the distinct keys of a sub-select."""

    inherit_cache = True
    type = sa.Boolean()

    def __init__(self, key: Expression, subquery: sa.Select[Any]) -> None:
        super().__init__(key, subquery.scalar_subquery())

    @property
    def column(self) -> Expression:
        """The key on the left side."""
        key: Expression = next(iter(self.clauses))
        return key

    @property
    def subquery(self) -> sa.Select[Any]:
        """The sub-select on the right side."""
        _, scalar = self.clauses
        subquery: sa.Select[Any] = scalar.element
        return subquery

    def self_group(self, against: Any = None) -> Self:
        """Return the condition unchanged. SQLAlchemy would append `= 1`, which hides it from SQLite's planner."""
        return self


@compiles(InSubquery)
def compile_in_subquery(element: InSubquery, compiler: SQLCompiler, **options: Any) -> str:
    key, subquery = (compiler.process(clause, **options) for clause in element.clauses)
    return f"{key} IN {subquery}"


class SmallInSubquery(InSubquery):
    """An `InSubquery` whose sub-select returns few keys, so that an index search begins with them."""

    inherit_cache = True

    def as_exists(self) -> Expression:
        """Return an equivalent EXISTS, for a query that finds one row by its key."""
        (key,) = self.subquery.selected_columns
        exists: Expression = self.subquery.where(key == self.column).exists()
        return exists

    def where(self, condition: Callable[[Expression], Expression]) -> SmallInSubquery:
        """Return the condition with the sub-select restricted to keys that satisfy `condition`."""
        (key,) = self.subquery.selected_columns
        return SmallInSubquery(self.column, self.subquery.where(condition(key)))

    def with_values(self, more: dict[Expression, Expression]) -> SmallInSubquery:
        """Return the condition over the key and more columns, each compared with a value of the sub-select."""
        subquery = self.subquery.add_columns(*more.values())
        return SmallInSubquery(sa.tuple_(self.column, *more), subquery)


def is_among(key: Sequence[Expression], keys: sa.Select[Any]) -> Expression:
    """Return the condition that a key, of one column or several, is among the rows of a sub-select."""
    condition: Expression = (key[0] if len(key) == 1 else sa.tuple_(*key)).in_(keys)
    return condition

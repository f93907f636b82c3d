"""The interface of a SQL dialect: every construct that SQLite and PostgreSQL write differently.

All other modules write generic SQLAlchemy Core and call a `SqlDialect` for these constructs. Each dialect compiles `key
IN (sub-select)` in the form that its planner handles best. `engine/query/dialect/registry.py` holds the dialect of each
database.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from engine.query.dialect import sqlite_functions
from engine.query.dialect.sqlite_functions import InvalidRegularExpression, NoRegularExpressions
from engine.query.shape import Path
from models.types import Bound, ColumnType

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


class SqlDialect(ABC):
    """How one database writes each construct."""

    name: str

    set_actor: str
    """The statement that gives the audit log's triggers a timestamp and an actor."""

    pause_audit: str
    resume_audit: str

    read_sequences: str
    """The query for the last id of every table, deleted rows included."""

    set_sequence: tuple[str, ...]
    """The statements that make a table's ids continue after an id. Parameters: the table's name and the id."""

    sa_dialect: sa.Dialect

    keeps_subquery_order: bool
    """Whether the rows of an outer select come in the order of its sub-select."""

    joins_to_count: bool
    """Whether the planner chooses the join order of counts by group itself."""

    uses_skip_scans: bool
    """Whether the indexes of inspections begin with the client, so that lists of several clients are skip scans."""

    # JSON

    @abstractmethod
    def json_of_row(self, pairs: Iterable[tuple[str, Expression]]) -> Expression:
        """Return a JSON object of keys and values. The values come from `json_value`."""

    @abstractmethod
    def json_of_rows(self, row: Expression) -> Expression:
        """Return the aggregate of JSON objects as a JSON array; `[]` over no rows."""

    @abstractmethod
    def json_value(self, kind: str, value: Expression) -> Expression:
        """Return a value of a type in the form that `json_of_row` takes."""

    @abstractmethod
    def json_at_path(self, value: Expression, path: Path) -> Expression:
        """Return the JSON at a path into a JSON value; null if the path does not exist."""

    @abstractmethod
    def text_at_path(self, value: Expression, path: Path) -> Expression:
        """Return the text at a path into a JSON value: strings without quotes, JSON null as SQL NULL."""

    @abstractmethod
    def json_group_key(self, value: Expression) -> Expression:
        """Return a JSON value as an expression for GROUP BY. `as_json` is the inverse."""

    @abstractmethod
    def as_json(self, value: Expression) -> Expression:
        """Return a text of JSON as a JSON value."""

    @abstractmethod
    def json_elements(self, values: Expression) -> Any:
        """Return the elements of a JSON array as a table."""

    @abstractmethod
    def json_element(self, elements: Any, kind: ColumnType) -> Expression:
        """Return the column of such a table, converted to a type."""

    # Comparisons

    @abstractmethod
    def in_list(self, column: Expression, kind: ColumnType, values: Expression) -> Expression:
        """Return the condition that a column equals an element of a JSON array."""

    def any_or_all(
        self,
        quantifier: str,
        compare: Callable[[Expression, Expression], Expression],
        column: Expression,
        values: Expression,
        kind: ColumnType,
    ) -> Expression:
        """Return the condition that a comparison holds for any or for all elements of a JSON array.

        A comparison with a null, of the column or in the array, is null. One that decides the condition outweighs it.
        """
        elements, others = self.json_elements(values), self.json_elements(values)
        holds = compare(column, self.json_element(elements, kind))
        is_any = quantifier == "any"
        decided = sa.exists().where(holds if is_any else sa.not_(holds)).select_from(elements)
        is_null = sa.or_(column.is_(None), self.json_element(others, kind).is_(None))
        unknown = sa.exists().where(is_null).select_from(others)
        true, false = sa.true(), sa.false()
        return sa.case((decided, true if is_any else false), (unknown, sa.null()), else_=false if is_any else true)

    @abstractmethod
    def like(self, column: Expression, pattern: Expression) -> Expression:
        """Return a case-sensitive match with a pattern of `like_pattern`."""

    @abstractmethod
    def ilike(self, column: Expression, pattern: Expression) -> Expression:
        """Return a case-insensitive match with a pattern of `ilike_pattern`."""

    @abstractmethod
    def match(self, column: Expression, pattern: Expression) -> Expression:
        """Return a case-sensitive match with a regular expression."""

    @abstractmethod
    def imatch(self, column: Expression, pattern: Expression) -> Expression:
        """Return a case-insensitive match with a regular expression."""

    @abstractmethod
    def like_pattern(self, pattern: str) -> str:
        """Return the database's form of a pattern (`*` or `%`: any text, `_`: one character).

        Raise InvalidEscape if the pattern ends with an escape character.
        """

    @abstractmethod
    def ilike_pattern(self, pattern: str) -> str:
        """Return `like_pattern` for `ilike`."""

    def match_pattern(self, pattern: str, ignore_case: bool) -> str:
        """Return a regular expression; raise InvalidRegularExpression if RE2 rejects it."""
        if not sqlite_functions.has_regular_expressions():
            raise NoRegularExpressions
        fault = sqlite_functions.regular_expression_fault(pattern, ignore_case)
        if fault is not None:
            raise InvalidRegularExpression(f"invalid regular expression: {fault}")
        return pattern

    @abstractmethod
    def before_deadline(self, *, costly: int) -> Expression:
        """Return a condition that is true until the statement's deadline. `costly`: the number of slow filters."""

    def with_length_limit(self, column: Expression, condition: Expression) -> Expression:
        """Return a condition on short texts in the form that a partial index on short texts satisfies."""
        return condition

    # Casts and numbers

    @abstractmethod
    def cast(self, value: Expression, source: str, target: str) -> Expression:
        """Return a value of one type cast to another by PostgreSQL's rules."""

    @abstractmethod
    def cast_zoned_timestamp(self, value: Expression, target: str) -> Expression:
        """Return a timestamp that is printed in a time zone, cast to a type in that zone's local time."""

    @abstractmethod
    def average_text(self, whole: Expression) -> Expression:
        """Return the average of integers as text, with as many digits as PostgreSQL prints."""

    @abstractmethod
    def require_finite(self, aggregate: Expression) -> Expression:
        """Return a sum or an average of doubles. The statement fails if it is out of range."""

    @abstractmethod
    def least(self, left: Expression, right: Expression) -> Expression:
        """Return the smaller of two numbers."""

    @abstractmethod
    def date_text(self, day: Expression) -> Expression:
        """Return a date as `YYYY-MM-DD`."""

    @abstractmethod
    def add_days(self, day: Expression, days: Expression) -> Expression:
        """Return the date a number of days after another."""

    # Plans

    @abstractmethod
    def materialized(self, rows: sa.Select[Any]) -> sa.Select[Any]:
        """Return a sub-select whose expressions are computed once a row, however often the outer select uses them."""

    def per_row(self, condition: Expression) -> Expression:
        """Return an EXISTS that the planner evaluates for each row and does not turn into a join."""
        return condition

    def nested_loop(self, outer: sa.FromClause, inner: Any, on: Expression) -> sa.Join:
        """Nested-loop join: for each row of the small side, look up its matches by index."""
        return sa.join(outer, inner, on)

    @abstractmethod
    def unindexed(self, column: Expression) -> Expression:
        """Return a column in a form for which the planner does not use the column's index."""

    # Arrays of keys

    @abstractmethod
    def key_table(self, name: str, kinds: Iterable[tuple[str, ColumnType]], source: str) -> sa.FromClause:
        """Return the JSON array of arrays in parameter `source` as a table of `kinds` and `position` (from 0)."""

    def key_in_array(self, columns: Any, name: str, kinds: Sequence[tuple[str, ColumnType]], source: str) -> Expression:
        """Return the condition that a row's key is in such an array. Rows are written in the order of the array."""
        keys = self.key_table(name, kinds, source)
        names = [column for column, _ in kinds]
        return is_among([columns[name] for name in names], sa.select(*(keys.c[name] for name in names)))

    def in_array_order(self, rows: sa.Select[Any], position: Expression) -> sa.Select[Any]:
        """Return a select of a `key_table` alone, in the order of its array."""
        return rows.order_by(position)

    # Inserts

    @abstractmethod
    def insert(self, table: sa.Table) -> sa.Insert:
        """Return an insert that `on_conflict` accepts."""

    def on_conflict(self, statement: Any, target: tuple[str, ...], changed: tuple[str, ...] | None) -> sa.Insert:
        """Return an insert that updates the columns `changed` where `target` exists; with None, it does nothing."""
        # The inserts of the two SQLAlchemy dialects have these methods, and no common type declares them.
        upsert: sa.Insert
        if changed is None:
            upsert = statement.on_conflict_do_nothing(index_elements=target)
        else:
            upsert = statement.on_conflict_do_update(
                index_elements=target, set_={name: statement.excluded[name] for name in changed}
            )
        return upsert

    @abstractmethod
    def returning_id(self, statement: sa.Insert, column: Any) -> sa.Insert:
        """Return an insert that returns the generated id, if the driver does not report it."""


def keys_as_json(keys: Iterable[Sequence[Bound]]) -> str:
    """Return keys as a JSON array of arrays, which is how a list of keys is passed as one parameter."""
    return json.dumps([list(key) for key in keys])


def json_array(values: Iterable[Bound]) -> str:
    """Return values as a JSON array, which is how a list is passed as one parameter."""
    return json.dumps(list(values), ensure_ascii=False, allow_nan=False)

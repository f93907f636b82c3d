"""The gateway to rows: reads under a rule, the service's writes, and prepared statements.

A read names its principal: a caller, or UNRESTRICTED for what the service reads for itself. Writes are the service's.
They run in the transaction of the caller's write, without the caller's row rules, and the audit log names the caller.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, Protocol
from zoneinfo import ZoneInfo

import sqlalchemy as sa

from engine import execute
from engine.interface.database import Transaction
from engine.query.catalog import catalog
from engine.query.dialect.base import json_array, keys_as_json
from engine.query.dialect.registry import DIALECTS
from engine.query.read.planner import Planner
from engine.query.shape import Filter, Node, Query, Shape
from engine.query.statement import PLANS_MAX, UNRESTRICTED, Binding, Rule, Statement, parameter
from engine.query.write.insert import Insertion
from engine.query.write.rules import Key
from engine.query.write.statements import WriteBuilder
from models.fields import ColumnDefault
from models.types import Bound

Row = Mapping[str, Any]
Select = sa.Select[*tuple[Any, ...]]

EMBEDDED_MAX: Final = 1_000
BY_ID: Final = Query(Shape(Node(conditions=(Filter("id", "eq", value=0),))))
"""The filter `id=eq.…`."""


class Principal(Protocol):
    """Who reads rows: an access rule, and the values of its parameters."""

    @property
    def rule(self) -> Rule: ...

    @property
    def parameters(self) -> Mapping[str, Bound]: ...


# Prepared statements


class PreparedStatement:
    """A query that is compiled once for each database, rule and shape.

    `build` returns the query for a planner and the shape: the arguments on which its text depends.
    """

    def __init__(self, planner: Callable[..., Any], build: Callable[..., Select]) -> None:
        self.planner = planner
        self.build = build
        self.statement = lru_cache(maxsize=PLANS_MAX)(self.compile)
        self.cache_info = self.statement.cache_info
        self.cache_clear = self.statement.cache_clear
        PREPARED[build.__name__] = self

    def compile(self, database: str, rule: Rule, *shape: Hashable) -> Statement:
        planner = self.planner(DIALECTS[database], rule)
        statement: Statement = planner.finish(self.build(planner, *shape))
        return statement

    def all(
        self, transaction: Transaction, principal: Principal, *shape: Hashable, keys: Any = (), **values: Any
    ) -> list[Any]:
        """Run the query with the values of its parameters, and `keys` as a JSON array; return all rows."""
        statement = self.statement(transaction.dialect.name, principal.rule, *shape)
        binding = Binding(parameters={**principal.parameters, **values}, keys=json_array(keys) if keys else "[]")
        return transaction.all(statement.sql, statement.bind(binding))

    def one(self, transaction: Transaction, principal: Principal, *shape: Hashable, **values: Any) -> Any:
        """Return the first row, or None."""
        rows = self.all(transaction, principal, *shape, **values)
        return rows[0] if rows else None

    def value(self, transaction: Transaction, principal: Principal, *shape: Hashable, **values: Any) -> Any:
        """Return the first column of the first row, or None."""
        row = self.one(transaction, principal, *shape, **values)
        return row[0] if row is not None else None


PREPARED: Final[dict[str, PreparedStatement]] = {}
"""All prepared statements by name."""


def prepared(planner: Callable[..., Any]) -> Callable[[Callable[..., Select]], PreparedStatement]:
    """Return the decorator that makes a prepared statement of a function of such a planner."""
    return lambda build: PreparedStatement(planner, build)


# Reads


def read_rows(
    transaction: Transaction,
    principal: Principal,
    table: str,
    columns: tuple[str, ...],
    /,
    *,
    limit: int | None = None,
    **filters: Bound | Collection[Bound],
) -> list[dict[str, Any]]:
    """Return stored columns of the visible rows that have these values, in the order of the primary key.

    A filter is a value, or a collection of values. None stands for null.
    """
    kinds, values = [], {}
    for name, value in filters.items():
        if value is None or isinstance(value, (str, int, float)):
            kinds.append((name, False, value is None))
            values[f"of_{name}"] = value
        elif value:
            kinds.append((name, True, None in value))
            values[f"of_{name}"] = json_array(each for each in value if each is not None)
        else:
            return []
    shape = (table, columns, tuple(kinds), limit)
    return [
        dict(zip(columns, row, strict=True)) for row in rows_statement.all(transaction, principal, *shape, **values)
    ]


@prepared(Planner)
def rows_statement(
    planner: Planner,
    table: str,
    columns: tuple[str, ...],
    filters: tuple[tuple[str, bool, bool], ...],
    limit: int | None,
) -> Select:
    """Return the query for columns of rows, by filters of a column each: whether it has a list, and a null."""
    relation = catalog().relations[table]
    row, scope = planner.scoped(relation)
    query = sa.select(*(row.c[name] for name in columns)).where(scope)
    for name, is_list, has_null in filters:
        column, is_null = row.c[name], row.c[name].is_(None)
        if is_list:
            among = planner.dialect.in_list(column, relation.attributes[name].type, parameter(f"of_{name}", sa.Text))
            query = query.where(sa.or_(is_null, among) if has_null else among)
        else:
            query = query.where(is_null if has_null else column == parameter(f"of_{name}", column.type))
    return query.order_by(*(row.c[name] for name in relation.key)).limit(limit)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows, and the total number of matching rows if it was requested."""

    rows: list[dict[str, Any]]
    total: int | None


def select_rows(
    transaction: Transaction,
    principal: Principal,
    table: str,
    query: Query,
    *,
    limit: int,
    offset: int = 0,
    total: bool = False,
    zone: ZoneInfo | None = None,
    rule: Rule | None = None,
) -> QueryResult:
    """Return the visible rows of a query of the API, as the API prints them. `rule` replaces the principal's."""
    binding = Binding(query.values, principal.parameters, limit, offset, EMBEDDED_MAX, zone)
    result = execute.select(
        transaction, rule or principal.rule, binding, relation=catalog().relations[table], query=query, count=total
    )
    return QueryResult([json.loads(row) for row in result.rows], result.total)


# Writes


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
    stamps = {
        name: transaction.now
        for name, each in catalog().relations[table].attributes.items()
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
        query=BY_ID,
        changes=dict(changes),
        shape=None,
    )


def delete_rows(transaction: Transaction, table: str, keys: Sequence[Key]) -> None:
    """Delete the rows with these keys. Domain rules do not run."""
    if keys:
        statement = delete_statement(transaction.dialect.name, table)
        transaction.run(statement.sql, statement.bind(Binding(keys=keys_as_json(keys))))


@lru_cache(maxsize=PLANS_MAX)
def update_statement(database: str, table: str, columns: tuple[str, ...]) -> Statement:
    return WriteBuilder(database, table, UNRESTRICTED).update(columns)


@lru_cache(maxsize=PLANS_MAX)
def delete_statement(database: str, table: str) -> Statement:
    return WriteBuilder(database, table, UNRESTRICTED).delete()

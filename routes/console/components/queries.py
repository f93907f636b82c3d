"""Reads and writes of the console through the API's parser, access rule and engine.

The console has neither SQL nor access rules of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import sqlalchemy as sa

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from access.policy import AccessRule
from engine import execute
from engine.current import reading, writing
from engine.interface.faults import ResponseTooLarge
from engine.interface.transaction import Transaction
from engine.query.catalog import Relation, catalog
from engine.query.rule import Action, Rule
from engine.query.shape import Node, OrderTerm, Query
from engine.query.statement import Binding
from engine.query.write.insert import Insertion, WriteResult
from inspections import visits
from models.errors import Fault
from models.fields import Model
from models.fields import Row as Columns
from routes.console.components.submissions import once
from routes.console.components.tables import table_of
from routes.functions.registry import FUNCTIONS
from routes.postgrest import calls, errors, querystring
from routes.postgrest.requests import UnknownPath
from routes.postgrest.results import as_json

Row = dict[str, Any]
EMBEDDED_MAX = 1_000
NO_LIMIT = 2**62
NOT_FOUND = 404
ABSENT = frozenset({None, ""})
"""The values of an argument that is not given."""


@dataclass(frozen=True, slots=True)
class QueryResult:
    """Rows, and the total number of matching rows if it was requested."""

    rows: list[Row]
    total: int | None


@dataclass(frozen=True, slots=True)
class ResultPage:
    """A page of at most `size` rows, whether more rows follow, and the total if it was requested."""

    rows: list[Row]
    size: int
    has_more: bool
    total: int | None


@dataclass(frozen=True, slots=True)
class PermittedRows(AccessRule):
    """The access rule, limited to the rows on which the caller may also perform `action`."""

    action: Action

    def rows(self, action: Action, model: type[Model], row: Columns) -> sa.ColumnElement[bool]:
        visible = AccessRule.rows(self, Action.READ, model, row)
        return sa.and_(visible, AccessRule.rows(self, self.action, model, row))

    def implied(self, model: type[Model], by: type[Model]) -> bool:
        return False


# Reading


def select_rows(
    caller: Caller,
    name: str,
    text: str,
    *,
    limit: int,
    offset: int = 0,
    total: bool = False,
    within: Action = Action.READ,
) -> QueryResult:
    """Return the rows of a relation that a query string selects and the caller may read.

    With `within`, return only the rows on which the caller may also perform that action.
    """
    rule: Rule = caller.rule
    if within is not Action.READ:
        rule = PermittedRows(caller.profile, within)
    query = with_console_order(querystring.parse(text.encode()), relation(name))
    with reading() as transaction:
        result = execute.select(
            transaction,
            rule,
            binding_of(caller, query.values, limit, offset),
            relation=relation(name),
            query=query,
            count=total,
        )
    return QueryResult([json.loads(row) for row in result.rows], result.total)


def with_console_order(query: Query, target: Relation) -> Query:
    """Return the query with the orders that only the console has: ranks, and titles of rows that embeds refer to."""
    root = query.shape.root
    order = tuple(console_term(term, root, target) for term in root.order)
    return query if order == root.order else replace(query, shape=replace(query.shape, root=replace(root, order=order)))


def console_term(term: OrderTerm, root: Node, target: Relation) -> OrderTerm:
    if term.embed is None:
        attribute = target.attributes.get(term.column)
        return replace(term, ranked=True) if attribute is not None and attribute.info.ranked else term
    embed = next((each for each in root.embeds if each.name == term.embed), None)
    if embed is None or embed.relation not in catalog().relations:
        return term
    referred = {each.referred for each in relation(embed.relation).foreign_keys}
    if term.column not in referred:
        return term
    return replace(term, column=table_of(term.column).title_column, through=term.column)


def fetch_page(fetch: Callable[[int], QueryResult], size: int) -> ResultPage:
    """Return a page of the rows that `fetch` returns for a limit.

    If the rows are too large for one response, try a tenth of the size, then one row. Raise ResponseTooLarge if a
    single row is too large.
    """
    for page_size in (size, max(1, size // 10), 1):
        try:
            result = fetch(page_size + 1)
        except ResponseTooLarge:
            if page_size == 1:
                raise
            continue
        return ResultPage(result.rows[:page_size], page_size, len(result.rows) > page_size, result.total)
    raise AssertionError("the last size returns or raises")


def first_page(caller: Caller, name: str, text: str, size: int, *, within: Action = Action.READ) -> ResultPage:
    """Return the first rows that a query string selects: at most `size`, and as many as a response may hold."""
    return fetch_page(lambda limit: select_rows(caller, name, text, limit=limit, within=within), size)


def first_row(caller: Caller, name: str, text: str, within: Action = Action.READ) -> Row | None:
    """Return the first row that a query string selects, or None."""
    rows = select_rows(caller, name, text, limit=1, within=within).rows
    return rows[0] if rows else None


def count_rows(caller: Caller, name: str, text: str) -> int:
    """Return the number of rows that a query string selects and the caller may read."""
    query = querystring.parse(text.encode())
    with reading() as transaction:
        result = execute.count(
            transaction,
            caller.rule,
            binding_of(caller, query.values, NO_LIMIT, 0),
            relation=relation(name),
            query=query,
            total=True,
        )
    return result.total or 0


def is_permitted(caller: Caller, action: Action, name: str, filters: str) -> bool:
    """Return whether the caller may perform the action on the row of these filters."""
    if not policy.permits(caller.profile, action, relation(name).model):
        return False
    return first_row(caller, name, filters, within=action) is not None


def conducts(caller: Caller, inspection_id: int) -> bool:
    """Return whether the caller starts, closes and records findings of a visible inspection."""
    with reading() as transaction:
        return visits.read_visit(transaction, caller, inspection_id).is_conducted


def relation(name: str) -> Relation:
    return catalog().relations[name]


def binding_of(caller: Caller, values: Any = (), limit: int = NO_LIMIT, offset: int = 0) -> Binding:
    return Binding(values, caller.parameters, limit, offset, EMBEDDED_MAX)


# Writing


def insert(name: str, row: Row) -> str:
    """Insert a row in its own transaction and return its key as text."""
    target = relation(name)
    with writing() as transaction:
        caller = load_caller(transaction)
        policy.require(caller.profile, Action.INSERT, target.model)

        def insert_row() -> str:
            insertion = Insertion([row], tuple(row))
            binding = binding_of(caller)
            written = execute.insert(
                transaction, caller.rule, binding, relation=target, insertion=insertion, shape=None
            )
            return ",".join(map(str, written.keys[0]))

        return str(once(transaction, caller, name, insert_row))


def update(transaction: Transaction, caller: Caller, name: str, text: str, changes: Row) -> int:
    """Update the rows that the filters match and return their number."""
    return write(transaction, caller, Action.UPDATE, name, text, partial(execute.update, changes=changes))


def delete_in(transaction: Transaction, caller: Caller, name: str, text: str) -> int:
    """Delete the rows that the filters match and return their number."""
    return write(transaction, caller, Action.DELETE, name, text, execute.delete)


def write(
    transaction: Transaction, caller: Caller, action: Action, name: str, text: str, run: Callable[..., WriteResult]
) -> int:
    target = relation(name)
    policy.require(caller.profile, action, target.model)
    query = querystring.parse(text.encode())
    assert query.shape.root.conditions, "a write needs a filter"
    written = run(transaction, caller.rule, binding_of(caller, query.values), relation=target, query=query, shape=None)
    return len(written.keys)


# Functions


def call(transaction: Transaction, caller: Caller, name: str, arguments: Row) -> Any:
    """Return the result of a function of the API. Raise UnknownPath if a row does not exist or is not visible."""
    function = FUNCTIONS[name]
    try:
        values = calls.read_arguments(function, calls.CallInput(arguments, ABSENT))
        return as_json(function(transaction, caller, **values))
    except Fault as fault:
        if errors.lookup(type(fault))[0] == NOT_FOUND:
            raise UnknownPath from fault
        raise


def call_to_write(name: str, arguments: Row) -> Any:
    """Return the result of a function that writes, in its own transaction."""
    with writing() as transaction:
        caller = load_caller(transaction)
        return once(transaction, caller, name, lambda: call(transaction, caller, name, arguments))

"""From a text of the dialect to rows, and from a form's fields to a write: the API's own parser, rule and
engine, with no statement and no rule of the console's own."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from access.policy import AccessRule
from engine.current import reading
from engine.current import writing
from engine.query import execute
from engine.query.catalog import Relation
from engine.query.catalog import catalog
from engine.query.rule import Action
from engine.query.rule import Rule
from engine.query.statement import Binding
from engine.query.write.insert import Insertion
from engine.reporting.visible_rows import VisibleRows
from engine.storage.sqlite import ResponseTooLarge
from engine.storage.transaction import Transaction
from models.fields import Model
from models.fields import Row as Columns
from routes.postgrest import querystring

Row = dict[str, Any]
EMBEDDED_MAX = 1_000
EVERY = 2**62


@dataclass(frozen=True, slots=True)
class Found:
    """Rows, and how many there are in all where that was asked for."""

    rows: list[Row]
    total: int | None


@dataclass(frozen=True, slots=True)
class Page:
    """The first rows that were found, at most `size`; whether there are more of them; how many in all
    where that was asked for."""

    rows: list[Row]
    size: int
    has_more: bool
    total: int | None


@dataclass(frozen=True, slots=True)
class WithinReach(AccessRule):
    """The rule, showing only what its caller may also do that to: what a page offers to change."""

    reach: Action

    def rows(self, action: Action, model: type[Model], row: Columns) -> sa.ColumnElement[bool]:
        visible = AccessRule.rows(self, Action.READ, model, row)
        return sa.and_(visible, AccessRule.rows(self, self.reach, model, row))

    def implied(self, model: type[Model], by: type[Model]) -> bool:
        return False


# Reading


def ask(
    caller: Caller,
    name: str,
    text: str,
    *,
    limit: int,
    offset: int = 0,
    total: bool = False,
    within: Action = Action.READ,
) -> Found:
    """The rows of a relation that a query string of the dialect asks for, as the caller sees them."""
    rule: Rule = AccessRule(caller.profile)
    if within is not Action.READ:
        rule = WithinReach(caller.profile, within)
    query = querystring.parse(text.encode())
    with reading() as transaction:
        selected = execute.select(
            transaction,
            rule,
            binding_of(caller, query.values, limit, offset),
            relation=relation(name),
            query=query,
            count=total,
        )
    return Found([json.loads(row) for row in selected.rows], selected.total)


def page(ask_for: Callable[[int], Found], size: int) -> Page:
    """A page of what `ask_for` finds with a limit; of rows that are too large for one answer a tenth as
    many, or one: a few long names must not shut a page to all who see them."""
    for shown in (size, max(1, size // 10), 1):
        try:
            found = ask_for(shown + 1)
        except ResponseTooLarge:
            if shown == 1:
                raise
            continue
        return Page(found.rows[:shown], shown, len(found.rows) > shown, found.total)
    raise AssertionError("the last one returns or raises")


def first(caller: Caller, name: str, text: str, size: int, *, within: Action = Action.READ) -> Page:
    """The first rows of a relation that a query string asks for, as many of `size` as an answer holds."""
    return page(lambda limit: ask(caller, name, text, limit=limit, within=within), size)


def one(caller: Caller, name: str, text: str, within: Action = Action.READ) -> Row | None:
    """The first such row."""
    rows = ask(caller, name, text, limit=1, within=within).rows
    return rows[0] if rows else None


def number(caller: Caller, name: str, text: str) -> int:
    """How many such rows the caller sees."""
    query = querystring.parse(text.encode())
    with reading() as transaction:
        counted = execute.count(
            transaction,
            AccessRule(caller.profile),
            binding_of(caller, query.values, EVERY, 0),
            relation=relation(name),
            query=query,
            total=True,
        )
    return counted.total or 0


def is_within_reach(caller: Caller, action: Action, name: str, key: int | str) -> bool:
    """Whether the caller may do that to the row of this id: whether it is offered."""
    if not policy.permits(caller.role, action, relation(name).model):
        return False
    return one(caller, name, f"select=id&id=eq.{quote(str(key))}", within=action) is not None


def visible_to(caller: Caller) -> VisibleRows:
    return VisibleRows(AccessRule(caller.profile), caller.id, caller.client_id)


def relation(name: str) -> Relation:
    return catalog().relations[name]


def binding_of(caller: Caller, values: Any = (), limit: int = EVERY, offset: int = 0) -> Binding:
    return Binding(values, caller.id, caller.client_id, limit, offset, EMBEDDED_MAX)


# Writing: each in its own turn, under the rule as it is by then


def insert(name: str, row: Row) -> int | str:
    """Make a row; its id."""
    with writing() as transaction:
        return insert_in(transaction, load_caller(transaction), name, [row])[0]


def insert_in(
    transaction: Transaction, caller: Caller, name: str, rows: list[Row]
) -> list[int | str]:
    """The same in a transaction under way."""
    target = relation(name)
    policy.require(caller.role, Action.INSERT, target.model)
    written = execute.insert(
        transaction,
        AccessRule(caller.profile),
        binding_of(caller),
        relation=target,
        insertion=Insertion(rows, tuple(rows[0])),
        shape=None,
        check_row_count=any_number,
    )
    return [key[0] for key in written.keys]  # type: ignore[misc]


def update(name: str, text: str, changes: Row) -> int:
    """Change the rows that the text's filters name; how many those were."""
    with writing() as transaction:
        return update_in(transaction, load_caller(transaction), name, text, changes)


def update_in(transaction: Transaction, caller: Caller, name: str, text: str, changes: Row) -> int:
    target = relation(name)
    policy.require(caller.role, Action.UPDATE, target.model)
    query = querystring.parse(text.encode())
    assert query.shape.root.conditions, "never everything"
    written = execute.update(
        transaction,
        AccessRule(caller.profile),
        binding_of(caller, query.values),
        relation=target,
        query=query,
        changes=changes,
        shape=None,
        check_row_count=any_number,
    )
    return len(written.keys)


def delete(name: str, text: str) -> int:
    """Delete the rows that the text's filters name; how many those were."""
    with writing() as transaction:
        return delete_in(transaction, load_caller(transaction), name, text)


def delete_in(transaction: Transaction, caller: Caller, name: str, text: str) -> int:
    target = relation(name)
    policy.require(caller.role, Action.DELETE, target.model)
    query = querystring.parse(text.encode())
    assert query.shape.root.conditions, "never everything"
    written = execute.delete(
        transaction,
        AccessRule(caller.profile),
        binding_of(caller, query.values),
        relation=target,
        query=query,
        shape=None,
        check_row_count=any_number,
    )
    return len(written.keys)


def any_number(count: int) -> None:
    """What is written was named by its key."""

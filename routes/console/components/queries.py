"""Reads and writes of the console through the API's parser, access rule and engine, and repeated submissions.

The console has neither SQL nor access rules of its own. A form carries the id of its submission. A form that is sent
again within a day has the result of the first time. The audit log holds the result, written in the transaction of the
change. So it counts for every worker and after a restart.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

import sqlalchemy as sa
from flask import g

from access import policy
from access.caller import Caller
from access.decorators import load_caller
from access.policy import AccessRule
from engine import execute
from engine import rows as gateway
from engine.interface.database import ResponseTooLarge, Transaction
from engine.open import reading, writing, zone_info
from engine.query.catalog import Relation, catalog
from engine.query.shape import Node, OrderTerm, Query
from engine.query.statement import Action, Binding
from engine.query.write.insert import Insertion, WriteResult
from engine.query.write.row_layout import read_details, record_entry
from engine.rows import QueryResult
from inspections import visits
from inspections.faults import NoSuchRow
from inspections.retention import locked_visits
from models import Finding
from models.fields import Model
from models.fields import Row as Columns
from models.inspection import CLOSED_CHECK
from models.locks import has_refusal
from models.types import INT64, Fault
from models.vocabulary import CLOSED_STATUSES
from routes.console.components.tables import Row, table_of
from routes.console.session.submissions import read_submission, sent_pairs
from routes.functions.rpc import FUNCTIONS
from routes.http.faults import UnknownPath
from routes.postgrest import calls, errors, querystring
from routes.postgrest.errors import as_json

SUBMITTED: Final = "submitted"
REMEMBERED: Final = datetime.timedelta(days=1)


def once(transaction: Transaction, caller: Caller, relation: str, change: Callable[[], Any]) -> Any:
    """Return the result of `change`, which is JSON; a form that was sent before has its first result."""
    form = g.get("form")
    submission = read_submission(form.get("submission", "")) if form is not None else None
    if submission is None or submission.user_id != caller.id:
        return change()
    g.submitted = g.get("submitted", 0) + 1  # a form may make several changes
    # The same id with other values, such as after Back, is another submission.
    key = hashlib.sha256(json.dumps([g.submitted, *sent_pairs(form)]).encode()).hexdigest()
    since = transaction.moment - REMEMBERED
    first = read_details(transaction, SUBMITTED, relation, actor_id=caller.id, row_key=key, since=since)
    if first is not None:
        return first["result"]
    result = change()
    record_entry(
        transaction,
        SUBMITTED,
        relation,
        actor_id=caller.id,
        client_id=caller.client_id,
        row_key=key,
        details={"result": result},
    )
    return result


NO_LIMIT = 2**62
NOT_FOUND = 404
ABSENT = frozenset({None, ""})
"""The values of an argument that is not given."""


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
    rule = PermittedRows(caller.profile, within) if within is not Action.READ else None
    query = with_console_order(querystring.parse(text.encode()), relation(name))
    with reading() as transaction:
        return gateway.select_rows(
            transaction, caller, name, query, limit=limit, offset=offset, total=total, zone=zone_info(), rule=rule
        )


def select_parts(
    caller: Caller, name: str, texts: Sequence[str], *, limit: int, offset: int = 0, total: bool = False
) -> QueryResult:
    """Return the rows that several query strings select, one after another, as `select_rows` returns those of one."""
    rows: list[Row] = []
    totals: list[int] = []
    for place, text in enumerate(texts):
        wanted = limit - len(rows)
        if not wanted and not total:
            break
        found = select_rows(caller, name, text, limit=wanted, offset=offset, total=total) if wanted else None
        rows += found.rows if found is not None else []
        if total:
            totals.append((found.total if found is not None else count_rows(caller, name, text)) or 0)
        if rows or place == len(texts) - 1:
            offset = 0
        elif offset:
            offset -= totals[-1] if total else count_rows(caller, name, text)
    return QueryResult(rows, sum(totals) if total else None)


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
    binding = binding_of(caller, query.values)
    with reading() as transaction:
        result = execute.count(transaction, caller.rule, binding, relation=relation(name), query=query, total=True)
    return result.total or 0


def company_of(caller: Caller) -> str:
    """Return the name of the caller's client, for paper; that of super admins is that of the only client, or none."""
    own = f"&id=eq.{caller.client_id}" if caller.client_id is not None else ""
    rows = select_rows(caller, "clients", f"select=name{own}&order=id", limit=2).rows
    return str(rows[0]["name"]) if len(rows) == 1 else "All clients" if rows else ""


def is_permitted(caller: Caller, action: Action, name: str, filters: str) -> bool:
    """Return whether the caller may perform the action on the row of these filters."""
    model = relation(name).model
    if not policy.permits(caller.profile, action, model):
        return False
    row = first_row(caller, name, filters, within=action)
    if row is None or not has_refusal(model, CLOSED_CHECK):
        return row is not None
    if row.get("finding_id") is not None:
        row = first_row(caller, Finding.__tablename__, f"id=eq.{row['finding_id']}") or row
    return row["inspection_id"] is None or records_visit(caller, row["inspection_id"])


def conducts(caller: Caller, inspection_id: int) -> bool:
    """Return whether the caller starts and closes a visible inspection. Raise NoSuchRow."""
    return require_visit(caller, inspection_id).is_conducted


def records_visit(caller: Caller, inspection_id: int) -> bool:
    """Return whether the caller records findings and readings of a visible inspection. Raise NoSuchRow."""
    visit = require_visit(caller, inspection_id)
    is_open = policy.WRITES_CLOSED_VISITS[caller.role] or visit.status not in CLOSED_STATUSES
    return visit.is_conducted and is_open and not is_reported(inspection_id)


def is_reported(inspection_id: int) -> bool:
    """Return whether an inspection has an issued report that is not withdrawn: its rows are locked."""
    with reading() as transaction:
        return bool(locked_visits(transaction, [inspection_id]))


def require_visit(caller: Caller, inspection_id: int) -> visits.Visit:
    """Return a visible inspection. Raise NoSuchRow."""
    if inspection_id > INT64[1]:
        raise NoSuchRow("Inspection")
    with reading() as transaction:
        return visits.read_visit(transaction, caller, inspection_id)


def relation(name: str) -> Relation:
    return catalog().relations[name]


def binding_of(caller: Caller, values: Any = ()) -> Binding:
    """Return the values of a query. Dates and times without an offset are in TIMEZONE."""
    return Binding(values, caller.parameters, NO_LIMIT, zone=zone_info())


# Writing


def insert(name: str, row: Row, then: Callable[[Transaction, Caller, str], None] | None = None) -> str:
    """Insert a row in its own transaction and return its key as text. `then` writes more there, by the key."""
    with writing() as transaction:
        caller = load_caller(transaction)
        policy.require(caller.profile, Action.INSERT, relation(name).model)

        def insert_row() -> str:
            written = execute.insert(
                transaction,
                caller.rule,
                binding_of(caller),
                relation=relation(name),
                insertion=Insertion([row], tuple(row)),
                shape=None,
            )
            key = ",".join(map(str, written.keys[0]))
            if then is not None:
                then(transaction, caller, key)
            return key

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
    return call_prepared(transaction, caller, name, prepare(transaction, caller, name, arguments))


def prepare(transaction: Transaction, caller: Caller, name: str, arguments: Row) -> dict[str, Any]:
    """Return what `call_prepared` takes. A function with a long text reads it here, without the writer lock."""
    function = FUNCTIONS[name]
    return function.prepare(transaction, caller, calls.read_arguments(function, calls.CallInput(arguments, ABSENT)))


def call_prepared(transaction: Transaction, caller: Caller, name: str, prepared: dict[str, Any]) -> Any:
    try:
        return as_json(FUNCTIONS[name](transaction, caller, **prepared))
    except Fault as fault:
        if errors.status_of(fault) == NOT_FOUND:
            raise UnknownPath from fault
        raise


def call_to_write(name: str, arguments: Row) -> Any:
    """Return the result of a function that writes, in its own transaction."""
    with writing() as transaction:
        caller = load_caller(transaction)
        return once(transaction, caller, name, lambda: call(transaction, caller, name, arguments))

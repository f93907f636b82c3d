"""GET HEAD POST PATCH PUT DELETE OPTIONS over one relation: once, for all of them.

A view reads as its pipeline: parse, plan and run, represent. Whether the caller has the privilege
stands above its name.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from flask import Blueprint
from flask import Response

from access import policy
from access.accounts import email_disclosure as taken
from access.accounts.people import require_sign_in_by
from access.caller import Caller
from access.decorators import admit
from access.decorators import requires
from access.policy import AccessRule
from engine.query import execute
from engine.query.catalog import catalog
from engine.query.read import plan
from engine.query.rule import Action
from engine.query.write.insert import Conflict
from engine.query.write.insert import Insertion
from engine.query.write.insert import WriteResult
from engine.storage.database import reading
from engine.storage.database import writing
from models import User
from models.fields import Model
from routes.body import read_body
from routes.middleware import respond
from routes.postgrest import representation
from routes.postgrest import requests
from routes.postgrest.preferences import Operation
from routes.postgrest.preferences import TransactionEnd
from routes.relation_request import Asked
from routes.relation_request import known_columns
from routes.relation_request import read_changes
from routes.relation_request import read_insertion


def blueprint(model: type[Model]) -> Blueprint:
    """The views of a relation, under its name."""
    name = model.__tablename__
    bp = Blueprint(name, __name__)
    relation = catalog().relations[name]
    path = f"/{name}"

    @bp.get(path)
    @requires(Action.READ, model)
    def read(caller: Caller) -> Response:
        asked = Asked(relation)
        return show_numbers(asked, caller) if asked.method == "HEAD" else show(asked, caller)

    @bp.post(path)
    @requires(Action.INSERT, model)
    def create() -> Response:
        asked = Asked(relation)
        insertion = read_insertion(asked, asked.listed_payload())
        if not insertion.rows:
            return asked.answer(asked.nothing_written(insertion), Operation.INSERT)
        asked.is_brief = insertion.conflict is not Conflict.MERGE and asked.is_small(
            len(insertion.rows)
        )
        insert = partial(execute.insert, insertion=insertion)
        return asked.answer(write(asked, Action.INSERT, insert), Operation.INSERT)

    @bp.put(path)
    @requires(Action.INSERT, model)
    def put() -> Response:
        asked = Asked(relation)
        requests.require_uncut(asked.query)
        payload = asked.payload().require_uniform()
        named = requests.require_key_filters(asked.query, relation)
        columns = known_columns(asked, payload.keys)
        requests.require_key(named, relation, payload.rows)
        insert = partial(execute.insert, insertion=Insertion(payload.rows, columns, Conflict.MERGE))
        return asked.answer(write(asked, Action.INSERT, insert), Operation.UPSERT)

    @bp.patch(path)
    @requires(Action.UPDATE, model)
    def change() -> Response:
        asked = Asked(relation)
        requests.require_where(asked.query, asked.query_string, "UPDATE")
        changes = read_changes(asked, asked.listed_payload())
        if not changes:
            return asked.answer(asked.nothing_written(), Operation.UPDATE)
        asked.is_brief = (
            requests.names_one_row(asked.query, relation)
            and not any(relation.is_tied(name) for name in changes)
            and asked.is_small(1)
        )
        update = partial(execute.update, query=asked.query, changes=changes)
        return asked.answer(write(asked, Action.UPDATE, update), Operation.UPDATE)

    @bp.delete(path)
    @requires(Action.DELETE, model)
    def remove() -> Response:
        asked = Asked(relation)
        requests.require_where(asked.query, asked.query_string, "DELETE")
        read_body()
        delete = partial(execute.delete, query=asked.query)
        return asked.answer(write(asked, Action.DELETE, delete), Operation.DELETE)

    return bp


def show(asked: Asked, caller: Caller) -> Response:
    """The rows that were asked for."""
    binding = asked.binding(caller)
    with reading() as transaction:
        selected = execute.select(
            transaction,
            AccessRule(caller.standing),
            binding,
            relation=asked.relation,
            query=asked.query,
            count=asked.preferences.count is not None,
        )
    return respond(
        representation.represent_read(
            selected, binding.offset, asked.media, asked.preferences, asked.header()
        )
    )


def show_numbers(asked: Asked, caller: Caller) -> Response:
    """How many rows those would be: HEAD makes none of them."""
    binding = asked.binding(caller)
    with reading() as transaction:
        counted = execute.count(
            transaction,
            AccessRule(caller.standing),
            binding,
            relation=asked.relation,
            query=asked.query,
            total=asked.preferences.count is not None,
        )
    return respond(
        representation.represent_head(counted, binding.offset, asked.media, asked.preferences)
    )


def write(asked: Asked, action: Action, run: Callable[..., WriteResult]) -> WriteResult:
    """Run a write under the rule as it is once the write lock is held: rights may go during the wait."""
    turn = writing(is_brief=asked.is_brief)
    with taken.counting(turn) if asked.names_email else turn as transaction:
        caller = admit(transaction)
        if asked.names_email and not policy.sees_all(caller.role, User):
            taken.require_answers_left(transaction, caller)
        policy.require(caller.role, action, asked.relation.model)
        plan.require_ways(asked.relation.name, asked.shape.root)
        if asked.preferences.transaction is TransactionEnd.ROLLBACK:
            transaction.roll_back_at_end()
        written = run(
            transaction,
            AccessRule(caller.standing),
            asked.binding(caller, writes=True),
            relation=asked.relation,
            shape=asked.represented_shape(),
            veto=asked.veto,
        )
        if asked.names_email:
            require_sign_in_by(transaction, asked.emails)
        asked.require_body(written)
        return written

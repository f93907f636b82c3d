"""GET, HEAD, POST, PATCH, PUT, DELETE and OPTIONS over one relation.

Each view parses the request, runs the statement and renders the result. The decorator names the required
privilege.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from flask import Blueprint, Response

from access import policy
from access.accounts import email_disclosure
from access.accounts.people import require_unique_emails
from access.caller import Caller
from access.decorators import client_of_writes, load_caller, requires
from engine import execute
from engine.current import reading, writing
from engine.interface.faults import SerializationConflict
from engine.query.catalog import catalog
from engine.query.read import plan
from engine.query.rule import Action
from engine.query.write.insert import Conflict, Insertion, WriteResult
from models import User
from models.fields import Model
from routes.http.body import read_body
from routes.http.middleware import respond
from routes.postgrest import representation, requests
from routes.postgrest.preferences import Operation, TransactionEnd
from routes.relation_request import RelationRequest, known_columns, read_changes, read_insertion


def blueprint(model: type[Model]) -> Blueprint:
    """Return the blueprint of a model, under its table's name."""
    name = model.__tablename__
    bp = Blueprint(name, __name__)
    relation = catalog().relations[name]
    path = f"/{name}"

    @bp.get(path)
    @requires(Action.READ, model)
    def read(caller: Caller) -> Response:
        request = RelationRequest(relation)
        return count_rows(request, caller) if request.method == "HEAD" else read_rows(request, caller)

    @bp.post(path)
    @requires(Action.INSERT, model)
    def create() -> Response:
        request = RelationRequest(relation)
        insertion = read_insertion(request, request.columns_payload())
        if not insertion.rows:
            return request.write_response(request.write_no_rows(insertion), Operation.INSERT)
        request.may_decide_rights = insertion.conflict is not Conflict.FAIL
        request.is_brief = insertion.conflict is not Conflict.MERGE and request.is_brief_for(len(insertion.rows))
        insert = partial(execute.insert, insertion=insertion)
        return request.write_response(write(request, actions_of(insertion), insert), Operation.INSERT)

    @bp.put(path)
    @requires(Action.INSERT, model)
    def put() -> Response:
        request = RelationRequest(relation)
        requests.refuse_range(request.query)
        payload = request.payload().require_uniform()
        key_values = requests.require_key_filters(request.query, relation)
        columns = known_columns(request, payload.keys)
        requests.require_matching_key(key_values, relation, payload.rows)
        insertion = Insertion(payload.rows, columns, Conflict.MERGE)
        insert = partial(execute.insert, insertion=insertion)
        return request.write_response(write(request, actions_of(insertion), insert), Operation.UPSERT)

    @bp.patch(path)
    @requires(Action.UPDATE, model)
    def change() -> Response:
        request = RelationRequest(relation)
        requests.require_where(request.query, request.query_string, "UPDATE")
        changes = read_changes(request, request.columns_payload())
        if not changes:
            return request.write_response(request.write_no_rows(), Operation.UPDATE)
        request.may_decide_rights = any(relation.affects_other_rows(name) for name in changes)
        request.is_brief = (
            requests.filters_one_row(request.query, relation)
            and not request.may_decide_rights
            and request.is_brief_for(1)
        )
        update = partial(execute.update, query=request.query, changes=changes)
        return request.write_response(write(request, (Action.UPDATE,), update), Operation.UPDATE)

    @bp.delete(path)
    @requires(Action.DELETE, model)
    def remove() -> Response:
        request = RelationRequest(relation)
        requests.require_where(request.query, request.query_string, "DELETE")
        read_body()
        delete = partial(execute.delete, query=request.query)
        return request.write_response(write(request, (Action.DELETE,), delete), Operation.DELETE)

    return bp


def read_rows(request: RelationRequest, caller: Caller) -> Response:
    """Return the selected rows."""
    binding = request.binding(caller)
    with reading() as transaction:
        selected = execute.select(
            transaction,
            caller.rule,
            binding,
            relation=request.relation,
            query=request.query,
            count=request.preferences.count is not None,
        )
    return respond(
        representation.represent_read(
            selected, binding.offset, request.media, request.preferences, request.csv_header()
        )
    )


def count_rows(request: RelationRequest, caller: Caller) -> Response:
    """Return the headers of a read, for HEAD. No row is rendered."""
    binding = request.binding(caller)
    with reading() as transaction:
        counted = execute.count(
            transaction,
            caller.rule,
            binding,
            relation=request.relation,
            query=request.query,
            total=request.preferences.count is not None,
        )
    return respond(representation.represent_head(counted, binding.offset, request.media, request.preferences))


def actions_of(insertion: Insertion) -> tuple[Action, ...]:
    """Return the actions of an insert: as in PostgreSQL, one that merges needs the privilege to update."""
    return (Action.INSERT, Action.UPDATE) if insertion.conflict is Conflict.MERGE else (Action.INSERT,)


def write(request: RelationRequest, actions: tuple[Action, ...], run: Callable[..., WriteResult]) -> WriteResult:
    """Run a write under the lock of its client if that is enough, else under the writer lock alone."""
    client_id = None if request.may_decide_rights else client_of_writes(actions, request.relation.model)
    if client_id is not None:
        with suppress(SerializationConflict):
            return write_under_lock(request, actions, run, client_id)
    return write_under_lock(request, actions, run, None)


def write_under_lock(
    request: RelationRequest, actions: tuple[Action, ...], run: Callable[..., WriteResult], client_id: int | None
) -> WriteResult:
    """Run a write under the access rule in force after the lock is acquired.

    The caller may lose rights while the request waits for the lock.
    """
    scope = writing(is_brief=request.is_brief, client_id=client_id)
    if request.names_email:
        scope = email_disclosure.counting_disclosures(scope)
    with scope as transaction:
        caller = load_caller(transaction)
        if request.names_email and not policy.sees_all(caller.role, User):
            email_disclosure.require_disclosures_left(transaction, caller)
        for action in actions:
            policy.require(caller.profile, action, request.relation.model)
        plan.require_relationships(request.relation.name, request.shape.root)
        if request.preferences.transaction is TransactionEnd.ROLLBACK:
            transaction.roll_back_at_end()
        written = run(
            transaction,
            caller.rule,
            request.binding(caller, writes=True),
            relation=request.relation,
            shape=request.represented_shape(),
            check_row_count=request.check_row_count,
        )
        if request.names_email:
            require_unique_emails(transaction, request.emails)
        request.encode_body(written)
        return written

"""GET, HEAD, POST, PATCH, PUT, DELETE and OPTIONS over one relation.

A request is a query, preferences, a range and a body. It is parsed before the database is read. Each view parses the
request, runs the statement and renders the result. The decorator names the required privilege. A write of no rows is
checked here, since it runs no statement.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

from flask import Blueprint, Response

from access import policy, session
from access.accounts import administration
from access.accounts.people import require_unique_emails
from access.caller import Caller
from access.decorators import client_of_writes, load_caller, requires
from access.policy import AccessRule
from engine import execute
from engine.interface.database import SerializationConflict
from engine.open import reading, writing
from engine.query.catalog import Relation, catalog
from engine.query.read import plan
from engine.query.shape import Column, Query, Shape
from engine.query.statement import Action, Binding
from engine.query.write.insert import Conflict, Insertion, WriteResult, require_target
from models import User
from models.fields import Model
from models.types import zone_named
from routes.http.body import read_body
from routes.http.middleware import respond
from routes.postgrest import representation
from routes.postgrest.payload import InvalidPayload, Payload, parse_payload, require_header, without_titles
from routes.postgrest.preferences import (
    Handling,
    MediaType,
    Missing,
    Operation,
    Preferences,
    Resolution,
    Return,
    TransactionEnd,
    intersect,
    parse_accept,
    parse_prefer,
    parse_range,
)
from routes.postgrest.querystring import parse

UNLIMITED = 2**62  # as a limit
BRIEF_ROWS_MAX = 10
BRIEF_BYTES_MAX = 65_536
"""A write within both limits may join the current commit group."""


class RelationRequest:
    """A parsed request over a relation: query, preferences, media type and range."""

    def __init__(self, relation: Relation) -> None:
        environ = session.request().environ
        representation.require_profiles(environ.get("HTTP_ACCEPT_PROFILE"), environ.get("HTTP_CONTENT_PROFILE"))
        self.relation = relation
        self.method: str = environ["REQUEST_METHOD"]
        self.range_header: str | None = environ.get("HTTP_RANGE")
        self.preferences: Preferences = parse_prefer(environ.get("HTTP_PREFER", ""))
        self.media: MediaType = parse_accept(environ.get("HTTP_ACCEPT"))
        self.query_string: str = environ.get("QUERY_STRING", "")
        query = parse(self.query_string.encode("latin-1"))
        if self.preferences.timezone is not None:
            query = replace(query, shape=replace(query.shape, timezone=True))
        self.query: Query = query
        self.names_email = False
        self.emails: tuple[str, ...] = ()
        self.is_brief = False
        self.may_decide_rights = True
        self.body_bytes = 0

    @property
    def shape(self) -> Shape:
        return self.query.shape

    def int_value(self, index: int | None) -> int | None:
        value = self.query.values[index] if index is not None else None
        return int(value) if isinstance(value, int | str) else None

    def range(self) -> tuple[int, int | None]:
        """Return offset and limit, combined from the query and the Range header."""
        root = self.shape.root
        requested = (self.int_value(root.offset) or 0, self.int_value(root.limit))
        # With `limit=0` the Range header is ignored, even an invalid one.
        header = None if requested[1] == 0 else self.range_header
        return intersect(parse_range(header, self.method), requested)

    def binding(self, caller: Caller, *, writes: bool = False) -> Binding:
        """Return the parameters of the plan. In a write, the limit applies to the written rows, not to the response."""
        offset, limit = self.range()
        rows_max: int = session.application().config["MAX_ROWS"]
        limit_max = UNLIMITED if writes else rows_max
        zone = self.preferences.timezone
        return Binding(
            self.query.values,
            caller.parameters,
            limit_max if limit is None else min(limit, limit_max),
            offset,
            rows_max,
            zone_named(zone) if zone is not None else None,
        )

    def csv_header(self) -> list[str]:
        """Return the column names of a CSV response; an empty list for other media types."""
        if self.media is not MediaType.CSV:
            return []
        return representation.row_keys(self.shape.root, self.relation)

    def represented_shape(self) -> Shape | None:
        """Return the shape of the written rows in the response, or None if the response has no rows."""
        if self.preferences.representation is not Return.REPRESENTATION:
            return None
        root = replace(self.shape.root, conditions=(), limit=None, offset=None)
        return replace(self.shape, root=root, columns=None, on_conflict=None)

    def check_row_count(self, count: int) -> None:
        """Raise NotSingular or TooManyAffected if the number of written rows violates a request header."""
        preferences = self.preferences
        if self.media in representation.SINGULAR and count != 1:
            raise representation.NotSingular(count)
        bound = preferences.max_affected
        if preferences.handling is Handling.STRICT and bound is not None and count > bound:
            raise representation.TooManyAffected(count)

    def is_brief_for(self, rows: int) -> bool:
        """Return whether a write of at most `rows` rows is brief: a short body and no embeds in the response."""
        return (
            rows <= BRIEF_ROWS_MAX
            and self.body_bytes <= BRIEF_BYTES_MAX
            and all(isinstance(each, Column) for each in self.shape.root.items)
        )

    def write_no_rows(self, insertion: Insertion | None = None) -> WriteResult:
        """Return the result of a write without rows, after the same checks as for other writes."""
        shape = self.represented_shape()
        plan.require_relationships(self.relation.name, self.shape.root)
        if shape is not None:
            with reading() as transaction:
                rule = AccessRule(load_caller(transaction).profile)
                execute.check_representation(transaction, self.relation, rule, shape)
        if insertion is not None:
            require_target(self.relation, insertion)
        self.check_row_count(0)
        return WriteResult([], 0, [] if shape is not None else None)

    def payload(self) -> Payload:
        body = read_body()
        self.body_bytes = len(body)
        payload = parse_payload(body, session.request().headers.get("Content-Type"))
        if payload.lines is not None:
            # The console's file has the titles of referred rows, which are columns of other tables.
            references = (each.column for each in self.relation.foreign_keys)
            rows, keys = without_titles(payload.rows, payload.keys, references)
            payload = replace(payload, rows=rows, keys=keys)
        if self.relation.model is User:
            emails = [row.get("email") for row in payload.rows]
            self.emails = tuple(email for email in emails if isinstance(email, str))
        return payload

    def columns_payload(self) -> Payload:
        """Return the payload of a write; raise UnknownPayloadColumn for unknown names in `columns`."""
        self.relation.require_payload_columns(self.shape.columns or ())
        return self.payload()

    @property
    def encoding_can_fail(self) -> bool:
        """Whether rendering the response can fail: formats that re-encode the database's JSON."""
        wants_rows = self.preferences.representation is Return.REPRESENTATION
        return wants_rows and self.media in representation.REENCODED

    def encode_body(self, written: WriteResult) -> None:
        """Render the response while the transaction can still be rolled back."""
        if written.rows is not None and self.encoding_can_fail:
            representation.encode_rows(written.rows, self.media, self.csv_header())

    def write_response(self, written: WriteResult, operation: Operation) -> Response:
        return respond(
            representation.represent_write(
                written, operation, self.media, self.preferences, self.csv_header(), self.relation
            )
        )


def written_columns(request: RelationRequest, payload: Payload) -> tuple[str, ...]:
    """Return the columns to write: those of `columns`, or the payload's keys."""
    columns = request.shape.columns
    if payload.lines is not None:
        require_header(request.relation, payload.keys, columns)
    return known_columns(request, payload.require_uniform().keys if columns is None else columns)


def known_columns(request: RelationRequest, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns without duplicates; raise UnknownPayloadColumn for unknown names."""
    request.relation.require_payload_columns(columns)
    request.names_email = request.relation.model is User and "email" in columns
    return tuple(dict.fromkeys(columns))


def read_insertion(request: RelationRequest, payload: Payload) -> Insertion:
    """Return the rows to insert. An empty array has no rows and writes nothing."""
    resolution = request.preferences.resolution
    conflict = Conflict.FAIL
    if resolution is Resolution.MERGE_DUPLICATES:
        conflict = Conflict.MERGE
    elif resolution is Resolution.IGNORE_DUPLICATES:
        conflict = Conflict.IGNORE
    return Insertion(
        payload.rows,
        written_columns(request, payload),
        conflict,
        request.shape.on_conflict if conflict is not Conflict.FAIL else None,
        request.preferences.missing is Missing.DEFAULT,
        payload.lines,
    )


def read_changes(request: RelationRequest, payload: Payload) -> dict[str, object]:
    """Return the new values of an update; raise InvalidPayload for an array or CSV of other than one row.

    PostgREST takes the first object of an array and drops the others.
    """
    columns = written_columns(request, payload)
    if len(payload.rows) != 1:
        raise InvalidPayload("A PATCH takes one object", f"The body has {len(payload.rows)}.")
    first = payload.rows[0]
    missing = execute.DEFAULT if request.preferences.missing is Missing.DEFAULT else None
    return {name: first.get(name, missing) for name in columns}


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
        representation.refuse_range(request.query)
        payload = request.payload().require_uniform()
        key_values = representation.require_key_filters(request.query, relation)
        columns = known_columns(request, payload.keys)
        representation.require_matching_key(key_values, relation, payload.rows)
        insertion = Insertion(payload.rows, columns, Conflict.MERGE)
        insert = partial(execute.insert, insertion=insertion)
        return request.write_response(write(request, actions_of(insertion), insert), Operation.UPSERT)

    @bp.patch(path)
    @requires(Action.UPDATE, model)
    def change() -> Response:
        request = RelationRequest(relation)
        representation.require_where(request.query, request.query_string, "UPDATE")
        changes = read_changes(request, request.columns_payload())
        if not changes:
            return request.write_response(request.write_no_rows(), Operation.UPDATE)
        request.may_decide_rights = any(relation.affects_other_rows(name) for name in changes)
        request.is_brief = (
            representation.filters_one_row(request.query, relation)
            and not request.may_decide_rights
            and request.is_brief_for(1)
        )
        update = partial(execute.update, query=request.query, changes=changes)
        return request.write_response(write(request, (Action.UPDATE,), update), Operation.UPDATE)

    @bp.delete(path)
    @requires(Action.DELETE, model)
    def remove() -> Response:
        request = RelationRequest(relation)
        representation.require_where(request.query, request.query_string, "DELETE")
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
        scope = administration.counting_disclosures(scope)
    with scope as transaction:
        caller = load_caller(transaction)
        if request.names_email and not policy.sees_all(caller.role, User):
            administration.require_disclosures_left(transaction, caller)
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

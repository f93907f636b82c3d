"""What one request over a relation says: query, preferences, range, body, and which values a write gives which columns.

It is read before anything is looked up. A write of no rows is judged here, too: there is nothing to run.
"""

from __future__ import annotations

from dataclasses import replace
from zoneinfo import ZoneInfo

from flask import Response

from access import request_state
from access.caller import Caller
from access.decorators import load_caller
from access.policy import AccessRule
from engine.current import reading
from engine.query import execute
from engine.query.catalog import Relation
from engine.query.read import plan
from engine.query.shape import Column
from engine.query.shape import Query
from engine.query.shape import Shape
from engine.query.statement import Binding
from engine.query.write.insert import Conflict
from engine.query.write.insert import Insertion
from engine.query.write.insert import WriteResult
from engine.query.write.upsert import require_target
from models import User
from routes.body import read_body
from routes.middleware import respond
from routes.postgrest import representation
from routes.postgrest import requests
from routes.postgrest.media import MediaType
from routes.postgrest.media import parse_accept
from routes.postgrest.payload import Payload
from routes.postgrest.payload import parse_payload
from routes.postgrest.preferences import Handling
from routes.postgrest.preferences import Missing
from routes.postgrest.preferences import Operation
from routes.postgrest.preferences import Preferences
from routes.postgrest.preferences import Resolution
from routes.postgrest.preferences import Return
from routes.postgrest.preferences import parse_prefer
from routes.postgrest.querystring import parse
from routes.postgrest.ranges import intersect
from routes.postgrest.ranges import parse_range

EVERY_ROW = 2**62  # as a limit
BRIEF_ROWS_MAX = 10
BRIEF_BYTES_MAX = 65_536
"""A write of so little may keep others waiting, whose COMMIT it shares."""


class RelationRequest:
    """A request over a relation, parsed: query, preferences, media type, range."""

    def __init__(self, relation: Relation) -> None:
        environ = request_state.request().environ
        requests.require_profiles(
            environ.get("HTTP_ACCEPT_PROFILE"), environ.get("HTTP_CONTENT_PROFILE")
        )
        self.relation = relation
        self.method: str = environ["REQUEST_METHOD"]
        self.range_header: str | None = environ.get("HTTP_RANGE")
        self.preferences: Preferences = parse_prefer((environ.get("HTTP_PREFER", ""),))
        self.media: MediaType = parse_accept(environ.get("HTTP_ACCEPT"))
        self.query_string: str = environ.get("QUERY_STRING", "")
        query = parse(self.query_string.encode("latin-1"))
        if self.preferences.timezone is not None:
            query = replace(query, shape=replace(query.shape, timezone=True))
        self.query: Query = query
        self.names_email = False
        self.emails: tuple[str, ...] = ()
        self.is_brief = False
        self.body_bytes = 0

    @property
    def shape(self) -> Shape:
        return self.query.shape

    def place(self, place: int | None) -> int | None:
        value = self.query.values[place] if place is not None else None
        return int(value) if isinstance(value, int | str) else None

    def range(self) -> tuple[int, int | None]:
        """Offset and limit, of the query and the Range header together."""
        root = self.shape.root
        requested = (self.place(root.offset) or 0, self.place(root.limit))
        # Of no rows there is no range: the header is not looked at then, not even for which of its ends comes first.
        header = None if requested[1] == 0 else self.range_header
        return intersect(parse_range(header, self.method), requested)

    def binding(self, caller: Caller, *, writes: bool = False) -> Binding:
        """What the request brings to a plan; in a write, a limit bounds what is written and not what is shown."""
        offset, limit = self.range()
        rows_max: int = request_state.application().config["MAX_ROWS"]
        most = EVERY_ROW if writes else rows_max
        zone = self.preferences.timezone
        return Binding(
            self.query.values,
            caller.id,
            caller.client_id,
            most if limit is None else min(limit, most),
            offset,
            rows_max,
            ZoneInfo(zone) if zone is not None else None,
        )

    def header(self) -> list[str]:
        if self.media is not MediaType.CSV:
            return []
        return representation.row_keys(self.shape.root, self.relation)

    def represented_shape(self) -> Shape | None:
        """The shape in which written rows are wanted, if they are."""
        if self.preferences.representation is not Return.REPRESENTATION:
            return None
        root = replace(self.shape.root, conditions=(), limit=None, offset=None)
        return replace(self.shape, root=root, columns=None, on_conflict=None)

    def veto(self, count: int) -> None:
        """Stop a write that touches another number of rows than was said, wanted back or not."""
        preferences = self.preferences
        if self.media in representation.SINGULAR and count != 1:
            raise requests.NotSingular(count)
        bound = preferences.max_affected
        if preferences.handling is Handling.STRICT and bound is not None and count > bound:
            raise requests.TooManyAffected(count)

    def is_small(self, rows: int) -> bool:
        """Whether a write of so many rows at most is little work: few bytes, and nothing shown around them."""
        return (
            rows <= BRIEF_ROWS_MAX
            and self.body_bytes <= BRIEF_BYTES_MAX
            and all(isinstance(each, Column) for each in self.shape.root.items)
        )

    def nothing_written(self, insertion: Insertion | None = None) -> WriteResult:
        """A write of no rows, which is judged like any other; of an insertion, where it is one."""
        shape = self.represented_shape()
        plan.require_ways(self.relation.name, self.shape.root)
        if shape is not None:
            with reading() as transaction:
                rule = AccessRule(load_caller(transaction).profile)
                execute.require_showable(transaction, self.relation, rule, shape)
        if insertion is not None:
            require_target(self.relation, insertion)
        self.veto(0)
        return WriteResult([], 0, [] if shape is not None else None)

    def payload(self) -> Payload:
        body = read_body()
        self.body_bytes = len(body)
        payload = parse_payload(body, request_state.request().headers.get("Content-Type"))
        if self.relation.model is User:
            given = [row.get("email") for row in payload.rows]
            self.emails = tuple(email for email in given if isinstance(email, str))
        return payload

    def listed_payload(self) -> Payload:
        """The body of a write that `columns` may narrow, whose names are looked at first."""
        for name in self.shape.columns or ():
            self.relation.payload_attribute(name)
        return self.payload()

    @property
    def may_be_unshowable(self) -> bool:
        """Whether to make the body of a write's answer can fail: where it is not the rows as the database has them."""
        wants_rows = self.preferences.representation is Return.REPRESENTATION
        return wants_rows and self.media in representation.MADE_ANEW

    def require_body(self, written: WriteResult) -> None:
        """Make the body of a write's answer while the write can still be refused, where to make it can fail."""
        if written.rows is not None and self.may_be_unshowable:
            representation.body(written.rows, self.media, self.header())

    def answer(self, written: WriteResult, operation: Operation) -> Response:
        return respond(
            representation.represent_write(
                written, operation, self.media, self.preferences, self.header(), self.relation
            )
        )


def written_columns(request: RelationRequest, payload: Payload) -> tuple[str, ...]:
    """Which columns a write gives values: those of `columns`, or the payload's own."""
    columns = request.shape.columns
    return known_columns(request, payload.require_uniform().keys if columns is None else columns)


def known_columns(request: RelationRequest, columns: tuple[str, ...]) -> tuple[str, ...]:
    """The same once each, if there are such."""
    unknown = [name for name in columns if name not in request.relation.attributes]
    if unknown:
        request.relation.payload_attribute(unknown[0])
    request.names_email = request.relation.model is User and "email" in columns
    return tuple(dict.fromkeys(columns))


def read_insertion(request: RelationRequest, payload: Payload) -> Insertion:
    """What is to be inserted; no rows for an empty array, which writes nothing."""
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
    )


def read_changes(request: RelationRequest, payload: Payload) -> dict[str, object]:
    """What an update sets: the first object's values, as PostgREST has it."""
    if not payload.rows:
        return {}
    columns = written_columns(request, payload)
    first = payload.rows[0]
    missing = execute.DEFAULT if request.preferences.missing is Missing.DEFAULT else None
    return {name: first.get(name, missing) for name in columns}

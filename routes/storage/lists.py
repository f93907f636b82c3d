"""The buckets, and lists of files: `list` shows one level of folders, `list-v2` whole names by pages."""

from __future__ import annotations

import base64
from typing import Any, Final

from flask import Blueprint, Response, request

from access.caller import Caller
from access.decorators import requires, requires_caller
from engine.open import reading
from engine.query.statement import Action
from inspections.files import listing
from inspections.files.listing import ROWS_MAX, ListPosition, Order
from inspections.files.records import require_bucket
from models import File
from models.types import Denial, Fault, read_timestamp
from models.vocabulary import BUCKETS, FILE_TYPES
from routes.http.body import Object, json_object, json_response, load_values, text
from routes.http.faults import InvalidBody
from routes.storage import bodies
from routes.storage.bodies import file_limits, listed_folder, listed_object

ROWS_DEFAULT: Final = 100
OFFSET_MAX: Final = 10**9
CURSOR_CHARACTERS_MAX: Final = 2_048

LIST: Final = bodies.schema(
    prefix=text(),
    limit=bodies.number(1, ROWS_MAX, ROWS_DEFAULT),
    offset=bodies.number(0, OFFSET_MAX, 0),
    search=text(),
    sortBy=json_object(),
)
LIST_V2: Final = bodies.schema(
    prefix=text(),
    limit=bodies.number(1, ROWS_MAX, ROWS_MAX),
    cursor=text(),
    with_delimiter=bodies.flag(False),
    sortBy=json_object(),
)
SORTING: Final = bodies.schema(
    column=bodies.choice("name", "created_at", "updated_at", "last_accessed_at"), order=bodies.choice("asc", "desc")
)

bp = Blueprint("storage_lists", __name__, url_prefix="/storage/v1/object")


# The buckets: one for each table whose rows have files. They are fixed and private.

LIMIT_MAX = 10**6
CREATED_AT = "2026-01-01T00:00:00+00:00"  # a bucket has no row, and clients parse the time

SORTED_BY_NAME = ("id", "name")
BUCKETS_LIST = bodies.schema(
    limit=bodies.number(1, LIMIT_MAX, LIMIT_MAX),
    offset=bodies.number(0, LIMIT_MAX, 0),
    search=text(),
    sortColumn=bodies.choice(*SORTED_BY_NAME, "created_at", "updated_at"),
    sortOrder=bodies.choice("asc", "desc"),
)

buckets = Blueprint("storage_buckets", __name__, url_prefix="/storage/v1/bucket")


class FixedBuckets(Denial):
    """A change of the buckets."""

    def __init__(self) -> None:
        super().__init__("The buckets inspections, findings and buildings are fixed.")


def bucket_body(name: str) -> Object:
    return {
        "id": name,
        "name": name,
        "owner": "",
        "public": False,
        "type": "STANDARD",
        "file_size_limit": file_limits().file_bytes,
        "allowed_mime_types": list(FILE_TYPES),
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT,
    }


@buckets.get("")
@requires(Action.READ, File)
def list_buckets(caller: Caller) -> Response:
    options: dict[str, Any] = load_values(BUCKETS_LIST, request.args)
    sought = (options["search"] or "").casefold()
    # Only names differ, so that any other column leaves them in their order.
    names = sorted(
        (name for name in BUCKETS if sought in name),
        key=lambda name: name if options["sortColumn"] in SORTED_BY_NAME else "",
        reverse=options["sortOrder"] == "desc" and options["sortColumn"] in SORTED_BY_NAME,
    )
    begin = options["offset"] or 0
    return json_response([bucket_body(name) for name in names[begin : begin + options["limit"]]])


@buckets.get("/<bucket>")
@requires(Action.READ, File)
def read_bucket(caller: Caller, bucket: str) -> Response:
    return json_response(bucket_body(require_bucket(bucket)))


@buckets.post("")
@buckets.put("/<bucket>")
@buckets.delete("/<bucket>")
@buckets.post("/<bucket>/empty")
@requires_caller
def change_bucket(caller: Caller, bucket: str | None = None) -> Response:
    raise FixedBuckets


# Files


@bp.post("/list/<bucket>")
@requires(Action.READ, File)
def list_level(caller: Caller, bucket: str) -> Response:
    options: dict[str, Any] = bodies.read_options(LIST)
    with reading() as transaction:
        entries = listing.list_level(
            transaction,
            caller,
            bucket,
            options["prefix"] or "",
            search=options["search"] or "",
            order=read_order(options["sortBy"]),
            limit=options["limit"] or ROWS_DEFAULT,
            offset=options["offset"] or 0,
        )
    return json_response(
        [listed_object(each.file, each.name) if each.file else listed_folder(each.name) for each in entries]
    )


@bp.post("/list-v2/<bucket>")
@requires(Action.READ, File)
def list_page(caller: Caller, bucket: str) -> Response:
    options: dict[str, Any] = bodies.read_options(LIST_V2)
    order = read_order(options["sortBy"])
    after = read_cursor(options["cursor"] or "", order)
    with reading() as transaction:
        page = listing.list_page(
            transaction,
            caller,
            bucket,
            options["prefix"] or "",
            with_delimiter=options["with_delimiter"],
            order=order,
            limit=options["limit"] or ROWS_MAX,
            after=after,
        )
    return json_response(
        {
            "hasNext": page.next_position is not None,
            "nextCursor": cursor_of(page.next_position) if page.next_position is not None else None,
            "folders": [{"name": name, "key": name.removesuffix("/")} for name in page.folders],
            "objects": [listed_object(row, row.name) | {"key": row.name} for row in page.files],
        }
    )


def cursor_of(position: ListPosition) -> str:
    return base64.urlsafe_b64encode(f"{position.time or ''}\n{position.name}".encode()).decode()


def read_cursor(cursor: str, order: Order) -> ListPosition | None:
    """Return the position that `cursor_of` wrote, None for the first page. Raise InvalidBody."""
    if not cursor:
        return None
    try:
        if len(cursor) > CURSOR_CHARACTERS_MAX:
            raise ValueError
        time, newline, name = base64.b64decode(cursor, b"-_", validate=True).decode().partition("\n")
        is_by_time = order.column != "name"
        if not newline or "\0" in name or (time and not is_by_time):
            raise ValueError
        return ListPosition(name, read_timestamp(time) if time else None)
    except (ValueError, Fault):
        raise InvalidBody("cursor is the nextCursor of a list in the same order") from None


def read_order(given: dict[str, object] | None) -> Order:
    """Return the order that `sortBy` names. Raise InvalidBody."""
    options: dict[str, Any] = load_values(SORTING, given or {})
    column = options["column"] or "name"
    # No time of access is kept.
    return Order("updated_at" if column == "last_accessed_at" else column, options["order"] == "desc")

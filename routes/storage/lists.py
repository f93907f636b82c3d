"""Lists of files: `list` shows one level of folders, `list-v2` whole names by pages."""

from __future__ import annotations

import base64
from typing import Any, Final

from flask import Blueprint, Response

from access.caller import Caller
from access.decorators import requires
from engine.open import reading
from engine.query.statement import Action
from inspections.files import listing
from inspections.files.listing import ROWS_MAX, ListPosition, Order
from models import File
from models.types import Fault, read_timestamp
from routes.http.body import json_object, json_response, load_values, text
from routes.http.faults import InvalidBody
from routes.storage import bodies
from routes.storage.bodies import listed_folder, listed_object

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

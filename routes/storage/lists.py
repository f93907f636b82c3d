"""Lists of files: `list` shows one level of folders, `list-v2` whole names by pages."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, Response

from access.caller import Caller
from access.decorators import requires
from engine.current import reading
from engine.query.rule import Action
from inspections.files import listing
from inspections.files.listing import ROWS_MAX, Order
from models import File
from routes.gotrue.bodies import json_response
from routes.gotrue.payload import json_object, load_values, text
from routes.storage import payload
from routes.storage.bodies import listed_folder, listed_object

ROWS_DEFAULT: Final = 100
OFFSET_MAX: Final = 10**9

LIST: Final = payload.schema(
    prefix=text(),
    limit=payload.number(1, ROWS_MAX, ROWS_DEFAULT),
    offset=payload.number(0, OFFSET_MAX, 0),
    search=text(),
    sortBy=json_object(),
)
LIST_V2: Final = payload.schema(
    prefix=text(),
    limit=payload.number(1, ROWS_MAX, ROWS_MAX),
    cursor=payload.number(0, OFFSET_MAX, 0),
    with_delimiter=payload.flag(False),
    sortBy=json_object(),
)
SORTING: Final = payload.schema(
    column=payload.choice("name", "created_at", "updated_at", "last_accessed_at"), order=payload.choice("asc", "desc")
)

bp = Blueprint("storage_lists", __name__, url_prefix="/storage/v1/object")


@bp.post("/list/<bucket>")
@requires(Action.READ, File)
def list_level(caller: Caller, bucket: str) -> Response:
    options: dict[str, Any] = payload.read_options(LIST)
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
    options: dict[str, Any] = payload.read_options(LIST_V2)
    with reading() as transaction:
        page = listing.list_page(
            transaction,
            caller,
            bucket,
            options["prefix"] or "",
            with_delimiter=options["with_delimiter"],
            order=read_order(options["sortBy"]),
            limit=options["limit"] or ROWS_MAX,
            offset=options["cursor"] or 0,
        )
    return json_response(
        {
            "hasNext": page.next_cursor is not None,
            "nextCursor": page.next_cursor,
            "folders": [{"name": name, "key": name} for name in page.folders],
            "objects": [listed_object(row, row.name) | {"key": row.name} for row in page.files],
        }
    )


def read_order(given: dict[str, object] | None) -> Order:
    """Return the order that `sortBy` names. Raise InvalidBody."""
    options: dict[str, Any] = load_values(SORTING, given or {})
    column = options["column"] or "name"
    # No time of access is kept.
    return Order("updated_at" if column == "last_accessed_at" else column, options["order"] == "desc")

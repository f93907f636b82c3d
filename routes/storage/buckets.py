"""The buckets: one for each table whose rows have files. They are fixed and private."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from access.caller import Caller
from access.decorators import requires, requires_caller
from engine.query.statement import Action
from inspections.files.records import require_bucket
from models import File
from models.types import Denial
from models.vocabulary import BUCKETS, FILE_TYPES
from routes.http.body import Object, json_response, load_values, text
from routes.storage import bodies
from routes.storage.bodies import file_limits

LIMIT_MAX = 10**6
CREATED_AT = "2026-01-01T00:00:00+00:00"  # a bucket has no row, and clients parse the time

SORTED_BY_NAME = ("id", "name")
LISTING = bodies.schema(
    limit=bodies.number(1, LIMIT_MAX, LIMIT_MAX),
    offset=bodies.number(0, LIMIT_MAX, 0),
    search=text(),
    sortColumn=bodies.choice(*SORTED_BY_NAME, "created_at", "updated_at"),
    sortOrder=bodies.choice("asc", "desc"),
)

bp = Blueprint("storage_buckets", __name__, url_prefix="/storage/v1/bucket")


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


@bp.get("")
@requires(Action.READ, File)
def list_buckets(caller: Caller) -> Response:
    options: dict[str, Any] = load_values(LISTING, request.args)
    sought = (options["search"] or "").casefold()
    # Only names differ, so that any other column leaves them in their order.
    names = sorted(
        (name for name in BUCKETS if sought in name),
        key=lambda name: name if options["sortColumn"] in SORTED_BY_NAME else "",
        reverse=options["sortOrder"] == "desc" and options["sortColumn"] in SORTED_BY_NAME,
    )
    begin = options["offset"] or 0
    return json_response([bucket_body(name) for name in names[begin : begin + options["limit"]]])


@bp.get("/<bucket>")
@requires(Action.READ, File)
def read_bucket(caller: Caller, bucket: str) -> Response:
    return json_response(bucket_body(require_bucket(bucket)))


@bp.post("")
@bp.put("/<bucket>")
@bp.delete("/<bucket>")
@bp.post("/<bucket>/empty")
@requires_caller
def change_bucket(caller: Caller, bucket: str | None = None) -> Response:
    raise FixedBuckets

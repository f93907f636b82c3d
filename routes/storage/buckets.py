"""The buckets: one for each table whose rows have files. They are fixed and private."""

from __future__ import annotations

from flask import Blueprint, Response

from access.caller import Caller
from access.decorators import requires, requires_caller
from engine.query.rule import Action
from inspections.files.keys import require_bucket
from models import File
from models.errors import Denial
from models.vocabulary import BUCKETS, FILE_TYPES
from routes.gotrue.bodies import json_response
from routes.gotrue.payload import Object
from routes.storage.state import file_limits

CREATED_AT = "2026-01-01T00:00:00+00:00"  # a bucket has no row, and clients parse the time

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
    return json_response([bucket_body(name) for name in BUCKETS])


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

"""/live and /ready: whether the process answers, and whether it can do its work. Nothing of the data."""

from __future__ import annotations

import json
import shutil

from flask import Blueprint
from flask import Response

from access.decorators import public
from models.db import database
from models.db import reading
from models.faults import Fault

DISK_BYTES_FREE_MIN = 64 << 20

bp = Blueprint("health", __name__)


@bp.get("/live")
@public("a supervisor asks before it has any key")
def live() -> Response:
    return answer(200, "live")


@bp.get("/ready")
@public("a load balancer asks before it has any key")
def ready() -> Response:
    try:
        with reading() as transaction:
            transaction.one("SELECT 1 FROM facts LIMIT 1")
    except Fault:
        return answer(503, "the database does not answer")
    found = database()
    if not found.is_writable():
        return answer(503, "the database cannot be written")
    path = found.path
    if path is not None and shutil.disk_usage(path.parent).free < DISK_BYTES_FREE_MIN:
        return answer(503, "the disk is almost full")
    return answer(200, "ready")


def answer(status: int, word: str) -> Response:
    return Response(
        json.dumps({"status": word}), status, {"Content-Type": "application/json; charset=utf-8"}
    )

"""/live and /ready: whether the process answers, and whether it can do its work. Nothing of the data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from types import MappingProxyType

from flask import Blueprint
from flask import Response

from access.decorators import public
from engine.current import database
from engine.current import reading
from models.errors import Fault

DISK_BYTES_FREE_MIN = 64 << 20

bp = Blueprint("health", __name__)


@bp.get("/live")
@public("a supervisor asks before it has any key")
def live() -> Response:
    return answer(200, "live")


@bp.get("/ready")
@public("a load balancer asks before it has any key")
def ready() -> Response:
    found = database()
    if found.identity is not None and found.identity.is_replaced():
        found.is_writable()  # it is not, and that is told and seen to as by whoever writes
        return answer(503, "the database file was removed or replaced")
    try:
        with reading() as transaction:
            transaction.one("SELECT 1 FROM facts LIMIT 1")
            read_server = found.read_server(transaction)
    except Fault:
        return answer(503, "the database does not answer")
    if not found.is_writable():
        return answer(503, "the database cannot be written")
    path = found.path
    if path is not None and shutil.disk_usage(path.parent).free < DISK_BYTES_FREE_MIN:
        return answer(503, "the disk is almost full")
    # Told where there are standbys; not to use one is no reason to send nobody here.
    return answer(200, "ready", {} if read_server is None else {"reads": read_server})


def answer(status: int, word: str, more: Mapping[str, str] = MappingProxyType({})) -> Response:
    told = json.dumps({"status": word, **more})
    return Response(told, status, {"Content-Type": "application/json; charset=utf-8"})

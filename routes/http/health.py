"""/live and /ready: whether the process responds, and whether it can serve requests. They reveal no data."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from types import MappingProxyType

from flask import Blueprint, Response, current_app

from access.decorators import public
from engine.current import database, reading
from inspections.files.store import FileStore
from models.errors import Fault

DISK_BYTES_FREE_MIN = 64 << 20

bp = Blueprint("health", __name__)


@bp.get("/live")
@public("a supervisor has no key")
def live() -> Response:
    return status_response(200, "live")


@bp.get("/ready")
@public("a load balancer has no key")
def ready() -> Response:
    served = database()
    if served.is_file_replaced():
        served.is_writable()  # logs and handles the replaced file as a write does
        return status_response(503, "the database file was removed or replaced")
    try:
        with reading() as transaction:
            transaction.one("SELECT 1 FROM facts LIMIT 1")
            read_server = served.read_server(transaction)
    except Fault:
        return status_response(503, "the database does not answer")
    if not served.is_writable():
        return status_response(503, "the database cannot be written")
    files: FileStore = current_app.extensions["walkthrough.files"]
    if not files.is_writable():
        return status_response(503, "the folder of files cannot be written")
    path = served.path
    if path is not None and shutil.disk_usage(path.parent).free < DISK_BYTES_FREE_MIN:
        return status_response(503, "the disk is almost full")
    # Reported with standbys only. An unused standby does not make the service unready.
    return status_response(200, "ready", {} if read_server is None else {"reads": read_server})


def status_response(status: int, word: str, more: Mapping[str, str] = MappingProxyType({})) -> Response:
    body = json.dumps({"status": word, **more})
    return Response(body, status, {"Content-Type": "application/json; charset=utf-8"})

"""Applications with a fault in them, for the controls: each patches the house, then builds the service.

The service has no switches for any of this. `gunicorn tests.durability.planted:NAME` serves one of them.
"""

import threading
import time
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from app import create_app
from engine.storage import sqlite
from engine.storage.commit_group import Group
from engine.storage.commit_group import Pace
from models.sql import log

CHECKPOINT_PAGES = 20
AHEAD = bytes(32 << 10)
ANSWER_EARLY_SECONDS = 0.05


def pragma(name: str, value: object, expected: object) -> None:
    others = tuple(row for row in sqlite.PRAGMAS if row[0] != name)
    sqlite.PRAGMAS = (*others, (name, value, expected))


def often_folded() -> Any:
    """No fault: only a checkpoint every few pages, so that a cut often falls into one."""
    log.PAGES_MIN = log.PAGES_MAX = CHECKPOINT_PAGES
    return create_app()


def written_ahead() -> Any:
    """No fault: only zeros ahead of every few writes, however slow the disk, so that a cut often falls beside some."""
    Pace.is_slow = False  # type: ignore[assignment,method-assign]
    log.PAGES_MIN = log.PAGES_MAX = CHECKPOINT_PAGES * 20
    log.ROOM_PAGES, log.ZEROS = 4, AHEAD  # type: ignore[misc]
    return create_app()


def normal() -> Any:
    """`synchronous=NORMAL`, which many advise: a COMMIT is not synced."""
    pragma("synchronous", "NORMAL", 1)
    return create_app()


def off() -> Any:
    """`synchronous=OFF`: nothing is."""
    pragma("synchronous", "OFF", 0)
    return often_folded()


def swallowing() -> Any:
    """Whatever COMMIT says is taken for success."""
    committed = Group.committed

    def committed_anyhow(group: Group) -> None:
        committed(group)

    Group.committed = committed_anyhow  # type: ignore[method-assign]
    return create_app()


def impatient() -> Any:
    """Who shares the COMMIT of another does not wait for it."""

    made = Group.__init__

    def make(group: Group, *arguments: Any) -> None:
        made(group, *arguments)
        group.fault = None

    Group.__init__ = make  # type: ignore[method-assign]
    Group.wait = lambda group: None  # type: ignore[method-assign]
    return create_app()


def answering_early() -> Callable[..., Iterable[bytes]]:
    """201 first, the write afterwards."""
    inner = create_app()

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "POST":
            return inner.wsgi_app(environ, start_response)
        body = environ["wsgi.input"].read()
        kept = {name: value for name, value in environ.items() if not name.startswith("wsgi.")}

        def write_later() -> None:
            time.sleep(ANSWER_EARLY_SECONDS)
            path = f"{kept['PATH_INFO']}?{kept.get('QUERY_STRING', '')}"
            sent = {
                name: kept[f"HTTP_{name.upper()}"]
                for name in ("apikey", "Authorization")
                if f"HTTP_{name.upper()}" in kept
            }
            sent["Content-Type"] = kept["CONTENT_TYPE"]
            inner.test_client().post(path, data=body, headers=sent)

        threading.Thread(target=write_later).start()
        start_response("201 Created", [("Content-Length", "0")])
        return [b""]

    return app

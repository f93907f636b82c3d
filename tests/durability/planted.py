"""Applications with a fault in them, for the controls: each patches the house, then builds the service.

The service has no switches for any of this. `gunicorn tests.durability.planted:NAME` serves one of them.
"""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from app import create_app
from engine.storage import sqlite, wal
from engine.storage.commit_group import CommitGroup

CHECKPOINT_PAGES = 20
POLL_SECONDS = 0.005
ANSWER_EARLY_SECONDS = 0.05


def pragma(name: str, value: object, expected: object) -> None:
    others = tuple(row for row in sqlite.PRAGMAS if row[0] != name)
    sqlite.PRAGMAS = (*others, (name, value, expected))


def frequent_checkpoints() -> Any:
    """No fault: only a checkpoint and a restart of the log every few pages, so that a cut often falls into one."""
    sqlite.CHECKPOINT_PAGES = CHECKPOINT_PAGES
    wal.POLL_SECONDS = POLL_SECONDS  # type: ignore[misc]
    wal.RESTART_PAGES = CHECKPOINT_PAGES  # type: ignore[misc]
    return create_app()


def normal() -> Any:
    """`synchronous=NORMAL`, which many advise: a COMMIT is not synced."""
    pragma("synchronous", "NORMAL", 1)
    return create_app()


def off() -> Any:
    """`synchronous=OFF`: nothing is."""
    pragma("synchronous", "OFF", 0)
    return frequent_checkpoints()


def swallowing() -> Any:
    """Whatever COMMIT says is taken for success."""
    commit = CommitGroup.commit

    def committed_anyhow(group: CommitGroup) -> None:
        commit(group)

    CommitGroup.commit = committed_anyhow  # type: ignore[method-assign]
    return create_app()


def impatient() -> Any:
    """A member of a commit group does not wait for its COMMIT."""

    made = CommitGroup.__init__

    def make(group: CommitGroup, *arguments: Any) -> None:
        made(group, *arguments)
        group.fault = None

    CommitGroup.__init__ = make  # type: ignore[method-assign]
    CommitGroup.wait = lambda group: None  # type: ignore[method-assign]
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

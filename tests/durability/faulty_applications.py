"""Applications with a fault, for the controls: each patches the service, then builds it.

The service has no settings for these faults. `gunicorn "tests.durability.faulty_applications:NAME()"` serves one.
"""

import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from app import create_app
from engine.open import database
from engine.storage import sqlite, wal
from engine.storage.writer_lock import CommitGroup
from inspections.files.store import FileStore, KeptBytes
from inspections.reports import issue
from inspections.visits import InspectionRule
from system import sync

CHECKPOINT_PAGES = 20
POLL_SECONDS = 0.005
WRITE_DELAY_SECONDS = 0.05


def set_pragma(name: str, value: object, expected: object) -> None:
    others = tuple(row for row in sqlite.PRAGMAS if row[0] != name)
    sqlite.PRAGMAS = (*others, (name, value, expected))


def frequent_checkpoints() -> Any:
    """No fault: checkpoint and restart the WAL every few pages, so that many cuts happen during a checkpoint."""
    sqlite.CHECKPOINT_PAGES = CHECKPOINT_PAGES
    wal.POLL_SECONDS = POLL_SECONDS  # type: ignore[misc]
    wal.RESTART_PAGES = CHECKPOINT_PAGES  # type: ignore[misc]
    return create_app()


def synchronous_normal() -> Any:
    """`synchronous=NORMAL`, a common recommendation: COMMIT does not sync."""
    set_pragma("synchronous", "NORMAL", 1)
    return create_app()


def synchronous_off() -> Any:
    """`synchronous=OFF`: nothing is synced."""
    set_pragma("synchronous", "OFF", 0)
    return frequent_checkpoints()


def ignoring_commit_errors() -> Any:
    """Ignore errors of COMMIT."""
    commit = CommitGroup.commit

    def commit_ignoring_errors(group: CommitGroup) -> None:
        commit(group)

    CommitGroup.commit = commit_ignoring_errors  # type: ignore[method-assign]
    return create_app()


def not_waiting_for_commit() -> Any:
    """Members of a commit group do not wait for the COMMIT."""

    made = CommitGroup.__init__

    def make(group: CommitGroup, *arguments: Any) -> None:
        made(group, *arguments)
        group.fault = None

    CommitGroup.__init__ = make  # type: ignore[method-assign]
    CommitGroup.wait = lambda group: None  # type: ignore[method-assign]
    return create_app()


def responding_before_commit() -> Callable[..., Iterable[bytes]]:
    """Respond with 201, then write."""
    inner = create_app()

    def app(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ["REQUEST_METHOD"] != "POST":
            return inner.wsgi_app(environ, start_response)
        body = environ["wsgi.input"].read()
        kept = {name: value for name, value in environ.items() if not name.startswith("wsgi.")}

        def write_later() -> None:
            time.sleep(WRITE_DELAY_SECONDS)
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


def next_inspection_in_own_transaction() -> Any:
    """Close an inspection, and make the next one in a later transaction."""
    updated = InspectionRule.updated

    def update_later(rule: InspectionRule, transaction: Any, keys: Any, columns: Any) -> None:
        found = database()

        def run() -> None:
            time.sleep(WRITE_DELAY_SECONDS)
            with found.writing() as later:
                updated(rule, later, keys, columns)

        threading.Thread(target=run).start()

    InspectionRule.updated = update_later  # type: ignore[method-assign]
    return create_app()


def report_in_own_transaction() -> Any:
    """Answer with the number of a report, and store the report in a later transaction."""
    insert = issue.insert_rows

    def insert_later(transaction: Any, table: str, rows: Any) -> list[tuple[int]]:
        found = database()

        def run() -> None:
            time.sleep(WRITE_DELAY_SECONDS)
            with found.writing() as later:
                insert(later, table, rows)

        threading.Thread(target=run).start()
        return [(0,)]

    issue.insert_rows = insert_later  # type: ignore[assignment]
    return create_app()


# Files


def row_before_bytes() -> Any:
    """Commit the row of a file, then keep its bytes."""
    keep = FileStore.keep

    def keep_later(store: FileStore, temporary: Path, kept: KeptBytes) -> None:
        aside = temporary.with_name(f"{temporary.name}.later")
        temporary.rename(aside)
        threading.Timer(WRITE_DELAY_SECONDS, keep, (store, aside, kept)).start()

    FileStore.keep = keep_later  # type: ignore[method-assign]
    FileStore.has = lambda store, kept: True  # type: ignore[method-assign]
    return create_app()


def files_beside_the_database() -> Any:
    """No fault: files and uploads in progress are in one folder, which the shim watches."""
    made = FileStore.__init__

    def make(store: FileStore, folder: Path) -> None:
        made(store, folder)
        store.incoming = folder

    FileStore.__init__ = make  # type: ignore[method-assign]
    return create_app()


def bytes_without_sync() -> Any:
    """The bytes of a file are not synced before its row."""

    def keep(store: FileStore, temporary: Path, kept: KeptBytes) -> None:
        temporary.replace(store.path(kept.sha256))
        sync(store.folder)

    FileStore.keep = keep  # type: ignore[method-assign]
    return files_beside_the_database()


def names_without_sync() -> Any:
    """The name of a file is not synced before its row."""

    def keep(store: FileStore, temporary: Path, kept: KeptBytes) -> None:
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(store.path(kept.sha256))

    FileStore.keep = keep  # type: ignore[method-assign]
    return files_beside_the_database()

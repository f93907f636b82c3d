"""Copies of database files, and connections to files for maintenance.

A copy is one snapshot of the database, made by SQLite's backup API while others write. It is written to a draft,
synced, reopened, checked and renamed. A plain copy of the files is no backup: the log may hold part of the rows.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from engine.schema.violations import violations
from engine.storage import sqlite
from engine.storage.atomic_files import COMPANIONS, drafted


class UnsoundCopy(Exception):
    """A copy failed its check. The message is one line."""


Check = Callable[[Any], None]
"""Checks an open copy and may change it. It raises if the copy must be discarded."""

Opened = Callable[[Path], contextlib.AbstractContextManager[Any]]
"""Opens a file for the duration of a block, without changing it."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """Yield a connection to an existing file for maintenance, with the usual settings."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite.driver.connect(uri, uri=True, factory=sqlite.DriverConnection)
    try:
        sqlite.prepare(connection, writable=True)
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def opened_to_copy(path: Path) -> Iterator[Any]:
    """Yield a read-only connection to any SQLite file."""
    connection = sqlite.driver.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_MILLISECONDS}")
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def held(path: Path) -> Iterator[Any]:
    """Checkpoint a file's log and yield a connection that locks the file exclusively.

    Raise the driver's error if another connection is open or the checkpoint fails. The log stays then. Other programs
    wait for SQLite's lock. A file that is renamed meanwhile can still be read. SQLite does not write to it, so no log
    appears beside its successor.
    """
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite.driver.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_MILLISECONDS}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = 1")  # for macOS, as the next line
        connection.execute("PRAGMA checkpoint_fullfsync = 1")
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        connection.execute("PRAGMA locking_mode = EXCLUSIVE").fetchall()  # the lock outlives the COMMIT
        connection.execute("BEGIN EXCLUSIVE")
        # Another program may have restored WAL mode since. Readers would then get in.
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            raise sqlite.driver.OperationalError("database is locked")
        connection.execute("COMMIT")
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def without_companions(path: Path) -> Iterator[None]:
    """Rename the log and its index for the duration of a block. Restore them if it fails, else remove them.

    A power cut in between leaves them under the other names, `.walkthrough.db-wal.…`.
    """
    aside = {
        found: found.with_name(f".{found.name}.{secrets.token_hex(8)}")
        for found in (path.with_name(path.name + end) for end in COMPANIONS)
        if os.path.lexists(found)
    }
    try:
        for found, other in aside.items():
            found.replace(other)
        sync(path.parent)
        yield
    except BaseException:
        for found, other in aside.items():
            if os.path.lexists(other):
                other.replace(found)
        raise
    with contextlib.suppress(OSError):
        sync(path.parent)
        for other in aside.values():
            other.unlink()


def copy(source: Path, target: Path) -> None:
    """Copy one snapshot of a database to the new file `target`, atomically, with mode 0600 and the source's owner."""
    with drafted(target, like=source) as draft:
        fill(source, draft)
        draft.replace(target)
    sync(target.parent)


def fill(source: Path, draft: Path, check: Check | None = None, opened: Opened = opened_to_copy) -> None:
    """Write one snapshot of a database to a draft, and check and sync it."""
    with opened(source) as original:
        write_copy(original, draft)
    settle(draft, check)


def compact(path: Path, check: Check) -> None:
    """Replace a file atomically by a checked copy without free pages or fragmentation (VACUUM).

    Raise the driver's error if another connection is open: its writes would be lost.
    """
    with drafted(path, like=path) as draft, held(path) as original:
        original.execute("VACUUM INTO ?", (str(draft),))
        settle(draft, check)
        draft.replace(path)
    sync(path.parent)


def settle(draft: Path, check: Check | None) -> None:
    """Check a copy and sync it."""
    with reopened(draft) as connection:
        require_sound(connection)
        if check is not None:
            check(connection)
    sync(draft)


def write_copy(original: Any, draft: Path) -> None:
    copied = sqlite.driver.connect(str(draft), isolation_level=None)
    try:
        original.backup(copied)  # all pages in one step: a single snapshot
        # A single file, which a read-only disk can hold.
        copied.execute("PRAGMA journal_mode = DELETE").fetchall()
    finally:
        copied.close()


@contextlib.contextmanager
def reopened(draft: Path) -> Iterator[Any]:
    connection = sqlite.driver.connect(str(draft), isolation_level=None)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("PRAGMA synchronous = FULL")
        yield connection
    finally:
        connection.close()


def require_sound(connection: Any) -> None:
    """Raise UnsoundCopy unless the whole copy passes SQLite's integrity check and the foreign-key checks."""
    (state,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    problem = state if state != "ok" else next(violations(connection.execute), None)
    if problem is not None:
        raise UnsoundCopy(f"the copy is not sound: {problem}")


def sync(path: Path) -> None:
    """Sync a file, or the names in a directory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

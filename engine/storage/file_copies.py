"""Whole files: one connection for upkeep, and copies that are complete or not there.

A copy goes through SQLite's backup API in one step: one moment of the database, whoever writes to it
meanwhile. It is made under another name, synced, opened again and checked, and only then gets its own,
by a rename. Copying the files themselves is no backup: the log may hold half of what they mean.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from engine.maintenance.schema import CLIENT_MISMATCHES
from engine.maintenance.schema import FOREIGN_KEY_VIOLATIONS
from engine.storage import sqlite
from engine.storage.atomic_files import COMPANIONS
from engine.storage.atomic_files import drafted


class UnsoundCopy(Exception):
    """A database that did not pass its check. The message is one line."""


Check = Callable[[Any], None]
"""Looks at an open copy, may change it, and raises if it is not to be kept."""

Opened = Callable[[Path], contextlib.AbstractContextManager[Any]]
"""The driver's connection to any file, for the time of a block; the file is not changed by it."""


@contextlib.contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The driver's connection to a file that is there, for upkeep; set up like any other."""
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite.driver.connect(uri, uri=True, factory=sqlite.DriverConnection)
    try:
        sqlite.prepare(connection, writable=True)
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def opened_to_copy(path: Path) -> Iterator[Any]:
    """The driver's connection to any file, which it does not change."""
    connection = sqlite.driver.connect(
        f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None
    )
    try:
        connection.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_MILLISECONDS}")
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def held(path: Path) -> Iterator[Any]:
    """Fold a file's log into it, and keep everybody but this connection out of the file for the time of a block.

    Only if nobody has it open: else, and whenever it cannot be folded, the driver's error is raised, and the log
    is where it was. Who opens the file meanwhile waits for SQLite's lock. If the file has lost its name by then it
    can be read yet, and no log of it comes to lie beside whatever has the name: SQLite writes to no file that was
    moved.
    """
    uri = f"{path.absolute().as_uri()}?mode=rw"
    connection = sqlite.driver.connect(uri, uri=True, isolation_level=None)
    try:
        connection.execute(f"PRAGMA busy_timeout = {sqlite.BUSY_MILLISECONDS}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA fullfsync = 1")  # these two: macOS
        connection.execute("PRAGMA checkpoint_fullfsync = 1")
        connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        connection.execute(
            "PRAGMA locking_mode = EXCLUSIVE"
        ).fetchall()  # the lock stays after the COMMIT
        connection.execute("BEGIN EXCLUSIVE")
        # With a log, which somebody may have begun anew since, readers are let in beside whoever writes.
        if connection.execute("PRAGMA journal_mode").fetchone()[0] == "wal":
            raise sqlite.driver.OperationalError("database is locked")
        connection.execute("COMMIT")
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def without_companions(path: Path) -> Iterator[None]:
    """Put the files beside a database aside for the time of a block: back if it fails, away if it does not.

    A power cut in between leaves them under their other names, `.walkthrough.db-wal.…`.
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
    """Make `target`, where nothing is, a copy of the database as it is at one moment: whole, 0600, its owner's, or not
    at all."""
    with drafted(target, like=source) as draft:
        fill(source, draft)
        draft.replace(target)
    sync(target.parent)


def fill(
    source: Path, draft: Path, check: Check | None = None, opened: Opened = opened_to_copy
) -> None:
    """Make a draft a copy of the database as it is at one moment: whole and checked."""
    with opened(source) as original:
        write_copy(original, draft)
    settle(draft, check)


def compact(path: Path, check: Check) -> None:
    """Put a copy in a file's place in which each table and index is in one piece: whole, checked, or not at all.

    Nobody else may have the file open, or what they write meanwhile would be lost.
    """
    with drafted(path, like=path) as draft, held(path) as original:
        original.execute("VACUUM INTO ?", (str(draft),))
        settle(draft, check)
        draft.replace(path)
    sync(path.parent)


def settle(draft: Path, check: Check | None) -> None:
    """Look a copy over, and have the disk keep it."""
    with reopened(draft) as connection:
        require_sound(connection)
        if check is not None:
            check(connection)
    sync(draft)


def write_copy(original: Any, draft: Path) -> None:
    copied = sqlite.driver.connect(str(draft), isolation_level=None)
    try:
        original.backup(copied)  # all pages in one step: a single moment
        # One file, without companions, that can be read from a disk one cannot write to.
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
    """Read all of it, as one that was never read may turn out to be none."""
    for question in ("PRAGMA integrity_check(1)", FOREIGN_KEY_VIOLATIONS, CLIENT_MISMATCHES):
        found = connection.execute(question).fetchone()
        if found is not None and found[0] != "ok":
            raise UnsoundCopy(f"the copy is not sound: {found[0]}")


def sync(path: Path) -> None:
    """Have the disk keep a file, or the names in a directory."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

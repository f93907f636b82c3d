"""Copies of database files, atomic creation of files, and the check that an open file is still the one of its path.

A copy is one snapshot of the database, made by SQLite's backup API while others write. A plain copy of the files is no
backup: the log may hold part of the rows. A copy is written to a draft, synced, reopened, checked and renamed. A power
cut or a kill can leave a draft, which holds all rows and password hashes. The next draft of the same target and the
next start therefore remove it. The process that writes a draft holds a lock on a file beside it. A draft whose lock is
free is abandoned. A lock on the draft itself would keep SQLite out on some network disks. SQLite keeps using its
descriptors after the file was removed or replaced, and the writes would be lost. `stat` therefore checks the path
before each commit group, and before and after a connection is opened.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, ClassVar

from engine.schema.script import violations
from engine.storage import sqlite
from models.types import Fault
from system import sync

COMPANIONS = ("-wal", "-shm", "-journal")
LOCK = "-draft"
SUFFIXES = ("", *COMPANIONS, LOCK)  # the lock last: it protects the other files

MARK = r"\.[0-9a-f]{16}"
MIGRATION_COPY = r"(\.schema-\d+(\.\d+)?)?"  # the names of `migrate.save_copy`


@contextmanager
def drafted(target: Path, like: Path | None = None) -> Iterator[Path]:
    """Yield an empty file beside `target`, mode 0600, which is removed at the end; remove abandoned drafts first.

    The draft belongs to the owner of the file `like`. Raise OSError, with the target's name, if creation fails.
    """
    remove_abandoned(target.parent, re.escape(target.name))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        lock = locked(draft.with_name(draft.name + LOCK))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        descriptor = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        if like is not None:
            for each in (descriptor, lock):
                hand_over(each, like)
        os.close(descriptor)
        yield draft
    finally:
        remove(draft)
        os.close(lock)


def hand_over(descriptor: int, like: Path) -> None:
    """Give an open file to the owner of the file `like`, as SQLite does with files beside a database.

    A service that runs as another user could not open a file that root created.
    """
    if os.geteuid() == 0:
        with suppress(OSError):  # no such file, or a disk without owners
            status = like.lstat()
            os.fchown(descriptor, status.st_uid, status.st_gid)


def locked(path: Path) -> int:
    """Create and lock a lock file; return its descriptor. On a disk without locks the file passes for a locked one."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)  # a process that checks for abandoned drafts releases it at once
        if os.path.lexists(path) and os.path.samestat(path.lstat(), os.fstat(lock)):
            return lock
        os.close(lock)  # removed as abandoned between open and lock


def sweep(database: Path) -> None:
    """Remove abandoned drafts of a database and of its copies from before migrations."""
    remove_abandoned(database.parent, re.escape(database.name) + MIGRATION_COPY)


def remove_abandoned(directory: Path, names: str) -> None:
    """Remove abandoned drafts of files whose names match a pattern. Errors are ignored."""
    suffixes = "|".join(re.escape(suffix) for suffix in SUFFIXES)
    pattern = re.compile(rf"(\.{names}{MARK})({suffixes})")
    with suppress(OSError):
        matches = [pattern.fullmatch(each.name) for each in directory.iterdir()]
        for name in {match[1] for match in matches if match}:
            with suppress(OSError):
                remove_if_abandoned(directory / name)


def remove_if_abandoned(draft: Path) -> None:
    """Remove a draft whose lock is free; raise OSError if it is not. The lock is created first and removed last."""
    try:
        lock = os.open(draft.with_name(draft.name + LOCK), os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        remove(draft)
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        remove(draft)
    finally:
        os.close(lock)


def remove(draft: Path) -> None:
    for suffix in SUFFIXES:
        draft.with_name(draft.name + suffix).unlink(missing_ok=True)


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


LOG = logging.getLogger("walkthrough")

DeviceAndInode = tuple[int, int]
"""The identity of a file, whatever its name."""


class DatabaseFileReplaced(Fault, code="58P01"):
    """The database file was removed or replaced."""

    def __init__(self) -> None:
        super().__init__(
            "the database file was removed or replaced", hint="Stop the service, put the file back, and start it."
        )


class FileIdentity:
    """A path, and which file it named when that file was opened."""

    expected: ClassVar[dict[str, DeviceAndInode]] = {}
    """The served files by path, for processes that are forked later."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.known = self.expected.get(self.path)
        self.is_reported = False

    def record(self) -> None:
        """Take the file that the path names now for the open one."""
        self.known = identity(self.path)

    def is_replaced(self) -> bool:
        """Return whether the path names another file or none; False if the disk does not answer."""
        if self.known is None:
            return False
        try:
            return identity(self.path) != self.known
        except OSError:
            return False  # a write reports a disk that fails

    def is_missing(self) -> bool:
        """Return whether the path names no file. The log then holds the only copy of its rows."""
        return self.known is not None and not os.path.lexists(self.path)

    def require_same(self) -> None:
        """Raise DatabaseFileReplaced if the path names another file or none; log it once."""
        if not self.is_replaced():
            self.is_reported = False
            return
        if not self.is_reported:
            LOG.error("%s was removed or replaced: writes are refused until the path names that file again", self.path)
        self.is_reported = True
        raise DatabaseFileReplaced


def identity(path: str) -> DeviceAndInode | None:
    """Return which file a path names; None if it names none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a fifth of Path.stat's time
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def expect(path: Path) -> None:
    """Bind processes that are forked later to the file that the path names now."""
    current = identity(str(path))
    if current is not None:
        FileIdentity.expected[str(path)] = current
        # An open descriptor keeps the inode number from being reused. Closing an O_PATH one drops no lock of SQLite's.
        if hasattr(os, "O_PATH"):
            os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)

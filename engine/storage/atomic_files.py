"""Atomic creation of files: a draft beside the target is written, then renamed.

A power cut or a kill can leave a draft behind. It holds all rows, password hashes included, and fills a small disk. The
next draft of the same target and the next start therefore remove it.

The process that writes a draft holds a lock on a file beside it. A draft whose lock is free is abandoned. The lock is
not on the draft itself: on some network disks it would keep SQLite out.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

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

"""Files in the making, beside the one whose name they get once they are whole. What a power cut or a kill leaves of one
holds all that a database holds, password hashes too, and fills a small disk: whoever makes the next one takes it away,
and so does the next start.

Whoever makes one has a lock on a file beside it for as long, which ends with the process: a draft without is dead.
The lock is not on the draft itself, as there are network disks where it would shut SQLite out.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path

COMPANIONS = ("-wal", "-shm", "-journal")
LOCK = "-draft"
ENDS = ("", *COMPANIONS, LOCK)  # the lock goes last: until then others let the rest be

MARK = r"\.[0-9a-f]{16}"
KEPT = r"(\.schema-\d+(\.\d+)?)?"  # as `migrate.save_copy` names what was there before a migration


@contextmanager
def drafted(target: Path, like: Path | None = None) -> Iterator[Path]:
    """An empty file beside `target` that only its owner can read, gone at the end; those that are dead are gone at the
    beginning. Where none can be made, the error is of `target`: of the draft nobody knows. `like` is a file whose owner
    is to have it, whoever makes it."""
    remove_dead(target.parent, re.escape(target.name))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        lock = locked(draft.with_name(draft.name + LOCK))
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(target)) from error
    try:
        made = os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        if like is not None:
            for each in (made, lock):
                hand_over(each, like)
        os.close(made)
        yield draft
    finally:
        remove(draft)
        os.close(lock)


def hand_over(descriptor: int, like: Path) -> None:
    """Give an open file to the owner of another one, as SQLite does with what it makes beside a database: root may work
    on the file of a service that runs as somebody else, who could not open what root has made."""
    if os.geteuid() == 0:
        with suppress(OSError):  # there is none, or the disk knows no owners
            found = like.lstat()
            os.fchown(descriptor, found.st_uid, found.st_gid)


def locked(path: Path) -> int:
    """A new lock file, locked; on a disk that has no locks it is just there, and passes for one that others have."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        with suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX)  # whoever took it for dead lets go at once
        if os.path.lexists(path) and os.path.samestat(path.lstat(), os.fstat(lock)):
            return lock
        os.close(lock)  # taken for dead, and removed, between our open and our lock


def sweep(database: Path) -> None:
    """Take away what is dead of a database, and of the copies that are kept of it before migrations."""
    remove_dead(database.parent, re.escape(database.name) + KEPT)


def remove_dead(directory: Path, names: str) -> None:
    """Take away the drafts of files whose names match that nobody makes any more; what cannot be is let be."""
    ends = "|".join(re.escape(end) for end in ENDS)
    pattern = re.compile(rf"(\.{names}{MARK})({ends})")
    with suppress(OSError):
        found = [pattern.fullmatch(each.name) for each in directory.iterdir()]
        for name in {match[1] for match in found if match}:
            with suppress(OSError):
                remove_if_dead(directory / name)


def remove_if_dead(draft: Path) -> None:
    """A draft comes after its lock, and goes before it; a full disk has no room for one to be made."""
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
    for end in ENDS:
        draft.with_name(draft.name + end).unlink(missing_ok=True)

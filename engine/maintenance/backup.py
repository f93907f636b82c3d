"""Whole files: a copy of one moment while the service runs; its return, or a file written anew, while it does not."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from contextlib import ExitStack
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from engine.maintenance import migrations
from engine.maintenance.check import MaintenanceError
from engine.query.constraints import Locked
from engine.storage import atomic_files as drafts
from engine.storage import file_copies as copies
from engine.storage import sqlite
from engine.storage.clock import Clock
from engine.storage.transaction import PAST_TIMESTAMPS
from engine.storage.transaction import stored_timestamp
from engine.storage.writer_lock import WriterLock
from models.types import write_timestamp

LOCK_SECONDS_MAX = 60.0
KEYS_NAME = "keys.json"  # beside a database, where config.py makes it


def back_up(database: Path, target: Path, opened: copies.Opened = copies.opened_to_copy) -> None:
    """Copy the database to `target` while it is in use; what was there is replaced at the very end, unless it is a
    file that somebody has open.

    A log beside what was there belongs to that: it is folded into it, and gone, before the new file has its name. A
    power cut in between leaves the one before, whole, or the new one.
    """
    if belongs_to(target, database):
        raise MaintenanceError(f"{target} belongs to the database itself")
    if os.path.lexists(target) and not target.is_file():
        raise MaintenanceError(f"{target} is not a regular file")
    try:
        with drafts.drafted(target) as draft:
            copies.fill(database, draft, require_ours, opened)
            with released(target):
                draft.replace(target)
    except (OSError, *sqlite.ERRORS, copies.UnsoundCopy) as error:
        raise MaintenanceError(f"{target} was not written: {words(error)}") from error
    keep_name(target, f"{target} is written")


def restore(backup: Path, database: Path, clock: Clock) -> None:
    """Put a backup in the database's place. Nobody may be serving it; whoever was signed in is not.

    `clock` is the one of the database that is replaced: what has expired there stays expired.
    A power cut in between leaves the old database or the new one: the old log is folded into the old
    file before it goes, and the new file is whole before it gets its name. What cannot be done leaves the old
    database as it was, with its log.
    """
    if belongs_to(backup, database):
        raise MaintenanceError(f"{backup} belongs to the database itself")
    if not backup.exists():
        raise MaintenanceError(f"{backup} is not there")
    if not backup.is_file():
        raise MaintenanceError(f"{backup} is not a regular file")
    writer_lock = WriterLock(Path(f"{database}.lock"))
    try:
        with writer_lock.held(LOCK_SECONDS_MAX), drafts.drafted(database, like=database) as draft:
            copies.fill(backup, draft, partial(prepare_return, clock, backup))
            with released(database):
                draft.replace(database)
    except (OSError, *sqlite.ERRORS, copies.UnsoundCopy) as error:
        raise MaintenanceError(f"{backup} cannot be restored: {words(error)}") from error
    keep_name(database, f"{backup} is restored")


def keep_name(file: Path, done: str) -> None:
    """Have the disk keep the name that a file has just got. Raise MaintenanceError otherwise."""
    try:
        copies.sync(file.parent)
    except OSError as error:
        raise MaintenanceError(
            f"{done}, but a power cut may bring back what it replaced: {words(error)}"
        ) from error


def compact(database: Path) -> None:
    """Write the database anew, without what deleted rows left empty. Nobody may be serving it, or have it open.

    A power cut in between leaves the old file or the new one, which hold the same.
    """
    writer_lock = WriterLock(Path(f"{database}.lock"))
    try:
        with writer_lock.held(LOCK_SECONDS_MAX):
            copies.compact(database, require_ours)
    except (OSError, *sqlite.ERRORS, copies.UnsoundCopy) as error:
        if isinstance(error, sqlite.ERRORS) and isinstance(sqlite.translate(error), Locked):
            raise in_use(database) from error
        raise MaintenanceError(f"{database} cannot be compacted: {words(error)}") from error


def words(error: Exception) -> str:
    """What is wrong, without the name of a draft, which nobody has given."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def in_use(database: Path) -> MaintenanceError:
    return MaintenanceError(f"{database} is in use by another program")


def belongs_to(path: Path, database: Path) -> bool:
    """Whether a path is the database, or one of the files it lives with."""
    companions = {f"{database.name}{end}" for end in ("", *drafts.COMPANIONS, ".lock", ".serving")}
    if path.exists() and database.exists() and path.samefile(database):
        return True
    is_beside = path.absolute().parent.resolve() == database.absolute().parent.resolve()
    return is_beside and path.name in {*companions, KEYS_NAME}


def require_ours(connection: Any) -> None:
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    try:
        sqlite.require_own(application_id)
    except sqlite.ForeignFile as error:
        raise copies.UnsoundCopy(f"it {error}") from error
    if version > migrations.schema_version():
        raise copies.UnsoundCopy(f"it was made by a later version (schema {version})")


def prepare_return(clock: Clock, backup: Path, connection: Any) -> None:
    """Look a backup over and end what it holds of sessions: some were ended after it was made.

    The file also learns how late it is, or a board that boots in the past would take up the backup's time.
    """
    require_ours(connection)
    for (written_at,) in connection.execute(PAST_TIMESTAMPS).fetchall():
        try:
            clock.advance(written_at)
        except (TypeError, ValueError, OverflowError):
            # Damaged: then what the file system says, as at a start.
            clock.advance(stored_timestamp(backup.stat().st_mtime))
    moment = datetime.datetime.fromtimestamp(clock(), datetime.UTC)
    since = int(moment.timestamp()) + 1
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM sessions")
    connection.execute("UPDATE audit_context SET at = ?", (write_timestamp(moment),))
    connection.execute(
        "INSERT INTO credentials (user_id, tokens_since) SELECT id, ? FROM users WHERE true"
        " ON CONFLICT (user_id) DO UPDATE SET tokens_since = max(tokens_since, excluded.tokens_since)",
        (since,),
    )
    connection.execute("COMMIT")


@contextmanager
def released(database: Path) -> Iterator[None]:
    """Have the old file be without a log, and without anybody in it, while another gets its name: beside another file
    a log would be replayed.

    A log is folded into the file that it belongs to. Only that of a file which is too damaged for that is put aside,
    until the other has the name; who has such a file open is not known. What else fails, a full disk or one that
    cannot be read, says nothing of the file: then it is not replaced, and nothing is lost.
    """
    with ExitStack() as ends:
        try:
            if database.exists():
                ends.enter_context(copies.held(database))
        except sqlite.ERRORS as error:
            fault = sqlite.translate(error)
            if isinstance(fault, Locked):
                raise in_use(database) from error
            if not isinstance(fault, sqlite.FileCorrupt):
                raise MaintenanceError(
                    f"the log of {database} cannot be folded into it: {fault}; to replace it all the same,"
                    " move both away first"
                ) from error
        ends.enter_context(copies.without_companions(database))
        yield

"""Back up a SQLite database in use, restore or compact one that is not, and read one on a read-only disk.

SQLite creates -wal and -shm before it reads a database in WAL mode. So it cannot open a file on a full or read-only
disk. Such a file is opened as immutable: SQLite takes no lock and reads no log. The file must have no log, and a change
of the file during the read is an error.
"""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from engine.interface.clock import Clock
from engine.interface.database import FileCorrupt, Locked, Transaction, stored_timestamp
from engine.interface.versioned_cache import VersionedCache
from engine.maintenance.check import MaintenanceError, error_text, logs_of, schema_state
from engine.query.dialect.registry import DIALECTS
from engine.schema import migrations
from engine.storage import file_copies, sqlite
from engine.storage.file_copies import UnsoundCopy
from engine.storage.transaction import PAST_TIMESTAMPS, SqliteTransaction
from engine.storage.writer_lock import WriterLock
from models.types import write_timestamp
from system import sync

BACKUP_WAIT_SECONDS_MAX = 60.0
MAGIC = b"SQLite format 3\0"
APPLICATION_ID_AT, HEADER_BYTES = 68, 72  # the application's id ends the first 72 bytes of a file
KEYS_NAME = "keys.json"  # beside a database, where config.py makes it


def back_up(database: Path, target: Path, opened: file_copies.Opened = file_copies.opened_to_copy) -> None:
    """Copy the database to `target` while the database is in use.

    The copy replaces an existing file last, after that file's own log is checkpointed. A power cut leaves the old file
    or the new file, each complete. Raise MaintenanceError if `target` is in use, cannot be written, or is a file of
    another program.
    """
    if belongs_to(target, database):
        raise MaintenanceError(f"{target} belongs to the database itself")
    if os.path.lexists(target) and not target.is_file():
        raise MaintenanceError(f"{target} is not a regular file")
    try:
        if not is_replaceable(target):
            raise MaintenanceError(f"{target} exists and is no Walkthrough database; choose another name")
        with file_copies.drafted(target) as draft:
            file_copies.fill(database, draft, require_own_file, opened)
            with ready_to_replace(target):
                draft.replace(target)
    except (OSError, *sqlite.ERRORS, file_copies.UnsoundCopy) as error:
        raise MaintenanceError(f"{target} was not written: {text_of_error(error)}") from error
    sync_directory(target, f"{target} is written")


def restore(backup: Path, database: Path, clock: Clock) -> None:
    """Replace the database by a backup and end every session. No process may serve the database.

    `clock` is the clock of the replaced database, so that expired tokens stay expired.
    A power cut leaves the old database or the new one. The old log is checkpointed before the old file goes, and the
    new file is complete before it gets its name. Raise MaintenanceError and leave the old database and its log
    unchanged if a step fails.
    """
    if belongs_to(backup, database):
        raise MaintenanceError(f"{backup} belongs to the database itself")
    if not backup.exists():
        raise MaintenanceError(f"{backup} does not exist")
    if not backup.is_file():
        raise MaintenanceError(f"{backup} is not a regular file")
    writer_lock = WriterLock(Path(f"{database}.lock"))
    try:
        with writer_lock.held(BACKUP_WAIT_SECONDS_MAX), file_copies.drafted(database, like=database) as draft:
            file_copies.fill(backup, draft, partial(prepare_restore, clock, backup))
            with ready_to_replace(database):
                draft.replace(database)
    except (OSError, *sqlite.ERRORS, file_copies.UnsoundCopy) as error:
        raise MaintenanceError(f"{backup} cannot be restored: {text_of_error(error)}") from error
    sync_directory(database, f"{backup} is restored")


def sync_directory(file: Path, done: str) -> None:
    """Sync the directory of a new file. Raise MaintenanceError if that fails; `done` says which step succeeded."""
    try:
        sync(file.parent)
    except OSError as error:
        raise MaintenanceError(
            f"{done}, but a power cut may bring back what it replaced: {text_of_error(error)}"
        ) from error


def compact(database: Path) -> None:
    """Rewrite the database without the space of deleted rows. No process may have the database open.

    A power cut leaves the old file or the new file; both hold the same rows. Raise MaintenanceError if a step fails.
    """
    writer_lock = WriterLock(Path(f"{database}.lock"))
    try:
        with writer_lock.held(BACKUP_WAIT_SECONDS_MAX):
            file_copies.compact(database, require_own_file)
    except (OSError, *sqlite.ERRORS, file_copies.UnsoundCopy) as error:
        if isinstance(error, sqlite.ERRORS) and isinstance(sqlite.translate(error), Locked):
            raise in_use(database) from error
        raise MaintenanceError(f"{database} cannot be compacted: {text_of_error(error)}") from error


def text_of_error(error: Exception) -> str:
    """Return the message of an error, without the name of the temporary file."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def in_use(database: Path) -> MaintenanceError:
    """Return the error for a database that another process has open."""
    return MaintenanceError(f"{database} is in use by another program")


def belongs_to(path: Path, database: Path) -> bool:
    """Return whether a path is the database or one of its companion files."""
    companions = {f"{database.name}{suffix}" for suffix in ("", *file_copies.COMPANIONS, ".lock", ".serving")}
    if path.exists() and database.exists() and path.samefile(database):
        return True
    is_beside = path.absolute().parent.resolve() == database.absolute().parent.resolve()
    return is_beside and path.name in {*companions, KEYS_NAME}


def is_replaceable(target: Path) -> bool:
    """Return whether a path is free, or names an empty file or a Walkthrough database, which may be damaged."""
    if not target.exists():
        return True
    with target.open("rb") as file:
        head = file.read(HEADER_BYTES)
    return not head or (
        head.startswith(MAGIC) and int.from_bytes(head[APPLICATION_ID_AT:]) == migrations.APPLICATION_ID
    )


def require_own_file(connection: Any) -> None:
    """Raise UnsoundCopy if the file belongs to another program or a later version."""
    application_id = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    try:
        sqlite.require_own(application_id)
    except sqlite.ForeignFile as error:
        raise file_copies.UnsoundCopy(f"it {error}") from error
    if version > migrations.schema_version():
        raise file_copies.UnsoundCopy(f"it was made by a later version (schema {version})")


def prepare_restore(clock: Clock, backup: Path, connection: Any) -> None:
    """Check a backup and end its sessions, since some of them were ended after the backup was made.

    Also store the current time in the backup, so that a machine that boots in the past does not resume the backup's
    time.
    """
    require_own_file(connection)
    for (written_at,) in connection.execute(PAST_TIMESTAMPS).fetchall():
        try:
            clock.advance(written_at)
        except (TypeError, ValueError, OverflowError):
            # The stored time is damaged. Use the file's modification time, as at a start.
            clock.advance(stored_timestamp(backup.stat().st_mtime))
    moment = datetime.datetime.fromtimestamp(clock(), datetime.UTC)
    tokens_since = int(moment.timestamp()) + 1
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("DELETE FROM sessions")
    connection.execute("UPDATE audit_context SET at = ?", (write_timestamp(moment),))
    connection.execute(
        "INSERT INTO credentials (user_id, tokens_since) SELECT id, ? FROM users WHERE true"
        " ON CONFLICT (user_id) DO UPDATE SET tokens_since = max(tokens_since, excluded.tokens_since)",
        (tokens_since,),
    )
    connection.execute("COMMIT")


@contextmanager
def ready_to_replace(database: Path) -> Iterator[None]:
    """Lock the old file and checkpoint its log while another file takes its name. SQLite would replay an old log
    into the new file.

    Move the log aside instead if the file is too damaged to checkpoint. Other errors, such as a full disk, prove no
    damage: raise MaintenanceError, so that the file is not replaced.
    """
    with ExitStack() as stack:
        try:
            if database.exists():
                stack.enter_context(file_copies.held(database))
        except sqlite.ERRORS as error:
            fault = sqlite.translate(error)
            if isinstance(fault, Locked):
                raise in_use(database) from error
            if not isinstance(fault, FileCorrupt):
                raise MaintenanceError(
                    f"the log of {database} cannot be checkpointed: {fault}; to replace the database"
                    " anyway, move both files away first"
                ) from error
        stack.enter_context(file_copies.without_companions(database))
        yield


@contextmanager
def open_immutable(path: Path) -> Iterator[Any]:
    """Yield a driver connection to an immutable file. Raise UnsoundCopy if the file changes meanwhile."""
    require_no_log(path)
    before = path.stat()
    connection = sqlite.driver.connect(
        f"{path.absolute().as_uri()}?mode=ro&immutable=1",
        uri=True,
        isolation_level=None,
        factory=sqlite.DriverConnection,
    )
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        yield connection
    finally:
        connection.close()
    require_no_log(path)
    now = path.stat()
    if (now.st_ino, now.st_mtime_ns) != (before.st_ino, before.st_mtime_ns):
        raise UnsoundCopy(f"{path} was written to while it was read")


def require_no_log(path: Path) -> None:
    """Raise MaintenanceError if the file has a log, whose writes an immutable file lacks."""
    if logs := logs_of(path):
        raise MaintenanceError(
            f"{path} cannot be read on this disk, since its log {logs[0]} needs a checkpoint:"
            " copy both files to another disk"
        )


@contextmanager
def read_snapshot(path: Path) -> Iterator[Transaction]:
    """Yield a read transaction on an immutable file. Raise MaintenanceError if the file cannot be read."""
    try:
        with open_immutable(path) as driver_connection:
            driver_connection.walkthrough = connection = sqlite.Connection(driver_connection, writable=False)
            transaction = SqliteTransaction(connection, DIALECTS["sqlite"], VersionedCache())
            transaction.begin(Clock())
            try:
                if schema_state(transaction, path) != "current":
                    raise MaintenanceError(f"{path} has an older schema: back it up to another disk, and start there")
                yield transaction
            finally:
                transaction.roll_back()
    except sqlite.ERRORS as error:
        raise MaintenanceError(f"{path} cannot be read: {error_text(sqlite.translate(error), path)}") from error

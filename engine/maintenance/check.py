"""Create, migrate and check a SQLite database file, and reset its clock.

A foreign, newer or linked file is refused with a one-line message. The stored time of a database is far ahead if the
system clock once was. A reset would revive expired sessions and prolong tokens that were signed in the future. So it
ends all sessions and tokens, and the caller replaces the key that signs tokens.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from enum import Enum
from functools import singledispatch
from pathlib import Path
from typing import Final

from engine.interface.clock import system_time
from engine.interface.database import (
    Database,
    DiskFailed,
    DiskFull,
    FileCorrupt,
    NotADatabase,
    Transaction,
    stored_timestamp,
)
from engine.maintenance import migrate
from engine.maintenance.planner_stats import has_planner_stats, write_planner_stats
from engine.query.write import row_layout
from engine.schema import migrations
from engine.schema.script import violations
from engine.schema.tables import grant_of, grant_tables
from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from engine.storage.file_copies import DatabaseFileReplaced, UnsoundCopy, sweep
from engine.storage.transaction import PAST_TIMESTAMPS
from models.audit_log import BULK_RELATION
from models.types import Fault

START_SECONDS_MAX = 60.0
LOG_SUFFIXES = ("-wal", "-journal")
SIDE_FILES_BYTES = 64 << 10  # SQLite needs half of it for -wal and -shm before it reads the file
CHECK_SECONDS_MAX = 3_600.0


class MaintenanceError(Exception):
    """A database or backup that cannot be opened, checked or written. The message is one line."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class UnwritableDisk(MaintenanceError):
    """A database that cannot be opened because its disk is full or read-only."""


class Scan(Enum):
    """The part of a file that a check reads."""

    FULL = "full"
    QUICK = "quick"
    NONE = "none"


@singledispatch
def ensure_schema(database: Database, *, is_served_by_others: bool = False, repairs: bool = False) -> None:
    """Create the tables of a new database, or migrate older ones. Raise MaintenanceError for any other database."""
    raise TypeError(type(database).__name__)


@ensure_schema.register
def ensure_file(database: SqliteDatabase, *, is_served_by_others: bool = False, repairs: bool = False) -> None:
    """Create the tables of a new file, or migrate an older one. Raise MaintenanceError for a foreign or newer file,
    and for an older file that another process serves.

    Leave a damaged file as it is: intact rows stay readable, and `check` and `restore` need a running application.
    """
    path = database.path
    try:
        refuse_links(path)
        sweep(path)
        if database.identity.known is None:  # else the parent process has checked it before the fork
            make_file(path)
    except OSError as error:
        raise MaintenanceError(f"{path} cannot be made: {error.strerror}") from error
    try:
        open_schema(database, path, is_served_by_others=is_served_by_others, repairs=repairs)
    except DatabaseFileReplaced:
        # The file was removed or replaced. Keep serving the open one; open or create nothing under its name.
        database.is_audited = True


def open_schema(database: SqliteDatabase, path: Path, *, is_served_by_others: bool, repairs: bool) -> None:
    """Create or migrate the tables and record the file's identity. A later replacement of the file is an error."""
    state = file_state(database, path)
    is_first = database.identity.known is None  # else the parent process has opened it before the fork
    if is_first:
        database.identity.record()
    if state == "damaged":
        return
    try:
        database.writer_lock.opened()  # as the file's owner, so that every process can write it
        if state == "older" and is_served_by_others:
            raise MaintenanceError(
                f"{path} has an older schema and an older version serves it: stop that version first"
            )
        create_or_migrate(database, path, state)
        if is_first and state == "current":
            complete_objects(database, path, repairs=repairs and not is_served_by_others)
        store_planner_stats(database)
        database.is_audited = True
        resume_clock(database, path)
    except migrate.MigrationFailed as error:
        raise MaintenanceError(str(error)) from error
    except DatabaseFileReplaced:
        raise
    except (Fault, OSError, UnsoundCopy, sqlite.WrongSetting, *sqlite.ERRORS) as error:
        raise MaintenanceError(f"{path} cannot be used: {error_text(error, path)}") from error


def error_text(error: Exception, path: Path) -> str:
    """Return the message of an error. SQLite reports one error for a disk failure, a full or read-only disk, and a
    missing permission; find out which it is."""
    with suppress(OSError):
        if isinstance(error, DiskFailed):
            if path.exists() and not os.access(path, os.R_OK):
                return "permission denied"
            disk = os.statvfs(path.parent)
            if disk.f_flag & os.ST_RDONLY:
                return "the disk is read-only"
            if disk.f_bavail * disk.f_frsize < SIDE_FILES_BYTES:
                return "no space left on the device"
    return str(error)


def create_or_migrate(database: SqliteDatabase, path: Path, state: str) -> None:
    """Create the tables of an empty file; migrate the tables of an older one."""
    if state == "older":
        database.close()
        migrate.migrate(path, database.writer_lock)
    elif state == "empty":
        with database.writing(seconds_max=START_SECONDS_MAX) as transaction:
            if schema_state(transaction, path) == "empty":
                make_tables(transaction)


def complete_objects(database: SqliteDatabase, path: Path, *, repairs: bool) -> None:
    """Raise MigrationFailed if a file of this version lacks a table or a column.

    `repairs`: recreate indexes, views and triggers if one is absent or differs.
    """
    with database.reading(seconds_max=START_SECONDS_MAX) as transaction:
        migrate.require_columns(transaction.all, path)
        is_complete = not (repairs and migrate.lacks_objects(transaction.all))
    if not is_complete:
        database.close()
        migrate.recreate_changed_objects(path, database.writer_lock)


def store_planner_stats(database: Database) -> None:
    """Store the fixed planner statistics, unless the file has them. Take the write lock only to change them. Ignore
    damage to the statistics tables."""
    with suppress(FileCorrupt):
        with database.reading(seconds_max=START_SECONDS_MAX) as transaction:
            if has_planner_stats(transaction):
                return
        with database.writing(seconds_max=START_SECONDS_MAX) as transaction:
            write_planner_stats(transaction)


def file_state(database: SqliteDatabase, path: Path) -> str:
    """Return `schema_state` or `damaged`. Raise MaintenanceError if the file cannot be read."""
    try:
        with database.reading(seconds_max=START_SECONDS_MAX) as transaction:
            return schema_state(transaction, path)
    except DatabaseFileReplaced:
        raise
    except NotADatabase as error:
        raise MaintenanceError(
            f"{path} is not a sound SQLite database; to restore a backup, move it and its -wal away first"
        ) from error
    except sqlite.ForeignFile as error:
        raise MaintenanceError(f"{path} {error}") from error
    except sqlite.WrongSetting as error:
        raise MaintenanceError(str(error)) from error
    except (DiskFailed, DiskFull) as error:
        raise UnwritableDisk(f"{path} cannot be used: {error_text(error, path)}") from error
    except (FileCorrupt, *sqlite.ERRORS):
        return "damaged"
    except Fault as error:
        raise MaintenanceError(f"{path} cannot be used: {error_text(error, path)}") from error


def resume_clock(database: SqliteDatabase, path: Path) -> None:
    """Advance the clock to the latest time stored in the file, since the system clock may be earlier.

    Use the file's modification time if the stored time is damaged.
    """
    try:
        with database.reading() as transaction:
            for (written_at,) in transaction.all(PAST_TIMESTAMPS):
                database.clock.advance(written_at)
    except (FileCorrupt, ValueError):
        database.clock.advance(stored_timestamp(path.stat().st_mtime))


def schema_state(transaction: Transaction, path: Path) -> str:
    """Return `empty`, `older` or `current`. Raise MaintenanceError for a foreign or newer file."""
    application_id = transaction.value("PRAGMA application_id")
    version = transaction.value("PRAGMA user_version")
    tables = transaction.value("SELECT count(*) FROM sqlite_schema")
    if application_id == 0 and version == 0 and tables == 0:
        return "empty"
    try:
        sqlite.require_own(application_id)
    except sqlite.ForeignFile as error:
        raise MaintenanceError(f"{path} {error}") from error
    if version > migrations.schema_version():
        raise MaintenanceError(
            f"{path} was made by a later version (schema {version}); to restore a backup of this one,"
            " move it and its -wal away first"
        )
    return "current" if version == migrations.schema_version() else "older"


def refuse_links(path: Path) -> None:
    """Raise MaintenanceError if the path is a link, a directory or a device, or has a second hard link."""
    if not os.path.lexists(path):
        return
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode):
        raise MaintenanceError(f"{path} is not a regular file")
    if status.st_nlink > 1:
        raise MaintenanceError(f"{path} has a second name (a hard link)")


def make_file(path: Path) -> None:
    """Create an empty file that only its owner can read. SQLite gives -wal and -shm the same mode.

    Raise MaintenanceError beside a log, which holds acknowledged writes: SQLite deletes the log of an empty file.
    """
    if path.exists():
        return
    logs = logs_of(path)
    if logs and not path.exists():  # another process may have created it meanwhile
        raise MaintenanceError(
            f"{path} does not exist, but its log {logs[0]} does: put the file back, or move the log away"
        )
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))


def logs_of(path: Path) -> list[Path]:
    """Return the logs of a file that are not empty."""
    logs = [path.with_name(path.name + suffix) for suffix in LOG_SUFFIXES]
    return [log for log in logs if os.path.lexists(log) and log.lstat().st_size]


def make_tables(transaction: Transaction) -> None:
    """Create the schema of this version in an empty file."""
    for statement in migrate.schema():
        transaction.run(statement)
    transaction.run(f"PRAGMA application_id = {migrations.APPLICATION_ID}")
    transaction.run(f"PRAGMA user_version = {migrations.schema_version()}")


RESTORE_HINT = "restore a backup: flask --app app restore FILE"
"""The remedy for a damaged file."""


@singledispatch
def check(database: Database, scan: Scan = Scan.FULL) -> list[str]:
    """Return the problems of a database, one a line."""
    raise TypeError(type(database).__name__)


@check.register
def check_file(database: SqliteDatabase, scan: Scan = Scan.FULL) -> list[str]:
    """Return the problems of a file and its settings, one a line."""
    try:
        with database.reading(seconds_max=CHECK_SECONDS_MAX) as transaction:
            problems = [*integrity_problems(transaction, scan), *wrong_settings(transaction)]
            if scan is Scan.FULL:  # no reason to refuse a start
                problems += [*migrate.schema_differences(transaction.all), *ineffective_grants(transaction)]
    except (Fault, *sqlite.ERRORS) as error:
        problems = [f"the database cannot be read: {error_text(error, database.path)}"]
        if isinstance(sqlite.translate(error), FileCorrupt):
            problems.append(RESTORE_HINT)
    return [*problems, *readable_by_others(database.path)]


def integrity_problems(transaction: Transaction, scan: Scan) -> list[str]:
    """Return what SQLite's own check reports, and rows that violate a reference."""
    if scan is Scan.NONE:
        return []
    statement = "PRAGMA integrity_check" if scan is Scan.FULL else "PRAGMA quick_check"
    lines = [line for (text,) in transaction.all(statement) for line in text.splitlines()]
    problems = [line for line in lines if line != "ok" and not line.startswith("*** in database")]
    if problems:
        problems.append(RESTORE_HINT)
    return [*problems, *violations(transaction.all)]


SETTINGS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0}


def wrong_settings(transaction: Transaction) -> list[str]:
    """Return the PRAGMAs whose value is not the expected one."""
    values = {name: transaction.value(f"PRAGMA {name}") for name in SETTINGS}
    return [
        f"PRAGMA {name} is {values[name]}, not {wanted}" for name, wanted in SETTINGS.items() if values[name] != wanted
    ]


def ineffective_grants(transaction: Transaction) -> list[str]:
    """Return the grants to users who lack the role of the table. Such grants have no effect."""
    problems: list[str] = []
    for query, table, role in ineffective_grant_queries():
        rows = transaction.all(query)
        problems += [f"{table} holds {count} for user {user_id}, whose role is not {role}" for user_id, count in rows]
    return problems


def ineffective_grant_queries() -> Iterator[tuple[str, str, str]]:
    """Yield for each grant table the query for users without its role and their grants, the table, and the role."""
    for model in grant_tables():
        table, grant = model.__tablename__, grant_of(model)
        query = (
            f"SELECT g.{grant.grantee}, count(*) FROM {table} g JOIN users u ON u.id = g.{grant.grantee}"  # noqa: S608
            f" WHERE u.role <> '{grant.role}' GROUP BY 1 ORDER BY 1"
        )
        yield query, table, grant.role


PRIVATE_SUFFIXES = ("", "-wal", "-shm", ".lock", ".serving")


def readable_by_others(path: Path) -> list[str]:
    """Return the files of the database that other users can read."""
    files = [path.with_name(path.name + suffix) for suffix in PRIVATE_SUFFIXES]
    return [
        f"{each} can be read by others: chmod 600 it"
        for each in files
        if each.exists() and stat.S_IMODE(each.stat().st_mode) & 0o077
    ]


@singledispatch
def versions(database: Database) -> dict[str, str]:
    """Return the versions of driver, database and schema."""
    raise TypeError(type(database).__name__)


@versions.register
def versions_of_file(database: SqliteDatabase) -> dict[str, str]:
    """Return the versions of driver, SQLite and schema, and whether this SQLite has the WAL-reset fix."""
    with database.reading() as transaction:
        schema = transaction.value("PRAGMA user_version")
    safe = sqlite.driver.sqlite_version_info >= sqlite.VERSION_SAFE
    return {
        "driver": sqlite.driver.__name__.split(".")[0],
        "sqlite": sqlite.driver.sqlite_version,
        "schema": str(schema),
        "checkpoints": "safe" if safe else "serialized by the write lock",
    }


RESET_SECONDS_MAX = 60.0

RESET_STATEMENTS: Final = (
    "DELETE FROM sessions",
    "DELETE FROM tokens",  # expired ones would be valid again
    (
        "INSERT INTO credentials (user_id, tokens_since) SELECT id, ?1 + 1 FROM users WHERE true"
        " ON CONFLICT (user_id) DO UPDATE SET tokens_since = excluded.tokens_since"
    ),
    # A window of sign-in attempts would last until the wrong time. Restart it now, so that no lock-out ends early.
    "UPDATE attempts SET at = ?1 WHERE at > ?1",
    "UPDATE origins SET at = ?1 WHERE at > ?1",
    "DELETE FROM facts WHERE name = 'write_probe'",  # it holds a time, too
)
"""The statements that change or delete stored times; `?1` is the current Unix second. A ban keeps its end."""


def reset_clock(database: Database) -> str:
    """Set the database to the system's time and return that time as stored. End every session, kiosk display, API
    key and token. No process may serve the database. All changes are one transaction."""
    with database.writing(RESET_SECONDS_MAX) as transaction:
        previous = transaction.now
        transaction.began = system_time()
        transaction.set_actor(None)  # stores the new time in the file
        for sql in RESET_STATEMENTS:
            transaction.run(sql, (transaction.unix,) if "?1" in sql else ())
        details = {"from": previous, "to": transaction.now}
        row_layout.record_entry(
            transaction, "reset_clock", BULK_RELATION, actor_id=None, client_id=None, details=details
        )
        return transaction.now

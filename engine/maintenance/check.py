"""Make, recognise and check a database file. A foreign, newer or linked file is refused in one line."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from enum import Enum
from functools import singledispatch
from pathlib import Path

from engine.maintenance import migrations
from engine.maintenance.migrations import migrate
from engine.maintenance.planner_stats import has_planner_stats
from engine.maintenance.planner_stats import write_planner_stats
from engine.maintenance.schema import CLIENT_MISMATCHES
from engine.maintenance.schema import FOREIGN_KEY_VIOLATIONS
from engine.maintenance.schema import schema
from engine.storage import sqlite
from engine.storage.atomic_files import sweep
from engine.storage.database import Database
from engine.storage.file_copies import UnsoundCopy
from engine.storage.file_identity import DatabaseFileReplaced
from engine.storage.transaction import PAST_TIMESTAMPS
from engine.storage.transaction import Transaction
from engine.storage.transaction import stored_timestamp
from models.errors import Fault

START_SECONDS_MAX = 60.0
LOGS = ("-wal", "-journal")
BESIDE_BYTES = 64 << 10  # of which SQLite takes the half, before it reads anything
CHECK_SECONDS_MAX = 3_600.0

GRANT_TABLES = {
    "client_admin_building_access": "admin_id",
    "client_admin_inspection_access": "admin_id",
    "client_manager_building_access": "manager_id",
    "client_manager_inspection_access": "manager_id",
}


class MaintenanceError(Exception):
    """A file that is not ours to open, or cannot be. The message is one line, whatever it quotes."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))


class UnwritableDisk(MaintenanceError):
    """One that cannot be opened, as its disk takes nothing: it has no room, or is read-only."""


class Scan(Enum):
    """How much of a file a check reads."""

    FULL = "full"
    QUICK = "quick"
    NONE = "none"


@singledispatch
def ensure_schema(database: Database, *, is_served_by_others: bool = False) -> None:
    """Make the tables in a new file, bring an older one up to date; refuse what is not ours, and an older one that
    others serve: their statements are of its tables.

    A damaged file is let be: reads of what is whole go on, `check` names the rest, and `restore` needs
    an application to run in.
    """
    path = database.path
    assert path is not None
    assert database.identity is not None
    try:
        refuse_links(path)
        sweep(path)
        if database.identity.known is None:  # else by a server that has looked at it, and forked us
            make_file(path)
    except OSError as error:
        raise MaintenanceError(f"{path} cannot be made: {error.strerror}") from error
    try:
        open_up(database, path, is_served_by_others=is_served_by_others)
    except DatabaseFileReplaced:
        # Removed or replaced: the server answers on, and nothing is opened or made under that name.
        database.is_audited = True


def open_up(database: Database, path: Path, *, is_served_by_others: bool) -> None:
    """Make the tables that are missing, or find those that are there; from now on it is this file or none."""
    assert database.identity is not None
    state = state_of(database, path)
    if database.identity.known is None:
        database.identity.record()
    if state == "damaged":
        return
    try:
        if database.writer_lock is not None:
            database.writer_lock.opened()  # of another user's nobody could write
        if state == "older" and is_served_by_others:
            raise MaintenanceError(
                f"{path} is of an older version, and is served by it: stop that first"
            )
        bring_up_to_date(database, path, state)
        settle_plans(database)
        database.is_audited = True
        resume_clock(database, path)
    except migrate.MigrationFailed as error:
        raise MaintenanceError(str(error)) from error
    except DatabaseFileReplaced:
        raise
    except (Fault, OSError, UnsoundCopy, sqlite.WrongSetting, *sqlite.ERRORS) as error:
        raise MaintenanceError(f"{path} cannot be used: {told(error, path)}") from error


def told(error: Exception, path: Path) -> str:
    """What is wrong. Of a disk that has no room for files beside a database, or takes none, and of another user's file,
    SQLite has the same word as of one that breaks."""
    with suppress(OSError):
        if isinstance(error, sqlite.DiskFailed):
            if path.exists() and not os.access(path, os.R_OK):
                return "permission denied"
            disk = os.statvfs(path.parent)
            if disk.f_flag & os.ST_RDONLY:
                return "the disk is read-only"
            if disk.f_bavail * disk.f_frsize < BESIDE_BYTES:
                return "no space left on the device"
    return str(error)


def bring_up_to_date(database: Database, path: Path, state: str) -> None:
    """Make the tables of a new file, and of an older one those of today."""
    if state == "older":
        assert database.writer_lock is not None
        database.close()
        migrate.migrate(path, database.writer_lock)
    elif state == "empty":
        with database.writing(seconds_max=START_SECONDS_MAX) as transaction:
            if schema_state(transaction, path) == "empty":
                make_tables(transaction)


def settle_plans(database: Database) -> None:
    """Have SQLite plan by what is supposed of every file. Who finds it so takes no turn; where the file is damaged just
    there, it is served, and plans as it can."""
    with suppress(sqlite.FileCorrupt):
        with database.reading(seconds_max=START_SECONDS_MAX) as transaction:
            if has_planner_stats(transaction):
                return
        with database.writing(seconds_max=START_SECONDS_MAX) as transaction:
            write_planner_stats(transaction)


def state_of(database: Database, path: Path) -> str:
    """What `recognise` finds, or `damaged`; a file that cannot be asked is refused."""
    try:
        with database.reading(seconds_max=START_SECONDS_MAX) as transaction:
            return schema_state(transaction, path)
    except DatabaseFileReplaced:
        raise
    except sqlite.NotADatabase as error:
        raise MaintenanceError(
            f"{path} is not a sound SQLite database; to restore a backup, move it and its -wal away first"
        ) from error
    except sqlite.ForeignFile as error:
        raise MaintenanceError(f"{path} {error}") from error
    except sqlite.WrongSetting as error:
        raise MaintenanceError(str(error)) from error
    except (sqlite.DiskFailed, sqlite.DiskFull) as error:
        raise UnwritableDisk(f"{path} cannot be used: {told(error, path)}") from error
    except (sqlite.FileCorrupt, *sqlite.ERRORS):
        return "damaged"
    except Fault as error:
        raise MaintenanceError(f"{path} cannot be used: {told(error, path)}") from error


def resume_clock(database: Database, path: Path) -> None:
    """Let the clock go on from the latest moment that the file knows, however far back the board's clock is.

    Where the file cannot tell any more, from what the file system says of it.
    """
    try:
        with database.reading() as transaction:
            for (written_at,) in transaction.all(PAST_TIMESTAMPS):
                database.clock.advance(written_at)
    except (sqlite.FileCorrupt, ValueError):
        database.clock.advance(stored_timestamp(path.stat().st_mtime))


def schema_state(transaction: Transaction, path: Path) -> str:
    """`empty`, `older` or `ours`; anything else is refused."""
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
    return "ours" if version == migrations.schema_version() else "older"


def refuse_links(path: Path) -> None:
    if not os.path.lexists(path):
        return
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode) or not stat.S_ISREG(found.st_mode):
        raise MaintenanceError(f"{path} is not a regular file")
    if found.st_nlink > 1:
        raise MaintenanceError(f"{path} has a second name (a hard link)")


def make_file(path: Path) -> None:
    """An empty file that only its owner can read: SQLite gives -wal and -shm the same mode.

    None beside a log, which holds what was acknowledged: SQLite takes that of an empty file away.
    """
    if path.exists():
        return
    logs = logs_of(path)
    if logs and not path.exists():  # nor made by another start meanwhile
        raise MaintenanceError(
            f"{path} is not there, but its log {logs[0]} is: put the file back, or move the log away"
        )
    os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))


def logs_of(path: Path) -> list[Path]:
    """What lies beside a file and holds something of it."""
    beside = [path.with_name(path.name + end) for end in LOGS]
    return [log for log in beside if os.path.lexists(log) and log.lstat().st_size]


def make_tables(transaction: Transaction) -> None:
    for statement in schema():
        transaction.run(statement)
    transaction.run(f"PRAGMA application_id = {sqlite.APPLICATION_ID}")
    transaction.run(f"PRAGMA user_version = {migrations.schema_version()}")


WAY_OUT = "a backup is put in its place by flask --app app restore FILE"
"""What to do about a file that is damaged."""


@singledispatch
def check(database: Database, scan: Scan = Scan.FULL) -> list[str]:
    """What is wrong with a file and its settings; nothing, if it is sound."""
    assert database.path is not None
    try:
        with database.reading(seconds_max=CHECK_SECONDS_MAX) as transaction:
            problems = [*damage(transaction, scan), *wrong_settings(transaction)]
            if scan is Scan.FULL:  # worth a word to whoever asks, and no reason not to start
                problems += [*another_shape(transaction), *ineffective_grants(transaction)]
    except (Fault, *sqlite.ERRORS) as error:
        problems = [f"the database cannot be read: {told(error, database.path)}"]
        if isinstance(sqlite.translate(error), sqlite.FileCorrupt):
            problems.append(WAY_OUT)
    return [*problems, *readable_by_others(database.path)]


def damage(transaction: Transaction, scan: Scan) -> list[str]:
    """What SQLite finds wrong with the file, and rows that point at nothing."""
    if scan is Scan.NONE:
        return []
    question = "PRAGMA integrity_check" if scan is Scan.FULL else "PRAGMA quick_check"
    found = [line for (text,) in transaction.all(question) for line in text.splitlines()]
    problems = [line for line in found if line != "ok" and not line.startswith("*** in database")]
    if problems:
        problems.append(WAY_OUT)
    lost = [*transaction.all(FOREIGN_KEY_VIOLATIONS), *transaction.all(CLIENT_MISMATCHES)]
    return problems + [line for (line,) in lost]


SHAPE = (
    "SELECT s.type, s.name, c.name, c.type, c.[notnull], c.pk FROM sqlite_schema s"
    " LEFT JOIN pragma_table_info(s.name) c ON s.type = 'table' WHERE s.name NOT LIKE 'sqlite_%'"
)


def another_shape(transaction: Transaction) -> list[str]:
    """Tables, columns, indexes and triggers that are not those of this version."""
    made = sqlite.driver.connect(":memory:")
    try:
        made.executescript("\n".join(schema()))
        wanted = set(made.execute(SHAPE).fetchall())
    finally:
        made.close()
    names = {f"{row[0]} {row[1]}" for row in wanted ^ set(transaction.all(SHAPE))}
    return [f"the {name} is not what this version makes" for name in sorted(names)]


SETTINGS = {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "trusted_schema": 0}


def wrong_settings(transaction: Transaction) -> list[str]:
    """Settings that are not what every connection is given."""
    found = {name: transaction.value(f"PRAGMA {name}") for name in SETTINGS}
    return [
        f"PRAGMA {name} is {found[name]}, not {wanted}"
        for name, wanted in SETTINGS.items()
        if found[name] != wanted
    ]


def ineffective_grants(transaction: Transaction) -> list[str]:
    """Grants to somebody who has not, or no more, the role of the table: they open nothing."""
    problems = []
    for table, grantee in GRANT_TABLES.items():
        role = "_".join(table.split("_")[:2])
        rows = transaction.all(
            f"SELECT g.{grantee}, count(*) FROM {table} g JOIN users u ON u.id = g.{grantee}"  # noqa: S608
            " WHERE u.role <> ? GROUP BY 1 ORDER BY 1",
            (role,),
        )
        problems += [
            f"{table} holds {count} for user {user_id}, who is no {role}" for user_id, count in rows
        ]
    return problems


KEPT_PRIVATE = ("", "-wal", "-shm", ".lock", ".serving")


def readable_by_others(path: Path) -> list[str]:
    """Files of the database that are open to others."""
    found = [path.with_name(path.name + end) for end in KEPT_PRIVATE]
    return [
        f"{each} can be read by others: chmod 600 it"
        for each in found
        if each.exists() and stat.S_IMODE(each.stat().st_mode) & 0o077
    ]


@singledispatch
def versions(database: Database) -> dict[str, str]:
    """What is in use: driver, SQLite, schema, and whether this SQLite has the WAL-reset fix."""
    with database.reading() as transaction:
        schema = transaction.value("PRAGMA user_version")
    safe = sqlite.driver.sqlite_version_info >= sqlite.VERSION_SAFE
    return {
        "driver": sqlite.driver.__name__.split(".")[0],
        "sqlite": sqlite.driver.sqlite_version,
        "schema": str(schema),
        "checkpoints": "safe" if safe else "kept apart by the write lock",
    }

"""Read a database file on a full or read-only disk, for a backup or an export.

SQLite creates -wal and -shm before it reads a database in WAL mode, so it cannot open such a file. These functions
open the file as immutable instead: SQLite takes no lock and reads no log. The file must have no log, and a change
of the file during the read is an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.interface.clock import Clock
from engine.interface.transaction import Transaction
from engine.interface.versioned_cache import VersionedCache
from engine.maintenance.check import MaintenanceError, error_text, logs_of, schema_state
from engine.query.dialect.registry import DIALECTS
from engine.storage import sqlite
from engine.storage.file_copies import UnsoundCopy
from engine.storage.transaction import SqliteTransaction


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

"""A file on a disk that takes nothing, as it has no room or is read-only. SQLite makes files beside a database in WAL
mode before it reads anything of it; so whoever looks after such a disk could not even save what is on it.

Such a file is read as it lies, for that alone, and by no server: SQLite then looks for no log and takes no lock, so
there may be no log, and what was written meanwhile would be torn. That it was is found out at the end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from engine.maintenance.check import MaintenanceError
from engine.maintenance.check import logs_of
from engine.maintenance.check import schema_state
from engine.maintenance.check import told
from engine.query.dialect.registry import DIALECTS
from engine.storage import sqlite
from engine.storage.clock import Clock
from engine.storage.file_copies import UnsoundCopy
from engine.storage.transaction import Transaction
from engine.storage.versioned_cache import VersionedCache


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """The driver's connection to a file that nobody has open; UnsoundCopy if it was written to meanwhile."""
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
    """What is in a log is not in the file yet."""
    if logs := logs_of(path):
        raise MaintenanceError(
            f"{path} cannot be read where it is, since its log {logs[0]} would have to be folded into it:"
            " copy both to another disk"
        )


@contextmanager
def reading(path: Path) -> Iterator[Transaction]:
    """One snapshot of it; MaintenanceError where not even that can be."""
    try:
        with opened(path) as driver_connection:
            driver_connection.walkthrough = connection = sqlite.Connection(driver_connection)
            transaction = Transaction(connection, DIALECTS["sqlite"], VersionedCache())
            transaction.begin(Clock())
            try:
                if schema_state(transaction, path) != "ours":
                    raise MaintenanceError(
                        f"{path} is of an older version: back it up to another disk, and start there"
                    )
                yield transaction
            finally:
                transaction.roll_back()
    except sqlite.ERRORS as error:
        raise MaintenanceError(
            f"{path} cannot be read: {told(sqlite.translate(error), path)}"
        ) from error

"""A database: snapshots for reading, and one writer at a time.

A transaction ends with its block. It is committed if the block raises nothing, and rolled back otherwise. A `reading()`
inside another one joins it, so that a caller's rights and the rows they read belong to one snapshot.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TypeVar

from engine.interface.clock import Clock
from engine.interface.transaction import Transaction
from engine.interface.versioned_cache import VersionedCache
from engine.query.dialect.base import SqlDialect

READ_SECONDS_MAX = 2.0
WRITE_SECONDS_MAX = 4.0
WRITE_WAIT_SECONDS_MAX = 5.0
PROBE_WAIT_SECONDS_MAX = 0.5
CONNECTIONS_MAX = 32  # one for each thread of a worker

Result = TypeVar("Result")


class Database(ABC):
    """One SQLite file or one PostgreSQL database, with its connections, cache and clock."""

    dialect: SqlDialect
    cache: VersionedCache
    clock: Clock

    path: Path | None = None
    """The file; None for a server."""

    observe_wait: Callable[[float], None] | None = None
    """Called with the seconds that a write waited for the lock."""

    time_zone: datetime.tzinfo = datetime.UTC
    """The zone of the transactions' days."""

    @abstractmethod
    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> AbstractContextManager[Transaction]:
        """Return the current transaction, or a new snapshot for reading only."""

    @abstractmethod
    def writing(
        self,
        seconds_max: float = WRITE_SECONDS_MAX,
        wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX,
        *,
        is_brief: bool = False,
        client_id: int | None = None,
    ) -> AbstractContextManager[Transaction]:
        """Return a transaction that writes; raise LockTimeout if the writer lock is not free in time.

        A brief transaction changes a few rows by their keys. It may share its COMMIT with others.
        `client_id`: the only client whose rows it changes. Writers of other clients may then write at the same time. It
        raises SerializationConflict if it has to run again without `client_id`.
        """

    @abstractmethod
    def is_writable(self) -> bool:
        """Try a write; return whether it succeeds. A writer lock that is not free is no failure."""

    @abstractmethod
    def close(self) -> None:
        """Close all idle connections."""

    @abstractmethod
    def shut_down(self, wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX) -> None:
        """Bring the database into the state in which the next start finds it fastest, and close all connections."""

    def is_file_replaced(self) -> bool:
        """Return whether the file was removed or replaced while it is open. A server has none."""
        return False

    def on_any_server(self, primary: Transaction, read: Callable[[], Result]) -> Result:
        """Return the result of `read`, computed on a replica if one is as current as the primary's snapshot."""
        return read()

    def read_server(self, primary: Transaction) -> str | None:
        """Return which kind of server serves reads now, `primary` or `standby`; None without replicas."""
        return None

    @abstractmethod
    def observe_reads(self, observe: Callable[[str, str], None]) -> None:
        """Have `observe` called with server and reason of each read, if there are replicas."""

"""The data version of a database file: which snapshots hold the same rows. Each process counts for itself."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from engine.storage import sqlite


class DataVersion:
    """The data version of a file: a number that grows when any process has committed.

    One connection, which never writes, watches the file. Its `PRAGMA data_version` says that the file has changed. The
    number never returns to an earlier value, even when another connection takes over.
    """

    def __init__(self, connect: Callable[[], sa.PoolProxiedConnection]) -> None:
        self.connect = connect
        self.connection: sa.PoolProxiedConnection | None = None
        self.mark: int | None = None  # what the connection's PRAGMA returned
        self.version = 0
        self.mutex = threading.Lock()

    def __call__(self) -> int:
        """Return the version that a snapshot taken now has. Raises the faults of a disk."""
        with self.mutex:
            if self.connection is None:
                self.connection = self.connect()
            driver_connection: Any = self.connection.driver_connection
            try:
                mark = driver_connection.execute("PRAGMA data_version").fetchone()[0]
            except sqlite.ERRORS as error:
                self.disconnect()
                raise sqlite.translate(error) from error
            if mark != self.mark:
                self.mark = mark
                self.version += 1
            return self.version

    def close(self) -> None:
        with self.mutex:
            self.disconnect()

    def disconnect(self) -> None:
        if self.connection is not None:
            self.connection.invalidate()
        self.connection = self.mark = None

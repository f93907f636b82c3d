"""The open connections of a process. The connection used last is used next: its page cache is warm."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from engine.interface.faults import TooManyConnections
from engine.storage import sqlite


class ConnectionPool:
    """The open connections of one process to a file, by the engine that opens them."""

    def __init__(self, *engines: sa.Engine) -> None:
        self.process = os.getpid()
        self.require_same_file: Callable[[], None] = lambda: None
        self.idle = {each: deque[sa.PoolProxiedConnection]() for each in engines}

    @contextmanager
    def checked_out(self, engine: sa.Engine) -> Iterator[sqlite.Connection]:
        """Yield a connection for the duration of a block."""
        pooled = self.check_out(engine)
        try:
            yield connection_of(pooled)
        finally:
            self.check_in(engine, pooled)

    def check_out(self, engine: sa.Engine) -> sa.PoolProxiedConnection:
        """Return an idle connection or a new one. Raise TooManyConnections if all are in use."""
        assert self.process == os.getpid(), "SQLite connections do not survive a fork"
        try:
            return pop_idle(self.idle[engine]) or self.open_connection(engine)
        except sa.exc.TimeoutError as error:
            raise TooManyConnections("sorry, too many clients already") from error
        except sqlite.ERRORS as error:
            raise sqlite.translate(error) from error

    def open_connection(self, engine: sa.Engine) -> sa.PoolProxiedConnection:
        """Open a connection; raise DatabaseFileReplaced if it is to another file than the other connections."""
        self.require_same_file()
        pooled = engine.raw_connection()
        try:
            self.require_same_file()
        except BaseException:
            pooled.invalidate()
            pooled.close()
            raise
        return pooled

    def check_in(self, engine: sa.Engine, pooled: sa.PoolProxiedConnection) -> None:
        """Keep a sound connection for the next transaction; close any other one."""
        connection = connection_of(pooled)
        if connection.broken or connection.is_worn or connection.driver_connection.in_transaction:
            pooled.invalidate()
        # The engine's own pool is slower: it only opens and closes connections.
        if pooled.is_valid:
            self.idle[engine].append(pooled)
        else:
            pooled.close()

    def close(self) -> None:
        """Close all idle connections."""
        for engine, idle in self.idle.items():
            while (pooled := pop_idle(idle)) is not None:
                pooled.close()
            engine.dispose()


def connection_of(pooled: sa.PoolProxiedConnection) -> sqlite.Connection:
    """Return the state that is stored with a driver's connection."""
    driver_connection: Any = pooled.driver_connection
    connection: sqlite.Connection = driver_connection.walkthrough
    return connection


def pop_idle(idle: deque[sa.PoolProxiedConnection]) -> sa.PoolProxiedConnection | None:
    """Return the connection used last; None if there is none."""
    try:
        return idle.pop()
    except IndexError:  # also if another thread was faster
        return None

"""Which connection does a transaction get? The one used last, whose cache is warm; a few are kept open beside it."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa

from engine.storage import sqlite
from models.errors import Fault

CONNECTIONS_MAX = 32  # one a thread of a worker


class Busy(Fault):
    """Every connection is taken (53300). Trying again is right."""


class Connections:
    """The open connections of one process to a file, by the engine that makes them."""

    def __init__(self, *engines: sa.Engine) -> None:
        self.process = os.getpid()
        self.look: Callable[[], None] = lambda: None
        self.idle = {each: deque[sa.PoolProxiedConnection]() for each in engines}

    @contextmanager
    def checked_out(self, engine: sa.Engine) -> Iterator[sqlite.Connection]:
        """A connection that goes back to its pool whole, or not at all."""
        taken = self.check_out(engine)
        try:
            yield connection_of(taken)
        finally:
            self.check_in(engine, taken)

    def check_out(self, engine: sa.Engine) -> sa.PoolProxiedConnection:
        """A connection, to be given back."""
        assert self.process == os.getpid(), "SQLite connections do not survive a fork"
        try:
            return taken_from(self.idle[engine]) or self.opened(engine)
        except sa.exc.TimeoutError as error:
            raise Busy("sorry, too many clients already") from error
        except sqlite.ERRORS as error:
            raise sqlite.translate(error) from error

    def opened(self, engine: sa.Engine) -> sa.PoolProxiedConnection:
        """A new connection, to the file that the others are to, before and after."""
        self.look()
        taken = engine.raw_connection()
        try:
            self.look()
        except BaseException:
            taken.invalidate()
            taken.close()
            raise
        return taken

    def check_in(self, engine: sa.Engine, taken: sa.PoolProxiedConnection) -> None:
        """Keep a connection for the next one, if it is whole."""
        connection = connection_of(taken)
        if connection.broken or connection.is_worn or connection.driver_connection.in_transaction:
            taken.invalidate()
        # The way through the engine's pool is a long one: it is for what is new or gone.
        if taken.is_valid:
            self.idle[engine].append(taken)
        else:
            taken.close()

    def close(self) -> None:
        """Give every connection back to the system."""
        for engine, idle in self.idle.items():
            while (taken := taken_from(idle)) is not None:
                taken.close()
            engine.dispose()


def connection_of(taken: sa.PoolProxiedConnection) -> sqlite.Connection:
    """What is known of a connection, beside the driver's own."""
    driver_connection: Any = taken.driver_connection
    found: sqlite.Connection = driver_connection.walkthrough
    return found


def taken_from(idle: deque[sa.PoolProxiedConnection]) -> sa.PoolProxiedConnection | None:
    """The connection used last; None where there is none, or another thread was faster."""
    try:
        return idle.pop()
    except IndexError:
        return None

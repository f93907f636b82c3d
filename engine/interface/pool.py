"""The open connections of one process to one database."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Generic, Protocol, TypeVar

from engine.interface.database import WRITE_WAIT_SECONDS_MAX, TooManyConnections


class Closable(Protocol):
    """A connection of either engine."""

    def close(self) -> None: ...


ConnectionT = TypeVar("ConnectionT", bound=Closable)


class ConnectionPool(ABC, Generic[ConnectionT]):
    """At most `size_max` connections. The one used last is used next, since its caches are warm."""

    def __init__(self, size_max: int) -> None:
        self.free = threading.Semaphore(size_max)
        self.idle: deque[ConnectionT] = deque()

    @abstractmethod
    def connect(self) -> ConnectionT:
        """Open a connection."""

    @abstractmethod
    def is_reusable(self, connection: ConnectionT) -> bool:
        """Return whether a connection can take the next transaction."""

    def has_ended(self, connection: ConnectionT) -> bool:
        """Return whether an idle connection has ended meanwhile. The other idle ones are then closed, too."""
        return False

    def take(self) -> ConnectionT:
        """Return an idle connection or a new one. Raise TooManyConnections if none is free in time."""
        if not self.free.acquire(timeout=WRITE_WAIT_SECONDS_MAX):
            raise TooManyConnections("sorry, too many clients already")
        try:
            while (connection := self.pop_idle()) is not None:
                if not self.has_ended(connection):
                    return connection
                connection.close()
                self.drop_idle()
            return self.connect()
        except BaseException:
            self.free.release()
            raise

    def give_back(self, connection: ConnectionT) -> None:
        """Keep a reusable connection for the next transaction; close any other one."""
        try:
            if self.is_reusable(connection):
                self.idle.append(connection)
            else:
                connection.close()
        finally:
            self.free.release()

    @contextmanager
    def checked_out(self) -> Iterator[ConnectionT]:
        """Yield a connection for the duration of a block."""
        connection = self.take()
        try:
            yield connection
        finally:
            self.give_back(connection)

    def pop_idle(self) -> ConnectionT | None:
        """Return the connection used last; None if there is none."""
        try:
            return self.idle.pop()
        except IndexError:  # also if another thread was faster
            return None

    def drop_idle(self) -> None:
        """Close the idle connections."""
        while (connection := self.pop_idle()) is not None:
            connection.close()

"""Cached results of reads, each valid for one version of the database.

There is one invalidation rule: an entry answers only a snapshot of the same data version. `DataVersion` gives a file's
version; a PostgreSQL server tells none, and its snapshots compute each time.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Hashable
from sys import getsizeof
from typing import Any
from typing import Final
from typing import NamedTuple
from typing import TypeVar
from typing import cast

import sqlalchemy as sa

from engine.storage import sqlite

Result = TypeVar("Result")

CACHE_BYTES_MAX: Final = 8 << 20  # per process
ENTRY_BYTES_MAX: Final = 65_536  # 20 to 200 rows
ENTRY_BYTES: Final = 512  # a key, a version and a small value
WAIT_SECONDS_MAX: Final = 2.0  # the time limit of a read


class Entry(NamedTuple):
    """A value, the data version it was computed at, and its size in bytes."""

    version: int | None
    value: Any
    size: int


class VersionedCache:
    """One process's cached results. The least recently used entry is evicted first."""

    def __init__(self) -> None:
        self.entries: OrderedDict[Hashable, Entry] = OrderedDict()
        self.bytes = 0
        self.computing: dict[tuple[int, Hashable], threading.Event] = {}
        self.mutex = threading.Lock()  # guards the three above

    def get(
        self,
        version: int | None,
        key: Hashable,
        compute: Callable[[], Result],
        bytes_of: Callable[[Result], int] | None = None,
    ) -> Result:
        """Return the value of `key` at a data version; call `compute` if it is not cached.

        `bytes_of` returns the size of a value that `size_of` does not know. Concurrent calls for one key and version
        compute once: the others wait for the first, at most WAIT_SECONDS_MAX.
        """
        if version is None:
            return self.put(None, key, compute(), bytes_of)
        while True:
            with self.mutex:
                entry = self.entries.get(key)
                if entry is not None and entry.version == version:
                    self.entries.move_to_end(key)
                    return cast(Result, entry.value)
                other = self.computing.get((version, key))
                if other is None:
                    done = self.computing[version, key] = threading.Event()
                    break
            if not other.wait(WAIT_SECONDS_MAX):
                return compute()
        try:
            return self.put(version, key, compute(), bytes_of)
        finally:
            with self.mutex:
                del self.computing[version, key]
            done.set()

    def put(
        self,
        version: int | None,
        key: Hashable,
        value: Result,
        bytes_of: Callable[[Result], int] | None = None,
    ) -> Result:
        """Cache a value unless it is larger than ENTRY_BYTES_MAX; return it."""
        size = ENTRY_BYTES + size_of(key) + (bytes_of or size_of)(value)
        with self.mutex:
            self.drop(key)
            if size <= ENTRY_BYTES_MAX:
                self.entries[key] = Entry(version, value, size)
                self.bytes += size
            while self.bytes > CACHE_BYTES_MAX:
                self.drop(next(iter(self.entries)))
        return value

    def latest(self, key: Hashable) -> Any:
        """Return the value computed last, whatever its version, or None. Incremental counts start from it."""
        with self.mutex:
            entry = self.entries.get(key)
        return entry.value if entry is not None else None

    def drop(self, key: Hashable) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.bytes -= entry.size

    def clear(self) -> None:
        with self.mutex:
            self.entries.clear()
            self.bytes = 0


def size_of(value: object) -> int:
    """The bytes of a text, or of the texts of a list or tuple; anything else is small."""
    if isinstance(value, str):
        return getsizeof(value)
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    return 0


class DataVersion:
    """The data version of a file: a number that changes with each commit of any process.

    One connection, which never writes, watches the file (SQLite's `PRAGMA data_version`).
    """

    def __init__(self, connect: Callable[[], sa.PoolProxiedConnection]) -> None:
        self.connect = connect
        self.connection: sa.PoolProxiedConnection | None = None
        self.mutex = threading.Lock()

    def __call__(self) -> int:
        """Return the version that a snapshot taken now has. Raises the faults of a disk."""
        with self.mutex:
            if self.connection is None:
                self.connection = self.connect()
            driver_connection: Any = self.connection.driver_connection
            try:
                version: int = driver_connection.execute("PRAGMA data_version").fetchone()[0]
            except sqlite.ERRORS as error:
                raise sqlite.translate(error) from error
        return version

    def close(self) -> None:
        with self.mutex:
            if self.connection is not None:
                self.connection.close()
            self.connection = None

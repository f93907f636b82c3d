"""Cached results of reads, each valid for one version of the database.

There is one invalidation rule: an entry is valid only for a snapshot of the same data version (`DataVersion`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from sys import getsizeof
from typing import Any, Final, NamedTuple, TypeVar, cast

Result = TypeVar("Result")

CACHE_BYTES_MAX: Final = 8 << 20  # per process
ENTRY_BYTES_MAX: Final = 65_536  # 20 to 200 rows
ENTRY_BYTES: Final = 512  # a key, a version and a small value
WAIT_SECONDS_MAX: Final = 2.0  # the time limit of a read


class Entry(NamedTuple):
    """A value, the data version it was computed at, and its size in bytes."""

    version: int
    value: Any
    size: int


class Computation:
    """A call of `compute` that other threads wait for."""

    def __init__(self) -> None:
        self.done = threading.Event()
        self.result: tuple[Any] | None = None  # None until it has returned


class VersionedCache:
    """One process's cached results. The least recently used entry is evicted first."""

    def __init__(self) -> None:
        self.entries: OrderedDict[Hashable, Entry] = OrderedDict()
        self.bytes = 0
        self.computing: dict[tuple[int, Hashable], Computation] = {}
        self.mutex = threading.Lock()  # guards the three above

    def get(
        self,
        version: int,
        key: Hashable,
        compute: Callable[[], Result],
        bytes_of: Callable[[Result], int] | None = None,
    ) -> Result:
        """Return the value of `key` at a data version; call `compute` if it is not cached.

        `bytes_of` returns the size of a value that `size_of` does not know. Concurrent calls for one key and version
        compute once: the others wait at most WAIT_SECONDS_MAX, then compute the value themselves.
        """
        with self.mutex:
            entry = self.entries.get(key)
            if entry is not None and entry.version == version:
                self.entries.move_to_end(key)
                return cast(Result, entry.value)
            other = self.computing.get((version, key))
            if other is None:
                own = self.computing[version, key] = Computation()
        if other is not None:
            other.done.wait(WAIT_SECONDS_MAX)
            return other.result[0] if other.result is not None else compute()
        try:
            value = compute()
            own.result = (value,)
            return self.put(version, key, value, bytes_of)
        finally:
            with self.mutex:
                del self.computing[version, key]
            own.done.set()

    def put(
        self, version: int, key: Hashable, value: Result, bytes_of: Callable[[Result], int] | None = None
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

    def drop(self, key: Hashable) -> None:
        entry = self.entries.pop(key, None)
        if entry is not None:
            self.bytes -= entry.size

    def clear(self) -> None:
        with self.mutex:
            self.entries.clear()
            self.bytes = 0


def size_of(value: object) -> int:
    """Return the bytes of a text, or of the texts in a list or tuple; 0 for anything else, which is small."""
    if isinstance(value, str):
        return getsizeof(value)
    if isinstance(value, list | tuple):
        return sum(map(size_of, value))
    return 0

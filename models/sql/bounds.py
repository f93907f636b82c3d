"""How large one value of a statement may grow: a nested embed is one JSON text, and could be gigabytes.

SQLite bounds it per connection (SQLITE_LIMIT_LENGTH). The standard driver hands that through; pysqlite3
does not, so there every connection that its library opens is met at the door, by the library's own means.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

LIMIT_LENGTH = 0  # SQLITE_LIMIT_LENGTH
VALUE_BYTES_MAX = 32 << 20  # as much as a whole response

ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
KEPT: list[object] = []  # what the library calls must live as long as it does


def bound_values(driver_connection: Any) -> None:
    """Bound the values of a connection whose driver lets them be bounded."""
    if hasattr(driver_connection, "setlimit"):
        driver_connection.setlimit(LIMIT_LENGTH, VALUE_BYTES_MAX)


def bound_every_connection(driver: Any) -> None:
    """The same for all connections of a driver that does not, from now on. Once a process."""
    if KEPT or hasattr(driver.Connection, "setlimit"):
        return
    found = importlib.import_module(f"{driver.__name__.partition('.')[0]}._sqlite3").__file__
    library = ctypes.CDLL(found)
    try:
        limit, register = library.sqlite3_limit, library.sqlite3_auto_extension
    except AttributeError:
        return  # a build that hides them: row by row, a response is bounded all the same
    limit.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)

    def enter(handle: int | None, message: int | None, routines: int | None) -> int:
        limit(handle, LIMIT_LENGTH, VALUE_BYTES_MAX)
        return 0

    entry = ENTRY(enter)
    KEPT.extend((library, entry))
    register(entry)

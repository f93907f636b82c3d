"""What no PRAGMA sets on a connection, only a call of SQLite's library: how large a value grows, what plans look at.

A nested embed is one JSON text, and could be gigabytes: SQLITE_LIMIT_LENGTH bounds it. And a plan is
made for the statement, not for the values that are bound to it (SQLITE_DBCONFIG_ENABLE_QPSG): SQLite
would else look at its samples of the table (sqlite_stat4) for each value, and to do so prepare a
statement anew each time it is run, which takes longer than to run it.

The standard driver hands both calls through, the second one since Python 3.12. pysqlite3 hands neither, so
there every connection that its library opens is met at the door, by the library's own means.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

LIMIT_LENGTH = 0  # SQLITE_LIMIT_LENGTH
PLAN_WITHOUT_VALUES = 1007  # SQLITE_DBCONFIG_ENABLE_QPSG
VALUE_BYTES_MAX = 32 << 20  # as much as a whole response

ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
KEPT: list[object] = []  # what the library calls must live as long as it does


def set_up(driver_connection: Any) -> None:
    """Set what the connection's driver hands through."""
    if hasattr(driver_connection, "setlimit"):
        driver_connection.setlimit(LIMIT_LENGTH, VALUE_BYTES_MAX)
    if hasattr(driver_connection, "setconfig"):
        driver_connection.setconfig(PLAN_WITHOUT_VALUES)


def set_up_every_connection(driver: Any) -> None:
    """The same for all connections of a driver that hands nothing through, from now on. Once a process."""
    if KEPT or hasattr(driver.Connection, "setlimit"):
        return
    found = importlib.import_module(f"{driver.__name__.partition('.')[0]}._sqlite3").__file__
    library = ctypes.CDLL(found)
    try:
        limit, configure = library.sqlite3_limit, library.sqlite3_db_config
        register = library.sqlite3_auto_extension
    except AttributeError:
        return  # a build that hides them: row by row, a response is bounded all the same
    limit.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    configure.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)

    def enter(handle: int | None, message: int | None, routines: int | None) -> int:
        limit(handle, LIMIT_LENGTH, VALUE_BYTES_MAX)
        configure(handle, PLAN_WITHOUT_VALUES, 1, None)
        return 0

    entry = ENTRY(enter)
    KEPT.extend((library, entry))
    register(entry)

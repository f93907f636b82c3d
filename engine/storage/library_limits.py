"""Connection settings that SQLite offers only as library calls: the size of a value, and plans without values.

SQLITE_LIMIT_LENGTH bounds one JSON text, since a nested embed could grow to gigabytes. SQLITE_DBCONFIG_ENABLE_QPSG
makes a plan for the statement and not for its bound values. Otherwise SQLite would prepare a statement again for each
value, to consult its samples of the table (sqlite_stat4). That takes longer than running the statement.

The standard driver offers the first call, and the second one since Python 3.12. pysqlite3 offers neither. There an
automatic extension of the library (`sqlite3_auto_extension`) sets up every connection.
"""

from __future__ import annotations

import ctypes
import importlib
from typing import Any

from engine.interface.faults import VALUE_BYTES_MAX

LIMIT_LENGTH = 0  # SQLITE_LIMIT_LENGTH
PLAN_WITHOUT_VALUES = 1007  # SQLITE_DBCONFIG_ENABLE_QPSG

ENTRY = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
CALLBACKS: list[object] = []  # kept alive: the library calls them


def set_up(driver_connection: Any) -> None:
    """Set the limits of one connection, as far as its driver offers them."""
    if hasattr(driver_connection, "setlimit"):
        driver_connection.setlimit(LIMIT_LENGTH, VALUE_BYTES_MAX)
    if hasattr(driver_connection, "setconfig"):
        driver_connection.setconfig(PLAN_WITHOUT_VALUES)


def set_up_every_connection(driver: Any) -> None:
    """Set the limits of all later connections of a driver that offers neither call. The second call does nothing."""
    if CALLBACKS or hasattr(driver.Connection, "setlimit"):
        return
    extension = importlib.import_module(f"{driver.__name__.partition('.')[0]}._sqlite3").__file__
    library = ctypes.CDLL(extension)
    try:
        limit, configure = library.sqlite3_limit, library.sqlite3_db_config
        register = library.sqlite3_auto_extension
    except AttributeError:
        return  # this build hides the calls; a response is still bounded row by row
    limit.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int)
    configure.argtypes = (ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)

    def enter(handle: int | None, message: int | None, routines: int | None) -> int:
        limit(handle, LIMIT_LENGTH, VALUE_BYTES_MAX)
        configure(handle, PLAN_WITHOUT_VALUES, 1, None)
        return 0

    entry = ENTRY(enter)
    CALLBACKS.extend((library, entry))
    register(entry)

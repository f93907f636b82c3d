"""Connections to a SQLite file: their settings, deadlines and errors.

The driver is pysqlite3 if installed, since it brings a current SQLite, else the standard library's. Every connection is
set up and verified here: WAL, `synchronous = FULL`, foreign keys, no trusted schema. No other module opens the file.
SQLITE_LIMIT_LENGTH bounds one JSON text, since a nested embed could grow to gigabytes. SQLITE_DBCONFIG_ENABLE_QPSG
makes a plan for the statement and not for its bound values. Otherwise SQLite would prepare a statement again for each
value, which takes longer than running it. The standard driver offers the first call, and the second one since Python
3.12. pysqlite3 offers neither. For pysqlite3, an automatic extension of the library (`sqlite3_auto_extension`) sets up
every connection. Slow reads share one core of a process, so that short requests find the processor and the interpreter
free.
"""

from __future__ import annotations

import ctypes
import importlib
import math
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from engine.interface.database import (
    VALUE_BYTES_MAX,
    DiskFailed,
    DiskFull,
    FileCorrupt,
    Locked,
    NotADatabase,
    ResponseTooLarge,
    TimedOut,
)
from engine.query import catalog
from engine.query.dialect import sqlite_functions
from engine.schema.migrations import APPLICATION_ID, DEVELOPMENT_APPLICATION_ID, EARLIER_VERSION
from models import types
from models.types import Fault

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


SLOW_SECONDS: Final = 0.05  # of one transaction, from the first check of its deadline
PAUSE_SECONDS_MAX: Final = 0.25


class SlowStatements:
    """The slow reads of one process. Each pauses after a slice of work for as many slices as there are others."""

    def __init__(self) -> None:
        self.resumed_at: dict[int, float] = {}  # by connection

    def pause(self, connection: int, now: float) -> None:
        """Sleep in proportion to the other slow reads. `now` is the monotonic clock's time in seconds."""
        work = now - self.resumed_at.setdefault(connection, now)
        others = len(self.resumed_at) - 1
        if others and work:
            time.sleep(min(PAUSE_SECONDS_MAX, work * others))
        self.resumed_at[connection] = time.monotonic()

    def end(self, connection: int) -> None:
        """Forget a connection, whose transaction has ended."""
        self.resumed_at.pop(connection, None)


SLOW_STATEMENTS: Final = SlowStatements()


try:
    from pysqlite3 import dbapi2 as driver
except ImportError:  # no wheel for this platform
    import sqlite3 as driver


CACHED_STATEMENTS_MAX = 512
BUSY_MILLISECONDS = 5_000
NEVER = float("inf")  # the deadline of commands that read, such as a check
BUSY_STEP = 100  # milliseconds
WAL_BYTES_MAX = 64 << 20
# With SQLite's default of 2,000 KiB, an INSERT of 1,000 rows into a dozen indexes spills pages to the log before COMMIT
# and reads them again.
WRITER_CACHE_KIB = 8_000
# A worker opens one connection per concurrent statement. Lists are as fast as with 2,000 KiB.
READER_CACHE_KIB = 1_000
LARGE_CHARACTERS_MAX = 2_000_000  # of large statements in the driver's statement cache
# A check of the deadline takes the interpreter lock. This many opcodes last a millisecond.
OPCODES_PER_CHECK = 10_000
VERSION_MIN = (3, 43, 0)  # 3.40 refuses json_object() in triggers of an untrusted schema
VERSION_WITH_NOOP_CHECKPOINT = (3, 51, 0)  # reports the size of the log; older ones checkpoint instead
VERSION_SAFE = (3, 51, 3)  # below it, overlapping checkpoints can corrupt a file
CHECKPOINTS_IN_BACKGROUND = driver.sqlite_version_info >= VERSION_SAFE
CHECKPOINT_PAGES = 1_000  # of 4 KiB, SQLite's own default

PRAGMAS: tuple[tuple[str, object, object], ...] = (
    ("foreign_keys", "ON", 1),
    ("synchronous", "FULL", 2),
    ("trusted_schema", "OFF", 0),
    ("mmap_size", 0, 0),
    ("journal_size_limit", WAL_BYTES_MAX, WAL_BYTES_MAX),
)


HARMLESS = (
    TimedOut,
    ResponseTooLarge,
    Locked,
    catalog.UniqueViolation,
    catalog.ForeignKeyViolation,
    catalog.NotNullViolation,
    catalog.CheckViolation,
    types.OutOfRange,
)
"""Faults after which a connection stays usable. Any other fault closes it."""


class WrongSetting(RuntimeError):
    """A connection lacks a required setting and must not be used. The message is one line."""


class ForeignFile(WrongSetting):
    """The file is a database of another program or of a development version. It stays unchanged."""


class DriverConnection(driver.Connection):  # type: ignore[misc]
    """The driver's connection, with the application's state of it."""

    walkthrough: Connection

    def close(self) -> None:
        """Close the connection and drop its callbacks.

        The driver's reference to a callback is invisible to the garbage collector. It would keep the connection and its
        cached statements alive.
        """
        with suppress(driver.ProgrammingError):  # closed before
            self.set_progress_handler(None, 0)
        super().close()
        self.__dict__.pop("walkthrough", None)


class Connection:
    """The state of a driver's connection: its deadline, the faults of SQL functions, and whether it is broken.

    `version` is the data version of its last snapshot. `data_mark` is what `PRAGMA data_version` returned in it.
    """

    __slots__ = (
        "broken",
        "busy_milliseconds",
        "checked_at",
        "data_mark",
        "deadline",
        "driver_connection",
        "faults",
        "interruption",
        "large_characters",
        "version",
        "writable",
    )

    def __init__(self, driver_connection: Any, *, writable: bool) -> None:
        self.driver_connection = driver_connection
        self.writable = writable
        self.deadline = float("inf")
        self.checked_at = 0.0  # the first check of the current deadline
        self.faults: list[Fault] = []
        self.broken = False
        self.busy_milliseconds = BUSY_MILLISECONDS
        self.data_mark: int | None = None
        self.version: int | None = None
        self.large_characters = 0
        self.interruption: KeyboardInterrupt | None = None
        """A Ctrl-C during a deadline check. It stops the statement, and would otherwise be reported as a timeout."""

    @property
    def is_worn(self) -> bool:
        """Whether large statements fill the driver's statement cache, so that a new connection should replace this one.

        The driver caches 512 statements of any size and cannot drop one.
        """
        return self.large_characters > LARGE_CHARACTERS_MAX

    def wait_until(self, deadline: float) -> None:
        """Have SQLite wait until a deadline for programs that do not take the writer lock."""
        left = max(0.0, deadline - time.monotonic()) * 1_000
        # Rounded up to steps, so that few PRAGMAs are sent. The usual full wait sends none.
        wait = min(BUSY_MILLISECONDS, math.ceil(left / BUSY_STEP) * BUSY_STEP)
        if wait != self.busy_milliseconds:
            self.driver_connection.execute(f"PRAGMA busy_timeout = {wait}")
            self.busy_milliseconds = wait

    def pages_logged(self) -> tuple[int, int] | None:
        """Return the number of pages in the log and how many are checkpointed; None if SQLite cannot report it."""
        if driver.sqlite_version_info < VERSION_WITH_NOOP_CHECKPOINT:
            return None
        query = "PRAGMA wal_checkpoint(NOOP)"
        try:
            _, pages, checkpointed = self.driver_connection.execute(query).fetchone()
        except ERRORS:
            return None  # the next call reports it
        return int(pages), int(checkpointed)

    def failed(self, error: Exception) -> Exception:
        """Return the fault of a driver's error, and mark the connection as broken if needed. Raise a pending Ctrl-C."""
        fault = translate(error)
        if isinstance(error, ERRORS) and not isinstance(fault, HARMLESS):
            self.broken = True
        if self.interruption is not None:
            interruption, self.interruption = self.interruption, None
            raise interruption from error
        return fault

    def close(self) -> None:
        self.driver_connection.close()

    def end_deadline(self) -> None:
        """Remove the deadline: the transaction ends."""
        self.deadline = float("inf")
        if self.checked_at:
            self.checked_at = 0.0
            SLOW_STATEMENTS.end(id(self))

    def overdue(self) -> int:
        """Return 1 to stop the statement. SQLite calls this every OPCODES_PER_CHECK opcodes."""
        try:
            now = time.monotonic()
            if now > self.deadline:
                return 1
            if not self.checked_at:
                self.checked_at = now
            elif not self.writable and self.deadline < NEVER and now - self.checked_at > SLOW_SECONDS:
                SLOW_STATEMENTS.pause(id(self), now)
        except KeyboardInterrupt as interruption:
            self.interruption = interruption
            return 1
        return 0

    def in_time(self) -> int:
        """Return 1 before the deadline, else 0. A costly filter calls this for each value."""
        if time.monotonic() <= self.deadline:
            return 1
        if not self.faults:
            self.faults.append(TimedOut())
        return 0


set_up_every_connection(driver)


def connect(path: Path, *, writable: bool) -> Connection:
    """Open a connection of the application; raise WrongSetting."""
    driver_connection = driver.connect(
        path, cached_statements=CACHED_STATEMENTS_MAX, check_same_thread=False, factory=DriverConnection
    )
    try:
        driver_connection.walkthrough = connection = prepare(driver_connection, writable=writable)
    except BaseException:
        driver_connection.close()
        raise
    return connection


def prepare(driver_connection: Any, *, writable: bool) -> Connection:
    """Set up a new connection and verify its settings; raise WrongSetting."""
    if driver.sqlite_version_info < VERSION_MIN:
        raise WrongSetting(f"SQLite {driver.sqlite_version} is too old: 3.43 or later is needed")
    driver_connection.isolation_level = None
    set_up(driver_connection)
    run = driver_connection.execute
    run(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    for name, value, expected in PRAGMAS:
        run(f"PRAGMA {name} = {value}")
        actual = run(f"PRAGMA {name}").fetchone()[0]
        if actual != expected:
            raise WrongSetting(f"PRAGMA {name} is {actual}, not {expected}")
    if sys.platform == "darwin":
        run("PRAGMA fullfsync = 1")
        run("PRAGMA checkpoint_fullfsync = 1")
    mode = run("PRAGMA journal_mode").fetchone()[0]
    if mode != "wal":
        refuse_foreign(driver_connection)
        mode = run("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise WrongSetting(f"journal_mode is {mode}, not wal: is this a network or read-only disk?")
    connection = Connection(driver_connection, writable=writable)
    sqlite_functions.install(driver_connection, connection.faults)
    driver_connection.create_function("in_time", 0, connection.in_time)
    driver_connection.set_progress_handler(connection.overdue, OPCODES_PER_CHECK)
    if writable:
        run(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        # Since SQLite 3.51.3 a background thread checkpoints (wal.py).
        run(f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES if not CHECKPOINTS_IN_BACKGROUND else 0}")
    else:
        run(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
        run("PRAGMA query_only = 1")
    return connection


def refuse_foreign(driver_connection: Any) -> None:
    """Raise ForeignFile unless the file is empty or the application's own. Setting its journal mode would change it."""
    run = driver_connection.execute
    application_id = run("PRAGMA application_id").fetchone()[0]
    tables = run("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if application_id or tables:
        require_own(application_id)


def require_own(application_id: int) -> None:
    """Raise ForeignFile for a file of a development version or of another program."""
    if application_id == DEVELOPMENT_APPLICATION_ID:
        raise ForeignFile(EARLIER_VERSION)
    if application_id != APPLICATION_ID:
        raise ForeignFile("is another program's database")


NOT_NULL = re.compile(r"NOT NULL constraint failed: (\w+)\.(\w+)")

FAULTS: tuple[tuple[str, Callable[[str], Exception]], ...] = (
    ("UNIQUE constraint failed: ", catalog.unique_violation),
    ("CHECK constraint failed: ", catalog.CheckViolation),
    ("check:", catalog.CheckViolation),
    ("FOREIGN KEY constraint failed", lambda _: catalog.ForeignKeyViolation()),
    ("interrupted", lambda _: TimedOut()),
    ("string or blob too big", lambda _: ResponseTooLarge()),
    ("database or disk is full", lambda _: DiskFull("no space left on the device")),
    ("disk I/O error", lambda _: DiskFailed("the disk failed")),
    ("unable to open database file", lambda _: DiskFailed("the database file cannot be opened")),
    ("database disk image is malformed", lambda _: FileCorrupt("the database file is damaged")),
    ("Could not decode to UTF-8", lambda _: FileCorrupt("the database file is damaged")),
    ("malformed database schema", lambda _: FileCorrupt("the database file is damaged")),
    ("file is not a database", lambda _: NotADatabase("the database file is damaged")),
    ("attempt to write a readonly", lambda _: DiskFailed("the database cannot be written")),
    ("locking protocol", lambda _: Locked("canceling statement due to lock timeout")),
    ("integer overflow", lambda _: types.OutOfRange("bigint out of range")),
    ("database is locked", lambda _: Locked("canceling statement due to lock timeout")),
)
"""The prefixes of the driver's messages and their faults. The driver reports no extended error codes."""


ERRORS = (driver.Error, UnicodeDecodeError)
"""The errors of a driver. It raises UnicodeDecodeError if a damaged file garbles SQLite's message."""


def translate(error: Exception) -> Exception:
    """Return the fault of a driver's error; the error itself if a caller must not see it."""
    if isinstance(error, UnicodeDecodeError):
        return FileCorrupt("the database file is damaged")
    text = str(error)
    if match := NOT_NULL.match(text):
        return catalog.NotNullViolation(match[1], match[2])
    for prefix, make_fault in FAULTS:
        if text.startswith(prefix):
            return make_fault(text.removeprefix(prefix))
    return error


__all__ = ["driver"]

"""How a SQLite file is opened, bounded, and understood when it complains.

The driver is pysqlite3 where it is installed (it brings a current SQLite), the standard library's
elsewhere. Every connection is set up and read back here: WAL, FULL, foreign keys, no trust in the
schema. Nothing else in the house opens the file.
"""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

try:
    from pysqlite3 import dbapi2 as driver
except ImportError:  # no wheel for this platform
    import sqlite3 as driver

from engine.maintenance import migrations
from engine.query import constraints
from engine.storage import library_limits as switches
from engine.storage import sql_functions as functions
from models import types
from models.errors import Fault

# Development versions wrote "WALK" and counted `user_version` up to 12. The release counts from 1 again. Another id
# keeps the two apart, and stops a development version from opening a file of the release.
APPLICATION_ID = 0x574C4B31  # "WLK1"
DEVELOPMENT_APPLICATION_ID = 0x57414C4B  # "WALK"
BUSY_MILLISECONDS = 5_000
BUSY_STEP = 100  # milliseconds
WAL_BYTES_MAX = 64 << 20
# Of the connection that writes: of a thousand new rows, in a dozen indexes, SQLite's own 2,000 would be written to the
# log before their COMMIT, and read again, several times over.
WRITER_CACHE_KIB = 8_000
# Of each that reads: a worker opens as many as statements overlap, and lists go as often as with SQLite's own 2,000.
READER_CACHE_KIB = 1_000
LARGE_CHARACTERS_MAX = 2_000_000  # of large statements, each of which the driver may keep
# A look at the deadline takes the interpreter's lock; this many opcodes last a millisecond.
OPCODES_BETWEEN_LOOKS = 10_000
VERSION_MIN = (3, 43, 0)  # 3.40 refuses json_object() in triggers, where no schema is trusted
VERSION_THAT_TELLS = (3, 51, 0)  # how long its log is; older ones fold it when asked
VERSION_OF_JSONB_EACH = (3, 51, 0)  # json_each has each inner array parsed again
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


class TimedOut(Fault):
    """A statement that ran past its deadline and was stopped (57014)."""


class ResponseTooLarge(Fault):
    """More bytes of rows, or of one row, than a response may have (54000)."""

    def __init__(self) -> None:
        super().__init__(
            f"the response is larger than {switches.VALUE_BYTES_MAX} bytes",
            hint="Narrow the select or lower the limit.",
        )


class DiskFull(Fault):
    """No room for a write (53100)."""


class DiskFailed(Fault):
    """The disk or the file failed (58030)."""


class FileCorrupt(Fault):
    """The file is not a sound database any more (XX001)."""


class NotADatabase(FileCorrupt):
    """The file does not even begin like a database."""


DISK_FAULTS = (DiskFull, DiskFailed, FileCorrupt)
HARMLESS = (
    TimedOut,
    ResponseTooLarge,
    constraints.Locked,
    constraints.UniqueViolation,
    constraints.ForeignKeyViolation,
    constraints.NotNullViolation,
    constraints.CheckViolation,
    types.OutOfRange,
)
"""What leaves a connection as good as it was. After anything else it is dropped."""


class WrongSetting(RuntimeError):
    """A connection that is not what it must be; nothing is run on it. The message is one line."""


class ForeignFile(WrongSetting):
    """A sound database of another program or of a development version. It is not changed."""


class DriverConnection(driver.Connection):  # type: ignore[misc]
    """The driver's connection, with room for what we know of it."""

    walkthrough: Connection

    def close(self) -> None:
        """Close it, and let go of what it calls: the driver's own reference is in the way of the collector, and with
        it all the statements that the connection has kept would stay."""
        with suppress(driver.ProgrammingError):  # it is closed already
            self.set_progress_handler(None, 0)
        super().close()
        self.__dict__.pop("walkthrough", None)


class Connection:
    """A driver's connection, its deadline, the faults its functions noted, and whether it is broken.

    `version` is the data version of its last snapshot. `data_mark` is what `PRAGMA data_version` returned in it.
    """

    __slots__ = (
        "broken",
        "busy_milliseconds",
        "data_mark",
        "deadline",
        "driver_connection",
        "faults",
        "interruption",
        "large_characters",
        "version",
    )

    def __init__(self, driver_connection: Any) -> None:
        self.driver_connection = driver_connection
        self.deadline = float("inf")
        self.faults: list[Fault] = []
        self.broken = False
        self.busy_milliseconds = BUSY_MILLISECONDS
        self.data_mark: int | None = None
        self.version: int | None = None
        self.large_characters = 0
        self.interruption: KeyboardInterrupt | None = None
        """Ctrl-C while SQLite asked for the time: it stops the statement, and would be told as its end in time."""

    @property
    def is_worn(self) -> bool:
        """Whether the driver may keep so many large statements that a new connection is better: it keeps 512,
        however large, and forgets none when it is told to."""
        return self.large_characters > LARGE_CHARACTERS_MAX

    def wait_until(self, deadline: float) -> None:
        """Have SQLite wait until this moment for programs that do not take the writer lock."""
        left = max(0.0, deadline - time.monotonic()) * 1_000
        # In steps, so that the statements are few; the full wait, nearly always, costs nothing.
        wait = min(BUSY_MILLISECONDS, math.ceil(left / BUSY_STEP) * BUSY_STEP)
        if wait != self.busy_milliseconds:
            self.driver_connection.execute(f"PRAGMA busy_timeout = {wait}")
            self.busy_milliseconds = wait

    def pages_logged(self) -> tuple[int, int] | None:
        """How many pages the log has, and how many of them are in the file again; None if that cannot be told."""
        if driver.sqlite_version_info < VERSION_THAT_TELLS:
            return None
        question = "PRAGMA wal_checkpoint(NOOP)"
        try:
            _, pages, in_file = self.driver_connection.execute(question).fetchone()
        except ERRORS:
            return None  # what was committed stands, and the next one tells
        return int(pages), int(in_file)

    def failed(self, error: Exception) -> Exception:
        """Note what an error of the driver leaves of the connection; the error as a fact. Raises an interruption."""
        fault = translate(error)
        if isinstance(error, ERRORS) and not isinstance(fault, HARMLESS):
            self.broken = True
        if self.interruption is not None:
            interruption, self.interruption = self.interruption, None
            raise interruption from error
        return fault

    def overdue(self) -> int:
        """What SQLite asks every so many opcodes; 1 stops the statement."""
        try:
            return 1 if time.monotonic() > self.deadline else 0
        except KeyboardInterrupt as interruption:
            self.interruption = interruption
            return 1

    def in_time(self) -> int:
        """What a costly filter asks before each value: a thousand opcodes of it could last for seconds."""
        if time.monotonic() <= self.deadline:
            return 1
        if not self.faults:
            self.faults.append(timed_out())
        return 0


def timed_out() -> TimedOut:
    return TimedOut("canceling statement due to statement timeout")


switches.set_up_every_connection(driver)


def prepare(driver_connection: Any, *, writable: bool) -> Connection:
    """Set a fresh connection up, and make sure that the settings took."""
    if driver.sqlite_version_info < VERSION_MIN:
        raise WrongSetting(f"SQLite {driver.sqlite_version} is too old: 3.43 or later is needed")
    driver_connection.isolation_level = None
    switches.set_up(driver_connection)
    run = driver_connection.execute
    run(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
    for name, value, expected in PRAGMAS:
        run(f"PRAGMA {name} = {value}")
        found = run(f"PRAGMA {name}").fetchone()[0]
        if found != expected:
            raise WrongSetting(f"PRAGMA {name} is {found}, not {expected}")
    if sys.platform == "darwin":
        run("PRAGMA fullfsync = 1")
        run("PRAGMA checkpoint_fullfsync = 1")
    mode = run("PRAGMA journal_mode").fetchone()[0]
    if mode != "wal":
        refuse_foreign(driver_connection)
        mode = run("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise WrongSetting(f"journal_mode is {mode}, not wal: is this a network or read-only disk?")
    connection = Connection(driver_connection)
    functions.install(driver_connection, connection.faults)
    driver_connection.create_function("in_time", 0, connection.in_time)
    driver_connection.set_progress_handler(connection.overdue, OPCODES_BETWEEN_LOOKS)
    if writable:
        run(f"PRAGMA cache_size = -{WRITER_CACHE_KIB}")
        # Since SQLite 3.51.3 a background thread checkpoints (wal.py).
        run(
            f"PRAGMA wal_autocheckpoint = {CHECKPOINT_PAGES if not CHECKPOINTS_IN_BACKGROUND else 0}"
        )
    else:
        run(f"PRAGMA cache_size = -{READER_CACHE_KIB}")
        run("PRAGMA query_only = 1")
    return connection


def refuse_foreign(driver_connection: Any) -> None:
    """Raise ForeignFile unless a file is ours or empty: to set its mode would be to write to it."""
    run = driver_connection.execute
    application_id = run("PRAGMA application_id").fetchone()[0]
    tables = run("SELECT count(*) FROM sqlite_schema").fetchone()[0]
    if application_id or tables:
        require_own(application_id)


def require_own(application_id: int) -> None:
    """Raise ForeignFile for a file of a development version or of another program."""
    if application_id == DEVELOPMENT_APPLICATION_ID:
        raise ForeignFile(migrations.EARLIER_VERSION)
    if application_id != APPLICATION_ID:
        raise ForeignFile("is another program's database")


NOT_NULL = re.compile(r"NOT NULL constraint failed: (\w+)\.(\w+)")

Fact = Callable[[str], Exception]

FACTS: tuple[tuple[str, Fact], ...] = (
    ("UNIQUE constraint failed: ", constraints.unique_violation),
    ("CHECK constraint failed: ", constraints.CheckViolation),
    ("check:", constraints.CheckViolation),
    ("FOREIGN KEY constraint failed", lambda _: constraints.ForeignKeyViolation()),
    ("interrupted", lambda _: timed_out()),
    ("string or blob too big", lambda _: ResponseTooLarge()),
    ("database or disk is full", lambda _: DiskFull("no space left on the device")),
    ("disk I/O error", lambda _: DiskFailed("the disk failed")),
    ("unable to open database file", lambda _: DiskFailed("the database file cannot be opened")),
    ("database disk image is malformed", lambda _: FileCorrupt("the database file is damaged")),
    ("Could not decode to UTF-8", lambda _: FileCorrupt("the database file is damaged")),
    ("malformed database schema", lambda _: FileCorrupt("the database file is damaged")),
    ("file is not a database", lambda _: NotADatabase("the database file is damaged")),
    ("attempt to write a readonly", lambda _: DiskFailed("the database cannot be written")),
    ("locking protocol", lambda _: constraints.Locked("canceling statement due to lock timeout")),
    ("integer overflow", lambda _: types.OutOfRange("bigint out of range")),
    ("database is locked", lambda _: constraints.Locked("canceling statement due to lock timeout")),
)
"""How the driver's errors begin, and the facts they tell of. Its numbers are the primary codes only."""


ERRORS = (driver.Error, UnicodeDecodeError)
"""What a driver raises: also, when it cannot even read SQLite's own words about a damaged file."""


def translate(error: Exception) -> Exception:
    """A driver's error as the fact it tells of; what is no caller's business stays what it is."""
    if isinstance(error, UnicodeDecodeError):
        return FileCorrupt("the database file is damaged")
    text = str(error)
    if found := NOT_NULL.match(text):
        return constraints.NotNullViolation(found[1], found[2])
    for beginning, fact in FACTS:
        if text.startswith(beginning):
            return fact(text.removeprefix(beginning))
    return error


__all__ = [
    "APPLICATION_ID",
    "DEVELOPMENT_APPLICATION_ID",
    "DISK_FAULTS",
    "ERRORS",
    "HARMLESS",
    "VERSION_SAFE",
    "Connection",
    "DiskFailed",
    "DiskFull",
    "DriverConnection",
    "FileCorrupt",
    "ForeignFile",
    "NotADatabase",
    "ResponseTooLarge",
    "TimedOut",
    "WrongSetting",
    "driver",
    "prepare",
    "translate",
]  # fmt: skip

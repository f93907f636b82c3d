"""One transaction on one connection to a SQLite file. `engine/storage/database.py` begins and ends it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from engine.interface.clock import Clock
from engine.interface.database import NotCommitted, Parameters, TimedOut, Transaction, in_pages
from engine.interface.versioned_cache import VersionedCache
from engine.query.dialect.base import SqlDialect
from engine.query.statement import LARGE_CHARACTERS
from engine.storage import sqlite

# Each statement has its own savepoint, which costs more the larger the file is. A few fixed sizes let the driver
# reuse prepared statements.
ROWS_PER_STATEMENT = (100, 10, 1)


def with_row_count(sql: str, count: int) -> str:
    """Return an INSERT of `count` rows, made from an INSERT of one row.

    >>> with_row_count("INSERT INTO clients (name) VALUES (?)", 3)
    'INSERT INTO clients (name) VALUES (?), (?), (?)'
    """
    head, word, row = sql.partition(" VALUES ")
    return head + word + ", ".join([row] * count)


LAST_TIMESTAMP: Final = "SELECT at FROM audit_context"
PAST_TIMESTAMPS: Final = (
    f"{LAST_TIMESTAMP} UNION ALL SELECT moment FROM (SELECT strftime('%Y-%m-%dT%H:%M:%S+00:00',"  # noqa: S608
    " CAST(value AS INTEGER), 'unixepoch') AS moment FROM facts WHERE name = 'write_probe')"
    " WHERE moment IS NOT NULL"
)
"""The query for the timestamps in a file that must be past: its last change, and the last probe of its disk."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The statements that begin a transaction or savepoint, commit it and roll it back."""

    begin: str
    commit: tuple[str, ...]
    roll_back: tuple[str, ...]


TOP_LEVEL: Final = Bounds("BEGIN", ("COMMIT",), ("ROLLBACK",))


class SqliteTransaction(Transaction):
    """One transaction on one connection.

    All statements share one cursor, which the transaction closes. An open cursor would keep the snapshot, and with it
    the log, alive after COMMIT.
    """

    def __init__(
        self,
        connection: sqlite.Connection,
        dialect: SqlDialect,
        cache: VersionedCache,
        *,
        writes: bool = False,
        bounds: Bounds = TOP_LEVEL,
    ) -> None:
        self.cache = cache
        self.writes = writes
        self.bounds = bounds
        self.connection = connection
        self.cursor = connection.driver_connection.cursor()
        self.dialect = dialect
        self.began = 0.0  # Unix seconds, after BEGIN, which may have waited

    def begin(self, clock: Clock, *, resumes: bool = False) -> None:
        """Begin, and set the time it began. A transaction that `resumes` begins no earlier than the last timestamp in
        the file: another process may have written it with a clock that is ahead."""
        self.run(self.bounds.begin)
        try:
            self.began = clock()
            if resumes:
                self.resume_from(self.value(LAST_TIMESTAMP), clock)
        except BaseException:
            self.roll_back()
            raise

    def resume_from(self, stored: str | None, clock: Clock) -> None:
        """Set the time it began to a stored timestamp, if that is later. A malformed timestamp is ignored."""
        if stored is not None and stored > self.now:
            with suppress(ValueError):
                clock.advance(stored)
            self.began = clock()

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement; return the cursor, which the next statement reuses."""
        assert not self.dead, "a statement after an error"
        if time.monotonic() > self.connection.deadline:
            self.dead = True
            raise TimedOut()
        try:
            if self.pending_context is not None and not sql.startswith("SELECT"):
                self.send_pending_context()
            if len(sql) > LARGE_CHARACTERS:
                self.connection.large_characters += len(sql)
            return self.cursor.execute(sql, parameters)
        except (*sqlite.ERRORS, OverflowError) as error:
            raise self.failed(error) from error

    def insert_many(self, sql: str, parameters: Sequence[Parameters]) -> None:
        """Run one insert for many rows."""
        assert not self.dead, "a statement after an error"
        done = 0
        try:
            self.send_pending_context()
            for size in ROWS_PER_STATEMENT:
                statement = with_row_count(sql, size)
                while done + size <= len(parameters):
                    rows = parameters[done : done + size]
                    self.cursor.execute(statement, list(chain.from_iterable(rows)))
                    done += size
        except (*sqlite.ERRORS, OverflowError) as error:
            raise self.failed(error) from error

    def inserted_id(self, cursor: Any) -> int:
        """Return the id of the row that the last INSERT created."""
        row_id: int = cursor.lastrowid
        return row_id

    def inserted_ids(self, cursor: Any, count: int) -> Iterable[int]:
        """Return the ids of the rows that the last INSERT created, in order."""
        last = self.inserted_id(cursor)
        return range(last - count + 1, last + 1)

    def failed(self, error: Exception) -> Exception:
        """Return the fault of a driver's error. Mark the transaction as dead if the error may have ended it."""
        # A constraint violation rolls back its statement. Any other error may roll back the transaction; the next
        # statement would then commit by itself.
        is_sound = isinstance(error, sqlite.driver.IntegrityError) and self.is_open
        self.dead = self.dead or not is_sound
        return self.connection.failed(error)

    @property
    def is_open(self) -> bool:
        """Whether SQLite still has the transaction open: it rolls back by itself when the disk fails."""
        in_transaction: bool = self.connection.driver_connection.in_transaction
        return in_transaction

    def all(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """Run a query; return all rows."""
        cursor = self.run(sql, parameters)
        try:
            rows: list[Any] = cursor.fetchall()
        except sqlite.ERRORS as error:
            raise self.failed(error) from error
        if self.connection.faults:
            raise self.connection.faults[0]
        return rows

    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Any]:
        """Run a query; yield one row at a time. No other statement may run meanwhile."""
        yield from self.rows_of(self.run(sql, parameters))

    def rows_of(self, cursor: Any) -> Iterator[Any]:
        """Yield the rows of a cursor of `run`."""
        try:
            # `yield from` would close the shared cursor when a consumer stops early.
            for row in cursor:  # noqa: UP028
                yield row
        except sqlite.ERRORS as error:
            raise self.failed(error) from error
        if self.connection.faults:
            raise self.connection.faults[0]

    def pages(self, sql: str, rows_max: int) -> Iterator[list[Any]]:
        """Run a query; yield pages of rows (see `in_pages`). No other statement may run meanwhile."""
        cursor = self.run(sql)
        try:
            yield from in_pages(cursor, rows_max)
        except sqlite.ERRORS as error:
            raise self.failed(error) from error

    def read_version(self, data_version: Callable[[], int]) -> None:
        """Open the snapshot and set its data version; None if a commit intervenes.

        SQLite's mark is per connection. A connection that still has the mark of its last snapshot sees the same
        version. Otherwise a version that is the same before and after the snapshot opens is the snapshot's.
        """
        connection = self.connection
        mark = self.value("PRAGMA data_version")
        if connection.version is None or mark != connection.data_mark:
            connection.version = None  # an error leaves no version with another snapshot's mark
            self.run("COMMIT")
            before = data_version()
            self.run(self.bounds.begin)
            connection.data_mark = self.value("PRAGMA data_version")
            if data_version() == before:
                connection.version = before
        self.version = connection.version

    def send_before(self, sql: str, parameters: Parameters) -> None:
        """Run a statement before the one that is about to be run."""
        self.cursor.execute(sql, parameters)

    def end(self) -> bool:
        """Commit, or roll back if the transaction is rollback-only; return whether it was committed.

        Raise NotCommitted after an error that a caller swallowed.
        """
        if self.rollback_only:
            self.roll_back()
            return False
        if self.dead or not self.is_open:
            self.roll_back()
            raise NotCommitted("the transaction ended before its COMMIT")
        self.dead = True
        try:
            for statement in self.bounds.commit:
                self.cursor.execute(statement)
        except sqlite.ERRORS as error:
            fault = self.failed(error)
            self.roll_back()
            raise fault from error
        self.cursor.close()
        return True

    def roll_back(self) -> None:
        """Undo everything. Mark a connection that cannot roll back as broken."""
        self.dead = True
        try:
            if self.is_open:
                for statement in self.bounds.roll_back:
                    self.cursor.execute(statement)
            self.cursor.close()
        except sqlite.ERRORS:
            self.connection.broken = True

"""One transaction on one connection: it runs statements, and is committed whole or not at all.

After a database error it runs no further statement. `engine/storage/database.py` begins and ends transactions.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import suppress
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any, Final

from engine.query.dialect.base import SqlDialect
from engine.query.statement import LARGE_CHARACTERS
from engine.storage import sqlite
from engine.storage.clock import Clock, day_of
from engine.storage.replication_positions import ReplicationPositions
from engine.storage.versioned_cache import VersionedCache
from models.types import Bound, write_timestamp

Parameters = Sequence[Bound]

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


@lru_cache(maxsize=1)
def stored_timestamp(unix: float) -> str:
    """Return a Unix time as a stored timestamp. The last one is cached: a write needs it several times."""
    return write_timestamp(utc_datetime(unix))


def utc_datetime(unix: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(unix, datetime.UTC)


LAST_TIMESTAMP: Final = "SELECT at FROM audit_context"
PAST_TIMESTAMPS: Final = (
    f"{LAST_TIMESTAMP} UNION ALL SELECT moment FROM (SELECT strftime('%Y-%m-%dT%H:%M:%S+00:00',"  # noqa: S608
    " CAST(value AS INTEGER), 'unixepoch') AS moment FROM facts WHERE name = 'write_probe')"
    " WHERE moment IS NOT NULL"
)
"""The query for the timestamps in a file that must be past: its last change, and the last probe of its disk."""


class NotCommitted(RuntimeError):
    """A transaction that should commit cannot, because a caller swallowed an error. This is a programming error."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The statements that begin a transaction or savepoint, commit it and roll it back."""

    begin: str
    commit: tuple[str, ...]
    roll_back: tuple[str, ...]


PAGE_CHARACTERS_MAX = 2_000_000
"""The size at which a page is full. A thousand rows may hold 400 MB, and processing them takes several times that."""


def in_pages(rows: Iterable[Any], rows_max: int) -> Iterator[list[Any]]:
    """Yield rows in pages of `rows_max` rows, or fewer if they hold long texts."""
    page: list[Any] = []
    characters = 0
    for row in rows:
        page.append(row)
        characters += sum(len(value) for value in row if isinstance(value, str))
        if len(page) >= rows_max or characters >= PAGE_CHARACTERS_MAX:
            yield page
            page, characters = [], 0
    if page:
        yield page


TOP_LEVEL: Final = Bounds("BEGIN", ("COMMIT",), ("ROLLBACK",))


class Transaction:
    """One transaction on one connection. `now` is the time it began, in UTC.

    All statements share one cursor, which the transaction closes. An open cursor would keep the snapshot, and with it
    the log, alive after COMMIT.
    """

    reports_positions = False
    """The caller's look-up sets `positions`, because a replica may serve the read."""

    positions: ReplicationPositions | None = None

    time_zone: datetime.tzinfo = datetime.UTC
    """The zone of `today`, which the database sets."""

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
        self.actor_id: str | None = None
        self.pending_context: Parameters | None = None
        self.connection = connection
        self.cursor = connection.driver_connection.cursor()
        self.dialect = dialect
        self.began = 0.0  # Unix seconds, after BEGIN, which may have waited
        self.dead = False
        self.rollback_only = False
        self.version: int | None = None

    @property
    def unix(self) -> int:
        """When the transaction began, in whole Unix seconds."""
        return int(self.began)

    @property
    def moment(self) -> datetime.datetime:
        """When the transaction began."""
        return utc_datetime(self.began)

    @property
    def today(self) -> datetime.date:
        """The day on which the transaction began, in TIMEZONE."""
        return day_of(self.began, self.time_zone)

    @property
    def now(self) -> str:
        """When the transaction began, as a stored timestamp."""
        return stored_timestamp(self.began)

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
            raise sqlite.timed_out()
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
        cursor = self.run(sql, parameters)
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

    def one(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run a query; return the first row, or None."""
        rows = self.all(sql, parameters)
        return rows[0] if rows else None

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run a query; return the first column of the first row, or None."""
        row = self.one(sql, parameters)
        return row[0] if row is not None else None

    def cached(self, key: Hashable, compute: Callable[[], Any], bytes_of: Callable[[Any], int] | None = None) -> Any:
        """Return the cached value of `key` at this snapshot's data version; without a version, call `compute`.

        A transaction that writes caches nothing, since it may be rolled back.
        """
        if self.writes or self.version is None:
            return compute()
        return self.cache.get(self.version, key, compute, bytes_of)

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

    def set_actor(self, actor_id: str | None) -> None:
        """Set the user on whose behalf the transaction changes rows. The audit log's triggers read it, so it is sent
        before the first change."""
        self.actor_id = actor_id
        self.pending_context = (self.now, actor_id)

    def send_pending_context(self) -> None:
        """Send the audit context if it is pending."""
        if self.pending_context is not None:
            self.send_before(self.dialect.set_actor, self.pending_context)
            self.pending_context = None

    def send_before(self, sql: str, parameters: Parameters) -> None:
        """Run a statement before the one that is about to be run."""
        self.cursor.execute(sql, parameters)

    def roll_back_at_end(self) -> None:
        """Have `end` roll back instead of commit (`tx=rollback`)."""
        self.rollback_only = True

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


CURRENT: Final[ContextVar[Transaction | None]] = ContextVar("current_transaction", default=None)
"""The transaction that this thread has open. A read joins it; a write must not begin inside it."""

CurrentToken = Token[Transaction | None]

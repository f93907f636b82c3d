"""One transaction on one connection: what may be said on it, and how it ends.

It runs finished SQL text. It is kept whole or not at all, and after a database error nothing more is
said on it; when it may begin, and on which connection, is for `engine/storage/database.py` to say.
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from contextvars import Token
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any
from typing import Final

from engine.postgres.replication_positions import ReplicationPositions
from engine.query.dialect.base import SqlDialect
from engine.query.statement import LARGE_CHARACTERS
from engine.storage import sqlite
from engine.storage.clock import Clock
from engine.storage.versioned_cache import VersionedCache
from models.types import Bound
from models.types import write_timestamp

Parameters = Sequence[Bound]

# A statement has a savepoint of its own, whose end costs the more the larger the file is. Of few sizes, so
# that the driver finds each statement prepared.
ROWS_A_STATEMENT = (100, 10, 1)


def of_many_rows(sql: str, count: int) -> str:
    """An insert of so many rows, made from that of one.

    >>> of_many_rows("INSERT INTO inspectors (name) VALUES (?)", 3)
    'INSERT INTO inspectors (name) VALUES (?), (?), (?)'
    """
    head, word, row = sql.partition(" VALUES ")
    return head + word + ", ".join([row] * count)


@lru_cache(maxsize=1)
def stored_moment(unix: float) -> str:
    """A moment as it is stored: a write asks several times."""
    return write_timestamp(moment_of(unix))


def moment_of(unix: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(unix, datetime.UTC)


LAST_MOMENT: Final = "SELECT at FROM audit_context"
KNOWN_MOMENTS: Final = (
    f"{LAST_MOMENT} UNION ALL SELECT moment FROM (SELECT strftime('%Y-%m-%dT%H:%M:%S+00:00',"  # noqa: S608
    " CAST(value AS INTEGER), 'unixepoch') AS moment FROM facts WHERE name = 'write_probe')"
    " WHERE moment IS NOT NULL"
)
"""Every moment of which a file knows that it is past: of its last change, and of the last look at its disk."""


class NotKept(RuntimeError):
    """A transaction that was to be kept and cannot be: an error in it was swallowed. Our bug."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The statements that begin a transaction, keep it and undo it."""

    begin: str
    keep: tuple[str, ...]
    undo: tuple[str, ...]


PAGE_CHARACTERS_MAX = 2_000_000
"""After which a page is full: a thousand rows may hold 400 MB, and whoever works on them makes several times that."""


def paged(rows: Iterable[Any], rows_max: int) -> Iterator[list[Any]]:
    """Rows in pages, of so many each, or fewer where they hold long texts."""
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


ALONE: Final = Bounds("BEGIN", ("COMMIT",), ("ROLLBACK",))


class Transaction:
    """One transaction on one connection. `now` is the moment it began, in UTC.

    All its statements share one cursor, so that none is left open when it ends: a half-read one would
    keep its snapshot alive, and with it the log, whatever COMMIT says.
    """

    tells_marks = False
    """The look-up of the caller is to note `marks`: there are standbys, which may answer instead."""

    marks: ReplicationPositions | None = None

    def __init__(
        self,
        connection: sqlite.Connection,
        dialect: SqlDialect,
        cache: VersionedCache,
        *,
        writes: bool = False,
        bounds: Bounds = ALONE,
    ) -> None:
        self.cache = cache
        self.writes = writes
        self.bounds = bounds
        self.actor_id: str | None = None
        self.says_first: Parameters | None = None
        self.connection = connection
        self.cursor = connection.driver_connection.cursor()
        self.dialect = dialect
        self.began = 0.0  # a moment after BEGIN, which may have waited
        self.dead = False
        self.doomed = False
        self.version: int | None = None

    @property
    def unix(self) -> int:
        """The transaction's moment in whole Unix seconds."""
        return int(self.began)

    @property
    def moment(self) -> datetime.datetime:
        """The transaction's moment."""
        return moment_of(self.began)

    @property
    def now(self) -> str:
        """The transaction's moment as a stored timestamp."""
        return stored_moment(self.began)

    def begin(self, clock: Clock, *, resumes: bool = False) -> None:
        """Begin; its moment is the one in which the database had let it. One that `resumes` goes on from the last
        moment in the file, which may be of a process whose clock is ahead."""
        self.run(self.bounds.begin)
        try:
            self.began = clock()
            if resumes:
                self.go_on_from(self.value(LAST_MOMENT), clock)
        except BaseException:
            self.roll_back()
            raise

    def go_on_from(self, stored: str | None, clock: Clock) -> None:
        """Begin no earlier than a stored moment; one that is none is written over."""
        if stored is not None and stored > self.now:
            with suppress(ValueError):
                clock.advance(stored)
            self.began = clock()

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement; the transaction's cursor, good until the next one."""
        assert not self.dead, "a statement after an error"
        if time.monotonic() > self.connection.deadline:
            self.dead = True
            raise sqlite.timed_out()
        try:
            if self.says_first is not None and not sql.startswith("SELECT"):
                self.say_first()
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
            self.say_first()
            for size in ROWS_A_STATEMENT:
                statement = of_many_rows(sql, size)
                while done + size <= len(parameters):
                    rows = parameters[done : done + size]
                    self.cursor.execute(statement, list(chain.from_iterable(rows)))
                    done += size
        except (*sqlite.ERRORS, OverflowError) as error:
            raise self.failed(error) from error

    def made_id(self, cursor: Any) -> int:
        """The id that the database gave the row of the insert just run."""
        made: int = cursor.lastrowid
        return made

    def made_ids(self, cursor: Any, count: int) -> Iterable[int]:
        """The ids that it gave the rows of the insert just run, one after the other."""
        last = self.made_id(cursor)
        return range(last - count + 1, last + 1)

    def failed(self, error: Exception) -> Exception:
        """Note what an error leaves of the transaction and its connection; the error as a fact."""
        # A constraint undoes its statement only; anything else may have undone the transaction, and
        # then the next statement would commit by itself.
        whole = isinstance(error, sqlite.driver.IntegrityError) and self.is_open
        self.dead = self.dead or not whole
        return self.connection.failed(error)

    @property
    def is_open(self) -> bool:
        """Whether the database still has the transaction: it ends one by itself when the disk fails."""
        found: bool = self.connection.driver_connection.in_transaction
        return found

    def all(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """Every row, read to the end."""
        cursor = self.run(sql, parameters)
        try:
            rows: list[Any] = cursor.fetchall()
        except sqlite.ERRORS as error:
            raise self.failed(error) from error
        if self.connection.faults:
            raise self.connection.faults[0]
        return rows

    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Any]:
        """Every row, one at a time; nothing else may run until that has ended."""
        cursor = self.run(sql, parameters)
        try:
            # `yield from` would close the cursor, which is all there is, for whoever stops in between.
            for row in cursor:  # noqa: UP028
                yield row
        except sqlite.ERRORS as error:
            raise self.failed(error) from error
        if self.connection.faults:
            raise self.connection.faults[0]

    def pages(self, sql: str, rows_a_page: int) -> Iterator[list[Any]]:
        """Every row, so many at a time, or as many as are no large texts; nothing else may run until the last page is
        read."""
        cursor = self.run(sql)
        try:
            yield from paged(cursor, rows_a_page)
        except sqlite.ERRORS as error:
            raise self.failed(error) from error

    def one(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first row, or None."""
        rows = self.all(sql, parameters)
        return rows[0] if rows else None

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first row's first column, or None."""
        row = self.one(sql, parameters)
        return row[0] if row is not None else None

    def cached(
        self,
        key: Hashable,
        compute: Callable[[], Any],
        bytes_of: Callable[[Any], int] | None = None,
        *,
        is_base: bool = False,
    ) -> Any:
        """Return the cached value of `key` at this snapshot's data version; without a version, call `compute`.

        A value that `is_base` is cached without a version too: later counts start from it (VersionedCache.latest). A
        transaction that writes caches nothing, since it may be rolled back.
        """
        if self.writes or (self.version is None and not is_base):
            return compute()
        return self.cache.get(self.version, key, compute, bytes_of)

    def learn_version(self, data_version: Callable[[], int]) -> None:
        """Open the snapshot and learn its data version; None where a commit comes in between.

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
        """Say on whose behalf the transaction changes rows: the audit trail's triggers ask, so it is said
        before the first change."""
        self.actor_id = actor_id
        self.says_first = (self.now, actor_id)

    def say_first(self) -> None:
        """Say what is to be said before a change."""
        if self.says_first is not None:
            self.say_before(self.dialect.set_actor, self.says_first)
            self.says_first = None

    def say_before(self, sql: str, parameters: Parameters) -> None:
        """Run a statement before the one that is about to be run."""
        self.cursor.execute(sql, parameters)

    def roll_back_at_end(self) -> None:
        """`tx=rollback`: everything happens, and nothing stays."""
        self.doomed = True

    def end(self) -> bool:
        """Keep what was done, unless it was doomed, or raise: whoever swallowed an error does not get
        half a transaction. Whether it was kept."""
        if self.doomed:
            self.roll_back()
            return False
        if self.dead or not self.is_open:
            self.roll_back()
            raise NotKept("the transaction ended before its COMMIT")
        self.dead = True
        try:
            for statement in self.bounds.keep:
                self.cursor.execute(statement)
        except sqlite.ERRORS as error:
            fault = self.failed(error)
            self.roll_back()
            raise fault from error
        self.cursor.close()
        return True

    def roll_back(self) -> None:
        """Undo everything. A connection that cannot even do that is given up, not kept half-way."""
        self.dead = True
        try:
            if self.is_open:
                for statement in self.bounds.undo:
                    self.cursor.execute(statement)
            self.cursor.close()
        except sqlite.ERRORS:
            self.connection.broken = True


OPEN: Final[ContextVar[Transaction | None]] = ContextVar("open_transaction", default=None)
"""The transaction that is under way here, which another joins, or must not begin beside."""

Opened = Token[Transaction | None]

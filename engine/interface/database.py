"""The interface of a database: snapshots for reading, one writer at a time, its transactions, and its faults.

A transaction ends with its block: it is committed whole if the block raises nothing, and rolled back otherwise. After a
database error a transaction runs no further statement. A `reading()` inside another one joins it, so that a caller's
rights and rows belong to one snapshot. Both engines raise the faults. `engine/query/catalog.py` has the faults of a
row.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Final, NoReturn, TypeVar

import sqlalchemy as sa

from engine.interface.clock import Clock, day_of
from engine.interface.versioned_cache import VersionedCache
from engine.query.dialect.base import SqlDialect
from models.audit_log import AuditLog
from models.types import Bound, Fault, write_timestamp

VALUE_BYTES_MAX = 32 << 20  # the limit of a whole response


class TimedOut(Fault, code="57014"):
    """A statement was stopped at its deadline."""

    def __init__(self) -> None:
        super().__init__("canceling statement due to statement timeout")


class ResponseTooLarge(Fault, code="54000"):
    """The rows exceed the limit of a response."""

    def __init__(self) -> None:
        super().__init__(
            f"the response is larger than {VALUE_BYTES_MAX} bytes", hint="Narrow the select or lower the limit."
        )


class DiskFull(Fault, code="53100"):
    """The disk is full."""


class DiskFailed(Fault, code="58030"):
    """The disk or the file failed."""


class FileCorrupt(Fault, code="XX001"):
    """The database is damaged."""


class NotADatabase(FileCorrupt):
    """The file has no SQLite header."""


DISK_FAULTS = (DiskFull, DiskFailed, FileCorrupt)


class TooManyConnections(Fault, code="53300"):
    """Every connection is in use (53300). A retry is right."""


class LockTimeout(Fault, code="55P03"):
    """The writer lock did not become free in time (55P03). A retry is right."""

    def __init__(self) -> None:
        super().__init__("canceling statement due to lock timeout", hint="Another write is under way; try again.")


class Locked(Fault, code="55P03"):
    """The writer lock was not available in time."""


class SerializationConflict(Locked):
    """The server rolled back this transaction, and its write can run alone (40001, 40P01)."""


class BeyondClient(SerializationConflict):
    """A write under the lock of one client decides rights or concerns another client."""

    def __init__(self) -> None:
        super().__init__("could not serialize access due to concurrent update")


class Unreachable(Fault, code="08006"):
    """The server does not answer or refuses the connection (08006). The client may retry."""


class OnlyReads(Unreachable):
    """The server accepts no writes, for example because it is a standby. It may become a primary."""

    def __init__(self) -> None:
        super().__init__("the database is read-only: it is a standby, or default_transaction_read_only is on")


class NotPermitted(Fault, code="42501", status=500):
    """The service's database user lacks a privilege.

    `reason` may name hidden tables, so commands print it and responses do not hold it.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("the service's database user lacks a privilege that it needs")
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.message}: {self.reason}"


class Unresolved(Unreachable, code="08007"):
    """The server did not answer a COMMIT (08007). A retry may write twice."""


class NotCommitted(RuntimeError):
    """A transaction that should commit cannot, because a caller swallowed an error. This is a programming error."""


Parameters = Sequence[Bound]
ENTRY = AuditLog.__table__


@dataclass(frozen=True, slots=True)
class ReplicationPositions:
    """The ids of two audit entries in a snapshot: the caller's last one, and the last one that decides rights.

    A replica's snapshot may replace the primary's if both have the same last entry that decides rights, and the replica
    has the caller's last entry (docs/decisions/0021). A later entry is no proof of it: writers of several clients
    commit in any order. Only PostgreSQL has replicas.
    """

    own: int | None
    rights: str | None

    def are_within(self, has_own: bool, rights: str | None) -> bool:
        """Return whether a snapshot may answer: whether it has the entry `own`, and its last rights entry."""
        return has_own and rights == self.rights


@lru_cache(maxsize=1)
def stored_timestamp(unix: float) -> str:
    """Return a Unix time as a stored timestamp. The last one is cached: a write needs it several times."""
    return write_timestamp(utc_datetime(unix))


def utc_datetime(unix: float) -> datetime.datetime:
    return datetime.datetime.fromtimestamp(unix, datetime.UTC)


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


class Transaction(ABC):
    """One transaction. `now` is the time it began, in UTC."""

    dialect: SqlDialect
    cache: VersionedCache
    writes: bool
    began: float
    """Unix seconds. A transaction that writes begins once it has the writer lock."""

    actor_id: str | None = None
    pending_context: Parameters | None = None
    version: int | None = None
    """The data version of the snapshot; None if the engine has none, or a commit intervened."""

    client_id: int | None = None
    """The only client whose rows the transaction may change and rely on; None for any."""

    rollback_only = False
    dead = False

    reports_positions = False
    """The caller's look-up sets `positions`, because a replica may serve the read."""

    positions: ReplicationPositions | None = None

    time_zone: datetime.tzinfo = datetime.UTC
    """The zone of `today`, which the database sets."""

    def require_client(self, client_id: int | None) -> None:
        """Raise BeyondClient if a row of this client may change before the COMMIT. None stands for no row."""
        if None not in (self.client_id, client_id) and client_id != self.client_id:
            raise BeyondClient

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

    @abstractmethod
    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement; return its cursor, which is valid until the next statement."""

    @abstractmethod
    def all(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """Run a query; return all rows."""

    @abstractmethod
    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Any]:
        """Run a query; yield one row at a time. No other statement may run meanwhile."""

    @abstractmethod
    def pages(self, sql: str, rows_max: int) -> Iterator[list[Any]]:
        """Run a query; yield pages of rows (see `in_pages`). No other statement may run meanwhile."""

    @abstractmethod
    def rows_of(self, cursor: Any) -> Iterator[Any]:
        """Yield the rows of a cursor of `run`."""

    @cached_property
    def statements(self) -> sa.Connection:
        """The transaction as a connection of SQLAlchemy."""
        return sa.Connection(engine_of(self.dialect), TransactionConnection(self))  # type: ignore[arg-type]

    def execute(self, statement: sa.Executable, parameters: Mapping[str, Bound] | None = None) -> sa.CursorResult[Any]:
        """Run a statement of SQLAlchemy; return its result, which is valid until the next statement.

        This takes 0.2 ms more than `run`, so what every request runs is compiled once: `compile_statement`.
        """
        return self.statements.execute(statement, parameters)

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

    @abstractmethod
    def insert_many(self, sql: str, parameters: Sequence[Parameters]) -> None:
        """Run one insert for many rows."""

    @abstractmethod
    def inserted_id(self, cursor: Any) -> int:
        """Return the id of the row that the last INSERT created."""

    @abstractmethod
    def inserted_ids(self, cursor: Any, count: int) -> Iterable[int]:
        """Return the ids of the rows that the last INSERT created, in order."""

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether the database still has the transaction open: an error may have ended it."""

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

    @abstractmethod
    def send_before(self, sql: str, parameters: Parameters) -> None:
        """Run a statement before, or together with, the one that is about to be run."""

    def roll_back_at_end(self) -> None:
        """Have `end` roll back instead of commit (`tx=rollback`)."""
        self.rollback_only = True

    @abstractmethod
    def end(self) -> bool:
        """Commit, or roll back if the transaction is rollback-only; return whether it was committed.

        Raise NotCommitted after an error that a caller swallowed.
        """

    @abstractmethod
    def roll_back(self) -> None:
        """Undo everything. Mark a connection that cannot roll back as broken."""


class TransactionCursor:
    """The cursor on which SQLAlchemy runs one statement of a transaction."""

    def __init__(self, transaction: Transaction) -> None:
        self.transaction = transaction

    def execute(self, sql: str, parameters: Parameters = ()) -> None:
        cursor = self.transaction.run(sql, parameters)
        self.description = cursor.description
        self.rowcount: int = cursor.rowcount
        self.lastrowid: int | None = getattr(cursor, "lastrowid", None)
        self.rows = self.transaction.rows_of(cursor) if cursor.description else iter(())

    def fetchone(self) -> Any:
        return next(self.rows, None)

    def fetchall(self) -> list[Any]:
        return list(self.rows)

    def close(self) -> None:
        """Do nothing: the transaction owns the driver's cursor."""


@dataclass(frozen=True, slots=True)
class TransactionConnection:
    """The connection on which SQLAlchemy runs statements. SQLAlchemy neither begins nor ends the transaction."""

    transaction: Transaction
    is_valid = True

    def cursor(self) -> TransactionCursor:
        return TransactionCursor(self.transaction)


class DriverErrors:
    """The errors of a driver, as SQLAlchemy asks for them. Transactions raise faults, which SQLAlchemy passes on."""

    class Error(Exception):
        """The base class of errors that SQLAlchemy would wrap. None is raised."""


@cache
def engine_of(dialect: SqlDialect) -> sa.Engine:
    """Return an engine that compiles statements and caches the result. It opens no connection."""
    dialect.sa_dialect.dbapi = DriverErrors  # type: ignore[assignment]
    return sa.Engine(sa.NullPool(not_connecting), dialect.sa_dialect, sa.URL.create(dialect.name))


def not_connecting() -> NoReturn:
    raise AssertionError("statements run on the connection of a transaction")


CURRENT: Final[ContextVar[Transaction | None]] = ContextVar("current_transaction", default=None)
"""The transaction that this thread has open. A read joins it; a write must not begin inside it."""

CurrentToken = Token[Transaction | None]


def last_entry_of(actor_id: sa.ColumnElement[str]) -> sa.ScalarSelect[int]:
    """Return the subquery for an actor's last entry. Its expression selects the matching index (schema.sql)."""
    indexed = ENTRY.c.id + sa.literal_column("0")
    return sa.select(sa.func.max(indexed)).where(ENTRY.c.actor_id == actor_id).scalar_subquery()


def last_rights() -> sa.ColumnElement[str]:
    """Return the query for the last entry that decides rights."""
    return sa.func.last_rights(type_=sa.Text)


READ_SECONDS_MAX = 2.0
WRITE_SECONDS_MAX = 4.0
WRITE_WAIT_SECONDS_MAX = 5.0
PROBE_WAIT_SECONDS_MAX = 0.5
CONNECTIONS_MAX = 32  # one for each thread of a worker

Result = TypeVar("Result")


class Database(ABC):
    """One SQLite file or one PostgreSQL database, with its connections, cache and clock."""

    dialect: SqlDialect
    cache: VersionedCache
    clock: Clock

    path: Path | None = None
    """The file; None for a server."""

    observe_wait: Callable[[float], None] | None = None
    """Called with the seconds that a write waited for the lock."""

    time_zone: datetime.tzinfo = datetime.UTC
    """The zone of the transactions' days."""

    @abstractmethod
    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> AbstractContextManager[Transaction]:
        """Return the current transaction, or a new snapshot for reading only."""

    @abstractmethod
    def writing(
        self,
        seconds_max: float = WRITE_SECONDS_MAX,
        wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX,
        *,
        is_brief: bool = False,
        client_id: int | None = None,
    ) -> AbstractContextManager[Transaction]:
        """Return a transaction that writes; raise LockTimeout if the writer lock is not free in time.

        A brief transaction changes a few rows by their keys. It may share its COMMIT with others.
        `client_id`: the only client whose rows it changes. Writers of other clients may then write at the same time. It
        raises SerializationConflict if it has to run again without `client_id`.
        """

    @abstractmethod
    def is_writable(self) -> bool:
        """Try a write; return whether it succeeds. A writer lock that is not free is no failure."""

    @abstractmethod
    def close(self) -> None:
        """Close all idle connections."""

    @abstractmethod
    def shut_down(self, wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX) -> None:
        """Bring the database into the state in which the next start finds it fastest, and close all connections."""

    def is_file_replaced(self) -> bool:
        """Return whether the file was removed or replaced while it is open. A server has none."""
        return False

    def on_any_server(self, primary: Transaction, read: Callable[[], Result]) -> Result:
        """Return the result of `read`, computed on a replica if one is as current as the primary's snapshot."""
        return read()

    def read_server(self, primary: Transaction) -> str | None:
        """Return which kind of server serves reads now, `primary` or `standby`; None without replicas."""
        return None

    @abstractmethod
    def observe_reads(self, observe: Callable[[str, str], None]) -> None:
        """Have `observe` called with server and reason of each read, if there are replicas."""

"""One transaction: it runs statements, and is committed whole or not at all.

After a database error it runs no further statement. Each engine has a class of its own.
"""

from __future__ import annotations

import datetime
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextvars import ContextVar, Token
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

import sqlalchemy as sa

from engine.interface.clock import day_of
from engine.interface.faults import BeyondClient
from engine.interface.versioned_cache import VersionedCache
from engine.query.dialect.base import SqlDialect
from models.audit_log import AuditLog
from models.types import Bound, write_timestamp

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

    verifies_later = False
    """Whether `one_verified_later` may presume a row. The code that sets it handles StaleLookUp."""

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

    def one(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run a query; return the first row, or None."""
        rows = self.all(sql, parameters)
        return rows[0] if rows else None

    def one_verified_later(self, sql: str, parameters: Parameters) -> Any:
        """Return what `one` returns; or, with `verifies_later`, the row that the same query returned to an earlier
        transaction.

        The query then runs together with the next statement, in one round trip. If its row is another one, that
        statement raises StaleLookUp. Without a next statement, the end of the transaction raises it.
        """
        return self.one(sql, parameters)

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

"""One transaction on a session."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, Final

from engine.interface.clock import Clock
from engine.interface.database import (
    Locked,
    LockTimeout,
    NotCommitted,
    OnlyReads,
    Parameters,
    TimedOut,
    Transaction,
    in_pages,
)
from engine.interface.versioned_cache import VersionedCache
from engine.query.dialect.registry import DIALECTS
from postgres.session import ERRORS, GRACE_SECONDS, ServerSession, translate, translate_of_commit

BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
BEGIN_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
COMMIT: Final = "COMMIT"
ROLLBACK: Final = "ROLLBACK"
FETCH_ROWS: Final = 50  # of up to 400 KB each, unless a page has fewer rows


class ServerTransaction(Transaction):
    """One transaction on one session. Its BEGIN has been sent."""

    writes = False

    def __init__(self, session: ServerSession, cache: VersionedCache) -> None:
        self.session = session
        self.cache = cache
        self.actor_id = None
        self.dialect = DIALECTS["postgresql"]
        self.began = 0.0
        self.deadline = float("inf")
        self.dead = False
        self.rollback_only = False
        self.pending_context = None
        self.version = None  # PostgreSQL has no data version
        self.cursors = count()

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement; return its cursor."""
        if sql.startswith("ROLLBACK TO "):
            self.dead = not self.is_open
            return self.undo(sql)
        self.require_usable()
        try:
            if self.pending_context is not None and not sql.startswith("SELECT"):
                self.send_pending_context()
            cursor = self.session.run(sql, parameters)
        except ERRORS as error:
            raise self.failed(error) from error
        return cursor

    def require_usable(self) -> None:
        """Raise TimedOut after the deadline."""
        assert not self.dead, "a statement after an error"
        if time.monotonic() > self.deadline:
            self.dead = True
            raise TimedOut()

    def send_before(self, sql: str, parameters: Parameters) -> None:
        """Send a statement together with the next one."""
        self.session.send(sql, parameters)

    def insert_many(self, sql: str, parameters: Sequence[Parameters]) -> None:
        self.require_usable()
        try:
            self.send_pending_context()
            self.session.run_many(sql, parameters)
        except ERRORS as error:
            raise self.failed(error) from error

    def run_script(self, script: str) -> None:
        """Run several statements without parameters."""
        self.require_usable()
        try:
            self.session.run_script(script)
        except ERRORS as error:
            raise self.failed(error) from error

    def undo(self, sql: str) -> None:
        """Run a ROLLBACK, also to a savepoint."""
        try:
            self.session.undo(sql)
        except ERRORS as error:
            raise self.failed(error) from error

    def inserted_id(self, cursor: Any) -> int:
        row_id: int = cursor.fetchone()[0]
        return row_id

    def inserted_ids(self, cursor: Any, count: int) -> Iterable[int]:
        return [row_id for (row_id,) in cursor.fetchall()]

    def failed(self, error: Exception) -> Exception:
        """Return the fault of an error; no further statement may run."""
        self.dead = True
        return translate(error)

    @property
    def is_open(self) -> bool:
        return self.session.is_open

    def all(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        rows: list[Any] = self.run(sql, parameters).fetchall()
        return rows

    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Any]:
        yield from self.run(sql, parameters)

    def rows_of(self, cursor: Any) -> Iterator[Any]:
        yield from cursor

    def pages(self, sql: str, rows_max: int) -> Iterator[list[Any]]:
        name = f"pages_{next(self.cursors)}"
        self.run(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}")
        yield from in_pages(self.fetched(name, min(rows_max, FETCH_ROWS)), rows_max)
        self.run(f"CLOSE {name}")

    def fetched(self, cursor: str, rows_at_once: int) -> Iterator[Any]:
        """Yield the rows of a server-side cursor."""
        while rows := self.all(f"FETCH {rows_at_once} FROM {cursor}"):
            yield from rows

    def end(self) -> bool:
        if self.rollback_only:
            self.roll_back()
            return False
        if self.dead:
            self.roll_back()
            raise NotCommitted("the transaction ended before its COMMIT")
        self.dead = True
        self.commit()
        return True

    def commit(self) -> None:
        """End a snapshot without waiting for the result."""
        try:
            self.session.send_commit()
        except ERRORS as error:
            raise self.failed(error) from error

    def roll_back(self) -> None:
        self.dead = True
        try:
            self.session.send_rollback()
        except ERRORS:
            self.session.is_lost = True


NO_ACTOR_YET: Final[Parameters] = ()
"""The audit context of a write whose caller is not admitted yet. It replaces the actor of the previous write."""


class WriteTransaction(ServerTransaction):
    """A transaction that holds the writer lock or has requested it."""

    writes = True

    def __init__(
        self,
        session: ServerSession,
        cache: VersionedCache,
        clock: Clock,
        seconds_max: float,
        observe_wait: Callable[[float], None] | None,
        client_id: int | None,
    ) -> None:
        super().__init__(session, cache)
        self.client_id = client_id
        self.clock = clock
        self.seconds_max = seconds_max
        self.observe_wait = observe_wait
        self.requested_at = time.monotonic()
        self.has_lock = False
        self.pending_context = NO_ACTOR_YET

    def wait_for_lock(self) -> None:
        """Wait for the lock; raise LockTimeout if it is not free in time."""
        try:
            self.session.settle()
        except ERRORS as error:
            raise self.failed(error) from error
        self.note_lock()

    def note_lock(self) -> None:
        """Record that the lock is held: the transaction begins after the previous writer's."""
        self.has_lock = True
        now = time.monotonic()
        if self.observe_wait is not None:
            self.observe_wait(now - self.requested_at)
        self.lock_time = self.clock()
        self.deadline = now + self.seconds_max
        self.session.seconds_max = self.seconds_max + GRACE_SECONDS

    @property
    def began(self) -> float:
        """When the transaction got the lock, in Unix seconds."""
        if not self.has_lock:
            self.wait_for_lock()
        return self.lock_time

    @began.setter
    def began(self, unix: float) -> None:
        self.lock_time = unix

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        cursor = super().run(sql, parameters)
        if not self.has_lock:
            self.note_lock()
        return cursor

    def send_pending_context(self) -> None:
        if self.pending_context is NO_ACTOR_YET:
            self.set_actor(None)
        super().send_pending_context()

    def failed(self, error: Exception) -> Exception:
        fault = super().failed(error)
        if isinstance(fault, OnlyReads):
            self.session.is_read_only = True
        if self.has_lock or not isinstance(fault, Locked | TimedOut):
            return fault
        if self.observe_wait is not None:
            self.observe_wait(time.monotonic() - self.requested_at)
        return LockTimeout()

    def commit(self) -> None:
        try:
            self.session.settle()
            cursor = self.session.run(COMMIT)
        except ERRORS as error:
            if self.session.is_lost:
                self.session.stop_waiting()
            raise translate_of_commit(error) from error
        if cursor.statusmessage != COMMIT:
            raise NotCommitted("the transaction ended before its COMMIT")

    def roll_back(self) -> None:
        """Undo everything. Mark a session that cannot roll back as lost."""
        self.dead = True
        try:
            if not self.session.is_lost and not self.session.is_idle:
                self.session.undo(ROLLBACK)
        except ERRORS:
            self.session.is_lost = True

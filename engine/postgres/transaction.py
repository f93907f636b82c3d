"""One transaction of a session: what it runs, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import Any, Final

from engine.postgres.errors import ERRORS, translate, translate_of_commit
from engine.postgres.session import GRACE_SECONDS, Session
from engine.query.constraints import Locked, OnlyReads
from engine.query.dialect.registry import DIALECTS
from engine.storage.clock import Clock
from engine.storage.sqlite import TimedOut
from engine.storage.transaction import NotCommitted, Parameters, Transaction, in_pages
from engine.storage.versioned_cache import VersionedCache
from engine.storage.writer_lock import LockTimeout

BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
BEGIN_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
COMMIT: Final = "COMMIT"
ROLLBACK: Final = "ROLLBACK"
FETCH_ROWS: Final = 50  # of up to 400 KB each


class ServerTransaction(Transaction):
    """One transaction of one session, which has begun."""

    writes = False

    def __init__(self, session: Session, cache: VersionedCache) -> None:
        self.session = session
        self.cache = cache
        self.actor_id = None
        self.dialect = DIALECTS["postgresql"]
        self.began = 0.0
        self.deadline = float("inf")
        self.dead = False
        self.rollback_only = False
        self.pending_context = None
        self.version = None  # a server does not name its snapshots
        self.cursors = count()

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement, and return its cursor."""
        if sql.startswith("ROLLBACK TO "):
            self.dead = not self.is_open
            return self.undo(sql)
        self.require_usable()
        try:
            if self.pending_context is not None and not sql.startswith("SELECT"):
                self.send_pending_context()
            return self.session.run(sql, parameters)
        except ERRORS as error:
            raise self.failed(error) from error

    def require_usable(self) -> None:
        """Raise TimedOut after the deadline."""
        assert not self.dead, "a statement after an error"
        if time.monotonic() > self.deadline:
            self.dead = True
            raise TimedOut("canceling statement due to statement timeout")

    def send_before(self, sql: str, parameters: Parameters) -> None:
        """Send a statement together with the one that is about to be run."""
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
        """Run a ROLLBACK, or one to a savepoint."""
        try:
            self.session.undo(sql)
        except ERRORS as error:
            raise self.failed(error) from error

    def inserted_id(self, cursor: Any) -> int:
        made: int = cursor.fetchone()[0]
        return made

    def inserted_ids(self, cursor: Any, count: int) -> Iterable[int]:
        return [made for (made,) in cursor.fetchall()]

    def failed(self, error: Exception) -> Exception:
        """Return the fault of an error, after which nothing more may be run."""
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

    def pages(self, sql: str, rows_max: int) -> Iterator[list[Any]]:
        name = f"pages_{next(self.cursors)}"
        self.run(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}")
        yield from in_pages(self.fetched(name), rows_max)
        self.run(f"CLOSE {name}")

    def fetched(self, cursor: str) -> Iterator[Any]:
        """Return the rows of a cursor of the server's."""
        while rows := self.all(f"FETCH {FETCH_ROWS} FROM {cursor}"):
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
        """End a snapshot, which has nothing to lose."""
        try:
            self.session.send_commit()
        except ERRORS as error:
            raise self.failed(error) from error

    def roll_back(self) -> None:
        self.dead = True
        try:
            self.session.send_commit()  # which undoes a failed transaction, too
        except ERRORS:
            self.session.is_lost = True


UNNAMED: Final[Parameters] = ()
"""The audit context of a write whose caller is not admitted yet. It is no actor, and not that of the last write."""


class WriteTransaction(ServerTransaction):
    """The transaction that has the writer lock, or has asked for it."""

    writes = True

    def __init__(
        self,
        session: Session,
        cache: VersionedCache,
        clock: Clock,
        seconds_max: float,
        observe_wait: Callable[[float], None] | None,
    ) -> None:
        super().__init__(session, cache)
        self.clock = clock
        self.seconds_max = seconds_max
        self.observe_wait = observe_wait
        self.asked_at = time.monotonic()
        self.has_lock = False
        self.pending_context = UNNAMED

    def wait_for_lock(self) -> None:
        """Wait for the lock alone; LockTimeout if it does not come in time."""
        try:
            self.session.settle()
        except ERRORS as error:
            raise self.failed(error) from error
        self.note_lock()

    def note_lock(self) -> None:
        """Begin: the transaction's moment is after that of the writer before it."""
        self.has_lock = True
        now = time.monotonic()
        if self.observe_wait is not None:
            self.observe_wait(now - self.asked_at)
        self.moment_began = self.clock()
        self.deadline = now + self.seconds_max
        self.session.seconds_max = self.seconds_max + GRACE_SECONDS

    @property
    def began(self) -> float:
        """The moment in which the transaction got the lock, in Unix seconds."""
        if not self.has_lock:
            self.wait_for_lock()
        return self.moment_began

    @began.setter
    def began(self, moment: float) -> None:
        self.moment_began = moment

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        found = super().run(sql, parameters)
        if not self.has_lock:
            self.note_lock()
        return found

    def send_pending_context(self) -> None:
        if self.pending_context is UNNAMED:
            self.set_actor(None)
        super().send_pending_context()

    def failed(self, error: Exception) -> Exception:
        fault = super().failed(error)
        if isinstance(fault, OnlyReads):
            self.session.is_read_only = True
        if self.has_lock or not isinstance(fault, Locked):
            return fault
        if self.observe_wait is not None:
            self.observe_wait(time.monotonic() - self.asked_at)
        return LockTimeout()

    def commit(self) -> None:
        try:
            self.session.settle()
            done = self.session.run(COMMIT)
        except ERRORS as error:
            raise translate_of_commit(error) from error
        if done.statusmessage != COMMIT:
            raise NotCommitted("the transaction ended before its COMMIT")

    def roll_back(self) -> None:
        """Undo everything. A session that cannot do that is lost."""
        self.dead = True
        try:
            if not self.session.is_idle:
                self.session.undo(ROLLBACK)
        except ERRORS:
            self.session.is_lost = True

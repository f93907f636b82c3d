"""A PostgreSQL server as the application's database: the same transactions as on a file.

One writer at a time here too, by an advisory lock that lasts as long as its transaction: what a rule, a check or a
count has found still holds at the COMMIT, and no statement of another transaction overtakes it (docs/decisions/0020).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, TypeVar

import sqlalchemy as sa

from engine.postgres.errors import ERRORS, translate
from engine.postgres.replicas import Replicas
from engine.postgres.session import GRACE_SECONDS, Session, connect, milliseconds
from engine.postgres.transaction import BEGIN_READ, BEGIN_WRITE, ServerTransaction, WriteTransaction
from engine.query.constraints import Locked
from engine.query.dialect.registry import DIALECTS
from engine.storage.clock import Clock
from engine.storage.database import (
    LOCK_SECONDS_MAX,
    PROBE_WAIT_SECONDS_MAX,
    READ_SECONDS_MAX,
    WRITE_SECONDS_MAX,
    Database,
)
from engine.storage.pool import CONNECTIONS_MAX, TooManyConnections
from engine.storage.transaction import CURRENT, Transaction
from engine.storage.versioned_cache import VersionedCache
from engine.storage.writer_lock import LockTimeout
from models.errors import Fault

Answer = TypeVar("Answer")

WRITER_LOCK: Final = 0x57414C4B  # "WALK"
SET_TIMEOUT: Final = "SELECT set_config('statement_timeout', $1, true)"
SET_LOCK_TIMEOUT: Final = "SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', $1, true)"
LOCK: Final = f"SELECT pg_advisory_xact_lock({WRITER_LOCK}), set_config('statement_timeout', $1, true)"
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Statement = tuple[str, tuple[str, ...]]
"""SQL and its values."""


class SessionPool:
    """The sessions of a process with one server; the one used last is used next."""

    def __init__(self, make: Callable[[], Session]) -> None:
        self.make = make
        self.free = threading.Semaphore(CONNECTIONS_MAX)
        self.idle: deque[Session] = deque()
        self.generation = 0

    def take(self) -> Session:
        """Return an idle session, or a new one, to be given back. TooManyConnections if none is free in time."""
        if not self.free.acquire(timeout=LOCK_SECONDS_MAX):
            raise TooManyConnections("sorry, too many clients already")
        try:
            while (session := self.last_idle()) is not None:
                if not session.is_ended_by_server():
                    return session
                session.close()
                self.drop_idle()  # what ended this one has ended the others
            session = self.make()
            session.generation = self.generation
        except BaseException:
            self.free.release()
            raise
        return session

    def last_idle(self) -> Session | None:
        try:
            return self.idle.pop()
        except IndexError:
            return None

    def give_back(self, session: Session) -> None:
        """Keep a session that is idle, and close any other one."""
        if session.is_idle and not session.is_worn and session.generation == self.generation:
            self.idle.append(session)
        else:
            session.close()
        self.free.release()

    def drop_idle(self) -> None:
        """Close idle sessions, and those in use once they are given back."""
        self.generation += 1
        while (session := self.last_idle()) is not None:
            session.close()


class ServerDatabase(Database):
    """One PostgreSQL database: its sessions, and the ways to begin a transaction on one."""

    def __init__(self, url: sa.URL, replicas: Sequence[sa.URL] = ()) -> None:
        self.url = url
        self.path = None
        self.dialect = DIALECTS["postgresql"]
        self.writer_lock = None
        self.is_audited = True
        self.cache = VersionedCache()
        self.clock = Clock()
        self.replicas = Replicas(replicas) if replicas else None
        self.pool = SessionPool(lambda: connect(self.url, READ_SECONDS_MAX))

    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> AbstractContextManager[Transaction]:
        """One snapshot, for reading only: the one that is open, if one is."""
        already = CURRENT.get()
        return self.snapshot(seconds_max) if already is None else nullcontext(already)

    @contextmanager
    def snapshot(self, seconds_max: float) -> Iterator[Transaction]:
        begin: list[Statement] = [(BEGIN_READ, ())]
        if seconds_max != READ_SECONDS_MAX:
            begin.append((SET_TIMEOUT, (str(milliseconds(seconds_max)),)))
        session = self.begin_session(begin, seconds_max)
        transaction = self.transaction(session, seconds_max)
        transaction.reports_positions = self.replicas is not None
        with self.ending(transaction):
            yield transaction

    @contextmanager
    def writing(
        self,
        seconds_max: float = WRITE_SECONDS_MAX,
        wait_seconds_max: float = LOCK_SECONDS_MAX,
        *,
        is_brief: bool = False,
    ) -> Iterator[Transaction]:
        """The one transaction that writes; LockTimeout if another one has the lock for too long.

        READ COMMITTED: it sees what the writer before it committed. A brief write waits for the lock together with
        its first statement, which looks the caller up: it holds the lock for one round trip less."""
        assert CURRENT.get() is None, "a write inside a read would see an old snapshot"
        begin: list[Statement] = [
            (BEGIN_WRITE, ()),
            (SET_LOCK_TIMEOUT, (str(milliseconds(wait_seconds_max)),)),
            (LOCK, (str(milliseconds(seconds_max)),)),
        ]
        session = self.begin_session(begin, wait_seconds_max)
        transaction = WriteTransaction(session, self.cache, self.clock, seconds_max, self.observe_wait)
        with self.ending(transaction):
            if not is_brief:
                transaction.wait_for_lock()
            yield transaction

    def begin_session(self, statements: Sequence[Statement], seconds_max: float) -> Session:
        """Send what begins a transaction, on a session to be given back. Its answers come with those of the next
        statement. One that finds the session lost is sent once more, on a new one."""
        for is_last in (False, True):
            session = self.pool.take()
            try:
                session.seconds_max = seconds_max + GRACE_SECONDS
                for sql, values in statements:
                    session.send(sql, values)
            except ERRORS as error:
                self.give_back(session)
                if is_last or not session.is_lost:
                    raise translate(error) from error
            else:
                return session
        raise AssertionError("the last attempt returns or raises")

    def transaction(self, session: Session, seconds_max: float) -> ServerTransaction:
        """Return the snapshot that has begun on a session, of this moment."""
        made = ServerTransaction(session, self.cache)
        made.began = self.clock()
        made.deadline = time.monotonic() + seconds_max
        session.seconds_max = seconds_max + GRACE_SECONDS
        return made

    @contextmanager
    def ending(self, transaction: ServerTransaction) -> Iterator[None]:
        """Have a transaction be the open one for a block; commit it, or roll it back if the block raises."""
        token = CURRENT.set(transaction)
        try:
            try:
                yield
            finally:
                CURRENT.reset(token)
            transaction.end()
        except BaseException:
            transaction.roll_back()
            raise
        finally:
            self.give_back(transaction.session)

    def give_back(self, session: Session) -> None:
        """Keep a session for the next transaction, idle; close one that cannot be made idle."""
        if session.is_lost or session.is_read_only:
            self.forget_sessions()
        elif not session.is_idle:
            try:
                session.undo("ROLLBACK")
            except ERRORS:
                session.is_lost = True
        self.pool.give_back(session)

    def forget_sessions(self) -> None:
        """Begin anew: the other sessions lead to the same server. A successor of the server may have other audit
        lines under the same numbers, so the cache is emptied."""
        self.cache = VersionedCache()
        if self.replicas is not None:
            self.replicas.cache = VersionedCache()
        self.pool.drop_idle()

    def anywhere(self, primary: Transaction, read: Callable[[], Answer]) -> Answer:
        return read() if self.replicas is None else self.replicas.serve(primary, read)

    def read_server(self, primary: Transaction) -> str | None:
        if self.replicas is None:
            return None
        return "standby" if self.replicas.is_used_by(primary) else "primary"

    def observe_reads(self, tell: Callable[[str, str], None]) -> None:
        if self.replicas is not None:
            self.replicas.observe_read = tell

    def is_writable(self) -> bool:
        """Return whether a write succeeds. That another writer has the lock is no reason to doubt it."""
        try:
            with self.writing(wait_seconds_max=PROBE_WAIT_SECONDS_MAX) as transaction:
                transaction.run(PROBE, (str(transaction.unix),))
                transaction.roll_back_at_end()
        except (LockTimeout, Locked):
            return True
        except Fault:
            return False
        return True

    def close(self) -> None:
        """Close all sessions that are not in use."""
        self.pool.drop_idle()
        if self.replicas is not None:
            self.replicas.close()

    def shut_down(self, wait_seconds_max: float = LOCK_SECONDS_MAX) -> None:
        self.close()

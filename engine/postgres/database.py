"""A PostgreSQL database with the same transactions as an SQLite file.

Advisory locks last as long as their transaction. A write holds the writer lock alone; or, if it changes rows of one
client and decides no rights, it holds the writer lock shared, and the lock of that client alone. What an access rule, a
check or a count has read therefore still holds at COMMIT (docs/decisions/0028).
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Final, TypeVar

import sqlalchemy as sa

from engine.interface.clock import Clock
from engine.interface.database import (
    CONNECTIONS_MAX,
    PROBE_WAIT_SECONDS_MAX,
    READ_SECONDS_MAX,
    WRITE_SECONDS_MAX,
    WRITE_WAIT_SECONDS_MAX,
    Database,
)
from engine.interface.faults import Locked, LockTimeout, TooManyConnections
from engine.interface.transaction import CURRENT, Transaction
from engine.interface.versioned_cache import VersionedCache
from engine.postgres.errors import ERRORS, translate
from engine.postgres.replicas import Replicas
from engine.postgres.session import GRACE_SECONDS, ServerSession, connect, milliseconds
from engine.postgres.transaction import BEGIN_READ, BEGIN_WRITE, LookUps, ServerTransaction, WriteTransaction
from engine.query.dialect.registry import DIALECTS
from models.errors import Fault

Result = TypeVar("Result")

WRITER_LOCK: Final = 0x57414C4B  # "WALK"
SET_TIMEOUT: Final = "SELECT set_config('statement_timeout', $1, true)"
SET_LOCK_TIMEOUT: Final = "SELECT set_config('statement_timeout', $1, true), set_config('lock_timeout', $1, true)"
LOCK: Final = f"SELECT pg_advisory_xact_lock({WRITER_LOCK}), set_config('statement_timeout', $1, true)"
LOCK_CLIENT: Final = (
    f"SELECT pg_advisory_xact_lock_shared({WRITER_LOCK}),"
    f" pg_advisory_xact_lock({WRITER_LOCK}, ($2::text::bigint % {2**31 - 1})::int),"
    " set_config('walkthrough.client', $2::text, true), set_config('statement_timeout', $1, true)"
)
"""In this order: a writer that waits for the writer lock holds no lock of a client. A trigger refuses audit entries of
other clients, and those that decide rights (BeyondClient)."""
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Statement = tuple[str, tuple[str, ...]]
"""SQL and its values."""


class SessionPool:
    """The sessions of a process with one server. The session used last is used next."""

    def __init__(self, connect: Callable[[], ServerSession]) -> None:
        self.connect = connect
        self.free = threading.Semaphore(CONNECTIONS_MAX)
        self.idle: deque[ServerSession] = deque()
        self.generation = 0

    def take(self) -> ServerSession:
        """Return an idle session or a new one. Raise TooManyConnections if none is free in time."""
        if not self.free.acquire(timeout=WRITE_WAIT_SECONDS_MAX):
            raise TooManyConnections("sorry, too many clients already")
        try:
            while (session := self.pop_idle()) is not None:
                if not session.is_ended_by_server():
                    return session
                session.close()
                self.drop_idle()  # the others have ended for the same reason
            session = self.connect()
            session.generation = self.generation
        except BaseException:
            self.free.release()
            raise
        return session

    def pop_idle(self) -> ServerSession | None:
        try:
            return self.idle.pop()
        except IndexError:
            return None

    def give_back(self, session: ServerSession) -> None:
        """Keep an idle session; close any other one."""
        if session.is_idle and not session.is_worn and session.generation == self.generation:
            self.idle.append(session)
        else:
            session.close()
        self.free.release()

    def drop_idle(self) -> None:
        """Close idle sessions now, and the sessions in use once they are given back."""
        self.generation += 1
        while (session := self.pop_idle()) is not None:
            session.close()


class ServerDatabase(Database):
    """One PostgreSQL database: its sessions, cache and replicas."""

    def __init__(self, url: sa.URL, replicas: Sequence[sa.URL] = ()) -> None:
        self.url = url
        self.dialect = DIALECTS["postgresql"]
        self.cache = VersionedCache()
        self.clock = Clock()
        self.look_ups = LookUps()
        self.replicas = Replicas(replicas) if replicas else None
        self.pool = SessionPool(lambda: connect(self.url, READ_SECONDS_MAX))

    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> AbstractContextManager[Transaction]:
        """Return the current transaction, or a new snapshot for reading only."""
        current = CURRENT.get()
        return self.snapshot(seconds_max) if current is None else nullcontext(current)

    @contextmanager
    def snapshot(self, seconds_max: float) -> Iterator[Transaction]:
        begin: list[Statement] = [(BEGIN_READ, ())]
        if seconds_max != READ_SECONDS_MAX:
            begin.append((SET_TIMEOUT, (str(milliseconds(seconds_max)),)))
        session = self.begin_session(begin, seconds_max)
        transaction = self.transaction(session, seconds_max)
        transaction.reports_positions = self.replicas is not None
        with self.ending(transaction):
            try:
                yield transaction
            finally:
                transaction.verify()

    @contextmanager
    def writing(
        self,
        seconds_max: float = WRITE_SECONDS_MAX,
        wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX,
        *,
        is_brief: bool = False,
        client_id: int | None = None,
    ) -> Iterator[Transaction]:
        """Yield a transaction that writes; raise LockTimeout if the writer lock is not free in time.

        It is READ COMMITTED, so it sees the commit of the writer before it. With `client_id` it waits only for writers
        of that client and for those without. It raises SerializationConflict if it has to run without `client_id`.
        A brief write waits for the lock together with its first statement, the caller's look-up. It then holds the lock
        for one round trip less.
        """
        assert CURRENT.get() is None, "a write inside a read would see an old snapshot"
        limit = str(milliseconds(seconds_max))
        begin: list[Statement] = [
            (BEGIN_WRITE, ()),
            (SET_LOCK_TIMEOUT, (str(milliseconds(wait_seconds_max)),)),
            (LOCK, (limit,)) if client_id is None else (LOCK_CLIENT, (limit, str(client_id))),
        ]
        session = self.begin_session(begin, wait_seconds_max)
        transaction = WriteTransaction(session, self.cache, self.clock, seconds_max, self.observe_wait, client_id)
        with self.ending(transaction):
            if not is_brief:
                transaction.wait_for_lock()
            yield transaction

    def begin_session(self, statements: Sequence[Statement], seconds_max: float) -> ServerSession:
        """Send the statements that begin a transaction; return the session. Their results arrive with the next one's.

        If the session is lost, send them once more on a new one.
        """
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

    def transaction(self, session: ServerSession, seconds_max: float) -> ServerTransaction:
        """Return the snapshot that has begun on a session."""
        transaction = ServerTransaction(session, self.cache, self.look_ups)
        transaction.began = self.clock()
        transaction.deadline = time.monotonic() + seconds_max
        session.seconds_max = seconds_max + GRACE_SECONDS
        return transaction

    @contextmanager
    def ending(self, transaction: ServerTransaction) -> Iterator[None]:
        """Make a transaction the current one for a block. Commit it, or roll it back if the block raises."""
        transaction.time_zone = self.time_zone
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

    def give_back(self, session: ServerSession) -> None:
        """Return a session to the pool. Close it if it cannot be made idle."""
        if session.is_lost or session.is_read_only:
            self.forget_sessions()
        elif not session.is_idle:
            try:
                session.undo("ROLLBACK")
            except ERRORS:
                session.is_lost = True
        self.pool.give_back(session)

    def forget_sessions(self) -> None:
        """Drop all sessions and the cache, after a session was lost.

        A successor of the server may have other audit entries under the same numbers.
        """
        self.cache = VersionedCache()
        if self.replicas is not None:
            self.replicas.cache = VersionedCache()
        self.pool.drop_idle()

    def on_any_server(self, primary: Transaction, read: Callable[[], Result]) -> Result:
        return read() if self.replicas is None else self.replicas.serve(primary, read)

    def read_server(self, primary: Transaction) -> str | None:
        if self.replicas is None:
            return None
        return "standby" if self.replicas.is_used_by(primary) else "primary"

    def observe_reads(self, observe: Callable[[str, str], None]) -> None:
        if self.replicas is not None:
            self.replicas.observe_read = observe

    def is_writable(self) -> bool:
        """Try a write and roll it back; return whether it succeeds. A writer lock that is not free is no failure."""
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
        """Close all idle sessions."""
        self.pool.drop_idle()
        if self.replicas is not None:
            self.replicas.close()

    def shut_down(self, wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX) -> None:
        self.close()

"""A PostgreSQL database with the same transactions as a SQLite file, and its replicas (hot standbys).

Advisory locks last as long as their transaction. A write holds the writer lock alone. If it changes rows of one client
and decides no rights, it shares the lock and holds the client's lock alone. What an access rule, a check or a count has
read therefore still holds at COMMIT (docs/decisions/0028). A read uses one replica at most, on a session that is
already open. If the replica fails, the primary serves the read in the snapshot of the caller's look-up
(docs/decisions/0021).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from enum import Enum
from itertools import count
from typing import Final, TypeVar

import psycopg
import sqlalchemy as sa

from engine.interface.clock import Clock
from engine.interface.database import (
    CONNECTIONS_MAX,
    CURRENT,
    PROBE_WAIT_SECONDS_MAX,
    READ_SECONDS_MAX,
    WRITE_SECONDS_MAX,
    WRITE_WAIT_SECONDS_MAX,
    Database,
    DiskFailed,
    DiskFull,
    FileCorrupt,
    Locked,
    LockTimeout,
    ReplicationPositions,
    TimedOut,
    Transaction,
    Unreachable,
)
from engine.interface.pool import ConnectionPool
from engine.interface.versioned_cache import VersionedCache
from engine.query.dialect.registry import DIALECTS
from models.types import Fault
from postgres.session import ERRORS, GRACE_SECONDS, PoolerRefused, ServerSession, connect, milliseconds, translate
from postgres.transaction import BEGIN_READ, BEGIN_WRITE, ServerTransaction, WriteTransaction

Result = TypeVar("Result")


CHECK_SECONDS_MAX = 0.2  # it usually takes a fraction of a millisecond
STATEMENT_SECONDS_MAX = 1.0  # half of a read's time limit: the primary needs the rest
REPLAY_LOCK_SECONDS_MAX = 0.2  # replay holds its locks for a while
REPLICA_GRACE_SECONDS = 0.2  # the server ends its statements itself, and reports it
BACK_OFF_SECONDS = 1.0

TROUBLES = (Unreachable, Locked, DiskFull, DiskFailed, FileCorrupt)
"""Faults after which a replica is not used for BACK_OFF_SECONDS. A timeout is not one of them: a caller's slow reads
would take the replica from other callers."""

IDENTITY = (
    "SELECT system_identifier || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())"
    " FROM pg_control_system()"
)
CHECK = (
    "SELECT is_standby, $1::bigint IS NULL OR EXISTS (SELECT FROM audit_log WHERE id = $1::bigint), rights"
    " FROM snapshot_positions()"
)
POSITIONS = "SELECT last, rights FROM snapshot_positions()"


class Served(Enum):
    """Which server served a read, and why."""

    STANDBY = ("standby", "caught up")
    BEHIND = ("primary", "standby behind")
    AWAY = ("primary", "standby away")
    FAILED = ("primary", "standby failed")


class AnotherDatabase(Exception):
    """A server is not a replica of the primary."""


class ReplicaTransaction(ServerTransaction):
    """One snapshot of a replica."""

    is_servers_fault = False
    """An error was not caused by a value in the request, so the primary may serve the read."""

    def failed(self, error: Exception) -> Exception:
        fault = super().failed(error)
        state = error.sqlstate if isinstance(error, psycopg.Error) else None
        is_value_error = isinstance(error, psycopg.DataError) or (state or "").startswith("22")
        self.is_servers_fault = not is_value_error
        return fault


class Replica:
    """One replica: its idle sessions, and until when it must not be used."""

    def __init__(self, url: sa.URL) -> None:
        self.url = url
        self.identity: str | None = None
        self.idle: list[ServerSession] = []
        self.opened = 0
        self.is_opening = False
        self.backs_off_until = float("-inf")
        self.closed = False
        self.mutex = threading.Lock()

    @property
    def backs_off(self) -> bool:
        return time.monotonic() < self.backs_off_until

    def take(self) -> ServerSession | None:
        """Return an idle session. If there is none, return None and open one in the background."""
        if self.backs_off:
            return None
        with self.mutex:
            if self.idle:
                return self.idle.pop()
            if self.closed or self.is_opening or self.opened >= CONNECTIONS_MAX:
                return None
            self.is_opening = True
        # In a thread: a connection to a host that drops packets fails only after seconds.
        try:
            threading.Thread(target=self.open, name="replica", daemon=True).start()
        except RuntimeError:  # the system has no thread left
            self.is_opening = False
        return None

    def open(self) -> None:
        try:
            session = self.connect()
        except (Unreachable, AnotherDatabase, *ERRORS):
            self.back_off()
        else:
            with self.mutex:
                self.opened += 1
            self.give_back(session)
        finally:
            self.is_opening = False

    def connect(self) -> ServerSession:
        """Open a session; raise AnotherDatabase unless the server is a physical replica of the primary."""
        session = connect(self.url, STATEMENT_SECONDS_MAX, lock_timeout=str(milliseconds(REPLAY_LOCK_SECONDS_MAX)))
        try:
            if session.run(IDENTITY).fetchone() != (self.identity,):
                raise AnotherDatabase
        except BaseException:
            session.close()
            raise
        return session

    def begin(
        self, positions: ReplicationPositions, cache: VersionedCache, primary: Transaction
    ) -> ReplicaTransaction | Served:
        """Return a snapshot that has replayed up to the positions, or the reason why there is none."""
        session = self.take()
        if session is None:
            return Served.AWAY
        try:
            session.seconds_max = CHECK_SECONDS_MAX
            session.send(BEGIN_READ)
            is_standby, has_own, rights = session.run(CHECK, (positions.own,)).fetchone() or (False, False, None)
            session.seconds_max = STATEMENT_SECONDS_MAX + REPLICA_GRACE_SECONDS
        except ERRORS:
            self.back_off()
            self.give_back(session)
            return Served.AWAY
        if is_standby and positions.are_within(has_own, rights):
            transaction = ReplicaTransaction(session, cache)
            transaction.began, transaction.time_zone = primary.began, primary.time_zone
            return transaction
        if not is_standby:  # it was promoted
            self.back_off()
        self.give_back(session)
        return Served.BEHIND

    def give_back(self, session: ServerSession) -> None:
        """Keep a session that can be made idle; close any other one. If it is lost, close the idle ones too."""
        session.seconds_max = CHECK_SECONDS_MAX
        try:
            if session.is_open:
                session.send_commit()
        except ERRORS:
            session.is_lost = True
        with self.mutex:
            if session.is_idle and not session.is_worn and not self.closed:
                self.idle.append(session)
                return
            self.opened -= 1
        session.close()
        if session.is_lost:
            self.drop_idle()

    def back_off(self) -> None:
        """Do not use the replica for BACK_OFF_SECONDS."""
        self.backs_off_until = time.monotonic() + BACK_OFF_SECONDS

    def drop_idle(self) -> None:
        with self.mutex:
            dropped, self.idle = self.idle, []
            self.opened -= len(dropped)
        for session in dropped:
            session.close()

    def close(self) -> None:
        self.closed = True
        self.drop_idle()


class Replicas:
    """The replicas of a primary, used in rotation."""

    observe_read: Callable[[str, str], None] | None = None
    """Called with the server that served a read, and why."""

    def __init__(self, urls: Sequence[sa.URL]) -> None:
        self.all = [Replica(url) for url in urls]
        self.rotation = count()
        # Separate from the primary's cache: the replicas may hold older rows.
        self.cache = VersionedCache()

    def require_copies(self, identity: str) -> None:
        """Set the primary's identity.

        Raise AnotherDatabase if a replica that answers has another one, and PoolerRefused if a pooler answers.
        """
        for replica in self.all:
            replica.identity = identity
            try:
                replica.connect().close()
            except PoolerRefused:
                raise
            except (Unreachable, *ERRORS):
                continue

    def serve(self, primary: Transaction, read: Callable[[], Result]) -> Result:
        """Return the result of `read`: from a replica that has replayed far enough, else from the primary."""
        replica = self.next()
        if replica.identity is None:  # the primary was away when this process started
            replica.identity = primary.value(IDENTITY)
        positions = primary.positions or all_positions(primary)
        begun = replica.begin(positions, self.cache, primary)
        if isinstance(begun, Served):
            self.count(begun)
            return read()
        try:
            result = self.read_on(begun, read)
        except Exception as error:
            if not (begun.is_servers_fault or isinstance(error, TimedOut)):
                raise
            if isinstance(error, TROUBLES):
                replica.back_off()
        else:
            self.count(Served.STANDBY)
            return result
        finally:
            replica.give_back(begun.session)
        self.count(Served.FAILED)
        return read()

    def read_on(self, transaction: ReplicaTransaction, read: Callable[[], Result]) -> Result:
        transaction.deadline = time.monotonic() + STATEMENT_SECONDS_MAX
        token = CURRENT.set(transaction)
        try:
            result = read()
        finally:
            CURRENT.reset(token)
        transaction.end()
        return result

    def is_used_by(self, primary: Transaction) -> bool:
        """Return whether a replica would now serve a caller without recent writes."""
        positions = ReplicationPositions(None, all_positions(primary).rights)
        for replica in self.all:
            begun = replica.begin(positions, self.cache, primary)
            if isinstance(begun, ReplicaTransaction):
                replica.give_back(begun.session)
                return True
        return False

    def next(self) -> Replica:
        """Return the next usable replica in rotation, or any replica if none is usable."""
        number = next(self.rotation)
        usable = [each for each in self.all if not each.backs_off] or self.all
        return usable[number % len(usable)]

    def count(self, served: Served) -> None:
        if self.observe_read is not None:
            self.observe_read(*served.value)

    def close(self) -> None:
        for replica in self.all:
            replica.close()


def all_positions(primary: Transaction) -> ReplicationPositions:
    """Return the end of the whole audit log: a caller who is not a user has audit entries without a name."""
    return ReplicationPositions(*primary.one(POSITIONS))


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
other clients, and audit entries that decide rights (BeyondClient)."""
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', $1) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Statement = tuple[str, tuple[str, ...]]
"""SQL and its values."""


class SessionPool(ConnectionPool[ServerSession]):
    """The sessions of a process with one server."""

    def __init__(self, url: sa.URL) -> None:
        super().__init__(CONNECTIONS_MAX)
        self.url = url
        self.generation = 0

    def connect(self) -> ServerSession:
        session = connect(self.url, READ_SECONDS_MAX)
        session.generation = self.generation
        return session

    def has_ended(self, session: ServerSession) -> bool:
        return session.is_ended_by_server()

    def is_reusable(self, session: ServerSession) -> bool:
        return session.is_idle and not session.is_worn and session.generation == self.generation

    def drop_idle(self) -> None:
        """Close idle sessions now, and the sessions in use once they are given back."""
        self.generation += 1
        super().drop_idle()


class ServerDatabase(Database):
    """One PostgreSQL database: its sessions, cache and replicas."""

    def __init__(self, url: sa.URL, replicas: Sequence[sa.URL] = ()) -> None:
        self.url = url
        self.dialect = DIALECTS["postgresql"]
        self.cache = VersionedCache()
        self.clock = Clock()
        self.replicas = Replicas(replicas) if replicas else None
        self.pool = SessionPool(url)

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
            yield transaction

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
        transaction = ServerTransaction(session, self.cache)
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

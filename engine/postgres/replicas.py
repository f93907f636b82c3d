"""Replicas (hot standbys): which one may serve a read, and what happens if it fails.

A read uses one replica at most, on a session that is already open. If the replica fails, the primary serves the read in
the snapshot of the caller's look-up (docs/decisions/0021).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from enum import Enum
from itertools import count
from typing import TypeVar

import psycopg
import sqlalchemy as sa

from engine.interface.database import CONNECTIONS_MAX
from engine.interface.faults import DiskFailed, DiskFull, FileCorrupt, Locked, TimedOut, Unreachable
from engine.interface.transaction import CURRENT, ReplicationPositions, Transaction
from engine.interface.versioned_cache import VersionedCache
from engine.postgres.errors import ERRORS
from engine.postgres.session import PoolerRefused, ServerSession, connect, milliseconds
from engine.postgres.transaction import BEGIN_READ, ServerTransaction

Result = TypeVar("Result")

CHECK_SECONDS_MAX = 0.2  # it usually takes a fraction of a millisecond
STATEMENT_SECONDS_MAX = 1.0  # half of a read's time limit: the primary needs the rest
REPLAY_LOCK_SECONDS_MAX = 0.2  # replay holds its locks for a while
GRACE_SECONDS = 0.2  # the server ends its statements itself, and reports it
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
            session.seconds_max = STATEMENT_SECONDS_MAX + GRACE_SECONDS
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

"""A PostgreSQL server as the application's database: the same transactions as on a file.

Writers take turns here too, by an advisory lock that lasts as long as their transaction: what a rule was
asked, a check was told and a count found still holds when the write is kept, without a statement that
another transaction could overtake (docs/decisions/0020).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from collections.abc import Sequence
from contextlib import AbstractContextManager
from contextlib import nullcontext
from types import TracebackType
from typing import Any
from typing import TypeVar

import sqlalchemy as sa

from models.clock import Clock
from models.connections import CONNECTIONS_MAX
from models.connections import Busy
from models.connections import taken_from
from models.db import LOCK_SECONDS_MAX
from models.db import OPEN
from models.db import PROBE_WAIT_SECONDS_MAX
from models.db import READ_SECONDS_MAX
from models.db import Database
from models.faults import Fault
from models.server_group import TURN_KEY
from models.server_group import ServerGroup
from models.server_transaction import BEGIN_READ
from models.server_transaction import ServerTransaction
from models.sql import postgresql
from models.sql.constraints import Locked
from models.sql.constraints import Unreachable
from models.sql.dialect import SPELLINGS
from models.sql.direct import GRACE_SECONDS
from models.sql.direct import DirectSession
from models.sql.direct import Watch
from models.sql.writer_lock import LockTimeout
from models.standby import Standbys
from models.transaction import ALONE
from models.transaction import Bounds
from models.transaction import Opened
from models.transaction import Transaction
from models.versioned_cache import VersionedCache

Answer = TypeVar("Answer")
Begun = TypeVar("Begun", bound=ServerTransaction)

POOL = "pool"
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', $1)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


class ServerDatabase(Database):
    """One PostgreSQL database: its sessions, and the ways to begin a transaction on one."""

    def __init__(self, url: sa.URL, standbys: Sequence[sa.URL] = ()) -> None:
        self.url = url
        self.path = None
        self.spelling = SPELLINGS["postgresql"]
        self.writer_lock = None
        self.is_audited = True
        self.cache = VersionedCache()
        self.clock = Clock()
        self.standbys = Standbys(standbys) if standbys else None
        self.watch = Watch()
        self.idle_sessions: deque[sa.PoolProxiedConnection] = deque()
        self.sessions = sa.pool.QueuePool(
            self.connect,  # type: ignore[arg-type]
            pool_size=CONNECTIONS_MAX,
            max_overflow=0,
            timeout=LOCK_SECONDS_MAX,
            use_lifo=True,
            reset_on_return=None,
        )

    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> AbstractContextManager[Transaction]:
        """One snapshot, for reading only."""
        already = OPEN.get()
        if already is not None:
            return nullcontext(already)
        return ServerSnapshot(self, seconds_max)

    def anywhere(self, primary: Transaction, read: Callable[[], Answer]) -> Answer:
        if self.standbys is None:
            return read()
        return self.standbys.serve(primary, read)

    def read_by(self, primary: Transaction) -> str | None:
        if self.standbys is None:
            return None
        return "standby" if self.standbys.is_used_by(primary) else "primary"

    def tell_reads_to(self, tell: Callable[[str, str], None]) -> None:
        if self.standbys is not None:
            self.standbys.tell_read = tell

    def serve_in_runs(
        self, goes_on: Callable[[], bool], make_way: Callable[[], None]
    ) -> Callable[[bool], None]:
        """The server hands the turn on by itself."""
        return lambda at_rest: None

    def open_group(self, deadline: float, seconds_max: float, *, joins: bool) -> Group:
        """READ COMMITTED: whoever waited for the turn sees what it left."""
        asked = time.monotonic()
        begin = (
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0;"
            f" SET LOCAL lock_timeout = {postgresql.milliseconds(deadline - asked)};"
            f" SELECT pg_advisory_xact_lock({TURN_KEY});"
            f" SET LOCAL statement_timeout = {postgresql.milliseconds(seconds_max)}"
        )
        try:
            return ServerGroup(self.take(begin, deadline - asked))
        except Locked as error:
            raise LockTimeout() from error
        finally:
            if self.observe_wait is not None:
                self.observe_wait(time.monotonic() - asked)

    def begin_unit(
        self, group: Group, deadline: float, seconds_max: float
    ) -> tuple[Transaction, Opened]:
        assert isinstance(group, ServerGroup)
        unit = self.begun(group.taken, seconds_max, group.next_bounds())
        if unit.bounds.begin:
            unit.queue(unit.bounds.begin)
        return unit, OPEN.set(unit)

    def finish(self, transaction: Transaction, token: Opened, *, has_failed: bool = False) -> bool:
        OPEN.reset(token)
        if has_failed:
            transaction.roll_back()
            return False
        return transaction.end()

    def leave(self, group: Group, *, has_failed: bool = False) -> None:
        try:
            group.end()
        finally:
            self.give_back(group.taken)
        if not (has_failed and group.is_lost):
            group.require_kept()

    def begun(
        self, taken: Any, seconds_max: float, bounds: Bounds | None = None
    ) -> ServerTransaction:
        """A transaction that was begun on a session, or a unit of one that writes, within its bounds."""
        writes = bounds is not None
        made = ServerTransaction(
            taken.dbapi_connection,
            self.cache,
            writes=writes,
            bounds=bounds or ALONE,
        )
        made.tells_marks = self.standbys is not None and not writes
        return self.timed(made, seconds_max)

    def timed(self, made: Begun, seconds_max: float) -> Begun:
        """The same, with its moment and its end."""
        made.began = self.clock()
        made.deadline = time.monotonic() + seconds_max
        made.session.seconds_max = seconds_max + GRACE_SECONDS
        return made

    def take(self, begin: str, seconds_max: float) -> Any:
        """A session with a transaction begun on it, which may take so long, to be given back; where the server has
        left the one in the pool, all others are as dead."""
        for is_last in (False, True):
            taken = self.session()
            try:
                taken.dbapi_connection.seconds_max = seconds_max + GRACE_SECONDS
                taken.dbapi_connection.say(begin)
            except postgresql.ERRORS as error:
                self.give_back(taken)
                fault = postgresql.translate(error)
                if is_last or not isinstance(fault, Unreachable):
                    raise fault from error
                self.forget_sessions()
            else:
                return taken
        raise AssertionError("the last try returns or raises")

    def session(self) -> Any:
        """An idle session, to be given back."""
        try:
            return taken_from(self.idle_sessions) or self.opened()
        except sa.exc.TimeoutError as error:
            raise Busy("sorry, too many clients already") from error

    def opened(self) -> sa.PoolProxiedConnection:
        """A session of the pool, which notes whose it is."""
        taken = self.sessions.connect()
        taken.info[POOL] = self.sessions
        return taken

    def connect(self) -> DirectSession:
        """A new session, which is watched, and whose COMMITs are on the disk."""
        session: Any = postgresql.connect(self.url, READ_SECONDS_MAX)
        self.watch.over(session)
        postgresql.keep_commits(session)
        made: DirectSession = session
        return made

    def forget_sessions(self) -> None:
        """Begin anew; what is in use is closed when it is given back. Another server may have taken over meanwhile, to
        which a line of the trail is another one: what was cache under its number is told no more."""
        self.cache = VersionedCache()
        if self.standbys is not None:
            self.standbys.cache = VersionedCache()
        while idle := taken_from(self.idle_sessions):
            idle.invalidate()
            idle.close()
        old, self.sessions = self.sessions, self.sessions.recreate()
        old.dispose()

    def give_back(self, taken: Any) -> None:
        """Keep a session for the next one, idle; one that cannot be made idle is dropped."""
        session = taken.dbapi_connection
        try:
            session.queued.clear()
            if not session.is_idle:
                session.say("ROLLBACK")
        except postgresql.ERRORS:
            pass
        is_useless = session.is_given_up or session.is_outdated
        if is_useless:
            self.forget_sessions()  # they lead to the same silence, or were told the same
        if is_useless or not session.is_idle:
            taken.invalidate()
        # The way through the pool is a long one: it is for what is new or gone, or of a pool that is.
        if taken.is_valid and taken.info[POOL] is self.sessions:
            self.idle_sessions.append(taken)
        else:
            taken.close()

    def is_writable(self) -> bool:
        """Whether a write goes through; that others have the turn is no reason to doubt it."""
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
        while idle := taken_from(self.idle_sessions):
            idle.close()
        self.sessions.dispose()
        if self.standbys is not None:
            self.standbys.close()

    def shut_down(self, wait_seconds_max: float = LOCK_SECONDS_MAX) -> None:
        self.close()


class ServerSnapshot:
    """One snapshot of a server, for the time of a block; a class, as for a file."""

    __slots__ = ("database", "seconds_max", "taken", "token", "transaction")

    taken: Any
    token: Opened
    transaction: ServerTransaction

    def __init__(self, database: ServerDatabase, seconds_max: float) -> None:
        self.database = database
        self.seconds_max = seconds_max

    def __enter__(self) -> Transaction:
        database = self.database
        self.taken = database.take(beginning(self.seconds_max), self.seconds_max)
        self.transaction = database.begun(self.taken, self.seconds_max)
        self.token = OPEN.set(self.transaction)
        return self.transaction

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        OPEN.reset(self.token)
        try:
            if kind is None:
                self.transaction.end()
            else:
                self.transaction.roll_back()
        finally:
            self.database.give_back(self.taken)


def beginning(seconds_max: float) -> str:
    """What begins a read that may take so long."""
    if seconds_max == READ_SECONDS_MAX:
        return BEGIN_READ
    return f"{BEGIN_READ}; SET LOCAL statement_timeout = {postgresql.milliseconds(seconds_max)}"

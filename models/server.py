"""A PostgreSQL server as the application's database: the same transactions as on a file.

Writers take turns here too, by an advisory lock that lasts as long as their transaction: what a rule was
asked, a check was told and a count found still holds when the write is kept, without a statement that
another transaction could overtake (docs/decisions/0301).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Generator
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from typing import Any
from typing import TypeVar

import psycopg
import sqlalchemy as sa
from psycopg.pq import TransactionStatus

from models.clock import Clock
from models.db import CONNECTIONS_MAX
from models.db import OPEN
from models.db import PROBE_WAIT_SECONDS_MAX
from models.db import READ_SECONDS_MAX
from models.db import TURN_SECONDS_MAX
from models.db import WRITE_SECONDS_MAX
from models.db import Busy
from models.db import Database
from models.faults import Fault
from models.remembered import Remembered
from models.server_transaction import BEGIN_READ
from models.server_transaction import ServerTransaction
from models.sql import postgresql
from models.sql.constraints import Locked
from models.sql.constraints import Unreachable
from models.sql.dialect import SPELLINGS
from models.sql.turns import NoTurn
from models.sql.turns import no_turn
from models.standby import Standbys
from models.transaction import Transaction

Answer = TypeVar("Answer")

TURN_KEY = 0x57414C4B  # "WALK"
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', $1)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


class ServerDatabase(Database):
    """One PostgreSQL database: its sessions, and the ways to begin a transaction on one."""

    served_at_once = 2  # while one request waits for the server, another is worked on

    def __init__(self, url: sa.URL, standbys: Sequence[sa.URL] = ()) -> None:
        self.url = url
        self.path = None
        self.spelling = SPELLINGS["postgresql"]
        self.turns = None
        self.is_audited = True
        self.remembered = Remembered()
        self.clock = Clock()
        self.standbys = Standbys(standbys) if standbys else None
        self.sessions = sa.pool.QueuePool(
            lambda: postgresql.connect(url, READ_SECONDS_MAX),  # type: ignore[arg-type]
            pool_size=CONNECTIONS_MAX,
            max_overflow=0,
            timeout=TURN_SECONDS_MAX,
            use_lifo=True,
            reset_on_return=None,
        )

    @contextmanager
    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> Iterator[Transaction]:
        """One snapshot, for reading only."""
        already = OPEN.get()
        if already is not None:
            yield already
            return
        begin = BEGIN_READ
        if seconds_max != READ_SECONDS_MAX:
            begin += f"; SET LOCAL statement_timeout = {postgresql.milliseconds(seconds_max)}"
        with self.begun(begin) as session:
            transaction = ServerTransaction(session, self.remembered)
            transaction.tells_marks = self.standbys is not None
            yield from self.kept(transaction, seconds_max)

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

    @contextmanager
    def writing(
        self,
        seconds_max: float = WRITE_SECONDS_MAX,
        wait_seconds_max: float = TURN_SECONDS_MAX,
        *,
        is_brief: bool = False,
    ) -> Iterator[Transaction]:
        """The one transaction that writes. READ COMMITTED: whoever waited for the turn sees what it left."""
        assert OPEN.get() is None, "a write inside a read would see an old snapshot"
        begin = (
            "BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0;"
            f" SET LOCAL lock_timeout = {postgresql.milliseconds(wait_seconds_max)};"
            f" SELECT pg_advisory_xact_lock({TURN_KEY});"
            f" SET LOCAL statement_timeout = {postgresql.milliseconds(seconds_max)}"
        )
        asked = time.monotonic()
        try:
            taken = self.take(begin)
        except Locked as error:
            raise no_turn() from error
        finally:
            if self.tell_wait is not None:
                self.tell_wait(time.monotonic() - asked)
        try:
            transaction = ServerTransaction(taken.dbapi_connection, self.remembered, writes=True)
            yield from self.kept(transaction, seconds_max)
        finally:
            give_back(taken)

    def kept(
        self, transaction: ServerTransaction, seconds_max: float
    ) -> Generator[Transaction, None, bool]:
        """Hand a begun transaction over, and end it; whether it was kept."""
        transaction.began = self.clock()
        transaction.deadline = time.monotonic() + seconds_max
        token = OPEN.set(transaction)
        try:
            if transaction.writes and self.is_audited:
                transaction.act_as(None)
            yield transaction
        except BaseException:
            transaction.roll_back()
            raise
        finally:
            OPEN.reset(token)
        return transaction.end()

    @contextmanager
    def begun(self, begin: str) -> Iterator[psycopg.Connection[Any]]:
        """A session with a transaction begun on it, which goes back to the pool idle, or not at all."""
        taken = self.take(begin)
        try:
            yield taken.dbapi_connection
        finally:
            give_back(taken)

    def take(self, begin: str) -> Any:
        """A place in the pool; where the server has left the session there, all others are as dead."""
        for is_last in (False, True):
            try:
                taken: Any = self.sessions.connect()
            except sa.exc.TimeoutError as error:
                raise Busy("sorry, too many clients already") from error
            try:
                taken.dbapi_connection.execute(begin, prepare=False)
            except postgresql.ERRORS as error:
                give_back(taken)
                fault = postgresql.translate(error)
                if is_last or not isinstance(fault, Unreachable):
                    raise fault from error
                self.forget_sessions()
            else:
                return taken
        raise AssertionError("the last try returns or raises")

    def forget_sessions(self) -> None:
        """Begin anew; what is in use is closed when it is given back."""
        old, self.sessions = self.sessions, self.sessions.recreate()
        old.dispose()

    def is_writable(self) -> bool:
        """Whether a write goes through; that others have the turn is no reason to doubt it."""
        try:
            with self.writing(wait_seconds_max=PROBE_WAIT_SECONDS_MAX) as transaction:
                transaction.run(PROBE, (str(transaction.unix),))
                transaction.roll_back_at_end()
        except (NoTurn, Locked):
            return True
        except Fault:
            return False
        return True

    def close(self) -> None:
        self.sessions.dispose()
        if self.standbys is not None:
            self.standbys.close()

    def shut_down(self, wait_seconds_max: float = TURN_SECONDS_MAX) -> None:
        self.close()


def give_back(taken: Any) -> None:
    """Return a session to its pool, idle; one that cannot be made idle is dropped."""
    session = taken.dbapi_connection
    try:
        if session.info.transaction_status is not TransactionStatus.IDLE:
            session.execute("ROLLBACK", prepare=False)
    except postgresql.ERRORS:
        pass
    if session.info.transaction_status is not TransactionStatus.IDLE:
        taken.invalidate()
    taken.close()

"""Hot standbys: which of them may answer a read for the primary, and what happens when one cannot.

A read asks one standby at most, on a session that is open already: none is waited for. What a standby
cannot answer, the primary does, in the snapshot in which it looked the caller up (docs/decisions/0021).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from collections.abc import Sequence
from contextlib import suppress
from enum import Enum
from itertools import count
from typing import Any
from typing import TypeVar

import psycopg
import sqlalchemy as sa
from psycopg.pq import TransactionStatus

from models.connections import CONNECTIONS_MAX
from models.db import OPEN
from models.marks import Marks
from models.server_transaction import BEGIN_READ
from models.server_transaction import ServerTransaction
from models.sql import postgresql
from models.sql.constraints import Locked
from models.sql.constraints import Unreachable
from models.sql.sqlite import DiskFailed
from models.sql.sqlite import DiskFull
from models.sql.sqlite import FileCorrupt
from models.sql.sqlite import TimedOut
from models.transaction import Parameters
from models.transaction import Transaction
from models.versioned_cache import VersionedCache

Answer = TypeVar("Answer")

CHECK_SECONDS_MAX = 0.2  # an answer takes a fraction of a millisecond; who is silent is away
STATEMENT_SECONDS_MAX = 1.0  # half of a read's time: the primary needs the rest
LOCK_SECONDS_MAX = 0.2  # what replay holds locked, it holds for a while
GRACE_SECONDS = 0.2  # the server ends its statements itself, and says so
BACK_OFF_SECONDS = 1.0

TROUBLES = (Unreachable, Locked, DiskFull, DiskFailed, FileCorrupt)
"""A standby that has them is left alone. That a read takes too long or cannot be done is none: whoever asks
for such is not to take the standby from the others."""

IDENTITY = (
    "SELECT system_identifier || '/' || (SELECT oid FROM pg_database WHERE datname = current_database())"
    " FROM pg_control_system()"
)
BEGIN_CHECKED = (
    BEGIN_READ + "; SELECT is_standby, last, rights FROM snapshot_marks()"  # noqa: S608
)
MARKS = "SELECT last, rights FROM snapshot_marks()"


class Served(Enum):
    """Who answered a read, and why."""

    STANDBY = ("standby", "caught up")
    BEHIND = ("primary", "standby behind")
    AWAY = ("primary", "standby away")
    FAILED = ("primary", "standby failed")


class AnotherDatabase(Exception):
    """A server that answers, and is no copy of the primary."""


class Session(psycopg.Connection[Any]):
    """A session that is given up when its server falls silent, be it stopped or behind a dead wire."""

    seconds_max: float | None = None

    def wait(self, *arguments: Any, **named: Any) -> Any:
        try:
            return super().wait(*arguments, **{"timeout": self.seconds_max, **named})
        except psycopg.OperationalError:
            if self.pgconn.transaction_status is TransactionStatus.ACTIVE:
                self.pgconn.finish()
            raise


class StandbyTransaction(ServerTransaction):
    """One snapshot of a standby."""

    is_to_blame = False
    """An error was the server's, and not that of what was asked: the primary may know better."""

    def execute(self, sql: str, parameters: Parameters) -> Any:
        """By the driver's cursor: a session that waits is to be given up in time."""
        return self.cursor.execute(sql, parameters, prepare=True)

    def say(self, words: str) -> None:
        self.cursor.execute(words, prepare=False)

    def say_last(self, words: str) -> None:
        self.say(words)

    def failed(self, error: Exception) -> Exception:
        fact = super().failed(error)
        state = error.sqlstate if isinstance(error, psycopg.Error) else None
        asked_wrongly = isinstance(error, psycopg.DataError) or (state or "").startswith("22")
        self.is_to_blame = not asked_wrongly
        return fact


class Standby:
    """One standby: its idle sessions, and until when it is left alone."""

    def __init__(self, url: sa.URL) -> None:
        self.url = url
        self.identity: str | None = None
        self.idle: list[Session] = []
        self.opened = 0
        self.is_opening = False
        self.left_alone_until = float("-inf")
        self.closed = False
        self.mutex = threading.Lock()

    @property
    def is_left_alone(self) -> bool:
        return time.monotonic() < self.left_alone_until

    def take(self) -> Session | None:
        """An idle session; where there is none, one is opened for the reads to come."""
        if self.is_left_alone:
            return None
        with self.mutex:
            if self.idle:
                return self.idle.pop()
            if self.closed or self.is_opening or self.opened >= CONNECTIONS_MAX:
                return None
            self.is_opening = True
        # Beside the request: a host that swallows packets is noticed after seconds only.
        try:
            threading.Thread(target=self.open, name="standby", daemon=True).start()
        except RuntimeError:  # no thread to be had
            self.is_opening = False
        return None

    def open(self) -> None:
        try:
            session = self.connect()
            self.require_copy(session)
        except (Unreachable, AnotherDatabase, *postgresql.ERRORS):
            self.leave_alone()
        else:
            with self.mutex:
                self.opened += 1
            self.give_back(session)
        finally:
            self.is_opening = False

    def connect(self) -> Session:
        session: Any = postgresql.connect(self.url, STATEMENT_SECONDS_MAX, Session)
        session.seconds_max = postgresql.CONNECT_SECONDS_MAX
        session.execute(f"SET lock_timeout = {postgresql.milliseconds(LOCK_SECONDS_MAX)}")
        session.execute(postgresql.ENGLISH, prepare=False)
        if session.execute(postgresql.IS_TOLD, prepare=False).fetchone() != ("yes",):
            session.close()
            raise postgresql.NotTold
        found: Session = session
        return found

    def require_copy(self, session: Session) -> None:
        """Refuse a database that is not the primary's own, byte by byte."""
        row = session.execute(IDENTITY, prepare=False).fetchone()
        if row is None or row[0] != self.identity:
            session.close()
            raise AnotherDatabase

    def begin(
        self, marks: Marks, cache: VersionedCache, began: float
    ) -> StandbyTransaction | Served:
        """A snapshot that has got as far as the marks, or why there is none."""
        session = self.take()
        if session is None:
            return Served.AWAY
        try:
            session.seconds_max = CHECK_SECONDS_MAX
            answers = session.execute(BEGIN_CHECKED, prepare=False)
            answers.nextset()
            is_standby, last, rights = answers.fetchone() or (False, None, None)
            session.seconds_max = STATEMENT_SECONDS_MAX + GRACE_SECONDS
        except postgresql.ERRORS:
            self.leave_alone()
            self.give_back(session)
            return Served.AWAY
        if is_standby and marks.are_within(last, rights):
            transaction = StandbyTransaction(session, cache)
            transaction.began = began
            return transaction
        if not is_standby:  # it was promoted, and goes its own way
            self.leave_alone()
        self.give_back(session)
        return Served.BEHIND

    def give_back(self, session: Session) -> None:
        """Keep a session that is idle or can be made so; drop any other."""
        session.seconds_max = CHECK_SECONDS_MAX
        with suppress(*postgresql.ERRORS):
            if session.info.transaction_status is TransactionStatus.INTRANS:
                session.execute("COMMIT", prepare=False)  # a rollback costs the prepared statements
            elif session.info.transaction_status is TransactionStatus.INERROR:
                session.execute("ROLLBACK", prepare=False)
        with self.mutex:
            if session.info.transaction_status is TransactionStatus.IDLE and not self.closed:
                self.idle.append(session)
                return
            self.opened -= 1
        session.close()
        self.drop_idle()  # what ended this one has ended them too

    def leave_alone(self) -> None:
        """Ask it nothing for a moment."""
        self.left_alone_until = time.monotonic() + BACK_OFF_SECONDS

    def drop_idle(self) -> None:
        with self.mutex:
            dropped, self.idle = self.idle, []
            self.opened -= len(dropped)
        for session in dropped:
            session.close()

    def close(self) -> None:
        self.closed = True
        self.drop_idle()


class Standbys:
    """The standbys of a primary, asked in turns."""

    tell_read: Callable[[str, str], None] | None = None
    """Told which server served a read, and why."""

    def __init__(self, urls: Sequence[sa.URL]) -> None:
        self.all = [Standby(url) for url in urls]
        self.turns = count()
        # Beside the primary's: a change is the same on both, but the two may be at different ones.
        self.cache = VersionedCache()

    def know(self, identity: str) -> None:
        """Learn whose copies they have to be; AnotherDatabase if one answers that is none, NotTold if one is not asked
        itself."""
        for standby in self.all:
            standby.identity = identity
            try:
                session = standby.connect()
                standby.require_copy(session)
                session.close()
            except postgresql.NotTold:
                raise
            except (Unreachable, *postgresql.ERRORS):
                continue

    def serve(self, primary: Transaction, read: Callable[[], Answer]) -> Answer:
        """What a read answers: on a standby, if it has got far enough, else on the primary."""
        standby = self.next()
        if standby.identity is None:  # the primary was away when this process came
            standby.identity = primary.value(IDENTITY)
        marks = primary.marks or all_marks(primary)
        begun = standby.begin(marks, self.cache, primary.began)
        if isinstance(begun, Served):
            self.count(begun)
            return read()
        try:
            answered = self.answer(begun, read)
        except Exception as error:
            if not (begun.is_to_blame or isinstance(error, TimedOut)):
                raise
            if isinstance(error, TROUBLES):
                standby.leave_alone()
        else:
            self.count(Served.STANDBY)
            return answered
        finally:
            begun.roll_back()
            standby.give_back(begun.session)
        self.count(Served.FAILED)
        return read()

    def answer(self, transaction: StandbyTransaction, read: Callable[[], Answer]) -> Answer:
        transaction.deadline = time.monotonic() + STATEMENT_SECONDS_MAX
        outer = OPEN.set(transaction)
        try:
            answered = read()
        finally:
            OPEN.reset(outer)
        transaction.end()
        return answered

    def is_used_by(self, primary: Transaction) -> bool:
        """Whether a read by somebody who wrote nothing of late would be a standby's now."""
        marks = Marks(None, all_marks(primary).rights)
        for standby in self.all:
            begun = standby.begin(marks, self.cache, primary.began)
            if isinstance(begun, StandbyTransaction):
                begun.roll_back()
                standby.give_back(begun.session)
                return True
        return False

    def next(self) -> Standby:
        """The one whose turn it is, of those that are not left alone."""
        turn = next(self.turns)
        present = [each for each in self.all if not each.is_left_alone] or self.all
        return present[turn % len(present)]

    def count(self, served: Served) -> None:
        if self.tell_read is not None:
            self.tell_read(*served.value)

    def close(self) -> None:
        for standby in self.all:
            standby.close()


def all_marks(primary: Transaction) -> Marks:
    """The marks of somebody who is no user, whose lines bear no name: the whole trail."""
    return Marks(*primary.one(MARKS))

"""One transaction of a session: what it runs, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from itertools import count
from typing import Any
from typing import Final

import psycopg
from psycopg.pq import TransactionStatus

from engine.postgres.errors import ERRORS
from engine.postgres.errors import translate
from engine.postgres.errors import translate_of_commit
from engine.postgres.session import Session
from models.sql.constraints import OnlyReads
from models.sql.dialect import SPELLINGS
from models.sql.sqlite import TimedOut
from models.transaction import NotKept
from models.transaction import Parameters
from models.transaction import Transaction
from models.transaction import paged
from models.versioned_cache import VersionedCache

BEGIN_READ: Final = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
BEGIN_WRITE: Final = "BEGIN ISOLATION LEVEL READ COMMITTED"
COMMIT: Final = "COMMIT"
ROLLBACK: Final = "ROLLBACK"
FETCH_ROWS: Final = 50  # of up to 400 KB each


class ServerTransaction(Transaction):
    """One transaction of one session, which has begun."""

    def __init__(self, session: Session, cache: VersionedCache, *, writes: bool = False) -> None:
        self.session = session
        self.cache = cache
        self.writes = writes
        self.actor_id = None
        self.spelling = SPELLINGS["postgresql"]
        self.began = 0.0
        self.deadline = float("inf")
        self.dead = False
        self.doomed = False
        self.says_first = None
        self.version = None  # a server does not name its snapshots
        self.cursors = count()

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement, and return its cursor."""
        if sql.startswith("ROLLBACK TO "):
            self.dead = not self.is_open
            return self.undo(sql)
        self.require_usable()
        try:
            if self.says_first is not None and not sql.startswith("SELECT"):
                self.say_first()
            return self.session.run(sql, parameters)
        except ERRORS as error:
            raise self.failed(error) from error

    def require_usable(self) -> None:
        """Raise TimedOut after the deadline."""
        assert not self.dead, "a statement after an error"
        if time.monotonic() > self.deadline:
            self.dead = True
            raise TimedOut("canceling statement due to statement timeout")

    def say_before(self, sql: str, parameters: Parameters) -> None:
        """Send a statement together with the one that is about to be run."""
        self.session.send(sql, parameters)

    def insert_many(self, sql: str, parameters: Sequence[Parameters]) -> None:
        self.require_usable()
        try:
            self.say_first()
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

    def made_id(self, cursor: Any) -> int:
        made: int = cursor.fetchone()[0]
        return made

    def made_ids(self, cursor: Any, count: int) -> Iterable[int]:
        return [made for (made,) in cursor.fetchall()]

    def failed(self, error: Exception) -> Exception:
        """Return the fault of an error, after which nothing more may be run."""
        self.dead = True
        fault = translate(error)
        if isinstance(fault, OnlyReads):
            self.session.is_read_only = self.writes
        return fault

    @property
    def is_open(self) -> bool:
        return self.session.is_open

    def all(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        rows: list[Any] = self.run(sql, parameters).fetchall()
        return rows

    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Any]:
        yield from self.run(sql, parameters)

    def pages(self, sql: str, rows_a_page: int) -> Iterator[list[Any]]:
        name = f"pages_{next(self.cursors)}"
        self.run(f"DECLARE {name} NO SCROLL CURSOR FOR {sql}")
        yield from paged(self.fetched(name), rows_a_page)
        self.run(f"CLOSE {name}")

    def fetched(self, cursor: str) -> Iterator[Any]:
        """Return the rows of a cursor of the server's."""
        while rows := self.all(f"FETCH {FETCH_ROWS} FROM {cursor}"):
            yield from rows

    def end(self) -> bool:
        if self.doomed:
            self.roll_back()
            return False
        if self.dead or not self.is_whole:
            self.roll_back()
            raise NotKept("the transaction ended before its COMMIT")
        self.dead = True
        try:
            if self.writes:
                self.commit()
            else:
                self.session.send_commit()
        except ERRORS as error:
            raise self.failed(error) from error
        return True

    @property
    def is_whole(self) -> bool:
        """Whether a COMMIT would commit all of it. A read without statements has not waited for its BEGIN."""
        return not self.writes or self.session.info.transaction_status is TransactionStatus.INTRANS

    def commit(self) -> None:
        try:
            done = self.session.run(COMMIT)
        except psycopg.Error as error:
            raise translate_of_commit(error) from error
        if done.statusmessage != COMMIT:
            raise NotKept("the transaction ended before its COMMIT")

    def roll_back(self) -> None:
        """Undo everything. A session that cannot do that is lost."""
        self.dead = True
        try:
            if not self.writes:
                self.session.send_commit()  # which undoes a failed transaction, too
            elif self.is_open:
                self.session.undo(ROLLBACK)
        except ERRORS:
            self.session.is_lost = True

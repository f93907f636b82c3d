"""A transaction of one session of a PostgreSQL server: what may be said on it, and how it ends."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from psycopg.pq import TransactionStatus

from models.sql import postgresql
from models.sql.constraints import OnlyReads
from models.sql.dialect import SPELLINGS
from models.sql.sqlite import TimedOut
from models.transaction import ALONE
from models.transaction import Bounds
from models.transaction import NotKept
from models.transaction import Parameters
from models.transaction import Transaction
from models.transaction import paged
from models.versioned_cache import VersionedCache

BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"


class ServerTransaction(Transaction):
    """One transaction of one session."""

    def __init__(
        self,
        session: Any,
        cache: VersionedCache,
        *,
        writes: bool = False,
        bounds: Bounds = ALONE,
    ) -> None:
        self.cache = cache
        self.writes = writes
        self.bounds = bounds
        self.actor_id = None
        self.session = session
        self.spelling = SPELLINGS["postgresql"]
        self.began = 0.0
        self.deadline = float("inf")
        self.dead = False
        self.doomed = False
        self.says_first = None

    @cached_property
    def cursor(self) -> Any:
        """The driver's own, for what takes more than one call."""
        return self.session.cursor()

    def execute(self, sql: str, parameters: Parameters) -> Any:
        return self.session.run(sql, parameters)

    def say(self, words: str) -> None:
        """Run statements without parameters or rows."""
        self.session.say(words)

    def say_last(self, words: str) -> None:
        """The same, where nobody waits for it."""
        self.session.say_last(words)

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement, prepared; what it found is good until the next one."""
        if sql.startswith("ROLLBACK TO "):
            self.dead = not self.is_open
            # By itself: behind an error nothing else may be said, not even that room is made for its name.
            return self.run_script(sql)
        assert not self.dead, "a statement after an error"
        if time.monotonic() > self.deadline:
            self.dead = True
            raise TimedOut("canceling statement due to statement timeout")
        try:
            if self.says_first is not None and not sql.startswith("SELECT"):
                self.say_first()
            return self.execute(sql, parameters)
        except postgresql.ERRORS as error:
            raise self.failed(error) from error

    def queue(self, sql: str) -> None:
        """Have a statement sent together with the next one."""
        try:
            self.session.queue(sql)
        except postgresql.ERRORS as error:
            raise self.failed(error) from error

    def say_before(self, sql: str, parameters: Parameters) -> None:
        """Have it sent together with the statement that is about to be run."""
        self.session.queue(sql, parameters)

    def recall(self, question: Hashable, ask: Callable[[], Any]) -> Any:
        """Asked each time: a server does not tell whether anything has changed."""
        return ask()

    def snapshot(self) -> None:
        """Nor what its snapshot is."""

    def insert_many(self, sql: str, parameters: Sequence[Parameters]) -> None:
        assert not self.dead, "a statement after an error"
        try:
            self.say_first()
            self.session.settle()
            self.cursor.executemany(sql, parameters)
        except postgresql.ERRORS as error:
            raise self.failed(error) from error

    def run_script(self, script: str) -> None:
        """Run many statements without parameters at once."""
        try:
            self.say(script)
        except postgresql.ERRORS as error:
            raise self.failed(error) from error

    def made_id(self, cursor: Any) -> int:
        made: int = cursor.fetchone()[0]
        return made

    def made_ids(self, cursor: Any, count: int) -> Iterable[int]:
        return [made for (made,) in cursor.fetchall()]

    def failed(self, error: Exception) -> Exception:
        """Note that nothing more can be said; the error as a fact."""
        self.dead = True
        fact = postgresql.translate(error)
        if isinstance(fact, OnlyReads):
            self.session.only_reads = True
        return fact

    @property
    def status(self) -> TransactionStatus:
        return TransactionStatus(self.session.pgconn.transaction_status)

    @property
    def is_open(self) -> bool:
        return self.status in (TransactionStatus.INTRANS, TransactionStatus.INERROR)

    def all(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        rows: list[Any] = self.run(sql, parameters).fetchall()
        return rows

    def each(self, sql: str, parameters: Parameters = ()) -> Iterator[Any]:
        yield from self.run(sql, parameters)

    def pages(self, sql: str, rows_a_page: int) -> Iterator[list[Any]]:
        assert not self.dead, "a statement after an error"
        try:
            yield from paged(self.cursor.stream(sql), rows_a_page)
        except postgresql.ERRORS as error:
            raise self.failed(error) from error

    def end(self) -> bool:
        if self.doomed:
            self.roll_back()
            return False
        if self.dead or self.status is not TransactionStatus.INTRANS:
            self.roll_back()
            raise NotKept("the transaction ended before its COMMIT")
        self.dead = True
        for statement in self.bounds.keep:
            self.keep(statement)
        return True

    def keep(self, statement: str) -> None:
        """Say what keeps it: one that only read has nothing to lose, and one of a group is kept with the group."""
        if self.writes:
            self.queue(statement)
            return
        try:
            self.say_last(statement)
        except postgresql.ERRORS as error:
            raise self.failed(error) from error

    def roll_back(self) -> None:
        self.dead = True
        try:
            if self.is_open:
                self.undo()
        except postgresql.ERRORS:
            self.session.close()

    def undo(self) -> None:
        for statement in self.bounds.undo:
            self.say(statement)

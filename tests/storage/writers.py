"""A disk that can fail or wait, and threads that queue for the writer lock."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from engine.interface.database import Transaction
from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from tests.support.waiting import until

FOREVER = 30.0  # until a test that hangs is a test that fails
INSERT = "INSERT INTO facts (name, value) VALUES (?, 'there')"
COSTLY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
COSTLY_WRITE = f"INSERT INTO facts (name, value) SELECT 'costly', count(*) FROM ({COSTLY})"

Work = Callable[[Transaction], object]


class Disk:
    """The COMMITs that reach the driver, and their result."""

    def __init__(self) -> None:
        self.commits = 0
        self.failure: str | None = None
        self.begun = threading.Event()
        self.may_end = threading.Event()
        self.may_end.set()

    def commit(self) -> None:
        self.commits += 1
        self.begun.set()
        assert self.may_end.wait(FOREVER)
        if self.failure is not None:
            raise sqlite.driver.OperationalError(self.failure)


class Writers:
    """Threads that write one after the other, and the result of each: None, or an exception."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database
        self.results: dict[str, BaseException | None] = {}
        self.threads: list[threading.Thread] = []

    def enqueue(self, name: str, work: Work | None = None, **how: Any) -> None:
        """Start a writer behind the others, and wait until it is in the queue."""
        before = len(self.database.writer_lock.waiting)
        self.start(name, work, **how)
        until(lambda: len(self.database.writer_lock.waiting) > before)

    def start(
        self,
        name: str,
        work: Work | None = None,
        *,
        is_brief: bool = True,
        seconds_max: float = FOREVER,
        wait_seconds_max: float = FOREVER,
    ) -> None:
        """Start a writer that does its work, or inserts a row with its name."""
        arguments = (name, work or insert(name), is_brief, seconds_max, wait_seconds_max)
        thread = threading.Thread(target=self.write, args=arguments, daemon=True)
        thread.start()
        self.threads.append(thread)

    def write(self, name: str, work: Work, is_brief: bool, seconds_max: float, wait_seconds_max: float) -> None:
        try:
            with self.database.writing(seconds_max, wait_seconds_max, is_brief=is_brief) as transaction:
                work(transaction)
            self.results[name] = None
        except BaseException as error:  # noqa: BLE001 - the result
            self.results[name] = error

    def finish(self) -> dict[str, BaseException | None]:
        for thread in self.threads:
            thread.join(FOREVER)
            assert not thread.is_alive(), "a writer hangs"
        return self.results


def insert(name: str) -> Work:
    return lambda transaction: transaction.run(INSERT, (name,))


@contextmanager
def first(database: SqliteDatabase, name: str = "first", *, is_brief: bool = True) -> Iterator[None]:
    """A write that holds the lock until its block ends."""
    with database.writing(is_brief=is_brief) as transaction:
        transaction.run(INSERT, (name,))
        yield


def names(database: SqliteDatabase) -> list[str]:
    with database.reading() as transaction:
        rows = transaction.all("SELECT name FROM facts WHERE value = 'there' ORDER BY name")
    return [name for (name,) in rows]

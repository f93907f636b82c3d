"""A disk that can be told to fail or to wait, and writers who line up for their turn."""

from __future__ import annotations

import threading
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from engine.storage import sqlite
from engine.storage.database import Database
from engine.storage.transaction import Transaction
from tests.waiting import until

FOREVER = 30.0  # until a test that hangs is a test that fails
INSERT = "INSERT INTO facts (name, value) VALUES (?, 'there')"
COSTLY = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
COSTLY_WRITE = f"INSERT INTO facts (name, value) SELECT 'costly', count(*) FROM ({COSTLY})"

Work = Callable[[Transaction], object]


class Disk:
    """What reaches the driver's COMMIT: how often, and with what result."""

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
    """Threads that write one after the other, and what each was told: None, or an exception."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.told: dict[str, BaseException | None] = {}
        self.threads: list[threading.Thread] = []

    def line_up(self, name: str, work: Work | None = None, **how: Any) -> None:
        """Start one behind the others, and wait until it stands in the queue."""
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
    ) -> None:
        """Start one that does its work, or writes a row of its name."""
        arguments = (name, work or insert(name), is_brief, seconds_max)
        thread = threading.Thread(target=self.write, args=arguments, daemon=True)
        thread.start()
        self.threads.append(thread)

    def write(self, name: str, work: Work, is_brief: bool, seconds_max: float) -> None:
        try:
            with self.database.writing(seconds_max, is_brief=is_brief) as transaction:
                work(transaction)
            self.told[name] = None
        except BaseException as error:  # noqa: BLE001 - whatever it is told
            self.told[name] = error

    def finish(self) -> dict[str, BaseException | None]:
        for thread in self.threads:
            thread.join(FOREVER)
            assert not thread.is_alive(), "a writer hangs"
        return self.told


def insert(name: str) -> Work:
    return lambda transaction: transaction.run(INSERT, (name,))


@contextmanager
def first(database: Database, name: str = "first", *, is_brief: bool = True) -> Iterator[None]:
    """A write that has the turn until its block ends."""
    with database.writing(is_brief=is_brief) as transaction:
        transaction.run(INSERT, (name,))
        yield


def names(database: Database) -> list[str]:
    with database.reading() as transaction:
        rows = transaction.all("SELECT name FROM facts WHERE value = 'there' ORDER BY name")
    return [name for (name,) in rows]

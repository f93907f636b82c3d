"""The only ways to a connection: `reading()` for one snapshot, `writing()` for one turn to write.

A transaction runs finished SQL text. It ends when its block ends: committed if nothing was raised,
rolled back whole otherwise; after a database error nothing more is sent on it. A `reading()` inside a
`reading()` joins it, so that the look-up of the caller and the rows they get are of one moment.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from flask import Flask
from flask import current_app

from models.base import db
from models.faults import Fault
from models.sql import sqlite
from models.sql.dialect import SPELLINGS
from models.sql.dialect import Spelling
from models.sql.turns import Turns
from models.types import Bound
from models.types import write_timestamp

READ_SECONDS_MAX = 2.0
WRITE_SECONDS_MAX = 4.0
TURN_SECONDS_MAX = 5.0
CONNECTIONS_MAX = 32  # one a thread of a worker
STATEMENTS_KEPT = 512

Parameters = Sequence[Bound]
OPEN: ContextVar[Transaction | None] = ContextVar("open_transaction", default=None)


class Busy(Fault):
    """Every connection is taken (53300). Trying again is right."""


class Transaction:
    """One transaction on one connection. `now` is the moment it began, in UTC."""

    def __init__(self, connection: sqlite.Connection, spelling: Spelling, now: float) -> None:
        self.connection = connection
        self.spelling = spelling
        self.unix = int(now)
        self.moment = datetime.datetime.fromtimestamp(now, datetime.UTC)
        self.dead = False
        self.doomed = False

    @property
    def now(self) -> str:
        """The transaction's moment as a stored timestamp."""
        return write_timestamp(self.moment)

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement; the driver's cursor."""
        assert not self.dead, "a statement after an error"
        try:
            return self.connection.driver_connection.execute(sql, parameters)
        except sqlite.driver.Error as error:
            raise self.failed(error) from error
        except OverflowError as error:
            raise self.failed(error) from error

    def failed(self, error: Exception) -> Exception:
        fault = sqlite.translate(error)
        # A constraint undoes its statement only; anything else may have undone the transaction.
        self.dead = not isinstance(error, sqlite.driver.IntegrityError)
        return fault

    def all(self, sql: str, parameters: Parameters = ()) -> list[Any]:
        """Every row, read to the end."""
        cursor = self.run(sql, parameters)
        try:
            rows: list[Any] = cursor.fetchall()
        except sqlite.driver.Error as error:
            raise self.failed(error) from error
        if self.connection.faults:
            raise self.connection.faults[0]
        return rows

    def one(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first row, or None."""
        rows = self.all(sql, parameters)
        return rows[0] if rows else None

    def value(self, sql: str, parameters: Parameters = ()) -> Any:
        """The first row's first column, or None."""
        row = self.one(sql, parameters)
        return row[0] if row is not None else None

    def roll_back_at_end(self) -> None:
        """`tx=rollback`: everything happens, and nothing stays."""
        self.doomed = True


class Database:
    """One SQLite file: its engines, its turns to write, and its clock."""

    def __init__(self, path: Path | None, writer: sa.Engine, reader: sa.Engine) -> None:
        self.path = path
        self.writer = writer
        self.reader = reader
        self.spelling = SPELLINGS["sqlite"]
        self.turns = Turns(Path(f"{path}.lock")) if path is not None else None
        self.process = os.getpid()

    @contextmanager
    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> Iterator[Transaction]:
        """One snapshot, for reading only."""
        already = OPEN.get()
        if already is not None:
            yield already
            return
        with self.checked_out(self.reader) as connection:
            yield from self.transact(connection, "BEGIN", seconds_max)

    @contextmanager
    def writing(
        self, seconds_max: float = WRITE_SECONDS_MAX, wait_seconds_max: float = TURN_SECONDS_MAX
    ) -> Iterator[Transaction]:
        """The one transaction that writes."""
        assert OPEN.get() is None, "a write inside a read would see an old snapshot"
        assert self.turns is not None
        with self.turns.turn(wait_seconds_max), self.checked_out(self.writer) as connection:
            yield from self.transact(connection, "BEGIN IMMEDIATE", seconds_max)

    def transact(
        self, connection: sqlite.Connection, begin: str, seconds_max: float
    ) -> Iterator[Transaction]:
        connection.faults.clear()
        connection.deadline = time.monotonic() + seconds_max
        driver_connection = connection.driver_connection
        transaction = Transaction(connection, self.spelling, time.time())
        try:
            transaction.run(begin)
        except Fault:
            connection.deadline = float("inf")
            raise
        token = OPEN.set(transaction)
        kept = False
        try:
            yield transaction
            kept = not transaction.doomed
        finally:
            OPEN.reset(token)
            transaction.dead = True
            connection.deadline = float("inf")
            if not kept or not driver_connection.in_transaction:
                if driver_connection.in_transaction:
                    driver_connection.execute("ROLLBACK")
                assert not kept, "the transaction ended before its COMMIT"
        if kept:
            self.commit(driver_connection)

    def commit(self, driver_connection: Any) -> None:
        try:
            driver_connection.execute("COMMIT")
        except sqlite.driver.Error as error:
            if driver_connection.in_transaction:
                driver_connection.execute("ROLLBACK")
            raise sqlite.translate(error) from error

    @contextmanager
    def checked_out(self, engine: sa.Engine) -> Iterator[sqlite.Connection]:
        assert self.process == os.getpid(), "SQLite connections do not survive a fork"
        try:
            checked_out = engine.raw_connection()
        except sa.exc.TimeoutError as error:
            raise Busy("sorry, too many clients already") from error
        try:
            driver_connection: Any = checked_out.driver_connection
            yield driver_connection.walkthrough
        except (sqlite.DiskFailed, sqlite.FileCorrupt, sqlite.DiskFull):
            checked_out.invalidate()
            raise
        finally:
            checked_out.close()

    def close(self) -> None:
        """Give every connection back to the system."""
        self.reader.dispose()
        self.writer.dispose()


def engine_options(*, writable: bool) -> dict[str, Any]:
    return {
        "module": sqlite.driver,
        "hide_parameters": True,
        "pool_size": 1 if writable else CONNECTIONS_MAX,
        "max_overflow": 0,
        "pool_timeout": TURN_SECONDS_MAX,
        "pool_reset_on_return": None,
        "connect_args": {
            "cached_statements": STATEMENTS_KEPT,
            "check_same_thread": False,
            "factory": sqlite.DriverConnection,
        },
    }


def database() -> Database:
    """The application's database."""
    found: Database = current_app.extensions["walkthrough"]
    return found


def reading() -> Any:
    """One snapshot of the application's database."""
    return database().reading()


def writing(wait_seconds_max: float = TURN_SECONDS_MAX) -> Any:
    """The one transaction that writes the application's database."""
    return database().writing(wait_seconds_max=wait_seconds_max)


def attach(app: Flask) -> Database:
    """Give an application its database, by its DATABASE_URL. Nothing is opened yet."""
    url = sa.make_url(app.config["DATABASE_URL"])
    app.config["SQLALCHEMY_DATABASE_URI"] = url
    app.config["SQLALCHEMY_ENGINE_OPTIONS"] = engine_options(writable=True)
    app.config["SQLALCHEMY_BINDS"] = {"reader": {"url": url, **engine_options(writable=False)}}
    db.init_app(app)
    with app.app_context():
        writer, reader = db.engines[None], db.engines["reader"]
    for engine, writable in ((writer, True), (reader, False)):
        sa.event.listen(engine, "connect", preparing(writable=writable))
    found = Database(Path(url.database or ""), writer, reader)
    app.extensions["walkthrough"] = found
    return found


def preparing(*, writable: bool) -> Any:
    def prepare(driver_connection: Any, record: Any) -> None:
        driver_connection.walkthrough = sqlite.prepare(driver_connection, writable=writable)

    return prepare

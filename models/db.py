"""The only ways to a connection: `reading()` for one snapshot, `writing()` for one turn to write.

A transaction runs finished SQL text. It ends when its block ends: committed if nothing was raised,
rolled back whole otherwise; after a database error nothing more is sent on it. A `reading()` inside a
`reading()` joins it, so that the look-up of the caller and the rows they get are of one moment.
"""

from __future__ import annotations

import datetime
import os
import time
from collections.abc import Generator
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
from models.sql.constraints import Locked
from models.sql.dialect import SPELLINGS
from models.sql.dialect import Spelling
from models.sql.log import Log
from models.sql.turns import NoTurn
from models.sql.turns import Turns
from models.types import Bound
from models.types import write_timestamp

READ_SECONDS_MAX = 2.0
WRITE_SECONDS_MAX = 4.0
TURN_SECONDS_MAX = 5.0
CONNECTIONS_MAX = 32  # one a thread of a worker
STATEMENTS_KEPT = 512
PROBE_SECONDS = 60.0  # flash wears: a service that is only asked whether it is ready hardly writes
PROBE_WAIT_SECONDS_MAX = 0.5
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Parameters = Sequence[Bound]
OPEN: ContextVar[Transaction | None] = ContextVar("open_transaction", default=None)


class Busy(Fault):
    """Every connection is taken (53300). Trying again is right."""


class NotKept(RuntimeError):
    """A transaction that was to be kept and cannot be: an error in it was swallowed. Our bug."""


class Transaction:
    """One transaction on one connection. `now` is the moment it began, in UTC.

    All its statements share one cursor, so that none is left open when it ends: a half-read one would
    keep its snapshot alive, and with it the log, whatever COMMIT says.
    """

    def __init__(self, connection: sqlite.Connection, spelling: Spelling) -> None:
        self.connection = connection
        self.cursor = connection.driver_connection.cursor()
        self.spelling = spelling
        self.began = 0.0  # a moment after BEGIN, which may have waited
        self.dead = False
        self.doomed = False

    @property
    def unix(self) -> int:
        """The transaction's moment in whole Unix seconds."""
        return int(self.began)

    @property
    def moment(self) -> datetime.datetime:
        """The transaction's moment."""
        return datetime.datetime.fromtimestamp(self.began, datetime.UTC)

    @property
    def now(self) -> str:
        """The transaction's moment as a stored timestamp."""
        return write_timestamp(self.moment)

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        """Run one statement; the transaction's cursor, good until the next one."""
        assert not self.dead, "a statement after an error"
        try:
            return self.cursor.execute(sql, parameters)
        except (sqlite.driver.Error, OverflowError) as error:
            raise self.failed(error) from error

    def failed(self, error: Exception) -> Exception:
        """Note what an error leaves of the transaction and its connection; the error as a fact."""
        # A constraint undoes its statement only; anything else may have undone the transaction, and
        # then the next statement would commit by itself.
        whole = isinstance(error, sqlite.driver.IntegrityError) and self.is_open
        self.dead = self.dead or not whole
        fault = sqlite.translate(error)
        if isinstance(error, sqlite.driver.Error) and not isinstance(fault, sqlite.HARMLESS):
            self.connection.broken = True
        return fault

    @property
    def is_open(self) -> bool:
        """Whether the database still has the transaction: it ends one by itself when the disk fails."""
        found: bool = self.connection.driver_connection.in_transaction
        return found

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

    def pages(self, sql: str, rows_a_page: int) -> Iterator[list[Any]]:
        """Every row, so many at a time; nothing else may run until the last page is read."""
        cursor = self.run(sql)
        try:
            while rows := cursor.fetchmany(rows_a_page):
                yield rows
        except sqlite.driver.Error as error:
            raise self.failed(error) from error

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

    def end(self) -> bool:
        """Keep what was done, unless it was doomed, or raise: whoever swallowed an error does not get
        half a transaction. Whether it was kept."""
        if self.doomed:
            self.roll_back()
            return False
        if self.dead or not self.is_open:
            self.roll_back()
            raise NotKept("the transaction ended before its COMMIT")
        self.dead = True
        try:
            # One that fails is not tried again: what a failed fsync lost, a second does not bring back.
            self.cursor.execute("COMMIT")
        except sqlite.driver.Error as error:
            fault = self.failed(error)
            self.roll_back()
            raise fault from error
        self.cursor.close()
        return True

    def roll_back(self) -> None:
        """Undo everything. A connection that cannot even do that is given up, not kept half-way."""
        self.dead = True
        try:
            if self.is_open:
                self.cursor.execute("ROLLBACK")
            self.cursor.close()
        except sqlite.driver.Error:
            self.connection.broken = True


class Database:
    """One SQLite file: its engines, its turns to write, and what is known of its disk."""

    def __init__(self, path: Path | None, writer: sa.Engine, reader: sa.Engine) -> None:
        self.path = path
        self.writer = writer
        self.reader = reader
        self.spelling = SPELLINGS["sqlite"]
        self.turns = Turns(Path(f"{path}.lock")) if path is not None else None
        self.process = os.getpid()
        self.log = Log(path)
        self.written_at = float("-inf")
        self.refused_a_write = False

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
        deadline = time.monotonic() + wait_seconds_max
        with self.turns.turn(wait_seconds_max), self.checked_out(self.writer) as connection:
            connection.wait_until(deadline)
            try:
                kept = yield from self.transact(connection, "BEGIN IMMEDIATE", seconds_max)
            except sqlite.DISK_FAULTS:
                self.refused_a_write = True
                raise
            if kept:
                self.written_at, self.refused_a_write = time.monotonic(), False
                self.log.bound(connection)

    def transact(
        self, connection: sqlite.Connection, begin: str, seconds_max: float
    ) -> Generator[Transaction, None, bool]:
        """Begin, hand over, and end; whether it was kept."""
        connection.faults.clear()
        transaction = Transaction(connection, self.spelling)
        transaction.run(begin)
        transaction.began = time.time()
        # Its time runs from here: what BEGIN IMMEDIATE waited for others is no work of its own.
        connection.deadline = time.monotonic() + seconds_max
        token = OPEN.set(transaction)
        try:
            yield transaction
        except BaseException:
            connection.deadline = float("inf")
            transaction.roll_back()
            raise
        finally:
            OPEN.reset(token)
            connection.deadline = float("inf")
        return transaction.end()

    @contextmanager
    def checked_out(self, engine: sa.Engine) -> Iterator[sqlite.Connection]:
        """A connection that goes back to its pool whole, or not at all."""
        assert self.process == os.getpid(), "SQLite connections do not survive a fork"
        try:
            checked_out = engine.raw_connection()
        except sa.exc.TimeoutError as error:
            raise Busy("sorry, too many clients already") from error
        except sqlite.driver.Error as error:
            raise sqlite.translate(error) from error
        driver_connection: Any = checked_out.driver_connection
        connection: sqlite.Connection = driver_connection.walkthrough
        try:
            yield connection
        finally:
            if connection.broken or driver_connection.in_transaction:
                checked_out.invalidate()
            checked_out.close()

    def is_writable(self) -> bool:
        """Whether a write can be kept: one is tried, and taken to the disk if the last one failed or is
        a while ago. That others have the turn is no reason to doubt it."""
        age_seconds = time.monotonic() - self.written_at
        to_disk = self.refused_a_write or age_seconds > PROBE_SECONDS
        try:
            with self.writing(wait_seconds_max=PROBE_WAIT_SECONDS_MAX) as transaction:
                transaction.run(PROBE, (str(transaction.unix),))
                if not to_disk:
                    transaction.roll_back_at_end()
        except (NoTurn, Locked):
            return True
        except (Fault, OSError):
            return False
        return True

    def close(self) -> None:
        """Give every connection back to the system."""
        self.reader.dispose()
        self.writer.dispose()

    def shut_down(self, wait_seconds_max: float = TURN_SECONDS_MAX) -> None:
        """Fold the log into the file and close, in a turn: the last close is a checkpoint too."""
        assert self.turns is not None
        try:
            with self.turns.turn(wait_seconds_max):
                with self.checked_out(self.writer) as connection:
                    self.log.fold(connection)
                self.close()
        except (Fault, sqlite.driver.Error):
            self.close()  # what is committed is in the log, and the next start folds it


def engine_options(*, writable: bool) -> dict[str, Any]:
    return {
        "module": sqlite.driver,
        "hide_parameters": True,
        "pool_size": 1 if writable else CONNECTIONS_MAX,
        "max_overflow": 0,
        "pool_timeout": TURN_SECONDS_MAX,
        "pool_reset_on_return": None,
        # The connection used last is the one whose cache is warm, and few are made.
        "pool_use_lifo": True,
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

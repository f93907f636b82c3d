"""The only ways to a connection: `reading()` for one snapshot, `writing()` for one turn to write.

A transaction (`models/transaction.py`) ends when its block ends: committed if nothing was raised,
rolled back whole otherwise. A `reading()` inside a `reading()` joins it, so that the look-up of the
caller and the rows they get are of one moment.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextlib import contextmanager
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa
from flask import Flask
from flask import current_app

from models.clock import Clock
from models.connections import Connections
from models.connections import connection_of
from models.connections import taken_from
from models.faults import Fault
from models.group_commit import FIRST
from models.group_commit import MANY_ROWS
from models.group_commit import FileGroup
from models.group_commit import Group
from models.group_commit import Pace
from models.remembered import Remembered
from models.snapshot import Snapshot
from models.sql import sqlite
from models.sql.constraints import Locked
from models.sql.dialect import SPELLINGS
from models.sql.log import Log
from models.sql.place import FileLeft
from models.sql.place import Place
from models.sql.turns import NoTurn
from models.sql.turns import Turns
from models.sql.turns import nothing
from models.transaction import OPEN
from models.transaction import NotKept
from models.transaction import Opened
from models.transaction import Transaction

READ_SECONDS_MAX = 2.0
WRITE_SECONDS_MAX = 4.0
TURN_SECONDS_MAX = 5.0
STATEMENTS_KEPT = 512
PROBE_SECONDS = 60.0  # flash wears: a service that is only asked whether it is ready hardly writes
PROBE_WAIT_SECONDS_MAX = 0.5
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Answer = TypeVar("Answer")


class Database:
    """One SQLite file: its engines, its turns to write, and what is known of its disk."""

    place: Place | None = None
    """Where its file is, if it is one."""

    tell_wait: Callable[[float], None] | None = None
    """Told how long a turn was waited for, where it is not the turns themselves that tell."""

    def __init__(self, path: Path | None, writer: sa.Engine, reader: sa.Engine) -> None:
        self.path = path
        self.writer = writer
        self.reader = reader
        self.spelling = SPELLINGS["sqlite"]
        self.turns = Turns(Path(f"{path}.lock")) if path is not None else None
        self.place = Place(path) if path is not None else None
        self.log = Log(path)
        self.written_at = float("-inf")
        self.refused_a_write = False
        self.remembered = Remembered()
        self.clock = Clock()
        self.connections = Connections(writer, reader)
        self.connections.look = self.require_place
        self.group: Group | None = None  # on its way from one that had the turn to the next
        self.pace = Pace()
        self.make_way: Callable[[], None] = nothing
        self.is_audited = False  # there is a trail to write to, once the tables are made

    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> AbstractContextManager[Transaction]:
        """One snapshot, for reading only."""
        already = OPEN.get()
        return Snapshot(self, seconds_max) if already is None else nullcontext(already)

    @contextmanager
    def writing(
        self,
        seconds_max: float = WRITE_SECONDS_MAX,
        wait_seconds_max: float = TURN_SECONDS_MAX,
        *,
        is_brief: bool = False,
    ) -> Iterator[Transaction]:
        """The one transaction that writes. A brief one, a few rows by their keys, may share its COMMIT."""
        assert OPEN.get() is None, "a write inside a read would see an old snapshot"
        deadline = time.monotonic() + wait_seconds_max
        group = self.open_group(deadline, seconds_max, joins=is_brief)
        try:
            unit, token = self.begin_unit(group, deadline, seconds_max)
            try:
                if self.is_audited:
                    # On nobody's behalf until somebody is admitted: not on that of the last one.
                    unit.act_as(None)
                yield unit
            except BaseException:
                self.finish(unit, token, has_failed=True)
                raise
            group.units += self.finish(unit, token)
        except BaseException as error:
            if isinstance(error, sqlite.DISK_FAULTS):
                self.refused_a_write = True
            self.leave(group, has_failed=True)
            raise
        self.leave(group)

    def open_group(self, deadline: float, seconds_max: float, *, joins: bool) -> Group:
        """Take the turn to write: the transaction that comes with it, or a new one."""
        assert self.turns is not None
        self.turns.take(max(0.0, deadline - time.monotonic()), joins=joins)
        found, self.group = self.group, None
        return found or self.new_group()

    def new_group(self) -> FileGroup:
        """A group of one; it has the turn and a connection until it has ended."""
        assert self.turns is not None
        try:
            self.require_place()
            taken = self.connections.check_out(self.writer)
            return FileGroup(connection_of(taken), taken)
        except BaseException as error:
            if isinstance(error, FileLeft):
                self.part_log()
            self.turns.pass_on()
            raise

    def part_log(self) -> None:
        """In the turn, once another file has the name: fold the log into the one it belongs to. Beside the other it
        would be replayed by whoever opens that after a power cut."""
        assert self.place is not None
        taken = taken_from(self.connections.idle[self.writer])
        if taken is not None:
            if not self.place.is_empty():
                self.log.fold(connection_of(taken))
            self.connections.check_in(self.writer, taken)

    def require_place(self) -> None:
        """Raise FileLeft if the file was removed or replaced."""
        if self.place is not None:
            self.place.require_kept()

    def begin_unit(
        self, group: Group, deadline: float, seconds_max: float
    ) -> tuple[Transaction, Opened]:
        """Begin the next unit of a group."""
        assert isinstance(group, FileGroup)
        group.connection.wait_until(deadline)
        bounds = group.bounds
        unit = Transaction(
            group.connection, self.spelling, self.remembered, writes=True, bounds=bounds
        )
        # Of those that share a COMMIT the first one looks how late it is in the file: they are of one process.
        resumes = self.is_audited and bounds is FIRST
        return unit, self.begin(unit, seconds_max, resumes=resumes)

    def leave(self, group: Group, *, has_failed: bool = False) -> None:
        """End a group, or hand it on and wait for its end; raises what kept it from being kept, unless
        that is the failure of the one who leaves."""
        assert self.turns is not None
        if group.may_grow:
            self.group = group
            if self.turns.hand_on(self.pace.closing_time(group)):
                self.wait_for_disk()
                group.wait()
                group.require_kept()
                return
            self.group = None
        try:
            if group.units:
                self.wait_for_disk()
            self.end(group)
        finally:
            try:
                self.connections.check_in(self.writer, group.taken)
            finally:
                self.turns.pass_on()
        if not (has_failed and group.is_lost):
            group.require_kept()

    def wait_for_disk(self) -> None:
        """Called before a wait: have others served meanwhile, if COMMITs take long."""
        if self.pace.is_slow:
            self.make_way()

    def end(self, group: Group) -> None:
        """Commit what there is, and note how the disk does."""
        assert isinstance(group, FileGroup)
        began = time.monotonic()
        group.end()
        if isinstance(group.fault, sqlite.DISK_FAULTS):
            self.refused_a_write = True
        elif group.units and group.fault is None:
            self.written_at, self.refused_a_write = time.monotonic(), False
            seconds = self.pace.note(self.written_at - began, group.units, group.rows)
            if seconds:
                self.log.learn(group.connection, seconds)
            self.log.suit(group.connection)
            if group.rows < MANY_ROWS and not self.pace.is_slow:
                self.log.make_room(group.connection)
            self.log.bound(group.connection)

    def begin(
        self, transaction: Transaction, seconds_max: float, *, resumes: bool = False
    ) -> Opened:
        """Begin, as what is open here until it is finished."""
        connection = transaction.connection
        connection.faults.clear()
        transaction.begin(self.clock, resumes=resumes)
        # Its time runs from here: what BEGIN IMMEDIATE waited for others is no work of its own.
        connection.deadline = time.monotonic() + seconds_max
        return OPEN.set(transaction)

    def finish(self, transaction: Transaction, token: Opened, *, has_failed: bool = False) -> bool:
        """End what was begun; whether it was kept."""
        OPEN.reset(token)
        transaction.connection.deadline = float("inf")
        if has_failed:
            transaction.roll_back()
            return False
        return transaction.end()

    def anywhere(self, primary: Transaction, read: Callable[[], Answer]) -> Answer:
        """What a read answers, on any server whose snapshot is as good as the one that it has."""
        return read()

    def read_by(self, primary: Transaction) -> str | None:
        """Which kind of server answers reads now; None where there is only one."""
        return None

    def tell_reads_to(self, tell: Callable[[str, str], None]) -> None:
        """Have every read told of by server and reason, where there is more than one server."""

    def serve_in_runs(
        self, goes_on: Callable[[], bool], make_way: Callable[[], None]
    ) -> Callable[[bool], None]:
        """Keep the turn to write in this process while it goes on serving; returns what is to be called
        after some requests (False), and once nobody has asked (True). Who serves makes way before it waits."""
        turns = self.turns
        assert turns is not None
        turns.goes_on = goes_on
        turns.waits = make_way
        self.make_way = make_way
        return lambda at_rest: turns.let_go(at_rest=at_rest)

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
        self.connections.close()

    def shut_down(self, wait_seconds_max: float = TURN_SECONDS_MAX) -> None:
        """Fold the log into the file and close, in a turn: the last close is a checkpoint too. Of a file that is not
        there any more the log is all that can be found again: it stays, and the next start makes no new file beside it.
        """
        assert self.turns is not None
        try:
            with self.turns.turn(wait_seconds_max):
                if self.place is None or not self.place.is_empty():
                    with self.connections.checked_out(self.writer) as connection:
                        self.log.fold(connection)
                self.close()
        except (Fault, *sqlite.ERRORS):
            self.close()  # what is committed is in the log, and the next start folds it


def database() -> Database:
    """The application's database."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # see access/current.py
    found: Database = app.extensions["walkthrough"]
    return found


def reading() -> AbstractContextManager[Transaction]:
    """One snapshot of the application's database: the one that is open, if one is."""
    already = OPEN.get()
    return database().reading() if already is None else nullcontext(already)


def anywhere(transaction: Transaction, read: Callable[[], Answer]) -> Answer:
    """What a read answers, on a standby of the application's database where that is as good. The read
    is called inside `reading()`, and may be called twice."""
    return database().anywhere(transaction, read) if transaction.tells_marks else read()


def writing(
    wait_seconds_max: float = TURN_SECONDS_MAX,
    *,
    is_brief: bool = False,
) -> AbstractContextManager[Transaction]:
    """The one transaction that writes the application's database."""
    return database().writing(wait_seconds_max=wait_seconds_max, is_brief=is_brief)


__all__ = [
    "OPEN",
    "TURN_SECONDS_MAX",
    "Database",
    "NotKept",
    "Transaction",
    "anywhere",
    "database",
    "reading",
    "writing",
]

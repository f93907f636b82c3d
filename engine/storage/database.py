"""The only ways to a connection: `reading()` for one snapshot, `writing()` for one turn to write.

A transaction (`engine/storage/transaction.py`) ends when its block ends: committed if nothing was raised,
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

from engine.query.constraints import Locked
from engine.query.dialect.registry import DIALECTS
from engine.storage import sqlite
from engine.storage.clock import Clock
from engine.storage.commit_group import FIRST
from engine.storage.commit_group import CommitGroup
from engine.storage.data_version import DataVersion
from engine.storage.file_identity import FileLeft
from engine.storage.file_identity import Place
from engine.storage.pool import Connections
from engine.storage.pool import connection_of
from engine.storage.pool import taken_from
from engine.storage.snapshot import Snapshot
from engine.storage.transaction import OPEN
from engine.storage.transaction import NotKept
from engine.storage.transaction import Opened
from engine.storage.transaction import Transaction
from engine.storage.versioned_cache import VersionedCache
from engine.storage.wal import WalCheckpointer
from engine.storage.writer_lock import LockTimeout
from engine.storage.writer_lock import WriterLock
from models.errors import Fault

READ_SECONDS_MAX = 2.0
WRITE_SECONDS_MAX = 4.0
LOCK_SECONDS_MAX = 5.0
STATEMENTS_KEPT = 512
PROBE_SECONDS = 60.0  # flash wears: a service that is only asked whether it is ready hardly writes
PROBE_WAIT_SECONDS_MAX = 0.5
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', ?)"
    " ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)

Answer = TypeVar("Answer")


class Database:
    """One SQLite file: its engines, its writer lock, its cache, and the state of its disk."""

    place: Place | None = None
    """Where its file is, if it is one."""

    observe_wait: Callable[[float], None] | None = None
    """Called with the seconds that a write waited for its lock, where the lock itself does not measure them."""

    def __init__(self, path: Path | None, writer: sa.Engine, reader: sa.Engine) -> None:
        self.path = path
        self.writer = writer
        self.reader = reader
        self.dialect = DIALECTS["sqlite"]
        self.writer_lock = WriterLock(Path(f"{path}.lock")) if path is not None else None
        self.place = Place(path) if path is not None else None
        self.written_at = float("-inf")
        self.refused_a_write = False
        self.cache = VersionedCache()
        self.clock = Clock()
        self.connections = Connections(writer, reader)
        self.connections.look = self.require_place
        self.data_version = DataVersion(lambda: self.connections.check_out(reader))
        self.checkpointer = WalCheckpointer(
            str(path), lambda: self.connections.checked_out(reader), self.hold_writer_lock
        )
        self.group: CommitGroup | None = None  # open, on its way to the next holder of the lock
        self.is_audited = False  # there is an audit log to write to, once the tables exist

    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> AbstractContextManager[Transaction]:
        """One snapshot, for reading only."""
        already = OPEN.get()
        return Snapshot(self, seconds_max) if already is None else nullcontext(already)

    @contextmanager
    def writing(
        self,
        seconds_max: float = WRITE_SECONDS_MAX,
        wait_seconds_max: float = LOCK_SECONDS_MAX,
        *,
        is_brief: bool = False,
    ) -> Iterator[Transaction]:
        """The one transaction that writes. A brief one, a few rows by their keys, may share its COMMIT."""
        assert OPEN.get() is None, "a write inside a read would see an old snapshot"
        deadline = time.monotonic() + wait_seconds_max
        group = self.open_group(deadline, seconds_max, joins=is_brief)
        try:
            member, token = self.begin_member(group, deadline, seconds_max)
            try:
                if self.is_audited:
                    # The actor is unknown until a caller is admitted; the last one's name must not stand.
                    member.set_actor(None)
                yield member
            except BaseException:
                self.finish(member, token, has_failed=True)
                raise
            group.members += self.finish(member, token)
        except BaseException as error:
            if isinstance(error, sqlite.DISK_FAULTS):
                self.refused_a_write = True
            self.leave(group, has_failed=True)
            raise
        self.leave(group)

    def hold_writer_lock(self, wait_seconds_max: float) -> AbstractContextManager[None]:
        assert self.writer_lock is not None
        return self.writer_lock.held(wait_seconds_max)

    def open_group(self, deadline: float, seconds_max: float, *, joins: bool) -> CommitGroup:
        """Take the writer lock; return the open commit group that comes with it, or a new one."""
        assert self.writer_lock is not None
        self.writer_lock.acquire(max(0.0, deadline - time.monotonic()), joins=joins)
        group, self.group = self.group, None
        return group or self.new_group()

    def new_group(self) -> CommitGroup:
        assert self.writer_lock is not None
        try:
            self.require_place()
            pooled = self.connections.check_out(self.writer)
            return CommitGroup(connection_of(pooled), pooled)
        except BaseException as error:
            if isinstance(error, FileLeft):
                self.detach_log()
            self.writer_lock.release()
            raise

    def detach_log(self) -> None:
        """Copy the log into the file it belongs to, once another file has the name: whoever opened that file after a
        power cut would replay it. The caller holds the writer lock.
        """
        assert self.place is not None
        pooled = taken_from(self.connections.idle[self.writer])
        if pooled is not None:
            if not self.place.is_empty():
                self.checkpointer.truncate(connection_of(pooled))
            self.connections.check_in(self.writer, pooled)

    def require_place(self) -> None:
        """Raise FileLeft if the file was removed or replaced."""
        if self.place is not None:
            self.place.require_kept()

    def begin_member(
        self, group: CommitGroup, deadline: float, seconds_max: float
    ) -> tuple[Transaction, Opened]:
        """Begin the next member of a commit group."""
        group.connection.wait_until(deadline)
        bounds = group.bounds
        member = Transaction(group.connection, self.dialect, self.cache, writes=True, bounds=bounds)
        # Only the first member reads the last moment in the file: the others are of this process.
        resumes = self.is_audited and bounds is FIRST
        return member, self.begin(member, seconds_max, resumes=resumes)

    def leave(self, group: CommitGroup, *, has_failed: bool = False) -> None:
        """End a group, or hand it over and wait for its end. Raises what kept it from being committed, unless that is
        the failure of the member that leaves.
        """
        assert self.writer_lock is not None
        if group.may_grow:
            self.group = group
            if self.writer_lock.hand_over():
                group.wait()
                group.require_kept()
                return
            self.group = None
        try:
            self.end(group)
        finally:
            try:
                self.connections.check_in(self.writer, group.pooled)
            finally:
                self.writer_lock.release()
        if not (has_failed and group.is_lost):
            group.require_kept()

    def end(self, group: CommitGroup) -> None:
        """Commit the group's members and note whether the disk took them."""
        group.end()
        if isinstance(group.fault, sqlite.DISK_FAULTS):
            self.refused_a_write = True
        elif group.members and group.fault is None:
            self.written_at, self.refused_a_write = time.monotonic(), False
            self.checkpointer.note_commit()

    def begin(
        self, transaction: Transaction, seconds_max: float, *, resumes: bool = False
    ) -> Opened:
        """Begin a transaction and make it the current one."""
        connection = transaction.connection
        connection.faults.clear()
        transaction.begin(self.clock, resumes=resumes)
        # The time limit starts here: what BEGIN IMMEDIATE waited for is not this transaction's work.
        connection.deadline = time.monotonic() + seconds_max
        if not transaction.writes:
            try:
                transaction.learn_version(self.data_version)
            except BaseException:
                connection.deadline = float("inf")
                transaction.roll_back()
                raise
        return OPEN.set(transaction)

    def finish(self, transaction: Transaction, token: Opened, *, has_failed: bool = False) -> bool:
        """End the current transaction; return whether it was kept."""
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
        except (LockTimeout, Locked):
            return True
        except (Fault, OSError):
            return False
        return True

    def close(self) -> None:
        """Give every connection back to the system."""
        self.checkpointer.stop()
        self.data_version.close()
        self.connections.close()

    def shut_down(self, wait_seconds_max: float = LOCK_SECONDS_MAX) -> None:
        """Fold the log into the file and close, in a turn: the last close is a checkpoint too. Of a file that is not
        there any more the log is all that can be found again: it stays, and the next start makes no new file beside it.
        """
        self.checkpointer.stop()
        try:
            with self.hold_writer_lock(wait_seconds_max):
                if self.place is None or not self.place.is_empty():
                    with self.connections.checked_out(self.writer) as connection:
                        self.checkpointer.truncate(connection)
                self.close()
        except (Fault, *sqlite.ERRORS):
            self.close()  # what is committed is in the log, and the next start folds it


def database() -> Database:
    """The application's database."""
    app: Flask = current_app._get_current_object()  # type: ignore[attr-defined]  # see access/request_state.py
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
    wait_seconds_max: float = LOCK_SECONDS_MAX,
    *,
    is_brief: bool = False,
) -> AbstractContextManager[Transaction]:
    """The one transaction that writes the application's database."""
    return database().writing(wait_seconds_max=wait_seconds_max, is_brief=is_brief)


__all__ = [
    "LOCK_SECONDS_MAX",
    "OPEN",
    "Database",
    "NotKept",
    "Transaction",
    "anywhere",
    "database",
    "reading",
    "writing",
]

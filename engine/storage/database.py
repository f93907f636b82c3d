"""A SQLite file with its connections, writer lock and caches: snapshots for reading, and one writer at a time.

One server at a time serves a file, by a lock on
`<database>.serving` that ends with the server's processes. Closing any descriptor of the database itself would drop
SQLite's locks on it.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self, TypeGuard

from engine.interface.clock import Clock
from engine.interface.database import (
    CONNECTIONS_MAX,
    CURRENT,
    DISK_FAULTS,
    PROBE_WAIT_SECONDS_MAX,
    READ_SECONDS_MAX,
    WRITE_SECONDS_MAX,
    WRITE_WAIT_SECONDS_MAX,
    CurrentToken,
    Database,
    Locked,
    LockTimeout,
    Transaction,
)
from engine.interface.pool import ConnectionPool
from engine.interface.versioned_cache import VersionedCache
from engine.query.dialect.registry import DIALECTS
from engine.storage import sqlite
from engine.storage.file_copies import DatabaseFileReplaced, FileIdentity
from engine.storage.transaction import SqliteTransaction
from engine.storage.wal import WalCheckpointer
from engine.storage.writer_lock import FIRST, CommitGroup, DataVersion, WriterLock
from models.types import Fault


class FilePool(ConnectionPool[sqlite.Connection]):
    """The connections of one process to a file that write, or those that read."""

    def __init__(self, database: SqliteDatabase, size_max: int, *, writable: bool) -> None:
        super().__init__(size_max)
        self.database = database
        self.writable = writable
        self.process = os.getpid()

    def take(self) -> sqlite.Connection:
        assert self.process == os.getpid(), "SQLite connections do not survive a fork"
        return super().take()

    def connect(self) -> sqlite.Connection:
        """Open a connection; raise DatabaseFileReplaced if it is to another file than the other connections."""
        self.database.require_same_file()
        try:
            connection = sqlite.connect(self.database.path, writable=self.writable)
        except sqlite.ERRORS as error:
            raise sqlite.translate(error) from error
        try:
            self.database.require_same_file()
        except BaseException:
            connection.close()
            raise
        return connection

    def is_reusable(self, connection: sqlite.Connection) -> bool:
        return not (connection.broken or connection.is_worn or connection.driver_connection.in_transaction)


PROBE_SECONDS = 60.0  # between probes of the disk while nothing is written: flash memory wears
PROBE = (
    "INSERT INTO facts (name, value) VALUES ('write_probe', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)


class SqliteDatabase(Database):
    """One SQLite file: its connections, writer lock, cache and clock, and whether its disk takes writes."""

    path: Path

    def __init__(self, path: Path) -> None:
        self.path = path
        self.writers = FilePool(self, 1, writable=True)
        # Plus one each for the data version and the checkpointer.
        self.readers = FilePool(self, CONNECTIONS_MAX + 2, writable=False)
        self.dialect = DIALECTS["sqlite"]
        self.writer_lock = WriterLock(Path(f"{path}.lock"))
        self.identity = FileIdentity(path)
        self.written_at = float("-inf")
        self.last_write_failed = False
        self.cache = VersionedCache()
        self.clock = Clock()
        self.data_version = DataVersion(self.readers)
        self.checkpointer = WalCheckpointer(str(path), self.readers.checked_out, self.hold_writer_lock)
        self.group: CommitGroup | None = None  # open, and passed on with the writer lock
        self.is_audited = False  # the audit log's tables exist

    def reading(self, seconds_max: float = READ_SECONDS_MAX) -> AbstractContextManager[Transaction]:
        """Return the current transaction, or a new snapshot for reading only."""
        current = CURRENT.get()
        return Snapshot(self, seconds_max) if current is None else nullcontext(current)

    @contextmanager
    def writing(
        self,
        seconds_max: float = WRITE_SECONDS_MAX,
        wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX,
        *,
        is_brief: bool = False,
        client_id: int | None = None,
    ) -> Iterator[Transaction]:
        """Yield a transaction that writes; raise LockTimeout if the writer lock is not free in time.

        A brief transaction changes a few rows by their keys. It may share its COMMIT with others. A file has one
        writer at a time, whatever `client_id` is.
        """
        assert CURRENT.get() is None, "a write inside a read would see an old snapshot"
        deadline = time.monotonic() + wait_seconds_max
        group = self.open_group(deadline, joins=is_brief)
        try:
            member, token = self.begin_member(group, deadline, seconds_max)
            try:
                if self.is_audited:
                    # The actor is unknown until the caller is admitted. The previous actor must not stay.
                    member.set_actor(None)
                yield member
            except BaseException:
                self.finish(member, token, has_failed=True)
                raise
            group.members += self.finish(member, token)
        except BaseException as error:
            if isinstance(error, DISK_FAULTS):
                self.last_write_failed = True
            self.leave(group, has_failed=True)
            raise
        self.leave(group)

    def hold_writer_lock(self, wait_seconds_max: float) -> AbstractContextManager[None]:
        return self.writer_lock.held(wait_seconds_max)

    def open_group(self, deadline: float, *, joins: bool) -> CommitGroup:
        """Take the writer lock; return the open commit group that comes with it, or a new one."""
        began = time.monotonic()
        try:
            self.writer_lock.acquire(max(0.0, deadline - began), joins=joins)
        finally:
            if self.observe_wait is not None:
                self.observe_wait(time.monotonic() - began)
        group, self.group = self.group, None
        return group or self.new_group()

    def new_group(self) -> CommitGroup:
        try:
            self.require_same_file()
            return CommitGroup(self.writers.take())
        except BaseException as error:
            try:
                if isinstance(error, DatabaseFileReplaced):
                    self.detach_log()
            finally:
                self.writer_lock.release()
            raise

    def detach_log(self) -> None:
        """Copy the log into its own file once another file has the path.

        SQLite would replay the log into the other file after a power cut. The caller holds the writer lock.
        """
        if self.writers.idle and not self.identity.is_missing():
            with self.writers.checked_out() as connection:
                self.checkpointer.truncate(connection)

    def require_same_file(self) -> None:
        """Raise DatabaseFileReplaced if the file was removed or replaced."""
        self.identity.require_same()

    def begin_member(
        self, group: CommitGroup, deadline: float, seconds_max: float
    ) -> tuple[SqliteTransaction, CurrentToken]:
        """Begin the next member of a commit group."""
        group.connection.wait_until(deadline)
        bounds = group.bounds
        member = SqliteTransaction(group.connection, self.dialect, self.cache, writes=True, bounds=bounds)
        # Later members run in the same process, whose clock has advanced already.
        resumes = self.is_audited and bounds is FIRST
        return member, self.begin(member, seconds_max, resumes=resumes)

    def leave(self, group: CommitGroup, *, has_failed: bool = False) -> None:
        """Commit a group, or pass it on and wait for its end; raise the fault that kept it from being committed.

        `has_failed` says that the member that leaves has failed. A fault that it caused itself is not raised again.
        """
        if group.may_grow:
            self.group = group
            if self.writer_lock.hand_over():
                group.wait()
                group.require_committed()
                return
            self.group = None
        try:
            self.end(group)
        finally:
            try:
                self.writers.give_back(group.connection)
            finally:
                self.writer_lock.release()
        if not (has_failed and group.is_lost):
            group.require_committed()

    def end(self, group: CommitGroup) -> None:
        """Commit the group's members and note whether the disk took them."""
        group.end()
        if isinstance(group.fault, DISK_FAULTS):
            self.last_write_failed = True
        elif group.members and group.fault is None:
            self.written_at, self.last_write_failed = time.monotonic(), False
            self.checkpointer.note_commit()

    def begin(self, transaction: SqliteTransaction, seconds_max: float, *, resumes: bool = False) -> CurrentToken:
        """Begin a transaction and make it the current one."""
        connection = transaction.connection
        connection.faults.clear()
        transaction.time_zone = self.time_zone
        transaction.begin(self.clock, resumes=resumes)
        # The time limit starts here. It excludes the wait of BEGIN IMMEDIATE.
        connection.deadline = time.monotonic() + seconds_max
        if not transaction.writes:
            try:
                transaction.read_version(self.data_version)
            except BaseException:
                connection.end_deadline()
                transaction.roll_back()
                raise
        return CURRENT.set(transaction)

    def finish(self, transaction: SqliteTransaction, token: CurrentToken, *, has_failed: bool = False) -> bool:
        """End the current transaction; return whether it was committed."""
        CURRENT.reset(token)
        transaction.connection.end_deadline()
        if has_failed:
            transaction.roll_back()
            return False
        return transaction.end()

    def is_file_replaced(self) -> bool:
        return self.identity.is_replaced()

    def observe_reads(self, observe: Callable[[str, str], None]) -> None:
        """Call nothing: a file has no replicas."""

    def is_writable(self) -> bool:
        """Try a write; return whether it succeeds.

        The write is committed if the last write failed or is older than PROBE_SECONDS, and rolled back otherwise. A
        writer lock that is not free is no failure.
        """
        age_seconds = time.monotonic() - self.written_at
        commits = self.last_write_failed or age_seconds > PROBE_SECONDS
        try:
            with self.writing(wait_seconds_max=PROBE_WAIT_SECONDS_MAX) as transaction:
                transaction.run(PROBE, (str(transaction.unix),))
                if not commits:
                    transaction.roll_back_at_end()
        except (LockTimeout, Locked):
            return True
        except (Fault, OSError):
            return False
        return True

    def close(self) -> None:
        """Close all connections."""
        self.checkpointer.stop()
        self.data_version.close()
        for pool in (self.writers, self.readers):
            pool.drop_idle()

    def shut_down(self, wait_seconds_max: float = WRITE_WAIT_SECONDS_MAX) -> None:
        """Checkpoint the log and close all connections. The last close checkpoints too, so the writer lock is held.

        The log of a file that is gone stays. It is all that can be recovered, and the next start finds it.
        """
        self.checkpointer.stop()
        try:
            with self.hold_writer_lock(wait_seconds_max):
                if not self.identity.is_missing():
                    with self.writers.checked_out() as connection:
                        self.checkpointer.truncate(connection)
                self.close()
        except (Fault, *sqlite.ERRORS):
            self.close()  # the log holds what is committed; the next start checkpoints it


class Snapshot:
    """One snapshot of a file, for the duration of a block.

    Every request opens one. As nested generators it takes as long as finding a row by its key.
    """

    __slots__ = ("connection", "database", "seconds_max", "token", "transaction")

    connection: sqlite.Connection
    token: CurrentToken
    transaction: SqliteTransaction

    def __init__(self, database: SqliteDatabase, seconds_max: float) -> None:
        self.database = database
        self.seconds_max = seconds_max

    def __enter__(self) -> Transaction:
        database = self.database
        self.connection = connection = database.readers.take()
        try:
            transaction = SqliteTransaction(connection, database.dialect, database.cache)
            self.token = database.begin(transaction, self.seconds_max)
        except BaseException:
            database.readers.give_back(connection)
            raise
        self.transaction = transaction
        return transaction

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        database = self.database
        try:
            database.finish(self.transaction, self.token, has_failed=kind is not None)
        finally:
            database.readers.give_back(self.connection)


class AlreadyServed(Exception):
    """Another process serves the database."""

    def __init__(self, database: Path) -> None:
        super().__init__(f"{database} is being served by another process")
        self.database = database


class ServingLock:
    """The lock of a server. `found_unclean` says that the previous server did not end cleanly.

    A fork inherits the lock and an exec does not. The lock therefore lasts until the last worker has ended, even if the
    arbiter is killed.
    """

    def __init__(self, path: Path, descriptor: int, found_unclean: bool) -> None:
        self.path = path
        self.found_unclean = found_unclean
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, database: Path) -> Self:
        path = _path_of(database)
        while True:
            found_unclean = path.exists()
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(descriptor)
                raise AlreadyServed(database) from error
            if _is_at(path, descriptor):
                return cls(path, descriptor, found_unclean)
            os.close(descriptor)  # its previous holder removed it between open and lock

    def release(self) -> None:
        """Release the lock and record a clean end."""
        if self._descriptor is not None:
            self.path.unlink(missing_ok=True)
            self.abandon()

    def give_back(self) -> None:
        """Release the lock of a server that has not served, and leave the previous state."""
        if self.found_unclean:
            self.abandon()
        else:
            self.release()

    def abandon(self) -> None:
        """Release the lock and leave the mark of an unclean end. The next start then checks the database."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_served(database: Path | None) -> TypeGuard[Path]:
    """Return whether a server serves the file, this process's own server included.

    Concurrent calls do not disturb each other. A lock file that cannot be opened counts as free; `ServingLock.take`
    raises its error.
    """
    if database is None:
        return False
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # opening a pipe would block
        descriptor = os.open(_path_of(database), flags)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _path_of(database: Path) -> Path:
    return database.with_name(f"{database.name}.serving")


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False

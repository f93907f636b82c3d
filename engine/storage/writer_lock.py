"""The lock that a writer of a database file holds, group commit, and the data version of the file.

A writer holds the lock from before BEGIN until COMMIT has returned. SQLite alone leaves the order of writers to chance.
Before SQLite 3.51.3, two checkpoints that overlap a commit can corrupt the file. Threads of one process wait in a
first-come queue. The process holds an exclusive `flock` on a file beside the database. When another process has that
lock, a helper thread blocks in `flock` for the head of the queue. So every wait ends at its deadline. A process passes
the file lock between its own threads for RUN_SECONDS_MAX, then gives it to other processes. Writes that wait in one
process share a COMMIT, since the disk's sync takes longer than the rest of a write. A writer hands the lock on with its
transaction open. The next thread works in a savepoint, and the last one commits. No writer is answered before that
COMMIT has returned. A refusal waits as well: it may rest on a row of another member that the disk does not keep. The
data version says which snapshots hold the same rows. Each process counts for itself.
"""

from __future__ import annotations

import copy
import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from engine.interface.database import DiskFailed, Locked, LockTimeout, NotCommitted
from engine.interface.pool import ConnectionPool
from engine.storage import file_copies, sqlite
from engine.storage.transaction import Bounds

RUN_SECONDS_MAX = 0.004  # a few writes on a fast disk
GROUP_SECONDS_MAX = 0.02  # of one commit group
YIELD_SECONDS = 0.0005  # what a waiter in another process needs to wake up and take the lock


@dataclass(slots=True)
class Waiter:
    """A thread in the queue. `joins`: it can take over an open commit group."""

    joins: bool
    is_next: threading.Event = field(default_factory=threading.Event)


class WriterLock:
    """The writer lock of one database file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mutex = threading.Lock()
        self.waiting: deque[Waiter] = deque()
        self.is_held = False  # by a thread of this process
        self.has_file_lock = False
        self.run_ends = 0.0
        self.group_ends = 0.0
        self.yields = False  # the last run ended while threads of this process waited
        self.descriptor: int | None = None
        self.owner = 0
        self.blocked: BlockedWaiter | None = None

    @contextmanager
    def held(self, wait_seconds_max: float) -> Iterator[None]:
        """Hold the lock for a block. Raises LockTimeout."""
        self.acquire(wait_seconds_max)
        try:
            yield
        finally:
            self.release()

    def acquire(self, wait_seconds_max: float, *, joins: bool = False) -> None:
        """Take the lock. Raises LockTimeout. A thread that `joins` may get it together with an open commit group."""
        deadline = time.monotonic() + wait_seconds_max
        self.enqueue(deadline, joins=joins)
        if self.has_file_lock:
            return
        try:
            if self.yields:
                time.sleep(YIELD_SECONDS)
            self.lock_file(deadline)
            now = time.monotonic()
            self.has_file_lock = True
            self.run_ends, self.group_ends = now + RUN_SECONDS_MAX, now + GROUP_SECONDS_MAX
        except BaseException:
            self.release()
            raise

    def enqueue(self, deadline: float, *, joins: bool) -> None:
        """Wait for the threads of this process that came before."""
        with self.mutex:
            if not self.is_held:
                self.is_held = True
                return
            waiter = Waiter(joins)
            self.waiting.append(waiter)
        if waiter.is_next.wait(max(0.0, deadline - time.monotonic())):
            return
        with self.mutex:
            if not waiter.is_next.is_set():
                self.waiting.remove(waiter)
                raise LockTimeout

    def hand_over(self) -> bool:
        """Give the lock, with the open commit group, to the next thread if that thread joins; return whether it was."""
        with self.mutex:
            if not self.waiting or not self.waiting[0].joins or time.monotonic() > self.group_ends:
                return False
            self.waiting.popleft().is_next.set()
            return True

    def release(self) -> None:
        """Give the lock to the next thread, with the file lock while the run lasts."""
        with self.mutex:
            next_waiter = self.waiting.popleft() if self.waiting else None
            is_over = next_waiter is None or time.monotonic() > self.run_ends
            if self.has_file_lock and is_over:
                self.yields = next_waiter is not None
                self.unlock_file()
            if next_waiter is not None:
                next_waiter.is_next.set()
            else:
                self.is_held = False

    def lock_file(self, deadline: float) -> None:
        with self.mutex:
            if self.blocked is None:
                if self.try_to_lock_file():
                    return
                self.blocked = BlockedWaiter(self, self.opened())
            blocked = self.blocked
            blocked.is_wanted = True
        if not blocked.has_lock.wait(max(0.0, deadline - time.monotonic())):
            with self.mutex:
                if not blocked.has_lock.is_set():
                    blocked.is_wanted = False
                    raise LockTimeout

    def try_to_lock_file(self) -> bool:
        """Lock the file if it is free; return whether it was. Raises DiskFailed."""
        try:
            fcntl.flock(self.opened(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise DiskFailed(f"the lock file cannot be locked: {error.strerror}") from error
        return True

    def opened(self) -> int:
        """Return the lock file's descriptor, opened by this process: a fork would share its lock."""
        if self.descriptor is None or self.owner != os.getpid():
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            try:
                self.descriptor = os.open(self.path, flags, 0o600)
            except OSError as error:
                raise DiskFailed(f"the lock file cannot be opened: {error.strerror}") from error
            file_copies.hand_over(self.descriptor, self.path.with_suffix(""))  # to the database's owner
            self.owner = os.getpid()
        return self.descriptor

    def unlock_file(self) -> None:
        assert self.descriptor is not None
        self.has_file_lock = False
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the descriptor. No thread may be waiting."""
        with self.mutex:
            if self.descriptor is not None and self.owner == os.getpid():
                os.close(self.descriptor)
            self.descriptor = None

    def __del__(self) -> None:
        self.close()


class BlockedWaiter:
    """A thread that blocks in `flock` for the head of the queue."""

    def __init__(self, lock: WriterLock, descriptor: int) -> None:
        self.lock = lock
        self.descriptor = descriptor
        self.is_wanted = True
        self.has_lock = threading.Event()
        threading.Thread(target=self.run, name="writer-lock", daemon=True).start()

    def run(self) -> None:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        except OSError:
            # The system has no locks left. The head times out, and the next one tries anew.
            with self.lock.mutex:
                self.lock.blocked = None
            return
        with self.lock.mutex:
            self.lock.blocked = None
            if self.is_wanted:
                self.has_lock.set()
            elif self.lock.descriptor == self.descriptor:  # else the lock was closed, and freed by that
                fcntl.flock(self.descriptor, fcntl.LOCK_UN)


MEMBERS_MAX: Final = 64

FIRST: Final = Bounds("BEGIN IMMEDIATE", (), ("ROLLBACK",))
NESTED: Final = Bounds("SAVEPOINT unit", ("RELEASE unit",), ("ROLLBACK TO unit", "RELEASE unit"))


class CommitGroup:
    """One open transaction and the writes in it. The thread that holds the writer lock owns the group.

    `members` counts the writes to commit. `fault` is what kept the group from being committed; it is final once the
    lock `ended` is free.
    """

    def __init__(self, connection: sqlite.Connection) -> None:
        self.connection = connection
        self.members = 0
        self.ended = threading.Lock()
        self.ended.acquire()
        self.fault: Exception | None = NotCommitted("the commit group has not ended")
        self.is_lost = False

    @property
    def is_open(self) -> bool:
        """Whether the transaction can still be committed: SQLite ends one by itself when the disk fails."""
        return self.connection.driver_connection.in_transaction and not self.connection.broken

    @property
    def may_grow(self) -> bool:
        return self.is_open and self.members < MEMBERS_MAX

    @property
    def bounds(self) -> Bounds:
        """The statements that begin, commit and roll back the next member."""
        return NESTED if self.connection.driver_connection.in_transaction else FIRST

    def end(self) -> None:
        """Commit all members, or none; set `fault` and free the members that wait."""
        try:
            self.fault = self.commit() if self.members else None
        finally:
            self.ended.release()

    def wait(self) -> None:
        """Wait until the group has ended."""
        with self.ended:
            pass

    def commit(self) -> Exception | None:
        """Commit; return the fault, or None. A COMMIT that failed is not tried again: a second fsync restores nothing
        that the first one lost.
        """
        if not self.is_open:
            # Another member lost the transaction and reports why.
            self.is_lost = True
            self.roll_back()
            return Locked("canceling statement due to conflict with another write")
        try:
            self.connection.driver_connection.execute("COMMIT")
        except sqlite.ERRORS as error:
            fault = self.connection.failed(error)
            self.roll_back()
            return fault
        return None

    def roll_back(self) -> None:
        """Undo all members. A connection that cannot roll back is marked as broken."""
        try:
            if self.connection.driver_connection.in_transaction:
                self.connection.driver_connection.execute("ROLLBACK")
        except sqlite.ERRORS:
            self.connection.broken = True

    def require_committed(self) -> None:
        """Raise a copy of the fault that kept the group from being committed, if there is one."""
        if self.fault is not None:
            raise copy.copy(self.fault)


class DataVersion:
    """The data version of a file: a number that grows when any process has committed.

    One connection, which never writes, watches the file. Its `PRAGMA data_version` says that the file has changed. The
    number never returns to an earlier value, even when another connection takes over.
    """

    def __init__(self, pool: ConnectionPool[sqlite.Connection]) -> None:
        self.pool = pool
        self.connection: sqlite.Connection | None = None
        self.mark: int | None = None  # what the connection's PRAGMA returned
        self.version = 0
        self.mutex = threading.Lock()

    def __call__(self) -> int:
        """Return the version that a snapshot taken now has. Raises the faults of a disk."""
        with self.mutex:
            if self.connection is None:
                self.connection = self.pool.take()
            driver_connection = self.connection.driver_connection
            try:
                mark = driver_connection.execute("PRAGMA data_version").fetchone()[0]
            except sqlite.ERRORS as error:
                self.disconnect()
                raise sqlite.translate(error) from error
            if mark != self.mark:
                self.mark = mark
                self.version += 1
            return self.version

    def close(self) -> None:
        with self.mutex:
            self.disconnect()

    def disconnect(self) -> None:
        if self.connection is not None:
            self.connection.broken = True
            self.pool.give_back(self.connection)
        self.connection = self.mark = None

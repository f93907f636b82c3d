"""The lock that a writer of a database file holds from before BEGIN until COMMIT has returned.

SQLite admits one writer at a time and leaves the order to chance. Before 3.51.3 two checkpoints that overlap a commit
can corrupt the file. Threads of one process wait in a first-come queue. The process itself holds an exclusive `flock`
on a file beside the database. When another process has that lock, a helper thread blocks in `flock` for the head of
the queue, so that every wait ends at its deadline. A process passes the file lock between its own threads for
RUN_SECONDS_MAX, then gives it to other processes. A hand-over between processes costs a thread and two switches.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from engine.interface.faults import DiskFailed, LockTimeout
from engine.storage import atomic_files

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
            atomic_files.hand_over(self.descriptor, self.path.with_suffix(""))  # to the database's owner
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

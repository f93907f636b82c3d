"""Whose turn it is to write: first come, first served, across threads and processes, never for ever.

SQLite lets one writer in at a time and leaves who is next to chance; and before 3.51.3 two checkpoints
that overlap a commit can corrupt the file. So every writer takes a turn here first and keeps it until
its COMMIT has returned. Within a process waiters queue in order; the head of the queue takes an
exclusive `flock` on a file beside the database. When another process has that, a spare thread blocks
in it on the head's behalf, so that every wait ends on time, and what the spare wins too late it lets go.
A process whose own writers wait, or are about to be served, hands the turn from one to the next for a
moment before it lets another process in: that way round costs a thread and two switches between processes.
"""

from __future__ import annotations

import fcntl
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import field
from pathlib import Path
from time import sleep

from models.faults import Fault
from models.sql import drafts
from models.sql.sqlite import DiskFailed

RUN_SECONDS_MAX = 0.004  # of turns that stay in one process; a few writes on a quick disk
GROUP_SECONDS_MAX = 0.02  # of turns that are handed on as they are
LULL_SECONDS_MAX = 0.001  # in a run; a client that writes on has read its answer and asked by then
COURTESY_SECONDS = 0.0005  # what whoever waits in another process needs to wake up and get in
ALONE_SECONDS = 0.06  # so long nobody else is thought to wait, once nobody came in


class NoTurn(Fault):
    """The wait for a turn to write took too long (55P03). Trying again is right."""


def never() -> bool:
    return False


def nothing() -> None:
    pass


@dataclass(slots=True)
class Waiter:
    """Somebody in the queue; whether they can do with a turn that is handed on as it is."""

    joins: bool
    is_next: threading.Event = field(default_factory=threading.Event)


class Turns:
    """Turns to write one database file."""

    goes_on: Callable[[], bool] = staticmethod(never)
    """Whether requests are served one after another, of which the next may write. Then `let_go` is called now
    and then, and once nobody has asked."""

    waits: Callable[[], None] = staticmethod(nothing)
    """Called by whoever is about to wait."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.mutex = threading.Lock()
        self.came = threading.Condition(self.mutex)
        self.waiting: deque[Waiter] = deque()
        self.taken = False
        self.locked = False  # the file's lock is ours, and goes from turn to turn
        self.run_ends = 0.0
        self.group_ends = 0.0
        self.run_is_over = False
        self.unlocked_at = 0.0
        self.alone_until = 0.0
        self.kept_until = 0.0  # by a process of which nobody has the turn
        self.descriptor: int | None = None
        self.owner = 0
        self.spare: Spare | None = None

    @contextmanager
    def turn(self, wait_seconds_max: float) -> Iterator[None]:
        """Hold the turn; raises NoTurn if it does not come within the wait."""
        self.take(wait_seconds_max)
        try:
            yield
        finally:
            self.pass_on()

    def take(self, wait_seconds_max: float, *, joins: bool = False) -> None:
        """Take the turn, to be passed on; who `joins` may get one that the one before has handed on."""
        deadline = time.monotonic() + wait_seconds_max
        self.queue(deadline, joins=joins)
        if self.locked:
            return
        try:
            now = time.monotonic()
            if self.run_is_over and now > self.alone_until:
                if (left := self.unlocked_at + COURTESY_SECONDS - now) > 0:
                    sleep(left)
                self.alone_until = time.monotonic() + ALONE_SECONDS
            if self.lock(deadline):
                self.alone_until = 0.0
            self.begin_run()
        except BaseException:
            self.pass_on()
            raise

    def take_at_once(self) -> bool:
        """Take the turn, to be passed on, if nobody has it or is owed it; whether it was taken."""
        with self.mutex:
            if self.taken or not (self.locked or self.lock_at_once()):
                return False
            self.taken = True
            return True

    def lock_at_once(self) -> bool:
        """Lock the file, if nobody has it locked or is owed it; whether it was locked."""
        now = time.monotonic()
        is_courteous = self.run_is_over and now > self.alone_until
        if self.spare is not None or (is_courteous and now < self.unlocked_at + COURTESY_SECONDS):
            return False
        if not self.try_to_lock():
            self.alone_until = 0.0
            return False
        if is_courteous:
            self.alone_until = now + ALONE_SECONDS
        self.begin_run()
        return True

    def begin_run(self) -> None:
        """Note that the file's lock is ours, from now on for so long."""
        self.locked = True
        now = time.monotonic()
        self.run_ends, self.group_ends = now + RUN_SECONDS_MAX, now + GROUP_SECONDS_MAX

    def queue(self, deadline: float, *, joins: bool) -> None:
        with self.mutex:
            if not self.taken:
                self.taken = True
                return
            mine = Waiter(joins)
            self.waiting.append(mine)
            self.came.notify()
        self.waits()
        if mine.is_next.wait(max(0.0, deadline - time.monotonic())):
            return
        with self.mutex:
            if not mine.is_next.is_set():
                self.waiting.remove(mine)
                raise no_turn()

    def hand_on(self, until: float = 0.0) -> bool:
        """Let the next one in as things are, if that one joins and may; whether it was done.

        Where nobody waits, somebody may come until that moment."""
        with self.mutex:
            while not self.waiting and (left := until - time.monotonic()) > 0:
                self.came.wait(left)
            if not self.waiting or not self.waiting[0].joins or self.is_group_over():
                return False
            self.waiting.popleft().is_next.set()
            return True

    def is_group_over(self) -> bool:
        """Whether others have waited long enough for a turn that is handed on as it is."""
        return time.monotonic() > self.group_ends

    def pass_on(self, *, lingers: bool = True) -> None:
        """Let the next one in; with the file's lock, if there is a next one here, or may be one in a moment
        (`lingers`), and the run may go on."""
        with self.mutex:
            follower = self.waiting.popleft() if self.waiting else None
            goes_on = follower is not None or self.goes_on()
            stays = follower is not None or (lingers and goes_on)
            now = time.monotonic()
            if self.locked and (not stays or now > self.run_ends):
                self.run_is_over = goes_on
                self.unlock()
            if follower is not None:
                follower.is_next.set()
            else:
                self.taken = False
                self.kept_until = min(now + LULL_SECONDS_MAX, self.run_ends)

    def let_go(self, *, at_rest: bool) -> None:
        """Let other processes in, if nobody here has the turn, and the next writer is late or will not come."""
        with self.mutex:
            if self.locked and not self.taken and (at_rest or time.monotonic() > self.kept_until):
                self.unlock()

    def lock(self, deadline: float) -> bool:
        """Lock the file; whether another process had it locked."""
        with self.mutex:
            if self.spare is None:
                if self.try_to_lock():
                    return False
                self.spare = Spare(self, self.opened())
            spare = self.spare
            spare.wanted = True
        self.waits()
        if not spare.won.wait(max(0.0, deadline - time.monotonic())):
            with self.mutex:
                if not spare.won.is_set():
                    spare.wanted = False
                    raise no_turn()
        return True

    def try_to_lock(self) -> bool:
        """Lock the file without a wait; whether it was free. DiskFailed if the system cannot lock it."""
        try:
            fcntl.flock(self.opened(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as error:
            raise DiskFailed(f"the lock file cannot be locked: {error.strerror}") from error
        return True

    def opened(self) -> int:
        """The lock file, opened by the process that uses it: a fork would share its lock."""
        if self.descriptor is None or self.owner != os.getpid():
            flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
            try:
                self.descriptor = os.open(self.path, flags, 0o600)
            except OSError as error:
                raise DiskFailed(f"the lock file cannot be opened: {error.strerror}") from error
            drafts.hand_over(
                self.descriptor, self.path.with_suffix("")
            )  # of the database beside it
            self.owner = os.getpid()
        return self.descriptor

    def unlock(self) -> None:
        assert self.descriptor is not None
        self.locked = False
        fcntl.flock(self.descriptor, fcntl.LOCK_UN)
        self.unlocked_at = time.monotonic()

    def close(self) -> None:
        """Give the descriptor back; nobody may be waiting."""
        with self.mutex:
            if self.descriptor is not None and self.owner == os.getpid():
                os.close(self.descriptor)
            self.descriptor = None

    def __del__(self) -> None:
        self.close()


class Spare:
    """A thread that blocks in the file's lock for whoever heads the queue."""

    def __init__(self, turns: Turns, descriptor: int) -> None:
        self.turns = turns
        self.descriptor = descriptor
        self.wanted = True
        self.won = threading.Event()
        threading.Thread(target=self.run, name="write-turn", daemon=True).start()

    def run(self) -> None:
        try:
            fcntl.flock(self.descriptor, fcntl.LOCK_EX)
        except OSError:
            # No locks left: the head waits in vain, and the next one tries anew.
            with self.turns.mutex:
                self.turns.spare = None
            return
        with self.turns.mutex:
            self.turns.spare = None
            if self.wanted:
                self.won.set()
            else:
                fcntl.flock(self.descriptor, fcntl.LOCK_UN)


def no_turn() -> NoTurn:
    return NoTurn(
        "canceling statement due to lock timeout", hint="Another write is under way; try again."
    )

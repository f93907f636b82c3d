"""How do writes share a COMMIT? Those of one process that wait for their turn are let into the open transaction.

A COMMIT costs what the disk takes to keep it, on a memory card far longer than all the rest of a write. So who has the
turn hands it on with the transaction still open, if the next one asked to join; that one works in a savepoint, and the
last one commits for all. Nobody is answered before that, not even with a refusal: it may rest on what another of the
group wrote, which the disk may not keep. Databases call this group commit.
"""

from __future__ import annotations

import copy
import threading
import time
from abc import ABC
from abc import abstractmethod
from typing import Final

import sqlalchemy as sa

from models.sql import sqlite
from models.sql.constraints import Locked
from models.transaction import Bounds
from models.transaction import NotKept

UNITS_MAX: Final = 64
SLOW_SECONDS: Final = 0.001  # several times what it costs to have another thread serve meanwhile
PATIENCE: Final = 0.5  # of a COMMIT, for one who saves it
QUICK_SECONDS: Final = 0.0001  # quicker ones are not told apart
MEMORY: Final = 0.125  # of the last COMMIT in what is known of all
LEAP: Final = 2.0  # what takes longer than so many usual COMMITs is an exception: it folded the log
ROW_SECONDS: Final = 0.00002  # what a row adds, with its indexes, on a disk that is not slow
MANY_ROWS: Final = 100  # may fill so many pages that each such COMMIT folds the log

FIRST: Final = Bounds("BEGIN IMMEDIATE", (), ("ROLLBACK",))
NESTED: Final = Bounds("SAVEPOINT unit", ("RELEASE unit",), ("ROLLBACK TO unit", "RELEASE unit"))


class Group(ABC):
    """One transaction, and the units of work in it. Whoever has the turn has the group.

    `units` counts those that are to be kept. `taken` is its connection's place in its pool. `fault` is what
    kept it from being kept, for good once it is over: then nobody has the lock `ends` any more.
    """

    def __init__(self, taken: sa.PoolProxiedConnection) -> None:
        self.taken = taken
        self.units = 0
        self.ends = threading.Lock()
        self.ends.acquire()
        self.fault: Exception | None = NotKept("nobody has ended the group")
        self.is_lost = False
        self.closes_at: float | None = None

    @property
    @abstractmethod
    def is_open(self) -> bool:
        """Whether there is a transaction that can be kept: the database ends one by itself when the disk fails."""

    @property
    def may_grow(self) -> bool:
        return self.is_open and self.units < UNITS_MAX

    def end(self) -> None:
        """Keep all units or none."""
        try:
            self.fault = self.committed() if self.units else None
        finally:
            self.ends.release()

    def wait(self) -> None:
        """Wait until it is over."""
        with self.ends:
            pass

    def committed(self) -> Exception | None:
        """Commit, or roll back; what was wrong."""
        if not self.is_open:
            # One of the others has lost it, and is told why.
            self.is_lost = True
            self.roll_back()
            return Locked("canceling statement due to conflict with another write")
        # One that fails is not tried again: what a failed fsync lost, a second does not bring back.
        fault = self.commit()
        if fault is not None:
            self.roll_back()
        return fault

    @abstractmethod
    def commit(self) -> Exception | None:
        """Commit; what was wrong."""

    @abstractmethod
    def roll_back(self) -> None:
        """Undo everything; a connection that cannot even do that is given up."""

    def require_kept(self) -> None:
        """Raise what kept it from being kept: to each unit an exception of its own."""
        if self.fault is not None:
            raise copy.copy(self.fault)


class FileGroup(Group):
    """A group on a connection to a file."""

    def __init__(self, connection: sqlite.Connection, taken: sa.PoolProxiedConnection) -> None:
        super().__init__(taken)
        self.connection = connection
        self.changes_before: int = connection.driver_connection.total_changes

    @property
    def is_open(self) -> bool:
        return self.connection.driver_connection.in_transaction and not self.connection.broken

    @property
    def bounds(self) -> Bounds:
        """What begins, keeps and undoes the next unit."""
        return NESTED if self.connection.driver_connection.in_transaction else FIRST

    @property
    def rows(self) -> int:
        """How many rows it changed so far, those of triggers among them."""
        changes: int = self.connection.driver_connection.total_changes
        return changes - self.changes_before

    def commit(self) -> Exception | None:
        try:
            self.connection.driver_connection.execute("COMMIT")
        except sqlite.ERRORS as error:
            return self.connection.failed(error)
        return None

    def roll_back(self) -> None:
        try:
            if self.connection.driver_connection.in_transaction:
                self.connection.driver_connection.execute("ROLLBACK")
        except sqlite.ERRORS:
            self.connection.broken = True


class Pace:
    """How long COMMITs of a few rows take lately, and how many units share one."""

    def __init__(self) -> None:
        self.seconds = SLOW_SECONDS  # not slow yet, but the next slow one makes it so
        self.units = 1.0

    @property
    def is_slow(self) -> bool:
        """Whether a COMMIT takes so long that it pays to do something else meanwhile."""
        return self.seconds > SLOW_SECONDS

    def note(self, seconds: float, units: int, rows: int) -> float:
        """Take note of a COMMIT, and of how many rows it kept; how long it may have folded the log."""
        took = max(seconds - rows * ROW_SECONDS, QUICK_SECONDS)
        usual, most = self.seconds, LEAP * self.seconds
        self.seconds += (min(took, most) - usual) * MEMORY
        self.units = max(float(units), self.units * (1 - 2 * MEMORY))
        if rows >= MANY_ROWS:
            return seconds
        return took - usual if took > most else 0.0

    def closing_time(self, group: Group) -> float:
        """Until when a group waits for others that came lately: those who were answered together ask on together."""
        if not self.is_slow or group.units >= self.units:
            return 0.0
        if group.closes_at is None:
            group.closes_at = time.monotonic() + self.seconds * PATIENCE
        return group.closes_at

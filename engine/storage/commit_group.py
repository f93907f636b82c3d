"""Group commit: writes that wait for the writer lock in one process share a COMMIT.

A COMMIT takes as long as the disk's sync; on a memory card that is far longer than the rest of a write. A writer hands
the lock on with its transaction still open when the next waiting thread can join. That thread works in a savepoint, and
the last one commits for all. No writer is answered before that COMMIT has returned. A refusal waits as well: it may
rest on a row that another member of the group wrote and the disk does not keep.
"""

from __future__ import annotations

import copy
import threading
from typing import Final

import sqlalchemy as sa

from engine.interface.faults import Locked, NotCommitted
from engine.storage import sqlite
from engine.storage.transaction import Bounds

MEMBERS_MAX: Final = 64

FIRST: Final = Bounds("BEGIN IMMEDIATE", (), ("ROLLBACK",))
NESTED: Final = Bounds("SAVEPOINT unit", ("RELEASE unit",), ("ROLLBACK TO unit", "RELEASE unit"))


class CommitGroup:
    """One open transaction and the writes in it. The thread that holds the writer lock owns the group.

    `members` counts the writes to commit. `pooled` is the connection's entry in its pool. `fault` is what kept the
    group from being committed; it is final once the lock `ended` is free.
    """

    def __init__(self, connection: sqlite.Connection, pooled: sa.PoolProxiedConnection) -> None:
        self.connection = connection
        self.pooled = pooled
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

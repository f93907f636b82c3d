"""One snapshot of a file, from its connection's way out of the pool to its way back."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

import sqlalchemy as sa

from engine.storage.pool import connection_of
from engine.storage.transaction import Opened
from engine.storage.transaction import Transaction

if TYPE_CHECKING:
    from engine.storage.database import Database


class Snapshot:
    """One snapshot of a file, for the time of a block. A class, since every request has one: as generators,
    one within the other, it took as long as finding a row."""

    __slots__ = ("database", "seconds_max", "taken", "token", "transaction")

    taken: sa.PoolProxiedConnection
    token: Opened
    transaction: Transaction

    def __init__(self, database: Database, seconds_max: float) -> None:
        self.database = database
        self.seconds_max = seconds_max

    def __enter__(self) -> Transaction:
        database = self.database
        self.taken = taken = database.connections.check_out(database.reader)
        try:
            connection = connection_of(taken)
            transaction = Transaction(connection, database.dialect, database.cache)
            self.token = database.begin(transaction, self.seconds_max)
        except BaseException:
            database.connections.check_in(database.reader, taken)
            raise
        self.transaction = transaction
        return transaction

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        database = self.database
        try:
            database.finish(self.transaction, self.token, has_failed=kind is not None)
        finally:
            database.connections.check_in(database.reader, self.taken)

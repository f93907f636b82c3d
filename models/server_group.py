"""How writes to a server share a COMMIT: small ones that came together (`models/joint.py`), on one session.

What begins and keeps a unit is sent along with the statements next to it, so that only its own are waited for.
"""

from __future__ import annotations

import time
from typing import Any
from typing import Final

import sqlalchemy as sa
from psycopg.pq import TransactionStatus

from models.group_commit import Group
from models.sql import postgresql
from models.sql.writer_lock import GROUP_SECONDS_MAX
from models.transaction import Bounds

COMMIT: Final = "COMMIT"
TURN_KEY: Final = 0x57414C4B  # "WALK"

FIRST: Final = Bounds("", (), ("ROLLBACK",))
"""Of the first unit, which nothing is to be saved from; the group has begun its transaction."""

NESTED: Final = tuple(
    Bounds(
        f"SAVEPOINT {name}",
        (f"RELEASE SAVEPOINT {name}",),
        (f"ROLLBACK TO SAVEPOINT {name}", f"RELEASE SAVEPOINT {name}"),
    )
    for name in ("unit_even", "unit_odd")
)
"""Of those after it, by turns: one whose savepoint was not made must not go back to that of the one before."""


class ServerGroup(Group):
    """A group on a session, whose transaction has begun."""

    def __init__(self, taken: sa.PoolProxiedConnection) -> None:
        super().__init__(taken)
        self.session: Any = taken.dbapi_connection
        self.grows_until = time.monotonic() + GROUP_SECONDS_MAX
        self.is_first = True

    @property
    def is_open(self) -> bool:
        return bool(self.session.pgconn.transaction_status == TransactionStatus.INTRANS)

    @property
    def may_grow(self) -> bool:
        return super().may_grow and time.monotonic() < self.grows_until

    def next_bounds(self) -> Bounds:
        """What begins, keeps and undoes the next unit."""
        if self.is_first:
            self.is_first = False
            return FIRST
        return NESTED[self.units % 2]

    def commit(self) -> Exception | None:
        try:
            self.session.name_of(COMMIT)
        except postgresql.ERRORS as error:  # nothing was said that could have kept it
            return postgresql.translate(error)
        try:
            self.session.run(COMMIT)
        except postgresql.ERRORS as error:
            return postgresql.translate_of_commit(error)
        return None

    def roll_back(self) -> None:
        """Left to whoever takes the session back, who drops one that is not idle."""

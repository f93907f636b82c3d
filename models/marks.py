"""How far a standby's snapshot must have got to stand in for the primary's; told by the audit trail.

Whose rows are whose, and who may read them, is the same in two snapshots of one database if the last
line that decides it is (docs/decisions/0021). Only a server has standbys, and the function asked here.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from models.audit_log import AuditLog

LINE = AuditLog.__table__


@dataclass(frozen=True, slots=True)
class Marks:
    """What the primary's snapshot knows: the caller's last line, and the last one that decides rights."""

    own: int | None
    rights: str | None

    def are_within(self, last: int | None, rights: str | None) -> bool:
        """Whether another snapshot, of that last line, has what the caller wrote, and the same rights."""
        return rights == self.rights and (last or 0) >= (self.own or 0)


def last_line_of(actor_id: sa.ColumnElement[str]) -> sa.ScalarSelect[int]:
    """The last line on somebody's behalf, by the index made for it (models/sql/postgresql.sql)."""
    indexed = LINE.c.id + sa.literal_column("0")
    return sa.select(sa.func.max(indexed)).where(LINE.c.actor_id == actor_id).scalar_subquery()


def last_rights() -> sa.ColumnElement[str]:
    """The last line that decides rights."""
    return sa.func.last_rights(type_=sa.Text)

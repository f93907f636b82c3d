"""How far a replica must have replayed for its snapshot to replace the primary's (docs/decisions/0021).

Two snapshots give a caller the same rights if they hold the same last audit entry that decides rights. The replica's
snapshot must also hold the last audit entry of the caller. Only PostgreSQL has replicas.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from models.audit_log import AuditLog

ENTRY = AuditLog.__table__


@dataclass(frozen=True, slots=True)
class ReplicationPositions:
    """The ids of two audit entries in a snapshot: the caller's last one, and the last one that decides rights."""

    own: int | None
    rights: str | None

    def are_within(self, last: int | None, rights: str | None) -> bool:
        """Return whether a snapshot whose last entry is `last` and whose last rights entry is `rights` may answer."""
        return rights == self.rights and (last or 0) >= (self.own or 0)


def last_entry_of(actor_id: sa.ColumnElement[str]) -> sa.ScalarSelect[int]:
    """Return the subquery for an actor's last entry. Its expression selects the matching index (schema.sql)."""
    indexed = ENTRY.c.id + sa.literal_column("0")
    return sa.select(sa.func.max(indexed)).where(ENTRY.c.actor_id == actor_id).scalar_subquery()


def last_rights() -> sa.ColumnElement[str]:
    """Return the query for the last entry that decides rights."""
    return sa.func.last_rights(type_=sa.Text)

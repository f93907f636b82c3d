"""Who makes this request: a role, a client, and which kinds of grant they hold anything in.

A *standing* (role and kinds of grant) is part of a plan's key; a *caller* adds the values that the
plan's parameters take. Knows no URL, no SQL and no clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from enum import StrEnum


class Role(StrEnum):
    """The three roles, by their names in tokens and rows."""

    SUPER_ADMIN = "super_admin"
    CLIENT_ADMIN = "client_admin"
    CLIENT_MANAGER = "client_manager"


class Kind(Enum):
    """What a grant opens."""

    BUILDING = "building"
    INSPECTION = "inspection"


@dataclass(frozen=True, slots=True)
class Standing:
    """A role, and the kinds of grant that hold something for whoever has it."""

    role: Role
    holds: frozenset[Kind] = frozenset()


STANDINGS: dict[tuple[Role, bool, bool], Standing] = {
    (role, buildings, inspections): Standing(
        role,
        frozenset(
            kind
            for kind, held in ((Kind.BUILDING, buildings), (Kind.INSPECTION, inspections))
            if held
        ),
    )
    for role in Role
    for buildings in (False, True)
    for inspections in (False, True)
}


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who may ask. `id` is None for the service key, which has no user behind it."""

    id: str | None
    client_id: int | None
    standing: Standing
    session_id: str | None = None

    @property
    def role(self) -> Role:
        return self.standing.role


SERVICE = Caller(None, None, STANDINGS[Role.SUPER_ADMIN, False, False])
"""Whoever holds the service key."""

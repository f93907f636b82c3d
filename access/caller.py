"""The caller of a request: role, client, and the kinds of grant they hold.

A grant profile (role and kinds of grant) is part of a plan's key. A caller adds the values of the plan's parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache


class Role(StrEnum):
    """The three roles, by their names in tokens and rows."""

    SUPER_ADMIN = "super_admin"
    CLIENT_ADMIN = "client_admin"
    CLIENT_MANAGER = "client_manager"


class GrantKind(Enum):
    """The kind of row that a grant makes readable."""

    BUILDING = "building"
    INSPECTION = "inspection"


@dataclass(frozen=True, slots=True)
class GrantProfile:
    """A role, the kinds of which the caller holds at least one grant, and whether an inspector is linked to them."""

    role: Role
    kinds: frozenset[GrantKind] = frozenset()
    is_inspector: bool = False


@cache
def grant_profile(role: Role, buildings: bool, inspections: bool, is_inspector: bool = False) -> GrantProfile:
    """Return the profile of a role: whether it holds a building grant and an inspection grant, and is linked."""
    kinds = ((GrantKind.BUILDING, buildings), (GrantKind.INSPECTION, inspections))
    return GrantProfile(role, frozenset(kind for kind, is_held in kinds if is_held), is_inspector)


GRANT_PROFILES: dict[tuple[Role, bool, bool], GrantProfile] = {
    (role, buildings, inspections): grant_profile(role, buildings, inspections)
    for role in Role
    for buildings in (False, True)
    for inspections in (False, True)
}
"""The profiles without a linked inspector, by role, holds a building grant, holds an inspection grant."""

VISIT_DAYS = 90
"""An inspector reads a visit of theirs for this number of days after it."""


@dataclass(frozen=True, slots=True)
class Caller:
    """The user who sends a request. `id` is None for the service key, which belongs to no user.

    A request with a user's API key has its id as `api_key_id`. The key may be read-only.
    """

    id: str | None
    client_id: int | None
    profile: GrantProfile
    session_id: str | None = None
    api_key_id: str | None = None
    is_read_only: bool = False
    visits_since: str | None = None
    """The first day whose visits a linked inspector reads."""

    @property
    def role(self) -> Role:
        return self.profile.role


SERVICE_CALLER = Caller(None, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
"""The caller of a request with the service key."""

"""The roles, the kinds of grant, and the grant profile: what of a caller a plan depends on."""

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

EVERY_ROLE = frozenset(Role)
ADMINS = frozenset({Role.SUPER_ADMIN, Role.CLIENT_ADMIN})
SUPER_ADMINS = frozenset({Role.SUPER_ADMIN})
"""The sets of roles that declarations of functions name (access/decorators.py)."""

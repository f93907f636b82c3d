"""The caller of a request: role, client, and the kinds of grant they hold.

A grant profile (role and kinds of grant) is part of a plan's key. A caller adds the values of the rule's parameters.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

from access.policy import SERVICE_PROFILE, AccessRule
from access.roles import GrantProfile, Role
from models.types import Bound


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
    has_temporary_password: bool = False
    """Whether an administrator chose the password of the caller, in the console."""

    @property
    def role(self) -> Role:
        return self.profile.role

    @property
    def rule(self) -> AccessRule:
        return AccessRule(self.profile)

    @property
    def parameters(self) -> dict[str, Bound]:
        """The values of the rule's parameters by name."""
        return {"caller_id": self.id, "caller_client_id": self.client_id, "visits_since": self.visits_since}

    @property
    def visibility(self) -> Hashable:
        """What decides which rows are visible: the key of cached counts."""
        return self.rule, self.id, self.client_id, self.visits_since


SERVICE_CALLER = Caller(None, None, SERVICE_PROFILE)
"""The caller of a request with the service key."""

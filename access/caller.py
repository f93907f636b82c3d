"""The caller of a request: role, client, and the kinds of grant they hold.

A grant profile (role and kinds of grant) is part of a plan's key. A caller adds the values of the rule's parameters.
"""

from __future__ import annotations

from dataclasses import dataclass

from access.policy import SERVICE_PROFILE, AccessRule
from access.roles import GrantProfile, Role
from engine.query.dialect.base import json_array
from engine.query.statement import Binding
from models.types import Bound


def rule_parameters(user_id: str | None, client_id: int | None, visits_since: str | None) -> dict[str, Bound]:
    return {"caller_id": user_id, "caller_client_id": client_id, "visits_since": visits_since}


@dataclass(frozen=True, slots=True)
class VisibleRows:
    """The rows that a rule shows to a caller: the rule and the values of its parameters. A key of cached counts."""

    rule: AccessRule
    caller_id: str | None
    caller_client_id: int | None
    visits_since: str | None = None

    @property
    def parameters(self) -> dict[str, Bound]:
        """The values of the rule's parameters by name."""
        return rule_parameters(self.caller_id, self.caller_client_id, self.visits_since)

    def binding(self, *keys: int | str, **parameters: Bound) -> Binding:
        """Return the values of a statement: `keys` for `Binding.keys`, and the named parameters with the rule's."""
        return Binding(parameters=self.parameters | parameters, keys=json_array(keys))


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
        return rule_parameters(self.id, self.client_id, self.visits_since)

    def binding(self, *keys: int | str, **parameters: Bound) -> Binding:
        """Return the values of a statement: `keys` for `Binding.keys`, and the named parameters with the rule's."""
        return self.visible_rows().binding(*keys, **parameters)

    def visible_rows(self) -> VisibleRows:
        return VisibleRows(self.rule, self.id, self.client_id, self.visits_since)


SERVICE_CALLER = Caller(None, None, SERVICE_PROFILE)
"""The caller of a request with the service key."""

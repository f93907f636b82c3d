"""What a page refuses to a user, in words. This module does not use Flask."""

from __future__ import annotations

from dataclasses import dataclass

from access.roles import Role
from engine.query.rule import Action
from models.fields import Model

VERBS = {Action.INSERT: "create", Action.UPDATE: "edit", Action.DELETE: "delete"}


@dataclass(frozen=True, slots=True)
class DeniedPurpose:
    """What a user was refused, after "you may not", and the roles that are allowed."""

    text: str
    roles: tuple[Role, ...]


def purpose_of(action: Action, model: type[Model]) -> str:
    plural = model.plural or model.__tablename__.replace("_", " ")
    return f"open {plural}" if action is Action.READ else f"{VERBS[action]} {plural.lower()}"

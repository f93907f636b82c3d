"""The generic pages of the registered tables: their paths, and which roles may open them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from access import policy
from access.roles import GrantProfile, Role
from engine.query.statement import Action
from models.fields import Model
from models.types import UUID
from routes.console.components.tables import Table, all_tables
from routes.console.register import TABLE_VIEWS
from tests.conftest import DATASET, UNKNOWN_USER_ID

ROLES = {"root": Role.SUPER_ADMIN, "ada": Role.CLIENT_ADMIN, "moe": Role.CLIENT_MANAGER}
ROWS = json.loads(DATASET.read_text())
SUFFIXES = {suffix: action for suffix, action, _, _ in TABLE_VIEWS if suffix != "/suggest"}


@dataclass(frozen=True)
class GenericPage:
    table: Table
    action: Action
    suffix: str

    @property
    def rule(self) -> str:
        key = "<int:key>" if self.table.has_number else "<key>"
        return f"/console{self.table.path}{self.suffix}".replace("{key}", key)

    @property
    def path(self) -> str:
        return self.path_of(known_key(self.table))

    def path_of(self, key: str) -> str:
        return f"/console{self.table.path}{self.suffix}".replace("{key}", key)

    def permits(self, who: str) -> bool:
        role = ROLES[who]
        allowed = self.table.presentation.allowed(role)
        return allowed and policy.permits(GrantProfile(role), self.action, self.table.model)


def key_text(table: Table, row: Mapping[str, object]) -> str:
    """Return a row's key as in the path of its page."""
    return ",".join(str(row[name]) for name in table.relation.key)


def known_key(table: Table) -> str:
    """Return the key of a row that Root reads: the first of the data set, or a well-formed one of no row."""
    rows = ROWS.get(table.name)
    types = [table.relation.attributes[each].type for each in table.relation.key]
    return key_text(table, rows[0]) if rows else ",".join(UNKNOWN_USER_ID if each is UUID else "1" for each in types)


def is_served(model: type[Model], action: Action) -> bool:
    return any(policy.may_permit(role, action, model) for role in Role)


def generic_pages() -> Iterator[GenericPage]:
    for table in all_tables():
        for suffix, action in SUFFIXES.items():
            has_form = table.model.grant is None or action in (Action.READ, Action.DELETE)
            if is_served(table.model, action) and has_form:
                yield GenericPage(table, action, suffix)

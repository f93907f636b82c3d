"""The generic pages of the registered tables: their paths, and which roles may open them."""

from collections.abc import Iterator
from dataclasses import dataclass

from access import policy
from access.caller import Role
from engine.query.rule import Action
from models.fields import Model
from routes.console.components.tables import Table, all_tables
from routes.console.register import PAGES as MODULES
from tests.conftest import ADA, BOB, MAX, MOE

assert MODULES, "the modules of the pages register their hooks"

ROLES = {"root": Role.SUPER_ADMIN, "ada": Role.CLIENT_ADMIN, "moe": Role.CLIENT_MANAGER}
KEYS = {
    "users": MOE,
    "client_admin_building_access": f"{ADA},1",
    "client_manager_building_access": f"{MOE},1",
    "client_admin_inspection_access": f"{BOB},3",
    "client_manager_inspection_access": f"{MOE},3",
}
"""The key of a row that Root reads; the default is 1."""
ELSEWHERE = {"users": MAX}
"""The key of a row that Ada does not read."""
SUFFIXES = {"": Action.READ, ".csv": Action.READ, "/new": Action.INSERT, "/{key}": Action.READ,
            "/{key}/edit": Action.UPDATE, "/{key}/delete": Action.DELETE}  # fmt: skip


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
        return self.path_of(KEYS.get(self.table.name, "1"))

    def path_of(self, key: str) -> str:
        return f"/console{self.table.path}{self.suffix}".replace("{key}", key)

    def permits(self, who: str) -> bool:
        role = ROLES[who]
        return self.table.hooks.allowed(role) and policy.permits(role, self.action, self.table.model)


def is_served(model: type[Model], action: Action) -> bool:
    return any(policy.permits(role, action, model) for role in Role)


def generic_pages() -> Iterator[GenericPage]:
    for table in all_tables():
        for suffix, action in SUFFIXES.items():
            has_form = table.model.grant is None or action in (Action.READ, Action.DELETE)
            if is_served(table.model, action) and has_form:
                yield GenericPage(table, action, suffix)

"""The complete schema of an engine: its template, with the statements that follow from the models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from engine.schema import postgresql_audit, postgresql_triggers, sqlite_audit, sqlite_triggers
from engine.schema.description import POSTGRESQL, SQLITE, audited, grant_tables, resources
from engine.schema.tables import create_statements
from models import RESOURCES
from models.credential import HIDDEN
from models.fields import Model

PROJECT = Path(__file__).resolve().parents[2]
TEMPLATES = Path(__file__).resolve().parent
COMMITTED = {SQLITE: PROJECT / "schema.sql", POSTGRESQL: PROJECT / "engine" / "postgres" / "schema.sql"}
"""The schemas as files, for readers. Databases are created from the models."""

RECREATED_MARKER = "-- Recreated by every upgrade"
"""The line of PostgreSQL's schema after which functions and triggers follow. An upgrade runs the rest."""

Section = Callable[[], str]

SECTIONS: Mapping[str, Mapping[str, Section]] = {
    SQLITE: {
        "roles": sqlite_triggers.role_triggers,
        "tenants": sqlite_triggers.tenant_triggers,
        "sequences": sqlite_triggers.sequence_triggers,
        "deletion of grants": sqlite_triggers.deletion_of_grants,
        "moves": sqlite_triggers.move_triggers,
        "audit": sqlite_audit.audit_triggers,
    },
    POSTGRESQL: {
        "names without rights": postgresql_audit.names_without_rights,
        "array without rights": postgresql_audit.array_without_rights,
        "changes of rights": postgresql_audit.changes_of_rights,
        "follow": postgresql_triggers.follow_functions,
        "deletions": postgresql_triggers.deletion_triggers,
        "roles": postgresql_triggers.role_triggers,
        "sequences": postgresql_triggers.sequence_triggers,
        "deletion of grants": postgresql_triggers.deletion_of_grants,
        "moves": postgresql_triggers.move_triggers,
        "audit": postgresql_audit.audit_triggers,
    },
}
"""By engine and by name in its template, as `{{name}}`: the function whose text stands in its place."""


def schema_script(engine: str) -> str:
    """Return the schema of `sqlite` or `postgresql` as a script."""
    return render(engine, tuple(RESOURCES.values()))


@cache
def render(engine: str, models: tuple[type[Model], ...]) -> str:
    """Return the schema of the registry, whose current models are the key of the cache: tests extend it."""
    assert models == tuple(RESOURCES.values())
    text = (TEMPLATES / f"{engine}.sql").read_text(encoding="utf-8")
    for name, found in table_groups().items():
        statements = "\n".join(create_statements(model, engine) for model in found)
        text = text.replace(placeholder(name), statements.removesuffix("\n"))
    for name, section in SECTIONS[engine].items():
        text = text.replace(placeholder(name), section().removesuffix("\n"))
    return text


def placeholder(name: str) -> str:
    return "{{" + name + "}}"


def table_groups() -> Mapping[str, Iterable[type[Model]]]:
    """Return the tables by name in the templates."""
    return {
        "tables": [model for model in audited() if model.grant is None],
        "grants": grant_tables(),
        "hidden": HIDDEN,
        "log": [model for model in resources() if model.written_by_triggers],
    }


def upgrade_script() -> str:
    """Return the functions and triggers of PostgreSQL, which every upgrade recreates."""
    script = schema_script(POSTGRESQL)
    return script[script.index(RECREATED_MARKER) :]


def write_schemas(paths: Mapping[str, Path] = COMMITTED) -> list[str]:
    """Write the schema of each engine. Return a line for each file."""
    for engine, path in paths.items():
        path.write_text(schema_script(engine), encoding="utf-8")
    return [f"{path.name}: the schema for {engine}" for engine, path in paths.items()]

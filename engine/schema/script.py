"""The complete schema of an engine: its template, with the statements that follow from the models.

It also holds the queries for rows of a SQLite file that violate a rule of the schema.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from engine.schema import sqlite_triggers
from engine.schema.tables import (
    POSTGRESQL,
    SQLITE,
    Reference,
    audited,
    create_statements,
    grant_tables,
    held_by_triggers,
    insert_shipped,
    key_of,
    resources,
)
from models import RESOURCES
from models.credential import HIDDEN
from models.fields import TENANT_COLUMN, Model

PROJECT = Path(__file__).resolve().parents[2]
TEMPLATES = {SQLITE: PROJECT / "engine" / "schema", POSTGRESQL: PROJECT / "postgres"}
COMMITTED = {SQLITE: PROJECT / "schema.sql", POSTGRESQL: PROJECT / "postgres" / "schema.sql"}
"""The schemas as files, for readers. Databases are created from the models."""

RECREATED_MARKER = "-- Recreated by every upgrade"
"""The line of PostgreSQL's schema after which functions and triggers follow. An upgrade runs the rest."""

Section = Callable[[], str]

SECTIONS: Mapping[str, Section] = {
    "roles": sqlite_triggers.role_triggers,
    "tenants": sqlite_triggers.tenant_triggers,
    "refusals": sqlite_triggers.refusal_triggers,
    "sequences": sqlite_triggers.sequence_triggers,
    "deletion of grants": sqlite_triggers.deletion_of_grants,
    "moves": sqlite_triggers.move_triggers,
    "audit": sqlite_triggers.audit_triggers,
}
"""By name in SQLite's template, as `{{name}}`: the function whose text stands in its place."""


def schema_script(engine: str) -> str:
    """Return the schema of `sqlite` or `postgresql` as a script."""
    return render(engine, tuple(RESOURCES.values()))


@cache
def render(engine: str, models: tuple[type[Model], ...]) -> str:
    """Return the schema of the registry, whose current models are the key of the cache: tests extend it."""
    assert models == tuple(RESOURCES.values())
    text = (TEMPLATES[engine] / "schema.template.sql").read_text(encoding="utf-8")
    for name, found in table_groups().items():
        statements = "\n".join(create_statements(model, engine) for model in found)
        text = text.replace(placeholder(name), statements.removesuffix("\n"))
    shipped = "\n".join(insert_shipped(model, engine) for model in models if model.shipped)
    text = text.replace(placeholder("shipped"), shipped.removesuffix("\n"))
    for name, section in sections(engine).items():
        text = text.replace(placeholder(name), section().removesuffix("\n"))
    return text


def sections(engine: str) -> Mapping[str, Section]:
    """Return the sections of an engine's template. Import PostgreSQL's package only now."""
    if engine == SQLITE:
        return SECTIONS
    found: Mapping[str, Section] = importlib.import_module("postgres.triggers").SECTIONS
    return found


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


FOREIGN_KEY_VIOLATIONS = """
    SELECT "table" || coalesce(' row ' || rowid, '') || ' references no row of ' || parent
    FROM pragma_foreign_key_check
"""
"""Returns the rows that violate a foreign key. Another program may write with foreign keys off."""


TABLES_WITH_CLIENT = f"""
    SELECT found.name FROM sqlite_schema AS found JOIN pragma_table_info(found.name) AS listed
    WHERE found.type = 'table' AND listed.name = '{TENANT_COLUMN}'
"""


def violations(run: Callable[[str], Iterable[Any]]) -> Iterator[str]:
    """Yield the rows that violate a foreign key, and those whose client differs from their parent's.

    A file of an earlier version lacks tables of this one.
    """
    present = {name for (name,) in run(TABLES_WITH_CLIENT)}
    for query in (FOREIGN_KEY_VIOLATIONS, client_mismatches(present)):
        for (line,) in run(query):
            yield line


def client_mismatches(tables: Container[str]) -> str:
    """Return the query for rows of these tables whose client differs from the parent's. Only triggers prevent it."""
    keys = (key for key in held_by_triggers() if key.table in tables and key.parent in tables)
    return " UNION ALL ".join(map(client_mismatches_of, keys)) or "SELECT NULL WHERE 1 = 0"


def client_mismatches_of(key: Reference) -> str:
    row = " || ',' || ".join(f"child.{name}" for name in key_of(key.model))
    parent = key.column.removesuffix("_id")
    return (
        f"SELECT '{key.table} row ' || {row} || ' has another client than its {parent}'"
        f" FROM {key.table} AS child JOIN {key.parent} AS parent ON parent.{key.parent_column} = child.{key.column}"
        f" WHERE child.{TENANT_COLUMN} <> parent.{TENANT_COLUMN}"
    )

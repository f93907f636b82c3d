"""Queries for the rows of a SQLite file that violate a rule of the schema."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from typing import Any

from engine.schema.description import Reference, held_by_triggers, key_of
from models.fields import TENANT_COLUMN

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

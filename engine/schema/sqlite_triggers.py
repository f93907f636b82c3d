"""The triggers of SQLite that follow from the models. The others are in engine/schema/sqlite.sql."""

from __future__ import annotations

import textwrap

from engine.schema.description import (
    SQLITE,
    Reference,
    audited,
    grant_of,
    grant_tables,
    grants_of_users,
    grants_on,
    held_by_triggers,
    is_compound,
    owner_column,
    sequence_tables,
    tenant_children,
    written_by_service,
)
from models.fields import TENANT_COLUMN, Model


def create_trigger(name: str, when: str, table: str, condition: str, body: str) -> str:
    """Return the statement of a trigger. A body of one line stays on the line of BEGIN."""
    guard = f"\nWHEN {condition}" if condition else ""
    block = f"BEGIN\n{textwrap.indent(body, '    ')}\nEND" if "\n" in body else f"BEGIN {body} END"
    return f"CREATE TRIGGER {name} {when} ON {table}{guard}\n{block};\n"


def refuse(constraint: str) -> str:
    return f"SELECT RAISE(ABORT, 'check:{constraint}');"


def role_triggers() -> str:
    """Return the triggers that check the role of a grant's user."""
    return "".join(
        create_trigger(
            f"{table}_role_{name}",
            when,
            table,
            f"NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.{grant.grantee} AND role = '{grant.role}')",
            refuse(f"{table}_{grant.grantee}_check"),
        )
        for table, grant in ((model.__tablename__, grant_of(model)) for model in grant_tables())
        for name, when in (("insert", "BEFORE INSERT"), ("update", f"BEFORE UPDATE OF {grant.grantee}"))
    )


def tenant_triggers() -> str:
    """Return the triggers that refuse a row whose client is not its parent's."""
    return "".join(
        create_trigger(
            f"{key.table}_client{of_other_parent(key)}_{name}",
            when,
            key.table,
            f"NEW.{TENANT_COLUMN} <> "
            f"(SELECT {TENANT_COLUMN} FROM {key.parent} WHERE {key.parent_column} = NEW.{key.column})",
            refuse(f"{key.table}_{TENANT_COLUMN}_check"),
        )
        for key in held_by_triggers()
        for name, when in (("insert", "BEFORE INSERT"), ("update", f"BEFORE UPDATE OF {key.column}, {TENANT_COLUMN}"))
    )


def of_other_parent(key: Reference) -> str:
    """Return the part of a trigger's name that tells several parents apart."""
    return "" if key.column == key.model.tenant else f"_of_{key.column.removesuffix('_id')}"


def sequence_triggers() -> str:
    """Return the triggers that count a changed id as used."""
    return "".join(
        create_trigger(
            f"{table}_ids",
            "AFTER UPDATE OF id",
            table,
            "",
            f"UPDATE sqlite_sequence SET seq = max(seq, NEW.id) WHERE name = '{table}';",
        )
        for table in sequence_tables()
        if table not in written_by_service()
    )


def deletion_of_grants() -> str:
    """Return the statements that delete the grants of the user OLD."""
    return "\n".join(f"    DELETE FROM {table} WHERE {grantee} = OLD.id;" for table, grantee in grants_of_users())


def move_triggers() -> str:
    """Return the triggers of rows that move to another client: they move children and delete grants."""
    return "".join(move_trigger(model) for model in audited() if owner_column(model) == TENANT_COLUMN)


def move_trigger(model: type[Model]) -> str:
    table = model.__tablename__
    statements = [
        f"UPDATE {key.table} SET {TENANT_COLUMN} = NEW.{TENANT_COLUMN} WHERE {key.column} = NEW.{key.parent_column};"
        for key in tenant_children(model)
        if not is_compound(key, SQLITE)
    ]
    statements += [
        f"DELETE FROM {each.__tablename__} WHERE {grant.target} = NEW.id\n"
        f"    AND {grant.grantee} IN (SELECT id FROM users WHERE {TENANT_COLUMN} = OLD.{TENANT_COLUMN});"
        for each, grant in grants_on(table)
    ]
    if not statements:
        return ""
    changes = f"OLD.{TENANT_COLUMN} IS NOT NEW.{TENANT_COLUMN}"
    body = "\n".join(statements)
    return create_trigger(f"{table}_moved", f"AFTER UPDATE OF {TENANT_COLUMN}", table, changes, body)

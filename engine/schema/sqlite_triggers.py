"""The triggers of SQLite that follow from the models, with the triggers of the audit log.

The triggers written by hand are in engine/schema/schema.template.sql.
"""

from __future__ import annotations

import textwrap

from engine.schema.tables import (
    INDENT,
    SQLITE,
    Reference,
    audited,
    fill,
    grant_of,
    grant_tables,
    grants_of_users,
    grants_on,
    held_by_triggers,
    info_of,
    is_compound,
    key_of,
    logged_columns,
    owner_column,
    refusals,
    refused_writes,
    sequence_tables,
    table_of,
    tenant_children,
    written_by_service,
)
from models.fields import TENANT_COLUMN, Model
from models.types import BOOLEAN


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


def refusal_triggers() -> str:
    """Return the triggers that refuse the writes of `Model.refusals`."""
    return "".join(
        create_trigger(f"{table}_{refusal.name}_{name}", when, table, condition, refuse(refusal.constraint))
        for table, refusal in refusals()
        for name, when, condition in refused_writes(table, refusal, "(SELECT actor_id FROM audit_context)")
    )


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


CLIENT_OF_GRANTEE = (
    "(SELECT grantee.client_id FROM users AS grantee"
    " LEFT JOIN users AS actor ON actor.id = audit_context.actor_id"
    " WHERE grantee.id = {grantee} AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id)"
)
"""The client that may read a grant's entry: the grantee's, unless the actor belongs to another client.

A grant may be on a building of another client, whose users may delete the building. The entry would reveal them to the
grantee's client, so only super admins read it."""


def audit_triggers() -> str:
    """Return the triggers that write the audit log, for every resource except the audit log.

    A row that changes its owner is logged as a delete and an insert, since neither client may learn of the other.
    """
    return "".join(text for model in audited() for text in audit_triggers_of(model))


def audit_triggers_of(model: type[Model]) -> list[str]:
    table, owner = model.__tablename__, owner_column(model)
    inserted, deleted = row_entry(model, "insert", "NEW"), row_entry(model, "delete", "OLD")

    def audit(name: str, when: str, condition: str, body: str) -> str:
        return create_trigger(f"{table}_audit_{name}", when, table, condition, body)

    found = [
        audit("insert", "AFTER INSERT", "", inserted),
        # BEFORE, since a cascade may delete the grantee of a grant.
        audit("delete", "BEFORE DELETE", "", deleted),
        audit("update", "AFTER UPDATE", f"OLD.{owner} IS NEW.{owner}" if owner else "", update_entry(model)),
    ]
    if owner:
        found.append(audit("move", "AFTER UPDATE", f"OLD.{owner} IS NOT NEW.{owner}", f"{deleted}\n{inserted}"))
    return found


def entry(model: type[Model], action: str, row: str, before: str, after: str, where: str = "") -> str:
    """Return the statement that writes an entry of the audit log."""
    key = " || ',' || ".join(f"{row}.{name}" for name in key_of(model))
    values = (f"'{action}'", f"'{model.__tablename__}'", key, client_of(model, row), before, after)
    return (
        "INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)\n"
        f"SELECT at, actor_id,\n{fill(values, INDENT)}\nFROM audit_context{where};"
    )


def client_of(model: type[Model], row: str) -> str:
    """Return the client of a row. Its client admins read the entries of the row."""
    if model.grant is not None:
        return CLIENT_OF_GRANTEE.format(grantee=f"{row}.{model.grant.grantee}")
    if model.tenant is None:
        return "NULL"
    return f"{row}.id" if model.tenant == "id" else f"{row}.{TENANT_COLUMN}"


def row_entry(model: type[Model], action: str, row: str) -> str:
    """Return the statement that logs a whole row, inserted or deleted."""
    flags = truth_values(model)
    values = ((name, f"{row}.{name}") for name in logged_columns(model))
    pairs = fill((f"'{name}', {as_json(each) if name in flags else each}" for name, each in values), INDENT * 2)
    whole = f"json_object(\n{pairs})"
    return entry(model, action, row, whole if row == "OLD" else "NULL", whole if row == "NEW" else "NULL")


def update_entry(model: type[Model]) -> str:
    """Return the statement that logs the changed columns of a row, if there are any."""
    differences = fill((f"OLD.{name} IS NOT NEW.{name}" for name in logged_columns(model)), INDENT, " OR ")
    before, after = changed_values(model, "OLD"), changed_values(model, "NEW")
    return entry(model, "update", "NEW", before, after, f" WHERE\n{differences}")


def changed_values(model: type[Model], row: str) -> str:
    parts = (
        f"{INDENT * 2}SELECT '{name}' AS name, {row}.{name} AS value WHERE OLD.{name} IS NOT NEW.{name}"
        for name in logged_columns(model)
    )
    flags = ", ".join(f"'{name}'" for name in truth_values(model))
    value = (
        f"\n{INDENT * 2}CASE WHEN name IN ({flags}) THEN {as_json('value')}\n{INDENT * 2}ELSE value END"
        if flags
        else " value"
    )
    return f"(SELECT json_group_object(name,{value}) FROM (\n" + " UNION ALL\n".join(parts) + "))"


def truth_values(model: type[Model]) -> list[str]:
    """Return the columns that hold 0 and 1 for truth values."""
    return [name for name in logged_columns(model) if info_of(table_of(model).c[name]).type is BOOLEAN]


def as_json(value: str) -> str:
    """Return a truth value as JSON."""
    return f"CASE {value} WHEN 1 THEN json('true') WHEN 0 THEN json('false') END"

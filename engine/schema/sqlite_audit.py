"""The triggers of SQLite that write the audit log."""

from __future__ import annotations

from engine.schema.description import (
    audit_reference,
    audited,
    client_of_reference,
    key_of,
    owner_column,
    visible_columns,
)
from engine.schema.layout import INDENT, fill
from engine.schema.sqlite_triggers import create_trigger
from models.fields import TENANT_COLUMN, Model

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
    key = audit_reference(model)
    if key is not None:
        # The rows go before the one that names their client: a cascade would delete them after it.
        deletion = f"DELETE FROM {table} WHERE {key.column} = OLD.{key.parent_column};"
        found.append(create_trigger(f"{key.parent}_before_delete", "BEFORE DELETE", key.parent, "", deletion))
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
        key = audit_reference(model)
        return "NULL" if key is None else client_of_reference(key, row)
    return f"{row}.id" if model.tenant == "id" else f"{row}.{TENANT_COLUMN}"


def row_entry(model: type[Model], action: str, row: str) -> str:
    """Return the statement that logs a whole row, inserted or deleted."""
    pairs = fill((f"'{name}', {row}.{name}" for name in visible_columns(model)), INDENT * 2)
    whole = f"json_object(\n{pairs})"
    return entry(model, action, row, whole if row == "OLD" else "NULL", whole if row == "NEW" else "NULL")


def update_entry(model: type[Model]) -> str:
    """Return the statement that logs the changed columns of a row, if there are any."""
    differences = fill((f"OLD.{name} IS NOT NEW.{name}" for name in visible_columns(model)), INDENT, " OR ")
    before, after = changed_values(model, "OLD"), changed_values(model, "NEW")
    return entry(model, "update", "NEW", before, after, f" WHERE\n{differences}")


def changed_values(model: type[Model], row: str) -> str:
    parts = (
        f"{INDENT * 2}SELECT '{name}' AS name, {row}.{name} AS value WHERE OLD.{name} IS NOT NEW.{name}"
        for name in visible_columns(model)
    )
    return "(SELECT json_group_object(name, value) FROM (\n" + " UNION ALL\n".join(parts) + "))"

"""The triggers of PostgreSQL that write the audit log, and the entries that may change rights."""

from __future__ import annotations

from engine.schema.description import (
    audit_reference,
    audited,
    client_of_reference,
    columns_with_rights,
    key_of,
    owner_column,
    tables_without_rights,
    visible_columns,
)
from engine.schema.layout import INDENT, fill
from engine.schema.postgresql_triggers import create_function, create_trigger_function
from models.fields import TENANT_COLUMN, Model

COLUMNS = "at, actor_id, action, relation, row_key, client_id, before, after"
IS_OFF = "coalesce(current_setting('walkthrough.audit', true), '') = 'off'"
IS_ON = "coalesce(current_setting('walkthrough.audit', true), '') <> 'off'"
LOCK = "has_writer_lock()"


def names_without_rights() -> str:
    """Return the tables whose new rows change no rights."""
    return ", ".join(f"'{model.__tablename__}'" for model in tables_without_rights())


def array_without_rights() -> str:
    """Return the same tables as the text of an array."""
    return ",".join(model.__tablename__ for model in tables_without_rights())


def changes_of_rights() -> str:
    """Return the old values that a change of rights replaces, and the new ones of columns that may have been null."""
    columns = columns_with_rights()
    values = [f"before ->> '{name}'" for name, _ in columns]
    values += [f"after ->> '{name}'" for name, is_nullable in columns if is_nullable]
    return fill(values, INDENT * 3)


def audit_triggers() -> str:
    return "".join(insert_trigger(model) + update_trigger(model) + delete_trigger(model) for model in audited())


def client_of(model: type[Model], row: str) -> str:
    """Return the client of a row. Its client admins read the entries of the row."""
    if model.grant is not None:
        return f"grantees_client({row}.{model.grant.grantee})"
    if model.tenant is None:
        key = audit_reference(model)
        return "NULL" if key is None else client_of_reference(key, row)
    return f"{row}.id" if model.tenant == "id" else f"{row}.{TENANT_COLUMN}"


def key_text(model: type[Model], row: str) -> str:
    return f"concat_ws(',', {', '.join(f'{row}.{name}' for name in key_of(model))})"


def whole_row(model: type[Model], row: str) -> str:
    """Return a row as JSON, its columns on lines of their own."""
    pairs = fill((f"'{name}', {row}.{name}" for name in visible_columns(model)), INDENT * 4)
    return f"json_build_object(\n{pairs})"


def insert_trigger(model: type[Model]) -> str:
    """Return the trigger that writes the entries of all new rows at the end of a statement."""
    table = model.__tablename__
    name = f"{table}_audit_insert"
    key, client = key_text(model, "made"), client_of(model, "made")
    body = (
        "-- The condition takes the writer lock, which saves a statement.",
        f"IF {IS_ON}\n        AND {LOCK} THEN",
        f"    INSERT INTO audit_log ({COLUMNS})",
        f"        SELECT moment, actor, 'insert', '{table}', {key}, {client},",
        f"            NULL, {whole_row(model, 'made')}",
        "        FROM made;",
        "END IF;",
        "RETURN NULL;",
    )
    declare = ("moment timestamptz := audit_moment();", "actor uuid := audit_actor();")
    return (
        create_function(name, body, declare=declare)
        + f"CREATE OR REPLACE TRIGGER {name} AFTER INSERT ON {table} REFERENCING NEW TABLE AS made\n"
        f"    FOR EACH STATEMENT EXECUTE FUNCTION {name}();\n"
    )


def whole_row_entry(model: type[Model], action: str, row: str) -> str:
    """Return the statement that writes the entry of a whole row, inserted or deleted."""
    whole = whole_row(model, row)
    before, after = (whole, "NULL") if action == "delete" else ("NULL", whole)
    key, client = key_text(model, row), client_of(model, row)
    head = f"PERFORM write_audit_entry('{action}', '{model.__tablename__}', {key}, {client},"
    return f"{head}\n{INDENT * 3}{before}, {after});"


def update_trigger(model: type[Model]) -> str:
    """Return the trigger that writes the changed columns, or a deletion and an insertion of a row that moves."""
    table, owner = model.__tablename__, owner_column(model)
    moves: tuple[str, ...] = ()
    if owner is not None:
        moves = (
            f"IF OLD.{owner} IS DISTINCT FROM NEW.{owner} THEN",
            f"    {whole_row_entry(model, 'delete', 'OLD')}",
            f"    {whole_row_entry(model, 'insert', 'NEW')}",
            "    RETURN NULL;",
            "END IF;",
        )
    changes = (f"('{name}', to_json(OLD.{name}), to_json(NEW.{name}))" for name in visible_columns(model))
    key, client = key_text(model, "NEW"), client_of(model, "NEW")
    body = (
        f"IF {IS_OFF}\n        OR NOT {LOCK} THEN",
        "    RETURN NULL;",
        "END IF;",
        *moves,
        f"INSERT INTO audit_log ({COLUMNS})",
        f"    SELECT audit_moment(), audit_actor(), 'update', '{table}', {key}, {client},",
        "        json_object_agg(name, was), json_object_agg(name, becomes)",
        f"    FROM (VALUES\n{fill(changes, INDENT * 3)}",
        "    ) AS changes (name, was, becomes)",
        "    WHERE was::text IS DISTINCT FROM becomes::text HAVING count(*) > 0;",
        "RETURN NULL;",
    )
    return create_trigger_function(f"{table}_audit_update", "AFTER UPDATE", table, body)


def delete_trigger(model: type[Model]) -> str:
    """Return the trigger that writes the entry before a cascade may delete the row that a grant refers to."""
    name, entry = f"{model.__tablename__}_audit_delete", whole_row_entry(model, "delete", "OLD")
    body = (f"IF {IS_ON} THEN", f"    {entry}", "END IF;", "RETURN OLD;")
    return create_trigger_function(name, "BEFORE DELETE", model.__tablename__, body)

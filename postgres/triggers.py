"""PostgreSQL's functions and triggers that follow from the models, with the triggers of the audit log.

They mark the entries that may change rights. The triggers written by hand are in postgres/schema.template.sql.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from engine.schema.tables import (
    ACTIONS_ON_DELETE,
    INDENT,
    POSTGRESQL_TYPES,
    Reference,
    audited,
    columns_with_rights,
    fill,
    grant_of,
    grant_tables,
    grants_of_users,
    grants_on,
    info_of,
    key_of,
    logged_columns,
    owner_column,
    references_of,
    references_to,
    refusals,
    refused_writes,
    sequence_tables,
    table_of,
    tables_without_rights,
)
from models.fields import TENANT_COLUMN, Model


def create_function(name: str, body: Iterable[str], *, declare: Iterable[str] = (), returns: str = "trigger") -> str:
    """Return the statement of a function without arguments, or with those in its name."""
    declared = "".join(f"    {line}\n" for line in declare)
    head = name if name.endswith(")") else f"{name}()"
    return (
        f"CREATE OR REPLACE FUNCTION {head} RETURNS {returns} LANGUAGE plpgsql AS $$\n"
        + (f"DECLARE\n{declared}" if declared else "")
        + "BEGIN\n"
        + "".join(f"    {line}\n" for line in body)
        + "END $$;\n"
    )


def create_trigger_function(
    name: str, when: str, table: str, body: Iterable[str], *, condition: str = "", declare: Iterable[str] = ()
) -> str:
    """Return the statements of a trigger for each row, and of its function of the same name."""
    guard = f"\n    WHEN ({condition})" if condition else ""
    return (
        create_function(name, body, declare=declare)
        + f"CREATE OR REPLACE TRIGGER {name} {when} ON {table} FOR EACH ROW{guard} EXECUTE FUNCTION {name}();\n"
    )


def following(key: Reference) -> str:
    """Return the name of the function that deletes or changes the rows that refer to a row."""
    return f"{key.table}_follow_{key.column}"


def follow_functions() -> str:
    """Return the functions that delete or change the rows that refer to a deleted or moved row, in key order."""
    keys = [key for model in audited() for key in references_of(model) if key.on_delete in ACTIONS_ON_DELETE]
    return "".join(map(follow_function, keys))


def follow_function(key: Reference) -> str:
    info = info_of(table_of(key.model).c[key.column])
    arguments = f"gone {POSTGRESQL_TYPES.get(info.type, info.type.name)}"
    rows = f"{key.column} = gone"
    if key.model.grant is not None:
        arguments += ", of_client bigint DEFAULT NULL"
        users = f"SELECT id FROM users WHERE {TENANT_COLUMN} = of_client"
        rows += f"\n        AND (of_client IS NULL OR {key.model.grant.grantee} IN ({users}))\n       "
    change = f"DELETE FROM {key.table}" if key.on_delete == "CASCADE" else f"UPDATE {key.table} SET {key.column} = NULL"
    body = (
        f"FOR row_ctid IN SELECT ctid FROM {key.table} WHERE {rows} ORDER BY {', '.join(key_of(key.model))} LOOP",
        f"    {change} WHERE ctid = row_ctid;",
        "END LOOP;",
    )
    return create_function(f"{following(key)}({arguments})", body, declare=["row_ctid tid;"], returns="void")


def deletion_triggers() -> str:
    """Return the triggers that delete or change the rows that refer to a deleted row."""
    found = ((model.__tablename__, references_to(model.__tablename__)) for model in audited())
    return "".join(
        create_trigger_function(
            f"{table}_before_delete",
            "BEFORE DELETE",
            table,
            (*(f"PERFORM {following(key)}(OLD.{key.parent_column});" for key in keys), "RETURN OLD;"),
        )
        for table, keys in found
        if keys
    )


def deletion_of_grants() -> str:
    """Return the statements that delete the grants of the user OLD."""
    return "\n".join(f"    PERFORM {table}_follow_{grantee}(OLD.id);" for table, grantee in grants_of_users())


def sequence_triggers() -> str:
    """Return the triggers that count a chosen id as used. The condition is cheap: most ids come from the sequence."""
    return "".join(
        f"CREATE OR REPLACE TRIGGER {table}_ids AFTER INSERT OR UPDATE OF id ON {table} FOR EACH ROW\n"
        f"    WHEN (NEW.id > coalesce(pg_sequence_last_value('{table}_id_seq'::regclass), 0))"
        f" EXECUTE FUNCTION keep_ids('{table}_id_seq');\n"
        for table in sequence_tables()
    )


def role_triggers() -> str:
    """Return the triggers that check the role of a grant's user."""
    return "".join(role_trigger(model) for model in grant_tables())


def role_trigger(model: type[Model]) -> str:
    table, grant = model.__tablename__, grant_of(model)
    body = (
        f"IF NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.{grant.grantee} AND role = '{grant.role}') THEN",
        f"    PERFORM refuse('{table}_{grant.grantee}_check', '{table}');",
        "END IF;",
        "RETURN NEW;",
    )
    return create_trigger_function(f"{table}_role", f"BEFORE INSERT OR UPDATE OF {grant.grantee}", table, body)


def refusal_triggers() -> str:
    """Return the triggers that refuse the writes of `Model.refusals`."""
    return "".join(
        create_trigger_function(
            f"{table}_{refusal.name}_{name}",
            when,
            table,
            (
                f"IF {condition} THEN",
                f"    PERFORM refuse('{refusal.constraint}', '{table}');",
                "END IF;",
                "RETURN OLD;" if name == "delete" else "RETURN NULL;",
            ),
        )
        for table, refusal in refusals()
        for name, when, condition in refused_writes(table, refusal, "audit_actor()")
    )


def move_triggers() -> str:
    """Return the triggers of rows that move to another client. The compound foreign keys move the children."""
    return "".join(move_trigger(model) for model in audited() if owner_column(model) == TENANT_COLUMN)


def move_trigger(model: type[Model]) -> str:
    table = model.__tablename__
    deletions = [
        f"PERFORM {each.__tablename__}_follow_{grant.target}(NEW.id, OLD.{TENANT_COLUMN});"
        for each, grant in grants_on(table)
    ]
    if not deletions:
        return ""
    changes = f"OLD.{TENANT_COLUMN} IS DISTINCT FROM NEW.{TENANT_COLUMN}"
    return create_trigger_function(
        f"{table}_moved", "AFTER UPDATE", table, [*deletions, "RETURN NULL;"], condition=changes
    )


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
        return "NULL"
    return f"{row}.id" if model.tenant == "id" else f"{row}.{TENANT_COLUMN}"


def key_text(model: type[Model], row: str) -> str:
    return f"concat_ws(',', {', '.join(f'{row}.{name}' for name in key_of(model))})"


def whole_row(model: type[Model], row: str) -> str:
    """Return a row as JSON, its columns on lines of their own."""
    pairs = fill((f"'{name}', {row}.{name}" for name in logged_columns(model)), INDENT * 4)
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
    changes = (f"('{name}', to_json(OLD.{name}), to_json(NEW.{name}))" for name in logged_columns(model))
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


SECTIONS: Mapping[str, Callable[[], str]] = {
    "names without rights": names_without_rights,
    "array without rights": array_without_rights,
    "changes of rights": changes_of_rights,
    "follow": follow_functions,
    "deletions": deletion_triggers,
    "roles": role_triggers,
    "sequences": sequence_triggers,
    "refusals": refusal_triggers,
    "deletion of grants": deletion_of_grants,
    "moves": move_triggers,
    "audit": audit_triggers,
}
"""By name in the template, as `{{name}}`: the function whose text stands in its place."""

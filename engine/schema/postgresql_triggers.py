"""PostgreSQL's functions and triggers that follow from the models. The others are in engine/schema/postgresql.sql."""

from __future__ import annotations

from collections.abc import Iterable

from engine.schema.columns import POSTGRESQL_TYPES
from engine.schema.description import (
    ACTIONS_ON_DELETE,
    Reference,
    audited,
    grant_of,
    grant_tables,
    grants_of_users,
    grants_on,
    info_of,
    key_of,
    owner_column,
    references_of,
    references_to,
    sequence_tables,
    table_of,
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

"""The audit log: every change of a resource's row, in the transaction of the change, and sign-ins and refusals.

Triggers write the entries of changes, cascades included. The transaction sets the actor first
(`Transaction.set_actor`).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding, Statement, compile_statement, new_value, parameter
from engine.storage.transaction import Transaction
from models import RESOURCES
from models.audit_log import AuditLog
from models.types import write_timestamp

CLIENT_OF_GRANTEE = (
    "(SELECT grantee.client_id FROM users AS grantee"
    " LEFT JOIN users AS actor ON actor.id = audit_context.actor_id"
    " WHERE grantee.id = {grantee} AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id)"
)
"""The client that may read a grant's entry: the grantee's, unless the actor belongs to another client.

A grant may be on a building of another client, whose users may delete the building. The entry would reveal them to the
grantee's client, so only super admins read it."""

CLIENT_OF: dict[str, str] = {
    "clients": "{row}.id",
    "users": "{row}.client_id",
    "inspectors": "NULL",
    "buildings": "{row}.client_id",
    "inspections": "{row}.client_id",
    "reports_lead": "{row}.client_id",
    "client_admin_building_access": CLIENT_OF_GRANTEE.format(grantee="{row}.admin_id"),
    "client_manager_building_access": CLIENT_OF_GRANTEE.format(grantee="{row}.manager_id"),
    "client_admin_inspection_access": CLIENT_OF_GRANTEE.format(grantee="{row}.admin_id"),
    "client_manager_inspection_access": CLIENT_OF_GRANTEE.format(grantee="{row}.manager_id"),
}
"""The client of a row. Its client admins read the entries of the row."""

OWNER_COLUMNS: dict[str, str] = {
    "users": "client_id",
    "buildings": "client_id",
    "inspections": "client_id",
    "reports_lead": "client_id",
    "client_admin_building_access": "admin_id",
    "client_manager_building_access": "manager_id",
    "client_admin_inspection_access": "admin_id",
    "client_manager_inspection_access": "manager_id",
}
"""The column that determines the owner of a row."""

INSERT = """    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id, '{action}', '{table}', {key}, {client}, {before}, {after} FROM audit_context;"""


def triggers() -> Iterator[str]:
    """Yield the triggers, in SQLite's SQL, for every resource except the audit log.

    A row that changes its owner is logged as a delete and an insert, since neither client may learn of the other.
    """
    for table in CLIENT_OF:
        sql_table: Any = RESOURCES[table].__table__
        columns = tuple(each.name for each in sql_table.c if not each.info["column"].hidden)
        key = tuple(each.name for each in sql_table.primary_key)
        yield trigger(table, "insert", "AFTER INSERT", "", row_entry(table, columns, key, None, "NEW"))
        # BEFORE, since a cascade may delete the grantee of a grant.
        yield trigger(table, "delete", "BEFORE DELETE", "", row_entry(table, columns, key, "OLD", None))
        owner = OWNER_COLUMNS.get(table)
        same = f"OLD.{owner} IS NEW.{owner}" if owner else ""
        yield trigger(table, "update", "AFTER UPDATE", same, update_entry(table, columns, key))
        if owner:
            both = row_entry(table, columns, key, "OLD", None) + "\n" + row_entry(table, columns, key, None, "NEW")
            yield trigger(table, "move", "AFTER UPDATE", f"OLD.{owner} IS NOT NEW.{owner}", both)


def trigger(table: str, name: str, when: str, condition: str, body: str) -> str:
    guard = f"\nWHEN {condition}" if condition else ""
    return f"CREATE TRIGGER {table}_audit_{name} {when} ON {table}{guard}\nBEGIN\n{body}\nEND;"


def row_entry(table: str, columns: tuple[str, ...], key: tuple[str, ...], old: str | None, new: str | None) -> str:
    """Return the statement that logs a whole row, inserted or deleted."""
    row = old or new or ""
    pairs = ", ".join(f"'{name}', {row}.{name}" for name in columns)
    return INSERT.format(
        action="delete" if old else "insert",
        table=table,
        key=key_text(row, key),
        client=CLIENT_OF[table].format(row=row),
        before=f"json_object({pairs})" if old else "NULL",
        after=f"json_object({pairs})" if new else "NULL",
    )


def update_entry(table: str, columns: tuple[str, ...], key: tuple[str, ...]) -> str:
    """Return the statement that logs the changed columns of a row, if there are any."""
    insert = INSERT.format(
        action="update",
        table=table,
        key=key_text("NEW", key),
        client=CLIENT_OF[table].format(row="NEW"),
        before=differences("OLD", columns),
        after=differences("NEW", columns),
    )
    any_difference = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in columns)
    return insert.replace(" FROM audit_context;", f" FROM audit_context\n    WHERE {any_difference};")


def differences(row: str, columns: tuple[str, ...]) -> str:
    parts = [f"SELECT '{name}' AS name, {row}.{name} AS value WHERE OLD.{name} IS NOT NEW.{name}" for name in columns]
    return f"(SELECT json_group_object(name, value) FROM ({' UNION ALL '.join(parts)}))"  # noqa: S608


def key_text(row: str, key: tuple[str, ...]) -> str:
    return " || ',' || ".join(f"{row}.{name}" for name in key)


@cache
def insert_statement(database: str) -> Statement:
    """Return the statement that inserts an entry, with its values by position."""
    names = ("at", "actor_id", "action", "relation", "row_key", "client_id", "after")
    table: Any = AuditLog.__table__
    values = {name: parameter(name, table.c[name].type) for name in names}
    slots = {name: new_value(place) for place, name in enumerate(names)}
    return compile_statement(sa.insert(table).values(values), DIALECTS[database].sa_dialect, slots)


REFUSALS_PER_MINUTE_MAX = 60  # per user: refusals may not fill the disk


@cache
def refusal_statement(database: str) -> Statement:
    """Return the statement for the time of a user's refusal REFUSALS_PER_MINUTE_MAX refusals ago."""
    table: Any = AuditLog.__table__
    # A literal, since the partial index is for this action.
    refused = table.c.action == sa.literal_column(f"'{REFUSED}'")
    of_actor = sa.and_(table.c.actor_id == parameter("actor_id", table.c.actor_id.type), refused)
    statement = sa.select(table.c.at).where(of_actor).order_by(table.c.id.desc())
    statement = statement.limit(1).offset(REFUSALS_PER_MINUTE_MAX - 1)
    slots = {"actor_id": new_value(0)}
    return compile_statement(statement, DIALECTS[database].sa_dialect, slots)


REFUSED = "refused"


def record_refusal(
    transaction: Transaction, relation: str, *, actor_id: str, client_id: int | None, message: str
) -> None:
    """Record that a user was refused, unless the limit per minute is reached."""
    statement = refusal_statement(transaction.dialect.name)
    earlier = transaction.value(statement.sql, statement.bind(Binding(new=(actor_id,))))
    minute_ago = write_timestamp(transaction.moment - datetime.timedelta(minutes=1))
    if earlier is None or str(earlier) < minute_ago:
        details = {"message": message}
        record_entry(transaction, REFUSED, relation, actor_id=actor_id, client_id=client_id, details=details)


def last_entry_id(transaction: Transaction) -> int:
    """Return the id of the last entry. It increases with every change of a resource's row."""
    entry_id: int | None = transaction.value("SELECT max(id) FROM audit_log")
    return entry_id or 0


def record_entry(
    transaction: Transaction,
    action: str,
    relation: str,
    *,
    actor_id: str | None,
    client_id: int | None,
    row_key: str | None = None,
    details: dict[str, Any] | None = None,
) -> None:
    """Record an entry that is not a change of a row: a sign-in, a sign-out, a refusal. `details` hold no secrets."""
    after = json.dumps(details) if details is not None else None
    statement = insert_statement(transaction.dialect.name)
    values = (transaction.now, actor_id, action, relation, row_key, client_id, after)
    transaction.run(statement.sql, statement.bind(Binding(new=values)))

"""The audit trail: every change of a resource's row, in the transaction that makes it, and sign-ins and refusals.

Rows are written by triggers, whatever door the change comes through, cascades included; who is behind
them the transaction says first (`Transaction.set_actor`).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from functools import cache
from typing import Any

import sqlalchemy as sa

from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding
from engine.query.statement import Statement
from engine.query.statement import compile_statement
from engine.query.statement import new_value
from engine.query.statement import parameter
from engine.storage.transaction import Transaction
from models import RESOURCES
from models.audit_log import AuditLog
from models.types import write_timestamp

GRANTEES_CLIENT = (
    "(SELECT grantee.client_id FROM users AS grantee"
    " LEFT JOIN users AS actor ON actor.id = audit_context.actor_id"
    " WHERE grantee.id = {grantee} AND coalesce(actor.client_id, grantee.client_id) = grantee.client_id)"
)
"""A grant may reach over to a building of another client, whose people may take the building away. The grantee's client
would learn of them by the line; so it has none, and super admins alone read it."""

CLIENT_OF: dict[str, str] = {
    "clients": "{row}.id",
    "users": "{row}.client_id",
    "inspectors": "NULL",
    "buildings": "{row}.client_id",
    "inspections": "{row}.client_id",
    "reports_lead": "{row}.client_id",
    "client_admin_building_access": GRANTEES_CLIENT.format(grantee="{row}.admin_id"),
    "client_manager_building_access": GRANTEES_CLIENT.format(grantee="{row}.manager_id"),
    "client_admin_inspection_access": GRANTEES_CLIENT.format(grantee="{row}.admin_id"),
    "client_manager_inspection_access": GRANTEES_CLIENT.format(grantee="{row}.manager_id"),
}
"""Whose row it is: whose client admins may read of its changes."""

OWNER: dict[str, str] = {
    "users": "client_id",
    "buildings": "client_id",
    "inspections": "client_id",
    "reports_lead": "client_id",
    "client_admin_building_access": "admin_id",
    "client_manager_building_access": "manager_id",
    "client_admin_inspection_access": "admin_id",
    "client_manager_inspection_access": "manager_id",
}
"""By which column a row changes hands."""

INSERT = """    INSERT INTO audit_log (at, actor_id, action, relation, row_key, client_id, before, after)
    SELECT at, actor_id, '{action}', '{table}', {key}, {client}, {before}, {after} FROM audit_context;"""


def triggers() -> Iterator[str]:
    """The triggers, as SQLite has them, for every resource that is not the trail itself.

    A row that changes hands leaves one client and comes to another: to each it is told as that, since
    neither may learn of the other.
    """
    for table in CLIENT_OF:
        made: Any = RESOURCES[table].__table__
        columns = tuple(each.name for each in made.c if not each.info["hidden"])
        key = tuple(each.name for each in made.primary_key)
        yield trigger(table, "insert", "AFTER INSERT", "", told(table, columns, key, None, "NEW"))
        # Before, since what a grant belongs to may go with it.
        yield trigger(table, "delete", "BEFORE DELETE", "", told(table, columns, key, "OLD", None))
        owner = OWNER.get(table)
        same = f"OLD.{owner} IS NEW.{owner}" if owner else ""
        yield trigger(table, "update", "AFTER UPDATE", same, changed(table, columns, key))
        if owner:
            both = (
                told(table, columns, key, "OLD", None)
                + "\n"
                + told(table, columns, key, None, "NEW")
            )
            yield trigger(table, "move", "AFTER UPDATE", f"OLD.{owner} IS NOT NEW.{owner}", both)


def trigger(table: str, name: str, when: str, condition: str, body: str) -> str:
    guard = f"\nWHEN {condition}" if condition else ""
    return f"CREATE TRIGGER {table}_audit_{name} {when} ON {table}{guard}\nBEGIN\n{body}\nEND;"


def told(
    table: str, columns: tuple[str, ...], key: tuple[str, ...], old: str | None, new: str | None
) -> str:
    """A whole row that came or went."""
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


def changed(table: str, columns: tuple[str, ...], key: tuple[str, ...]) -> str:
    """What of a row changed, before and after; nothing, if nothing did."""
    said = INSERT.format(
        action="update",
        table=table,
        key=key_text("NEW", key),
        client=CLIENT_OF[table].format(row="NEW"),
        before=differences("OLD", columns),
        after=differences("NEW", columns),
    )
    any_difference = " OR ".join(f"OLD.{name} IS NOT NEW.{name}" for name in columns)
    return said.replace(" FROM audit_context;", f" FROM audit_context\n    WHERE {any_difference};")


def differences(row: str, columns: tuple[str, ...]) -> str:
    parts = [
        f"SELECT '{name}' AS name, {row}.{name} AS value WHERE OLD.{name} IS NOT NEW.{name}"
        for name in columns
    ]
    return f"(SELECT json_group_object(name, value) FROM ({' UNION ALL '.join(parts)}))"  # noqa: S608


def key_text(row: str, key: tuple[str, ...]) -> str:
    return " || ',' || ".join(f"{row}.{name}" for name in key)


@cache
def note_statement(database: str) -> Statement:
    """The insert of a note, its values by place."""
    names = ("at", "actor_id", "action", "relation", "row_key", "client_id", "after")
    table: Any = AuditLog.__table__
    values = {name: parameter(name, table.c[name].type) for name in names}
    slots = {name: new_value(place) for place, name in enumerate(names)}
    return compile_statement(sa.insert(table).values(values), DIALECTS[database].sa_dialect, slots)


REFUSALS_A_MINUTE = (
    60  # of one person: refusals cost a write, and may not be a way to fill the disk
)


@cache
def refusal_statement(database: str) -> Statement:
    """When the last but so many refusals of somebody was written down."""
    table: Any = AuditLog.__table__
    # Said as it is, not as a parameter: the partial index is for this action alone.
    refused = table.c.action == sa.literal_column(f"'{REFUSED}'")
    mine = sa.and_(table.c.actor_id == parameter("actor_id", table.c.actor_id.type), refused)
    statement = sa.select(table.c.at).where(mine).order_by(table.c.id.desc())
    statement = statement.limit(1).offset(REFUSALS_A_MINUTE - 1)
    slots = {"actor_id": new_value(0)}
    return compile_statement(statement, DIALECTS[database].sa_dialect, slots)


REFUSED = "refused"


def note_refusal(
    transaction: Transaction, relation: str, *, actor_id: str, client_id: int | None, message: str
) -> None:
    """Write down that somebody was refused, unless they were that often within the last minute."""
    statement = refusal_statement(transaction.dialect.name)
    earlier = transaction.value(statement.sql, statement.bind(Binding(new=(actor_id,))))
    minute_ago = write_timestamp(transaction.moment - datetime.timedelta(minutes=1))
    if earlier is None or str(earlier) < minute_ago:
        details = {"message": message}
        note(
            transaction, REFUSED, relation, actor_id=actor_id, client_id=client_id, details=details
        )


def last_change(transaction: Transaction) -> int:
    """A number that changes with every change of any resource's row: the trail's last line."""
    found: int | None = transaction.value("SELECT max(id) FROM audit_log")
    return found or 0


def note(
    transaction: Transaction,
    action: str,
    relation: str,
    *,
    actor_id: str | None,
    client_id: int | None,
    row_key: str | None = None,
    details: dict[str, Any] | None = None,
) -> None:
    """Write down what is no change of a row: a sign-in, a sign-out, a refusal. Never a secret."""
    after = json.dumps(details) if details is not None else None
    statement = note_statement(transaction.dialect.name)
    values = (transaction.now, actor_id, action, relation, row_key, client_id, after)
    transaction.run(statement.sql, statement.bind(Binding(new=values)))

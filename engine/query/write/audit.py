"""The audit log: every change of a resource's row, in the transaction of the change, and sign-ins and refusals.

Triggers write the entries of changes, cascades included (engine/schema/sqlite_audit.py, postgresql_audit.py). The
transaction sets the actor first (`Transaction.set_actor`).
"""

from __future__ import annotations

import datetime
import json
from functools import cache
from typing import Any

import sqlalchemy as sa

from engine.interface.transaction import Transaction
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding, Statement, compile_statement, parameter
from models.audit_log import AuditLog
from models.types import write_timestamp


@cache
def insert_statement(database: str) -> Statement:
    """Return the statement that inserts an entry."""
    names = ("at", "actor_id", "action", "relation", "row_key", "client_id", "after")
    table: Any = AuditLog.__table__
    values = {name: parameter(name, table.c[name].type) for name in names}
    return compile_statement(sa.insert(table).values(values), DIALECTS[database].sa_dialect)


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
    return compile_statement(statement, DIALECTS[database].sa_dialect)


REFUSED = "refused"


def record_refusal(
    transaction: Transaction, relation: str, *, actor_id: str, client_id: int | None, message: str
) -> None:
    """Record that a user was refused, unless the limit per minute is reached."""
    statement = refusal_statement(transaction.dialect.name)
    earlier = transaction.value(statement.sql, statement.bind(Binding(parameters={"actor_id": actor_id})))
    minute_ago = write_timestamp(transaction.moment - datetime.timedelta(minutes=1))
    if earlier is None or str(earlier) < minute_ago:
        details = {"message": message}
        record_entry(transaction, REFUSED, relation, actor_id=actor_id, client_id=client_id, details=details)


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
    values = {
        "at": transaction.now,
        "actor_id": actor_id,
        "action": action,
        "relation": relation,
        "row_key": row_key,
        "client_id": client_id,
        "after": after,
    }
    transaction.run(statement.sql, statement.bind(Binding(parameters=values)))


@cache
def details_statement(database: str) -> Statement:
    """Return the statement for the details of an actor's entry that stands for no change of a row."""
    log: Any = AuditLog.__table__
    parameters = {name: parameter(name, log.c[name].type) for name in ("relation", "row_key", "actor_id", "action")}
    statement = sa.select(log.c.after).where(*(log.c[name] == value for name, value in parameters.items()))
    # The index of PostgreSQL has the first 200 characters of the key.
    statement = statement.where(sa.func.substr(log.c.row_key, 1, 200) == parameters["row_key"])
    statement = statement.where(log.c.at >= parameter("since", log.c.at.type)).limit(1)
    return compile_statement(statement, DIALECTS[database].sa_dialect)


def read_details(
    transaction: Transaction, action: str, relation: str, *, actor_id: str, row_key: str, since: datetime.datetime
) -> dict[str, Any] | None:
    """Return the details of an entry that `record_entry` has recorded, or None if there is none since this moment."""
    values = {"action": action, "relation": relation, "actor_id": actor_id, "row_key": row_key}
    statement = details_statement(transaction.dialect.name)
    binding = Binding(parameters={**values, "since": write_timestamp(since)})
    text = transaction.value(statement.sql, statement.bind(binding))
    details: dict[str, Any] | None = json.loads(text) if isinstance(text, str) else text
    return details

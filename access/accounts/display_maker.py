"""Whether the maker of a kiosk display could still make it. The maker knew the code that pairs it."""

from __future__ import annotations

import json
from typing import Final

import sqlalchemy as sa

from access import session
from access.accounts import administration, people
from access.accounts.administration import UserNotAllowed, UserNotFound
from engine.interface.transaction import Transaction
from engine.prepared import PreparedStatement
from engine.query.rule import Action
from engine.query.statement import parameter
from models.audit_log import AuditLog
from models.credential import DEVICES
from models.types import Bound
from models.user import User

CREATED: Final = "create_kiosk_display"
"""The action of the audit log's entry that names the maker."""

MAKER_DELETED: Final = "The user who made it was deleted."
MAKER_DEACTIVATED: Final = "The user who made it is deactivated."
MAKER_LOST_RIGHT: Final = "The user who made it may no longer make it."


def why_maker_is_refused(transaction: Transaction, device_id: str, user_id: str) -> str | None:
    """Return why the maker of a display could not make it now; None if they could.

    Displays of the service key, and those older than the audit log, have no maker.
    """
    entry_id, actor_id = CREATOR.one(transaction, row_key=device_id) or (None, None)
    maker_id = str(actor_id or user_id)
    if maker_id == user_id:
        return None
    maker = people.by_id(transaction, maker_id)
    caller = session.caller_of_user(transaction, maker_id)
    if maker is None or caller is None or was_deleted(transaction, maker_id, entry_id):
        return MAKER_DELETED
    if maker.is_disabled(transaction.unix):
        return MAKER_DEACTIVATED
    try:
        administration.find_user(transaction, caller, user_id, Action.UPDATE)
    except (UserNotFound, UserNotAllowed):
        return MAKER_LOST_RIGHT
    return None


def was_deleted(transaction: Transaction, user_id: str, since: Bound) -> bool:
    """Return whether a user was deleted after an entry of the audit log. Another user may have the id now.

    The log holds a move to another client as a deletion, followed at once by the insert of a row of the same age.
    """
    entries = LIVES.all(transaction, row_key=user_id, entry_id=since)
    inserted = {entry_id: age_of(row) for entry_id, action, row in entries if action == "insert"}
    deleted = [(entry_id, age_of(row)) for entry_id, action, row in entries if action == "delete"]
    return any(inserted.get(int(entry_id or 0) + 1) != age for entry_id, age in deleted)


def age_of(row: Bound) -> object:
    """Return the time at which the user of an entry's row was created."""
    return json.loads(row)["created_at"] if isinstance(row, str) else None


# Statements

ENTRIES = AuditLog.__table__


def entries_of(relation: str, action: str) -> sa.ColumnElement[bool]:
    """Return the condition for the audit log's entries of one row and action."""
    return sa.and_(
        ENTRIES.c.relation == sa.literal_column(f"'{relation}'"),
        # The expression of the index on PostgreSQL.
        sa.func.substr(ENTRIES.c.row_key, 1, 200) == parameter("row_key", sa.Text),
        ENTRIES.c.row_key == parameter("row_key", sa.Text),
        ENTRIES.c.action == sa.literal_column(f"'{action}'"),
    )


CREATOR = PreparedStatement(sa.select(ENTRIES.c.id, ENTRIES.c.actor_id).where(entries_of(DEVICES.name, CREATED)))
LIVES = PreparedStatement(
    sa.select(
        ENTRIES.c.id, ENTRIES.c.action, sa.cast(sa.func.coalesce(ENTRIES.c.before, ENTRIES.c.after), sa.Text)
    ).where(
        sa.or_(entries_of(User.__tablename__, "delete"), entries_of(User.__tablename__, "insert")),
        ENTRIES.c.id > parameter("entry_id", sa.BigInteger),
    )
)
"""Selects the insertions and deletions of a user after an entry, each with the row."""

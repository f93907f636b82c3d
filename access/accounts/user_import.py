"""Import a user's credentials from an archive: password, metadata and end of ban."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from typing import Any

import sqlalchemy as sa

from access.accounts.password import hash_new_password
from access.accounts.people import END_TOKENS, set_credential
from access.accounts.person import InvalidUserAccount, write_metadata
from engine.interface.transaction import Transaction
from models.credential import CREDENTIALS
from models.types import read_timestamp


def import_user(transaction: Transaction, user_id: str, values: Mapping[str, object]) -> None:
    """Set the credentials of a user who was just inserted; raise InvalidUserAccount if a value is invalid.

    End the tokens that a deleted user of the same id may have. While the audit log is paused,
    the trigger that does so uses the machine's time. The time of the database may be ahead of it.
    """
    END_TOKENS.run(transaction, user_id=user_id, since=transaction.unix + 1)
    for name, value in values.items():
        if value is not None:
            column, read = IMPORTED_COLUMNS[name]
            set_credential(transaction, user_id, column, read(value))


def read_password(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidUserAccount("a password is a string")
    return hash_new_password(value)


def read_object(value: object) -> str:
    if not isinstance(value, dict):
        raise InvalidUserAccount("metadata are an object")
    return write_metadata(value)


def read_ban(value: object) -> int:
    if not isinstance(value, str):
        raise InvalidUserAccount("banned_until is a timestamp")
    return int(datetime.datetime.fromisoformat(read_timestamp(value)).timestamp())


IMPORTED_COLUMNS: dict[str, tuple[sa.Column[Any], Callable[[object], str | int]]] = {
    "password": (CREDENTIALS.c.password_hash, read_password),
    "app_metadata": (CREDENTIALS.c.app_metadata, read_object),
    "user_metadata": (CREDENTIALS.c.user_metadata, read_object),
    "banned_until": (CREDENTIALS.c.disabled_until, read_ban),
}

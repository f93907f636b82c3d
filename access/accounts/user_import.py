"""What an archive says of somebody beside their row: password, metadata, and until when they are banned."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from collections.abc import Mapping
from typing import Any

import sqlalchemy as sa

from access.accounts.password import hash_new
from access.accounts.people import END_TOKENS
from access.accounts.people import keep
from access.accounts.person import InvalidPerson
from access.accounts.person import write_metadata
from engine.storage.transaction import Transaction
from models.credential import CREDENTIALS
from models.types import read_timestamp


def furnish(transaction: Transaction, user_id: str, given: Mapping[str, object]) -> None:
    """Give somebody who was just made what an archive says beside their row.

    There is a token to end only where a deleted user comes back, which the database tells by the machine's time while
    the trail is paused: a file's may be ahead of it.
    """
    END_TOKENS.run(transaction, user_id=user_id, since=transaction.unix + 1)
    for name, value in given.items():
        if value is not None:
            column, read = FURNISHED[name]
            keep(transaction, user_id, column, read(value))


def read_password(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidPerson("a password is a string")
    return hash_new(value)


def read_object(value: object) -> str:
    if not isinstance(value, dict):
        raise InvalidPerson("metadata are an object")
    return write_metadata(value)


def read_ban(value: object) -> int:
    if not isinstance(value, str):
        raise InvalidPerson("banned_until is a timestamp")
    return int(datetime.datetime.fromisoformat(read_timestamp(value)).timestamp())


FURNISHED: dict[str, tuple[sa.Column[Any], Callable[[object], str | int]]] = {
    "password": (CREDENTIALS.c.password_hash, read_password),
    "app_metadata": (CREDENTIALS.c.app_metadata, read_object),
    "user_metadata": (CREDENTIALS.c.user_metadata, read_object),
    "banned_until": (CREDENTIALS.c.disabled_until, read_ban),
}

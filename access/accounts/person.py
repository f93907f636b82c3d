"""A person as plain values: what a user can be, what a request may make of one, and what is kept.

What a user's row says (role, client, name) is never kept a second time in the metadata: it is taken
out when they are stored and shown again when they are read (routes/gotrue).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from dataclasses import field
from enum import Enum

from access.caller import Role
from models.errors import Fault
from models.types import new_uuid
from models.types import read_string

METADATA_BYTES_MAX = 16_384
EMAIL_CHARACTERS_MAX = 255  # GoTrue's column
EMAIL_TEXT = re.compile(r"[^\s@\x00-\x20\x7f]+@[^\s@\x00-\x20\x7f]+")

Metadata = Mapping[str, object]


class Unsaid(Enum):
    """What stands where a request says nothing; null says something."""

    UNSAID = "unsaid"


UNSAID = Unsaid.UNSAID


class NoSuchPerson(Fault):
    """Nobody has that e-mail or id."""


class InvalidPerson(Fault):
    """What no user can be: an unknown role, a client that does not fit."""


class InvalidEmail(InvalidPerson):
    """An e-mail that is none, or none where one is needed."""


class EmailTaken(Fault):
    """Somebody has that e-mail, seen or unseen by who asks."""


class IdTaken(Fault):
    """Somebody has that id."""


class MetadataTooLong(Fault):
    """More metadata than is kept."""


@dataclass(frozen=True, slots=True)
class Person:
    """A user, and their side of signing in."""

    id: str
    email: str
    name: str
    role: Role
    client_id: int | None
    created_at: str
    updated_at: str
    password_hash: str | None
    app_metadata: Metadata
    user_metadata: Metadata
    disabled_until: int
    tokens_since: int
    last_sign_in_at: str | None

    def is_disabled(self, now: int) -> bool:
        return self.disabled_until > now


@dataclass(frozen=True, slots=True)
class NewPerson:
    """Somebody who is to be made. Without a password they cannot sign in."""

    email: str
    name: str | None
    role: Role
    client_id: int | None
    id: str = field(default_factory=new_uuid)
    password_hash: str | None = None
    app_metadata: Metadata = field(default_factory=dict)
    user_metadata: Metadata = field(default_factory=dict)
    disabled_until: int = 0

    def called(self) -> str:
        """Their name, else their e-mail's local part."""
        return self.name if self.name is not None else self.email.partition("@")[0]


@dataclass(frozen=True, slots=True)
class Changes:
    """What is to become of somebody; None and UNSAID leave what is there. Metadata are merged."""

    email: str | None = None
    name: str | None = None
    role: Role | None = None
    client_id: int | Unsaid | None = UNSAID
    app_metadata: Metadata = field(default_factory=dict)
    user_metadata: Metadata = field(default_factory=dict)
    disabled_until: int | None = None


# Values


def read_email(text: str) -> str:
    """An e-mail as it is kept: without space around it, in lower case, as GoTrue keeps it."""
    email = text.strip().lower()
    if not EMAIL_TEXT.fullmatch(email) or len(email) > EMAIL_CHARACTERS_MAX:
        raise InvalidEmail("Unable to validate email address: invalid format")
    return read_string(email)


def read_role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        named = ", ".join(each.value for each in Role)
        raise InvalidPerson(f"role is one of {named}") from None


def write_metadata(metadata: Metadata) -> str:
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text.encode()) > METADATA_BYTES_MAX:
        raise MetadataTooLong(f"Metadata hold at most {METADATA_BYTES_MAX} bytes")
    return text


def row_of(person: Person) -> dict[str, str | int | None]:
    return {
        "email": person.email,
        "name": person.name,
        "role": person.role.value,
        "client_id": person.client_id,
    }


def would_be(person: Person, changes: Changes) -> dict[str, str | int | None]:
    """The user's row as the changes would leave it, but for its id and its times."""
    return {
        "email": person.email if changes.email is None else changes.email,
        "name": person.name if changes.name is None else read_string(changes.name),
        "role": person.role.value if changes.role is None else changes.role.value,
        "client_id": person.client_id if changes.client_id is UNSAID else changes.client_id,
    }


def merged(old: Metadata, more: Metadata) -> Metadata:
    """The old keys and the new; null takes one away, as GoTrue has it."""
    return {key: value for key, value in {**old, **more}.items() if value is not None}

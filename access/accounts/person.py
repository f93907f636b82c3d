"""User accounts as plain values, and the changes that a request may make.

Role, client and name are columns of the user's row. The API never stores them in the metadata: routes/gotrue removes
them from the metadata of a request, and adds them to those of a response. An import stores metadata unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

import email_validator

from access.roles import Role
from models.errors import Fault
from models.types import new_uuid, read_string

METADATA_BYTES_MAX = 16_384
EMAIL_CHARACTERS_MAX = 254  # RFC 5321

# A kiosk without a network may use a domain such as `kiosk.local`.
email_validator.SPECIAL_USE_DOMAIN_NAMES.clear()

Metadata = Mapping[str, object]


class Unset(Enum):
    """The type of UNSET, the value of a field that a request omits. None is the value null."""

    UNSET = "unset"


UNSET = Unset.UNSET


class NoSuchUser(Fault):
    """No user has the e-mail."""


class InvalidUserAccount(Fault):
    """Values that no user can have: an unknown role, or a client that does not fit the role."""


class InvalidEmail(InvalidUserAccount):
    """The e-mail is malformed, or missing."""


class EmailTaken(Fault):
    """Another user has the e-mail, visible to the caller or not."""


class IdTaken(Fault):
    """Another user has the id."""


class MetadataTooLong(Fault):
    """The metadata exceed METADATA_BYTES_MAX."""


@dataclass(frozen=True, slots=True)
class UserAccount:
    """A user with their credentials."""

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
class NewUserAccount:
    """A user to insert. Without a password they cannot sign in."""

    email: str
    name: str | None
    role: Role
    client_id: int | None
    id: str = field(default_factory=new_uuid)
    password_hash: str | None = None
    app_metadata: Metadata = field(default_factory=dict)
    user_metadata: Metadata = field(default_factory=dict)
    disabled_until: int = 0

    def display_name(self) -> str:
        """Return the name, or by default the local part of the e-mail."""
        return self.name if self.name is not None else self.email.partition("@")[0]


@dataclass(frozen=True, slots=True)
class UserChanges:
    """The changes of a user. None and UNSET leave a field as it is. Metadata are merged."""

    email: str | None = None
    name: str | None = None
    role: Role | None = None
    client_id: int | Unset | None = UNSET
    app_metadata: Metadata = field(default_factory=dict)
    user_metadata: Metadata = field(default_factory=dict)
    disabled_until: int | None = None


# Values


def read_email(text: str) -> str:
    """Return an e-mail as GoTrue stores it: stripped and in lower case. Raise InvalidEmail if it is malformed."""
    email = text.strip().lower()
    if not is_email(email):
        raise InvalidEmail("Unable to validate email address: invalid format")
    return read_string(email)


def is_email(text: str) -> bool:
    """Return whether a text is an e-mail address. No name server is asked.

    >>> is_email("ines@kiosk.local"), is_email("<a@c.org>"), is_email("x@y..z")
    (True, False, False)
    """
    if len(text) > EMAIL_CHARACTERS_MAX:
        return False
    try:
        email_validator.validate_email(text, check_deliverability=False, globally_deliverable=False)
    except email_validator.EmailNotValidError:
        return False
    return True


def read_role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        roles = ", ".join(each.value for each in Role)
        raise InvalidUserAccount(f"role is one of {roles}") from None


def write_metadata(metadata: Metadata) -> str:
    text = json.dumps(metadata, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if len(text.encode()) > METADATA_BYTES_MAX:
        raise MetadataTooLong(f"Metadata hold at most {METADATA_BYTES_MAX} bytes")
    return text


def row_of(person: UserAccount) -> dict[str, str | int | None]:
    return {"email": person.email, "name": person.name, "role": person.role.value, "client_id": person.client_id}


def changed_row(person: UserAccount, changes: UserChanges) -> dict[str, str | int | None]:
    """Return the user's row with the changes applied, without its id and times."""
    return {
        "email": person.email if changes.email is None else changes.email,
        "name": person.name if changes.name is None else read_string(changes.name),
        "role": person.role.value if changes.role is None else changes.role.value,
        "client_id": person.client_id if changes.client_id is UNSET else changes.client_id,
    }


def merge_metadata(old: Metadata, more: Metadata) -> Metadata:
    """Return the old metadata updated with the new. A null removes its key, as in GoTrue."""
    return {key: value for key, value in {**old, **more}.items() if value is not None}

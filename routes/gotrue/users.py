"""Users as a request describes them: one's own changes, and what an administrator wants of somebody.

A person's role, client and name are their row's: they are taken out of the metadata in which Supabase's
clients send them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from dataclasses import field

from marshmallow import Schema
from marshmallow import fields

from access.accounts.administration import UserRequest
from access.accounts.administration import UserSearch
from access.accounts.own_account import OwnAccountChanges
from access.accounts.person import UNSET
from access.accounts.person import Unset
from access.accounts.person import read_email
from access.caller import Role
from models.errors import Fault
from models.types import BIGINT
from models.types import read_uuid
from routes.gotrue.payload import InvalidBody
from routes.gotrue.payload import Object
from routes.gotrue.payload import entries
from routes.gotrue.payload import json_object
from routes.gotrue.payload import load
from routes.gotrue.payload import said
from routes.gotrue.payload import text
from routes.gotrue.sessions import PhoneNotServed

SOUGHT_CHARACTERS_MAX = 256  # as of a like pattern


class InvalidUser(Fault):
    """A user in a body who cannot be: a role or client said twice, or none that exists."""


class NotAnId(Fault):
    """A path that should end in a user's id."""


class OwnChangesSchema(Schema):
    email = text()
    phone = text()
    password = text()
    current_password = text()
    data = json_object()


class UserSchema(Schema):
    id = text()
    email = text()
    phone = text()
    password = text()
    password_hash = text()
    role = fields.Raw(load_default=None, allow_none=True)
    client_id = fields.Raw(load_default=UNSET, allow_none=True)
    ban_duration = text()
    app_metadata = json_object()
    user_metadata = json_object()


class DeletionSchema(Schema):
    should_soft_delete = fields.Raw(load_default=None, allow_none=True)


OWN_CHANGES = OwnChangesSchema()
USER = UserSchema()
DELETION = DeletionSchema()


def read_own_changes(body: bytes) -> OwnAccountChanges:
    """What somebody wants of themselves; rights are no part of it, whatever keys there are."""
    loaded = load(OWN_CHANGES, body)
    require_no_phone(loaded)
    email = said(loaded, "email")
    user_metadata = entries(loaded, "data")
    name = take_name(user_metadata)
    return OwnAccountChanges(
        read_email(email) if email else None,
        name,
        user_metadata,
        said(loaded, "password"),
        said(loaded, "current_password"),
    )


@dataclass(frozen=True, slots=True)
class WantedUser:
    """A user as an administrator describes them, and their password, which is hashed first."""

    wanted: UserRequest
    password: str | None = field(repr=False)


def read_user(body: bytes) -> WantedUser:
    """A user to be made or changed.

    >>> user = read_user(b'{"email": "eva@acme.example", "app_metadata": {"role": "client_admin"}}')
    >>> user.wanted.role, user.wanted.client_id
    (<Role.CLIENT_ADMIN: 'client_admin'>, <Unset.UNSET: 'unset'>)
    """
    loaded = load(USER, body)
    require_no_phone(loaded)
    if said(loaded, "password_hash"):
        raise InvalidUser("password_hash is not taken: send the password")
    app_metadata, user_metadata = entries(loaded, "app_metadata"), entries(loaded, "user_metadata")
    email, user_id = said(loaded, "email"), said(loaded, "id")
    wanted = UserRequest(
        read_id(user_id) if user_id is not None else None,
        read_email(email) if email else None,
        take_name(user_metadata),
        read_role(loaded["role"], app_metadata.pop("role", None)),
        read_client(loaded["client_id"], app_metadata.pop("client_id", UNSET)),
        app_metadata,
        user_metadata,
        read_ban(said(loaded, "ban_duration")),
    )
    return WantedUser(wanted, said(loaded, "password"))


def require_no_phone(loaded: Object) -> None:
    """Refuse a number that would be lost; clients send an empty one, too."""
    if said(loaded, "phone"):
        raise PhoneNotServed("Phone numbers are not kept")


def read_id(text: str) -> str:
    try:
        return read_uuid(text)
    except Fault as fault:
        raise InvalidUser("id has to be a UUID") from fault


def read_path_id(text: str) -> str:
    try:
        return read_uuid(text)
    except Fault as fault:
        raise NotAnId("user_id must be an UUID") from fault


def read_role(top: object, in_metadata: object) -> Role | None:
    """The role, in app_metadata or at the top, where GoTrue's own "authenticated" may stand too."""
    names = {each.value for each in Role}
    if in_metadata is not None and not (isinstance(in_metadata, str) and in_metadata in names):
        raise InvalidUser(f"app_metadata.role is one of {', '.join(each.value for each in Role)}")
    said_at_top = top if isinstance(top, str) and top in names else None
    if said_at_top is not None and in_metadata is not None and said_at_top != in_metadata:
        raise InvalidUser("role and app_metadata.role differ")
    role = in_metadata if isinstance(in_metadata, str) else said_at_top
    return Role(role) if role is not None else None


def read_client(top: object, in_metadata: object) -> int | Unset | None:
    """The client, in app_metadata or at the top; null is none."""
    found = {read_client_id(each) for each in (top, in_metadata) if each is not UNSET}
    if len(found) > 1:
        raise InvalidUser("client_id and app_metadata.client_id differ")
    return found.pop() if found else UNSET


def read_client_id(value: object) -> int | None:
    try:
        client_id = BIGINT.read_json(value)
    except Fault as fault:
        raise InvalidUser("client_id has to be a whole number") from fault
    assert client_id is None or isinstance(client_id, int)
    return client_id


def take_name(user_metadata: Object) -> str | None:
    """The name out of the metadata: it is kept in the user's row."""
    name = user_metadata.pop("name", None)
    if name is None:
        return None
    if not isinstance(name, str) or not name.strip():
        raise InvalidUser("user_metadata.name has to be a text with something in it")
    return name


DURATION = re.compile(r"(?:[0-9]{1,12}(?:\.[0-9]{1,9})?(?:ns|us|µs|ms|s|m|h))+")
DURATION_PART = re.compile(r"([0-9.]+)(ns|us|µs|ms|s|m|h)")
UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0}
BAN_SECONDS_MAX = 290 * 365 * 24 * 3_600  # what Go's durations hold


def read_ban(duration: str | None) -> int | None:
    """Seconds of a ban, in Go's words; 0 ends one, None says nothing.

    >>> read_ban("24h"), read_ban("1h30m"), read_ban("none"), read_ban("0"), read_ban(None)
    (86400, 5400, 0, 0, None)
    """
    if duration is None or duration == "":
        return None
    if duration in ("none", "0"):
        return 0
    parts = DURATION_PART.findall(duration) if DURATION.fullmatch(duration) else []
    seconds = math.ceil(sum(float(number) * UNIT_SECONDS[unit] for number, unit in parts))
    if not parts or seconds > BAN_SECONDS_MAX:
        raise InvalidBody('invalid format for ban duration: it is "none" or like "24h"')
    return seconds


def read_deletion(body: bytes) -> None:
    """Refuse to delete for good where a soft deletion was meant."""
    loaded = load(DELETION, body)
    if loaded["should_soft_delete"] not in (None, False):
        raise InvalidUser("There is no soft deletion", hint="Disable the user: ban_duration.")


def read_search(sought: str | None, sort: str | None) -> UserSearch:
    """Whom a list is about, and its order, the oldest first unless it says; as GoTrue reads both.

    >>> read_search("ada", "created_at desc"), read_search("", None)
    (Search(text='ada', newest_first=True), Search(text=None, newest_first=False))
    """
    if sought and (len(sought) > SOUGHT_CHARACTERS_MAX or "\0" in sought):
        raise InvalidBody(f"filter: at most {SOUGHT_CHARACTERS_MAX} characters, and no NUL")
    name, _, direction = (sort or "created_at asc").partition(" ")
    if name != "created_at":
        raise InvalidBody("Bad Sort Parameters: users are sorted by created_at")
    if direction.lower() not in ("", "asc", "desc"):
        raise InvalidBody("Bad Sort Parameters: only 'asc' and 'desc' allowed")
    return UserSearch(sought or None, newest_first=direction.lower() != "asc")

"""GoTrue's bodies: requests in, sessions, users and lists out. Text and data only, no caller and no clock.

A person's role, client and name are their row's; here they are put into the metadata in which
Supabase's clients look for them, and taken out of those again.
"""

from __future__ import annotations

import datetime
import json
import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from dataclasses import field
from typing import Any
from typing import Final
from urllib.parse import urlencode

from marshmallow import EXCLUDE
from marshmallow import Schema
from marshmallow import ValidationError
from marshmallow import fields

from access.account import OwnChanges
from access.administration import Wanted
from access.caller import Role
from access.person import UNSAID
from access.person import Person
from access.person import Unsaid
from access.person import read_email
from access.signin import Scope
from access.signin import SignedIn
from access.token import AUDIENCE
from models.faults import Fault
from models.types import BIGINT
from models.types import read_uuid
from models.types import write_timestamp
from routes.postgrest.payload import parse_payload

BODY_BYTES_MAX: Final = 16 << 10
API_VERSION: Final = "2024-01-01"  # from which on clients read `code` as a word
PER_PAGE: Final = 50
DIGITS_MAX: Final = 9  # a page beyond 10^9 is nobody's

Object = dict[str, object]


class BadJson(Fault):
    """A body that is no JSON object."""


class InvalidBody(Fault):
    """A value in a body that is not what it has to be."""


class InvalidUser(Fault):
    """A user in a body who cannot be: a role or client said twice, or none that exists."""


class UnknownGrant(Fault):
    """A grant_type that is not served here."""


class PhoneNotServed(Fault):
    """A phone number, where only e-mails are known."""


class NotAnId(Fault):
    """A path that should end in a user's id."""


# Requests


class Text(fields.Field[str]):
    """A string and nothing else: marshmallow's own takes bytes."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        return value


class JsonObject(fields.Field[Object]):
    """An object with whatever in it."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Object:
        if not isinstance(value, dict):
            raise ValidationError("must be an object")
        return value


def text() -> Text:
    return Text(load_default=None, allow_none=True)


def json_object() -> JsonObject:
    return JsonObject(load_default=None, allow_none=True)


class PasswordGrantSchema(Schema):
    email = text()
    phone = text()
    password = text()


class RefreshGrantSchema(Schema):
    refresh_token = text()


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
    client_id = fields.Raw(load_default=UNSAID, allow_none=True)
    ban_duration = text()
    app_metadata = json_object()
    user_metadata = json_object()


class DeletionSchema(Schema):
    should_soft_delete = fields.Raw(load_default=None, allow_none=True)


def read_object(body: bytes) -> Object:
    """The JSON object that a body is; no body is an empty one, as GoTrue's clients mean it."""
    if not body.strip():
        return {}
    payload = parse_payload(body, "application/json")
    if payload.is_array:
        raise BadJson("Could not parse request body as JSON: an object is expected")
    return payload.rows[0]


def load(schema: Schema, body: bytes) -> Object:
    """What a schema knows of a body; other keys are let pass, as GoTrue does."""
    try:
        loaded: Object = schema.load(read_object(body), unknown=EXCLUDE)
    except ValidationError as refused:
        messages: dict[str, list[str]] = refused.messages_dict
        name, wrong = next(iter(messages.items()))
        raise InvalidBody(f"{name} {wrong[0]}") from refused
    return loaded


PASSWORD_GRANT = PasswordGrantSchema()
REFRESH_GRANT = RefreshGrantSchema()
OWN_CHANGES = OwnChangesSchema()
USER = UserSchema()
DELETION = DeletionSchema()


@dataclass(frozen=True, slots=True)
class PasswordGrant:
    """What signs somebody in. A password is not shown, not even to a debugger."""

    email: str
    password: str = field(repr=False)


def read_password_grant(body: bytes) -> PasswordGrant:
    loaded = load(PASSWORD_GRANT, body)
    email, password = said(loaded, "email"), said(loaded, "password")
    if not email:
        if said(loaded, "phone"):
            raise PhoneNotServed("Phone logins are disabled")
        raise InvalidBody("missing email or phone")
    if not password:
        raise InvalidBody("missing password")
    return PasswordGrant(email, password)


def read_refresh_grant(body: bytes) -> str:
    token = said(load(REFRESH_GRANT, body), "refresh_token")
    if not token:
        raise InvalidBody("refresh_token required")
    return token


def read_own_changes(body: bytes) -> OwnChanges:
    """What somebody wants of themselves; rights are no part of it, whatever keys there are."""
    loaded = load(OWN_CHANGES, body)
    if said(loaded, "phone"):
        raise PhoneNotServed("Phone numbers are not kept")
    email = said(loaded, "email")
    user_metadata = entries(loaded, "data")
    name = take_name(user_metadata)
    return OwnChanges(
        read_email(email) if email else None,
        name,
        user_metadata,
        said(loaded, "password"),
        said(loaded, "current_password"),
    )


@dataclass(frozen=True, slots=True)
class WantedUser:
    """A user as an administrator describes them, and their password, which is hashed first."""

    wanted: Wanted
    password: str | None = field(repr=False)


def read_user(body: bytes) -> WantedUser:
    """A user to be made or changed.

    >>> user = read_user(b'{"email": "eva@acme.example", "app_metadata": {"role": "client_admin"}}')
    >>> user.wanted.role, user.wanted.client_id
    (<Role.CLIENT_ADMIN: 'client_admin'>, <Unsaid.UNSAID: 'unsaid'>)
    """
    loaded = load(USER, body)
    if said(loaded, "password_hash"):
        raise InvalidUser("password_hash is not taken: send the password")
    app_metadata, user_metadata = entries(loaded, "app_metadata"), entries(loaded, "user_metadata")
    email, user_id = said(loaded, "email"), said(loaded, "id")
    wanted = Wanted(
        read_id(user_id) if user_id is not None else None,
        read_email(email) if email else None,
        take_name(user_metadata),
        read_role(loaded["role"], app_metadata.pop("role", None)),
        read_client(loaded["client_id"], app_metadata.pop("client_id", UNSAID)),
        app_metadata,
        user_metadata,
        read_ban(said(loaded, "ban_duration")),
    )
    return WantedUser(wanted, said(loaded, "password"))


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


def read_client(top: object, in_metadata: object) -> int | Unsaid | None:
    """The client, in app_metadata or at the top; null is none."""
    found = {read_client_id(each) for each in (top, in_metadata) if each is not UNSAID}
    if len(found) > 1:
        raise InvalidUser("client_id and app_metadata.client_id differ")
    return found.pop() if found else UNSAID


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

    >>> read_ban("24h"), read_ban("1h30m"), read_ban("none"), read_ban(None)
    (86400, 5400, 0, None)
    """
    if duration is None or duration == "":
        return None
    if duration == "none":
        return 0
    parts = DURATION_PART.findall(duration) if DURATION.fullmatch(duration) else []
    seconds = math.ceil(sum(float(number) * UNIT_SECONDS[unit] for number, unit in parts))
    if not 0 < seconds <= BAN_SECONDS_MAX:
        raise InvalidBody('invalid format for ban duration: it is "none" or like "24h"')
    return seconds


def read_deletion(body: bytes) -> None:
    """Refuse to delete for good where a soft deletion was meant."""
    loaded = load(DELETION, body)
    if loaded["should_soft_delete"] not in (None, False):
        raise InvalidUser("There is no soft deletion", hint="Disable the user: ban_duration.")


def read_scope(text: str | None) -> Scope:
    """Which sessions; all of them where nothing is said, as GoTrue has it."""
    try:
        return Scope(text or Scope.GLOBAL.value)
    except ValueError:
        raise InvalidBody(f"Unsupported logout scope {(text or '')[:40]}") from None


def read_page(name: str, text: str | None, default: int, most: int | None = None) -> int:
    """A number of a page, or a page's size; empty is unsaid, as the clients send it.

    >>> read_page("page", "", 1), read_page("per_page", "2000", 50, 1000)
    (1, 1000)
    """
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX and int(text) > 0):
        raise InvalidBody(f"Bad Pagination Parameters: {name} is a whole number above 0")
    return int(text) if most is None else min(int(text), most)


def said(loaded: Object, name: str) -> str | None:
    value = loaded[name]
    assert value is None or isinstance(value, str)
    return value


def entries(loaded: Object, name: str) -> Object:
    value = loaded[name]
    return dict(value) if isinstance(value, dict) else {}


# Answers


def session_body(signed_in: SignedIn, access_token: str, seconds: int) -> Object:
    """A session, as every client version takes it."""
    return {
        "access_token": access_token,
        "token_type": "bearer",
        "expires_in": seconds,
        "expires_at": signed_in.now + seconds,
        "refresh_token": signed_in.refresh_token,
        "user": user_body(signed_in.person, signed_in.now),
    }


def user_body(person: Person, now: int) -> Object:
    """A user: GoTrue's keys, none of them missing that a client's types ask for."""
    client = {} if person.client_id is None else {"client_id": person.client_id}
    banned = {}
    if person.is_disabled(now):
        until = datetime.datetime.fromtimestamp(person.disabled_until, datetime.UTC)
        banned = {"banned_until": write_timestamp(until)}
    return {
        "id": person.id,
        "aud": AUDIENCE,
        "role": person.role.value,
        "email": person.email,
        "email_confirmed_at": person.created_at,
        "phone": "",
        "last_sign_in_at": person.last_sign_in_at,
        "app_metadata": {**person.app_metadata, "role": person.role.value, **client},
        "user_metadata": {**person.user_metadata, "name": person.name},
        "identities": [],
        "created_at": person.created_at,
        "updated_at": person.updated_at,
        "is_anonymous": False,
        **banned,
    }


def users_body(persons: Iterable[Person], now: int) -> Object:
    return {"users": [user_body(person, now) for person in persons], "aud": AUDIENCE}


def page_headers(number: int, size: int, total: int) -> dict[str, str]:
    """Where the next page and the last are: `page` first and `rel` quoted, or clients misread it.

    >>> page_headers(2, 50, 203)["Link"]
    '</admin/users?page=3&per_page=50>; rel="next", </admin/users?page=5&per_page=50>; rel="last"'
    """
    last = max(1, math.ceil(total / size))
    links = [(number + 1, "next")] if number < last else []
    shown = (
        f'</admin/users?{urlencode({"page": page, "per_page": size})}>; rel="{rel}"'
        for page, rel in (*links, (last, "last"))
    )
    return {"X-Total-Count": str(total), "Link": ", ".join(shown)}


SETTINGS: Final[Object] = {
    "external": {"email": True, "phone": False, "anonymous_users": False},
    "disable_signup": True,
    "mailer_autoconfirm": True,
    "phone_autoconfirm": False,
    "sms_provider": "",
    "saml_enabled": False,
}
HEALTH: Final[Object] = {"name": "walkthrough", "description": "sign-in"}

VERSION_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def version_header(asked: str | None) -> str:
    """The API version that was asked for, or the one that is spoken."""
    return asked if asked is not None and VERSION_DATE.fullmatch(asked) else API_VERSION


def write(body: Object) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False).encode()

"""Users under /auth/v1/admin/users, with GoTrue's requests and this service's access rule; the parser of users.

A user's role, client and name are columns. They are taken out of the metadata in which Supabase clients send
them.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Final

from flask import Blueprint, Response, current_app, request
from marshmallow import Schema, fields

from access.accounts import administration, password
from access.accounts.administration import UserRequest, UserSearch
from access.accounts.password import PASSWORD_CHARACTERS_MIN, Deadline
from access.accounts.people import UNSET, InvalidUserAccount, Unset, read_email
from access.accounts.sign_in import OwnAccountChanges
from access.caller import Caller
from access.decorators import load_caller, requires_administrator
from access.roles import Role
from engine.open import reading
from models.types import BIGINT, AccountFault, Fault, read_uuid
from routes.gotrue import bodies
from routes.gotrue.bodies import PREFIX, PhoneNotServed, read_auth_body, read_page
from routes.http.body import Object, json_object, json_response, load_body, object_value, text, text_value
from routes.http.faults import InvalidBody
from routes.http.middleware import request_deadline

bp = Blueprint("auth_admin", __name__, url_prefix=f"{PREFIX}/admin")
SEARCH_CHARACTERS_MAX = 256  # as of a like pattern


# Views


@bp.get("/users")
@requires_administrator(writes=False)
def list_users(caller: Caller) -> Response:
    rows_max: int = current_app.config["MAX_ROWS"]
    number = read_page("page", request.args.get("page"), 1)
    size = read_page("per_page", request.args.get("per_page"), min(bodies.PER_PAGE, rows_max), rows_max)
    search = read_search(request.args.get("filter"), request.args.get("sort"))
    with reading() as transaction:
        page = administration.list_users(transaction, caller, number, size, search)
        return json_response(
            bodies.users_body(page.users, transaction.unix), bodies.page_headers(number, size, page.total, request.args)
        )


@bp.get("/users/<user_id>")
@requires_administrator(writes=False)
def read_user(caller: Caller, user_id: str) -> Response:
    with reading() as transaction:
        person = administration.find_user(transaction, caller, read_path_id(user_id))
        return json_response(bodies.user_body(person, transaction.unix))


@bp.post("/users")
@requires_administrator(writes=True)
def create_user(caller: Caller) -> Response:
    user = parse_user(read_auth_body())
    deadline = request_deadline()
    password_hash = hash_new_password(user.password, deadline)
    with administration.counting_disclosures(deadline.writing()) as transaction:
        person = administration.create_user(transaction, load_caller(transaction), user.wanted, password_hash)
        return json_response(bodies.user_body(person, transaction.unix))


@bp.put("/users/<user_id>")
@requires_administrator(writes=True)
def change_user(caller: Caller, user_id: str) -> Response:
    changed_id = read_path_id(user_id)
    user = parse_user(read_auth_body())
    deadline = request_deadline()
    password_hash = hash_new_password(user.password, deadline)
    with administration.counting_disclosures(deadline.writing()) as transaction:
        person = administration.change_user(
            transaction, load_caller(transaction), changed_id, user.wanted, password_hash
        )
        return json_response(bodies.user_body(person, transaction.unix))


@bp.delete("/users/<user_id>")
@requires_administrator(writes=True)
def delete_user(caller: Caller, user_id: str) -> Response:
    deleted_id = read_path_id(user_id)
    read_deletion(read_auth_body())
    with request_deadline().writing() as transaction:
        administration.delete_user(transaction, load_caller(transaction), deleted_id)
    return json_response({})


def hash_new_password(new_password: str | None, deadline: Deadline) -> str | None:
    """Return the hash of a new password, or None for None. It is computed before the writer lock is acquired."""
    if new_password is None:
        return None
    password.require_valid_new(new_password)
    with password.password_hashing(deadline) as hasher:
        return hasher.hash(new_password)


# Requests


class NotAnId(AccountFault, status=404):
    """A path whose user id is not a UUID."""


ROLE: Final = {"type": "string", "enum": [role.value for role in Role]}
CLIENT_ID: Final = {"type": ["integer", "null"], "format": "int64"}
PASSWORD: Final = {"format": "password", "minLength": PASSWORD_CHARACTERS_MIN}
APP_METADATA: Final = {
    "description": "The role and the client. Other keys are stored unchanged.",
    "properties": {"role": ROLE, "client_id": CLIENT_ID},
}
USER_METADATA: Final = {
    "description": "The name. Other keys are stored unchanged.",
    "properties": {"name": {"type": "string"}},
}


class OwnChangesSchema(Schema):
    email = text(unlisted=True)
    phone = text(unlisted=True)
    password = text(**PASSWORD)
    current_password = text(
        format="password", description="Required to change the password in a session older than a day."
    )
    data = json_object(**USER_METADATA)


class UserSchema(Schema):
    id = text(format="uuid")
    email = text(format="email")
    phone = text(unlisted=True)
    password = text(**PASSWORD)
    password_hash = text(unlisted=True)
    role = fields.Raw(
        load_default=None,
        allow_none=True,
        metadata={"type": "string", "description": "Used as app_metadata.role if it is a role."},
    )
    client_id = fields.Raw(load_default=UNSET, allow_none=True, metadata=CLIENT_ID)
    ban_duration = text(description="`24h`, or `none` to end a ban.")
    app_metadata = json_object(**APP_METADATA)
    user_metadata = json_object(**USER_METADATA)


class DeletionSchema(Schema):
    should_soft_delete = fields.Raw(load_default=None, allow_none=True)


OWN_CHANGES = OwnChangesSchema()
USER = UserSchema()
DELETION = DeletionSchema()


def read_own_changes(body: bytes) -> OwnAccountChanges:
    """Return the changes of one's own account. Keys that would change rights are ignored."""
    loaded = load_body(OWN_CHANGES, body)
    refuse_phone(loaded)
    email = text_value(loaded, "email")
    user_metadata = object_value(loaded, "data")
    name = pop_name(user_metadata)
    return OwnAccountChanges(
        read_email(email) if email else None,
        name,
        user_metadata,
        text_value(loaded, "password"),
        text_value(loaded, "current_password"),
    )


@dataclass(frozen=True, slots=True)
class WantedUser:
    """An administrator's input, and the password to hash."""

    wanted: UserRequest
    password: str | None = field(repr=False)


def parse_user(body: bytes) -> WantedUser:
    """Return the data of a user to create or change.

    >>> user = parse_user(b'{"email": "eva@acme.example", "app_metadata": {"role": "client_admin"}}')
    >>> user.wanted.role, user.wanted.client_id
    (<Role.CLIENT_ADMIN: 'client_admin'>, <Unset.UNSET: 'unset'>)
    """
    loaded = load_body(USER, body)
    refuse_phone(loaded)
    if text_value(loaded, "password_hash"):
        raise InvalidUserAccount("password_hash is not taken: send the password")
    app_metadata, user_metadata = (object_value(loaded, "app_metadata"), object_value(loaded, "user_metadata"))
    for name in bodies.PROVIDERS:  # clients send back what they read
        app_metadata.pop(name, None)
    email, user_id = text_value(loaded, "email"), text_value(loaded, "id")
    wanted = UserRequest(
        read_id(user_id) if user_id is not None else None,
        read_email(email) if email else None,
        pop_name(user_metadata),
        read_role(loaded["role"], app_metadata.pop("role", None)),
        read_client(loaded["client_id"], app_metadata.pop("client_id", UNSET)),
        app_metadata,
        user_metadata,
        read_ban(text_value(loaded, "ban_duration")),
    )
    return WantedUser(wanted, text_value(loaded, "password"))


def refuse_phone(loaded: Object) -> None:
    """Raise PhoneNotServed for a phone number. Clients also send an empty one."""
    if text_value(loaded, "phone"):
        raise PhoneNotServed("Phone numbers are not kept")


def read_id(text: str) -> str:
    try:
        return read_uuid(text)
    except Fault as fault:
        raise InvalidUserAccount("id has to be a UUID") from fault


def read_path_id(text: str) -> str:
    try:
        return read_uuid(text)
    except Fault as fault:
        raise NotAnId("user_id must be an UUID") from fault


def read_role(top: object, in_metadata: object) -> Role | None:
    """Return the role, from app_metadata or the top level. GoTrue's own roles at the top level are ignored."""
    names = {each.value for each in Role}
    if in_metadata is not None and not (isinstance(in_metadata, str) and in_metadata in names):
        raise InvalidUserAccount(f"app_metadata.role is one of {', '.join(each.value for each in Role)}")
    top_level = top if isinstance(top, str) and top in names else None
    if top_level is not None and in_metadata is not None and top_level != in_metadata:
        raise InvalidUserAccount("role and app_metadata.role differ")
    role = in_metadata if isinstance(in_metadata, str) else top_level
    return Role(role) if role is not None else None


def read_client(top: object, in_metadata: object) -> int | Unset | None:
    """Return the client id, from app_metadata or the top level; None for null."""
    client_ids = {read_client_id(each) for each in (top, in_metadata) if each is not UNSET}
    if len(client_ids) > 1:
        raise InvalidUserAccount("client_id and app_metadata.client_id differ")
    return client_ids.pop() if client_ids else UNSET


def read_client_id(value: object) -> int | None:
    try:
        client_id = BIGINT.read_json(value)
    except Fault as fault:
        raise InvalidUserAccount("client_id has to be a whole number") from fault
    assert client_id is None or isinstance(client_id, int)
    return client_id


def pop_name(user_metadata: Object) -> str | None:
    """Remove the name from the metadata and return it. It is stored in a column."""
    name = user_metadata.pop("name", None)
    if name is None:
        return None
    if not isinstance(name, str) or not name.strip():
        raise InvalidUserAccount("user_metadata.name has to be a text with something in it")
    return name


DURATION = re.compile(r"(?:[0-9]{1,12}(?:\.[0-9]{1,9})?(?:ns|us|µs|ms|s|m|h))+")
DURATION_PART = re.compile(r"([0-9.]+)(ns|us|µs|ms|s|m|h)")
UNIT_SECONDS = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0}
BAN_SECONDS_MAX = 290 * 365 * 24 * 3_600  # the maximum of Go's durations


def read_ban(duration: str | None) -> int | None:
    """Return the seconds of a ban in Go's notation: 0 ends a ban, None changes nothing.

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
    """Raise InvalidUserAccount for a soft deletion, which is not supported."""
    loaded = load_body(DELETION, body)
    if loaded["should_soft_delete"] not in (None, False):
        raise InvalidUserAccount("There is no soft deletion", hint="Disable the user: ban_duration.")


def read_search(search: str | None, sort: str | None) -> UserSearch:
    """Return the filter and the order of a list of users. The default order is newest first, as in GoTrue.

    >>> read_search("ada", "created_at desc"), read_search("", None)
    (UserSearch(text='ada', newest_first=True), UserSearch(text=None, newest_first=True))
    """
    if search and (len(search) > SEARCH_CHARACTERS_MAX or "\0" in search):
        raise InvalidBody(f"filter: at most {SEARCH_CHARACTERS_MAX} characters, and no NUL")
    name, _, direction = (sort or "created_at").partition(" ")
    if name != "created_at":
        raise InvalidBody("Bad Sort Parameters: users are sorted by created_at")
    if direction.lower() not in ("", "asc", "desc"):
        raise InvalidBody("Bad Sort Parameters: only 'asc' and 'desc' allowed")
    return UserSearch(search or None, newest_first=direction.lower() != "asc")

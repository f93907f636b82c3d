"""Users' API keys: an administrator's under /auth/v1/admin/users/<id>/api_keys, one's own under /auth/v1/user/api_keys.

GoTrue has none; the form follows its users. Only the response to the creation holds the key's text.
"""

from __future__ import annotations

import datetime

from flask import Blueprint, Response
from marshmallow import Schema, fields

from access.accounts import api_key
from access.accounts.api_key import ApiKey, InvalidApiKeyRequest, NewApiKey
from access.caller import Caller
from access.decorators import load_caller, requires_administrator, requires_user
from engine.open import reading
from models.types import Fault, read_timestamp, write_timestamp
from routes.gotrue.bodies import PREFIX, read_auth_body
from routes.gotrue.users import read_path_id
from routes.http.body import Object, json_response, load_body, text, text_value
from routes.http.faults import InvalidBody
from routes.http.middleware import request_deadline

bp = Blueprint("auth_api_keys", __name__, url_prefix=PREFIX)


@bp.get("/user/api_keys")
@requires_user(writes=False)
def list_own_keys(caller: Caller) -> Response:
    return list_response(caller, str(caller.id))


@bp.post("/user/api_keys")
@requires_user(writes=True)
def create_own_key(caller: Caller) -> Response:
    return creation_response(str(caller.id))


@bp.delete("/user/api_keys/<key_id>")
@requires_user(writes=True)
def revoke_own_key(caller: Caller, key_id: str) -> Response:
    return revocation_response(str(caller.id), key_id)


@bp.get("/admin/users/<user_id>/api_keys")
@requires_administrator(writes=False)
def list_keys(caller: Caller, user_id: str) -> Response:
    return list_response(caller, read_path_id(user_id))


@bp.post("/admin/users/<user_id>/api_keys")
@requires_administrator(writes=True)
def create_key(caller: Caller, user_id: str) -> Response:
    return creation_response(read_path_id(user_id))


@bp.delete("/admin/users/<user_id>/api_keys/<key_id>")
@requires_administrator(writes=True)
def revoke_key(caller: Caller, user_id: str, key_id: str) -> Response:
    return revocation_response(read_path_id(user_id), key_id)


def list_response(caller: Caller, user_id: str) -> Response:
    with reading() as transaction:
        keys = api_key.list_keys_of_user(transaction, caller, user_id)
    return json_response({"api_keys": [key_body(key) for key in keys]})


def creation_response(user_id: str) -> Response:
    new = read_new_key(read_auth_body())
    with request_deadline().writing() as transaction:
        key, text = api_key.create_key(transaction, load_caller(transaction), user_id, new)
    return json_response(new_key_body(key, text))


def revocation_response(user_id: str, key_id: str) -> Response:
    read_auth_body()
    with request_deadline().writing() as transaction:
        api_key.revoke_key(transaction, load_caller(transaction), user_id, key_id)
    return json_response({})


# Requests and bodies


class ApiKeySchema(Schema):
    name = text(description="What the key is for.", examples=["MCP server"])
    read_only = fields.Raw(
        load_default=None,
        allow_none=True,
        metadata={"type": "boolean", "default": False, "description": "The key only reads."},
    )
    expires_at = text(type=["string", "null"], format="date-time", description="The end of the key; null for none.")


API_KEY = ApiKeySchema()


def read_new_key(body: bytes) -> NewApiKey:
    """Return the request for a key.

    >>> read_new_key(b'{"name": "MCP server", "read_only": true, "expires_at": "2027-01-01"}')
    NewApiKey(name='MCP server', is_read_only=True, expires_at=1798761600, is_calendar_link=False)
    """
    loaded = load_body(API_KEY, body)
    read_only, expires_at = loaded["read_only"], text_value(loaded, "expires_at")
    if read_only is not None and not isinstance(read_only, bool):
        raise InvalidBody("read_only must be true or false")
    return NewApiKey(text_value(loaded, "name") or "", bool(read_only), read_end(expires_at) if expires_at else None)


def read_end(text: str) -> int:
    """Return a timestamp in Unix seconds."""
    try:
        return int(datetime.datetime.fromisoformat(read_timestamp(text)).timestamp())
    except Fault as fault:
        raise InvalidApiKeyRequest(f"expires_at: {fault.message}") from fault


def key_body(key: ApiKey) -> Object:
    """Return a key without its text."""
    return {
        "id": key.id,
        "user_id": key.user_id,
        "name": key.name,
        "read_only": key.is_read_only,
        "calendar_only": key.is_calendar_link,
        "created_at": timestamp(key.created_at),
        "last_used_at": timestamp(key.last_used_at),
        "expires_at": timestamp(key.expires_at),
        "created_by": key.created_by,
    }


def new_key_body(key: ApiKey, text: str) -> Object:
    """Return a new key with its text, which no other response holds."""
    return {**key_body(key), "key": text}


def timestamp(unix: int | None) -> str | None:
    if unix is None:
        return None
    return write_timestamp(datetime.datetime.fromtimestamp(unix, datetime.UTC))

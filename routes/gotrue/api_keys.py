"""Parses and renders users' API keys. GoTrue has none; the form follows its users."""

from __future__ import annotations

import datetime

from marshmallow import Schema, fields

from access.accounts.api_key import ApiKey, InvalidApiKeyRequest, NewApiKey
from models.errors import Fault
from models.types import read_timestamp, write_timestamp
from routes.gotrue.payload import InvalidBody, Object, load_body, text, text_value


class ApiKeySchema(Schema):
    name = text()
    read_only = fields.Raw(load_default=None, allow_none=True)
    expires_at = text()


API_KEY = ApiKeySchema()


def read_new_key(body: bytes) -> NewApiKey:
    """Return the request for a key.

    >>> read_new_key(b'{"name": "MCP server", "read_only": true, "expires_at": "2027-01-01"}')
    NewApiKey(name='MCP server', is_read_only=True, expires_at=1798761600)
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

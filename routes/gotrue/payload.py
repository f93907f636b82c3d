"""What a sign-in's request holds: bytes, or a number in its address, to values of the kind that was asked for.

What the values mean is said where they are asked for (`sessions.py`, `users.py`).
"""

from __future__ import annotations

from typing import Any
from typing import Final

from marshmallow import EXCLUDE
from marshmallow import Schema
from marshmallow import ValidationError
from marshmallow import fields

from models.errors import Fault
from routes.postgrest.payload import parse_payload

BODY_BYTES_MAX: Final = 16 << 10
DIGITS_MAX: Final = 9  # a page beyond 10^9 is nobody's

Object = dict[str, object]


class BadJson(Fault):
    """A body that is no JSON object."""


class InvalidBody(Fault):
    """A value in a body that is not what it has to be."""


# Fields


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


# Bodies


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


def said(loaded: Object, name: str) -> str | None:
    value = loaded[name]
    assert value is None or isinstance(value, str)
    return value


def entries(loaded: Object, name: str) -> Object:
    value = loaded[name]
    return dict(value) if isinstance(value, dict) else {}


# Addresses


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

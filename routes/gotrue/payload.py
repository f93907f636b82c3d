"""Parses the sign-in API's bodies and page numbers.

`sign_in.py`, `users.py` and `api_keys.py` interpret the values.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from marshmallow import EXCLUDE, Schema, ValidationError, fields

from models.errors import Fault
from routes.postgrest.payload import parse_payload

BODY_BYTES_MAX: Final = 16 << 10
DIGITS_MAX: Final = 9

Object = dict[str, object]


class BadJson(Fault):
    """A body that is not a JSON object."""


class InvalidBody(Fault):
    """An invalid value in a body."""


class PhoneNotServed(Fault):
    """A sign-in by phone number. Only e-mails are supported."""


# Fields


class StringField(fields.Field[str]):
    """A string. marshmallow's own field also accepts bytes."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> str:
        if not isinstance(value, str):
            raise ValidationError("must be a string")
        return value


class ObjectField(fields.Field[Object]):
    """A JSON object with any content."""

    def _deserialize(self, value: Any, attr: str | None, data: Any, **kwargs: Any) -> Object:
        if not isinstance(value, dict):
            raise ValidationError("must be an object")
        return value


def text() -> StringField:
    return StringField(load_default=None, allow_none=True)


def json_object() -> ObjectField:
    return ObjectField(load_default=None, allow_none=True)


# Bodies


def read_object(body: bytes) -> Object:
    """Return the JSON object of a body. An empty body is an empty object, as GoTrue's clients expect."""
    if not body.strip():
        return {}
    payload = parse_payload(body, "application/json")
    if payload.is_array:
        raise BadJson("Could not parse request body as JSON: an object is expected")
    return payload.rows[0]


def load_body(schema: Schema, body: bytes) -> Object:
    """Return the fields of a body that a schema declares. Other keys are ignored, as in GoTrue."""
    return load_values(schema, read_object(body))


def load_values(schema: Schema, values: Mapping[str, object]) -> Object:
    """Return the values that a schema declares. Raise InvalidBody."""
    try:
        loaded: Object = schema.load(values, unknown=EXCLUDE)
    except ValidationError as refused:
        messages: dict[str, list[str]] = refused.messages_dict
        name, wrong = next(iter(messages.items()))
        raise InvalidBody(f"{name} {wrong[0]}") from refused
    return loaded


def text_value(loaded: Object, name: str) -> str | None:
    value = loaded[name]
    assert value is None or isinstance(value, str)
    return value


def object_value(loaded: Object, name: str) -> Object:
    value = loaded[name]
    return dict(value) if isinstance(value, dict) else {}


# Query parameters


def read_page(name: str, text: str | None, default: int, maximum: int | None = None) -> int:
    """Return a page number or page size. An empty value means the default.

    >>> read_page("page", "", 1), read_page("per_page", "2000", 50, 1000)
    (1, 1000)
    """
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= DIGITS_MAX and int(text) > 0):
        raise InvalidBody(f"Bad Pagination Parameters: {name} is a whole number above 0")
    return int(text) if maximum is None else min(int(text), maximum)

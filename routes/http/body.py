"""Read a request's body completely, or refuse it. The values of JSON objects, and JSON responses."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from flask import Response
from marshmallow import EXCLUDE, Schema, ValidationError, fields
from werkzeug.exceptions import RequestEntityTooLarge

from access import session
from models.types import Fault
from routes.http.faults import BadJson, BodyTooLarge, InvalidBody, UnsupportedContentEncoding
from routes.postgrest.payload import parse_payload
from routes.postgrest.representation import BadRequest
from settings import CSV_BYTES_MAX, JSON_BYTES_MAX

Object = dict[str, object]

RECEIVED = "walkthrough.body"
LENGTH = re.compile(r"[0-9]{1,18}")


def read_body(bytes_max: int | None = None) -> bytes:
    """Return the whole body. Raise BodyTooLarge above `bytes_max` bytes, and BadRequest if it ends early.

    A truncated body is refused because a truncated CSV may be a valid CSV. A body is received once: a second call
    returns the same bytes, as a view needs that runs again because a standby failed.
    """
    environ = session.request().environ
    if RECEIVED not in environ:
        environ[RECEIVED] = receive_body(environ, bytes_max)
    body: bytes = environ[RECEIVED]
    return body


def receive_body(environ: dict[str, Any], bytes_max: int | None) -> bytes:
    if bytes_max is None:
        kind = environ.get("CONTENT_TYPE", "").partition(";")[0]
        bytes_max = CSV_BYTES_MAX if kind.strip().lower() == "text/csv" else JSON_BYTES_MAX
    encoding = environ.get("HTTP_CONTENT_ENCODING", "identity")
    if encoding.lower() != "identity":
        raise UnsupportedContentEncoding(encoding)
    length = environ.get("CONTENT_LENGTH", "")
    if "HTTP_TRANSFER_ENCODING" in environ or not LENGTH.fullmatch(length):
        return read_chunked_body(bytes_max)
    if int(length) > bytes_max:
        raise BodyTooLarge(bytes_max)
    return read_sized_body(environ["wsgi.input"], int(length))


def read_sized_body(source: Any, length: int) -> bytes:
    """Read `length` bytes, or raise BadRequest."""
    body = b""
    try:
        while len(body) < length and (more := source.read(length - len(body))):
            body = body + more if body else more
    except Exception as error:  # the server's reader may raise anything
        raise unreadable() from error
    if len(body) < length:
        raise BadRequest("The request body ended before its Content-Length")
    return body


def read_chunked_body(bytes_max: int) -> bytes:
    """Read a chunked body. The limit is one byte higher, since the reader cuts a longer body without an error."""
    request = session.request()
    if request.headers.get("Transfer-Encoding", "chunked").lower() != "chunked":
        raise BadRequest("The transfer coding is not supported")
    request.max_content_length = bytes_max + 1
    try:
        body = request.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise BodyTooLarge(bytes_max) from error
    except Exception as error:  # as above
        raise unreadable() from error
    if len(body) > bytes_max:
        raise BodyTooLarge(bytes_max)
    return body


def unreadable() -> Fault:
    return BadRequest("The request body could not be read")


# JSON


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


def text(**described: object) -> StringField:
    """Return a field of an optional text. `described` are keywords of its JSON schema; `unlisted` omits that."""
    return StringField(load_default=None, allow_none=True, metadata={"type": "string", **described})


def json_object(**described: object) -> ObjectField:
    return ObjectField(load_default=None, allow_none=True, metadata={"type": "object", **described})


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


def json_response(body: object, headers: dict[str, str] | None = None) -> Response:
    return Response(
        json.dumps(body, ensure_ascii=False, allow_nan=False),
        200,
        headers or {},
        content_type="application/json; charset=utf-8",
    )

"""A request's body, whole or not at all."""

from __future__ import annotations

import re
from typing import Any

from werkzeug.exceptions import RequestEntityTooLarge

from access import request_state
from models.errors import Fault
from routes.postgrest import requests
from routes.postgrest.media import EncodedBody

JSON_BYTES_MAX = 1 << 20
CSV_BYTES_MAX = 5 << 20

LENGTH = re.compile(r"[0-9]{1,18}")


def read_body(bytes_max: int | None = None) -> bytes:
    """The whole body, or BodyTooLarge; one that ends before its stated length is refused, since half of a
    CSV is a CSV."""
    environ = request_state.request().environ
    if bytes_max is None:
        kind = environ.get("CONTENT_TYPE", "").partition(";")[0]
        bytes_max = CSV_BYTES_MAX if kind.strip().lower() == "text/csv" else JSON_BYTES_MAX
    encoding = environ.get("HTTP_CONTENT_ENCODING", "identity")
    if encoding.lower() != "identity":
        raise EncodedBody(encoding)
    stated = environ.get("CONTENT_LENGTH", "")
    if "HTTP_TRANSFER_ENCODING" in environ or not LENGTH.fullmatch(stated):
        return read_unstated_body(bytes_max)
    if int(stated) > bytes_max:
        raise requests.BodyTooLarge(bytes_max)
    return read_stated_body(environ["wsgi.input"], int(stated))


def read_stated_body(source: Any, length: int) -> bytes:
    """A body of a known length."""
    body = b""
    try:
        while len(body) < length and (more := source.read(length - len(body))):
            body = body + more if body else more
    except Exception as error:  # whatever the server's reader raised: the body is not whole
        raise unreadable() from error
    if len(body) < length:
        raise requests.BadRequest("The request body ended before its Content-Length")
    return body


def read_unstated_body(bytes_max: int) -> bytes:
    """A body that ends when it says so. One byte more than may be is read, since a chunked body is cut at
    the limit without a word."""
    asked = request_state.request()
    if asked.headers.get("Transfer-Encoding", "chunked").lower() != "chunked":
        raise requests.BadRequest("The transfer coding is not supported")
    asked.max_content_length = bytes_max + 1
    try:
        body = asked.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise requests.BodyTooLarge(bytes_max) from error
    except Exception as error:  # as above
        raise unreadable() from error
    if len(body) > bytes_max:
        raise requests.BodyTooLarge(bytes_max)
    return body


def unreadable() -> Fault:
    return requests.BadRequest("The request body could not be read")

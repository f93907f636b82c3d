"""Read a request's body completely, or refuse it."""

from __future__ import annotations

import re
from typing import Any

from werkzeug.exceptions import RequestEntityTooLarge

from access import request_state
from models.errors import Fault
from routes.postgrest import requests
from routes.postgrest.media import UnsupportedContentEncoding

JSON_BYTES_MAX = 1 << 20
CSV_BYTES_MAX = 5 << 20

LENGTH = re.compile(r"[0-9]{1,18}")


def read_body(bytes_max: int | None = None) -> bytes:
    """Return the whole body. Raise BodyTooLarge above `bytes_max` bytes, and BadRequest if it ends early.

    A truncated body is refused because a truncated CSV may be a valid CSV.
    """
    environ = request_state.request().environ
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
        raise requests.BodyTooLarge(bytes_max)
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
        raise requests.BadRequest("The request body ended before its Content-Length")
    return body


def read_chunked_body(bytes_max: int) -> bytes:
    """Read a chunked body. The limit is one byte higher, since the reader cuts a longer body without an error."""
    request = request_state.request()
    if request.headers.get("Transfer-Encoding", "chunked").lower() != "chunked":
        raise requests.BadRequest("The transfer coding is not supported")
    request.max_content_length = bytes_max + 1
    try:
        body = request.get_data(cache=False)
    except RequestEntityTooLarge as error:
        raise requests.BodyTooLarge(bytes_max) from error
    except Exception as error:  # as above
        raise unreadable() from error
    if len(body) > bytes_max:
        raise requests.BodyTooLarge(bytes_max)
    return body


def unreadable() -> Fault:
    return requests.BadRequest("The request body could not be read")

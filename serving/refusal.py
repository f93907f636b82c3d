"""What does a client hear when what it sent is no HTTP? JSON, as from everything else here; gunicorn would send a
page of HTML that quotes the request."""

from __future__ import annotations

import json
import socket
from http import HTTPStatus
from typing import Final

import gunicorn.util

REQUEST_LINE_BYTES_MAX: Final = 65_535
HEADER_FIELDS_MAX: Final = 100
HEADER_BYTES_MAX: Final = 8_190

REFUSALS: Final = {
    400: ("08P01", "the request is not well-formed HTTP"),
    403: ("42501", "the request is forbidden"),
    414: ("54000", f"the request line is longer than {REQUEST_LINE_BYTES_MAX} bytes"),
    417: ("0A000", "the expectation is not supported"),
    431: (
        "54000",
        f"there are more than {HEADER_FIELDS_MAX} header fields, or one over {HEADER_BYTES_MAX} bytes",
    ),
    500: ("XX000", "internal error"),
    501: ("0A000", "the transfer coding is not supported"),
}
"""What gunicorn itself refuses: status -> code, message. The codes are PostgreSQL's, as everywhere."""


def write_refusal(sock: socket.socket, status_int: int, reason: str, mesg: str) -> None:
    """Take the place of `gunicorn.util.write_error`, which quotes the request in a page of HTML."""
    gunicorn.util.write_nonblock(sock, refusal(status_int))


def refusal(status_code: int) -> bytes:
    """Compose the whole answer to a request that never reached the application."""
    status = HTTPStatus(status_code)
    code, message = REFUSALS.get(status, REFUSALS[400])
    body = json.dumps({"code": code, "message": message, "details": None, "hint": None}).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Connection: close\r\n"
        "Content-Type: application/json; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: private, no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'\r\n\r\n"
    )
    return head.encode() + body

"""Refuse requests that never reach the application. The body is JSON, in the error shape of the addressed API."""

from __future__ import annotations

import json
import socket
from http import HTTPStatus
from typing import Final

from serving.worker import limits

MANY_FIELDS = f"there are more than {limits.HEADER_FIELDS_MAX} header fields"
LARGE_FIELD = f"one over {limits.HEADER_BYTES_MAX} bytes"
REFUSALS: Final = {
    400: ("08P01", "the request is not well-formed HTTP"),
    403: ("42501", "the request is forbidden"),
    408: ("57014", "the request did not arrive in time"),
    413: ("PGRST102", f"The request body is larger than {limits.BODY_BYTES_MAX} bytes"),
    414: ("54000", f"the request line is longer than {limits.REQUEST_LINE_BYTES_MAX} bytes"),
    417: ("0A000", "the expectation is not supported"),
    431: ("54000", f"{MANY_FIELDS}, or {LARGE_FIELD}"),
    500: ("XX000", "internal error"),
    501: ("0A000", "the transfer coding is not supported"),
    503: ("53200", "the server is receiving too many large requests"),
    507: ("53100", "no room is left for the file"),
}
"""status -> code, message. The codes are PostgreSQL's and PostgREST's."""

AUTH_PATH: Final = "/auth/v1/"
AUTH_CODES: Final = {400: "bad_json", 408: "request_timeout", 413: "request_too_large"}
"""status -> GoTrue's error code, where it has one."""

STORAGE_PATH: Final = "/storage/v1/"
STORAGE_CODES: Final = {413: "EntityTooLarge", 503: "SlowDown", 507: "InsufficientStorage"}
STORAGE_MESSAGES: Final = {413: "Payload too large"}
"""status -> Supabase's error code and message, where the data API has another one."""


class Refused(Exception):
    """A request cannot be accepted; `status` is the status of the response."""

    def __init__(self, status: int) -> None:
        self.status = status


def write_refusal(sock: socket.socket, status_int: int, reason: str, mesg: str) -> None:
    """Replace `gunicorn.util.write_error`, which quotes the request in a page of HTML."""
    send_now(sock, compose(status_int))


def send_now(sock: socket.socket, data: bytes) -> None:
    """Send without waiting for the client; raises OSError if the socket takes nothing."""
    sock.send(data, socket.MSG_DONTWAIT)


def compose(status_code: int, path: str = "") -> bytes:
    """Return the whole response to a refused request, whose connection closes."""
    status = HTTPStatus(status_code)
    code, message = REFUSALS.get(status, REFUSALS[400])
    shape = {"code": code, "message": message, "details": None, "hint": None}
    if path.startswith(AUTH_PATH):
        code = AUTH_CODES.get(status, "unexpected_failure")
        shape |= {"code": code, "error_code": code, "msg": message}
    elif path.startswith(STORAGE_PATH):
        code = STORAGE_CODES.get(status, "InvalidRequest")
        message = STORAGE_MESSAGES.get(status, message)
        shape = {"statusCode": str(status.value), "code": code, "error": status.phrase, "message": message}
    body = json.dumps(shape).encode()
    retry = "Retry-After: 1\r\n" if status == HTTPStatus.SERVICE_UNAVAILABLE else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Connection: close\r\n"
        "Content-Type: application/json; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"{retry}"
        "Cache-Control: private, no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'\r\n\r\n"
    )
    return head.encode() + body

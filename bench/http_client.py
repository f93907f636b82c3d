"""Sends single calls and reads their answers."""

from __future__ import annotations

import http.client
from typing import Final

from bench.dialect import Dialect, HttpAnswer
from bench.requests import HttpCall

ANSWER_SECONDS_MAX: Final = 30.0
NO_COUNTERPART: Final = HttpAnswer(404, None, b"[]")
"""Stands for the answer to a call that the server's dialect does not have."""


def send(port: int, call: HttpCall, dialect: Dialect) -> HttpAnswer:
    """Send one call on a new connection; return the answer in PostgREST's form."""
    sent = dialect.translate(call)
    if sent is None:
        return NO_COUNTERPART
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS_MAX)
    try:
        body = sent.body.encode() or None
        connection.request(sent.method, sent.path, body, dialect.headers(sent))
        response = connection.getresponse()
        answer = HttpAnswer(response.status, response.headers["Content-Range"], response.read())
    finally:
        connection.close()
    return dialect.read(call, answer)

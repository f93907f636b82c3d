"""HTTP calls with their tokens and headers, and how one call is sent."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import time
from dataclasses import dataclass
from functools import cache
from typing import Final

from bench.dataset import DatasetCaller, DatasetUser
from bench.servers import ANON_KEY, SECRET

TOKEN_SECONDS: Final = 24 * 3_600
ANSWER_SECONDS_MAX: Final = 30.0


@dataclass(frozen=True, slots=True)
class HttpCall:
    """One HTTP request without its server, in PostgREST's dialect."""

    caller: DatasetCaller
    path: str
    method: str = "GET"
    prefer: str = ""
    body: str = ""

    @property
    def token(self) -> str:
        return token_of(self.caller.user)

    @property
    def headers(self) -> dict[str, str]:
        headers = {"apikey": ANON_KEY, "Authorization": f"Bearer {self.token}"}
        if self.prefer:
            headers["Prefer"] = self.prefer
        if self.body:
            headers["Content-Type"] = "application/json"
        return headers


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """The parts of an HTTP response that are compared."""

    status: int
    content_range: str | None
    body: bytes

    def __str__(self) -> str:
        return f"{self.status} {self.content_range} {self.body[:600].decode(errors='replace')}"


def send(port: int, call: HttpCall) -> HttpAnswer:
    """Send one call on a new connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS_MAX)
    try:
        connection.request(call.method, call.path, call.body.encode() or None, call.headers)
        response = connection.getresponse()
        return HttpAnswer(response.status, response.headers["Content-Range"], response.read())
    finally:
        connection.close()


@cache
def token_of(user: DatasetUser) -> str:
    """Return a JSON Web Token that Walkthrough and PostgREST accept."""
    now = int(time.time()) - 2
    claims: dict[str, object] = {
        "aud": "authenticated", "sub": user.id, "role": user.role, "iat": now, "exp": now + TOKEN_SECONDS,
    }  # fmt: skip
    if user.client_id is not None:
        claims["client_id"] = user.client_id
    parts = [_encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    signature = hmac.digest(SECRET.encode(), ".".join(parts).encode(), hashlib.sha256)
    return ".".join([*parts, _encode(signature)])


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

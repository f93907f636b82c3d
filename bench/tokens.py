"""JSON Web Tokens that the servers accept."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from typing import Final

from bench.dataset import DatasetUser
from bench.servers import SECRET

TOKEN_SECONDS: Final = 24 * 3_600


class Tokens:
    """One token a user, in the form that Walkthrough and PostgREST accept. Tokens are cached."""

    def __init__(self) -> None:
        self.now = int(time.time()) - 2
        self.cache: dict[str, str] = {}

    def of(self, user: DatasetUser) -> str:
        """Return the user's token."""
        if user.id not in self.cache:
            self.cache[user.id] = sign(self.claims(user), self.key(user))
        return self.cache[user.id]

    def claims(self, user: DatasetUser) -> dict[str, object]:
        claims: dict[str, object] = {
            "aud": "authenticated", "sub": user.id, "role": user.role,
            "iat": self.now, "exp": self.now + TOKEN_SECONDS,
        }  # fmt: skip
        if user.client_id is not None:
            claims["client_id"] = user.client_id
        return claims

    def key(self, user: DatasetUser) -> str:
        """Return the key that signs the user's token."""
        return SECRET


def sign(claims: dict[str, object], key: str) -> str:
    """Return a compact JWS, signed by HS256."""
    parts = [_encode(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    signature = hmac.digest(key.encode(), ".".join(parts).encode(), hashlib.sha256)
    return ".".join([*parts, _encode(signature)])


def _encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

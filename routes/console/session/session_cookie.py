"""The signed session cookie and the signatures of form tokens.

This module uses neither Flask nor a clock. A session cookie grants nothing by itself: each request looks up its user
and session in the database (access/session.py).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from itsdangerous import BadData, Signer, URLSafeSerializer

from access.access_token import Claims
from access.roles import Role

IDLE_SECONDS_MAX = 12 * 3_600
AGE_SECONDS_MAX = 7 * 24 * 3_600
RENEWED_AFTER_SECONDS = 600
NAME_CHARACTERS_MAX = 80  # browsers silently drop a cookie of more than 4,096 bytes
SIGNING = {"digest_method": hashlib.sha256, "key_derivation": "hmac"}


@dataclass(frozen=True, slots=True)
class SessionCookie:
    """The content of a session cookie. `began` and `renewed` are Unix times in seconds."""

    session_id: str
    user_id: str
    role: Role
    client_id: int | None
    name: str
    began: int
    renewed: int

    def claims(self) -> Claims:
        """Return the claims of an access token for this session."""
        return Claims(
            self.user_id, self.role, self.client_id, self.began, None, self.began + AGE_SECONDS_MAX, self.session_id
        )

    def is_valid(self, now: int) -> bool:
        return self.renewed + IDLE_SECONDS_MAX > now and self.began + AGE_SECONDS_MAX > now

    def is_due(self, now: int) -> bool:
        """Return whether the cookie needs a new `renewed` time."""
        return self.renewed + RENEWED_AFTER_SECONDS <= now


class CookieSigner:
    """Signs and verifies with a list of keys, oldest first: the newest key signs, every key verifies."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.sessions = URLSafeSerializer(list(keys), salt="console session", signer_kwargs=SIGNING)
        self.messages = URLSafeSerializer(list(keys), salt="console message", signer_kwargs=SIGNING)
        self.texts = Signer(list(keys), salt="console form", **SIGNING)  # type: ignore[arg-type]

    def encode(self, cookie: SessionCookie) -> str:
        """Return the signed cookie value. Cut the name to NAME_CHARACTERS_MAX."""
        fields = [
            cookie.session_id,
            cookie.user_id,
            cookie.role.value,
            cookie.client_id,
            cookie.name[:NAME_CHARACTERS_MAX],
            cookie.began,
            cookie.renewed,
        ]
        return str(self.sessions.dumps(fields))

    def decode(self, value: str) -> SessionCookie | None:
        """Return the content of a cookie value, or None if its signature is not valid."""
        try:
            session_id, user_id, role, client_id, name, began, renewed = self.sessions.loads(value)
            return SessionCookie(session_id, user_id, Role(role), client_id, name, began, renewed)
        except (BadData, ValueError, TypeError):
            return None

    def seal(self, values: list[object]) -> str:
        """Return values as text with a signature."""
        return str(self.messages.dumps(values))

    def unseal(self, text: str) -> list[Any] | None:
        """Return the values of a text that `seal` made, otherwise None."""
        try:
            values: list[Any] = self.messages.loads(text)
        except BadData:
            return None
        return values

    def sign(self, text: str) -> str:
        """Return the signature of a text."""
        return self.texts.get_signature(text.encode()).decode()

    def verify(self, signature: str, text: str) -> bool:
        """Return whether a signature is the one of this text."""
        return self.texts.verify_signature(text.encode(), signature.encode("utf-8", "replace"))

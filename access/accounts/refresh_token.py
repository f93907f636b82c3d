"""Refresh tokens: session id and counter, and a MAC over them and the session's salt.

Nothing usable is stored: a token is derived anew from what the session's row holds and from the keys,
so a copy of the database makes none, nor does a leaked key alone. Any key of the list verifies, the
newest signs. Knows no table and no clock.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import struct
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from itsdangerous import Signer

SALT = b"walkthrough.refresh_token"  # a key of its own, derived: no access token can pass for one
SEPARATOR = "~"  # not in base64url; nor a dot, so that no token looks like a JWT
PACKED = struct.Struct(">16sI")
TOKEN_CHARACTERS_MAX = 128


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """What a token claims, until its MAC is checked against the session's salt."""

    session_id: str
    counter: int
    mac: bytes


class RefreshTokens:
    """Makes and checks the tokens of sessions."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.signer = Signer(
            list(keys), salt=SALT, key_derivation="hmac", digest_method=hashlib.sha256
        )

    def issue(self, session_id: str, counter: int, salt: str) -> str:
        """The session's token of that counter: always the same while the newest key is."""
        name = pack(session_id, counter)
        mac = self.signer.get_signature(name + salt.encode())
        return f"{encode(name)}{SEPARATOR}{mac.decode()}"

    def is_genuine(self, token: RefreshToken, salt: str) -> bool:
        """Whether one of the keys made it, compared in constant time."""
        return self.signer.verify_signature(
            pack(token.session_id, token.counter) + salt.encode(), token.mac
        )


def read(text: str) -> RefreshToken | None:
    """A token's parts, or None for text that is none.

    >>> read("one"), read("a~b"), read("~")
    (None, None, None)
    """
    name, _, mac = text.partition(SEPARATOR)
    if len(text) > TOKEN_CHARACTERS_MAX or not text.isascii():
        return None
    try:
        raw = base64.b64decode(name + "=" * (-len(name) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(raw) != PACKED.size or encode(raw) != name:
        return None
    session_id, counter = PACKED.unpack(raw)
    return RefreshToken(str(uuid.UUID(bytes=session_id)), counter, mac.encode())


def pack(session_id: str, counter: int) -> bytes:
    return PACKED.pack(uuid.UUID(session_id).bytes, counter)


def encode(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

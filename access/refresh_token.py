"""Refresh tokens: session id and counter, and a MAC over them and the session's salt.

The database stores no token. A token is derived from the session's row and a key. Neither a copy of the database
nor a leaked key alone is enough to make one. Any key of the list verifies, and the newest signs.
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

SALT = b"walkthrough.refresh_token"  # derives a separate key: no access token is a refresh token
SEPARATOR = "~"  # not in base64url; nor a dot, so that no token looks like a JWT
PACKED = struct.Struct(">16sI")
TOKEN_CHARACTERS_MAX = 128


@dataclass(frozen=True, slots=True)
class RefreshToken:
    """The parts of a token. They are unverified until `is_genuine` checks the MAC."""

    session_id: str
    counter: int
    mac: bytes


class RefreshTokens:
    """Issues and verifies the refresh tokens of sessions."""

    def __init__(self, keys: Sequence[bytes]) -> None:
        self.signer = Signer(list(keys), salt=SALT, key_derivation="hmac", digest_method=hashlib.sha256)

    def issue(self, session_id: str, counter: int, salt: str) -> str:
        """Return the session's token of a counter. It is the same as long as the newest key is."""
        name = pack(session_id, counter)
        mac = self.signer.get_signature(name + salt.encode())
        return f"{encode(name)}{SEPARATOR}{mac.decode()}"

    def is_genuine(self, token: RefreshToken, salt: str) -> bool:
        """Return whether one of the keys signed the token, in constant time."""
        return self.signer.verify_signature(pack(token.session_id, token.counter) + salt.encode(), token.mac)


def parse_refresh_token(text: str) -> RefreshToken | None:
    """Return the parts of a token, or None if the text is malformed.

    >>> parse_refresh_token("one"), parse_refresh_token("a~b"), parse_refresh_token("~")
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

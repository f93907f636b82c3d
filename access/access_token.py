"""Sign and verify access tokens: compact JWTs with HS256 and a list of keys, by itsdangerous' `Signer`.

The header's algorithm has to be HS256; it never selects the algorithm. Each part has to be in canonical base64url,
since base64 encodes the same bytes in several ways.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from itsdangerous import BadSignature, Signer

from access.roles import Role
from models.types import Fault, read_uuid

AUDIENCE = "authenticated"
SKEW_SECONDS_MAX = 5  # leeway for iat and nbf; exp has none
TOKEN_BYTES_MAX = 8_192
JsonObject = dict[str, object]

HEADER = {"alg": "HS256", "typ": "JWT"}


class InvalidToken(Fault, code="PGRST301"):
    """The token is malformed, or has a wrong algorithm or signature."""


class RefusedClaims(Fault, code="PGRST303"):
    """The signature is right. The claims are invalid, not in force, or those of a user who changed."""


@dataclass(frozen=True, slots=True)
class Claims:
    """The claims of a verified token."""

    user_id: str
    role: Role
    client_id: int | None
    issued_at: int | None
    not_before: int | None
    expires_at: int
    session_id: str | None


class TokenSigner:
    """The signing keys, oldest first. The newest signs, and all verify."""

    def __init__(self, keys: Sequence[str]) -> None:
        self.signer = Signer(
            [key.encode() for key in keys], sep=b".", key_derivation="none", digest_method=hashlib.sha256
        )

    def issue(self, claims: Mapping[str, object]) -> str:
        """Return a compact JWT of the claims."""
        signed: bytes = self.signer.sign(encode(HEADER) + b"." + encode(claims))
        return signed.decode()

    def read(self, token: str) -> Claims:
        """Return the claims of a token; raise InvalidToken or RefusedClaims.

        The result depends on the token and the keys alone. It does not mean that the claims are in force.
        """
        return read_claims(self.payload(token))

    def payload(self, token: str) -> object:
        parts = token.encode("utf-8", "replace").split(b".") if len(token) <= TOKEN_BYTES_MAX else []
        if len(parts) != 3:
            raise InvalidToken(f"Expected 3 parts in JWT; got {len(parts)}")
        header = decode(parts[0])
        if not isinstance(header, dict) or header.get("alg") != "HS256" or "crit" in header:
            raise InvalidToken("Wrong or unsupported encoding algorithm")
        if decode_bytes(parts[2]) is None:
            raise InvalidToken("JWT cryptographic operation failed")
        try:
            self.signer.unsign(b".".join(parts))
        except BadSignature:
            raise InvalidToken("JWT cryptographic operation failed") from None
        return decode(parts[1])


def encode(part: Mapping[str, object]) -> bytes:
    text = json.dumps(part, separators=(",", ":"), allow_nan=False)
    return base64.urlsafe_b64encode(text.encode()).rstrip(b"=")


def decode_bytes(part: bytes) -> bytes | None:
    """Return the bytes of a part, or None unless it is in canonical base64url."""
    try:
        raw = base64.urlsafe_b64decode(part + b"=" * (-len(part) % 4))
    except (binascii.Error, ValueError):
        return None
    return raw if base64.urlsafe_b64encode(raw).rstrip(b"=") == part else None


def decode(part: bytes) -> object:
    raw = decode_bytes(part)
    if raw is None:
        raise InvalidToken("JWT is not base64url")
    try:
        # `json.loads` guesses the encoding of bytes. JSON libraries read UTF-8 without a byte order mark.
        text = raw.decode("utf-8")
        return json.loads(text, object_pairs_hook=object_without_duplicates, parse_constant=reject_constant)
    except (RecursionError, ValueError):
        raise InvalidToken("JWT is not JSON") from None


def object_without_duplicates(pairs: list[tuple[str, object]]) -> JsonObject:
    """Return an object; raise RefusedClaims if a name repeats, since JSON libraries disagree on which value counts."""
    members = dict(pairs)
    if len(members) != len(pairs):
        raise RefusedClaims("duplicate claim names")
    return members


def reject_constant(constant: str) -> None:
    raise ValueError(constant)


REFUSED = "JWT claims refused"


def require_in_force(claims: Claims, now: int) -> Claims:
    """Return the claims; raise RefusedClaims if they are expired or not yet valid. `now` is in Unix seconds."""
    if claims.expires_at <= now:
        raise RefusedClaims("JWT expired")
    if claims.issued_at is not None and claims.issued_at > now + SKEW_SECONDS_MAX:
        raise RefusedClaims("JWT issued at future")
    if claims.not_before is not None and claims.not_before > now + SKEW_SECONDS_MAX:
        raise RefusedClaims("JWT not yet valid")
    return claims


def read_claims(payload: object) -> Claims:
    """Return the claims of a payload; raise RefusedClaims. All errors in `sub` and `role` share one text."""
    if not isinstance(payload, dict):
        raise RefusedClaims("The JWT claims are not an object")
    expires_at = numeric_date(payload, "exp")
    if expires_at is None:
        raise RefusedClaims("The JWT has no expiry")
    audience = payload.get("aud", AUDIENCE)
    if audience != AUDIENCE and not (isinstance(audience, list) and AUDIENCE in audience):
        raise RefusedClaims("JWT not in audience")
    text_claim(payload, "email")  # for clients only: it decides nothing
    return Claims(
        read_subject(payload),
        read_role(payload),
        integer_claim(payload, "client_id", nullable=True),
        numeric_date(payload, "iat"),
        numeric_date(payload, "nbf"),
        expires_at,
        text_claim(payload, "session_id"),
    )


def integer_claim(payload: JsonObject, claim: str, *, nullable: bool = False) -> int | None:
    value = payload.get(claim)
    if claim not in payload or (value is None and nullable):
        return None
    if type(value) is not int or not 0 <= value < 2**53:
        raise RefusedClaims(f"The JWT '{claim}' claim must be a number")
    return value


def numeric_date(payload: JsonObject, claim: str) -> int | None:
    """Return a time in Unix seconds, rounded down. A NumericDate may have a fraction (RFC 7519, section 2)."""
    value = payload.get(claim)
    if type(value) is float and 0 <= value < 2**53:
        return int(value)
    return integer_claim(payload, claim)


def text_claim(payload: JsonObject, claim: str) -> str | None:
    value = payload.get(claim)
    if isinstance(value, str) and is_storable(value):
        return value
    if claim in payload:
        raise RefusedClaims(f"The JWT '{claim}' claim must be a string")
    return None


def is_storable(text: str) -> bool:
    """Return whether a database can store the text: it has no NUL and no unpaired surrogate."""
    return "\0" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def read_subject(payload: JsonObject) -> str:
    subject = payload.get("sub")
    if not isinstance(subject, str):
        raise RefusedClaims(REFUSED)
    try:
        return read_uuid(subject)
    except Fault:
        raise RefusedClaims(REFUSED) from None


def read_role(payload: JsonObject) -> Role:
    role = payload.get("role")
    if not isinstance(role, str) or role not in {each.value for each in Role}:
        raise RefusedClaims(REFUSED)
    return Role(role)

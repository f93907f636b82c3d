"""The credentials of a request: its apikey and its token.

This module checks signatures. `access/session.py` looks up whether a session or a user's API key is in force.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from access import request_state
from access.access_token import InvalidToken, TokenSigner
from access.refresh_token import RefreshTokens
from access.session import Credential, InvalidApiKey, KeyDigest, key_digest

# Apikey and signature depend on the request's headers alone, so they are cached. Expiry is checked for every request.
AUTHENTICATIONS_CACHED_MAX = 1_024
HEADER_CHARACTERS_CACHED_MAX = 2_048


@dataclass(frozen=True, slots=True)
class Authentication:
    """What a request is authenticated by.

    `credential` is None for the service key and for an anonymous request. `apikey` is a user's API key that stands in
    the apikey header beside another credential: it has to be in force, and decides nothing else.
    """

    credential: Credential | None
    is_anonymous: bool
    apikey: KeyDigest | None = None


class Authenticator:
    """The keys of an application. An application creates one from its configuration."""

    def __init__(self, signers: TokenSigner, anon_key: str | None, service_key: str | None, required: bool) -> None:
        self.signers = signers
        self.refresh_tokens = RefreshTokens(signers.signer.secret_keys)
        self.anon_key = anon_key
        self.service_key = service_key
        self.required = required
        self.authenticate_cached = lru_cache(maxsize=AUTHENTICATIONS_CACHED_MAX)(self.authenticate_uncached)

    def authenticate(self, apikey: str | None, authorization: str | None) -> Authentication:
        """Return the authentication of a request from its two headers. Faults are not cached.

        Raise InvalidApiKey, InvalidToken or RefusedClaims.
        """
        if len(apikey or "") + len(authorization or "") > HEADER_CHARACTERS_CACHED_MAX:
            return self.authenticate_uncached(apikey, authorization)
        return self.authenticate_cached(apikey, authorization)

    def authenticate_uncached(self, apikey: str | None, authorization: str | None) -> Authentication:
        """Return the same without the cache. The result depends on the headers and the keys alone."""
        token = bearer_token(authorization)
        bearer_key = key_digest(token) if token is not None else None
        key = None
        if apikey is not None or bearer_key is None:
            key = check_apikey(self, apikey)
        if token is None or self.is_anon(token):
            # The apikey alone: that of a user or the service key.
            is_anonymous = key is None and not self.is_service(apikey or "")
            return Authentication(key, is_anonymous)
        if self.is_service(token):
            return Authentication(None, False, key)
        if bearer_key is not None:
            return Authentication(bearer_key, False, key if key != bearer_key else None)
        return Authentication(self.signers.read(token), False, key)

    def is_service(self, secret: str) -> bool:
        """Return whether a secret is the service key."""
        return is_equal(secret, self.service_key)

    def is_anon(self, secret: str) -> bool:
        """Return whether a secret is the public key."""
        return is_equal(secret, self.anon_key)


def is_equal(secret: str, key: str | None) -> bool:
    """Return whether a secret is a key, in constant time. An absent key equals no secret."""
    if not key:
        return False
    return hmac.compare_digest(secret.encode("utf-8", "replace"), key.encode())


def authenticator() -> Authenticator:
    """Return the application's keys."""
    keys: Authenticator = request_state.application().extensions["walkthrough.authenticator"]
    return keys


def check_apikey(keys: Authenticator, apikey: str | None) -> KeyDigest | None:
    """Raise InvalidApiKey if the apikey is wrong, or if it is required and missing.

    Return a user's API key, which the caller of this function still has to look up.
    """
    if apikey is None:
        if keys.required:
            raise InvalidApiKey("No API key found in request", hint="No `apikey` request header was found.")
        return None
    # Both comparisons always run, so that the duration reveals nothing.
    if keys.is_anon(apikey) | keys.is_service(apikey):
        return None
    key = key_digest(apikey)
    if key is None:
        raise InvalidApiKey("Invalid API key", hint="Double check your API key.")
    return key


def bearer_token(header: str | None) -> str | None:
    """Return the bearer token of an Authorization header, or None."""
    if header is None:
        return None
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer":
        return None
    token = token.strip()
    if not token:
        raise InvalidToken("Empty JWT is sent in Authorization header")
    return token


def current_time() -> int:
    """Return the time in Unix seconds, by the application's clock."""
    clock: Callable[[], float] = request_state.application().extensions["walkthrough.clock"]
    return int(clock())

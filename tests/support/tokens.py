"""Access tokens signed with hmac, independent of the service's own signer."""

import base64
import hashlib
import hmac
import json
import time

SECRET_KEY = "tests-secret-key-of-more-than-32-bytes-0001"
ANON_KEY = "tests-anon-key-anybody-may-know-it-00000001"
SERVICE_KEY = "tests-service-key-of-more-than-32-bytes-001"

HOUR = 3600


def b64(raw: bytes) -> str:
    """Encode for the compact serialization: URL-safe base64 without padding.

    >>> b64(b"ab")
    'YWI'
    """
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def sign(claims: object, key: str = SECRET_KEY, alg: str = "HS256", **header: object) -> str:
    """Sign any JSON value as a compact JWT; `alg="none"` leaves the signature empty."""
    head = b64(json.dumps({"alg": alg, "typ": "JWT", **header}).encode())
    signed = f"{head}.{b64(json.dumps(claims).encode())}"
    if alg == "none":
        return signed + "."
    return f"{signed}.{b64(hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest())}"


def claims_of(user_id: str, role: str, client_id: int | None, **more: object) -> dict:
    """Return the claims of a valid token. `more` adds or replaces claims."""
    now = int(time.time())
    client = {} if client_id is None else {"client_id": client_id}
    return {"sub": user_id, "role": role, **client, "iat": now, "exp": now + HOUR, **more}


def token_for(user_id: str, role: str, client_id: int | None, **more: object) -> str:
    return sign(claims_of(user_id, role, client_id, **more))


def token_after_change(user_id: str, role: str, client_id: int | None) -> str:
    """Sign a token for a user whose role or client has just changed.

    The service refuses tokens older than the change, and `iat` counts whole seconds. This token is dated 2 s ahead,
    within the leeway of 5 s.
    """
    return token_for(user_id, role, client_id, iat=int(time.time()) + 2)

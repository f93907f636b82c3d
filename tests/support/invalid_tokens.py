"""Invalid tokens, made by hand: the defect of each kind, and the error code of its refusal."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable

from tests.conftest import ADA, BOB, MOE, ROOT, UNKNOWN_USER_ID
from tests.support.tokens import ANON_KEY, SECRET_KEY, SERVICE_KEY, b64, claims_of, sign


def root(**more: object) -> dict:
    return {**claims_of(ROOT, "super_admin", None), **more}


def ada(**more: object) -> dict:
    return {**claims_of(ADA, "client_admin", 1), **more}


def without(claim: str) -> dict:
    return {name: value for name, value in root().items() if name != claim}


def now() -> int:
    return int(time.time())


def sign_bytes(head: bytes, payload: bytes, key: str = SECRET_KEY) -> str:
    """Sign any bytes as the two parts of a token."""
    signed = f"{b64(head)}.{b64(payload)}"
    return f"{signed}.{b64(hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest())}"


HEAD = b'{"alg":"HS256","typ":"JWT"}'


def sign_payload(payload: str) -> str:
    return sign_bytes(HEAD, payload.encode())


def payload_text(**more: object) -> str:
    return json.dumps(root(**more))


def signed_with_hash(digest: str) -> str:
    """Return a token that is signed with another HMAC, as its header says."""
    head = b64(json.dumps({"alg": digest.upper().replace("SHA", "HS"), "typ": "JWT"}).encode())
    signed = f"{head}.{b64(payload_text().encode())}"
    return f"{signed}.{b64(hmac.new(SECRET_KEY.encode(), signed.encode(), digest).digest())}"


def change_part(token: str, place: int, change: Callable[[str], str]) -> str:
    parts = token.split(".")
    parts[place] = change(parts[place])
    return ".".join(parts)


def change_unused_bits(last: str) -> str:
    """Return the same bytes in base64url with other unused bits."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return last[:-1] + alphabet[alphabet.index(last[-1]) ^ 1]


MALFORMED, INVALID_CLAIM, UNAUTHENTICATED = "PGRST301", "PGRST303", "42501"
Kinds = dict[str, tuple[str, Callable[[], str]]]
# T02: the token does not choose the algorithm
T02: Kinds = {
    "alg-none": (MALFORMED, lambda: sign(root(), alg="none")),
    "alg-none-with-signature": (MALFORMED, lambda: sign_bytes(b'{"alg":"none"}', payload_text().encode())),
    "alg-nOnE": (MALFORMED, lambda: sign_bytes(b'{"alg":"nOnE"}', payload_text().encode())),
    "alg-empty": (MALFORMED, lambda: sign_bytes(b'{"alg":""}', payload_text().encode())),
    "alg-absent": (MALFORMED, lambda: sign_bytes(b'{"typ":"JWT"}', payload_text().encode())),
    "alg-null": (MALFORMED, lambda: sign_bytes(b'{"alg":null}', payload_text().encode())),
    "alg-a-list": (MALFORMED, lambda: sign_bytes(b'{"alg":["HS256"]}', payload_text().encode())),
    "alg-lower-case": (MALFORMED, lambda: sign(root(), alg="hs256")),
    "alg-HS384": (MALFORMED, lambda: signed_with_hash("sha384")),
    "alg-HS512": (MALFORMED, lambda: signed_with_hash("sha512")),
    "alg-HS384-our-hash": (MALFORMED, lambda: sign(root(), alg="HS384")),
    "alg-RS256": (MALFORMED, lambda: sign(root(), alg="RS256")),
    "alg-ES256": (MALFORMED, lambda: sign(root(), alg="ES256")),
}  # fmt: skip
# T03: form and signature
T03: Kinds = {
    "wrong-key": (MALFORMED, lambda: sign(root(), key="another-secret-key-of-more-than-32-bytes")),
    "anon-key-signs": (MALFORMED, lambda: sign(root(), key=ANON_KEY)),
    "service-key-signs": (MALFORMED, lambda: sign(root(), key=SERVICE_KEY)),
    "empty-key-signs": (MALFORMED, lambda: sign(root(), key="")),
    "signature-empty": (MALFORMED, lambda: change_part(sign(root()), 2, lambda last: "")),
    "signature-cut": (MALFORMED, lambda: change_part(sign(root()), 2, lambda last: last[:-4])),
    "signature-longer": (MALFORMED, lambda: change_part(sign(root()), 2, lambda last: last + "AAAA")),
    "signature-padded": (MALFORMED, lambda: sign(root()) + "="),
    "signature-respelled": (MALFORMED, lambda: change_part(sign(root()), 2, change_unused_bits)),
    "signature-standard-base64": (
        MALFORMED,
        lambda: change_part(sign(root()), 2, lambda last: last[:5] + "+/" + last[7:]),
    ),
    "signature-hex": (
        MALFORMED,
        lambda: change_part(
            sign(root()), 2, lambda last: base64.urlsafe_b64decode(last + "=").hex()
        ),
    ),
    "payload-swapped": (
        MALFORMED,
        lambda: change_part(sign(claims_of(MOE, "client_manager", 1)), 1, lambda _: b64(payload_text().encode())),
    ),
    "payload-padded": (MALFORMED, lambda: change_part(sign(root()), 1, lambda middle: middle + "=")),
    "header-swapped": (MALFORMED, lambda: change_part(sign(root()), 0, lambda _: b64(b'{"alg":"HS256"}'))),
    "one-part": (MALFORMED, lambda: sign(root()).split(".")[0]),
    "two-parts": (MALFORMED, lambda: sign(root()).rpartition(".")[0]),
    "four-parts": (MALFORMED, lambda: sign(root()) + ".x"),
    "five-parts-like-a-jwe": (MALFORMED, lambda: sign(root()) + ".x.y"),
    "five-thousand-parts": (MALFORMED, lambda: ".".join("a" * 3_000)),
    "two-dots": (MALFORMED, lambda: ".."),
    "leading-dot": (MALFORMED, lambda: "." + sign(root())),
    "text": (MALFORMED, lambda: "super_admin"),
    "header-no-json": (MALFORMED, lambda: sign_bytes(b"HS256", payload_text().encode())),
    "header-a-list": (MALFORMED, lambda: sign_bytes(b'["HS256"]', payload_text().encode())),
    "payload-no-json": (MALFORMED, lambda: sign_bytes(HEAD, b"sub=root")),
    "payload-no-utf-8": (MALFORMED, lambda: sign_bytes(HEAD, b'{"sub":"\xff"}')),
    "payload-utf-16": (MALFORMED, lambda: sign_bytes(HEAD, payload_text().encode("utf-16"))),
    "payload-utf-32-le": (MALFORMED, lambda: sign_bytes(HEAD, payload_text().encode("utf-32-le"))),
    "payload-byte-order-mark": (MALFORMED, lambda: sign_bytes(HEAD, payload_text().encode("utf-8-sig"))),
    "header-utf-16": (MALFORMED, lambda: sign_bytes(HEAD.decode().encode("utf-16-be"), payload_text().encode())),
    "header-byte-order-mark": (MALFORMED, lambda: sign_bytes(b"\xef\xbb\xbf" + HEAD, payload_text().encode())),
    "payload-nan": (MALFORMED, lambda: sign_payload('{"exp":NaN}')),
    "payload-deep": (MALFORMED, lambda: sign_bytes(HEAD, b"[" * 5_000)),
    "payload-long-number": (MALFORMED, lambda: sign_payload('{"exp":' + "9" * 4_500 + "}")),
    "over-8-KiB": (MALFORMED, lambda: sign(root(note="x" * 9_000))),
    "empty": (MALFORMED, lambda: ""),
    "refresh-token": (MALFORMED, lambda: "Rr5yLknITcC1YxV6RjthVAAAAAA~nS78_9Tk5PeNTgMIP8w8-zvRaAYaz468X7u0DvdBKx4"),
    "service-key-and-more": (MALFORMED, lambda: SERVICE_KEY + "x"),
    "service-key-cut": (MALFORMED, lambda: SERVICE_KEY[:-1]),
    "secret-key": (MALFORMED, lambda: SECRET_KEY),
}  # fmt: skip
# T04: times
T04: Kinds = {
    "expired-just-now": (INVALID_CLAIM, lambda: sign(root(exp=now()))),
    "expired-a-second-ago": (INVALID_CLAIM, lambda: sign(root(exp=now() - 1))),
    "expired-long-ago": (INVALID_CLAIM, lambda: sign(root(exp=1))),
    "exp-absent": (INVALID_CLAIM, lambda: sign(without("exp"))),
    "nbf-ahead": (INVALID_CLAIM, lambda: sign(root(nbf=now() + 7))),
    "iat-ahead": (INVALID_CLAIM, lambda: sign(root(iat=now() + 7))),
}  # fmt: skip
# T05: types
T05: Kinds = {
    "client-a-float": (INVALID_CLAIM, lambda: sign(ada(client_id=1.0))),
    "client-with-exponent": (INVALID_CLAIM, lambda: sign_payload(payload_text().replace("}", ', "client_id": 1e0}'))),
    "exp-text": (INVALID_CLAIM, lambda: sign(root(exp=str(now() + 60)))),
    "exp-true": (INVALID_CLAIM, lambda: sign(root(exp=True))),
    "exp-null": (INVALID_CLAIM, lambda: sign(root(exp=None))),
    "exp-list": (INVALID_CLAIM, lambda: sign(root(exp=[now() + 60]))),
    "exp-object": (INVALID_CLAIM, lambda: sign(root(exp={"$gt": 0}))),
    "exp-negative": (INVALID_CLAIM, lambda: sign(root(exp=-1))),
    "exp-infinite": (INVALID_CLAIM, lambda: sign_payload('{"exp":1e400}')),
    "exp-beyond-64-bits": (INVALID_CLAIM, lambda: sign(root(exp=2**64))),
    "iat-text": (INVALID_CLAIM, lambda: sign(root(iat="now"))),
    "nbf-text": (INVALID_CLAIM, lambda: sign(root(nbf="0"))),
    "sub-absent": (INVALID_CLAIM, lambda: sign(without("sub"))),
    "sub-null": (INVALID_CLAIM, lambda: sign(root(sub=None))),
    "sub-number": (INVALID_CLAIM, lambda: sign(root(sub=1))),
    "sub-list": (INVALID_CLAIM, lambda: sign(root(sub=[ROOT]))),
    "sub-no-uuid": (INVALID_CLAIM, lambda: sign(root(sub="root"))),
    "sub-sql": (INVALID_CLAIM, lambda: sign(root(sub=f"{ROOT}' or '1'='1"))),
    "sub-email": (INVALID_CLAIM, lambda: sign(root(sub="root@example.org"))),
    "role-absent": (INVALID_CLAIM, lambda: sign(without("role"))),
    "role-null": (INVALID_CLAIM, lambda: sign(root(role=None))),
    "role-list": (INVALID_CLAIM, lambda: sign(root(role=["super_admin"]))),
    "role-true": (INVALID_CLAIM, lambda: sign(root(role=True))),
    "role-unknown": (INVALID_CLAIM, lambda: sign(root(role="service_role"))),
    "role-postgres": (INVALID_CLAIM, lambda: sign(root(role="postgres"))),
    "role-upper-case": (INVALID_CLAIM, lambda: sign(root(role="SUPER_ADMIN"))),
    "role-with-space": (INVALID_CLAIM, lambda: sign(root(role="super_admin "))),
    "client-text": (INVALID_CLAIM, lambda: sign(ada(client_id="1"))),
    "client-true": (INVALID_CLAIM, lambda: sign(ada(client_id=True))),
    "client-list": (INVALID_CLAIM, lambda: sign(ada(client_id=[1]))),
    "session-number": (INVALID_CLAIM, lambda: sign(root(session_id=1))),
    "session-half-a-letter": (INVALID_CLAIM, lambda: sign(root(session_id="\ud800"))),
    "session-nul": (INVALID_CLAIM, lambda: sign(root(session_id="a\0b"))),
    "email-number": (INVALID_CLAIM, lambda: sign(root(email=5))),
    "email-list": (INVALID_CLAIM, lambda: sign(root(email=["root@acme.example"]))),
    "session-null": (INVALID_CLAIM, lambda: sign(root(session_id=None))),
    "aud-other": (INVALID_CLAIM, lambda: sign(root(aud="somewhere-else"))),
    "aud-list-of-others": (INVALID_CLAIM, lambda: sign(root(aud=["a", "b"]))),
    "aud-number": (INVALID_CLAIM, lambda: sign(root(aud=1))),
    "claims-a-list": (INVALID_CLAIM, lambda: sign([root()])),
    "claims-a-text": (INVALID_CLAIM, lambda: sign("root")),
    "claims-null": (INVALID_CLAIM, lambda: sign(None)),
    "claims-empty": (INVALID_CLAIM, lambda: sign({})),
    "role-twice": (INVALID_CLAIM, lambda: sign_payload(payload_text()[:-1] + ', "role": "client_admin"}')),
    "exp-twice": (INVALID_CLAIM, lambda: sign_payload('{"exp": 1, ' + payload_text()[1:])),
}  # fmt: skip
# T06: headers with a key or an extension of their own
T06: Kinds = {
    "crit": (MALFORMED, lambda: sign(root(), crit=["exp"])),
    "crit-empty": (MALFORMED, lambda: sign(root(), crit=[])),
    "jwk-of-ones-own": (
        MALFORMED,
        lambda: sign(root(), key="mine" * 9, jwk={"kty": "oct", "k": b64(b"mine" * 9)}),
    ),
    "jku-of-ones-own": (MALFORMED, lambda: sign(root(), key="mine" * 9, jku="https://evil.example")),
    "kid-path": (MALFORMED, lambda: sign(root(), key="", kid="../../dev/null")),
    "kid-sql": (MALFORMED, lambda: sign(root(), key="mine", kid="' union select 'mine")),
}  # fmt: skip
# T07: valid signature, wrong claims
T07: Kinds = {
    "user-unknown": (INVALID_CLAIM, lambda: sign(root(sub=UNKNOWN_USER_ID))),
    "role-of-another": (INVALID_CLAIM, lambda: sign(claims_of(MOE, "super_admin", None))),
    "role-of-another-own-client": (INVALID_CLAIM, lambda: sign(claims_of(MOE, "client_admin", 1))),
    "client-of-another": (INVALID_CLAIM, lambda: sign(claims_of(BOB, "client_admin", 1))),
    "client-absent": (INVALID_CLAIM, lambda: sign(claims_of(ADA, "client_admin", None))),
    "client-null": (INVALID_CLAIM, lambda: sign(ada(client_id=None))),
    "client-of-a-super-admin": (INVALID_CLAIM, lambda: sign(root(client_id=1))),
    "session-unknown": (INVALID_CLAIM, lambda: sign(root(session_id=UNKNOWN_USER_ID))),
    "session-empty": (INVALID_CLAIM, lambda: sign(root(session_id=""))),
}  # fmt: skip
# T08: a role in another place of the token
T08: Kinds = {
    "role-elsewhere": (
        INVALID_CLAIM,
        lambda: sign(
            claims_of(MOE, "authenticated", 1, app_metadata={"role": "super_admin"}, user_role=ROOT)
        ),
    ),
}  # fmt: skip
KINDS: Kinds = T02 | T03 | T04 | T05 | T06 | T07 | T08
HEADERS: dict[str, tuple[str, dict[str, str | None]]] = {
    # T01: no bearer, or no header that holds one
    "no-header": (UNAUTHENTICATED, {"Authorization": None}),
    "anon-key": (UNAUTHENTICATED, {"Authorization": f"Bearer {ANON_KEY}"}),
    "basic": (UNAUTHENTICATED, {"Authorization": "Basic cm9vdDpyb290"}),
    "digest": (UNAUTHENTICATED, {"Authorization": 'Digest username="root"'}),
    "token-only": (UNAUTHENTICATED, {"Authorization": sign(root())}),
    "cookie": (UNAUTHENTICATED, {"Authorization": None, "Cookie": f"access_token={sign(root())}"}),
    "other-header": (UNAUTHENTICATED, {"Authorization": None, "X-Authorization": f"Bearer {sign(root())}"}),
    "proxy-header": (UNAUTHENTICATED, {"Authorization": None, "Proxy-Authorization": f"Bearer {sign(root())}"}),
    "two-tokens": (MALFORMED, {"Authorization": f"Bearer {sign(root())}, Bearer {sign(root())}"}),
    "token-and-more": (MALFORMED, {"Authorization": f"Bearer {sign(root())} x"}),
    "quoted": (MALFORMED, {"Authorization": f'Bearer "{sign(root())}"'}),
    "no-break-space": (UNAUTHENTICATED, {"Authorization": f"Bearer\u00a0{sign(root())}"}),
    "non-ascii": (MALFORMED, {"Authorization": "Bearer é.é.é"}),
}

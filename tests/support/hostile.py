"""Invalid tokens, made by hand: the defect of each kind, and the error code of its refusal."""

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable

from tests.conftest import ADA, BOB, MOE, NO_ONE, ROOT
from tests.support.tokens import ANON_KEY, SECRET_KEY, SERVICE_KEY, b64, claims_of, sign


def root(**more: object) -> dict:
    return {**claims_of(ROOT, "super_admin", None), **more}


def ada(**more: object) -> dict:
    return {**claims_of(ADA, "client_admin", 1), **more}


def without(claim: str) -> dict:
    return {name: value for name, value in root().items() if name != claim}


def now() -> int:
    return int(time.time())


def raw(head: bytes, payload: bytes, key: str = SECRET_KEY) -> str:
    """Sign any bytes as the two parts of a token."""
    signed = f"{b64(head)}.{b64(payload)}"
    return f"{signed}.{b64(hmac.new(key.encode(), signed.encode(), hashlib.sha256).digest())}"


HEAD = b'{"alg":"HS256","typ":"JWT"}'


def signed_as(payload: str) -> str:
    return raw(HEAD, payload.encode())


def text_of(**more: object) -> str:
    return json.dumps(root(**more))


def with_hash(digest: str) -> str:
    """Return a token that is signed with another HMAC, as its header says."""
    head = b64(json.dumps({"alg": digest.upper().replace("SHA", "HS"), "typ": "JWT"}).encode())
    signed = f"{head}.{b64(text_of().encode())}"
    return f"{signed}.{b64(hmac.new(SECRET_KEY.encode(), signed.encode(), digest).digest())}"


def part(token: str, place: int, change: Callable[[str], str]) -> str:
    parts = token.split(".")
    parts[place] = change(parts[place])
    return ".".join(parts)


def other_spelling(last: str) -> str:
    """Return the same bytes in base64url with other unused bits."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return last[:-1] + alphabet[alphabet.index(last[-1]) ^ 1]


FORM, CLAIM, NOBODY = "PGRST301", "PGRST303", "42501"
Kinds = dict[str, tuple[str, Callable[[], str]]]
# T02: the token does not choose the algorithm
T02: Kinds = {
    "alg-none": (FORM, lambda: sign(root(), alg="none")),
    "alg-none-with-signature": (FORM, lambda: raw(b'{"alg":"none"}', text_of().encode())),
    "alg-nOnE": (FORM, lambda: raw(b'{"alg":"nOnE"}', text_of().encode())),
    "alg-empty": (FORM, lambda: raw(b'{"alg":""}', text_of().encode())),
    "alg-absent": (FORM, lambda: raw(b'{"typ":"JWT"}', text_of().encode())),
    "alg-null": (FORM, lambda: raw(b'{"alg":null}', text_of().encode())),
    "alg-a-list": (FORM, lambda: raw(b'{"alg":["HS256"]}', text_of().encode())),
    "alg-lower-case": (FORM, lambda: sign(root(), alg="hs256")),
    "alg-HS384": (FORM, lambda: with_hash("sha384")),
    "alg-HS512": (FORM, lambda: with_hash("sha512")),
    "alg-HS384-our-hash": (FORM, lambda: sign(root(), alg="HS384")),
    "alg-RS256": (FORM, lambda: sign(root(), alg="RS256")),
    "alg-ES256": (FORM, lambda: sign(root(), alg="ES256")),
}  # fmt: skip
# T03: form and signature
T03: Kinds = {
    "wrong-key": (FORM, lambda: sign(root(), key="another-secret-key-of-more-than-32-bytes")),
    "anon-key-signs": (FORM, lambda: sign(root(), key=ANON_KEY)),
    "service-key-signs": (FORM, lambda: sign(root(), key=SERVICE_KEY)),
    "empty-key-signs": (FORM, lambda: sign(root(), key="")),
    "signature-empty": (FORM, lambda: part(sign(root()), 2, lambda last: "")),
    "signature-cut": (FORM, lambda: part(sign(root()), 2, lambda last: last[:-4])),
    "signature-longer": (FORM, lambda: part(sign(root()), 2, lambda last: last + "AAAA")),
    "signature-padded": (FORM, lambda: sign(root()) + "="),
    "signature-respelled": (FORM, lambda: part(sign(root()), 2, other_spelling)),
    "signature-standard-base64": (
        FORM,
        lambda: part(sign(root()), 2, lambda last: last[:5] + "+/" + last[7:]),
    ),
    "signature-hex": (
        FORM,
        lambda: part(
            sign(root()), 2, lambda last: base64.urlsafe_b64decode(last + "=").hex()
        ),
    ),
    "payload-swapped": (
        FORM,
        lambda: part(sign(claims_of(MOE, "client_manager", 1)), 1, lambda _: b64(text_of().encode())),
    ),
    "payload-padded": (FORM, lambda: part(sign(root()), 1, lambda middle: middle + "=")),
    "header-swapped": (FORM, lambda: part(sign(root()), 0, lambda _: b64(b'{"alg":"HS256"}'))),
    "one-part": (FORM, lambda: sign(root()).split(".")[0]),
    "two-parts": (FORM, lambda: sign(root()).rpartition(".")[0]),
    "four-parts": (FORM, lambda: sign(root()) + ".x"),
    "five-parts-like-a-jwe": (FORM, lambda: sign(root()) + ".x.y"),
    "five-thousand-parts": (FORM, lambda: ".".join("a" * 3_000)),
    "two-dots": (FORM, lambda: ".."),
    "leading-dot": (FORM, lambda: "." + sign(root())),
    "text": (FORM, lambda: "super_admin"),
    "header-no-json": (FORM, lambda: raw(b"HS256", text_of().encode())),
    "header-a-list": (FORM, lambda: raw(b'["HS256"]', text_of().encode())),
    "payload-no-json": (FORM, lambda: raw(HEAD, b"sub=root")),
    "payload-no-utf-8": (FORM, lambda: raw(HEAD, b'{"sub":"\xff"}')),
    "payload-nan": (FORM, lambda: signed_as('{"exp":NaN}')),
    "payload-deep": (FORM, lambda: raw(HEAD, b"[" * 5_000)),
    "payload-long-number": (FORM, lambda: signed_as('{"exp":' + "9" * 4_500 + "}")),
    "over-8-KiB": (FORM, lambda: sign(root(note="x" * 9_000))),
    "empty": (FORM, lambda: ""),
    "refresh-token": (FORM, lambda: "Rr5yLknITcC1YxV6RjthVAAAAAA~nS78_9Tk5PeNTgMIP8w8-zvRaAYaz468X7u0DvdBKx4"),
    "service-key-and-more": (FORM, lambda: SERVICE_KEY + "x"),
    "service-key-cut": (FORM, lambda: SERVICE_KEY[:-1]),
    "secret-key": (FORM, lambda: SECRET_KEY),
}  # fmt: skip
# T04: times
T04: Kinds = {
    "expired-just-now": (CLAIM, lambda: sign(root(exp=now()))),
    "expired-a-second-ago": (CLAIM, lambda: sign(root(exp=now() - 1))),
    "expired-long-ago": (CLAIM, lambda: sign(root(exp=1))),
    "exp-absent": (CLAIM, lambda: sign(without("exp"))),
    "nbf-ahead": (CLAIM, lambda: sign(root(nbf=now() + 7))),
    "iat-ahead": (CLAIM, lambda: sign(root(iat=now() + 7))),
}  # fmt: skip
# T05: types
T05: Kinds = {
    "exp-text": (CLAIM, lambda: sign(root(exp=str(now() + 60)))),
    "exp-true": (CLAIM, lambda: sign(root(exp=True))),
    "exp-null": (CLAIM, lambda: sign(root(exp=None))),
    "exp-list": (CLAIM, lambda: sign(root(exp=[now() + 60]))),
    "exp-object": (CLAIM, lambda: sign(root(exp={"$gt": 0}))),
    "exp-negative": (CLAIM, lambda: sign(root(exp=-1))),
    "exp-infinite": (CLAIM, lambda: signed_as('{"exp":1e400}')),
    "exp-beyond-64-bits": (CLAIM, lambda: sign(root(exp=2**64))),
    "iat-text": (CLAIM, lambda: sign(root(iat="now"))),
    "nbf-text": (CLAIM, lambda: sign(root(nbf="0"))),
    "sub-absent": (CLAIM, lambda: sign(without("sub"))),
    "sub-null": (CLAIM, lambda: sign(root(sub=None))),
    "sub-number": (CLAIM, lambda: sign(root(sub=1))),
    "sub-list": (CLAIM, lambda: sign(root(sub=[ROOT]))),
    "sub-no-uuid": (CLAIM, lambda: sign(root(sub="root"))),
    "sub-sql": (CLAIM, lambda: sign(root(sub=f"{ROOT}' or '1'='1"))),
    "sub-email": (CLAIM, lambda: sign(root(sub="root@example.org"))),
    "role-absent": (CLAIM, lambda: sign(without("role"))),
    "role-null": (CLAIM, lambda: sign(root(role=None))),
    "role-list": (CLAIM, lambda: sign(root(role=["super_admin"]))),
    "role-true": (CLAIM, lambda: sign(root(role=True))),
    "role-unknown": (CLAIM, lambda: sign(root(role="service_role"))),
    "role-postgres": (CLAIM, lambda: sign(root(role="postgres"))),
    "role-upper-case": (CLAIM, lambda: sign(root(role="SUPER_ADMIN"))),
    "role-with-space": (CLAIM, lambda: sign(root(role="super_admin "))),
    "client-text": (CLAIM, lambda: sign(ada(client_id="1"))),
    "client-true": (CLAIM, lambda: sign(ada(client_id=True))),
    "client-list": (CLAIM, lambda: sign(ada(client_id=[1]))),
    "session-number": (CLAIM, lambda: sign(root(session_id=1))),
    "session-half-a-letter": (CLAIM, lambda: sign(root(session_id="\ud800"))),
    "session-nul": (CLAIM, lambda: sign(root(session_id="a\0b"))),
    "email-number": (CLAIM, lambda: sign(root(email=5))),
    "email-list": (CLAIM, lambda: sign(root(email=["root@acme.example"]))),
    "session-null": (CLAIM, lambda: sign(root(session_id=None))),
    "aud-other": (CLAIM, lambda: sign(root(aud="somewhere-else"))),
    "aud-list-of-others": (CLAIM, lambda: sign(root(aud=["a", "b"]))),
    "aud-number": (CLAIM, lambda: sign(root(aud=1))),
    "claims-a-list": (CLAIM, lambda: sign([root()])),
    "claims-a-text": (CLAIM, lambda: sign("root")),
    "claims-null": (CLAIM, lambda: sign(None)),
    "claims-empty": (CLAIM, lambda: sign({})),
    "role-twice": (CLAIM, lambda: signed_as(text_of()[:-1] + ', "role": "client_admin"}')),
    "exp-twice": (CLAIM, lambda: signed_as('{"exp": 1, ' + text_of()[1:])),
}  # fmt: skip
# T06: headers with a key or an extension of their own
T06: Kinds = {
    "crit": (FORM, lambda: sign(root(), crit=["exp"])),
    "crit-empty": (FORM, lambda: sign(root(), crit=[])),
    "jwk-of-ones-own": (
        FORM,
        lambda: sign(root(), key="mine" * 9, jwk={"kty": "oct", "k": b64(b"mine" * 9)}),
    ),
    "jku-of-ones-own": (FORM, lambda: sign(root(), key="mine" * 9, jku="https://evil.example")),
    "kid-path": (FORM, lambda: sign(root(), key="", kid="../../dev/null")),
    "kid-sql": (FORM, lambda: sign(root(), key="mine", kid="' union select 'mine")),
}  # fmt: skip
# T07: valid signature, wrong claims
T07: Kinds = {
    "user-unknown": (CLAIM, lambda: sign(root(sub=NO_ONE))),
    "role-of-another": (CLAIM, lambda: sign(claims_of(MOE, "super_admin", None))),
    "role-of-another-own-client": (CLAIM, lambda: sign(claims_of(MOE, "client_admin", 1))),
    "client-of-another": (CLAIM, lambda: sign(claims_of(BOB, "client_admin", 1))),
    "client-absent": (CLAIM, lambda: sign(claims_of(ADA, "client_admin", None))),
    "client-null": (CLAIM, lambda: sign(ada(client_id=None))),
    "client-of-a-super-admin": (CLAIM, lambda: sign(root(client_id=1))),
    "session-unknown": (CLAIM, lambda: sign(root(session_id=NO_ONE))),
    "session-empty": (CLAIM, lambda: sign(root(session_id=""))),
}  # fmt: skip
# T08: a role in another place of the token
T08: Kinds = {
    "role-elsewhere": (
        CLAIM,
        lambda: sign(
            claims_of(MOE, "authenticated", 1, app_metadata={"role": "super_admin"}, user_role=ROOT)
        ),
    ),
}  # fmt: skip
KINDS: Kinds = T02 | T03 | T04 | T05 | T06 | T07 | T08
HEADERS: dict[str, tuple[str, dict[str, str | None]]] = {
    # T01: no bearer, or no header that holds one
    "no-header": (NOBODY, {"Authorization": None}),
    "anon-key": (NOBODY, {"Authorization": f"Bearer {ANON_KEY}"}),
    "basic": (NOBODY, {"Authorization": "Basic cm9vdDpyb290"}),
    "digest": (NOBODY, {"Authorization": 'Digest username="root"'}),
    "token-only": (NOBODY, {"Authorization": sign(root())}),
    "cookie": (NOBODY, {"Authorization": None, "Cookie": f"access_token={sign(root())}"}),
    "other-header": (NOBODY, {"Authorization": None, "X-Authorization": f"Bearer {sign(root())}"}),
    "proxy-header": (NOBODY, {"Authorization": None, "Proxy-Authorization": f"Bearer {sign(root())}"}),
    "two-tokens": (FORM, {"Authorization": f"Bearer {sign(root())}, Bearer {sign(root())}"}),
    "token-and-more": (FORM, {"Authorization": f"Bearer {sign(root())} x"}),
    "quoted": (FORM, {"Authorization": f'Bearer "{sign(root())}"'}),
    "no-break-space": (NOBODY, {"Authorization": f"Bearer\u00a0{sign(root())}"}),
    "non-ascii": (FORM, {"Authorization": "Bearer é.é.é"}),
}

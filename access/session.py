"""The credentials of a request, the caller whom they name, and refresh tokens.

`Authenticator` checks apikey and signature. The look-ups then read the user as of now, by one statement that uses an
index. A look-up's result is cached until the next commit. The same error text refuses deleted users, disabled users,
ended sessions, and tokens of another role or client. The sign-in routes distinguish these cases by the fault's class.
One error refuses every API key that is not in force. A refresh token is a session's id, a counter, and a MAC over both
and the session's salt. The database stores no token: neither a copy of the database nor a leaked key alone is enough to
make one. Any key of the list verifies, and the newest signs. `flask.request.path` resolves two proxies in four
functions: 2.5 us of a point read's 250 us, two dozen times. Code on the path of every request calls the functions here
instead.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import hmac
import re
import struct
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Any

import flask
import sqlalchemy as sa
from flask import Flask, Request
from itsdangerous import Signer

from access.access_token import REFUSED, Claims, InvalidToken, RefusedClaims, TokenSigner
from access.caller import Caller
from access.policy import INSPECTOR_ROLE
from access.predicates import GRANT_TABLES, OWN_VISIT_DAYS
from access.roles import GrantKind, GrantProfile, Role, grant_profile
from engine.interface.database import ReplicationPositions, Transaction, last_entry_of, last_rights
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import UNRESTRICTED, Binding, Statement, compile_statement, parameter
from engine.rows import read_rows
from models.building import Building
from models.credential import API_KEY, CREDENTIALS, SESSIONS, TOKEN_USES, TOKENS
from models.inspector import Inspector
from models.types import Fault
from models.user import User


class UserGone(RefusedClaims):
    """The token's user does not exist."""


class UserDisabled(RefusedClaims):
    """The token's user is disabled."""


class SessionGone(RefusedClaims):
    """The token's session has ended, or a token without a session was issued before a global sign-out."""


class InvalidApiKey(Fault, code="PGRST302"):
    """A request without an apikey, or with one that is unknown or no longer in force."""


TOKEN_PREFIXES = dict(zip(TOKEN_USES, ("wt_", "wtc_", "wtk_"), strict=True))
"""The prefix of long-lived tokens by use. It makes leaked tokens recognizable."""
KEY_TEXT = re.compile(TOKEN_PREFIXES[API_KEY] + "[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class KeyDigest:
    """The digest of a long-lived token. The database stores it in place of the secret. No other use has the token."""

    text: str
    use: str


@dataclass(frozen=True, slots=True)
class KeyId:
    """The id of a user's API key, which what was made with the key carries."""

    text: str


Credential = Claims | KeyDigest
"""What names the user of a request."""

SESSION_SECONDS = 30 * 24 * 3_600
"""How long a session lasts after its last use."""

UserColumns = tuple[str, int | None, int | None, int | None, int | None, int | None, bool, bool, bool]
"""Role, client, disabled until, tokens valid since, and whether the password is temporary. Then when the session was
last used, whether the user holds building grants and inspection grants, and whether they are linked to an inspector."""
USER_COLUMNS = 9
LookUp = tuple[UserColumns, ReplicationPositions | None]
"""The user, and on a server with standbys the positions of the snapshot."""


@cache
def lookup_statement(database: str, role: Role, with_positions: bool) -> Statement:
    """Return the statement for the columns of one user, and with `with_positions` those of the snapshot's positions."""
    user = User.__table__
    user_id = parameter("caller_id", user.c.id.type)
    session_used_at = (
        sa.select(SESSIONS.c.last_used_at)
        .where(SESSIONS.c.id == parameter("session_id"), SESSIONS.c.user_id == user.c.id)
        .scalar_subquery()
    )
    statement = (
        sa.select(
            user.c.role,
            user.c.client_id,
            CREDENTIALS.c.disabled_until,
            CREDENTIALS.c.tokens_since,
            CREDENTIALS.c.is_temporary,
            session_used_at,
            holds_grant(role, GrantKind.BUILDING, user),
            holds_grant(role, GrantKind.INSPECTION, user),
            is_inspector(role, user),
            *((last_entry_of(user_id), last_rights()) if with_positions else ()),
        )
        .select_from(user.outerjoin(CREDENTIALS, CREDENTIALS.c.user_id == user.c.id))
        .where(user.c.id == user_id)
    )
    return compile_statement(statement, DIALECTS[database].sa_dialect)


def holds_grant(role: Role, kind: GrantKind, user: sa.FromClause) -> sa.ColumnElement[bool]:
    """Return the condition that a user of the role holds a grant on a row that they do not read without it."""
    grants = GRANT_TABLES.get((role, kind))
    if grants is None:
        return sa.false()
    grant = grants.model.__table__.alias("held")
    held = sa.exists().where(grant.c[grants.grantee] == user.c.id).select_from(grant)
    if grants.ignore_own_client:
        building = Building.__table__.alias("held_building")
        # A scalar subquery costs a quarter less than a join, and no planner starts it from the buildings.
        owner = sa.select(building.c.client_id).where(building.c.id == grant.c[grants.target])
        held = held.where(owner.scalar_subquery() != user.c.client_id)
    return held


def is_inspector(role: Role, user: sa.FromClause) -> sa.ColumnElement[bool]:
    """Return the condition that an inspector is linked to a user of the role. The link counts for managers only."""
    if role is not INSPECTOR_ROLE:
        return sa.false()
    inspector = Inspector.__table__.alias("linked")
    return sa.exists().where(inspector.c.user_id == user.c.id).select_from(inspector)


def visits_since(transaction: Transaction, profile: GrantProfile) -> str | None:
    """Return the first day whose visits a linked inspector reads."""
    if not profile.is_inspector:
        return None
    return (transaction.today - datetime.timedelta(days=OWN_VISIT_DAYS)).isoformat()


def look_up_caller(transaction: Transaction, claims: Claims) -> Caller:
    """Return the caller of verified claims; raise RefusedClaims if the claims no longer hold."""
    result: LookUp | None = transaction.cached(
        ("caller", claims.role, claims.user_id, claims.session_id), partial(read_user, transaction, claims)
    )
    if result is None:
        raise UserGone(REFUSED)
    columns, positions = result
    role, client_id, disabled_until, tokens_since, is_temporary, session_used_at, *rights = columns
    buildings, inspections, linked = rights
    set_positions(transaction, positions, is_inspector=bool(linked))
    if (disabled_until or 0) > transaction.unix:
        raise UserDisabled(REFUSED)
    if claims.session_id is None:
        is_current = is_issued_since(claims, tokens_since)
    else:
        is_current = session_used_at is not None and session_used_at + SESSION_SECONDS > transaction.unix
    if not is_current:
        raise SessionGone(REFUSED)
    if role != claims.role.value or client_id != claims.client_id:
        raise RefusedClaims(REFUSED)
    profile = grant_profile(claims.role, bool(buildings), bool(inspections), bool(linked))
    return Caller(
        claims.user_id,
        client_id,
        profile,
        claims.session_id,
        visits_since=visits_since(transaction, profile),
        has_temporary_password=bool(is_temporary),
    )


def set_positions(transaction: Transaction, positions: ReplicationPositions | None, *, is_inspector: bool) -> None:
    """Set the positions that a hot standby has to reach. None serves an inspector: any visit changes their rights."""
    transaction.positions = positions
    if is_inspector:
        transaction.reports_positions = False


def key_digest(text: str) -> KeyDigest | None:
    """Return the digest of an API key, or None for other text."""
    return None if KEY_TEXT.fullmatch(text) is None else token_digest(text, API_KEY)


def token_digest(text: str, use: str) -> KeyDigest:
    """Return the digest of a long-lived token.

    A token has 256 random bits and needs neither salt nor slow hash. The look-up compares digests, so its duration
    reveals nothing about a token.
    """
    return KeyDigest(hashlib.sha256(text.encode("utf-8", "replace")).hexdigest(), use)


def look_up_key(transaction: Transaction, key: KeyDigest | KeyId) -> Caller:
    """Return the caller of a long-lived token; raise InvalidApiKey if it is not in force."""
    row, positions = transaction.cached(("api_key", key), partial(read_key, transaction, key))
    if row is None:
        raise invalid_key()
    key_id, is_read_only, created_at, expires_at, user_id, role, client_id, tokens_since, *more = row
    disabled_until, creator_disabled_until, buildings, inspections, linked = more
    set_positions(transaction, positions, is_inspector=bool(linked))
    is_suspended = max(disabled_until or 0, creator_disabled_until or 0) > transaction.unix
    if is_suspended or created_at < (tokens_since or 0):
        raise invalid_key()
    if expires_at is not None and expires_at <= transaction.unix:
        raise invalid_key()
    profile = grant_profile(Role(role), bool(buildings), bool(inspections), bool(linked))
    since = visits_since(transaction, profile)
    return Caller(str(user_id), client_id, profile, None, str(key_id), bool(is_read_only), since)


def invalid_key() -> InvalidApiKey:
    return InvalidApiKey("Invalid API key", hint="The key is unknown, has expired or was revoked.")


def read_key(
    transaction: Transaction, key: KeyDigest | KeyId
) -> tuple[tuple[Any, ...] | None, ReplicationPositions | None]:
    """Return the key with its user as of this snapshot, or None."""
    with_positions = transaction.reports_positions
    use = key.use if isinstance(key, KeyDigest) else None
    statement = key_statement(transaction.dialect.name, use is None, with_positions)
    row = transaction.one(statement.sql, statement.bind(Binding(parameters={"text": key.text, "use": use})))
    if row is None:
        return None, None
    return tuple(row[:13]), ReplicationPositions(*row[13:]) if with_positions else None


@cache
def key_statement(database: str, by_id: bool, with_positions: bool) -> Statement:
    """Return the statement for the token with an id, or with a use and a digest, and for the columns of its user."""
    user, creator = User.__table__, CREDENTIALS.alias("creator")

    def by_role(condition: Callable[[Role], sa.ColumnElement[bool]]) -> sa.ColumnElement[bool]:
        return sa.case(*((user.c.role == role.value, condition(role)) for role in Role), else_=sa.false())

    statement = (
        sa.select(
            TOKENS.c.id,
            TOKENS.c.read_only,
            TOKENS.c.created_at,
            TOKENS.c.expires_at,
            user.c.id,
            user.c.role,
            user.c.client_id,
            CREDENTIALS.c.tokens_since,
            CREDENTIALS.c.disabled_until,
            creator.c.disabled_until,
            by_role(lambda role: holds_grant(role, GrantKind.BUILDING, user)),
            by_role(lambda role: holds_grant(role, GrantKind.INSPECTION, user)),
            by_role(lambda role: is_inspector(role, user)),
            *((last_entry_of(user.c.id), last_rights()) if with_positions else ()),
        )
        .select_from(
            TOKENS.join(user, user.c.id == TOKENS.c.user_id)
            .outerjoin(CREDENTIALS, CREDENTIALS.c.user_id == user.c.id)
            .outerjoin(creator, creator.c.user_id == TOKENS.c.created_by)
        )
        .where(
            TOKENS.c.id == parameter("text")
            if by_id
            else sa.and_(TOKENS.c.digest == parameter("text"), TOKENS.c.use == parameter("use"))
        )
    )
    return compile_statement(statement, DIALECTS[database].sa_dialect)


def read_user(transaction: Transaction, claims: Claims) -> LookUp | None:
    """Return the user as of this snapshot, or None."""
    with_positions = transaction.reports_positions
    statement = lookup_statement(transaction.dialect.name, claims.role, with_positions)
    values = {"caller_id": claims.user_id, "session_id": claims.session_id}
    row = transaction.one(statement.sql, statement.bind(Binding(parameters=values)))
    if row is None:
        return None
    columns: UserColumns = tuple(row[:USER_COLUMNS])
    return columns, ReplicationPositions(*row[USER_COLUMNS:]) if with_positions else None


def is_issued_since(claims: Claims, tokens_since: int | None) -> bool:
    """Return whether a token without a session was issued after the last global sign-out."""
    if not tokens_since:
        return True
    return claims.issued_at is not None and claims.issued_at >= tokens_since


def caller_of_user(transaction: Transaction, user_id: str) -> Caller | None:
    """Return a user as a caller, with a profile that holds every kind of grant and may be an inspector's.

    Return None if there is no such user.
    """
    user = read_person(transaction, user_id)
    if user is None:
        return None
    profile = full_profile(Role(user["role"]))
    return Caller(user_id, user["client_id"], profile, visits_since=visits_since(transaction, profile))


def full_profile(role: Role) -> GrantProfile:
    """Return the profile of a role that holds every kind of grant and may be an inspector's."""
    return grant_profile(role, True, True, role is INSPECTOR_ROLE)


def read_person(transaction: Transaction, user_id: str) -> dict[str, Any] | None:
    """Return the role and the client of a user, or None."""
    return next(iter(read_rows(transaction, UNRESTRICTED, "users", ("role", "client_id"), id=user_id)), None)


application: Callable[[], Flask] = flask.current_app._get_current_object  # type: ignore[attr-defined]
"""Return the current application."""

request: Callable[[], Request] = flask.request._get_current_object  # type: ignore[attr-defined]
"""Return the current request."""

state: Callable[[], Any] = flask.g._get_current_object
"""Return the state of the current request (Flask's `g`): its start time, its caller, its claims."""


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
    keys: Authenticator = application().extensions["walkthrough.authenticator"]
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
    clock: Callable[[], float] = application().extensions["walkthrough.clock"]
    return int(clock())

"""Look up the caller of verified claims or of an API key: the user as of now, by one statement that uses an index.

The result is cached until the next commit. The same error text refuses deleted users, disabled users, ended sessions,
and tokens of another role or client. The sign-in routes distinguish these cases by the fault's class. One error refuses
every API key that is not in force.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import sqlalchemy as sa

from access.access_token import REFUSED, Claims, RefusedClaims
from access.caller import Caller
from access.policy import INSPECTOR_ROLE
from access.predicates import GRANT_TABLES, VISIT_DAYS
from access.roles import GrantKind, GrantProfile, Role, grant_profile
from engine.interface.transaction import ReplicationPositions, Transaction, last_entry_of, last_rights
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding, Statement, compile_statement, parameter
from models.building import Building
from models.credential import API_KEYS, CREDENTIALS, SESSIONS
from models.errors import Fault
from models.inspector import Inspector
from models.types import Bound
from models.user import User


class UserGone(RefusedClaims):
    """The token's user does not exist."""


class UserDisabled(RefusedClaims):
    """The token's user is disabled."""


class SessionGone(RefusedClaims):
    """The token's session has ended, or a token without a session was issued before a global sign-out."""


class InvalidApiKey(Fault):
    """A request without an apikey, or with one that is unknown or no longer in force."""


KEY_PREFIX = "wt_"
"""The prefix of users' API keys. It makes leaked keys recognizable."""
KEY_TEXT = re.compile(KEY_PREFIX + "[A-Za-z0-9_-]{43}")
CALENDAR_PREFIX = "wtc_"
"""The prefix of the tokens of calendar links."""
CALENDAR_DIGEST = "calendar:"


@dataclass(frozen=True, slots=True)
class KeyDigest:
    """The digest of a user's API key or calendar link. The database stores it in place of the secret."""

    text: str


Credential = Claims | KeyDigest
"""What names the user of a request."""

UserColumns = tuple[str, int | None, int | None, int | None, bool, bool, bool, bool]
"""Role, client, disabled until and tokens valid since. Then whether the session exists, whether the user holds building
grants and inspection grants, and whether they are linked to an inspector."""
LookUp = tuple[UserColumns, ReplicationPositions | None]
"""The user, and on a server with standbys the positions of the snapshot."""


@cache
def lookup_statement(database: str, role: Role, with_positions: bool) -> Statement:
    """Return the statement for the columns of one user, and with `with_positions` those of the snapshot's positions."""
    user = User.__table__
    user_id = parameter("caller_id", user.c.id.type)
    session = (
        sa.exists()
        .where(SESSIONS.c.id == parameter("session_id"), SESSIONS.c.user_id == user.c.id)
        .select_from(SESSIONS)
    )
    statement = (
        sa.select(
            user.c.role,
            user.c.client_id,
            CREDENTIALS.c.disabled_until,
            CREDENTIALS.c.tokens_since,
            session,
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
    return (transaction.today - datetime.timedelta(days=VISIT_DAYS)).isoformat()


def look_up_caller(transaction: Transaction, claims: Claims) -> Caller:
    """Return the caller of verified claims; raise RefusedClaims if the claims no longer hold."""
    result: LookUp | None = transaction.cached(
        ("caller", claims.role, claims.user_id, claims.session_id), partial(read_user, transaction, claims)
    )
    if result is None:
        raise UserGone(REFUSED)
    columns, positions = result
    role, client_id, disabled_until, tokens_since, has_session, buildings, inspections, linked = columns
    set_positions(transaction, positions, is_inspector=bool(linked))
    if (disabled_until or 0) > transaction.unix:
        raise UserDisabled(REFUSED)
    is_current = has_session if claims.session_id is not None else is_issued_since(claims, tokens_since)
    if not is_current:
        raise SessionGone(REFUSED)
    if role != claims.role.value or client_id != claims.client_id:
        raise RefusedClaims(REFUSED)
    profile = grant_profile(claims.role, bool(buildings), bool(inspections), bool(linked))
    return Caller(
        claims.user_id, client_id, profile, claims.session_id, visits_since=visits_since(transaction, profile)
    )


def set_positions(transaction: Transaction, positions: ReplicationPositions | None, *, is_inspector: bool) -> None:
    """Set the positions that a hot standby has to reach. None serves an inspector: any visit changes their rights."""
    transaction.positions = positions
    if is_inspector:
        transaction.reports_positions = False


def key_digest(text: str) -> KeyDigest | None:
    """Return the digest of an API key, or None for other text.

    A key has 256 random bits and needs neither salt nor slow hash. The look-up compares digests, so its duration
    reveals nothing about a key.
    """
    if KEY_TEXT.fullmatch(text) is None:
        return None
    return KeyDigest(hashlib.sha256(text.encode()).hexdigest())


def calendar_digest(token: str) -> KeyDigest:
    """Return the digest of a calendar link's token. Its prefix keeps it apart from the digests of API keys.

    So the token opens nothing else, and no API key opens a calendar.
    """
    return KeyDigest(CALENDAR_DIGEST + hashlib.sha256(token.encode("utf-8", "replace")).hexdigest())


def look_up_key(transaction: Transaction, key: KeyDigest) -> Caller:
    """Return the caller of an API key or a calendar link; raise InvalidApiKey if it is not in force."""
    row, positions = transaction.cached(("api_key", key.text), partial(read_key, transaction, key))
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


def read_key(transaction: Transaction, key: KeyDigest) -> tuple[tuple[Any, ...] | None, ReplicationPositions | None]:
    """Return the key with its user as of this snapshot, or None."""
    with_positions = transaction.reports_positions
    statement = key_statement(transaction.dialect.name, with_positions)
    row = transaction.one_verified_later(statement.sql, statement.bind(Binding(parameters={"digest": key.text})))
    if row is None:
        return None, None
    return tuple(row[:13]), ReplicationPositions(*row[13:]) if with_positions else None


@cache
def key_statement(database: str, with_positions: bool) -> Statement:
    """Return the statement for an API key and the columns of its user, as in `lookup_statement`."""
    user, creator = User.__table__, CREDENTIALS.alias("creator")

    def by_role(condition: Callable[[Role], sa.ColumnElement[bool]]) -> sa.ColumnElement[bool]:
        return sa.case(*((user.c.role == role.value, condition(role)) for role in Role), else_=sa.false())

    statement = (
        sa.select(
            API_KEYS.c.id,
            API_KEYS.c.read_only,
            API_KEYS.c.created_at,
            API_KEYS.c.expires_at,
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
            API_KEYS.join(user, user.c.id == API_KEYS.c.user_id)
            .outerjoin(CREDENTIALS, CREDENTIALS.c.user_id == user.c.id)
            .outerjoin(creator, creator.c.user_id == API_KEYS.c.created_by)
        )
        .where(API_KEYS.c.digest == parameter("digest"))
    )
    return compile_statement(statement, DIALECTS[database].sa_dialect)


def read_user(transaction: Transaction, claims: Claims) -> LookUp | None:
    """Return the user as of this snapshot, or None."""
    with_positions = transaction.reports_positions
    statement = lookup_statement(transaction.dialect.name, claims.role, with_positions)
    values = parameters(statement, claims.user_id, claims.session_id)
    row = transaction.one_verified_later(statement.sql, values)
    if row is None:
        return None
    columns: UserColumns = tuple(row[:8])
    return columns, ReplicationPositions(*row[8:]) if with_positions else None


def is_issued_since(claims: Claims, tokens_since: int | None) -> bool:
    """Return whether a token without a session was issued after the last global sign-out."""
    if not tokens_since:
        return True
    return claims.issued_at is not None and claims.issued_at >= tokens_since


def caller_of_user(transaction: Transaction, user_id: str) -> Caller | None:
    """Return a user as a caller, with a profile that holds every kind of grant and may be an inspector's.

    Return None if there is no such user.
    """
    statement = person_statement(transaction.dialect.name)
    row = transaction.one(statement.sql, parameters(statement, user_id, None))
    if row is None:
        return None
    profile = full_profile(Role(row[0]))
    return Caller(user_id, row[1], profile, visits_since=visits_since(transaction, profile))


def full_profile(role: Role) -> GrantProfile:
    """Return the profile of a role that holds every kind of grant and may be an inspector's."""
    return grant_profile(role, True, True, role is INSPECTOR_ROLE)


@cache
def person_statement(database: str) -> Statement:
    user = User.__table__
    statement = sa.select(user.c.role, user.c.client_id).where(user.c.id == parameter("caller_id", user.c.id.type))
    return compile_statement(statement, DIALECTS[database].sa_dialect)


def parameters(statement: Statement, user_id: str, session_id: str | None) -> list[Bound]:
    return statement.bind(Binding(parameters={"caller_id": user_id, "session_id": session_id}))

"""Look up the caller of verified claims: the user as of now, by one statement that uses an index.

The result is cached until the next commit. The same error text refuses deleted users, disabled users, ended sessions,
and tokens of another role or client. The sign-in routes distinguish these cases by the fault's class.
"""

from __future__ import annotations

from functools import cache, partial

import sqlalchemy as sa

from access.accounts.access_token import REFUSED, Claims, RefusedClaims
from access.caller import GRANT_PROFILES, Caller, GrantKind, Role
from access.policy import GRANT_TABLES
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding, Slot, Statement, compile_statement, new_value, parameter
from engine.storage.replication_positions import ReplicationPositions, last_entry_of, last_rights
from engine.storage.transaction import Transaction
from models.building import Building
from models.credential import CREDENTIALS, SESSIONS
from models.types import Bound
from models.user import User


class UserGone(RefusedClaims):
    """The token's user does not exist."""


class UserDisabled(RefusedClaims):
    """The token's user is disabled."""


class SessionGone(RefusedClaims):
    """The token's session has ended, or a token without a session was issued before a global sign-out."""


UserColumns = tuple[str, int | None, int | None, int | None, bool, bool, bool]
"""Role, client, disabled until, tokens valid since; whether the session exists; whether the user holds building grants
and inspection grants."""
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
            *((last_entry_of(user_id), last_rights()) if with_positions else ()),
        )
        .select_from(user.outerjoin(CREDENTIALS, CREDENTIALS.c.user_id == user.c.id))
        .where(user.c.id == user_id)
    )
    slots: dict[str, Slot] = {"session_id": new_value(0)}
    return compile_statement(statement, DIALECTS[database].sa_dialect, slots)


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


def look_up_caller(transaction: Transaction, claims: Claims) -> Caller:
    """Return the caller of verified claims; raise RefusedClaims if the claims no longer hold."""
    result: LookUp | None = transaction.cached(
        ("caller", claims.role, claims.user_id, claims.session_id), partial(read_user, transaction, claims)
    )
    if result is None:
        raise UserGone(REFUSED)
    columns, positions = result
    role, client_id, disabled_until, tokens_since, has_session, buildings, inspections = columns
    if positions is not None:
        transaction.positions = positions
    if (disabled_until or 0) > transaction.unix:
        raise UserDisabled(REFUSED)
    is_current = has_session if claims.session_id is not None else is_issued_since(claims, tokens_since)
    if not is_current:
        raise SessionGone(REFUSED)
    if role != claims.role.value or client_id != claims.client_id:
        raise RefusedClaims(REFUSED)
    profile = GRANT_PROFILES[claims.role, bool(buildings), bool(inspections)]
    return Caller(claims.user_id, client_id, profile, claims.session_id)


def read_user(transaction: Transaction, claims: Claims) -> LookUp | None:
    """Return the user as of this snapshot, or None."""
    with_positions = transaction.reports_positions
    statement = lookup_statement(transaction.dialect.name, claims.role, with_positions)
    row = transaction.one(statement.sql, parameters(statement, claims.user_id, claims.session_id))
    if row is None:
        return None
    columns: UserColumns = tuple(row[:7])
    return columns, ReplicationPositions(*row[7:]) if with_positions else None


def is_issued_since(claims: Claims, tokens_since: int | None) -> bool:
    """Return whether a token without a session was issued after the last global sign-out."""
    if not tokens_since:
        return True
    return claims.issued_at is not None and claims.issued_at >= tokens_since


def caller_of_user(transaction: Transaction, user_id: str) -> Caller | None:
    """Return a user as a caller, with the profile that holds all kinds of grant; None if there is no such user."""
    statement = person_statement(transaction.dialect.name)
    row = transaction.one(statement.sql, parameters(statement, user_id, None))
    if row is None:
        return None
    role = Role(row[0])
    return Caller(user_id, row[1], GRANT_PROFILES[role, True, True])


@cache
def person_statement(database: str) -> Statement:
    user = User.__table__
    statement = sa.select(user.c.role, user.c.client_id).where(user.c.id == parameter("caller_id", user.c.id.type))
    return compile_statement(statement, DIALECTS[database].sa_dialect, {})


def parameters(statement: Statement, user_id: str, session_id: str | None) -> list[Bound]:
    return statement.bind(Binding(caller_id=user_id, new=(session_id,)))

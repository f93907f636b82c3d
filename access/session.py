"""From claims to a caller, by one keyed look-up a request: the user as they are now, not as a token says. It is
spared where nothing at all has changed since the last one.

Whoever is gone, disabled, signed out, or of another role or client than their token is refused with
one text; which of them it was is a class of its own, for those who ask at the sign-in's door. The
look-up also fetches the caller's standing: which kinds of grant hold anything for them.
"""

from __future__ import annotations

from functools import cache
from functools import partial

import sqlalchemy as sa

from access.accounts.access_token import REFUSED
from access.accounts.access_token import Claims
from access.accounts.access_token import RefusedClaims
from access.caller import STANDINGS
from access.caller import Caller
from access.caller import Kind
from access.caller import Role
from access.policy import GRANTS
from engine.postgres.replication_positions import ReplicationPositions
from engine.postgres.replication_positions import last_line_of
from engine.postgres.replication_positions import last_rights
from engine.query.dialect.registry import DIALECTS
from engine.query.statement import Binding
from engine.query.statement import Slot
from engine.query.statement import Statement
from engine.query.statement import compile_statement
from engine.query.statement import new_value
from engine.query.statement import parameter
from engine.storage.database import Transaction
from models.building import Building
from models.credential import CREDENTIALS
from models.credential import SESSIONS
from models.types import Bound
from models.user import User


class UserGone(RefusedClaims):
    """A token of somebody who is no user any more."""


class UserDisabled(RefusedClaims):
    """A token of somebody who is disabled."""


class SessionGone(RefusedClaims):
    """A token whose session has ended, or, without one, that is older than what ended them all."""


Told = tuple[str, int | None, int | None, int | None, bool, bool, bool]
"""Role, client, until when they are disabled, since when tokens hold, whether their session is there, and which kinds
of grant hold anything."""
Found = tuple[Told, ReplicationPositions | None]
"""What a look-up finds; of a server with standbys also its marks."""


@cache
def lookup_statement(database: str, role: Role, tells_marks: bool) -> Statement:
    """One user by id: role, client, what bars them, their session, and what their grants hold; and, of
    the same snapshot, how far another has to have got to stand in for it."""
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
            holds(role, Kind.BUILDING, user),
            holds(role, Kind.INSPECTION, user),
            *((last_line_of(user_id), last_rights()) if tells_marks else ()),
        )
        .select_from(user.outerjoin(CREDENTIALS, CREDENTIALS.c.user_id == user.c.id))
        .where(user.c.id == user_id)
    )
    slots: dict[str, Slot] = {"session_id": new_value(0)}
    return compile_statement(statement, DIALECTS[database].sa_dialect, slots)


def holds(role: Role, kind: Kind, user: sa.FromClause) -> sa.ColumnElement[bool]:
    """Whether a user of that role holds a grant that shows more than their client's own rows."""
    grants = GRANTS.get((role, kind))
    if grants is None:
        return sa.false()
    grant = grants.model.__table__.alias("held")
    held = sa.exists().where(grant.c[grants.grantee] == user.c.id).select_from(grant)
    if grants.count_beyond_own:
        building = Building.__table__.alias("held_building")
        # Not a join: no statistics can have it begin with the buildings, and it costs a quarter less.
        owner = sa.select(building.c.client_id).where(building.c.id == grant.c[grants.target])
        held = held.where(owner.scalar_subquery() != user.c.client_id)
    return held


def look_up(transaction: Transaction, claims: Claims) -> Caller:
    """The caller that verified claims name, or RefusedClaims."""
    found: Found | None = transaction.cached(
        ("caller", claims.role, claims.user_id, claims.session_id),
        partial(find, transaction, claims),
    )
    if found is None:
        raise UserGone(REFUSED)
    (role, client_id, disabled_until, tokens_since, in_session, buildings, inspections), marks = (
        found
    )
    if marks is not None:
        transaction.marks = marks
    if (disabled_until or 0) > transaction.unix:
        raise UserDisabled(REFUSED)
    if not (in_session if claims.session_id is not None else issued_since(claims, tokens_since)):
        raise SessionGone(REFUSED)
    if role != claims.role.value or client_id != claims.client_id:
        raise RefusedClaims(REFUSED)
    standing = STANDINGS[claims.role, bool(buildings), bool(inspections)]
    return Caller(claims.user_id, client_id, standing, claims.session_id)


def find(transaction: Transaction, claims: Claims) -> Found | None:
    """The user's row as it is in this snapshot, or None."""
    statement = lookup_statement(transaction.dialect.name, claims.role, transaction.tells_marks)
    row = transaction.one(statement.sql, parameters(statement, claims.user_id, claims.session_id))
    if row is None:
        return None
    told: Told = tuple(row[:7])
    return told, ReplicationPositions(*row[7:]) if transaction.tells_marks else None


def issued_since(claims: Claims, tokens_since: int | None) -> bool:
    """Whether a token without a session is younger than what ended all older ones."""
    if not tokens_since:
        return True
    return claims.issued_at is not None and claims.issued_at >= tokens_since


def person(transaction: Transaction, user_id: str) -> Caller | None:
    """Somebody as a caller, when another asks about them; None for nobody."""
    statement = person_statement(transaction.dialect.name)
    found = transaction.one(statement.sql, parameters(statement, user_id, None))
    if found is None:
        return None
    role = Role(found[0])
    return Caller(user_id, found[1], STANDINGS[role, True, True])


@cache
def person_statement(database: str) -> Statement:
    user = User.__table__
    statement = sa.select(user.c.role, user.c.client_id).where(
        user.c.id == parameter("caller_id", user.c.id.type)
    )
    return compile_statement(statement, DIALECTS[database].sa_dialect, {})


def parameters(statement: Statement, user_id: str, session_id: str | None) -> list[Bound]:
    return statement.bind(Binding(caller_id=user_id, new=(session_id,)))

"""Sign in, refresh a session, sign out.

A session is a row, and its refresh tokens are derived from the row (access/refresh_token.py). Each token has
exactly one successor. A function that ends a session and fails returns its fault, so that the end is committed; its
caller raises the fault.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from enum import Enum

import sqlalchemy as sa

from access import refresh_token
from access.accounts import people, throttle
from access.accounts.deadline import Deadline
from access.accounts.password import InvalidPassword, password_hashing, require_valid
from access.accounts.person import UserAccount
from access.caller import Caller
from access.refresh_token import RefreshToken, RefreshTokens
from access.session import SessionGone
from engine.current import reading
from engine.interface.transaction import Transaction
from engine.prepared import PreparedStatement
from engine.query.statement import parameter
from engine.query.write import audit
from models.credential import CREDENTIALS, SESSIONS
from models.errors import Fault
from models.types import UUID, new_uuid

REUSE_SECONDS = 30
SESSION_SECONDS = 30 * 24 * 3_600  # since the last use
SALT_BYTES = 16
WRONG = "Invalid login credentials"
SESSIONS_MAX = 1_000  # per user; a new session replaces the least recently used one


class WrongCredentials(Fault):
    """The password is wrong, or there is no such user. The error does not reveal which."""


class UserBanned(Fault):
    """The password or refresh token is right, and the user is disabled."""


class RefreshTokenNotFound(Fault):
    """The refresh token is not genuine, or its session has ended."""


class RefreshTokenUsed(Fault):
    """The refresh token was used before, too long ago. It may have been stolen, so the session ends."""


class SessionExpired(Fault):
    """The session was unused for SESSION_SECONDS."""


class Scope(Enum):
    """Which sessions a sign-out ends."""

    LOCAL = "local"
    OTHERS = "others"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class IssuedSession:
    """A session, its user, and its newest refresh token. `now` is in Unix seconds."""

    person: UserAccount
    session_id: str
    refresh_token: str
    now: int


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session's row. `rotations` are recent pairs of a Unix second and the first counter used in it."""

    id: str
    user_id: str
    salt: str
    counter: int
    created_at: int
    last_used_at: int
    rotations: list[list[int]]


# Signing in


def sign_in_with_password(
    tokens: RefreshTokens, email: str, password: str, origin: str, deadline: Deadline
) -> IssuedSession:
    """Return a new session for an e-mail and a password.

    Raise WrongCredentials, UserBanned, RateLimitExceeded or HashQueueFull.
    """
    try:
        require_valid(password)
    except InvalidPassword as unfit:
        raise WrongCredentials(WRONG) from unfit
    with reading() as transaction:
        # Keep requests that exceed the limit out of the queue for hashing.
        person = people.by_email(transaction, email)
        throttle.require_attempts_left(transaction, attempt_on(person, email, origin))
    with password_hashing(deadline) as hasher:
        attempt, person = record_attempt(email, origin, deadline)
        password_hash = person.password_hash if person is not None else None
        if not hasher.verify(password_hash, password) or person is None or password_hash is None:
            raise WrongCredentials(WRONG)
        better = hasher.rehash(password_hash, password)
    with deadline.writing() as transaction:
        throttle.delete_attempt(transaction, attempt)
        throttle.remember_origin(transaction, person.id, origin)
        now = people.by_id(transaction, person.id)
        if now is None or now.password_hash != password_hash:
            raise WrongCredentials(WRONG)
        if now.is_disabled(transaction.unix):
            raise UserBanned("User is banned")
        if better is not None:
            people.set_credential(transaction, person.id, CREDENTIALS.c.password_hash, better)
        return create_session(transaction, tokens, person.id)


def attempt_on(person: UserAccount | None, email: str, origin: str) -> throttle.SignInAttempt:
    return throttle.sign_in_attempt(email, origin, person.id if person is not None else None)


def record_attempt(email: str, origin: str, deadline: Deadline) -> tuple[int, UserAccount | None]:
    """Commit a sign-in attempt before it is checked; return its id and the user, if there is one."""
    with deadline.writing() as transaction:
        person = people.by_email(transaction, email)
        # Recorded without a user too, so that the duration does not reveal whether there is one.
        known = (person.id, person.client_id) if person is not None else (None, None)
        audit.record_entry(transaction, "sign_in_try", "users", actor_id=None, client_id=known[1], row_key=known[0])
        return throttle.record_sign_in_attempt(transaction, attempt_on(person, email, origin)), person


def create_session(transaction: Transaction, tokens: RefreshTokens, user_id: str) -> IssuedSession:
    """Insert a session. Delete expired sessions, and the user's least recently used ones beyond SESSIONS_MAX."""
    now = transaction.unix
    DELETE_OLD_SESSIONS.run(transaction, user_id=user_id, since=now - SESSION_SECONDS, sessions_max=SESSIONS_MAX - 1)
    session_id, salt = new_uuid(), secrets.token_urlsafe(SALT_BYTES)
    INSERT_SESSION.run(transaction, id=session_id, user_id=user_id, salt=salt, now=now)
    people.set_credential(transaction, user_id, CREDENTIALS.c.last_sign_in_at, transaction.now)
    person = people.by_id(transaction, user_id)
    assert person is not None
    audit.record_entry(transaction, "sign_in", "users", actor_id=user_id, client_id=person.client_id, row_key=user_id)
    return IssuedSession(person, session_id, tokens.issue(session_id, 0, salt), now)


# Refreshing


def refresh_session(transaction: Transaction, tokens: RefreshTokens, text: str) -> IssuedSession | Fault:
    """Return the session with its newest token, or the fault.

    The transaction has to be committed in both cases, since a fault may end the session.
    """
    token = refresh_token.parse_refresh_token(text)
    session = find_session(transaction, token.session_id) if token is not None else None
    if token is None or session is None or not tokens.is_genuine(token, session.salt):
        return RefreshTokenNotFound("Invalid Refresh Token: Refresh Token Not Found")
    person = people.by_id(transaction, session.user_id)
    assert person is not None, "a session goes with its user"
    if person.is_disabled(transaction.unix):
        return UserBanned("User is banned")
    if session.last_used_at + SESSION_SECONDS <= transaction.unix:
        DELETE_SESSION.run(transaction, id=session.id)
        return SessionExpired("Invalid Refresh Token: Session Expired")
    if not is_accepted(session, token, transaction.unix):
        DELETE_SESSION.run(transaction, id=session.id)
        return RefreshTokenUsed("Invalid Refresh Token: Already Used")
    counter = rotate(transaction, session, token)
    issued = tokens.issue(session.id, counter, session.salt)
    return IssuedSession(person, session.id, issued, transaction.unix)


def is_accepted(session: SessionRow, token: RefreshToken, now: int) -> bool:
    """Return whether a token is the newest, its predecessor, or one first used within REUSE_SECONDS.

    The predecessor is always accepted, since the response with its successor may have been lost. An older token is a
    very late request or a stolen token.
    """
    if token.counter > session.counter:
        # Genuine and not issued yet: a backup older than the token was restored.
        return False
    if token.counter >= session.counter - 1:
        return True
    recent = [counter for second, counter in session.rotations if second >= now - REUSE_SECONDS]
    return bool(recent) and token.counter >= recent[0]


def rotate(transaction: Transaction, session: SessionRow, token: RefreshToken) -> int:
    """Use an accepted token; return the newest counter. Only the use of the newest token issues another."""
    now, counter, rotations = transaction.unix, session.counter, session.rotations
    if token.counter == counter:
        rotations = rotations_after(session, now)
        counter += 1
    UPDATE_SESSION.run(transaction, id=session.id, counter=counter, now=now, rotations=json.dumps(rotations))
    return counter


def rotations_after(session: SessionRow, now: int) -> list[list[int]]:
    """Return the recent rotations after a use of the newest token: at most one pair per second."""
    recent = [pair for pair in session.rotations if now - REUSE_SECONDS <= pair[0] <= now]
    if recent and recent[-1][0] == now:
        return recent
    return [*recent, [now, session.counter]]


def find_session(transaction: Transaction, session_id: str) -> SessionRow | None:
    row = SESSION_BY_ID.one(transaction, id=session_id)
    return read_session(row) if row is not None else None


def list_sessions(transaction: Transaction, user_id: str) -> list[SessionRow]:
    """Return the sessions of a user that have not expired, newest first."""
    since = transaction.unix - SESSION_SECONDS
    return [read_session(row) for row in SESSIONS_OF_USER.all(transaction, user_id=user_id, since=since)]


def read_session(row: tuple[object, ...]) -> SessionRow:
    """Return the session of a row of SESSION_COLUMNS."""
    id_, user_id, salt, counter, created_at, last_used_at, rotations = row
    assert isinstance(counter, int)
    assert isinstance(created_at, int)
    assert isinstance(last_used_at, int)
    recent: list[list[int]] = json.loads(str(rotations))
    return SessionRow(str(id_), str(user_id), str(salt), counter, created_at, last_used_at, recent)


# Signing out


def sign_out(transaction: Transaction, caller: Caller, scope: Scope) -> None:
    """End the caller's session, all others, or all with all tokens; raise SessionGone if there is none to end."""
    assert caller.id is not None
    if scope is Scope.GLOBAL:
        people.end_other_sessions(transaction, caller.id, None)
        people.end_tokens(transaction, caller.id)
    elif scope is Scope.OTHERS:
        ended = people.end_other_sessions(transaction, caller.id, caller.session_id)
        if caller.session_id is None and not ended:
            raise session_not_found()
    elif caller.session_id is None or not DELETE_SESSION.run(transaction, id=caller.session_id):
        raise session_not_found()
    audit.record_entry(
        transaction, "sign_out", "users",
        actor_id=caller.id, client_id=caller.client_id, row_key=caller.id, details={"scope": scope.value},
    )  # fmt: skip


def session_not_found() -> SessionGone:
    return SessionGone(
        "Session not found", hint="This token has no session: it ends when it expires, or by a global sign-out."
    )


# Statements

SESSION_COLUMNS = (
    SESSIONS.c.id,
    SESSIONS.c.user_id,
    SESSIONS.c.salt,
    SESSIONS.c.counter,
    SESSIONS.c.created_at,
    SESSIONS.c.last_used_at,
    SESSIONS.c.rotations,
)
SESSION_BY_ID = PreparedStatement(sa.select(*SESSION_COLUMNS).where(SESSIONS.c.id == parameter("id")))
SESSIONS_OF_USER = PreparedStatement(
    sa.select(*SESSION_COLUMNS)
    .where(
        SESSIONS.c.user_id == parameter("user_id", UUID.storage),
        SESSIONS.c.last_used_at > parameter("since", sa.BigInteger),
    )
    .order_by(SESSIONS.c.created_at.desc(), SESSIONS.c.id)
)
INSERT_SESSION = PreparedStatement(
    sa.insert(SESSIONS).values(
        id=parameter("id"),
        user_id=parameter("user_id"),
        salt=parameter("salt"),
        counter=0,
        created_at=parameter("now"),
        last_used_at=parameter("now"),
        rotations="[]",
    )
)
UPDATE_SESSION = PreparedStatement(
    sa.update(SESSIONS)
    .where(SESSIONS.c.id == parameter("id"))
    .values(counter=parameter("counter"), last_used_at=parameter("now"), rotations=parameter("rotations"))
)
DELETE_SESSION = PreparedStatement(sa.delete(SESSIONS).where(SESSIONS.c.id == parameter("id")))
OF_USER = SESSIONS.alias("of_user")
DELETE_OLD_SESSIONS = PreparedStatement(
    sa.delete(SESSIONS).where(
        sa.or_(
            SESSIONS.c.last_used_at <= parameter("since"),
            SESSIONS.c.id.in_(
                sa.select(OF_USER.c.id)
                .where(OF_USER.c.user_id == parameter("user_id", UUID.storage))
                .order_by(OF_USER.c.last_used_at.desc(), OF_USER.c.id)
                .offset(parameter("sessions_max", sa.BigInteger))
            ),
        )
    )
)

"""Sign in, go on, sign out: what a session is, from its first token to its end.

A session is a row; its refresh tokens are derived from the row (access/accounts/refresh_token.py) and follow one
line: each has one child, whoever asks. What ends something and refuses at once returns its refusal,
so that the end is committed; the caller raises it.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from enum import Enum

import sqlalchemy as sa

from access.accounts import people
from access.accounts import refresh_token
from access.accounts import throttle
from access.accounts.deadline import Deadline
from access.accounts.password import UnfitPassword
from access.accounts.password import hashing
from access.accounts.password import require_possible
from access.accounts.person import Person
from access.accounts.refresh_token import RefreshToken
from access.accounts.refresh_token import RefreshTokens
from access.caller import Caller
from access.session import SessionGone
from engine import audit
from engine.current import reading
from engine.query.prepared import Prepared
from engine.query.statement import parameter
from engine.storage.transaction import Transaction
from models.credential import CREDENTIALS
from models.credential import SESSIONS
from models.errors import Fault
from models.types import UUID
from models.types import new_uuid

REUSE_SECONDS = 30
SESSION_SECONDS = 30 * 24 * 3_600  # after its last use
SALT_BYTES = 16
WRONG = "Invalid login credentials"
SESSIONS_MAX = 1_000  # of one user; the one that was unused for longest makes room


class WrongCredentials(Fault):
    """A wrong password, or nobody: which of the two is not told."""


class Banned(Fault):
    """The right password, or refresh token, of somebody who is disabled."""


class RefreshTokenNotFound(Fault):
    """A refresh token of no session: never made here, or its session has ended."""


class RefreshTokenUsed(Fault):
    """A refresh token used again too late: somebody has a copy, so the session has ended."""


class SessionExpired(Fault):
    """A session that nobody used for too long."""


class Scope(Enum):
    """Which sessions a sign-out ends."""

    LOCAL = "local"
    OTHERS = "others"
    GLOBAL = "global"


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Somebody in a session, and the token that goes on with it."""

    person: Person
    session_id: str
    refresh_token: str
    now: int


@dataclass(frozen=True, slots=True)
class Session:
    """A session's row. `rotations`: of late, in which second which counter was the first to be used."""

    id: str
    user_id: str
    salt: str
    counter: int
    created_at: int
    last_used_at: int
    rotations: list[list[int]]


# In


def sign_in(
    tokens: RefreshTokens, email: str, password: str, origin: str, deadline: Deadline
) -> SignedIn:
    """A new session for whoever has that e-mail and password."""
    try:
        require_possible(password)
    except UnfitPassword as unfit:
        raise WrongCredentials(WRONG) from unfit
    with reading() as transaction:
        # Cheap, and it keeps those who are refused anyway out of the queue to hash.
        person = people.by_email(transaction, email)
        throttle.require_tries_left(transaction, guess_at(person, email, origin))
    with hashing(deadline) as turn:
        attempt, person = count_guess(email, origin, deadline)
        password_hash = person.password_hash if person is not None else None
        if not turn.verify(password_hash, password) or person is None or password_hash is None:
            raise WrongCredentials(WRONG)
        better = turn.improve(password_hash, password)
    with deadline.writing() as transaction:
        throttle.take_back(transaction, attempt)
        throttle.remember_origin(transaction, person.id, origin)
        now = people.by_id(transaction, person.id)
        if now is None or now.password_hash != password_hash:
            raise WrongCredentials(WRONG)
        if now.is_disabled(transaction.unix):
            raise Banned("User is banned")
        if better is not None:
            people.keep(transaction, person.id, CREDENTIALS.c.password_hash, better)
        return begin_session(transaction, tokens, person.id)


def guess_at(person: Person | None, email: str, origin: str) -> throttle.Guess:
    return throttle.guess_at(email, origin, person.id if person is not None else None)


def count_guess(email: str, origin: str, deadline: Deadline) -> tuple[int, Person | None]:
    """Commit that this is being tried; the try, and whoever it is aimed at, as they are then."""
    with deadline.writing() as transaction:
        person = people.by_email(transaction, email)
        # Noted for nobody too: how long this takes may not tell whether there is somebody.
        known = (person.id, person.client_id) if person is not None else (None, None)
        audit.note(
            transaction, "sign_in_try", "users", actor_id=None, client_id=known[1], row_key=known[0]
        )
        return throttle.count_guess(transaction, guess_at(person, email, origin)), person


def begin_session(transaction: Transaction, tokens: RefreshTokens, user_id: str) -> SignedIn:
    """A new session, and room for it."""
    now = transaction.unix
    FORGET_SESSIONS.run(
        transaction, user_id=user_id, since=now - SESSION_SECONDS, kept=SESSIONS_MAX - 1
    )
    session_id, salt = new_uuid(), secrets.token_urlsafe(SALT_BYTES)
    INSERT_SESSION.run(transaction, id=session_id, user_id=user_id, salt=salt, now=now)
    people.keep(transaction, user_id, CREDENTIALS.c.last_sign_in_at, transaction.now)
    person = people.by_id(transaction, user_id)
    assert person is not None
    audit.note(
        transaction,
        "sign_in",
        "users",
        actor_id=user_id,
        client_id=person.client_id,
        row_key=user_id,
    )
    return SignedIn(person, session_id, tokens.issue(session_id, 0, salt), now)


# On


def refresh(transaction: Transaction, tokens: RefreshTokens, text: str) -> SignedIn | Fault:
    """The session's newest token for its present one; or why not, and then perhaps it has ended."""
    token = refresh_token.read(text)
    session = find_session(transaction, token.session_id) if token is not None else None
    if token is None or session is None or not tokens.is_genuine(token, session.salt):
        return RefreshTokenNotFound("Invalid Refresh Token: Refresh Token Not Found")
    person = people.by_id(transaction, session.user_id)
    assert person is not None, "a session goes with its user"
    if person.is_disabled(transaction.unix):
        return Banned("User is banned")
    if session.last_used_at + SESSION_SECONDS <= transaction.unix:
        DELETE_SESSION.run(transaction, id=session.id)
        return SessionExpired("Invalid Refresh Token: Session Expired")
    if not is_in_line(session, token, transaction.unix):
        DELETE_SESSION.run(transaction, id=session.id)
        return RefreshTokenUsed("Invalid Refresh Token: Already Used")
    counter = go_on(transaction, session, token)
    issued = tokens.issue(session.id, counter, session.salt)
    return SignedIn(person, session.id, issued, transaction.unix)


def is_in_line(session: Session, token: RefreshToken, now: int) -> bool:
    """Whether a token is the newest, its parent, or one that was first used a moment ago.

    The parent counts at any time: the answer that held its child may have been lost. Whoever has an
    older one has either waited very long or stolen it.
    """
    if token.counter > session.counter:
        # Genuine, and not made yet: the file is older than the token (a backup came back).
        return False
    if token.counter >= session.counter - 1:
        return True
    lately = [counter for second, counter in session.rotations if second >= now - REUSE_SECONDS]
    return bool(lately) and token.counter >= lately[0]


def go_on(transaction: Transaction, session: Session, token: RefreshToken) -> int:
    """Use a token that is in line: only the newest one makes another. The counter that is newest then."""
    now, counter, rotations = transaction.unix, session.counter, session.rotations
    if token.counter == counter:
        rotations = rotations_after(session, now)
        counter += 1
    USE_SESSION.run(
        transaction, id=session.id, counter=counter, now=now, rotations=json.dumps(rotations)
    )
    return counter


def rotations_after(session: Session, now: int) -> list[list[int]]:
    """The session's rotations of late once its newest token is used: at most one pair a second."""
    lately = [pair for pair in session.rotations if now - REUSE_SECONDS <= pair[0] <= now]
    if lately and lately[-1][0] == now:
        return lately
    return [*lately, [now, session.counter]]


def find_session(transaction: Transaction, session_id: str) -> Session | None:
    row: tuple[object, ...] | None = SESSION_BY_ID.one(transaction, id=session_id)
    if row is None:
        return None
    id_, user_id, salt, counter, created_at, last_used_at, rotations = row
    assert isinstance(counter, int)
    assert isinstance(created_at, int)
    assert isinstance(last_used_at, int)
    recent: list[list[int]] = json.loads(str(rotations))
    return Session(str(id_), str(user_id), str(salt), counter, created_at, last_used_at, recent)


# Out


def sign_out(transaction: Transaction, caller: Caller, scope: Scope) -> None:
    """End one's own session, all the others, or everything; SessionGone where there was nothing to end."""
    assert caller.id is not None
    if scope is Scope.GLOBAL:
        people.end_other_sessions(transaction, caller.id, None)
        people.end_tokens(transaction, caller.id)
    elif scope is Scope.OTHERS:
        ended = people.end_other_sessions(transaction, caller.id, caller.session_id)
        if caller.session_id is None and not ended:
            raise nothing_to_end()
    elif caller.session_id is None or not DELETE_SESSION.run(transaction, id=caller.session_id):
        raise nothing_to_end()
    audit.note(
        transaction, "sign_out", "users",
        actor_id=caller.id, client_id=caller.client_id, row_key=caller.id, details={"scope": scope.value},
    )  # fmt: skip


def nothing_to_end() -> SessionGone:
    return SessionGone(
        "Session not found",
        hint="This token belongs to no session: it ends by itself, or by a global sign-out.",
    )


# The statements

SESSION_BY_ID = Prepared(
    sa.select(
        SESSIONS.c.id,
        SESSIONS.c.user_id,
        SESSIONS.c.salt,
        SESSIONS.c.counter,
        SESSIONS.c.created_at,
        SESSIONS.c.last_used_at,
        SESSIONS.c.rotations,
    ).where(SESSIONS.c.id == parameter("id"))
)
INSERT_SESSION = Prepared(
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
USE_SESSION = Prepared(
    sa.update(SESSIONS)
    .where(SESSIONS.c.id == parameter("id"))
    .values(
        counter=parameter("counter"),
        last_used_at=parameter("now"),
        rotations=parameter("rotations"),
    )
)
DELETE_SESSION = Prepared(sa.delete(SESSIONS).where(SESSIONS.c.id == parameter("id")))
OF_USER = SESSIONS.alias("of_user")
FORGET_SESSIONS = Prepared(
    sa.delete(SESSIONS).where(
        sa.or_(
            SESSIONS.c.last_used_at <= parameter("since"),
            SESSIONS.c.id.in_(
                sa.select(OF_USER.c.id)
                .where(OF_USER.c.user_id == parameter("user_id", UUID.storage))
                .order_by(OF_USER.c.last_used_at.desc(), OF_USER.c.id)
                .offset(parameter("kept", sa.BigInteger))
            ),
        )
    )
)

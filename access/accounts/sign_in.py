"""Sign in, refresh a session, sign out, and change the caller's own account.

A session is a row, and its refresh tokens are derived from the row (access/session.py). Each token has exactly one
successor. A function that ends a session and fails returns its fault, so that the end is committed. The function's
caller raises the fault. Users change only their own password and metadata, and with these their name.
"""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from enum import Enum

import sqlalchemy as sa

from access import session as refresh_token
from access.access_token import REFUSED
from access.accounts import password as throttle
from access.accounts import people
from access.accounts.password import (
    Deadline,
    InvalidPassword,
    PasswordHashing,
    password_hashing,
    require_valid,
    require_valid_new,
)
from access.accounts.people import InvalidUserAccount, Metadata, UserAccount, UserChanges
from access.caller import Caller
from access.session import SESSION_SECONDS, RefreshToken, RefreshTokens, SessionGone, UserGone
from engine.interface.database import Transaction
from engine.open import reading
from engine.query.write import row_layout
from models.credential import Session
from models.types import AccountFault, Fault, new_uuid

REUSE_SECONDS = 30
SALT_BYTES = 16
WRONG = "Invalid login credentials"
SESSIONS_MAX = 1_000  # per user; a new session replaces the least recently used one


class WrongCredentials(AccountFault, code="invalid_credentials", status=400):
    """The password is wrong, or there is no such user. The error does not reveal which."""


class UserBanned(AccountFault, code="user_banned", status=400):
    """The password or refresh token is right, and the user is disabled."""


class RefreshTokenNotFound(AccountFault, code="refresh_token_not_found", status=400):
    """The refresh token is not genuine, or its session has ended."""


class RefreshTokenUsed(AccountFault, code="refresh_token_already_used", status=400):
    """The refresh token was used before, too long ago. It may have been stolen, so the session ends."""


class SessionExpired(AccountFault, code="session_expired", status=400):
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
    device: str | None = None


# Signing in


def sign_in_with_password(
    tokens: RefreshTokens, email: str, password: str, origin: str, deadline: Deadline, device: str | None = None
) -> IssuedSession:
    """Return a new session for an e-mail and a password. `device` is what its user reads in the list of sessions.

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
            people.set_credentials(transaction, person.id, password_hash=better)
        return create_session(transaction, tokens, person.id, device)


def attempt_on(person: UserAccount | None, email: str, origin: str) -> throttle.SignInAttempt:
    return throttle.sign_in_attempt(email, origin, person.id if person is not None else None)


def record_attempt(email: str, origin: str, deadline: Deadline) -> tuple[int, UserAccount | None]:
    """Commit a sign-in attempt before it is checked; return its id and the user, if there is one."""
    with deadline.writing() as transaction:
        person = people.by_email(transaction, email)
        # Recorded without a user too, so that the duration does not reveal whether there is one.
        known = (person.id, person.client_id) if person is not None else (None, None)
        row_layout.record_entry(
            transaction, "sign_in_try", "users", actor_id=None, client_id=known[1], row_key=known[0]
        )
        return throttle.record_sign_in_attempt(transaction, attempt_on(person, email, origin)), person


def create_session(
    transaction: Transaction, tokens: RefreshTokens, user_id: str, device: str | None = None
) -> IssuedSession:
    """Insert a session. Delete expired sessions, and the user's least recently used ones beyond SESSIONS_MAX."""
    now = transaction.unix
    of_user = sa.select(Session.id).where(Session.user_id == user_id)
    beyond_max = of_user.order_by(Session.last_used_at.desc(), Session.id).offset(SESSIONS_MAX - 1)
    is_old = sa.or_(Session.last_used_at <= now - SESSION_SECONDS, Session.id.in_(beyond_max))
    transaction.execute(sa.delete(Session).where(is_old))
    session_id, salt = new_uuid(), secrets.token_urlsafe(SALT_BYTES)
    times = {"created_at": now, "last_used_at": now}
    session = sa.insert(Session).values(id=session_id, user_id=user_id, salt=salt, device=device, **times)
    transaction.execute(session)
    people.set_credentials(transaction, user_id, last_sign_in_at=transaction.now)
    person = people.by_id(transaction, user_id)
    assert person is not None
    row_layout.record_entry(
        transaction, "sign_in", "users", actor_id=user_id, client_id=person.client_id, row_key=user_id
    )
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
        delete_session(transaction, session.id)
        return SessionExpired("Invalid Refresh Token: Session Expired")
    if not is_accepted(session, token, transaction.unix):
        delete_session(transaction, session.id)
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
    used = {"counter": counter, "last_used_at": now, "rotations": json.dumps(rotations)}
    transaction.execute(sa.update(Session).where(Session.id == session.id).values(used))
    return counter


def rotations_after(session: SessionRow, now: int) -> list[list[int]]:
    """Return the recent rotations after a use of the newest token: at most one pair per second."""
    recent = [pair for pair in session.rotations if now - REUSE_SECONDS <= pair[0] <= now]
    if recent and recent[-1][0] == now:
        return recent
    return [*recent, [now, session.counter]]


def find_session(transaction: Transaction, session_id: str) -> SessionRow | None:
    row = transaction.execute(sa.select(Session).where(Session.id == session_id)).first()
    return read_session(row) if row is not None else None


def list_sessions(transaction: Transaction, user_id: str) -> list[SessionRow]:
    """Return the sessions of a user that have not expired, newest first."""
    is_current = Session.last_used_at > transaction.unix - SESSION_SECONDS
    sessions = sa.select(Session).where(Session.user_id == user_id, is_current)
    return [read_session(row) for row in transaction.execute(sessions.order_by(Session.created_at.desc(), Session.id))]


def read_session(row: sa.Row[object]) -> SessionRow:
    return SessionRow(**row._asdict() | {"rotations": json.loads(row.rotations)})


def delete_session(transaction: Transaction, session_id: str) -> int:
    """Delete a session; return 1, or 0 if there is none."""
    return transaction.execute(sa.delete(Session).where(Session.id == session_id)).rowcount


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
    elif caller.session_id is None or not delete_session(transaction, caller.session_id):
        raise session_not_found()
    record_sign_out(transaction, caller, scope.value)


def end_session(transaction: Transaction, caller: Caller, session_id: str) -> None:
    """End one of the caller's sessions, unless it has ended."""
    own = sa.delete(Session).where(Session.id == session_id, Session.user_id == caller.id)
    if transaction.execute(own).rowcount:
        record_sign_out(transaction, caller, "session")


def record_sign_out(transaction: Transaction, caller: Caller, scope: str) -> None:
    row_layout.record_entry(
        transaction, "sign_out", "users",
        actor_id=caller.id, client_id=caller.client_id, row_key=caller.id, details={"scope": scope},
    )  # fmt: skip


def session_not_found() -> SessionGone:
    return SessionGone(
        "Session not found", hint="This token has no session: it ends when it expires, or by a global sign-out."
    )


RECENT_SIGN_IN_SECONDS = 24 * 3_600  # younger sessions set a password without the old one
WRONG_CODE = "Current password is incorrect."


class SamePassword(AccountFault, code="same_password"):
    """The new password equals the old one."""


class CurrentPasswordRequired(AccountFault, code="current_password_required", status=400):
    """The current password is missing, and the session is not recent or the token has none."""


class WrongCurrentPassword(AccountFault, code="current_password_invalid", status=400):
    """The current password is wrong."""


@dataclass(frozen=True, slots=True)
class NewPassword:
    """The hash of a new password, and the attempt that its comparison with the old one counts as until it is stored."""

    hash: str
    attempt: int | None


@dataclass(frozen=True, slots=True)
class OwnAccountChanges:
    """The changes of a user's own account that a request contains."""

    email: str | None
    name: str | None
    user_metadata: Metadata
    password: str | None
    current_password: str | None


def prepare_password(caller: Caller, own: OwnAccountChanges, origin: str, deadline: Deadline) -> NewPassword | None:
    """Check and hash a new password before the write. Return None if the request has none."""
    assert caller.id is not None
    if own.password is None:
        return None
    require_valid_new(own.password)
    with reading() as transaction:
        person = people.by_id(transaction, caller.id)
        session = find_session(transaction, caller.session_id or "")
        if person is None:
            raise UserGone(REFUSED)
        require_recent_sign_in(transaction, session, own)
    attempt = None
    with password_hashing(deadline) as hasher:
        if own.current_password is not None:
            require_current(hasher, person, own.current_password, origin, deadline)
        else:
            # SamePassword reveals the old password, so the comparison counts as an attempt.
            attempt, _ = record_attempt(person.email, origin, deadline)
        if is_unchanged(hasher, person, own.password, own.current_password):
            raise SamePassword("New password should be different from the old password.")
        return NewPassword(hasher.hash(own.password), attempt)


def require_recent_sign_in(transaction: Transaction, session: SessionRow | None, own: OwnAccountChanges) -> None:
    """Raise CurrentPasswordRequired without the current password or a recent sign-in: a stolen token is not enough."""
    if own.current_password is not None:
        return
    if session is None or session.created_at + RECENT_SIGN_IN_SECONDS <= transaction.unix:
        raise CurrentPasswordRequired(
            "Current password required when setting new password.", hint="Send current_password, or sign in again."
        )


def require_current(
    hasher: PasswordHashing, person: UserAccount, password: str, origin: str, deadline: Deadline
) -> None:
    """Raise WrongCurrentPassword if it is wrong. It counts as an attempt like a sign-in."""
    try:
        require_valid(password)
    except InvalidPassword as unfit:
        raise WrongCurrentPassword(WRONG_CODE) from unfit
    attempt, now = record_attempt(person.email, origin, deadline)
    if not hasher.verify(now.password_hash if now is not None else None, password):
        raise WrongCurrentPassword(WRONG_CODE)
    with deadline.writing() as transaction:
        throttle.delete_attempt(transaction, attempt)


def is_unchanged(hasher: PasswordHashing, person: UserAccount, password: str, current: str | None) -> bool:
    if current is not None:
        return password == current
    return person.password_hash is not None and hasher.verify(person.password_hash, password)


def change_own_account(
    transaction: Transaction, caller: Caller, own: OwnAccountChanges, new: NewPassword | None
) -> UserAccount:
    """Write the changes and return the account; raise InvalidUserAccount if the e-mail differs."""
    assert caller.id is not None
    person = people.by_id(transaction, caller.id)
    assert person is not None, "just looked up"
    if own.email is not None and own.email != person.email.lower():
        raise InvalidUserAccount("An e-mail address is changed by an administrator")
    people.update_user(transaction, person, UserChanges(name=own.name, user_metadata=own.user_metadata))
    if new is not None:
        people.replace_password(transaction, person.id, new.hash, caller.session_id)
        if new.attempt is not None:
            throttle.delete_attempt(transaction, new.attempt)
    changed = people.by_id(transaction, person.id)
    assert changed is not None
    return changed

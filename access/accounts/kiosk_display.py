"""Kiosk displays: long-lived tokens that show one user's view and permit no changes.

The creator of a display sees a short code. The first browser that enters the code gets the token. Wrong codes count as
sign-in attempts of their origin. The database stores digests of both. A caller may create a display with the view of
any user that they may change, and administrators also with their own. A new password, a global sign-out, or another
role or client of the user ends it; a ban suspends it. The creator knew the code, so a display also stops when its
creator loses the right to create it. The audit log records creation and revocation.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, replace
from functools import lru_cache

import sqlalchemy as sa

from access import session
from access.access_token import Claims, RefusedClaims
from access.accounts import administration, people, throttle
from access.accounts.administration import GRANT_PROFILES_MAX, UserNotFound
from access.accounts.display_maker import CREATED, MAKER_DELETED, why_maker_is_refused
from access.caller import Caller
from access.policy import AccessRule
from access.roles import GrantProfile, Role
from engine.current import writing
from engine.interface.transaction import Transaction
from engine.prepared import PreparedStatement
from engine.query.rule import Action
from engine.query.statement import parameter
from engine.query.write import audit
from models.credential import CREDENTIALS, DEVICES
from models.errors import Fault
from models.types import UUID, Bound, new_uuid, read_string
from models.user import User

DISPLAYS_PER_USER_MAX = 100  # with the view of one user
TOKEN_BYTES = 32
TOKEN_PREFIX = "wtk_"  # noqa: S105  (a prefix that makes leaked tokens recognizable)
TOKEN_CHARACTERS_MAX = 128
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without the look-alikes 0, O, 1, I and L
CODE_CHARACTERS = 8
CODE_SECONDS = 10 * 60
DAYS_MAX = 366
DAY_SECONDS = 24 * 3_600
NAME_BYTES_MAX = 256
LAST_SEEN_SECONDS = 3_600  # fewer writes: a display sends a request every 30 s
LAST_SEEN_WAIT_SECONDS_MAX = 0.2
REVOKED = "revoke_kiosk_display"  # an action of the audit log
LISTED_MAX = 1_000  # per list
ENDED_LISTED_DAYS = 30  # an ended display stays in the list for this time, with the reason

SESSIONS_ENDED = "Its user has a new password or signed out everywhere."
EXPIRED = "Its time is over."


class InvalidKioskDisplay(Fault):
    """The name or the duration is invalid, or the user has the maximum number of displays."""


class KioskDisplayNotFound(Fault):
    """The display does not exist, or is hidden from the caller. The error does not reveal which."""

    def __init__(self) -> None:
        super().__init__("There is no such kiosk display")


@dataclass(frozen=True, slots=True)
class KioskDisplay:
    """A kiosk display and the user whose view it shows."""

    id: str
    user_id: str
    user_name: str
    name: str
    created_at: int
    last_seen_at: int | None
    expires_at: int
    is_paired: bool = True
    has_ended: bool = False
    """Whether it never shows anything again."""
    is_dark_because: str | None = None
    """Why it shows nothing, if it has ended or while its maker lacks the right to make it."""


@dataclass(frozen=True, slots=True)
class DisplayRequest:
    """A request of a kiosk display. `caller` is the user whose view it shows."""

    caller: Caller
    device_id: str
    name: str
    is_due: bool


def authenticate_display(transaction: Transaction, token: str) -> DisplayRequest | None:
    """Return the request of the display with a token, or None if the token is not in force."""
    if len(token) > TOKEN_CHARACTERS_MAX:
        return None
    row = BY_DIGEST.one(transaction, token_digest=token_digest(token), now=transaction.unix)
    if row is None:
        return None
    device_id, user_id, created_at, last_seen_at, expires_at, role, client_id, name = row
    assert isinstance(created_at, int)
    assert isinstance(expires_at, int)
    client = client_id if isinstance(client_id, int) else None
    claims = Claims(str(user_id), Role(str(role)), client, created_at, None, expires_at, None)
    try:
        caller = session.look_up_caller(transaction, claims)
    except RefusedClaims:
        return None
    if why_maker_is_refused(transaction, str(device_id), str(user_id)) is not None:
        return None
    seen_at = last_seen_at if isinstance(last_seen_at, int) else 0
    return DisplayRequest(caller, str(device_id), str(name), seen_at + LAST_SEEN_SECONDS <= transaction.unix)


def record_display_event(transaction: Transaction, action: str, caller: Caller, display: KioskDisplay) -> None:
    """Record the creation or revocation of a display in the audit log."""
    user = people.by_id(transaction, display.user_id)
    audit.record_entry(
        transaction,
        action,
        DEVICES.name,
        actor_id=caller.id,
        client_id=user.client_id if user is not None else None,
        row_key=display.id,
        details={"user_id": display.user_id, "name": display.name},
    )


def record_last_seen(request: DisplayRequest) -> None:
    """Update the time of the display's last request if it is due and the write lock is free soon."""
    if not request.is_due:
        return
    try:
        with writing(wait_seconds_max=LAST_SEEN_WAIT_SECONDS_MAX) as transaction:
            UPDATE_LAST_SEEN.run(transaction, id=request.device_id, now=transaction.unix)
    except Fault:
        return  # the next request tries again


def create_display(transaction: Transaction, caller: Caller, user_id: str, name: str, days: int) -> tuple[str, str]:
    """Create a display with a user's view; return its id and the code that pairs it.

    Raise InvalidKioskDisplay, UserNotFound or UserNotAllowed.
    """
    stripped = read_string(name.strip())
    if not stripped or len(stripped.encode()) > NAME_BYTES_MAX:
        raise InvalidKioskDisplay(f"A kiosk display needs a name of at most {NAME_BYTES_MAX} bytes")
    if not 1 <= days <= DAYS_MAX:
        raise InvalidKioskDisplay(f"A kiosk display lasts between 1 and {DAYS_MAX} days")
    if user_id != caller.id:
        administration.find_user(transaction, caller, user_id, Action.UPDATE)
    person = people.by_id(transaction, user_id)
    if person is None:
        raise UserNotFound
    DELETE_ENDED.run(transaction, now=transaction.unix)
    others = COUNT_OF_USER.one(transaction, user_id=user_id, now=transaction.unix)
    if others is not None and int(others[0] or 0) >= DISPLAYS_PER_USER_MAX:
        raise InvalidKioskDisplay(f"There are {DISPLAYS_PER_USER_MAX} kiosk displays with this view: revoke one first")
    device_id = new_uuid()
    code = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_CHARACTERS))
    # As for other tokens without a session: it counts only from `tokens_since` on.
    created_at = max(transaction.unix, person.tokens_since)
    expires_at = created_at + days * DAY_SECONDS
    INSERT.run(
        transaction,
        id=device_id,
        user_id=user_id,
        name=stripped,
        token_digest=token_digest(new_token()),
        created_at=created_at,
        expires_at=expires_at,
        code_digest=token_digest(code),
        code_expires_at=transaction.unix + CODE_SECONDS,
    )
    display = KioskDisplay(device_id, user_id, person.name, stripped, created_at, None, expires_at, is_paired=False)
    record_display_event(transaction, CREATED, caller, display)
    return device_id, code


def pair_display(transaction: Transaction, text: str, origin: str) -> str | None:
    """Return a new token for the display with a code, which ends the code; None if no display has it.

    The attempt stays recorded in that case. Raise RateLimitExceeded.
    """
    attempt = throttle.record_sign_in_attempt(
        transaction, throttle.sign_in_attempt(f"kiosk code from {origin}", origin, None)
    )
    token = new_token()
    row = PAIR.one(
        transaction, code_digest=token_digest(read_code(text)), token_digest=token_digest(token), now=transaction.unix
    )
    if row is None or authenticate_display(transaction, token) is None:
        return None
    throttle.delete_attempt(transaction, attempt)
    return token


def read_code(text: str) -> str:
    """Return a typed code in the form of its creation.

    >>> read_code(" ab2d-ef3g ")
    'AB2DEF3G'
    """
    return "".join(text[:TOKEN_CHARACTERS_MAX].split()).replace("-", "").upper()


def new_token() -> str:
    return TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)


def revoke_display(transaction: Transaction, caller: Caller, device_id: str) -> None:
    """End a display that the caller could have created; raise KioskDisplayNotFound."""
    display = find_display(transaction, caller, device_id)
    DELETE.run(transaction, id=device_id)
    record_display_event(transaction, REVOKED, caller, display)


def find_display(transaction: Transaction, caller: Caller, device_id: str) -> KioskDisplay:
    """Return a display that the caller could have created; raise KioskDisplayNotFound."""
    row = display_statements(caller.profile).one.one(
        transaction, id=device_id, now=transaction.unix, **caller.parameters
    )
    if row is None:
        raise KioskDisplayNotFound
    return read_display(row)


def list_displays(transaction: Transaction, caller: Caller) -> list[KioskDisplay]:
    """Return the displays that the caller could have created, those that ended in the last 30 days included."""
    rows = display_statements(caller.profile).all.all(transaction, now=transaction.unix, **caller.parameters)
    return [with_state(transaction, read_display(row), int(row[8] or 0)) for row in rows]


def with_state(transaction: Transaction, display: KioskDisplay, tokens_since: int) -> KioskDisplay:
    """Return the display with its end, or with the reason why it shows nothing."""
    if display.expires_at <= transaction.unix:
        return replace(display, has_ended=True, is_dark_because=EXPIRED)
    if display.created_at < tokens_since:
        return replace(display, has_ended=True, is_dark_because=SESSIONS_ENDED)
    reason = why_maker_is_refused(transaction, display.id, display.user_id)
    return replace(display, has_ended=reason == MAKER_DELETED, is_dark_because=reason)


def read_display(row: tuple[Bound, ...]) -> KioskDisplay:
    """Return the display of a row of DisplayStatements."""
    return KioskDisplay(
        str(row[0]),
        str(row[1]),
        str(row[2]),
        str(row[3]),
        int(row[4] or 0),
        row[5] if isinstance(row[5], int) else None,
        int(row[6] or 0),
        row[7] is None,
    )


def token_digest(token: str) -> str:
    """Return the digest of a token. A token has 256 random bits and needs neither salt nor slow hash."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


# Statements

USERS = User.__table__
NOW = parameter("now", sa.BigInteger)

BY_DIGEST = PreparedStatement(
    sa.select(
        DEVICES.c.id,
        DEVICES.c.user_id,
        DEVICES.c.created_at,
        DEVICES.c.last_seen_at,
        DEVICES.c.expires_at,
        USERS.c.role,
        USERS.c.client_id,
        DEVICES.c.name,
    )
    .select_from(DEVICES.join(USERS, USERS.c.id == DEVICES.c.user_id))
    .where(DEVICES.c.token_digest == parameter("token_digest"), DEVICES.c.expires_at > NOW)
)
INSERT = PreparedStatement(
    sa.insert(DEVICES).values(
        id=parameter("id"),
        user_id=parameter("user_id"),
        name=parameter("name"),
        token_digest=parameter("token_digest"),
        created_at=parameter("created_at"),
        expires_at=parameter("expires_at"),
        code_digest=parameter("code_digest"),
        code_expires_at=parameter("code_expires_at"),
    )
)
PAIR = PreparedStatement(
    sa.update(DEVICES)
    .where(DEVICES.c.code_digest == parameter("code_digest"), DEVICES.c.code_expires_at > NOW)
    .values(token_digest=parameter("token_digest"), code_digest=sa.null(), code_expires_at=sa.null())
    .returning(DEVICES.c.id)
)
"""Gives the display with a code its token. The code ends."""
UPDATE_LAST_SEEN = PreparedStatement(
    sa.update(DEVICES).where(DEVICES.c.id == parameter("id")).values(last_seen_at=parameter("now"))
)
DELETE = PreparedStatement(sa.delete(DEVICES).where(DEVICES.c.id == parameter("id")))
TOKENS_SINCE = sa.func.coalesce(
    sa.select(CREDENTIALS.c.tokens_since).where(CREDENTIALS.c.user_id == DEVICES.c.user_id).scalar_subquery(), 0
)
IS_PAIRABLE = sa.or_(DEVICES.c.code_expires_at.is_(None), DEVICES.c.code_expires_at > NOW)
"""Whether the display is paired or has a valid code."""
LONG_AGO = NOW - sa.literal(ENDED_LISTED_DAYS * DAY_SECONDS)
DELETE_ENDED = PreparedStatement(
    sa.delete(DEVICES).where(
        sa.or_(
            DEVICES.c.expires_at <= LONG_AGO,
            sa.and_(DEVICES.c.created_at < TOKENS_SINCE, TOKENS_SINCE <= LONG_AGO),
            sa.not_(IS_PAIRABLE),
        )
    )
)
COUNT_OF_USER = PreparedStatement(
    sa.select(sa.func.count())
    .select_from(DEVICES)
    .where(
        DEVICES.c.user_id == parameter("user_id", UUID.storage),
        DEVICES.c.expires_at > NOW,
        DEVICES.c.created_at >= TOKENS_SINCE,
    )
)
"""Counts the displays with a user's view that have not ended."""


@dataclass(frozen=True, slots=True)
class DisplayStatements:
    """The statements for the displays that a caller could have created: all, and one by its id."""

    all: PreparedStatement
    one: PreparedStatement


@lru_cache(GRANT_PROFILES_MAX)
def display_statements(profile: GrantProfile) -> DisplayStatements:
    """Return the statements for the displays of the caller and of the users that they may change."""
    may_change = AccessRule(profile).rows(Action.UPDATE, User, USERS.c)
    own_user = USERS.c.id == parameter("caller_id", UUID.storage)
    displays = (
        sa.select(
            DEVICES.c.id,
            DEVICES.c.user_id,
            USERS.c.name,
            DEVICES.c.name,
            DEVICES.c.created_at,
            DEVICES.c.last_seen_at,
            DEVICES.c.expires_at,
            DEVICES.c.code_expires_at,
            TOKENS_SINCE,
        )
        .select_from(DEVICES.join(USERS, USERS.c.id == DEVICES.c.user_id))
        .where(sa.or_(may_change, own_user), DEVICES.c.expires_at > LONG_AGO, IS_PAIRABLE)
    )
    return DisplayStatements(
        PreparedStatement(displays.order_by(DEVICES.c.created_at, DEVICES.c.id).limit(LISTED_MAX)),
        PreparedStatement(displays.where(DEVICES.c.id == parameter("id"))),
    )

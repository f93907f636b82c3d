"""Kiosk displays: long-lived tokens that show one user's view and permit no changes.

The creator of a display sees a short code. The first browser that enters the code gets the token. Wrong codes are
counted by their origin. The database stores digests of both. The creator knew the code, so a display also stops when
its creator loses the right to create it.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import Final

import sqlalchemy as sa

from access import session
from access.accounts import administration, long_lived_tokens, password, people
from access.accounts.administration import UserNotAllowed, UserNotFound
from access.accounts.long_lived_tokens import (
    IS_DISPLAY,
    NAME_BYTES_MAX,
    TOKENS_SINCE,
    Token,
    count_tokens,
    delete_token,
    read_tokens,
)
from access.caller import Caller
from access.session import InvalidApiKey, look_up_key
from engine.interface.database import Transaction
from engine.open import database
from engine.query.statement import Action
from models.credential import DISPLAY, TokenRow
from models.types import Bound, Fault, new_uuid

RELATION: Final = "devices"  # of the audit log's entries
CREATED, REVOKED = "create_kiosk_display", "revoke_kiosk_display"  # actions of the audit log

MAKER_DELETED: Final = "The user who made it was deleted."
MAKER_DEACTIVATED: Final = "The user who made it is deactivated."
MAKER_LOST_RIGHT: Final = "The user who made it may no longer make it."


def why_maker_is_refused(transaction: Transaction, maker_id: Bound, user_id: str) -> str | None:
    """Return why the maker of a display for a user could not make it now; None if they could."""
    if maker_id is None:
        return MAKER_DELETED
    if str(maker_id) == user_id:
        return None
    maker = people.by_id(transaction, str(maker_id))
    caller = session.caller_of_user(transaction, str(maker_id))
    assert maker is not None
    assert caller is not None
    if maker.is_disabled(transaction.unix):
        return MAKER_DEACTIVATED
    try:
        administration.find_user(transaction, caller, user_id, Action.UPDATE)
    except (UserNotFound, UserNotAllowed):
        return MAKER_LOST_RIGHT
    return None


DISPLAYS_PER_USER_MAX = 100  # with the view of one user
TOKEN_CHARACTERS_MAX = 128
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"  # without the look-alikes 0, O, 1, I and L
CODE_CHARACTERS = 8
CODE_SECONDS = 10 * 60
DAYS_MAX = 366
DAY_SECONDS = 24 * 3_600
LAST_SEEN_SECONDS = 3_600  # fewer writes: a display sends a request every 30 s
LISTED_MAX = 1_000  # per list
ENDED_LISTED_DAYS = 30  # an ended display stays in the list for this time, with the reason

SESSIONS_ENDED = "Its user has a new password or signed out everywhere."
EXPIRED = "Its time is over."


class InvalidKioskDisplay(Fault, status=400):
    """The name or the duration is invalid, or the user has the maximum number of displays."""


class KioskDisplayNotFound(Fault, status=404):
    """The display does not exist, or is hidden from the caller. The error does not reveal which."""

    def __init__(self) -> None:
        super().__init__("There is no such kiosk display")


@dataclass(frozen=True, slots=True)
class KioskDisplay(Token):
    """A kiosk display and the user whose view it shows."""

    has_ended: bool = False
    """Whether it never shows anything again."""
    is_dark_because: str | None = None
    """Why it shows nothing, if it has ended or while its maker lacks the right to make it."""

    @property
    def is_paired(self) -> bool:
        return self.code_expires_at is None


@dataclass(frozen=True, slots=True)
class DisplayRequest:
    """A request of a kiosk display. `caller` is the user whose view it shows."""

    caller: Caller
    device_id: str
    name: str
    is_due: bool
    is_public: bool


def authenticate_display(transaction: Transaction, token: str) -> DisplayRequest | None:
    """Return the request of the display with a token, or None if the token is not in force."""
    if len(token) > TOKEN_CHARACTERS_MAX:
        return None
    try:
        caller = look_up_key(transaction, session.token_digest(token, DISPLAY))
    except InvalidApiKey:
        return None
    display = transaction.execute(sa.select(TokenRow).where(TokenRow.id == caller.api_key_id)).first()
    if display is None or caller.id is None:
        return None
    if why_maker_is_refused(transaction, display.created_by, caller.id) is not None:
        return None
    is_due = (display.last_used_at or 0) + LAST_SEEN_SECONDS <= transaction.unix
    return DisplayRequest(caller, display.id, display.name, is_due, display.is_public == 1)


def record_last_seen(request: DisplayRequest) -> None:
    """Update the time of the display's last request if it is due and the write lock is free soon."""
    if request.is_due:
        long_lived_tokens.record_use(database(), request.device_id)


def create_display(
    transaction: Transaction, caller: Caller, user_id: str, name: str, days: int, *, is_public: bool = True
) -> tuple[str, str]:
    """Create a display with a user's view; return its id and the code that pairs it.

    Raise InvalidKioskDisplay, UserNotFound or UserNotAllowed.
    """
    stripped = long_lived_tokens.read_name(name)
    if stripped is None:
        raise InvalidKioskDisplay(f"A kiosk display needs a name of at most {NAME_BYTES_MAX} bytes")
    if not 1 <= days <= DAYS_MAX:
        raise InvalidKioskDisplay(f"A kiosk display lasts between 1 and {DAYS_MAX} days")
    person = long_lived_tokens.find_owner(transaction, caller, user_id)
    if person.is_disabled(transaction.unix):
        raise InvalidKioskDisplay("The user is deactivated: a kiosk display would show nothing")
    delete_ended(transaction)
    if count_tokens(transaction, user_id, IS_DISPLAY) >= DISPLAYS_PER_USER_MAX:
        raise InvalidKioskDisplay(f"There are {DISPLAYS_PER_USER_MAX} kiosk displays with this view: revoke one first")
    # As for other tokens without a session: it counts only from `tokens_since` on.
    created_at = max(transaction.unix, person.tokens_since)
    display = KioskDisplay(
        id=new_uuid(),
        use=DISPLAY,
        user_id=user_id,
        created_by=caller.id or user_id,
        is_read_only=True,
        user_name=person.name,
        name=stripped,
        created_at=created_at,
        expires_at=created_at + days * DAY_SECONDS,
        code_expires_at=transaction.unix + CODE_SECONDS,
        tokens_since=person.tokens_since,
        is_public=is_public,
    )
    code = "".join(secrets.choice(CODE_ALPHABET) for _ in range(CODE_CHARACTERS))
    _, digest = long_lived_tokens.new_secret(DISPLAY)
    long_lived_tokens.insert_token(transaction, display, digest, token_digest(code))
    long_lived_tokens.record_event(transaction, CREATED, RELATION, caller, display, is_public=is_public)
    return display.id, code


def pair_display(transaction: Transaction, text: str, origin: str) -> str | None:
    """Return a new token for the display with a code, which ends the code; None if no display has it.

    A wrong code is recorded. Raise RateLimitExceeded after too many.
    """
    token, digest = long_lived_tokens.new_secret(DISPLAY)
    has_code = TokenRow.code_digest == token_digest(read_code(text))
    display = sa.update(TokenRow).where(has_code, TokenRow.code_expires_at > transaction.unix)
    paired = transaction.execute(display.values(digest=digest, code_digest=None, code_expires_at=None))
    if paired.rowcount and authenticate_display(transaction, token) is not None:
        return token
    password.record_wrong_guess(transaction, password.KIOSK, origin)
    return None


def read_code(text: str) -> str:
    """Return a typed code in the form of its creation.

    >>> read_code(" ab2d-ef3g ")
    'AB2DEF3G'
    """
    return "".join(text[:TOKEN_CHARACTERS_MAX].split()).replace("-", "").upper()


def revoke_display(transaction: Transaction, caller: Caller, device_id: str) -> None:
    """End a display that the caller could have created; raise KioskDisplayNotFound."""
    display = find_display(transaction, caller, device_id)
    delete_token(transaction, device_id)
    long_lived_tokens.record_event(transaction, REVOKED, RELATION, caller, display)


def find_display(transaction: Transaction, caller: Caller, device_id: str) -> KioskDisplay:
    """Return a display that the caller could have created; raise KioskDisplayNotFound."""
    displays = read_displays(transaction, caller, TokenRow.id == device_id)
    if not displays:
        raise KioskDisplayNotFound
    return displays[0]


def list_displays(transaction: Transaction, caller: Caller) -> list[KioskDisplay]:
    """Return the displays that the caller could have created, with the ones of the last 30 days that have ended."""
    return [with_state(transaction, display) for display in read_displays(transaction, caller)]


def read_displays(transaction: Transaction, caller: Caller, *conditions: sa.ColumnElement[bool]) -> list[KioskDisplay]:
    is_listed = sa.and_(TokenRow.expires_at > long_ago(transaction), is_pairable(transaction))
    return read_tokens(transaction, caller, KioskDisplay, IS_DISPLAY, is_listed, *conditions, limit=LISTED_MAX)


def delete_ended(transaction: Transaction) -> None:
    """Delete the displays that no list shows any more."""
    ended = long_ago(transaction)
    have_tokens_ended = sa.and_(TokenRow.created_at < TOKENS_SINCE, ended >= TOKENS_SINCE)
    has_ended = sa.or_(TokenRow.expires_at <= ended, have_tokens_ended, sa.not_(is_pairable(transaction)))
    transaction.execute(sa.delete(TokenRow).where(IS_DISPLAY, has_ended))


def long_ago(transaction: Transaction) -> int:
    """Return the time after which an ended display is listed."""
    return transaction.unix - ENDED_LISTED_DAYS * DAY_SECONDS


def is_pairable(transaction: Transaction) -> sa.ColumnElement[bool]:
    """Return the condition that a display is paired or has a valid code."""
    return sa.or_(TokenRow.code_expires_at.is_(None), TokenRow.code_expires_at > transaction.unix)


def with_state(transaction: Transaction, display: KioskDisplay) -> KioskDisplay:
    """Return the display with its end, or with the reason why it shows nothing."""
    if (display.expires_at or 0) <= transaction.unix:
        return replace(display, has_ended=True, is_dark_because=EXPIRED)
    if display.created_at < display.tokens_since:
        return replace(display, has_ended=True, is_dark_because=SESSIONS_ENDED)
    reason = why_maker_is_refused(transaction, display.created_by, display.user_id)
    return replace(display, has_ended=reason == MAKER_DELETED, is_dark_because=reason)


def token_digest(text: str) -> str:
    """Return the digest of a display's token or code."""
    return session.token_digest(text, DISPLAY).text

"""Rate limits of sign-in attempts and wrong calendar links, counted in the database for all workers and restarts.

An attempt is committed before its password is hashed and deleted if the password is right, so 40 concurrent attempts
cause 10 hashes. The account is stored as a digest of the normalized e-mail, whether or not it exists. Origins from
which a user signed in recently have a count of their own, so attempts from other origins do not lock the user out.
"""

from __future__ import annotations

import hashlib
import ipaddress
import unicodedata
from dataclasses import dataclass

import sqlalchemy as sa

from engine.interface.transaction import Transaction
from engine.prepared import PreparedStatement
from engine.query.statement import parameter
from models.credential import ATTEMPTS, ORIGINS
from models.errors import Fault
from models.types import UUID

WINDOW_SECONDS = 15 * 60
ACCOUNT_ATTEMPTS_MAX = 10
ORIGIN_ATTEMPTS_MAX = 100
ORIGIN_KNOWN_SECONDS = 30 * 24 * 3_600
EMAIL_TAKEN_SECONDS = 3_600
ADDRESS_BITS_V6 = 64  # a client controls its whole /64 network

SIGN_IN, EMAIL_TAKEN, CALENDAR = "sign_in", "taken", "calendar"
WINDOWS = {SIGN_IN: WINDOW_SECONDS, EMAIL_TAKEN: EMAIL_TAKEN_SECONDS, CALENDAR: WINDOW_SECONDS}


class RateLimitExceeded(Fault):
    """The limit of attempts is exceeded (429). The client may retry after `retry_after_seconds`."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__("Request rate limit reached", hint="Try again later.")
        self.retry_after_seconds = max(1, retry_after_seconds)


@dataclass(frozen=True, slots=True)
class SignInAttempt:
    """A sign-in attempt for an account. `user_id` is None if there is no such account."""

    subject: str
    origin: str
    user_id: str | None


def sign_in_attempt(email: str, origin: str, user_id: str | None) -> SignInAttempt:
    return SignInAttempt(account_digest(email), origin, user_id)


def account_digest(email: str) -> str:
    """Return the digest of an account: the same for all spellings of its e-mail.

    >>> account_digest("Ada@Acme.example ") == account_digest("ａｄａ@acme.example")
    True
    """
    normalized = unicodedata.normalize("NFKC", email).casefold().strip()
    return hashlib.sha256(normalized.encode("utf-8", "replace")).hexdigest()


# Sign-in attempts


def require_attempts_left(transaction: Transaction, guess: SignInAttempt) -> None:
    """Raise RateLimitExceeded if the account or the origin has reached its limit."""
    now = transaction.unix
    window: dict[str, str | int | None] = {"kind": SIGN_IN, "origin": guess.origin, "since": now - WINDOW_SECONDS}
    of_account = OLDEST_OF_ACCOUNT.one(
        transaction, **window, subject=guess.subject, user_id=guess.user_id, known_since=now - ORIGIN_KNOWN_SECONDS
    )
    for oldest in (of_account, OLDEST_OF_ORIGIN.one(transaction, **window)):
        if oldest is not None:
            raise RateLimitExceeded(int(oldest[0] or 0) + WINDOW_SECONDS - now)


def record_sign_in_attempt(transaction: Transaction, guess: SignInAttempt) -> int:
    """Insert an attempt and return its id for `delete_attempt`; raise RateLimitExceeded."""
    purge(transaction)
    require_attempts_left(transaction, guess)
    return insert_attempt(transaction, SIGN_IN, guess.subject, guess.origin)


def delete_attempt(transaction: Transaction, attempt: int) -> None:
    """Delete an attempt whose password was right."""
    DELETE_ATTEMPT.run(transaction, id=attempt)


def remember_origin(transaction: Transaction, user_id: str, origin: str) -> None:
    """Record a sign-in, so that the origin has a count of its own for the user."""
    DELETE_ORIGINS.run(transaction, user_id=user_id, origin=origin, since=transaction.unix - ORIGIN_KNOWN_SECONDS)
    INSERT_ORIGIN.run(transaction, user_id=user_id, origin=origin, now=transaction.unix)


# Calendar links


def require_calendar_attempts_left(transaction: Transaction, origin: str) -> None:
    """Raise RateLimitExceeded if an origin has asked for too many calendar links that are not in force."""
    now = transaction.unix
    oldest = OLDEST_OF_ORIGIN.one(transaction, kind=CALENDAR, origin=origin, since=now - WINDOW_SECONDS)
    if oldest is not None:
        raise RateLimitExceeded(int(oldest[0] or 0) + WINDOW_SECONDS - now)


def record_calendar_attempt(transaction: Transaction, origin: str) -> None:
    """Insert the attempt of an origin; raise RateLimitExceeded."""
    purge(transaction)
    require_calendar_attempts_left(transaction, origin)
    insert_attempt(transaction, CALENDAR, "", origin)


# Tables


def purge(transaction: Transaction) -> None:
    """Delete the attempts older than their window."""
    for kind, seconds in WINDOWS.items():
        PURGE.run(transaction, kind=kind, since=transaction.unix - seconds)


def insert_attempt(transaction: Transaction, kind: str, subject: str, origin: str) -> int:
    row = INSERT_ATTEMPT.one(transaction, kind=kind, subject=subject, origin=origin, now=transaction.unix)
    assert row is not None
    return int(row[0] or 0)


def limiting_attempt(attempts_max: int, *where: sa.ColumnElement[bool]) -> PreparedStatement:
    """Return the statement for the time of the attempt that has to expire before the next one.

    It selects no row if the limit is not reached.
    """
    return PreparedStatement(
        sa.select(ATTEMPTS.c.at)
        .where(ATTEMPTS.c.kind == parameter("kind"), ATTEMPTS.c.at > parameter("since", sa.BigInteger), *where)
        .order_by(ATTEMPTS.c.at.desc(), ATTEMPTS.c.id.desc())
        .limit(1)
        .offset(attempts_max - 1)
    )


SAME_SUBJECT = ATTEMPTS.c.subject == parameter("subject")
SAME_ORIGIN = ATTEMPTS.c.origin == parameter("origin", sa.Text)
KNOWN_ORIGINS = sa.select(ORIGINS.c.origin).where(
    ORIGINS.c.user_id == parameter("user_id", UUID.storage), ORIGINS.c.at > parameter("known_since", sa.BigInteger)
)
ORIGIN_IS_KNOWN = parameter("origin", sa.Text).in_(KNOWN_ORIGINS)
# For an unknown origin all attempts count, so the limit does not reveal whether an origin is known.
COUNTED_ORIGINS = sa.case((ORIGIN_IS_KNOWN, SAME_ORIGIN), else_=sa.true())

OLDEST_OF_ACCOUNT = limiting_attempt(ACCOUNT_ATTEMPTS_MAX, SAME_SUBJECT, COUNTED_ORIGINS)
OLDEST_OF_ORIGIN = limiting_attempt(ORIGIN_ATTEMPTS_MAX, SAME_ORIGIN)

INSERT_ATTEMPT = PreparedStatement(
    sa.insert(ATTEMPTS)
    .values(kind=parameter("kind"), subject=parameter("subject"), origin=parameter("origin"), at=parameter("now"))
    .returning(ATTEMPTS.c.id)
)
DELETE_ATTEMPT = PreparedStatement(sa.delete(ATTEMPTS).where(ATTEMPTS.c.id == parameter("id")))
PURGE = PreparedStatement(
    sa.delete(ATTEMPTS).where(ATTEMPTS.c.kind == parameter("kind"), ATTEMPTS.c.at <= parameter("since"))
)
DELETE_ORIGINS = PreparedStatement(
    sa.delete(ORIGINS).where(
        ORIGINS.c.user_id == parameter("user_id"),
        sa.or_(ORIGINS.c.at <= parameter("since"), ORIGINS.c.origin == parameter("origin")),
    )
)
INSERT_ORIGIN = PreparedStatement(
    sa.insert(ORIGINS).values(user_id=parameter("user_id"), origin=parameter("origin"), at=parameter("now"))
)


# Addresses


def origin_of(address: str) -> str:
    """Return the text that counts as one address: of an IPv6 address, its network.

    >>> origin_of("192.0.2.7"), origin_of("2001:db8::1:2"), origin_of("::ffff:192.0.2.7"), origin_of("unix:")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7', 'unix:')
    """
    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return address[:64]
    if isinstance(parsed, ipaddress.IPv4Address) or parsed.ipv4_mapped is not None:
        return str(getattr(parsed, "ipv4_mapped", None) or parsed)
    return str(ipaddress.ip_network((int(parsed), ADDRESS_BITS_V6), strict=False))

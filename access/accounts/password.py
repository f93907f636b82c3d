"""Passwords: Argon2id hashes, the deadline of a sign-in, and the rate limits of sign-ins, links and codes.

A hash is text that contains its own parameters. Verification takes as long without an account as with one. The queue
for hashing and the wait for the write lock share three seconds. The database counts attempts, for all workers and
across restarts. An attempt is committed before its password is hashed. It is deleted if the password is right, so 40
concurrent attempts cause 10 hashes. The account is stored as a digest of the normalized e-mail, whether or not it
exists. Origins from which a user signed in recently have a count of their own. So attempts from other origins do not
lock the user out. Wrong calendar links and kiosk codes are counted apart from passwords. A right one is never refused
for wrong ones.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import threading
import time
import unicodedata
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass

import sqlalchemy as sa
from argon2 import PasswordHasher, Type
from argon2.exceptions import InvalidHashError, VerificationError

from engine.interface.database import Transaction
from engine.open import database
from models.credential import Attempt, Origin
from models.types import AccountFault, Fault

RESPONSE_SECONDS_MAX = 3.0  # Supabase's Python client gives up after five
WORK_SECONDS = 0.4  # reserved for a hash and two commits on slow hardware


@dataclass(frozen=True, slots=True)
class Deadline:
    """The time, on the monotonic clock in seconds, at which all waiting ends."""

    at: float

    def left(self) -> float:
        """Return the seconds left, at least 0."""
        return max(0.0, self.at - time.monotonic())

    def writing(self) -> AbstractContextManager[Transaction]:
        """Return a write transaction that waits for the write lock until the deadline."""
        left = self.left()
        transaction: AbstractContextManager[Transaction] = database().writing(
            seconds_max=left + WORK_SECONDS, wait_seconds_max=left
        )
        return transaction


def deadline(began: float) -> Deadline:
    """Return the deadline of a request that began at a monotonic time."""
    return Deadline(began + RESPONSE_SECONDS_MAX - WORK_SECONDS)


MEMORY_KIBIBYTES, PASSES, LANES = 19 * 1024, 2, 1  # OWASP's recommendation
HASH_BYTES, SALT_BYTES = 32, 16
PASSWORD_BYTES_MAX = 1_024  # hashing reads every byte
PASSWORD_CHARACTERS_MIN = 8
HASHES_MAX = 1  # in this process; a hash takes 19 MiB
QUEUE_MAX = 24  # requests that hash or wait to; fewer than threads, and their hashes take less than 3 s
RETRY_SECONDS = 1

HASHER = PasswordHasher(
    time_cost=PASSES,
    memory_cost=MEMORY_KIBIBYTES,
    parallelism=LANES,
    hash_len=HASH_BYTES,
    salt_len=SALT_BYTES,
    type=Type.ID,
)


class WeakPassword(AccountFault, code="weak_password"):
    """A new password is too short. `reasons` are those of GoTrue."""

    reasons = ("length",)


class InvalidPassword(AccountFault):
    """A password that no account can have: empty, too long, or with a NUL or an unpaired surrogate."""


class HashQueueFull(AccountFault, code="over_request_rate_limit", status=429):
    """Too many requests wait to hash, or the deadline passed meanwhile. The client may retry."""

    retry_after_seconds = RETRY_SECONDS


def zeros(count: int) -> str:
    return base64.b64encode(bytes(count)).rstrip(b"=").decode()


DUMMY_HASH = f"$argon2id$v=19$m={MEMORY_KIBIBYTES},t={PASSES},p={LANES}${zeros(SALT_BYTES)}${zeros(HASH_BYTES)}"
"""The hash that is verified if there is none, to take the same time. No known password has it."""

HASHING_SLOTS = threading.BoundedSemaphore(HASHES_MAX)
HASHING_QUEUE = threading.BoundedSemaphore(QUEUE_MAX)


class PasswordHashing:
    """The hashing operations, for the holder of a slot. Verifying and hashing take tens of milliseconds each."""

    def verify(self, password_hash: str | None, password: str) -> bool:
        """Return whether a password matches a hash. Without a hash, verify DUMMY_HASH to take the same time."""
        try:
            return HASHER.verify(password_hash or DUMMY_HASH, password)
        except InvalidHashError:
            return self.verify(None, password)
        except VerificationError:
            return False

    def hash(self, password: str) -> str:
        return HASHER.hash(password)

    def rehash(self, password_hash: str, password: str) -> str | None:
        """Return a new hash of the right password if the parameters have changed, else None."""
        return HASHER.hash(password) if HASHER.check_needs_rehash(password_hash) else None


@contextmanager
def password_hashing(deadline: Deadline) -> Iterator[PasswordHashing]:
    """Wait for the right to hash; raise HashQueueFull at the deadline, or at once if the queue is full."""
    with hold_slot(HASHING_QUEUE, 0), hold_slot(HASHING_SLOTS, deadline.left()):
        yield PasswordHashing()


@contextmanager
def hold_slot(slots: threading.BoundedSemaphore, wait_seconds_max: float) -> Iterator[None]:
    """Hold a slot; raise HashQueueFull if none is free in time."""
    if not slots.acquire(timeout=wait_seconds_max):
        raise HashQueueFull("Too many people are signing in at once; try again.")
    try:
        yield
    finally:
        slots.release()


def require_valid(password: str) -> None:
    """Raise InvalidPassword, before any hash, if no account can have this password."""
    if not password:
        raise InvalidPassword("The password is empty")
    if "\0" in password:
        raise InvalidPassword("A password cannot hold a NUL")
    if len(password.encode("utf-8", "surrogatepass")) > PASSWORD_BYTES_MAX:
        raise InvalidPassword(f"Password cannot be longer than {PASSWORD_BYTES_MAX} bytes")
    try:
        password.encode()
    except UnicodeEncodeError:
        raise InvalidPassword("A password cannot hold an unpaired surrogate") from None


def require_valid_new(password: str) -> None:
    """Raise WeakPassword or InvalidPassword, before any hash, if a password is not fit to be set."""
    if len(password) < PASSWORD_CHARACTERS_MIN:
        raise WeakPassword(
            f"Password should be at least {PASSWORD_CHARACTERS_MIN} characters.", hint="Choose a longer one."
        )
    require_valid(password)


def hash_new_password(password: str) -> str:
    """Return the hash of a new password, without a deadline: for commands."""
    require_valid_new(password)
    with HASHING_SLOTS:
        return HASHER.hash(password)


WINDOW_SECONDS = 15 * 60
ACCOUNT_ATTEMPTS_MAX = 10
ORIGIN_ATTEMPTS_MAX = 100
ORIGIN_KNOWN_SECONDS = 30 * 24 * 3_600
EMAIL_TAKEN_SECONDS = 3_600
EMAIL_CHARACTERS_MAX = 320  # of which NFKC is computed: its time is quadratic in combining marks
ADDRESS_BITS_V6 = 64  # a client controls its whole /64 network

SIGN_IN, EMAIL_TAKEN, CALENDAR, KIOSK = "sign_in", "taken", "calendar", "kiosk"
WINDOWS = {SIGN_IN: WINDOW_SECONDS, EMAIL_TAKEN: EMAIL_TAKEN_SECONDS, CALENDAR: WINDOW_SECONDS, KIOSK: WINDOW_SECONDS}


class RateLimitExceeded(Fault, code="PGRST429"):
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
    normalized = unicodedata.normalize("NFKC", email[:EMAIL_CHARACTERS_MAX]).casefold().strip()
    return hashlib.sha256(normalized.encode("utf-8", "replace")).hexdigest()


# Sign-in attempts


def require_attempts_left(transaction: Transaction, guess: SignInAttempt) -> None:
    """Raise RateLimitExceeded if the account or the origin has reached its limit."""
    known_since = transaction.unix - ORIGIN_KNOWN_SECONDS
    known_origins = sa.select(Origin.origin).where(Origin.user_id == guess.user_id, Origin.at > known_since)
    is_known = sa.literal(guess.origin, sa.Text).in_(known_origins)
    # For an unknown origin all attempts count, so the limit does not reveal whether an origin is known.
    is_counted = sa.case((is_known, Attempt.origin == guess.origin), else_=sa.true())
    require_below(transaction, SIGN_IN, ACCOUNT_ATTEMPTS_MAX, Attempt.subject == guess.subject, is_counted)
    require_below(transaction, SIGN_IN, ORIGIN_ATTEMPTS_MAX, Attempt.origin == guess.origin)


def record_sign_in_attempt(transaction: Transaction, guess: SignInAttempt) -> int:
    """Insert an attempt and return its id for `delete_attempt`; raise RateLimitExceeded."""
    purge(transaction)
    require_attempts_left(transaction, guess)
    return insert_attempt(transaction, SIGN_IN, guess.subject, guess.origin)


def delete_attempt(transaction: Transaction, attempt: int) -> None:
    """Delete an attempt whose password was right."""
    transaction.execute(sa.delete(Attempt).where(Attempt.id == attempt))


def remember_origin(transaction: Transaction, user_id: str, origin: str) -> None:
    """Record a sign-in, so that the origin has a count of its own for the user."""
    is_old = sa.or_(Origin.at <= transaction.unix - ORIGIN_KNOWN_SECONDS, Origin.origin == origin)
    transaction.execute(sa.delete(Origin).where(Origin.user_id == user_id, is_old))
    transaction.execute(sa.insert(Origin).values(user_id=user_id, origin=origin, at=transaction.unix))


# Wrong links and codes


def require_guesses_left(transaction: Transaction, kind: str, origin: str) -> None:
    """Raise RateLimitExceeded if an origin has sent too many wrong links or codes of a kind."""
    require_below(transaction, kind, ORIGIN_ATTEMPTS_MAX, Attempt.origin == origin)


def record_wrong_guess(transaction: Transaction, kind: str, origin: str) -> None:
    """Insert a wrong link or code of an origin; raise RateLimitExceeded."""
    purge(transaction)
    require_guesses_left(transaction, kind, origin)
    insert_attempt(transaction, kind, "", origin)


# Tables


def purge(transaction: Transaction) -> None:
    """Delete the attempts older than their window."""
    is_past = (sa.and_(Attempt.kind == kind, Attempt.at <= transaction.unix - WINDOWS[kind]) for kind in WINDOWS)
    transaction.execute(sa.delete(Attempt).where(sa.or_(*is_past)))


def insert_attempt(transaction: Transaction, kind: str, subject: str, origin: str) -> int:
    attempt = sa.insert(Attempt).values(kind=kind, subject=subject, origin=origin, at=transaction.unix)
    attempt_id: int = transaction.execute(attempt.returning(Attempt.id)).scalar_one()
    return attempt_id


def require_below(transaction: Transaction, kind: str, attempts_max: int, *conditions: sa.ColumnElement[bool]) -> None:
    """Raise RateLimitExceeded if attempts of a kind with these conditions have reached the limit."""
    attempts = sa.select(Attempt.at).where(
        Attempt.kind == kind, Attempt.at > transaction.unix - WINDOWS[kind], *conditions
    )
    newest_first = attempts.order_by(Attempt.at.desc(), Attempt.id.desc())
    # The attempt that has to expire before the next one.
    oldest = transaction.execute(newest_first.limit(1).offset(attempts_max - 1)).scalar()
    if oldest is not None:
        raise RateLimitExceeded(oldest + WINDOWS[kind] - transaction.unix)


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

"""May somebody guess once more? Tries are counted in the database, for all workers and across restarts.

A try is written down, and committed, before its password is hashed, and taken back when it was right:
forty guesses at once are ten hashes. Whom it is aimed at is kept as a digest of the e-mail as a reader
sees it, whether or not that account exists. Where an account has signed in from lately is counted
apart, so that guesses from elsewhere lock nobody out.
"""

from __future__ import annotations

import hashlib
import ipaddress
import unicodedata
from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from engine.query.prepared import Prepared
from engine.query.statement import parameter
from engine.storage.transaction import Transaction
from models.credential import ATTEMPTS
from models.credential import ORIGINS
from models.errors import Fault
from models.types import UUID

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Address = ipaddress.IPv4Address | ipaddress.IPv6Address

WINDOW_SECONDS = 15 * 60
ACCOUNT_TRIES_MAX = 10
ORIGIN_TRIES_MAX = 100
ORIGIN_KNOWN_SECONDS = 30 * 24 * 3_600
TAKEN_SECONDS = 3_600
ADDRESS_BITS_V6 = 64  # whoever has one IPv6 address has the other 2^64 of its network too

SIGN_IN, TAKEN = "sign_in", "taken"
WINDOWS = {SIGN_IN: WINDOW_SECONDS, TAKEN: TAKEN_SECONDS}


class TooManyTries(Fault):
    """More tries than are allowed (429); `retry_after_seconds` says when the next one is."""

    def __init__(self, retry_after_seconds: int) -> None:
        super().__init__("Request rate limit reached", hint="Try again later.")
        self.retry_after_seconds = max(1, retry_after_seconds)


@dataclass(frozen=True, slots=True)
class Guess:
    """A password tried for an account, be there such an account (`user_id`) or not."""

    subject: str
    origin: str
    user_id: str | None


def guess_at(email: str, origin: str, user_id: str | None) -> Guess:
    return Guess(digest(email), origin, user_id)


def digest(email: str) -> str:
    """Whom a try is aimed at: one account, however its e-mail is written.

    >>> digest("Ada@Acme.example ") == digest("ａｄａ@acme.example")
    True
    """
    seen = unicodedata.normalize("NFKC", email).casefold().strip()
    return hashlib.sha256(seen.encode("utf-8", "replace")).hexdigest()


# Guesses at passwords


def require_tries_left(transaction: Transaction, guess: Guess) -> None:
    """Refuse a guess when its account or its origin has used up the tries of the window."""
    now = transaction.unix
    window: dict[str, str | int | None] = {
        "kind": SIGN_IN,
        "origin": guess.origin,
        "since": now - WINDOW_SECONDS,
    }
    of_account = OLDEST_OF_ACCOUNT.one(
        transaction,
        **window,
        subject=guess.subject,
        user_id=guess.user_id,
        known_since=now - ORIGIN_KNOWN_SECONDS,
    )
    for oldest in (of_account, OLDEST_OF_ORIGIN.one(transaction, **window)):
        if oldest is not None:
            raise TooManyTries(int(oldest[0] or 0) + WINDOW_SECONDS - now)


def count_guess(transaction: Transaction, guess: Guess) -> int:
    """Write a guess down before it is made; `take_back` wants the number returned."""
    purge(transaction)
    require_tries_left(transaction, guess)
    return write_down(transaction, SIGN_IN, guess.subject, guess.origin)


def take_back(transaction: Transaction, attempt: int) -> None:
    """A guess that was right was none."""
    DELETE_ATTEMPT.run(transaction, id=attempt)


def remember_origin(transaction: Transaction, user_id: str, origin: str) -> None:
    """Somebody signed in from here: from now on others' guesses do not shut this door."""
    FORGET_ORIGINS.run(
        transaction, user_id=user_id, origin=origin, since=transaction.unix - ORIGIN_KNOWN_SECONDS
    )
    INSERT_ORIGIN.run(transaction, user_id=user_id, origin=origin, now=transaction.unix)


# The tables


def purge(transaction: Transaction) -> None:
    """Forget what no window reaches any more."""
    for kind, seconds in WINDOWS.items():
        PURGE.run(transaction, kind=kind, since=transaction.unix - seconds)


def write_down(transaction: Transaction, kind: str, subject: str, origin: str) -> int:
    made = INSERT_ATTEMPT.one(
        transaction, kind=kind, subject=subject, origin=origin, now=transaction.unix
    )
    assert made is not None
    return int(made[0] or 0)


def oldest_of(tries_max: int, *where: sa.ColumnElement[bool]) -> Prepared:
    """The time of the try that has to leave the window before the next may enter; no row: come in."""
    return Prepared(
        sa.select(ATTEMPTS.c.at)
        .where(
            ATTEMPTS.c.kind == parameter("kind"),
            ATTEMPTS.c.at > parameter("since", sa.BigInteger),
            *where,
        )
        .order_by(ATTEMPTS.c.at.desc(), ATTEMPTS.c.id.desc())
        .limit(1)
        .offset(tries_max - 1)
    )


OF_SUBJECT = ATTEMPTS.c.subject == parameter("subject")
FROM_HERE = ATTEMPTS.c.origin == parameter("origin", sa.Text)
KNOWN = sa.select(ORIGINS.c.origin).where(
    ORIGINS.c.user_id == parameter("user_id", UUID.storage),
    ORIGINS.c.at > parameter("known_since", sa.BigInteger),
)
HERE_IS_KNOWN = parameter("origin", sa.Text).in_(KNOWN)
# Elsewhere tries from known addresses count, too: who is let try on is not told that one of them was known.
APART = sa.case((HERE_IS_KNOWN, FROM_HERE), else_=sa.true())

OLDEST_OF_ACCOUNT = oldest_of(ACCOUNT_TRIES_MAX, OF_SUBJECT, APART)
OLDEST_OF_ORIGIN = oldest_of(ORIGIN_TRIES_MAX, FROM_HERE)

INSERT_ATTEMPT = Prepared(
    sa.insert(ATTEMPTS)
    .values(
        kind=parameter("kind"),
        subject=parameter("subject"),
        origin=parameter("origin"),
        at=parameter("now"),
    )
    .returning(ATTEMPTS.c.id)
)
DELETE_ATTEMPT = Prepared(sa.delete(ATTEMPTS).where(ATTEMPTS.c.id == parameter("id")))
PURGE = Prepared(
    sa.delete(ATTEMPTS).where(
        ATTEMPTS.c.kind == parameter("kind"), ATTEMPTS.c.at <= parameter("since")
    )
)
FORGET_ORIGINS = Prepared(
    sa.delete(ORIGINS).where(
        ORIGINS.c.user_id == parameter("user_id"),
        sa.or_(ORIGINS.c.at <= parameter("since"), ORIGINS.c.origin == parameter("origin")),
    )
)
INSERT_ORIGIN = Prepared(
    sa.insert(ORIGINS).values(
        user_id=parameter("user_id"), origin=parameter("origin"), at=parameter("now")
    )
)


# Where a request comes from


def client_address(peer: str, forwarded: str | None, trusted: Collection[Network]) -> str:
    """Where a request comes from: its peer, or what trusted proxies say of theirs.

    A proxy appends the address it was reached from, so the last hop is what the peer saw; whatever
    stands before it, anybody may have written.

    >>> proxies = [ipaddress.ip_network("10.0.0.0/8")]
    >>> client_address("10.0.0.1", "6.6.6.6, 192.0.2.7", proxies)
    '192.0.2.7'
    >>> client_address("192.0.2.7", "6.6.6.6", proxies)
    '192.0.2.7'
    >>> client_address("2001:db8::1:2", None, proxies)
    '2001:db8::/64'
    """
    hops = [hop.strip() for hop in forwarded.split(",")] if forwarded else []
    found = read_address(peer)
    while found is not None and hops and any(found in network for network in trusted):
        hop = read_address(hops.pop())
        if hop is None:
            break
        found = hop
    return shown(found) if found is not None else peer[:64]


def read_address(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text.strip().removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def shown(address: Address) -> str:
    """What counts as one address."""
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.ip_network((int(address), ADDRESS_BITS_V6), strict=False))
    return str(address)

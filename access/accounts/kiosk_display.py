"""Boards on walls: a token that shows what one user sees, for months, and lets nobody change anything.

Only a digest of a token is kept. Whoever may change a user may give a board that user's view, and
anybody who may change users at all their own. What ends a user's other tokens (a new password, a global
sign-out, another role or client) ends their boards; a ban has them wait. And whoever made a board knows its token: it
shows nothing once they may not make it any more. Who made and who revoked one stands in the audit trail.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from functools import lru_cache

import sqlalchemy as sa

from access import session
from access.accounts import administration
from access.accounts import people
from access.accounts.access_token import Claims
from access.accounts.access_token import RefusedClaims
from access.accounts.administration import STANDINGS_KEPT
from access.accounts.administration import OutOfReach
from access.accounts.administration import UserNotFound
from access.accounts.administration import values_of
from access.caller import Caller
from access.caller import GrantProfile
from access.caller import Role
from access.policy import AccessRule
from engine import audit
from engine.current import writing
from engine.query.prepared import Prepared
from engine.query.rule import Action
from engine.query.statement import parameter
from engine.storage.transaction import Transaction
from models.audit_log import AuditLog
from models.credential import CREDENTIALS
from models.credential import DEVICES
from models.errors import Fault
from models.types import UUID
from models.types import Bound
from models.types import new_uuid
from models.types import read_string
from models.user import User

BOARDS_MAX = 100  # with one person's view: a row each, for a year
TOKEN_BYTES = 32
TOKEN_PREFIX = "wtk_"  # noqa: S105  (it tells whoever finds one what it is)
TOKEN_CHARACTERS_MAX = 128
DAYS_MAX = 366
DAY_SECONDS = 24 * 3_600
NAME_BYTES_MAX = 256
SEEN_SECONDS = 3_600  # flash wears: a board that asks twice a minute is noted once an hour
SEEN_WAIT_SECONDS_MAX = 0.2
MADE, REVOKED = "make_board", "revoke_board"  # in the audit trail
DEVICES_MAX = 1_000  # shown at once


class UnfitDevice(Fault):
    """A board without a name, for longer than any may last, or one more than a person may have."""


class NoSuchDevice(Fault):
    """A board that is not there, or not the caller's to see; nobody is told which."""

    def __init__(self) -> None:
        super().__init__("There is no such board")


@dataclass(frozen=True, slots=True)
class Device:
    """A board, and whose view it has."""

    id: str
    user_id: str
    user_name: str
    name: str
    created_at: int
    last_seen_at: int | None
    expires_at: int


@dataclass(frozen=True, slots=True)
class Seen:
    """A board that is asking, as the caller whose view it has."""

    caller: Caller
    device_id: str
    is_due: bool


def enter(transaction: Transaction, token: str) -> Seen | None:
    """The board of a token that is in force, or None."""
    if len(token) > TOKEN_CHARACTERS_MAX:
        return None
    row = BY_DIGEST.one(transaction, token_digest=digest(token), now=transaction.unix)
    if row is None:
        return None
    device_id, user_id, created_at, last_seen_at, expires_at, role, client_id = row
    assert isinstance(created_at, int)
    assert isinstance(expires_at, int)
    client = client_id if isinstance(client_id, int) else None
    claims = Claims(str(user_id), Role(str(role)), client, created_at, None, expires_at, None)
    try:
        caller = session.look_up_caller(transaction, claims)
    except RefusedClaims:
        return None
    if not may_be_made(transaction, str(device_id), caller):
        return None
    seen_at = last_seen_at if isinstance(last_seen_at, int) else 0
    return Seen(caller, str(device_id), seen_at + SEEN_SECONDS <= transaction.unix)


def may_be_made(transaction: Transaction, device_id: str, shown: Caller) -> bool:
    """Whether whoever made a board could make it now: who has lost that right, or is gone, keeps no view of it."""
    line, made_by = MAKER.one(transaction, row_key=device_id) or (None, None)
    maker_id = str(made_by or shown.id)
    if maker_id == shown.id:  # or it was made by the service key, or before there was a line of it
        return True
    maker = people.by_id(transaction, maker_id)
    caller = session.caller_of_user(transaction, maker_id)
    if maker is None or caller is None or maker.is_disabled(transaction.unix):
        return False
    if GONE.one(transaction, row_key=maker_id, line=line) is not None:
        return False  # somebody else, by their id
    try:
        administration.found(transaction, caller, str(shown.id), Action.UPDATE)
    except (UserNotFound, OutOfReach):
        return False
    return True


def note(transaction: Transaction, action: str, caller: Caller, device: Device) -> None:
    """Write into the audit trail who made a board, or ended it, and whose view it has."""
    seen = people.by_id(transaction, device.user_id)
    audit.note(
        transaction,
        action,
        DEVICES.name,
        actor_id=caller.id,
        client_id=seen.client_id if seen is not None else None,
        row_key=device.id,
        details={"user_id": device.user_id, "name": device.name},
    )


def note_seen(seen: Seen) -> None:
    """Write down that a board was here, if that is due and nobody has to wait for it."""
    if not seen.is_due:
        return
    try:
        with writing(wait_seconds_max=SEEN_WAIT_SECONDS_MAX) as transaction:
            NOTE_SEEN.run(transaction, id=seen.device_id, now=transaction.unix)
    except Fault:
        return  # the next request will do


def make(
    transaction: Transaction, caller: Caller, user_id: str, name: str, days: int
) -> tuple[str, str]:
    """Make a board with a user's view; its id, and the token, which is told this once."""
    named = read_string(name.strip())
    if not named or len(named.encode()) > NAME_BYTES_MAX:
        raise UnfitDevice(f"A board needs a name of at most {NAME_BYTES_MAX} bytes")
    if not 1 <= days <= DAYS_MAX:
        raise UnfitDevice(f"A board lasts between 1 and {DAYS_MAX} days")
    if user_id != caller.id:
        administration.found(transaction, caller, user_id, Action.UPDATE)
    person = people.by_id(transaction, user_id)
    if person is None:
        raise UserNotFound
    FORGET.run(transaction, now=transaction.unix)
    others = COUNT.one(transaction, user_id=user_id)
    if others is not None and int(others[0] or 0) >= BOARDS_MAX:
        raise UnfitDevice(f"There are {BOARDS_MAX} boards with this view: revoke one first")
    device_id = new_uuid()
    token = TOKEN_PREFIX + secrets.token_urlsafe(TOKEN_BYTES)
    # As with any token without a session: it is younger than what ended the older ones.
    created_at = max(transaction.unix, person.tokens_since)
    expires_at = created_at + days * DAY_SECONDS
    INSERT.run(
        transaction,
        id=device_id,
        user_id=user_id,
        name=named,
        token_digest=digest(token),
        created_at=created_at,
        expires_at=expires_at,
    )
    made = Device(device_id, user_id, person.name, named, created_at, None, expires_at)
    note(transaction, MADE, caller, made)
    return device_id, token


def revoke(transaction: Transaction, caller: Caller, device_id: str) -> None:
    """End a board that the caller could have made."""
    reached = within_reach(caller.profile).one.one(
        transaction, id=device_id, now=transaction.unix, **values_of(caller)
    )
    if reached is None:
        raise NoSuchDevice
    DELETE.run(transaction, id=device_id)
    note(transaction, REVOKED, caller, read_device(reached))


def listed(transaction: Transaction, caller: Caller) -> list[Device]:
    """The boards that the caller could have made."""
    rows = within_reach(caller.profile).shown.all(
        transaction, now=transaction.unix, **values_of(caller)
    )
    return [read_device(row) for row in rows]


def read_device(row: tuple[Bound, ...]) -> Device:
    """A board out of a row of those within reach."""
    return Device(
        str(row[0]),
        str(row[1]),
        str(row[2]),
        str(row[3]),
        int(row[4] or 0),
        row[5] if isinstance(row[5], int) else None,
        int(row[6] or 0),
    )


def digest(token: str) -> str:
    """What is kept of a token: it is 256 random bits, so no salt or slow hash adds to it."""
    return hashlib.sha256(token.encode("utf-8", "replace")).hexdigest()


# The statements

USERS = User.__table__
NOW = parameter("now", sa.BigInteger)

BY_DIGEST = Prepared(
    sa.select(
        DEVICES.c.id,
        DEVICES.c.user_id,
        DEVICES.c.created_at,
        DEVICES.c.last_seen_at,
        DEVICES.c.expires_at,
        USERS.c.role,
        USERS.c.client_id,
    )
    .select_from(DEVICES.join(USERS, USERS.c.id == DEVICES.c.user_id))
    .where(DEVICES.c.token_digest == parameter("token_digest"), DEVICES.c.expires_at > NOW)
)
INSERT = Prepared(
    sa.insert(DEVICES).values(
        id=parameter("id"),
        user_id=parameter("user_id"),
        name=parameter("name"),
        token_digest=parameter("token_digest"),
        created_at=parameter("created_at"),
        expires_at=parameter("expires_at"),
    )
)
NOTE_SEEN = Prepared(
    sa.update(DEVICES).where(DEVICES.c.id == parameter("id")).values(last_seen_at=parameter("now"))
)
LINES = AuditLog.__table__


def lines_of(relation: str, action: str) -> sa.ColumnElement[bool]:
    """Of the trail's lines about one row those of an action."""
    return sa.and_(
        LINES.c.relation == sa.literal_column(f"'{relation}'"),
        # As the server's index has it.
        sa.func.substr(LINES.c.row_key, 1, 200) == parameter("row_key", sa.Text),
        LINES.c.row_key == parameter("row_key", sa.Text),
        LINES.c.action == sa.literal_column(f"'{action}'"),
    )


MAKER = Prepared(sa.select(LINES.c.id, LINES.c.actor_id).where(lines_of(DEVICES.name, MADE)))
GONE = Prepared(
    sa.select(LINES.c.id)
    .where(lines_of(User.__tablename__, "delete"), LINES.c.id > parameter("line", sa.BigInteger))
    .limit(1)
)
"""That somebody was deleted after that line."""
DELETE = Prepared(sa.delete(DEVICES).where(DEVICES.c.id == parameter("id")))
LIVES = DEVICES.c.created_at >= sa.func.coalesce(
    sa.select(CREDENTIALS.c.tokens_since)
    .where(CREDENTIALS.c.user_id == DEVICES.c.user_id)
    .scalar_subquery(),
    0,
)
"""Nothing has ended its person's tokens since it was made."""
FORGET = Prepared(sa.delete(DEVICES).where(sa.or_(DEVICES.c.expires_at <= NOW, sa.not_(LIVES))))
COUNT = Prepared(
    sa.select(sa.func.count())
    .select_from(DEVICES)
    .where(DEVICES.c.user_id == parameter("user_id", UUID.storage))
)


@dataclass(frozen=True, slots=True)
class WithinReach:
    """The boards that a caller could have made: those that are shown, and one of them by its id."""

    shown: Prepared
    one: Prepared


@lru_cache(STANDINGS_KEPT)
def within_reach(standing: GrantProfile) -> WithinReach:
    """The boards in force with the view of a user whom the caller may change, or of the caller."""
    changed = AccessRule(standing).rows(Action.UPDATE, User, USERS.c)
    oneself = USERS.c.id == parameter("caller_id", UUID.storage)
    boards = (
        sa.select(
            DEVICES.c.id,
            DEVICES.c.user_id,
            USERS.c.name,
            DEVICES.c.name,
            DEVICES.c.created_at,
            DEVICES.c.last_seen_at,
            DEVICES.c.expires_at,
        )
        .select_from(DEVICES.join(USERS, USERS.c.id == DEVICES.c.user_id))
        .where(sa.or_(changed, oneself), DEVICES.c.expires_at > NOW, LIVES)
    )
    return WithinReach(
        Prepared(boards.order_by(DEVICES.c.created_at, DEVICES.c.id).limit(DEVICES_MAX)),
        Prepared(boards.where(DEVICES.c.id == parameter("id"))),
    )

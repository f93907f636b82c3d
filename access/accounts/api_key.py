"""API keys of users, for programs: each has the rights of one user, and may be read-only.

The database stores a digest of the key. A caller may create a key for themselves and for any user whom they may change.
A new password, a global sign-out, or another role or client of the user ends it; a ban suspends it. The creator knows
the key: it also ends with the creator or with their role or client, and their ban suspends it. The audit log records
creation and revocation. access/session.py looks a key up.

A calendar link is a key of another kind, which only its user creates: its token reads the user's calendar, and nothing
else.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import sqlalchemy as sa

from access.accounts import administration, people
from access.accounts.administration import GRANT_PROFILES_MAX, UserNotFound
from access.caller import Caller
from access.policy import AccessRule, PermissionDenied, has_calendar
from access.roles import GrantProfile
from access.session import CALENDAR_DIGEST, CALENDAR_PREFIX, KEY_PREFIX, KeyDigest, calendar_digest, key_digest
from engine.interface.database import Database
from engine.interface.transaction import Transaction
from engine.prepared import PreparedStatement
from engine.query.rule import Action
from engine.query.statement import parameter
from engine.query.write import audit
from models.credential import API_KEYS, CREDENTIALS
from models.errors import Fault
from models.types import UUID, Bound, new_uuid, read_string
from models.user import User

KEYS_PER_USER_MAX = 100
KEY_BYTES = 32
NAME_BYTES_MAX = 256
USE_SECONDS: Final = 60  # between two records of a key's use
USE_WAIT_SECONDS_MAX = 0.2
USES_REMEMBERED_MAX = 1_024
CREATED, REVOKED = "create_api_key", "revoke_api_key"  # actions of the audit log


class InvalidApiKeyRequest(Fault):
    """The name or the end of a new key is invalid, or the user has the maximum number of keys."""


class ApiKeyNotFound(Fault):
    """The key does not exist, or is hidden from the caller. The error does not reveal which."""

    def __init__(self) -> None:
        super().__init__("There is no such API key")


class CreatedByApiKey(PermissionDenied):
    """An API key tries to create another key, which would outlive its revocation."""

    def __init__(self) -> None:
        super().__init__("permission denied: an API key cannot create an API key", hint="Sign in with a password.")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret. Times are Unix seconds; `expires_at` is None for a key without an end."""

    id: str
    user_id: str
    user_name: str
    name: str
    is_read_only: bool
    created_at: int
    last_used_at: int | None
    expires_at: int | None
    created_by: str | None
    is_calendar_link: bool = False


@dataclass(frozen=True, slots=True)
class NewApiKey:
    """The fields of a request for a key."""

    name: str
    is_read_only: bool = False
    expires_at: int | None = None
    is_calendar_link: bool = False


def new_calendar_link(name: str) -> NewApiKey:
    return NewApiKey(name, is_read_only=True, is_calendar_link=True)


def create_key(transaction: Transaction, caller: Caller, user_id: str, new: NewApiKey) -> tuple[ApiKey, str]:
    """Create a key for a user; return it and its text, which is shown once.

    Raise InvalidApiKeyRequest, CreatedByApiKey, UserNotFound or UserNotAllowed; and PermissionDenied for a calendar
    link of another user, or of one without a calendar.
    """
    if caller.api_key_id is not None:
        raise CreatedByApiKey
    if new.is_calendar_link and not (user_id == caller.id and has_calendar(caller.profile)):
        raise PermissionDenied("permission denied for this calendar")
    name = read_string(new.name.strip())
    if not name or len(name.encode()) > NAME_BYTES_MAX:
        raise InvalidApiKeyRequest(f"An API key needs a name of at most {NAME_BYTES_MAX} bytes")
    if new.expires_at is not None and new.expires_at <= transaction.unix:
        raise InvalidApiKeyRequest("An API key ends in the future: expires_at is in the past")
    require_manageable(transaction, caller, user_id)
    person = people.by_id(transaction, user_id)
    if person is None:
        raise UserNotFound
    DELETE_ENDED.run(transaction, user_id=user_id, now=transaction.unix)
    others = COUNT_OF_USER.one(transaction, user_id=user_id)
    if others is not None and int(others[0] or 0) >= KEYS_PER_USER_MAX:
        raise InvalidApiKeyRequest(f"The user has {KEYS_PER_USER_MAX} API keys: revoke one first")
    text, digest = new_secret(new.is_calendar_link)
    # As for other tokens without a session: it counts only from `tokens_since` on.
    created_at = max(transaction.unix, person.tokens_since)
    key = ApiKey(
        new_uuid(),
        user_id,
        person.name,
        name,
        new.is_read_only,
        created_at,
        None,
        new.expires_at,
        caller.id,
        new.is_calendar_link,
    )
    INSERT.run(
        transaction,
        id=key.id,
        user_id=user_id,
        name=name,
        digest=digest.text,
        read_only=int(key.is_read_only),
        created_at=created_at,
        expires_at=key.expires_at,
        created_by=caller.id,
    )
    record_key_event(transaction, CREATED, caller, key)
    return key, text


def new_secret(is_calendar_link: bool) -> tuple[str, KeyDigest]:
    """Return a new key, or a new token of a calendar link, and its digest."""
    text = (CALENDAR_PREFIX if is_calendar_link else KEY_PREFIX) + secrets.token_urlsafe(KEY_BYTES)
    digest = calendar_digest(text) if is_calendar_link else key_digest(text)
    assert digest is not None
    return text, digest


def revoke_key(transaction: Transaction, caller: Caller, user_id: str, key_id: str) -> bool:
    """End a key of a user, and return whether it was a calendar link.

    Raise ApiKeyNotFound, UserNotFound or UserNotAllowed.
    """
    require_manageable(transaction, caller, user_id)
    statement = key_statements(caller.profile).one
    row = statement.one(transaction, id=key_id, user_id=user_id, now=transaction.unix, **caller.parameters)
    if row is None:
        raise ApiKeyNotFound
    DELETE.run(transaction, id=key_id)
    key = read_api_key(row)
    record_key_event(transaction, REVOKED, caller, key)
    return key.is_calendar_link


def list_keys_of_user(transaction: Transaction, caller: Caller, user_id: str) -> list[ApiKey]:
    """Return the keys of a user, oldest first; raise UserNotFound or UserNotAllowed."""
    require_manageable(transaction, caller, user_id)
    rows = key_statements(caller.profile).of_user.all(
        transaction, user_id=user_id, now=transaction.unix, **caller.parameters
    )
    return [read_api_key(row) for row in rows]


def require_manageable(transaction: Transaction, caller: Caller, user_id: str) -> None:
    """Raise UserNotFound or UserNotAllowed unless the user is the caller, or one whom the caller may change."""
    if user_id != caller.id:
        administration.find_user(transaction, caller, user_id, Action.UPDATE)


def record_key_event(transaction: Transaction, action: str, caller: Caller, key: ApiKey) -> None:
    """Record the creation or revocation of a key in the audit log."""
    user = people.by_id(transaction, key.user_id)
    audit.record_entry(
        transaction,
        action,
        API_KEYS.name,
        actor_id=caller.id,
        client_id=user.client_id if user is not None else None,
        row_key=key.id,
        details={
            "user_id": key.user_id,
            "name": key.name,
            "read_only": key.is_read_only,
            **({"calendar": True} if key.is_calendar_link else {}),
        },
    )


USES: dict[str, float] = {}
"""When this process last recorded the use of a key, on the monotonic clock, by the key's id."""


def is_use_due(key_id: str) -> bool:
    """Return whether the use of a key has to be recorded now. The next answer is False for a minute."""
    now = time.monotonic()
    if now < USES.get(key_id, float("-inf")) + USE_SECONDS:
        return False
    if len(USES) >= USES_REMEMBERED_MAX:
        USES.clear()
    USES[key_id] = now
    return True


def record_use(database: Database, key_id: str) -> None:
    """Store the time of a key's use, unless another process did within a minute or the write lock is not free soon."""
    try:
        with database.writing(wait_seconds_max=USE_WAIT_SECONDS_MAX, is_brief=True) as transaction:
            UPDATE_USE.run(transaction, id=key_id, now=transaction.unix, since=transaction.unix - USE_SECONDS)
    except Fault:
        return  # a later request tries again


def read_api_key(row: tuple[Bound, ...]) -> ApiKey:
    """Return the key of a row of KeyStatements."""
    return ApiKey(
        str(row[0]),
        str(row[1]),
        str(row[2]),
        str(row[3]),
        bool(row[4]),
        int(row[5] or 0),
        row[6] if isinstance(row[6], int) else None,
        row[7] if isinstance(row[7], int) else None,
        str(row[8]) if row[8] is not None else None,
        str(row[9]).startswith(CALENDAR_DIGEST),
    )


# Statements

USERS = User.__table__
NOW = parameter("now", sa.BigInteger)
USER_ID = parameter("user_id", UUID.storage)

INSERT = PreparedStatement(
    sa.insert(API_KEYS).values(
        id=parameter("id"),
        user_id=parameter("user_id"),
        name=parameter("name"),
        digest=parameter("digest"),
        read_only=parameter("read_only"),
        created_at=parameter("created_at"),
        expires_at=parameter("expires_at"),
        created_by=parameter("created_by"),
    )
)
UPDATE_USE = PreparedStatement(
    sa.update(API_KEYS)
    .where(API_KEYS.c.id == parameter("id"), sa.func.coalesce(API_KEYS.c.last_used_at, 0) <= parameter("since"))
    .values(last_used_at=parameter("now"))
)
DELETE = PreparedStatement(sa.delete(API_KEYS).where(API_KEYS.c.id == parameter("id")))
KEY_IN_FORCE = sa.and_(
    sa.or_(API_KEYS.c.expires_at.is_(None), API_KEYS.c.expires_at > NOW),
    API_KEYS.c.created_at
    >= sa.func.coalesce(
        sa.select(CREDENTIALS.c.tokens_since).where(CREDENTIALS.c.user_id == API_KEYS.c.user_id).scalar_subquery(), 0
    ),
)
"""The key has not expired, and the user's tokens have not ended since its creation."""
DELETE_ENDED = PreparedStatement(sa.delete(API_KEYS).where(API_KEYS.c.user_id == USER_ID, sa.not_(KEY_IN_FORCE)))
COUNT_OF_USER = PreparedStatement(sa.select(sa.func.count()).select_from(API_KEYS).where(API_KEYS.c.user_id == USER_ID))


@dataclass(frozen=True, slots=True)
class KeyStatements:
    """The statements for the keys that a caller may revoke: those of a user, and one of these by its id."""

    of_user: PreparedStatement
    one: PreparedStatement


@lru_cache(GRANT_PROFILES_MAX)
def key_statements(profile: GrantProfile) -> KeyStatements:
    """Return the statements for the keys in force of the caller and of the users that they may change."""
    may_change = AccessRule(profile).rows(Action.UPDATE, User, USERS.c)
    own_user = USERS.c.id == parameter("caller_id", UUID.storage)
    keys = (
        sa.select(
            API_KEYS.c.id,
            API_KEYS.c.user_id,
            USERS.c.name,
            API_KEYS.c.name,
            API_KEYS.c.read_only,
            API_KEYS.c.created_at,
            API_KEYS.c.last_used_at,
            API_KEYS.c.expires_at,
            API_KEYS.c.created_by,
            API_KEYS.c.digest,
        )
        .select_from(API_KEYS.join(USERS, USERS.c.id == API_KEYS.c.user_id))
        .where(sa.or_(may_change, own_user), KEY_IN_FORCE)
    )
    of_user = keys.where(API_KEYS.c.user_id == USER_ID)
    order = (API_KEYS.c.created_at, API_KEYS.c.id)
    return KeyStatements(
        PreparedStatement(of_user.order_by(*order)), PreparedStatement(of_user.where(API_KEYS.c.id == parameter("id")))
    )

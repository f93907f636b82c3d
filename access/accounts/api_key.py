"""API keys of users, for programs: each has the rights of one user, and may be read-only.

The creator knows the key: it also ends with the creator or with their role or client, and their ban suspends it.

A calendar link is a key of another kind, which only its user creates: its token reads the user's calendar, and nothing
else.
"""

from __future__ import annotations

from dataclasses import dataclass

import sqlalchemy as sa

from access.accounts import long_lived_tokens
from access.accounts.long_lived_tokens import (
    IS_DISPLAY,
    NAME_BYTES_MAX,
    Token,
    count_tokens,
    delete_token,
    in_force,
    read_tokens,
)
from access.caller import Caller
from access.policy import INSPECTOR_ROLE, PermissionDenied, has_calendar
from engine.interface.database import Transaction
from models.credential import API_KEY, CALENDAR_LINK, TokenRow
from models.inspector import Inspector
from models.types import AccountFault, new_uuid
from models.user import User

KEYS_PER_USER_MAX = 100
RELATION = "api_keys"  # of the audit log's entries
CREATED, REVOKED = "create_api_key", "revoke_api_key"  # actions of the audit log


class InvalidApiKeyRequest(AccountFault):
    """The name or the end of a new key is invalid, or the user is deactivated or has the maximum number of keys."""


class ApiKeyNotFound(AccountFault, code="api_key_not_found", status=404):
    """The key does not exist, or is hidden from the caller. The error does not reveal which."""

    def __init__(self) -> None:
        super().__init__("There is no such API key")


class CreatedByApiKey(PermissionDenied):
    """An API key tries to create another key, which would outlive its revocation."""

    def __init__(self) -> None:
        super().__init__("permission denied: an API key cannot create an API key", hint="Sign in with a password.")


class ApiKey(Token):
    """An API key or a calendar link."""

    __slots__ = ()

    @property
    def is_calendar_link(self) -> bool:
        return self.use == CALENDAR_LINK


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
    name = long_lived_tokens.read_name(new.name)
    if name is None:
        raise InvalidApiKeyRequest(f"An API key needs a name of at most {NAME_BYTES_MAX} bytes")
    if new.expires_at is not None and new.expires_at <= transaction.unix:
        raise InvalidApiKeyRequest("An API key ends in the future: expires_at is in the past")
    person = long_lived_tokens.find_owner(transaction, caller, user_id)
    if person.is_disabled(transaction.unix):
        raise InvalidApiKeyRequest("The user is deactivated: reactivate them first")
    has_ended = sa.not_(in_force(transaction.unix))
    transaction.execute(sa.delete(TokenRow).where(TokenRow.user_id == user_id, IS_KEY, has_ended))
    if count_tokens(transaction, user_id, IS_KEY) >= KEYS_PER_USER_MAX:
        raise InvalidApiKeyRequest(f"The user has {KEYS_PER_USER_MAX} API keys: revoke one first")
    key = ApiKey(
        id=new_uuid(),
        use=CALENDAR_LINK if new.is_calendar_link else API_KEY,
        user_id=user_id,
        created_by=caller.id,
        is_read_only=new.is_read_only,
        user_name=person.name,
        name=name,
        # As for other tokens without a session: it counts only from `tokens_since` on.
        created_at=max(transaction.unix, person.tokens_since),
        expires_at=new.expires_at,
        tokens_since=person.tokens_since,
    )
    text, digest = long_lived_tokens.new_secret(key.use)
    long_lived_tokens.insert_token(transaction, key, digest)
    record_key_event(transaction, CREATED, caller, key)
    return key, text


def revoke_key(transaction: Transaction, caller: Caller, user_id: str, key_id: str) -> bool:
    """End a key of a user, and return whether it was a calendar link.

    Raise ApiKeyNotFound, UserNotFound or UserNotAllowed.
    """
    keys = [each for each in list_keys_of_user(transaction, caller, user_id) if each.id == key_id]
    if not keys:
        raise ApiKeyNotFound
    delete_token(transaction, key_id)
    record_key_event(transaction, REVOKED, caller, keys[0])
    return keys[0].is_calendar_link


def list_keys_of_user(transaction: Transaction, caller: Caller, user_id: str) -> list[ApiKey]:
    """Return the keys of a user that are in force, oldest first; raise UserNotFound or UserNotAllowed."""
    long_lived_tokens.require_manageable(transaction, caller, user_id)
    return read_tokens(transaction, caller, ApiKey, TokenRow.user_id == user_id, IS_KEY, in_force(transaction.unix))


def record_key_event(transaction: Transaction, action: str, caller: Caller, key: ApiKey) -> None:
    """Record the creation or revocation of a key in the audit log."""
    details = {"read_only": key.is_read_only, **({"calendar": True} if key.is_calendar_link else {})}
    long_lived_tokens.record_event(transaction, action, RELATION, caller, key, **details)


IS_KEY = sa.not_(IS_DISPLAY)


def end_calendar_links(transaction: Transaction, without: int = 0) -> None:
    """End the calendar links of users whom no inspector names any more, so that a later link revives none.

    `without` is the id of an inspector who is about to be deleted.
    """
    is_linked = sa.exists().where(Inspector.user_id == User.id, Inspector.id != without)
    unlinked = sa.select(User.id).where(User.role == INSPECTOR_ROLE.value, sa.not_(is_linked))
    is_ended = TokenRow.user_id.in_(unlinked)
    transaction.execute(sa.delete(TokenRow).where(TokenRow.use == CALENDAR_LINK, is_ended))

"""Administer users, and import their credentials from an archive, under the rule of access/policy.py.

A hidden user gives the same error as an unknown one. The rule is checked before the constraints. The error of a taken
e-mail can reveal a hidden user, so each caller gets at most 20 such errors an hour. The transaction that finds the
conflict counts it, so concurrent requests cannot exceed the limit. Beyond the limit, a free e-mail gives the same error
as a taken one. An archive's credentials are the password, the metadata and the end of a ban.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Final

import sqlalchemy as sa

from access import policy, session
from access.accounts import people
from access.accounts.password import EMAIL_TAKEN, hash_new_password, insert_attempt, purge, require_below
from access.accounts.people import (
    EMAIL_KEY,
    UNSET,
    EmailTaken,
    InvalidEmail,
    InvalidUserAccount,
    Metadata,
    NewUserAccount,
    Unset,
    UserAccount,
    UserChanges,
    changed_row,
    merge_metadata,
    next_tokens_since,
    set_credentials,
    write_metadata,
)
from access.caller import Caller
from access.roles import Role
from engine.interface.database import VALUE_BYTES_MAX, ResponseTooLarge, Transaction
from engine.query.catalog import UniqueViolation
from engine.query.statement import Action
from models.credential import Attempt, Credential
from models.types import AccountFault, Bound, Denial, Fault, new_uuid, read_timestamp
from models.user import User

DISCLOSURES_MAX: Final = 20


def require_disclosures_left(transaction: Transaction, caller: Caller) -> None:
    """Raise RateLimitExceeded if the caller has reached the limit, whether or not the e-mail is taken."""
    require_below(transaction, EMAIL_TAKEN, DISCLOSURES_MAX, Attempt.subject == subject_of(caller))


@contextmanager
def counting_disclosures(writing: AbstractContextManager[Transaction]) -> Iterator[Transaction]:
    """Yield the transaction. If an e-mail is taken, undo the writes, count the disclosure, and raise the fault."""
    disclosure: Fault | None = None
    with writing as transaction:
        transaction.run("SAVEPOINT before_email")
        try:
            yield transaction
        except (EmailTaken, UniqueViolation) as fault:
            caller: Caller = session.state().caller
            if not discloses_email(fault) or policy.sees_all(caller.role, User):
                raise
            transaction.run("ROLLBACK TO before_email")
            transaction.rollback_only = False  # by `tx=rollback`: that was of what is undone by now
            record_disclosure(transaction, caller)
            disclosure = fault
    if disclosure is not None:
        raise disclosure


def record_disclosure(transaction: Transaction, caller: Caller) -> None:
    """Record that a taken e-mail is disclosed to a caller."""
    purge(transaction)
    insert_attempt(transaction, EMAIL_TAKEN, subject_of(caller), "")


def discloses_email(fault: Fault) -> bool:
    """Return whether a fault discloses that an e-mail is taken."""
    return isinstance(fault, EmailTaken) or (isinstance(fault, UniqueViolation) and fault.constraint == EMAIL_KEY)


def subject_of(caller: Caller) -> str:
    return caller.id or "service"


USERS = User.__table__.c
WILD, ESCAPED = re.compile(r"([\\%_])"), r"\\\1"
FOREVER_SECONDS = 100 * 365 * 24 * 3_600  # a ban until an administrator ends it


class UserNotFound(AccountFault, code="user_not_found", status=404):
    """The user does not exist, or is hidden from the caller."""

    def __init__(self) -> None:
        super().__init__("User not found")


class UserNotAllowed(Denial):
    """The caller reads the user and may not write them, or may not leave the row that would result."""


@dataclass(frozen=True, slots=True)
class UserRequest:
    """The fields of a request for a user. None is an omitted field."""

    id: str | None
    email: str | None
    name: str | None
    role: Role | None
    client_id: int | Unset | None
    app_metadata: Metadata
    user_metadata: Metadata
    ban_seconds: int | None


@dataclass(frozen=True, slots=True)
class UserPage:
    """One page of the users that a caller reads, and the total number of these."""

    users: list[UserAccount]
    total: int


@dataclass(frozen=True, slots=True)
class UserSearch:
    """The filter and order of a list of users. `text` is part of the e-mail or name, in any case; None lists all."""

    text: str | None = None
    newest_first: bool = False


# Reading


def find_user(transaction: Transaction, caller: Caller, user_id: str, action: Action = Action.READ) -> UserAccount:
    """Return a user on whom the caller may perform an action; raise UserNotFound or UserNotAllowed."""
    may_read, may_act = (caller.rule.rows(each, User, USERS) for each in (Action.READ, action))
    user = people.ACCOUNTS.where(User.id == user_id).add_columns(may_read.label("is_visible"), may_act.label("may_act"))
    row = transaction.execute(user, caller.parameters).first()
    person = people.read_account(row)
    if row is None or person is None or not row.is_visible:
        raise UserNotFound
    if not row.may_act:
        raise UserNotAllowed("User not allowed", hint="A user with more rights has to do this.")
    return person


def list_users(transaction: Transaction, caller: Caller, number: int, size: int, search: UserSearch) -> UserPage:
    """Return one page of the users that the caller reads. `number` counts from 1."""
    is_listed = caller.rule.rows(Action.READ, User, USERS)
    if search.text is not None:
        pattern = sa.literal(transaction.dialect.ilike_pattern(f"%{WILD.sub(ESCAPED, search.text)}%"), sa.Text)
        has_text = (transaction.dialect.ilike(text, pattern) for text in (USERS.email, USERS.name))
        is_listed = sa.case((is_listed, sa.or_(*has_text)), else_=sa.false())  # never compares hidden rows
    count = sa.select(sa.func.count()).select_from(User).where(is_listed)
    total: int = transaction.execute(count, caller.parameters).scalar_one()
    order = (each.desc() if search.newest_first else each for each in (User.created_at, User.id))
    page = people.ACCOUNTS.where(is_listed).order_by(*order).limit(size).offset((number - 1) * size)
    persons: list[UserAccount] = []
    left = VALUE_BYTES_MAX
    for row in transaction.execute(page, caller.parameters):
        left -= sum(len(encoded(text)) for text in row if isinstance(text, str))
        if left < 0:
            raise ResponseTooLarge
        person = people.read_account(row)
        assert person is not None, "a row of ACCOUNTS"
        persons.append(person)
    return UserPage(persons, total)


def encoded(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


# Writing


def create_user(
    transaction: Transaction,
    caller: Caller,
    request: UserRequest,
    password_hash: str | None,
    *,
    is_temporary: bool = False,
) -> UserAccount:
    """Create a user, whose password may be temporary.

    Raise UserNotAllowed, EmailTaken, IdTaken, InvalidUserAccount or RateLimitExceeded.
    """
    if request.email is None:
        raise InvalidEmail("Cannot create a user without an email")
    require_disclosures_left(transaction, caller)
    require_allowed_id(caller, request)
    role = request.role or policy.DEFAULT_ROLES.get(caller.role)
    if role is None:
        raise InvalidUserAccount("app_metadata has to contain a role", hint=roles_hint())
    client_id = caller.client_id if request.client_id is UNSET else request.client_id
    new = NewUserAccount(
        request.email,
        request.name,
        role,
        client_id,
        request.id or new_uuid(),
        password_hash,
        merge_metadata({}, request.app_metadata),
        merge_metadata({}, request.user_metadata),
        disabled_until(transaction, request) or 0,
        is_temporary,
    )
    row = {"email": new.email, "name": new.display_name(), "role": role.value, "client_id": client_id}
    require_allowed_row(transaction, caller, Action.INSERT, {"id": new.id, **row})
    return read_written(transaction, people.insert_user(transaction, new))


def change_user(
    transaction: Transaction,
    caller: Caller,
    user_id: str,
    request: UserRequest,
    password_hash: str | None,
    *,
    is_temporary: bool = False,
) -> UserAccount:
    """Change a user; raise the same faults as `create_user`, or UserNotFound.

    The new password of another user may be temporary.
    """
    person = find_user(transaction, caller, user_id, Action.UPDATE)
    if request.email is not None and request.email != person.email.lower():
        require_disclosures_left(transaction, caller)
    if request.id is not None:
        require_allowed_id(caller, request)
        if request.id != person.id:
            raise InvalidUserAccount("A user's id cannot be changed")
    changes = UserChanges(
        request.email,
        request.name,
        request.role,
        request.client_id,
        request.app_metadata,
        request.user_metadata,
        disabled_until(transaction, request),
    )
    row = changed_row(person, changes)
    require_allowed_row(transaction, caller, Action.UPDATE, {"id": person.id, **row})
    people.update_user(transaction, person, changes)
    if password_hash is not None:
        is_own = caller.id == person.id
        kept = caller.session_id if is_own else None
        people.replace_password(transaction, person.id, password_hash, kept, is_temporary=is_temporary and not is_own)
    return read_written(transaction, person.id)


def ban_user(transaction: Transaction, caller: Caller, user_id: str) -> None:
    """Disable a user for 100 years, and end their sessions, tokens and kiosk displays (decision 0024).

    In GoTrue a ban only suspends these. Here the user has to sign in again after the ban.
    """
    change_user(transaction, caller, user_id, ban_request(FOREVER_SECONDS), None)
    people.end_other_sessions(transaction, user_id, None)
    people.end_tokens(transaction, user_id)


def unban_user(transaction: Transaction, caller: Caller, user_id: str) -> None:
    """End a user's ban."""
    change_user(transaction, caller, user_id, ban_request(0), None)


def ban_request(seconds: int) -> UserRequest:
    """Return a request that only sets a ban; 0 seconds end it."""
    return UserRequest(None, None, None, None, UNSET, {}, {}, seconds)


def delete_user(transaction: Transaction, caller: Caller, user_id: str) -> None:
    """Delete a user, with their sessions and grants."""
    person = find_user(transaction, caller, user_id, Action.DELETE)
    transaction.execute(sa.delete(User).where(User.id == person.id))


def read_written(transaction: Transaction, user_id: str) -> UserAccount:
    person = people.by_id(transaction, user_id)
    assert person is not None, "just written"
    return person


def disabled_until(transaction: Transaction, request: UserRequest) -> int | None:
    """Return when the ban ends, in Unix seconds: 0 for no ban, None if the request has none."""
    if not request.ban_seconds:
        return request.ban_seconds
    return transaction.unix + request.ban_seconds


def require_allowed_id(caller: Caller, request: UserRequest) -> None:
    """Raise UserNotAllowed if the request has an id and the caller may not choose ids.

    Otherwise the error for a taken id would reveal a hidden user.
    """
    if request.id is not None and "id" in policy.read_only_columns(caller.role, User):
        raise UserNotAllowed("User not allowed", hint="Omit the id: the server generates it.")


def require_allowed_row(transaction: Transaction, caller: Caller, action: Action, row: dict[str, Bound]) -> None:
    """Raise UserNotAllowed if the caller may not leave the row."""
    written = sa.select(*(sa.cast(value, USERS[name].type).label(name) for name, value in row.items())).subquery()
    is_allowed = sa.select(caller.rule.check(action, User, written.c))
    if not transaction.execute(is_allowed, caller.parameters).scalar():
        raise UserNotAllowed("User not allowed", 'new row violates row-level security policy for table "users"')


def roles_hint() -> str:
    return f'{{"app_metadata": {{"role": …}}}} takes {", ".join(each.value for each in Role)}.'


# Importing


def import_user(transaction: Transaction, user_id: str, values: Mapping[str, object]) -> None:
    """Set the credentials of a user who was just inserted; raise InvalidUserAccount if a value is invalid.

    End the tokens that a deleted user of the same id may have. While the audit log is paused,
    the trigger that does so uses the machine's time. The time of the database may be ahead of it.
    """
    earlier = sa.update(Credential).where(Credential.user_id == user_id)
    transaction.execute(earlier.values(tokens_since=next_tokens_since(transaction)))
    for name, value in values.items():
        if value is not None:
            column, read = IMPORTED_COLUMNS[name]
            set_credentials(transaction, user_id, **{column: read(value)})


def read_password(value: object) -> str:
    if not isinstance(value, str):
        raise InvalidUserAccount("a password is a string")
    return hash_new_password(value)


def read_object(value: object) -> str:
    if not isinstance(value, dict):
        raise InvalidUserAccount("metadata are an object")
    return write_metadata(value)


def read_ban(value: object) -> int:
    if not isinstance(value, str):
        raise InvalidUserAccount("banned_until is a timestamp")
    return int(datetime.datetime.fromisoformat(read_timestamp(value)).timestamp())


IMPORTED_COLUMNS: dict[str, tuple[str, Callable[[object], str | int]]] = {
    "password": ("password_hash", read_password),
    "app_metadata": ("app_metadata", read_object),
    "user_metadata": ("user_metadata", read_object),
    "banned_until": ("disabled_until", read_ban),
}

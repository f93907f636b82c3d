"""Administer users under the rule of access/policy.py.

A hidden user gets the same error as an unknown one. A row is checked against the rule before the constraints.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache

import sqlalchemy as sa

from access import policy
from access.accounts import email_disclosure, people
from access.accounts.person import (
    UNSET,
    InvalidEmail,
    InvalidUserAccount,
    Metadata,
    NewUserAccount,
    Unset,
    UserAccount,
    UserChanges,
    changed_row,
    merge_metadata,
)
from access.caller import Caller
from access.policy import AccessRule
from access.roles import GrantProfile, Role
from engine.interface.faults import VALUE_BYTES_MAX, ResponseTooLarge
from engine.interface.transaction import Transaction
from engine.prepared import PreparedStatement
from engine.query.dialect.registry import DIALECTS
from engine.query.rule import Action
from engine.query.statement import parameter
from models.errors import Denial, Fault
from models.types import UUID, Bound, new_uuid
from models.user import User

GRANT_PROFILES_MAX = 16  # three roles with two kinds of grant, and managers with a linked inspector
FOREVER_SECONDS = 100 * 365 * 24 * 3_600  # a ban until an administrator ends it


class UserNotFound(Fault):
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
    row = user_statement(caller.profile, action).one(transaction, user_id=user_id, **caller.parameters)
    person = people.read_account(row)
    if row is None or person is None or not row[-2]:
        raise UserNotFound
    if not row[-1]:
        raise UserNotAllowed("User not allowed", hint="A user with more rights has to do this.")
    return person


def list_users(transaction: Transaction, caller: Caller, number: int, size: int, search: UserSearch) -> UserPage:
    """Return one page of the users that the caller reads. `number` counts from 1."""
    database = transaction.dialect.name if search.text is not None else None
    count, rows = list_statements(caller.profile, database, search.newest_first)
    values = caller.parameters
    if search.text is not None:
        pattern = f"%{WILD.sub(ESCAPED, search.text)}%"
        values["like"] = transaction.dialect.ilike_pattern(pattern)
    total = count.one(transaction, **values)
    persons: list[UserAccount] = []
    left = VALUE_BYTES_MAX
    for row in rows.each(transaction, size=size, skipped=(number - 1) * size, **values):
        left -= sum(len(encoded(text)) for text in row if isinstance(text, str))
        if left < 0:
            raise ResponseTooLarge
        person = people.read_account(row)
        assert person is not None, "list_statements selects users"
        persons.append(person)
    return UserPage(persons, int(total[0] or 0) if total is not None else 0)


def encoded(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


# Writing


def create_user(
    transaction: Transaction, caller: Caller, request: UserRequest, password_hash: str | None
) -> UserAccount:
    """Create a user; raise UserNotAllowed, EmailTaken, IdTaken, InvalidUserAccount or RateLimitExceeded."""
    if request.email is None:
        raise InvalidEmail("Cannot create a user without an email")
    email_disclosure.require_disclosures_left(transaction, caller)
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
    )
    row = {"email": new.email, "name": new.display_name(), "role": role.value, "client_id": client_id}
    require_allowed_row(transaction, caller, Action.INSERT, {"id": new.id, **row})
    return read_written(transaction, people.insert_user(transaction, new))


def change_user(
    transaction: Transaction, caller: Caller, user_id: str, request: UserRequest, password_hash: str | None
) -> UserAccount:
    """Change a user; raise the same faults as `create_user`, or UserNotFound."""
    person = find_user(transaction, caller, user_id, Action.UPDATE)
    if request.email is not None and request.email != person.email.lower():
        email_disclosure.require_disclosures_left(transaction, caller)
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
        own = caller.session_id if caller.id == person.id else None
        people.replace_password(transaction, person.id, password_hash, own)
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
    DELETE_USER.run(transaction, user_id=person.id)


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
    if request.id is not None and "id" in policy.read_only_columns(caller.role):
        raise UserNotAllowed("User not allowed", hint="Omit the id: the server generates it.")


def require_allowed_row(transaction: Transaction, caller: Caller, action: Action, row: dict[str, Bound]) -> None:
    """Raise UserNotAllowed if the caller may not leave the row."""
    checked = check_statement(caller.profile, action).one(transaction, **caller.parameters, **row)
    if checked is None or not checked[0]:
        raise UserNotAllowed("User not allowed", 'new row violates row-level security policy for table "users"')


def roles_hint() -> str:
    return f'{{"app_metadata": {{"role": …}}}} takes {", ".join(each.value for each in Role)}.'


# Statements under the rule of a grant profile

USERS = people.USERS
PAGE_SIZE = parameter("size", sa.BigInteger)
PAGE_OFFSET = parameter("skipped", sa.BigInteger)
WILD, ESCAPED = re.compile(r"([\\%_])"), r"\\\1"

DELETE_USER = PreparedStatement(sa.delete(User).where(USERS.c.id == parameter("user_id")))


@lru_cache(GRANT_PROFILES_MAX * len(Action))
def user_statement(profile: GrantProfile, action: Action) -> PreparedStatement:
    """Return the statement for one user: the account, whether it is visible, and whether the action is allowed."""
    rule = AccessRule(profile)
    return PreparedStatement(
        sa.select(
            *people.COLUMNS,
            rule.rows(Action.READ, User, USERS.c).label("visible"),
            rule.rows(action, User, USERS.c).label("within_reach"),
        )
        .select_from(people.USERS_WITH_CREDENTIALS)
        .where(USERS.c.id == parameter("user_id", UUID.storage))
    )


@lru_cache(GRANT_PROFILES_MAX * 4)
def list_statements(
    profile: GrantProfile, text_database: str | None, newest_first: bool
) -> tuple[PreparedStatement, PreparedStatement]:
    """Return the statements for the number of visible users and for a page of them.

    With `text_database`, the name of an SQL dialect, they filter by a text.
    """
    rule = AccessRule(profile).rows(Action.READ, User, USERS.c)
    if text_database is not None:
        like = parameter("like", sa.Text)
        has_text = [DIALECTS[text_database].ilike(text, like) for text in (USERS.c.email, USERS.c.name)]
        rule = sa.case((rule, sa.or_(*has_text)), else_=sa.false())  # never compares hidden rows
    order = (USERS.c.created_at, USERS.c.id)
    rows = (
        sa.select(*people.COLUMNS)
        .select_from(people.USERS_WITH_CREDENTIALS)
        .where(rule)
        .order_by(*(term.desc() for term in order) if newest_first else order)
        .limit(PAGE_SIZE)
        .offset(PAGE_OFFSET)
    )
    return PreparedStatement(sa.select(sa.func.count()).select_from(USERS).where(rule)), PreparedStatement(rows)


@lru_cache(GRANT_PROFILES_MAX * len(Action))
def check_statement(profile: GrantProfile, action: Action) -> PreparedStatement:
    """Return the statement for whether the rule allows a row."""
    columns = ("id", "email", "name", "role", "client_id")
    row = sa.select(*(sa.cast(parameter(name), USERS.c[name].type).label(name) for name in columns)).subquery("written")
    return PreparedStatement(sa.select(AccessRule(profile).check(action, User, row.c)))

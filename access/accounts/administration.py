"""Users, as those see and change them who may: the rule of access/policy.py over admin/users.

Unknown and hidden are one answer, and a would-be row is judged before any constraint speaks.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache

import sqlalchemy as sa

from access import policy
from access.accounts import email_disclosure
from access.accounts import people
from access.accounts.person import UNSAID
from access.accounts.person import Changes
from access.accounts.person import InvalidEmail
from access.accounts.person import InvalidPerson
from access.accounts.person import Metadata
from access.accounts.person import NewPerson
from access.accounts.person import Person
from access.accounts.person import Unsaid
from access.accounts.person import merged
from access.accounts.person import would_be
from access.caller import Caller
from access.caller import GrantProfile
from access.caller import Role
from access.policy import AccessRule
from engine.query.dialect.registry import DIALECTS
from engine.query.prepared import Prepared
from engine.query.rule import Action
from engine.query.statement import parameter
from engine.storage.library_limits import VALUE_BYTES_MAX
from engine.storage.sqlite import ResponseTooLarge
from engine.storage.transaction import Transaction
from models.errors import Denial
from models.errors import Fault
from models.types import UUID
from models.types import Bound
from models.types import new_uuid
from models.user import User

STANDINGS_KEPT = 16  # three roles and what they hold make twelve
FOREVER_SECONDS = 100 * 365 * 24 * 3_600  # of a ban that somebody has to end


class UserNotFound(Fault):
    """Nobody of that id, or nobody whom the caller can see."""

    def __init__(self) -> None:
        super().__init__("User not found")


class OutOfReach(Denial):
    """A user whom the caller sees and may not change, or a row that would leave their reach."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A user as a request describes them, before it is known who asks. None is unsaid."""

    id: str | None
    email: str | None
    name: str | None
    role: Role | None
    client_id: int | Unsaid | None
    app_metadata: Metadata
    user_metadata: Metadata
    ban_seconds: int | None


@dataclass(frozen=True, slots=True)
class Page:
    """Some of the users whom a caller sees, and how many those are in all."""

    people: list[Person]
    total: int


@dataclass(frozen=True, slots=True)
class Search:
    """Which users are listed: all, or whose e-mail or name has a text in it, whatever its case; and in which order."""

    text: str | None = None
    newest_first: bool = False


# Reading


def find(transaction: Transaction, caller: Caller, user_id: str) -> Person:
    """A user whom the caller sees."""
    return found(transaction, caller, user_id, Action.READ)


def found(transaction: Transaction, caller: Caller, user_id: str, action: Action) -> Person:
    """A user within reach of an action; whom the caller does not see is not there."""
    row = reach(caller.profile, action).one(transaction, user_id=user_id, **values_of(caller))
    person = people.read_person(row)
    if row is None or person is None or not row[-2]:
        raise UserNotFound
    if not row[-1]:
        raise OutOfReach("User not allowed", hint="Somebody with more rights has to do this.")
    return person


def page(transaction: Transaction, caller: Caller, number: int, size: int, search: Search) -> Page:
    """One page of the users whom the caller sees."""
    database = transaction.dialect.name if search.text is not None else None
    count, rows = visible(caller.profile, database, search.newest_first)
    values = values_of(caller)
    if search.text is not None:
        pattern = f"%{WILD.sub(ESCAPED, search.text)}%"
        values["like"] = transaction.dialect.ilike_pattern(pattern)
    counted = count.one(transaction, **values)
    persons: list[Person] = []
    left = VALUE_BYTES_MAX
    for row in rows.each(transaction, size=size, skipped=(number - 1) * size, **values):
        left -= sum(len(printed(text)) for text in row if isinstance(text, str))
        if left < 0:
            raise ResponseTooLarge
        person = people.read_person(row)
        assert person is not None, "a row is somebody's"
        persons.append(person)
    return Page(persons, int(counted[0] or 0) if counted is not None else 0)


def printed(text: str) -> bytes:
    return json.dumps(text, ensure_ascii=False).encode()


# Writing


def create(
    transaction: Transaction, caller: Caller, wanted: Wanted, password_hash: str | None
) -> Person:
    """Make a user, where the caller may make such a one."""
    if wanted.email is None:
        raise InvalidEmail("Cannot create a user without an email")
    email_disclosure.require_answers_left(transaction, caller)
    require_choice(caller, wanted)
    role = wanted.role or policy.default_role(caller.role)
    if role is None:
        raise InvalidPerson("app_metadata has to say a role", hint=roles_hint())
    client_id = caller.client_id if wanted.client_id is UNSAID else wanted.client_id
    new = NewPerson(
        wanted.email,
        wanted.name,
        role,
        client_id,
        wanted.id or new_uuid(),
        password_hash,
        merged({}, wanted.app_metadata),
        merged({}, wanted.user_metadata),
        disabled_until(transaction, wanted) or 0,
    )
    row = {"email": new.email, "name": new.called(), "role": role.value, "client_id": client_id}
    require_reach(transaction, caller, {"id": new.id, **row})
    return existing(transaction, people.add(transaction, new))


def change(
    transaction: Transaction,
    caller: Caller,
    user_id: str,
    wanted: Wanted,
    password_hash: str | None,
) -> Person:
    """Change a user, where the caller may change them, to what the caller may leave behind."""
    person = found(transaction, caller, user_id, Action.UPDATE)
    if wanted.email is not None and wanted.email != person.email.lower():
        email_disclosure.require_answers_left(transaction, caller)
    if wanted.id is not None:
        require_choice(caller, wanted)
        if wanted.id != person.id:
            raise InvalidPerson("A user's id cannot be changed")
    changes = Changes(
        wanted.email,
        wanted.name,
        wanted.role,
        wanted.client_id,
        wanted.app_metadata,
        wanted.user_metadata,
        disabled_until(transaction, wanted),
    )
    row = would_be(person, changes)
    require_reach(transaction, caller, {"id": person.id, **row})
    people.change(transaction, person, changes)
    if password_hash is not None:
        own = caller.session_id if caller.id == person.id else None
        people.replace_password(transaction, person.id, password_hash, own)
    return existing(transaction, person.id)


def shut_out(transaction: Transaction, caller: Caller, user_id: str) -> None:
    """Disable a user for good, and end all that they are signed in with: their sessions and with them the
    refresh tokens, tokens without a session, and boards (decision 0024). GoTrue's ban alone lets all of
    that wait for its end; here, who is let in again signs in again."""
    change(transaction, caller, user_id, banned(FOREVER_SECONDS), None)
    people.end_other_sessions(transaction, user_id, None)
    people.end_tokens(transaction, user_id)


def let_in(transaction: Transaction, caller: Caller, user_id: str) -> None:
    """End a user's ban."""
    change(transaction, caller, user_id, banned(0), None)


def banned(seconds: int) -> Wanted:
    """Nothing but a ban; of no time, none."""
    return Wanted(None, None, None, None, UNSAID, {}, {}, seconds)


def remove(transaction: Transaction, caller: Caller, user_id: str) -> None:
    """Delete a user, with their sessions and grants."""
    person = found(transaction, caller, user_id, Action.DELETE)
    DELETE_USER.run(transaction, user_id=person.id)


def existing(transaction: Transaction, user_id: str) -> Person:
    person = people.by_id(transaction, user_id)
    assert person is not None, "just written"
    return person


def disabled_until(transaction: Transaction, wanted: Wanted) -> int | None:
    """When a ban ends, if the request speaks of one; 0 for none."""
    if not wanted.ban_seconds:
        return wanted.ban_seconds
    return transaction.unix + wanted.ban_seconds


def require_choice(caller: Caller, wanted: Wanted) -> None:
    """Ids are chosen by those who may, and for all others no id is free or taken."""
    if wanted.id is not None and "id" in policy.read_only_columns(caller.role):
        raise OutOfReach("User not allowed", hint="Leave out the id: it is chosen here.")


def require_reach(transaction: Transaction, caller: Caller, row: dict[str, Bound]) -> None:
    """Refuse a would-be row that the caller may not leave behind."""
    checked = may_be(caller.profile).one(transaction, **values_of(caller), **row)
    if checked is None or not checked[0]:
        raise OutOfReach(
            "User not allowed", 'new row violates row-level security policy for table "users"'
        )


def roles_hint() -> str:
    return f'{{"app_metadata": {{"role": …}}}} takes {", ".join(each.value for each in Role)}.'


def values_of(caller: Caller) -> dict[str, Bound]:
    return {"caller_id": caller.id, "caller_client_id": caller.client_id}


# The statements, each under the rule of one standing

USERS = people.USERS
SHOWN_SIZE = parameter("size", sa.BigInteger)
SKIPPED = parameter("skipped", sa.BigInteger)
WILD, ESCAPED = re.compile(r"([\\%_])"), r"\\\1"

DELETE_USER = Prepared(sa.delete(User).where(USERS.c.id == parameter("user_id")))


@lru_cache(STANDINGS_KEPT * len(Action))
def reach(standing: GrantProfile, action: Action) -> Prepared:
    """One user by id, whether they are visible, and whether they are within reach of the action."""
    rule = AccessRule(standing)
    return Prepared(
        sa.select(
            *people.COLUMNS,
            rule.rows(Action.READ, User, USERS.c).label("visible"),
            rule.rows(action, User, USERS.c).label("within_reach"),
        )
        .select_from(people.JOINED)
        .where(USERS.c.id == parameter("user_id", UUID.storage))
    )


@lru_cache(STANDINGS_KEPT * 4)
def visible(
    standing: GrantProfile, sought_on: str | None, newest_first: bool
) -> tuple[Prepared, Prepared]:
    """The number of users who are visible, and a page of them; with a text in them, if that is sought on a database."""
    rule = AccessRule(standing).rows(Action.READ, User, USERS.c)
    if sought_on is not None:
        like = parameter("like", sa.Text)
        has_text = [DIALECTS[sought_on].ilike(text, like) for text in (USERS.c.email, USERS.c.name)]
        rule = sa.case((rule, sa.or_(*has_text)), else_=sa.false())  # nothing hidden is compared
    order = (USERS.c.created_at, USERS.c.id)
    rows = (
        sa.select(*people.COLUMNS)
        .select_from(people.JOINED)
        .where(rule)
        .order_by(*(term.desc() for term in order) if newest_first else order)
        .limit(SHOWN_SIZE)
        .offset(SKIPPED)
    )
    return Prepared(sa.select(sa.func.count()).select_from(USERS).where(rule)), Prepared(rows)


@lru_cache(STANDINGS_KEPT)
def may_be(standing: GrantProfile) -> Prepared:
    """Whether a row that is about to exist may."""
    columns = ("id", "email", "name", "role", "client_id")
    row = sa.select(
        *(sa.cast(parameter(name), USERS.c[name].type).label(name) for name in columns)
    ).subquery("would_be")
    return Prepared(sa.select(AccessRule(standing).check(User, row.c)))

"""Change the caller's own account: the password, the metadata and with them the name. Users change nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from access.access_token import REFUSED
from access.accounts import people, throttle
from access.accounts.deadline import Deadline
from access.accounts.password import (
    InvalidPassword,
    PasswordHashing,
    password_hashing,
    require_valid,
    require_valid_new,
)
from access.accounts.person import Metadata, UserAccount, UserChanges
from access.accounts.sign_in import SessionRow, find_session, record_attempt
from access.caller import Caller
from access.session import UserGone
from engine.current import reading
from engine.interface.transaction import Transaction
from models.errors import Fault

RECENT_SIGN_IN_SECONDS = 24 * 3_600  # younger sessions set a password without the old one
WRONG = "Current password is incorrect."


class SamePassword(Fault):
    """The new password equals the old one."""


class CurrentPasswordRequired(Fault):
    """The current password is missing, and the session is not recent or the token has none."""


class WrongCurrentPassword(Fault):
    """The current password is wrong."""


class EmailNotOwn(Fault):
    """A user tries to change their own e-mail. Only an administrator may."""


@dataclass(frozen=True, slots=True)
class NewPassword:
    """The hash of a new password, and the attempt that its comparison with the old one counts as until it is stored."""

    hash: str
    attempt: int | None


@dataclass(frozen=True, slots=True)
class OwnAccountChanges:
    """The changes of a user's own account that a request contains."""

    email: str | None
    name: str | None
    user_metadata: Metadata
    password: str | None
    current_password: str | None


def prepare_password(caller: Caller, own: OwnAccountChanges, origin: str, deadline: Deadline) -> NewPassword | None:
    """Check and hash a new password before the write. Return None if the request has none."""
    assert caller.id is not None
    if own.password is None:
        return None
    require_valid_new(own.password)
    with reading() as transaction:
        person = people.by_id(transaction, caller.id)
        session = find_session(transaction, caller.session_id or "")
        if person is None:
            raise UserGone(REFUSED)
        require_recent_sign_in(transaction, session, own)
    attempt = None
    with password_hashing(deadline) as hasher:
        if own.current_password is not None:
            require_current(hasher, person, own.current_password, origin, deadline)
        else:
            # SamePassword reveals the old password, so the comparison counts as an attempt.
            attempt, _ = record_attempt(person.email, origin, deadline)
        if is_unchanged(hasher, person, own.password, own.current_password):
            raise SamePassword("New password should be different from the old password.")
        return NewPassword(hasher.hash(own.password), attempt)


def require_recent_sign_in(transaction: Transaction, session: SessionRow | None, own: OwnAccountChanges) -> None:
    """Raise CurrentPasswordRequired without the current password or a recent sign-in: a stolen token is not enough."""
    if own.current_password is not None:
        return
    if session is None or session.created_at + RECENT_SIGN_IN_SECONDS <= transaction.unix:
        raise CurrentPasswordRequired(
            "Current password required when setting new password.", hint="Send current_password, or sign in again."
        )


def require_current(
    hasher: PasswordHashing, person: UserAccount, password: str, origin: str, deadline: Deadline
) -> None:
    """Raise WrongCurrentPassword if it is wrong. It counts as an attempt like a sign-in."""
    try:
        require_valid(password)
    except InvalidPassword as unfit:
        raise WrongCurrentPassword(WRONG) from unfit
    attempt, now = record_attempt(person.email, origin, deadline)
    if not hasher.verify(now.password_hash if now is not None else None, password):
        raise WrongCurrentPassword(WRONG)
    with deadline.writing() as transaction:
        throttle.delete_attempt(transaction, attempt)


def is_unchanged(hasher: PasswordHashing, person: UserAccount, password: str, current: str | None) -> bool:
    if current is not None:
        return password == current
    return person.password_hash is not None and hasher.verify(person.password_hash, password)


def change_own_account(
    transaction: Transaction, caller: Caller, own: OwnAccountChanges, new: NewPassword | None
) -> UserAccount:
    """Write the changes and return the account; raise EmailNotOwn if the e-mail differs."""
    assert caller.id is not None
    person = people.by_id(transaction, caller.id)
    assert person is not None, "just looked up"
    if own.email is not None and own.email != person.email.lower():
        raise EmailNotOwn("An e-mail address is changed by an administrator")
    people.update_user(transaction, person, UserChanges(name=own.name, user_metadata=own.user_metadata))
    if new is not None:
        people.replace_password(transaction, person.id, new.hash, caller.session_id)
        if new.attempt is not None:
            throttle.delete_attempt(transaction, new.attempt)
    changed = people.by_id(transaction, person.id)
    assert changed is not None
    return changed

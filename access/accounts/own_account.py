"""One's own account: password, metadata and with them the name. Nothing else is one's own to change."""

from __future__ import annotations

from dataclasses import dataclass

from access.accounts import people
from access.accounts import throttle
from access.accounts.access_token import REFUSED
from access.accounts.deadline import Deadline
from access.accounts.password import Hashing
from access.accounts.password import UnfitPassword
from access.accounts.password import hashing
from access.accounts.password import require_new
from access.accounts.password import require_possible
from access.accounts.person import Changes
from access.accounts.person import Metadata
from access.accounts.person import Person
from access.accounts.sign_in import Session
from access.accounts.sign_in import count_guess
from access.accounts.sign_in import find_session
from access.caller import Caller
from access.session import UserGone
from engine.current import reading
from engine.storage.transaction import Transaction
from models.errors import Fault

YOUNG_SECONDS = 24 * 3_600  # a session that may set a password without the old one
WRONG = "Current password is incorrect."


class SamePassword(Fault):
    """A new password that is the old one."""


class CurrentPasswordRequired(Fault):
    """A new password from a session that is too old to be believed, or from none."""


class WrongCurrentPassword(Fault):
    """The current password, wrong."""


class EmailNotOwn(Fault):
    """Somebody who would change their own e-mail, which is how others know them."""


@dataclass(frozen=True, slots=True)
class NewPassword:
    """A new password's hash, and the guess that its comparison with the old one counts as until it is kept."""

    hash: str
    guess: int | None


@dataclass(frozen=True, slots=True)
class OwnChanges:
    """What somebody wants of themselves."""

    email: str | None
    name: str | None
    user_metadata: Metadata
    password: str | None
    current_password: str | None


def prepare_password(
    caller: Caller, own: OwnChanges, origin: str, deadline: Deadline
) -> NewPassword | None:
    """Check a new password before the turn to write; None where there is none."""
    assert caller.id is not None
    if own.password is None:
        return None
    require_new(own.password)
    with reading() as transaction:
        person = people.by_id(transaction, caller.id)
        session = find_session(transaction, caller.session_id or "")
        if person is None:
            raise UserGone(REFUSED)
        require_standing_to_change(transaction, session, own)
    guess = None
    with hashing(deadline) as turn:
        if own.current_password is not None:
            require_current(turn, person, own.current_password, origin, deadline)
        else:
            # Whether it is the old one is an answer, too, where something else keeps it from being changed.
            guess, _ = count_guess(person.email, origin, deadline)
        if is_same(turn, person, own.password, own.current_password):
            raise SamePassword("New password should be different from the old password.")
        return NewPassword(turn.hash(own.password), guess)


def require_standing_to_change(
    transaction: Transaction, session: Session | None, own: OwnChanges
) -> None:
    """A stolen token is not enough: the old password, or a sign-in of late."""
    if own.current_password is not None:
        return
    if session is None or session.created_at + YOUNG_SECONDS <= transaction.unix:
        raise CurrentPasswordRequired(
            "Current password required when setting new password.",
            hint="Send current_password, or sign in again.",
        )


def require_current(
    turn: Hashing, person: Person, password: str, origin: str, deadline: Deadline
) -> None:
    """The current password is guessed at like any other, and counted so."""
    try:
        require_possible(password)
    except UnfitPassword as unfit:
        raise WrongCurrentPassword(WRONG) from unfit
    attempt, now = count_guess(person.email, origin, deadline)
    if not turn.verify(now.password_hash if now is not None else None, password):
        raise WrongCurrentPassword(WRONG)
    with deadline.writing() as transaction:
        throttle.take_back(transaction, attempt)


def is_same(turn: Hashing, person: Person, password: str, current: str | None) -> bool:
    if current is not None:
        return password == current
    return person.password_hash is not None and turn.verify(person.password_hash, password)


def keep_own(
    transaction: Transaction, caller: Caller, own: OwnChanges, new: NewPassword | None
) -> Person:
    """Write what somebody may change of themselves: password, metadata, and with them the name."""
    assert caller.id is not None
    person = people.by_id(transaction, caller.id)
    assert person is not None, "just looked up"
    if own.email is not None and own.email != person.email.lower():
        raise EmailNotOwn("An e-mail address is changed by an administrator")
    people.change(transaction, person, Changes(name=own.name, user_metadata=own.user_metadata))
    if new is not None:
        people.replace_password(transaction, person.id, new.hash, caller.session_id)
        if new.guess is not None:
            throttle.take_back(transaction, new.guess)
    changed = people.by_id(transaction, person.id)
    assert changed is not None
    return changed

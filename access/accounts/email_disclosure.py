"""That an e-mail is taken: the one answer that tells of a row which may be hidden. So it is counted, twenty an hour.

It is counted in the turn in which it was found, before it is told: of many who ask at once no more are told than one
after the other, and nobody is told without. Beyond the twenty, free e-mails are not told apart either.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager
from contextlib import contextmanager
from typing import Final

from access import policy
from access import request_state
from access.accounts.people import EMAIL_KEY
from access.accounts.person import EmailTaken
from access.accounts.throttle import OF_SUBJECT
from access.accounts.throttle import TAKEN
from access.accounts.throttle import TAKEN_SECONDS
from access.accounts.throttle import TooManyTries
from access.accounts.throttle import oldest_of
from access.accounts.throttle import purge
from access.accounts.throttle import write_down
from access.caller import Caller
from engine.query.constraints import UniqueViolation
from engine.storage.transaction import Transaction
from models.errors import Fault
from models.user import User

ANSWERS_MAX: Final = 20


def require_answers_left(transaction: Transaction, caller: Caller) -> None:
    """Refuse to name an e-mail, taken or free, once the caller has heard of too many taken ones."""
    oldest = OLDEST.one(
        transaction,
        kind=TAKEN,
        subject=subject_of(caller),
        since=transaction.unix - TAKEN_SECONDS,
    )
    if oldest is not None:
        raise TooManyTries(int(oldest[0] or 0) + TAKEN_SECONDS - transaction.unix)


@contextmanager
def counting(turn: AbstractContextManager[Transaction]) -> Iterator[Transaction]:
    """A turn to write; if an e-mail is taken all is undone but the count of it, and then it is raised."""
    told: Fault | None = None
    with turn as transaction:
        transaction.run("SAVEPOINT named")
        try:
            yield transaction
        except (EmailTaken, UniqueViolation) as fault:
            caller: Caller = request_state.state().caller
            if not tells_of_email(fault) or policy.sees_all(caller.role, User):
                raise
            transaction.run("ROLLBACK TO named")
            transaction.rollback_only = False  # by `tx=rollback`: that was of what is undone by now
            count(transaction, caller)
            told = fault
    if told is not None:
        raise told


def count(transaction: Transaction, caller: Caller) -> None:
    """Count that a caller is told of an e-mail that is taken."""
    purge(transaction)
    write_down(transaction, TAKEN, subject_of(caller), "")


def tells_of_email(fault: Fault) -> bool:
    """Whether a refusal tells that somebody has an e-mail."""
    return isinstance(fault, EmailTaken) or (
        isinstance(fault, UniqueViolation) and fault.constraint == EMAIL_KEY
    )


def subject_of(caller: Caller) -> str:
    return caller.id or "service"


OLDEST = oldest_of(ANSWERS_MAX, OF_SUBJECT)

"""Limit the errors that disclose a taken e-mail to 20 per hour and caller.

Only these errors reveal a row that may be hidden from the caller.

The transaction that finds the conflict counts it before the error is sent, so concurrent requests cannot exceed the
limit. Beyond the limit, a free e-mail gets the same error as a taken one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from access import policy, request_state
from access.accounts.people import EMAIL_KEY
from access.accounts.person import EmailTaken
from access.accounts.throttle import (
    EMAIL_TAKEN,
    EMAIL_TAKEN_SECONDS,
    SAME_SUBJECT,
    RateLimitExceeded,
    insert_attempt,
    limiting_attempt,
    purge,
)
from access.caller import Caller
from engine.interface.transaction import Transaction
from engine.query.constraints import UniqueViolation
from models.errors import Fault
from models.user import User

DISCLOSURES_MAX: Final = 20


def require_disclosures_left(transaction: Transaction, caller: Caller) -> None:
    """Raise RateLimitExceeded if the caller has reached the limit, whether or not the e-mail is taken."""
    oldest = OLDEST.one(
        transaction, kind=EMAIL_TAKEN, subject=subject_of(caller), since=transaction.unix - EMAIL_TAKEN_SECONDS
    )
    if oldest is not None:
        raise RateLimitExceeded(int(oldest[0] or 0) + EMAIL_TAKEN_SECONDS - transaction.unix)


@contextmanager
def counting_disclosures(writing: AbstractContextManager[Transaction]) -> Iterator[Transaction]:
    """Yield the transaction. If an e-mail is taken, undo the writes, count the disclosure, and raise the fault."""
    disclosure: Fault | None = None
    with writing as transaction:
        transaction.run("SAVEPOINT before_email")
        try:
            yield transaction
        except (EmailTaken, UniqueViolation) as fault:
            caller: Caller = request_state.state().caller
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


OLDEST = limiting_attempt(DISCLOSURES_MAX, SAME_SUBJECT)

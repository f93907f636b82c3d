"""The faults of errors that a PostgreSQL server reports, by SQLSTATE or its class."""

from __future__ import annotations

import re
from collections.abc import Callable

import psycopg

from engine.interface.faults import (
    BeyondClient,
    DiskFailed,
    DiskFull,
    FileCorrupt,
    Locked,
    NotPermitted,
    OnlyReads,
    SerializationConflict,
    TimedOut,
    Unreachable,
    Unresolved,
)
from engine.query import constraints
from engine.query.catalog import ForeignKey, catalog
from engine.query.patterns import InvalidRegularExpression
from models import types
from models.errors import Fault

ERRORS = (psycopg.Error,)


KEY_DETAIL = re.compile(r"\(([^()]*)\)=\(([^()]*)\)")
"""The columns of a foreign key and their values, in any language of the server. Ids contain no parentheses."""


def translate(error: Exception) -> Exception:
    """Return the fault of a driver's error; the error itself if a caller must not see it."""
    if not isinstance(error, psycopg.Error):
        return error
    state = error.sqlstate
    if state is None:
        if isinstance(error, psycopg.DataError):
            return types.NulInText("unsupported Unicode escape sequence")
        return Unreachable("the database does not answer")
    make_fault = FAULTS.get(state) or FAULTS.get(state[:2])
    return make_fault(error) if make_fault is not None else error


def translate_of_commit(error: Exception) -> Exception:
    """Return the fault of a COMMIT.

    Only the severity ERROR says that nothing was committed. A session can also end after the server has committed.
    """
    if isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized != "ERROR":
        return Unresolved(
            "the database did not say whether it kept the write",
            hint="Look whether it is there before sending it again.",
        )
    return translate(error)


def message(error: psycopg.Error) -> str:
    return error.diag.message_primary or str(error)


def unique_violation(error: psycopg.Error) -> Fault:
    name = error.diag.constraint_name or ""
    if name in ("users_lower_email_key", "users_email_key"):
        return constraints.UniqueViolation("users_email_key")
    return constraints.UniqueViolation(name, error.diag.message_detail)


def foreign_key_violation(error: psycopg.Error) -> Fault:
    """Return the same message as on SQLite, without the hidden half of a compound key."""
    relation, constraint = error.diag.table_name or "", error.diag.constraint_name or ""
    fk = foreign_key(relation, constraint)
    match = KEY_DETAIL.search(error.diag.message_detail or "")
    if fk is None or match is None:
        return constraints.ForeignKeyViolation(details="A key points at nothing, or is pointed at.")
    column, value = (each.split(", ")[0] for each in match.groups())
    if column == fk.referred_column:
        return constraints.ForeignKeyViolation.referenced(fk.referred, constraint, fk.referred_column, value, relation)
    return constraints.ForeignKeyViolation.missing(relation, constraint, fk.column, value, fk.referred)


def foreign_key(relation: str, constraint: str) -> ForeignKey | None:
    table = catalog().relations.get(relation)
    keys = table.foreign_keys if table is not None else ()
    return next((each for each in keys if each.name == constraint), None)


def unsupported(error: psycopg.Error) -> Exception:
    """Return OutOfRange for a number without a nearest integer, else the error itself.

    The server's source file identifies that error in any language.
    """
    is_of_number = error.diag.source_file == "numeric.c"
    return types.OutOfRange(message(error)) if is_of_number else error


def with_message(fault: Callable[[str], Fault]) -> Callable[[psycopg.Error], Fault]:
    return lambda error: fault(message(error))


FAULTS: dict[str, Callable[[psycopg.Error], Exception]] = {
    "23505": unique_violation,
    "23503": foreign_key_violation,
    "23001": foreign_key_violation,  # ON DELETE RESTRICT, since PostgreSQL 18
    "23502": lambda error: constraints.NotNullViolation(error.diag.table_name or "", error.diag.column_name or ""),
    "23514": lambda error: constraints.CheckViolation(error.diag.constraint_name or ""),
    "0A000": unsupported,
    "22P02": with_message(types.InvalidInput),
    "22003": with_message(types.OutOfRange),
    "22007": with_message(types.InvalidDatetime),
    "22008": with_message(types.DatetimeOutOfRange),
    "22009": with_message(types.DisplacementOutOfRange),
    "22023": with_message(types.UnknownTimezone),
    "2201B": with_message(InvalidRegularExpression),
    "22P05": with_message(types.NulInText),
    "54001": with_message(types.InvalidInput),  # JSON nested beyond the server's limit
    "42501": lambda error: NotPermitted(message(error)),
    "25006": lambda error: OnlyReads(),
    "40001": lambda error: SerializationConflict("could not serialize access due to concurrent update"),
    "40P01": lambda error: SerializationConflict("deadlock detected"),
    "55P03": lambda error: Locked("canceling statement due to lock timeout"),
    "57014": lambda _: TimedOut(),
    "53100": lambda error: DiskFull("no space left on the device"),
    "58030": lambda error: DiskFailed("the disk failed"),
    "WLK01": lambda error: BeyondClient(),
    "XX001": lambda error: FileCorrupt("the database is damaged"),
    "XX002": lambda error: FileCorrupt("the database is damaged"),
}
NO_ANSWER = (
    *("08", "53", "57"),  # connections, resources, the operator
    *("25P03", "25P04"),  # a transaction that took too long
)
FAULTS |= {state: lambda error: Unreachable("the database does not answer") for state in NO_ANSWER}

"""How a PostgreSQL server is connected to, and understood when it complains.

Only loaded where DATABASE_URL names such a server. Every value is sent as text of no stated type, and
every value comes back as SQLite has it: ids and moments as the text that the API prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import psycopg
import sqlalchemy as sa
from psycopg.adapt import AdaptersMap
from psycopg.adapt import Buffer
from psycopg.adapt import Dumper
from psycopg.adapt import Loader
from psycopg.types.string import TextLoader
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from models import types
from models.faults import Fault
from models.sql import constraints
from models.sql.catalog import ForeignKey
from models.sql.catalog import catalog
from models.sql.constraints import Unreachable
from models.sql.direct import STATEMENTS_KEPT
from models.sql.direct import DirectSession
from models.sql.patterns import InvalidRegularExpression
from models.sql.pipeline import GOOD
from models.sql.pipeline import require
from models.sql.sqlite import DiskFailed
from models.sql.sqlite import DiskFull
from models.sql.sqlite import FileCorrupt
from models.sql.sqlite import TimedOut

CONNECT_SECONDS_MAX = 3
IDLE_MILLISECONDS_MAX = 60_000  # in a transaction: whoever sleeps in one gives back what it holds
SILENCE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 4,
    "tcp_user_timeout": 30_000,
}
"""A host that is gone without a word, or a cut wire, is noticed after half a minute, by whoever waits for longer than
a request does, too; firewalls see that a session is in use. Over a socket of the same machine they say nothing."""

DURABLE = (
    "SELECT set_config('synchronous_commit', 'on', false)"
    " WHERE current_setting('synchronous_commit') = 'off'"
)
"""What else it may be keeps a COMMIT on one disk at least, and is the server's to say."""

ENGLISH = "SELECT set_config('lc_messages', 'C', false) WHERE has_parameter_privilege('lc_messages', 'SET')"
"""What is wrong with a value is told in the server's words; which language it speaks not every user may choose."""

SETTLED = {
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    # Whoever has waited for the turn to write sees what the one before left, whatever else is the server's default.
    "default_transaction_isolation": "read\\ committed",
    "walkthrough.is_told": "yes",
}
"""What statements rely on, whatever the server, the role, the database or the URL says: and by the last one it is seen
that a session was told."""

IS_TOLD = "SELECT current_setting('walkthrough.is_told', true)"

DIALECT: sa.Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]
LIBPQS_NAMES = {each.keyword.decode() for each in psycopg.pq.Conninfo.get_defaults()}

ERRORS = (psycopg.Error,)
LOCAL_HOSTS = ("", "localhost", "::1")


class NotTold(Unreachable):
    """A session that does not know what it was told as it began. Days would be another time zone's, statements had no
    end, and a write might rest on what was before its turn."""

    def __init__(self) -> None:
        super().__init__(NOT_TOLD)


NOT_TOLD = (
    "a pooler (such as PgBouncer) keeps from it what a session is told; it has to be asked itself"
)


class TryAgain(constraints.Locked):
    """Two transactions got in each other's way, and this one made room (40001, 40P01)."""


class AsText(Dumper):
    """A number as its text, its type left to the statement."""

    def dump(self, obj: Any) -> bytes:
        return repr(obj).encode()


class MomentLoader(Loader):
    """A timestamp, of a session in UTC, as it is printed in JSON."""

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return f"{text[:10]}T{text[11:]}:00"


class NumberLoader(Loader):
    """A sum or an average: whole if it is whole."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text or "N" in text else int(text)


def adapters() -> AdaptersMap:
    """What goes in and comes out as what."""
    found = AdaptersMap(psycopg.adapters)
    found.register_dumper(int, AsText)
    found.register_dumper(float, AsText)
    for name in ("uuid", "date", "time", "timestamp", "json", "jsonb", "timetz"):
        found.register_loader(name, TextLoader)
    found.register_loader("timestamptz", MomentLoader)
    found.register_loader("numeric", NumberLoader)
    return found


class Context:
    """The adapters of our sessions; other users of the driver keep theirs."""

    adapters = adapters()
    connection = None


CONTEXT = Context()


def words_of(url: sa.URL) -> dict[str, str]:
    """What a URL says of a connection, by libpq's names, as SQLAlchemy reads it; sa.exc.ArgumentError if libpq knows no
    such name, which the driver may take for one of its own.

    >>> words_of(sa.make_url("postgresql://walk:p%40@/walk?host=a:1&host=b:2&sslmode=require"))
    {'dbname': 'walk', 'user': 'walk', 'password': 'p@', 'host': 'a,b', 'sslmode': 'require', 'port': '1,2'}
    """
    hosts, port = url.query.get("host"), url.query.get("port")
    if isinstance(hosts, str) and isinstance(port, str) and "," not in port:
        # One port is that of all hosts to libpq, and one too few to SQLAlchemy.
        url = url.update_query_dict({"port": ",".join([port] * len(hosts.split(",")))})
    _, stated = DIALECT.create_connect_args(url)
    found = {}
    for name, value in stated.items():
        if name not in LIBPQS_NAMES:
            raise sa.exc.ArgumentError(f"PostgreSQL knows no '{name}' in a URL")
        if isinstance(value, tuple) and name != "options":
            raise sa.exc.ArgumentError(f"its URL says '{name}' twice")
        found[name] = " ".join(value) if isinstance(value, tuple) else str(value)
    return found


def connect(
    url: sa.URL,
    statement_seconds_max: float,
    session: type[psycopg.Connection[Any]] = DirectSession,
) -> psycopg.Connection[Any]:
    """A session in UTC whose statements end in time unless a transaction says otherwise."""
    stated = words_of(url)
    options = [
        # A compilation takes seconds for a statement of many embeds, and looks at no statement_timeout meanwhile.
        "-c jit=off",
        f"-c statement_timeout={milliseconds(statement_seconds_max)}",
        f"-c idle_in_transaction_session_timeout={IDLE_MILLISECONDS_MAX}",
        stated.get("options", ""),
        *(f"-c {name}={value}" for name, value in SETTLED.items()),
    ]
    words: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS_MAX,
        **SILENCE,
        "application_name": "walkthrough",
        **stated,
        "client_encoding": "UTF8",
        "options": " ".join(options),
    }
    try:
        connection = session.connect(
            autocommit=True, cursor_factory=psycopg.RawCursor, context=CONTEXT, **words
        )
    except psycopg.Error as error:
        raise Unreachable("the database does not answer") from error
    connection.prepared_max = STATEMENTS_KEPT  # those of the driver's own cursors
    return connection


def keep_commits(session: DirectSession) -> None:
    """Have a COMMIT answered when it is on the disk, even where the server or the role was told not to wait; and what
    is refused told in English, if that may be chosen. NotTold where this is no session of our own."""
    words = f"{DURABLE}; {ENGLISH}; {IS_TOLD}".encode()
    try:
        told = session.answer_of(session.pgconn.exec_, words)
        require(told, *GOOD)
    except psycopg.Error as error:
        session.close()
        raise Unreachable("the database does not answer") from error
    if told.get_value(0, 0) != b"yes":
        session.close()
        raise NotTold


def is_local(url: sa.URL) -> bool:
    """Whether its server is on this machine, or all of several.

    >>> is_local(sa.make_url("postgresql://walk@/walk?host=/run/postgresql"))
    True
    >>> is_local(sa.make_url("postgresql://walk@10.0.0.7/walk"))
    False
    >>> is_local(sa.make_url("postgresql:///?service=walk"))  # which may be anywhere
    False
    """
    words = words_of(url)
    hosts = words.get("hostaddr") or words.get("host")
    if hosts is None and "service" in words:
        return False
    return all(
        host in LOCAL_HOSTS or host.startswith(("/", "127.")) for host in (hosts or "").split(",")
    )


def milliseconds(seconds: float) -> int:
    """A bound as PostgreSQL takes it, where 0 would be none."""
    return max(1, int(seconds * 1_000))


# Errors

KEY_DETAIL = re.compile(r"\(([^()]*)\)=\(([^()]*)\)")
"""The columns of a foreign key and their values, in whatever language the server speaks: ids, so without brackets."""


def translate(error: Exception) -> Exception:
    """A driver's error as the fact it tells of; what is no caller's business stays what it is."""
    if not isinstance(error, psycopg.Error):
        return error
    state = error.sqlstate
    if state is None:
        if isinstance(error, psycopg.DataError):
            return types.NulInText("unsupported Unicode escape sequence")
        return Unreachable("the database does not answer")
    fact = FACTS.get(state) or FACTS.get(state[:2])
    return fact(error) if fact is not None else error


def translate_of_commit(error: Exception) -> Exception:
    """The same of an error that answers a COMMIT. Only an ERROR says that nothing was kept: a session may be ended,
    or lost, behind the COMMIT as well as before it."""
    if isinstance(error, psycopg.Error) and error.diag.severity_nonlocalized != "ERROR":
        return constraints.Unresolved(
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
    """The same words as on SQLite: the hidden half of a compound key is not told."""
    relation, constraint = error.diag.table_name or "", error.diag.constraint_name or ""
    fk = foreign_key(relation, constraint)
    found = KEY_DETAIL.search(error.diag.message_detail or "")
    if fk is None or found is None:
        return constraints.ForeignKeyViolation(details="A key points at nothing, or is pointed at.")
    column, value = (each.split(", ")[0] for each in found.groups())
    if column == fk.referred_column:
        return constraints.ForeignKeyViolation.referenced(
            fk.referred, constraint, fk.referred_column, value, relation
        )
    return constraints.ForeignKeyViolation.missing(
        relation, constraint, fk.column, value, fk.referred
    )


def foreign_key(relation: str, constraint: str) -> ForeignKey | None:
    known = catalog().relations.get(relation)
    keys = known.foreign_keys if known is not None else ()
    return next((each for each in keys if each.name == constraint), None)


def unsupported(error: psycopg.Error) -> Exception:
    """A number that no whole one is nearest to; all else that a server does not support is nobody's request.

    Which it is the server's own file tells, in whatever language it speaks.
    """
    is_of_number = error.diag.source_file == "numeric.c"
    return types.OutOfRange(message(error)) if is_of_number else error


def saying(fact: Callable[[str], Fault]) -> Callable[[psycopg.Error], Fault]:
    return lambda error: fact(message(error))


Fact = Callable[[psycopg.Error], Exception]

FACTS: dict[str, Fact] = {
    # By state, or by the class of states.
    "23505": unique_violation,
    "23503": foreign_key_violation,
    "23001": foreign_key_violation,  # what ON DELETE RESTRICT keeps, since PostgreSQL 18
    "23502": lambda error: constraints.NotNullViolation(
        error.diag.table_name or "", error.diag.column_name or ""
    ),
    "23514": lambda error: constraints.CheckViolation(error.diag.constraint_name or ""),
    "0A000": unsupported,
    "22P02": saying(types.InvalidInput),
    "22003": saying(types.OutOfRange),
    "22007": saying(types.InvalidDatetime),
    "22008": saying(types.DatetimeOutOfRange),
    "22009": saying(types.DisplacementOutOfRange),
    "22023": saying(types.UnknownTimezone),
    "2201B": saying(InvalidRegularExpression),
    "22P05": saying(types.NulInText),
    "54001": saying(types.InvalidInput),  # of JSON so deep that the server does not read it
    "42501": lambda error: constraints.NotPermitted(message(error)),
    "25006": lambda error: constraints.OnlyReads(),
    "40001": lambda error: TryAgain("could not serialize access due to concurrent update"),
    "40P01": lambda error: TryAgain("deadlock detected"),
    "55P03": lambda error: constraints.Locked("canceling statement due to lock timeout"),
    "57014": lambda error: TimedOut("canceling statement due to statement timeout"),
    "53100": lambda error: DiskFull("no space left on the device"),
    "58030": lambda error: DiskFailed("the disk failed"),
    "XX001": lambda error: FileCorrupt("the database is damaged"),
    "XX002": lambda error: FileCorrupt("the database is damaged"),
}
NO_ANSWER = (
    *("08", "53", "57"),  # connections, resources, the operator's doings
    *("25P03", "25P04"),  # a transaction that took too long
)
FACTS |= {state: lambda error: Unreachable("the database does not answer") for state in NO_ANSWER}

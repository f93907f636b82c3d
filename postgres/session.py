"""One session with a PostgreSQL server, in psycopg's pipeline mode, and the faults of the server's errors.

Statements whose result is not needed, such as BEGIN, are sent without waiting. Their results arrive with the next
statement's. `run` takes one round trip, whatever was sent before it. Values are sent as text without a type.
Timestamps, dates and ids are read as the text that SQLite stores. A fault follows from an error's SQLSTATE or its
class.
"""

from __future__ import annotations

import re
import select
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, Final, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg.abc import PQGen
from psycopg.adapt import AdaptersMap, Buffer, Dumper, Loader
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.types.string import TextLoader
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from engine.interface.database import (
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
from engine.query import catalog as constraints
from engine.query.catalog import ForeignKey, catalog
from engine.query.dialect.sqlite_functions import InvalidRegularExpression
from engine.query.statement import LARGE_CHARACTERS
from models import types
from models.types import Bound, Fault

Result = TypeVar("Result")

CONNECT_SECONDS_MAX = 3
GRACE_SECONDS: Final = 2.0
"""The server cancels statements itself. A busy server reports it late."""
IDLE_MILLISECONDS_MAX = 60_000  # in a transaction, which then releases its locks
STATEMENTS_MAX: Final = 512
SYNC_MAX: Final = 8_192  # characters that fit into a socket's buffer
FAILURES_MAX: Final = 100
"""psycopg forgets a prepared statement whose first execution fails; the server keeps it until the session ends."""
POLL_SECONDS: Final = 0.1
RECOVERY_ATTEMPTS: Final = 3

KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
"""TCP detects a lost host after half a minute, and firewalls keep the connection open."""

SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    # A writer that has waited for the lock sees the previous commit.
    "default_transaction_isolation": "read\\ committed",
    # A compilation takes seconds for a statement of many embeds, and ignores statement_timeout meanwhile.
    "jit": "off",
    "idle_in_transaction_session_timeout": str(IDLE_MILLISECONDS_MAX),
    "walkthrough.settings_arrived": "yes",
}
"""Settings that statements rely on. They override those of the server, role, database and URL. The last one proves that
the session has received them."""

PREPARE_SESSION = """
SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local', 'remote_write');
SELECT set_config('lc_messages', 'C', false) WHERE has_parameter_privilege('lc_messages', 'SET');
SELECT current_setting('walkthrough.settings_arrived', true)
"""
"""COMMIT returns once the commit is on disk, also on a synchronous standby. Messages are in English if the user may set
their language."""

POOLER_REFUSED = "a pooler (such as PgBouncer) withholds session settings; connect to the server without it"

DIALECT: sa.Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]


class PoolerRefused(Unreachable):
    """A pooler withholds a session's settings, and shares the names of prepared statements."""

    def __init__(self) -> None:
        super().__init__(POOLER_REFUSED)


class NumberAsText(Dumper):
    """Sends a number as text without a type."""

    def dump(self, obj: Any) -> bytes:
        return repr(obj).encode()


class BooleanAsText(Dumper):
    """Sends a boolean as text without a type."""

    def dump(self, obj: Any) -> bytes:
        return b"t" if obj else b"f"


class TimestampLoader(Loader):
    """Reads a timestamp of a session in UTC as ISO 8601 text."""

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return f"{text[:10]}T{text[11:]}:00"


class NumberLoader(Loader):
    """Reads a sum or an average: as an int if it is whole."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text or "N" in text else int(text)


def adapters() -> AdaptersMap:
    """Return psycopg's adapters with the changes above."""
    adapted = AdaptersMap(psycopg.adapters)
    adapted.register_dumper(int, NumberAsText)
    adapted.register_dumper(float, NumberAsText)
    adapted.register_dumper(bool, BooleanAsText)
    for name in ("uuid", "date", "time", "timestamp", "json", "jsonb", "timetz"):
        adapted.register_loader(name, TextLoader)
    adapted.register_loader("timestamptz", TimestampLoader)
    adapted.register_loader("numeric", NumberLoader)
    return adapted


class AdaptContext:
    """The adapters of these sessions. Other connections of the driver keep their own."""

    adapters = adapters()
    connection = None


CONTEXT = AdaptContext()


class ServerSession(psycopg.Connection[Any]):
    """A session that is given up when the server does not respond in time."""

    seconds_max = CONNECT_SECONDS_MAX + GRACE_SECONDS
    """The time limit of a response, in seconds."""

    is_lost = False
    """The server did not respond, or the connection broke. The server may have run the last statement."""

    is_ending = False
    """The last statement was a COMMIT whose result is not awaited."""

    is_read_only = False
    """The server refused a write, since the session began as read-only."""

    failures = 0
    generation = 0
    pipelining: AbstractContextManager[psycopg.Pipeline] | None = None
    pipe: psycopg.Pipeline

    def wait(self, gen: PQGen[Result], interval: float = POLL_SECONDS, timeout: float | None = None) -> Result:
        try:
            return super().wait(gen, interval, self.seconds_max if timeout is None else timeout)
        except psycopg.errors.PipelineAborted:
            raise
        except psycopg.OperationalError as error:
            self.is_lost = self.is_lost or error.sqlstate is None or self.info.status != OK
            raise

    def enter_pipeline(self) -> None:
        """Enter pipeline mode: send statements without waiting for their results."""
        self.pipelining = self.pipeline()
        self.pipe = self.pipelining.__enter__()
        self.control = self.cursor()

    def leave_pipeline(self) -> None:
        """Read all results; raise psycopg.Error if a statement failed."""
        pipelining, self.pipelining = self.pipelining, None
        if pipelining is not None:
            pipelining.__exit__(None, None, None)

    def send(self, sql: str, parameters: Sequence[Bound] = ()) -> None:
        """Send a statement whose rows are not needed. The next call raises its error.

        The server skips the statements after a failed one.
        """
        try:
            self.control.execute(sql, parameters, prepare=True)
        except psycopg.Error:  # of an earlier statement, whose result has arrived
            self.recover()
            raise
        self.is_ending = False

    def send_commit(self) -> None:
        """Send the COMMIT of a transaction that only read, without waiting for the result."""
        self.send("COMMIT")
        self.is_ending = True

    def send_rollback(self) -> None:
        """Send the ROLLBACK of a transaction that only read, without waiting for the result. Keep the prepared
        statements.
        """
        with self.unprepared():
            self.send("ROLLBACK")
        self.is_ending = True

    @contextmanager
    def unprepared(self) -> Iterator[None]:
        """Hide a ROLLBACK from psycopg's list of prepared statements.

        psycopg forgets all of them once a ROLLBACK that it has listed succeeds. In pipeline mode it sends its
        DEALLOCATE ALL after the next statement's Parse, so the server loses a statement that psycopg has listed.
        """
        self.prepare_threshold = None
        try:
            yield
        finally:
            self.prepare_threshold = 0

    def run(self, sql: str, parameters: Sequence[Bound] = ()) -> psycopg.Cursor[Any]:
        """Run one statement and return its cursor; raise psycopg.Error if it or an earlier one fails."""
        cursor = self.cursor()
        try:
            # The server keeps prepared statements, so large ones are not prepared.
            cursor.execute(sql, parameters, prepare=len(sql) <= LARGE_CHARACTERS)
            self.is_ending = False
            if len(sql) + sum(len(each) for each in parameters if isinstance(each, str)) > SYNC_MAX:
                self.sync_large()
            else:
                self.pipe.sync()
        except psycopg.Error:
            self.recover()
            raise
        return cursor

    def sync_large(self) -> None:
        """Wait for all results by leaving the pipeline. `Pipeline.sync` stops sending when the socket is full."""
        try:
            self.leave_pipeline()
        finally:
            if not self.is_lost:
                self.enter_pipeline()

    def settle(self) -> None:
        """Wait for the results of sent statements; raise psycopg.Error if one failed."""
        if self.is_open:  # all results have arrived
            return
        try:
            self.pipe.sync()
        except psycopg.Error:
            self.recover()
            raise

    def run_many(self, sql: str, rows: Sequence[Sequence[Bound]]) -> None:
        """Run one statement for each row; raise psycopg.Error if one fails."""
        try:
            self.cursor().executemany(sql, rows)
            self.sync_large()
        except psycopg.Error:
            self.recover()
            raise

    def run_script(self, script: str) -> None:
        """Run several statements without values; raise psycopg.Error if one fails."""
        try:
            self.leave_pipeline()
            self.execute(script, prepare=False)
        finally:
            if not self.is_lost:
                self.enter_pipeline()

    def undo(self, sql: str) -> None:
        """Run a ROLLBACK; raise psycopg.Error if it fails. Keep the prepared statements."""
        with self.unprepared():
            self.run(sql)

    def recover(self) -> None:
        """Read the remaining results after an error. The server has skipped their statements."""
        self.failures += 1
        for _ in range(RECOVERY_ATTEMPTS):
            if self.is_lost:
                return
            with suppress(psycopg.Error):
                self.pipe.sync()
                return
        self.is_lost = True

    @property
    def is_open(self) -> bool:
        """Whether the session is in a transaction; valid after `run`."""
        return not self.is_lost and self.info.transaction_status in IN_TRANSACTION

    @property
    def is_idle(self) -> bool:
        """Whether the session can take the next transaction."""
        if self.is_lost or self.closed:
            return False
        return self.is_ending or self.info.transaction_status == TransactionStatus.IDLE

    @property
    def is_worn(self) -> bool:
        """Whether a new session should replace this one."""
        return self.is_read_only or self.failures >= FAILURES_MAX

    def is_ended_by_server(self) -> bool:
        """Return whether the server has closed an idle session. It sends nothing else to an idle session."""
        poll = select.poll()
        try:
            poll.register(self.fileno(), select.POLLIN)
        except psycopg.Error:
            return True
        return bool(poll.poll(0))

    def stop_waiting(self) -> None:
        """Cancel the COMMIT that waits for a synchronous standby: its lock would hold up all later writes.

        The server then has the commit, and the standby may lack it.
        """
        with suppress(psycopg.Error):
            self.cancel_safe(timeout=CONNECT_SECONDS_MAX)

    def close(self) -> None:
        super().close()
        with suppress(psycopg.Error):
            self.leave_pipeline()


IN_TRANSACTION: Final = (TransactionStatus.INTRANS, TransactionStatus.INERROR)
OK: Final = psycopg.pq.ConnStatus.OK


def connection_settings(url: sa.URL) -> dict[str, str]:
    """Return a URL's settings by libpq's names; raise sa.exc.ArgumentError for a name that libpq lacks.

    >>> connection_settings(sa.make_url("postgresql://walk:p%40@/walk?host=a:1&host=b:2&sslmode=require"))
    {'dbname': 'walk', 'user': 'walk', 'password': 'p@', 'host': 'a,b', 'sslmode': 'require', 'port': '1,2'}
    """
    hosts, port = url.query.get("host"), url.query.get("port")
    if isinstance(hosts, str) and isinstance(port, str) and "," not in port:
        # libpq uses one port for all hosts. SQLAlchemy requires one port for each.
        url = url.update_query_dict({"port": ",".join([port] * len(hosts.split(",")))})
    _, stated = DIALECT.create_connect_args(url)
    settings = {}
    for name, value in stated.items():
        require_name(name)
        if isinstance(value, tuple) and name != "options":
            raise sa.exc.ArgumentError(f"its URL sets '{name}' twice")
        settings[name] = " ".join(value) if isinstance(value, tuple) else str(value)
    return settings


def require_name(name: str) -> None:
    """Raise sa.exc.ArgumentError for a name that libpq lacks; the driver may take it for its own."""
    try:
        make_conninfo(**{name: ""})
    except psycopg.ProgrammingError as error:
        raise sa.exc.ArgumentError(f"PostgreSQL has no setting '{name}' in a URL") from error


def connect(url: sa.URL, statement_seconds_max: float, **settings: str) -> ServerSession:
    """Open a session; raise Unreachable if the server does not answer, PoolerRefused if a pooler answers."""
    stated = connection_settings(url)
    required = {**SETTINGS, "statement_timeout": str(milliseconds(statement_seconds_max)), **settings}
    options = [stated.get("options", ""), *(f"-c {name}={value}" for name, value in required.items())]
    parameters: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS_MAX,
        **KEEPALIVE,
        "application_name": "walkthrough",
        **stated,
        "client_encoding": "UTF8",
        "options": " ".join(options),
    }
    try:
        session = ServerSession.connect(
            autocommit=True, cursor_factory=psycopg.RawCursor, context=CONTEXT, prepare_threshold=0, **parameters
        )
    except psycopg.Error as error:
        raise Unreachable("the database does not answer") from error
    try:
        require_settings(session)
    except BaseException:
        session.close()
        raise
    return session


def require_settings(session: ServerSession) -> None:
    """Complete and verify a new session's settings; raise Unreachable or PoolerRefused."""
    session.prepared_max = STATEMENTS_MAX
    try:
        cursor = session.execute(PREPARE_SESSION, prepare=False)
        while cursor.nextset():
            pass
        arrived = cursor.fetchone()
        session.enter_pipeline()
    except psycopg.Error as error:
        raise Unreachable("the database does not answer") from error
    if arrived != ("yes",):
        raise PoolerRefused


def milliseconds(seconds: float) -> int:
    """Return a time limit in milliseconds, at least 1: for PostgreSQL 0 means no limit."""
    return max(1, int(seconds * 1_000))


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

"""One session with a PostgreSQL server, in psycopg's pipeline mode.

Statements that need no answer of their own are sent at once and answered together with the next one: BEGIN with the
look-up of the caller, the audit context with the change. `run` is one round trip, whatever was sent before it.
Values travel as text of no stated type. Moments, days and ids come back as the text that SQLite stores.
"""

from __future__ import annotations

import select
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from typing import Any, Final, TypeVar

import psycopg
import sqlalchemy as sa
from psycopg.abc import PQGen
from psycopg.adapt import AdaptersMap, Buffer, Dumper, Loader
from psycopg.conninfo import make_conninfo
from psycopg.pq import TransactionStatus
from psycopg.types.string import TextLoader
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from engine.query.constraints import Unreachable
from engine.query.statement import LARGE_CHARACTERS
from models.types import Bound

Result = TypeVar("Result")

CONNECT_SECONDS_MAX = 3
GRACE_SECONDS: Final = 2.0
"""The server ends its statements itself and reports it; a busy one reports it late."""
IDLE_MILLISECONDS_MAX = 60_000  # in a transaction: a sleeping one returns its locks
STATEMENTS_MAX: Final = 512
SYNC_MAX: Final = 8_192  # characters, which a socket's buffer holds
FAILURES_MAX: Final = 100
"""psycopg forgets a prepared statement whose first execution fails; the server keeps it until the session ends."""
POLL_SECONDS: Final = 0.1
RECOVERY_ATTEMPTS: Final = 3

KEEPALIVE = {"keepalives_idle": 10, "keepalives_interval": 5, "keepalives_count": 4, "tcp_user_timeout": 30_000}
"""TCP notices a lost host after half a minute, and firewalls see that a session is in use."""

SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
    # A writer that has waited for the lock sees what the one before committed, whatever the server's default.
    "default_transaction_isolation": "read\\ committed",
    # A compilation takes seconds for a statement of many embeds, and ignores statement_timeout meanwhile.
    "jit": "off",
    "idle_in_transaction_session_timeout": str(IDLE_MILLISECONDS_MAX),
    "walkthrough.settings_arrived": "yes",
}
"""What statements rely on, whatever the server, the role, the database or the URL sets. The last one shows that the
session has received them."""

PREPARE_SESSION = """
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
SELECT set_config('lc_messages', 'C', false) WHERE has_parameter_privilege('lc_messages', 'SET');
SELECT current_setting('walkthrough.settings_arrived', true)
"""
"""A COMMIT is answered when it is on a disk. Messages are in English where the user may choose that."""

POOLER_REFUSED = "a pooler (such as PgBouncer) withholds session settings; connect to the server without it"

DIALECT: sa.Dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]


class PoolerRefused(Unreachable):
    """A session without its settings: another time zone, no statement timeouts, names of prepared statements shared."""

    def __init__(self) -> None:
        super().__init__(POOLER_REFUSED)


class NumberAsText(Dumper):
    """A number as its text, its type left to the statement."""

    def dump(self, obj: Any) -> bytes:
        return repr(obj).encode()


class BooleanAsText(Dumper):
    """A truth value as its text, its type left to the statement."""

    def dump(self, obj: Any) -> bytes:
        return b"t" if obj else b"f"


class TimestampLoader(Loader):
    """A timestamp, of a session in UTC, as JSON prints it."""

    def load(self, data: Buffer) -> str:
        text = bytes(data).decode()
        return f"{text[:10]}T{text[11:]}:00"


class NumberLoader(Loader):
    """A sum or an average: an int if it is whole."""

    def load(self, data: Buffer) -> int | float:
        text = bytes(data).decode()
        return float(text) if "." in text or "N" in text else int(text)


def adapters() -> AdaptersMap:
    """Return how values are sent and read."""
    found = AdaptersMap(psycopg.adapters)
    found.register_dumper(int, NumberAsText)
    found.register_dumper(float, NumberAsText)
    found.register_dumper(bool, BooleanAsText)
    for name in ("uuid", "date", "time", "timestamp", "json", "jsonb", "timetz"):
        found.register_loader(name, TextLoader)
    found.register_loader("timestamptz", TimestampLoader)
    found.register_loader("numeric", NumberLoader)
    return found


class AdaptContext:
    """The adapters of our sessions; other users of the driver keep theirs."""

    adapters = adapters()
    connection = None


CONTEXT = AdaptContext()


class Session(psycopg.Connection[Any]):
    """A session that gives up a silent server, stopped or behind a dead wire, in time."""

    seconds_max = CONNECT_SECONDS_MAX + GRACE_SECONDS
    """How long a statement's answer may take."""

    is_lost = False
    """No answer came, or the connection broke: what was sent last may have been done."""

    is_ending = False
    """A COMMIT that nobody waits for was sent last."""

    is_read_only = False
    """The server refused a write: the role or the database was set to that when the session began."""

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
        """Have statements sent without a wait for their answers."""
        self.pipelining = self.pipeline()
        self.pipe = self.pipelining.__enter__()
        self.control = self.cursor()

    def leave_pipeline(self) -> None:
        """Read all answers; psycopg.Error if a statement failed."""
        pipelining, self.pipelining = self.pipelining, None
        if pipelining is not None:
            pipelining.__exit__(None, None, None)

    def send(self, sql: str, parameters: Sequence[Bound] = ()) -> None:
        """Send a statement. Its failure is raised by the next call, and what follows it is not run."""
        try:
            self.control.execute(sql, parameters, prepare=True)
        except psycopg.Error:  # of a statement sent before, whose answer is there
            self.recover()
            raise
        self.is_ending = False

    def send_commit(self) -> None:
        """End a transaction that only read; nobody waits for the answer."""
        self.send("COMMIT")
        self.is_ending = True

    def run(self, sql: str, parameters: Sequence[Bound] = ()) -> psycopg.Cursor[Any]:
        """Run one statement, and return its cursor; psycopg.Error if it, or one sent before it, fails."""
        cursor = self.cursor()
        try:
            # The server keeps what is prepared: large statements are not.
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
        """Wait for all answers. `Pipeline.sync` stops sending where the socket's buffer is full; leaving does not."""
        try:
            self.leave_pipeline()
        finally:
            if not self.is_lost:
                self.enter_pipeline()

    def settle(self) -> None:
        """Wait for the answers to what was sent; psycopg.Error if a statement failed."""
        if self.is_open:  # nothing is unanswered
            return
        try:
            self.pipe.sync()
        except psycopg.Error:
            self.recover()
            raise

    def run_many(self, sql: str, rows: Sequence[Sequence[Bound]]) -> None:
        """Run one statement for each row; psycopg.Error if one fails."""
        try:
            self.cursor().executemany(sql, rows)
            self.sync_large()
        except psycopg.Error:
            self.recover()
            raise

    def run_script(self, script: str) -> None:
        """Run several statements without values; psycopg.Error if one fails."""
        try:
            self.leave_pipeline()
            self.execute(script, prepare=False)
        finally:
            if not self.is_lost:
                self.enter_pipeline()

    def undo(self, sql: str) -> None:
        """Run a ROLLBACK; psycopg.Error if it fails. psycopg would deallocate all prepared statements after it."""
        self.prepare_threshold = None
        try:
            self.run(sql)
        finally:
            self.prepare_threshold = 0

    def recover(self) -> None:
        """After an error, read the answers that are left: each is that its statement was not run."""
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
        """Whether the server has a transaction of this session; known after `run`."""
        return not self.is_lost and self.info.transaction_status in IN_TRANSACTION

    @property
    def is_idle(self) -> bool:
        """Whether the session can take the next transaction."""
        if self.is_lost or self.closed:
            return False
        return self.is_ending or self.info.transaction_status == TransactionStatus.IDLE

    @property
    def is_worn(self) -> bool:
        """Whether a new session is to take the place of this one."""
        return self.is_read_only or self.failures >= FAILURES_MAX

    def is_ended_by_server(self) -> bool:
        """Return whether an idle session's server has said or closed something: it says nothing else unasked."""
        poll = select.poll()
        try:
            poll.register(self.fileno(), select.POLLIN)
        except psycopg.Error:
            return True
        return bool(poll.poll(0))

    def close(self) -> None:
        super().close()
        with suppress(psycopg.Error):
            self.leave_pipeline()


IN_TRANSACTION: Final = (TransactionStatus.INTRANS, TransactionStatus.INERROR)
OK: Final = psycopg.pq.ConnStatus.OK


def connection_words(url: sa.URL) -> dict[str, str]:
    """Return what a URL sets for a connection, by libpq's names. sa.exc.ArgumentError for a name that libpq lacks.

    >>> connection_words(sa.make_url("postgresql://walk:p%40@/walk?host=a:1&host=b:2&sslmode=require"))
    {'dbname': 'walk', 'user': 'walk', 'password': 'p@', 'host': 'a,b', 'sslmode': 'require', 'port': '1,2'}
    """
    hosts, port = url.query.get("host"), url.query.get("port")
    if isinstance(hosts, str) and isinstance(port, str) and "," not in port:
        # One port is that of all hosts to libpq, and one too few to SQLAlchemy.
        url = url.update_query_dict({"port": ",".join([port] * len(hosts.split(",")))})
    _, stated = DIALECT.create_connect_args(url)
    found = {}
    for name, value in stated.items():
        require_name(name)
        if isinstance(value, tuple) and name != "options":
            raise sa.exc.ArgumentError(f"its URL says '{name}' twice")
        found[name] = " ".join(value) if isinstance(value, tuple) else str(value)
    return found


def require_name(name: str) -> None:
    """Refuse a word that libpq does not know; the driver may take it for one of its own."""
    try:
        make_conninfo(**{name: ""})
    except psycopg.ProgrammingError as error:
        raise sa.exc.ArgumentError(f"PostgreSQL knows no '{name}' in a URL") from error


def connect(url: sa.URL, statement_seconds_max: float, **settings: str) -> Session:
    """Open a session. Unreachable if the server does not answer, PoolerRefused if a pooler does."""
    stated = connection_words(url)
    ours = {**SETTINGS, "statement_timeout": str(milliseconds(statement_seconds_max)), **settings}
    options = [stated.get("options", ""), *(f"-c {name}={value}" for name, value in ours.items())]
    words: dict[str, Any] = {
        "connect_timeout": CONNECT_SECONDS_MAX,
        **KEEPALIVE,
        "application_name": "walkthrough",
        **stated,
        "client_encoding": "UTF8",
        "options": " ".join(options),
    }
    try:
        session = Session.connect(
            autocommit=True, cursor_factory=psycopg.RawCursor, context=CONTEXT, prepare_threshold=0, **words
        )
    except psycopg.Error as error:
        raise Unreachable("the database does not answer") from error
    try:
        require_settings(session)
    except BaseException:
        session.close()
        raise
    return session


def require_settings(session: Session) -> None:
    """Finish a new session's settings. Unreachable or PoolerRefused where it has not got them."""
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
    """Return a bound as PostgreSQL takes it; at least 1, since 0 is none."""
    return max(1, int(seconds * 1_000))

"""A session of a PostgreSQL server whose statements are run by libpq's own calls.

The driver's cursor is made for whoever may want to wait in other ways: it takes 50 us of processor time for a
statement, and a request has four. Here a statement is prepared once a session, and run by one call that lets
other threads go on; what comes back is read by the driver's own loaders.
"""

from __future__ import annotations

import os
import socket
import threading
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from time import monotonic
from time import sleep
from typing import Any
from typing import Final

import psycopg
from psycopg.abc import Transformer
from psycopg.adapt import Transformer as Rows
from psycopg.pq import TransactionStatus

from models.sql.pipeline import GOOD
from models.sql.pipeline import Answers
from models.sql.pipeline import Step
from models.sql.pipeline import is_silent
from models.sql.pipeline import require
from models.sql.pipeline import result_of
from models.sql.pipeline import run_together
from models.types import Bound

STATEMENTS_KEPT: Final = 512
CHARACTERS_KEPT: Final = 2_000_000  # what is prepared takes a dozen bytes for each
GRACE_SECONDS: Final = (
    2.0  # the server ends its statements itself, and says so; busy ones say it late
)
LOOK_SECONDS: Final = 0.5  # between looks at who waits for too long
UNUSED_SECONDS: Final = (
    1.0  # after which a session is asked whether it is one still, before a write
)
NEVER: Final = float("inf")

Question = tuple[str, Sequence[Bound]]
"""A statement, and its values."""


class Found:
    """What a statement found, or did; good until the session runs the next one."""

    __slots__ = ("place", "result", "rows")

    def __init__(self, result: Any, rows: Transformer) -> None:
        self.result = result
        self.rows = rows
        self.place = 0

    @property
    def rowcount(self) -> int:
        """How many rows it found, or changed."""
        changed: int | None = self.result.command_tuples
        return self.result.ntuples if changed is None else changed

    def fetchall(self) -> list[Any]:
        return self.rows.load_rows(0, self.result.ntuples, tuple)

    def fetchone(self) -> Any:
        """The next row, or None."""
        return next(self, None)

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self.place >= self.result.ntuples:
            raise StopIteration
        self.place += 1
        return self.rows.load_row(self.place - 1, tuple)


class DirectSession(psycopg.Connection[Any]):
    """A session, and which statements it knows by which names, the last used last."""

    seconds_max = GRACE_SECONDS
    """How long it waits for an answer: for as long as the server lets a statement run, and a while."""

    gives_up_at = NEVER
    """The moment, on the monotonic clock, from which on the answer that it waits for is late."""

    is_given_up = False

    asked_at = 0.0
    """When it was used last, on the same clock."""

    only_reads = False
    """It was told to take no writes, maybe for as long as it lasts: by what its role or database was set to then."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.known: OrderedDict[str, bytes] = OrderedDict()
        self.characters = 0  # of those statements, all together
        self.made = 0
        self.is_ending = False
        self.opened_at = monotonic()
        self.queued: list[Step] = []
        self.answers = Answers()  # to what is run by `run_all`

    @cached_property
    def rows(self) -> Transformer:
        """What reads rows by the session's own loaders, which are known once it is connected."""
        return Rows(self)

    def queue(self, sql: str, parameters: Sequence[Bound] = ()) -> None:
        """Have a statement sent together with the next one, which fails in its place if it fails."""
        step = self.step(sql, parameters)  # may send what is queued, and begin another queue
        self.queued.append(step)

    def run(self, sql: str, parameters: Sequence[Bound] = ()) -> Found:
        """Run one statement, prepared; psycopg.Error if it fails."""
        name, values = self.step(sql, parameters)
        if self.queued:
            steps = [*self.taken_from_queue(), (name, values)]
            result = self.answer_of(run_together, self.pgconn, steps)[-1]
        else:
            result = self.answer_of(self.pgconn.exec_prepared, name, values)
            require(result, *GOOD)
        return self.read(result)

    def steps(self, questions: Iterable[Question]) -> list[Step]:
        """Make statements ready to be sent. psycopg.Error if one cannot be: nothing was sent then."""
        self.settle()
        return [self.step(*question) for question in questions]

    def run_all(self, steps: Sequence[Step]) -> list[Any]:
        """Run several statements in one trip, as one transaction if none is open; their results. psycopg.Error if
        one fails."""
        results: list[Any] = self.answer_of(run_together, self.pgconn, steps, self.answers)
        return results

    def read(self, result: Any) -> Found:
        """What a result tells."""
        self.rows.set_pgresult(result)
        return Found(result, self.rows)

    def say(self, words: str) -> None:
        """Run statements without parameters or rows; psycopg.Error if one fails."""
        self.settle()
        self.is_ending = False
        require(self.answer_of(self.pgconn.exec_, words.encode()), *GOOD)

    def say_last(self, words: str) -> None:
        """Send the last words of a turn, which nobody waits for: the next call of libpq takes their result in."""
        self.settle()
        self.pgconn.send_query(words.encode())
        self.pgconn.flush()
        self.is_ending = True

    def settle(self) -> None:
        """Run what is queued, with nothing behind it."""
        if self.queued:
            self.answer_of(run_together, self.pgconn, self.taken_from_queue())

    def taken_from_queue(self) -> list[Step]:
        found, self.queued = self.queued, []
        return found

    def step(self, sql: str, parameters: Sequence[Bound]) -> Step:
        return self.name_of(sql), list(map(as_text, parameters))

    def answer_of(self, ask: Callable[..., Any], *words: Any) -> Any:
        """What a call of libpq returns that waits for the server; a `Watch` ends it where that is silent."""
        self.asked_at = monotonic()
        self.gives_up_at = self.asked_at + self.seconds_max
        try:
            return ask(*words)
        finally:
            self.gives_up_at = NEVER

    def give_up(self) -> None:
        """End the wait for an answer, as a server would that leaves: called by another thread than waits."""
        self.is_given_up = True
        # By a descriptor of its own: libpq's is closed by who finds the session lost, maybe in the meantime.
        with (
            suppress(OSError, psycopg.Error),
            socket.socket(fileno=os.dup(self.pgconn.socket)) as wire,
        ):
            wire.shutdown(socket.SHUT_RDWR)

    def is_left(self) -> bool:
        """Whether the server has ended it meanwhile. One that nobody has used for a while is asked: there are walls
        between machines that end a session and say nothing to anybody."""
        is_unused = monotonic() - self.asked_at > UNUSED_SECONDS
        try:
            if self.is_ending:
                self.answer_of(result_of, self.pgconn)
                self.is_ending = False
            if is_unused:
                self.say("SELECT")
            return not is_silent(self.pgconn)
        except (OSError, ValueError, psycopg.Error):
            return True

    @property
    def is_outdated(self) -> bool:
        """Whether a new one may take the writes that it does not; one that has just begun would be told the same."""
        return self.only_reads and monotonic() - self.opened_at > UNUSED_SECONDS

    @property
    def is_idle(self) -> bool:
        """Whether there is no transaction, or nothing left of it but its end."""
        status = self.pgconn.transaction_status
        ends = self.is_ending and status == TransactionStatus.ACTIVE
        return bool(ends or status == TransactionStatus.IDLE)

    def name_of(self, sql: str) -> bytes:
        """What a statement is called; it is prepared if it has no name yet."""
        name = self.known.get(sql)
        if name is not None:
            self.known.move_to_end(sql)
            return name
        while self.known and (
            len(self.known) >= STATEMENTS_KEPT or self.characters + len(sql) > CHARACTERS_KEPT
        ):
            # What is queued has names too, and goes first.
            self.say(f"DEALLOCATE {next(iter(self.known.values())).decode()}")
            forgotten, _ = self.known.popitem(last=False)
            self.characters -= len(forgotten)
        self.made += 1
        name = b"walkthrough_%d" % self.made
        require(self.answer_of(self.pgconn.prepare, name, sql.encode()), *GOOD)
        self.known[sql] = name
        self.characters += len(sql)
        return name


class Watch:
    """Gives up sessions whose server has fallen silent, be it stopped or behind a dead wire.

    Such a server neither answers nor ends, so that nothing wakes who waits; and libpq's calls take no deadline.
    To wait in their place, with one, takes five calls a statement where they are one. So a session notes from
    when on an answer is late, which costs next to nothing, and a thread looks there now and then.
    """

    def __init__(self) -> None:
        self.sessions: set[DirectSession] = set()
        """Open ones; while there are any, there is the thread."""
        self.thread: threading.Thread | None = None
        self.mutex = threading.Lock()

    def over(self, session: DirectSession) -> None:
        """Watch over a session until it is closed."""
        with self.mutex:
            self.sessions.add(session)
            # One that an error ended, or a fork, is no longer alive, and is made anew.
            if self.thread is not None and self.thread.is_alive():
                return
            self.thread = threading.Thread(target=self.keep, name="watch", daemon=True)
            with suppress(RuntimeError):  # no thread to be had: the next session asks for one again
                self.thread.start()

    def keep(self) -> None:
        late: dict[DirectSession, float] = {}
        while sessions := self.open_sessions():
            late = look(sessions, late)
            sleep(LOOK_SECONDS)

    def open_sessions(self) -> set[DirectSession]:
        with self.mutex:
            self.sessions = {each for each in self.sessions if not each.closed}
            if not self.sessions:
                self.thread = None  # it ends: who comes now needs another
            return self.sessions.copy()


def look(
    sessions: Iterable[DirectSession], late: dict[DirectSession, float]
) -> dict[DirectSession, float]:
    """Give up who waits for an answer that was late at the last look already; those whose answer is late now.

    Two looks, since a process that stood still itself finds its clock gone on, and the answer maybe there.
    """
    now = monotonic()
    found: dict[DirectSession, float] = {}
    for session in sessions:
        until = session.gives_up_at
        if late.get(session) == until:
            session.give_up()
        elif until < now:
            found[session] = until
    return found


def as_text(value: Bound) -> bytes | None:
    """A value as text of no stated type.

    >>> as_text("é"), as_text(7), as_text(0.1), as_text(True), as_text(None)
    (b'\\xc3\\xa9', b'7', b'0.1', b't', None)
    """
    if isinstance(value, str):
        if "\0" in value:  # which would end it, without a word
            raise psycopg.DataError("PostgreSQL text fields cannot contain NUL (0x00) bytes")
        return value.encode()
    if value is None:
        return None
    if isinstance(value, bool):
        return b"t" if value else b"f"
    return repr(value).encode()

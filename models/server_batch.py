"""How is a small write to a server one trip? Who asks is guessed, and looked up beside the row.

A write of one row is a transaction, the turn, the look-up of the caller, the row and the COMMIT, and each was waited
for, all but the first while the turn was held. Here all of them are sent at once, together with those of other small
writes that came with it (`models/joint.py`): a *batch*. A guess that is wrong fails the statement that proves it, and
what is behind that, the COMMIT too, is not run. Then everything is undone, and each write is run again without a guess,
which decides how it fails, and for whom.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from contextlib import suppress
from functools import lru_cache
from typing import TYPE_CHECKING
from typing import Any
from typing import Final

import psycopg
import sqlalchemy as sa

from models.guess import PLACE
from models.guess import moved
from models.guesses import Answer
from models.guesses import GuessedWrite
from models.guesses import Listed
from models.guesses import NotGuessed
from models.guesses import Written
from models.joint import Joint
from models.joint import joint
from models.server_group import COMMIT
from models.server_group import TURN_KEY
from models.server_group import ServerGroup
from models.server_transaction import ServerTransaction
from models.sql import postgresql
from models.sql.constraints import Unresolved
from models.sql.direct import STATEMENTS_KEPT
from models.sql.direct import DirectSession
from models.transaction import OPEN
from models.transaction import Question
from models.transaction import Transaction
from models.transaction import WrongGuess

if TYPE_CHECKING:
    from models.server import ServerDatabase

BEGIN: Final = ("BEGIN ISOLATION LEVEL READ COMMITTED", ())
SECONDS_WAITED: Final = "extract(epoch FROM clock_timestamp() - statement_timestamp())::float8"
TAKE_TURN: Final = (
    f"SELECT pg_advisory_xact_lock({TURN_KEY}), {SECONDS_WAITED}",
    (),
)
"""The turn to write, and for how long it was waited for: no longer than a statement of the session may take."""

KEEP: Final = (COMMIT, ())


class NewKey(str):
    """The key of a row that is not written yet, as JSON: the server knows it when it reads the row."""

    __slots__ = ()


NEW_KEY: Final = NewKey("[]")


class Post:
    """A write that is to be sent: its statements, the one that writes, and what reads the row, if that was foreseen;
    and once they are sent, what those tell."""

    def __init__(self, first: Iterable[Question], write: Question, read: Question | None) -> None:
        self.questions = [*first, write]
        self.writes_at = len(self.questions) - 1
        if read is not None:
            self.questions.append(read)
        self.has_written = False
        self.rows: list[Any] = []
        self.read: list[Any] = []

    def take(self, session: DirectSession, results: Sequence[Any]) -> None:
        written = session.read(results[self.writes_at])
        self.has_written = written.rowcount == 1
        self.rows = written.fetchall()
        if len(results) > self.writes_at + 1:
            self.read = session.read(results[-1]).fetchall()


class Batch(ServerGroup):
    """Guessed writes that are sent together, on a session whose transaction begins with them."""

    def __init__(
        self,
        taken: sa.PoolProxiedConnection,
        give_back: Callable[[Any], None],
    ) -> None:
        super().__init__(taken)
        self.give_back = give_back
        self.seconds_waited = 0.0  # for the turn
        self.posts: list[Post] = []
        self.is_begun = False
        self.is_over = False
        self.fault = WrongGuess()

    @property
    def is_open(self) -> bool:
        return super().is_open if self.is_begun else not self.is_over

    def post(self, post: Post) -> None:
        self.posts.append(post)
        self.units += 1

    def send(self, *, keeps: bool = False) -> None:
        """Send what was posted, and have it kept if that is all. Raises what keeps it from being kept, ever.

        What is sent at once and kept is a transaction without a word of it.
        """
        posts, self.posts = self.posts, []
        beginning = [] if self.is_begun else [TAKE_TURN] if keeps else [BEGIN, TAKE_TURN]
        own = [question for post in posts for question in post.questions]
        ending = [KEEP] if keeps and self.is_begun else []
        self.is_begun = True
        is_sent = False
        try:
            steps = self.session.steps([*beginning, *own, *ending])
            is_sent = True
            results = self.session.run_all(steps)
        except postgresql.ERRORS as error:
            if keeps and is_sent and not is_said_before_the_end(error, by_word=bool(ending)):
                self.fault = postgresql.translate_of_commit(error)
            self.spoil()
            self.require_kept()
        place = len(beginning)
        if place:
            _, self.seconds_waited = self.session.read(results[place - 1]).fetchone()
        for post in posts:
            ends = place + len(post.questions)
            post.take(self.session, results[place:ends])
            place = ends
        if keeps:
            self.fault = None
            self.close()

    def spoil(self) -> None:
        """Undo all of it: whoever takes the session back does."""
        self.close()

    def close(self) -> None:
        self.is_over = True
        self.give_back(self.taken)

    def end(self) -> None:
        """Keep what there is; `fault` says what kept it from being kept."""
        if self.is_over:
            return
        if self.units:
            with suppress(WrongGuess, Unresolved):
                self.send(keeps=True)
        else:
            self.close()


class ServerWrite(GuessedWrite, ServerTransaction):
    """One of them, which may read its row back."""

    def __init__(
        self, database: ServerDatabase, batch: Batch, together: Joint | None, *, reads_back: bool
    ) -> None:
        ServerTransaction.__init__(self, batch.session, database.remembered, writes=True)
        self.guesses = database.guesses
        self.tell_wait = database.tell_wait
        self.batch = batch
        self.together = together
        self.reads_back = reads_back
        self.post: Post | None = None

    def write(self, question: Question) -> Written:
        """Post it, and have it sent: at once, or with those of others who are about to write."""
        reading = self.reading
        read = None if reading is None else of_new_row(reading(NEW_KEY), self.numbering)
        post = self.post = Post(self.said_first(), question, read)
        self.batch.post(post)
        if self.reads_back or not self.hands_on():
            self.batch.send(keeps=not self.reads_back)
        if not post.has_written:
            raise WrongGuess
        if self.tell_wait is not None:
            self.tell_wait(self.batch.seconds_waited)
        return Written(post.rows)

    def run_behind(self, question: Question) -> Any:
        if self.is_foreseen(question):
            return Listed(self.written.read)
        if self.batch.is_over:
            raise NotGuessed(question)
        if not self.reads_back or not question[0].startswith("SELECT"):
            raise WrongGuess
        return ServerTransaction.run(self, *question)

    def is_foreseen(self, question: Question) -> bool:
        """Whether it was sent along with the write."""
        if self.reading is None or not self.written.has_written:
            return False
        return self.reading(json.dumps(self.written.rows)) == question

    @property
    def written(self) -> Post:
        """What it posted, once it has."""
        assert self.post is not None
        return self.post

    def said_first(self) -> Iterator[Question]:
        """On whose behalf it writes, with the proof that they may."""
        says = None if self.says_first is None else (self.spelling.act_as, tuple(self.says_first))
        self.says_first = None
        if self.owed is not None:
            yield proved(*self.owed, says)
        elif says is not None:
            yield says

    def hands_on(self) -> bool:
        """Let the next one write before the batch is ended, and wait for that; whether there was one."""
        if (
            self.together is None
            or not self.batch.may_grow
            or not self.together.hand_on(self.batch)
        ):
            return False
        self.batch.require_kept()
        return True

    def leave(self) -> None:
        """Called at its end: have it kept, with the others."""
        if self.doomed or self.post is None or not self.post.has_written:
            raise WrongGuess
        if self.batch.is_over or not self.hands_on():
            self.batch.end()
            self.batch.require_kept()

    def give_up(self) -> bool:
        """Called where it fails: keep what others wrote, if that can be told from what this one did; whether this is to
        be written again."""
        if self.batch.is_over:
            return False
        if self.post is not None and self.post.has_written:
            self.batch.spoil()
        else:
            self.batch.end()
        return True

    def roll_back_at_end(self) -> None:
        if self.batch.is_over:
            raise NotGuessed("ROLLBACK")
        super().roll_back_at_end()

    def run_script(self, script: str) -> None:
        raise WrongGuess


@contextmanager
def guessing(
    database: ServerDatabase, seconds_max: float, *, reads_back: bool
) -> Iterator[Transaction]:
    """One row's write in a batch, or in the transaction that it meets; WrongGuess where it is to be written again."""
    assert OPEN.get() is None, "a write inside a read would see an old snapshot"
    together = joint()
    met = together.meet() if together is not None else None
    if met is not None and not isinstance(met, Batch):
        with database.in_turn(is_brief=True, met=met) as transaction:
            yield transaction
        return
    batch = met or Batch(database.live_session(), database.give_back)
    unit = ServerWrite(database, batch, together, reads_back=reads_back)
    database.timed(unit, seconds_max)
    token = OPEN.set(unit)
    try:
        unit.act_as(None)
        yield unit
        unit.leave()
    except BaseException as error:
        if unit.give_up() and isinstance(error, Exception):
            raise WrongGuess from error
        raise
    finally:
        OPEN.reset(token)


def of_new_row(question: Question, numbering: str) -> Question:
    """A statement that reads the row whose id was counted last."""
    sql, values = question
    places = tuple(value is NEW_KEY for value in values)
    return knowing_new_key(sql, places, numbering), tuple(v for v in values if v is not NEW_KEY)


@lru_cache(maxsize=STATEMENTS_KEPT)
def knowing_new_key(sql: str, is_key: tuple[bool, ...], numbering: str) -> str:
    """The same, with what the server knows in those places.

    >>> knowing_new_key("SELECT $1, $2, $3", (False, True, False), "ids")
    "SELECT $1, json_build_array(json_build_array(currval('ids'))), $2"
    """
    known = f"json_build_array(json_build_array(currval('{numbering}')))"
    left = [place for place, key in enumerate(is_key, 1) if not key]

    def moved_place(found: re.Match[str]) -> str:
        place = int(found[1])
        return known if is_key[place - 1] else f"${left.index(place) + 1}"

    return PLACE.sub(moved_place, sql)


def proved(asked: Question, guess: Answer, says: Question | None) -> Question:
    """A statement that says something, and fails unless another one finds one row, which is the guess."""
    sql, values = asked
    words, said = says or ("", ())
    return proof_of(sql, len(values), len(guess), words), (*values, *guess, *said)


def is_said_before_the_end(error: psycopg.Error, *, by_word: bool) -> bool:
    """Whether an error says that nothing was kept: any of the server's words, unless there was a COMMIT, which may have
    been run; then only an ERROR does."""
    severity = error.diag.severity_nonlocalized
    return severity == "ERROR" if by_word else severity is not None


@lru_cache(maxsize=STATEMENTS_KEPT)
def proof_of(sql: str, places: int, width: int, says: str) -> str:
    """That statement. The places of the guess follow those of the look-up, and what is said comes last.

    >>> proof_of("SELECT a FROM t WHERE b = $1", 1, 1, "SELECT say($1)")
    'SELECT 1 / count(*), say($3) FROM (SELECT a FROM t WHERE b = $1) AS asked (c1) WHERE c1 IS NOT DISTINCT FROM $2'
    """
    names = [f"c{place}" for place in range(1, width + 1)]
    same = (f"{name} IS NOT DISTINCT FROM ${places + place}" for place, name in enumerate(names, 1))
    told = ["1 / count(*)", *filter(None, [moved(says.removeprefix("SELECT "), places + width)])]
    return (
        f"SELECT {', '.join(told)} FROM ({sql}) AS asked ({', '.join(names)})"  # noqa: S608 - a plan's
        f" WHERE {' AND '.join(same)}"
    )

"""How is a small write to a server one trip? Who asks is guessed, and looked up beside the row.

A write of one row is a transaction, the turn, the look-up of the caller, the row and the COMMIT, and each was waited
for, all but the first while the turn was held. Here all of them are sent at once, together with those of other small
writes that came with it (`models/joint.py`): a *batch*. A write whose guess is wrong does nothing, and is run again
without one, which decides how it fails, and for whom. What fails ends the batch: what is behind it, the COMMIT too, is
not run, and all of them are run again, each by itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
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
from models.server_group import TURN_KEY
from models.server_group import ServerGroup
from models.server_transaction import ServerTransaction
from models.sql import postgresql
from models.sql.direct import STATEMENTS_KEPT
from models.sql.direct import DirectSession
from models.sql.spelling_postgresql import GATE
from models.transaction import OPEN
from models.transaction import Question
from models.transaction import Transaction
from models.transaction import WrongGuess

if TYPE_CHECKING:
    from models.server import ServerDatabase

SECONDS_WAITED: Final = "extract(epoch FROM clock_timestamp() - statement_timestamp())::float8"
TAKE_TURN: Final = (
    f"SELECT pg_advisory_xact_lock({TURN_KEY}), {SECONDS_WAITED}",
    (),
)
"""The turn to write, and for how long it was waited for: no longer than a statement of the session may take."""
RIVAL_SECONDS: Final = 0.0001  # of a turn that another host, or process, had before


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
    """Guessed writes that are sent together, on a session of which nothing else is asked: a transaction without a word
    of it, which the server keeps at the end if nothing has failed."""

    def __init__(
        self,
        taken: sa.PoolProxiedConnection,
        give_back: Callable[[Any], None],
    ) -> None:
        super().__init__(taken)
        self.give_back = give_back
        self.seconds_waited = 0.0  # for the turn
        self.posts: list[Post] = []
        self.is_over = False
        self.fault = WrongGuess()

    @property
    def is_open(self) -> bool:
        return not self.is_over

    def post(self, post: Post) -> None:
        self.posts.append(post)
        self.units += 1

    def end(self) -> None:
        """Send what was posted; `fault` says what kept it from being kept."""
        if self.is_over:
            return
        self.is_over = True
        try:
            self.fault = self.send() if self.posts else None
        finally:
            self.give_back(self.taken)

    def send(self) -> Exception | None:
        own = [question for post in self.posts for question in post.questions]
        try:
            steps = self.session.steps([TAKE_TURN, *own])
        except postgresql.ERRORS:
            return WrongGuess()  # nothing was sent
        unheard = postgresql.translate_of_commit(psycopg.OperationalError())
        self.fault = unheard  # whatever interrupts it
        try:
            turn, *results = self.session.run_all(steps)
        except postgresql.ERRORS as error:
            # Whatever the server says of one of them, it says before it keeps any.
            return unheard if error.diag.severity_nonlocalized is None else WrongGuess()
        _, self.seconds_waited = self.session.read(turn).fetchone()
        if self.seconds_waited > RIVAL_SECONDS:
            self.session.answers.have_rivals()
        for post in self.posts:
            post.take(self.session, results[: len(post.questions)])
            del results[: len(post.questions)]
        return None


class ServerWrite(GuessedWrite, ServerTransaction):
    """One of them."""

    def __init__(self, database: ServerDatabase, batch: Batch, together: Joint | None) -> None:
        ServerTransaction.__init__(self, batch.session, database.remembered, writes=True)
        self.guesses = database.guesses
        self.tell_wait = database.tell_wait
        self.batch = batch
        self.together = together
        self.post: Post | None = None
        self.foreseen: Question | None = None
        """What reads the row, in words that are those of whoever knows its key."""

    def write(self, question: Question) -> Written:
        """Post it, and have it sent, with those of others who are about to write."""
        read = None
        if self.reading is not None:
            self.foreseen = self.reading(NEW_KEY)
            read = of_new_row(self.foreseen, self.numbering)
        post = self.post = Post(*self.with_proof(question), read)
        batch, together = self.batch, self.together
        batch.post(post)
        if together is None or not batch.may_grow or not together.hand_on(batch):
            batch.end()
        batch.require_kept()
        if not post.has_written:
            raise WrongGuess
        if self.tell_wait is not None:
            self.tell_wait(batch.seconds_waited)
        return Written(post.rows)

    def run_behind(self, question: Question) -> Any:
        post, foreseen = self.post, self.foreseen
        if post is None or not post.has_written:
            raise WrongGuess
        if foreseen is None or foreseen[0] != question[0]:
            raise NotGuessed(question)
        return Listed(post.read)

    def with_proof(self, question: Question) -> tuple[list[Question], Question]:
        """What goes before a write, and the write, which says and proves by itself whose it is, if it has a gate."""
        says = None if self.says_first is None else (self.spelling.act_as, tuple(self.says_first))
        self.says_first = None
        if self.owed is None:
            return [] if says is None else [says], question
        if GATE in question[0]:
            return [], gated(question, *self.owed, says)
        return [proved(*self.owed, says)], question

    def roll_back_at_end(self) -> None:
        raise NotGuessed if self.post is not None and self.post.has_written else WrongGuess

    def run_script(self, script: str) -> None:
        raise WrongGuess


@contextmanager
def guessing(database: ServerDatabase, seconds_max: float) -> Iterator[Transaction]:
    """One row's write in a batch, or in the transaction that it meets; WrongGuess where it is to be written again."""
    assert OPEN.get() is None, "a write inside a read would see an old snapshot"
    together = joint()
    met = together.meet() if together is not None else None
    if met is not None and not isinstance(met, Batch):
        with database.in_turn(is_brief=True, met=met) as transaction:
            yield transaction
        return
    batch = met or Batch(database.live_session(), database.give_back)
    unit = ServerWrite(database, batch, together)
    database.timed(unit, seconds_max)
    token = OPEN.set(unit)
    try:
        unit.act_as(None)
        yield unit
        if unit.post is None or not unit.post.has_written:
            raise WrongGuess
    except Exception as error:
        if unit.post is None:
            raise WrongGuess from error
        raise
    finally:
        OPEN.reset(token)
        if unit.post is None:
            batch.end()  # what others have posted


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
    return proof_of("1 / count(*)", sql, len(values), len(guess), words), (*values, *guess, *said)


def gated(write: Question, asked: Question, guess: Answer, says: Question | None) -> Question:
    """A write that says something before it does anything, and does nothing unless that is so."""
    (sql, values), (look_up, sought) = write, asked
    words, said = says or ("", ())
    opened = through_gate(sql, len(values), look_up, len(sought), len(guess), words)
    return opened, (*values, *sought, *guess, *said)


@lru_cache(maxsize=STATEMENTS_KEPT)
def through_gate(sql: str, places: int, look_up: str, sought: int, width: int, says: str) -> str:
    """That statement. As the gate depends on no row, it is looked at before there is one.

    >>> through_gate(f"UPDATE t SET a = $1 WHERE {GATE}", 1, "SELECT b FROM u WHERE c = $1", 1, 1, "SELECT say($1)")
    'WITH proof AS MATERIALIZED (SELECT true AS holds, say($4) FROM (SELECT b FROM u WHERE c = $2) AS asked (c1) \
WHERE c1 IS NOT DISTINCT FROM $3) UPDATE t SET a = $1 WHERE (SELECT holds FROM proof)'
    """
    proof = moved(proof_of("true AS holds", look_up, sought, width, says), places)
    write = sql.replace(GATE, "(SELECT holds FROM proof)")
    return f"WITH proof AS MATERIALIZED ({proof}) {write}"


@lru_cache(maxsize=STATEMENTS_KEPT)
def proof_of(told: str, sql: str, places: int, width: int, says: str) -> str:
    """What is told, and said, of a look-up that finds the guess. Its places follow those of the look-up, and what is
    said comes last.

    >>> proof_of("1 / count(*)", "SELECT a FROM t WHERE b = $1", 1, 1, "SELECT say($1)")
    'SELECT 1 / count(*), say($3) FROM (SELECT a FROM t WHERE b = $1) AS asked (c1) WHERE c1 IS NOT DISTINCT FROM $2'
    """
    names = [f"c{place}" for place in range(1, width + 1)]
    same = (f"{name} IS NOT DISTINCT FROM ${places + place}" for place, name in enumerate(names, 1))
    words = [told, *filter(None, [moved(says.removeprefix("SELECT "), places + width)])]
    return (
        f"SELECT {', '.join(words)} FROM ({sql}) AS asked ({', '.join(names)})"  # noqa: S608 - a plan's
        f" WHERE {' AND '.join(same)}"
    )

"""How do small writes to a file, that came together, share the turn? Each is made ready before it; all are run in it.

The turn to write is what eight writers wait for, and a fifth of one went by between the statements: reading, planning
and binding. So a write of one row is *posted*, with the look-up that it rests on, which is answered with a guess until
then; who gets the turn runs the posts of all, and commits. One whose caller is not who they were, or that a constraint
refuses, is left out, and written again in a transaction like any other, which decides how it fails.
"""

from __future__ import annotations

import copy
import json
import logging
import time
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING
from typing import Any

from models.faults import Fault
from models.group_commit import UNITS_MAX
from models.group_commit import Group
from models.guesses import Answer
from models.guesses import GuessedWrite
from models.guesses import Listed
from models.guesses import NotGuessed
from models.guesses import Written
from models.joint import Joint
from models.sql.constraints import VIOLATIONS
from models.sql.turns import NoTurn
from models.transaction import OPEN
from models.transaction import NotKept
from models.transaction import Question
from models.transaction import Reading
from models.transaction import Transaction
from models.transaction import WrongGuess
from models.types import Bound

if TYPE_CHECKING:
    from models.db import Database

LOG = logging.getLogger("walkthrough")


class Now(str):
    """The moment of a write that is not run yet: written is that of its turn, which no other's is later than."""

    __slots__ = ()


class Post:
    """A write that is to be run, on whose behalf, and what its look-up is to find; then what it did."""

    def __init__(
        self,
        question: Question,
        actor_id: str | None,
        owed: tuple[Question, Answer] | None,
        reading: Reading | None,
    ) -> None:
        self.sql, self.values = question
        self.actor_id = actor_id
        self.owed = owed
        self.reading = reading
        self.read: tuple[Question, list[Any]] | None = None
        """What was read of the row, and how."""
        self.asked = time.monotonic()
        self.is_sent = False
        self.has_written = False
        self.rows: list[Any] = []
        self.row_id: int | None = None
        self.seconds_waited = 0.0
        self.group: Group | None = None
        """What keeps it, or does not."""
        self.fault: NoTurn | None = None

    def run(self, transaction: Transaction) -> None:
        """Run it, if the look-up finds what was guessed."""
        if self.owed is not None:
            question, guess = self.owed
            if transaction.one(*question) != guess:
                return
        transaction.act_as(self.actor_id)
        try:
            cursor = transaction.run(self.sql, in_time(self.values, transaction.now))
            self.rows = cursor.fetchall()
        except VIOLATIONS:
            return
        self.has_written = cursor.rowcount == 1
        self.row_id = cursor.lastrowid
        if self.has_written and self.reading is not None:
            question = self.reading(json.dumps([[self.row_id]]))
            self.read = question, transaction.all(*question)

    def has_turn(self) -> None:
        self.seconds_waited = time.monotonic() - self.asked

    def outcome(self) -> Written:
        """What it told; raises what kept it from being kept."""
        if self.fault is not None:
            raise copy.copy(self.fault)
        if not self.has_written or self.group is None:
            raise WrongGuess
        self.group.require_kept()
        return Written(self.rows, self.row_id)


def in_time(values: Sequence[Bound], now: str) -> list[Bound]:
    return [now if type(each) is Now else each for each in values]


class FileWrite(GuessedWrite):
    """One of them, before its turn."""

    def __init__(
        self, database: Database, together: Joint, seconds_max: float, wait_seconds_max: float
    ) -> None:
        self.database = database
        self.together = together
        self.seconds_max = seconds_max
        self.wait_seconds_max = wait_seconds_max
        self.guesses = database.guesses
        self.remembered = database.remembered
        self.spelling = database.spelling
        self.writes = True
        self.actor_id = None
        self.says_first = None
        self.began = database.clock()
        self.doomed = False
        self.post: Post | None = None

    @property
    def now(self) -> str:
        return Now(super().now)

    def act_as(self, actor_id: str | None) -> None:
        self.actor_id = actor_id

    def guess_of(self, question: Question) -> Answer | None:
        """What it found the last time; of somebody new, what it finds now, whatever it will in the turn."""
        found = super().guess_of(question)
        if found is None:
            outer = OPEN.set(None)
            try:
                with self.database.reading() as transaction:
                    found = transaction.one(*question)
            finally:
                OPEN.reset(outer)
            if found is not None:
                self.guesses.note(question, found)
        return found

    def write(self, question: Question) -> Written:
        """Post it, and wait until it has been run, by whoever of those together gets the turn."""
        post = self.post = Post(question, self.actor_id, self.owed, self.reading)
        self.together.post(post)
        met = self.together.meet()
        if not post.is_sent:
            self.send(met, post.asked)
        elif self.database.tell_wait is not None:
            self.database.tell_wait(post.seconds_waited)
        if self.owed is not None and not post.has_written:
            self.guesses.forget(self.owed[0])
        return post.outcome()

    def send(self, met: Group | None, asked: float) -> None:
        """Run what was posted as one unit of a group: of the one that was met, or of one that gets the turn."""
        posts: list[Post] = self.together.take_posts(UNITS_MAX)
        for post in posts:
            post.is_sent = True
        deadline = asked + self.wait_seconds_max
        outer = OPEN.set(None)
        try:
            group = met or self.taken(asked, deadline)
            for post in posts:
                post.has_turn()
            try:
                self.run_in(group, posts, deadline)
            except (Fault, NotKept):
                pass  # each is told by the group, or when it is written again
            except Exception:
                # Our bug: no reason to refuse what others, or this one, can still write.
                LOG.exception("a batch failed, and each of its writes is tried by itself")
        except NoTurn as error:
            for post in posts:
                post.fault = error
        finally:
            OPEN.reset(outer)

    def taken(self, asked: float, deadline: float) -> Group:
        """A group that has the turn: of all, if it is there, or one that is waited for."""
        database = self.database
        if not self.together.takes_turn(database.turns):
            return database.open_group(deadline, self.seconds_max, joins=True)
        if database.tell_wait is not None:
            database.tell_wait(time.monotonic() - asked)
        return database.new_group()

    def run_in(self, group: Group, posts: Sequence[Post], deadline: float) -> None:
        """Run them one after another, as a unit of a group; it is theirs once it is to be kept."""
        database = self.database
        try:
            unit, token = database.begin_unit(group, deadline, self.seconds_max)
            try:
                for post in posts:
                    post.run(unit)
            except BaseException:
                database.finish(unit, token, has_failed=True)
                raise
            if database.finish(unit, token):
                group.units += len(posts)
                for post in posts:
                    post.group = group
        except BaseException:
            database.leave(group, self.together, has_failed=True)
            raise
        database.leave(group, self.together)

    def run_behind(self, question: Question) -> Any:
        read = self.post.read if self.post is not None else None
        if read is None or read[0][0] != question[0]:
            raise self.too_late()
        return Listed(read[1])

    def roll_back_at_end(self) -> None:
        raise self.too_late()

    def too_late(self) -> Exception:
        """Of what is more than one statement: nothing is kept yet, or it is our bug."""
        return NotGuessed() if self.is_kept else WrongGuess()

    @property
    def is_kept(self) -> bool:
        return self.post is not None and self.post.has_written

    def all(self, sql: str, parameters: Sequence[Bound] = ()) -> list[Any]:
        found: list[Any] = self.run(sql, parameters).fetchall()
        return found

    def each(self, sql: str, parameters: Sequence[Bound] = ()) -> Iterator[Any]:
        yield from self.run(sql, parameters)


@contextmanager
def guessing(
    database: Database, together: Joint, seconds_max: float, wait_seconds_max: float
) -> Iterator[Transaction]:
    """A write of one row, in a batch; WrongGuess where it is to be written again, in another way."""
    unit = FileWrite(database, together, seconds_max, wait_seconds_max)
    token = OPEN.set(unit)
    try:
        yield unit
    except Exception as error:
        if unit.post is None:
            raise WrongGuess from error
        raise
    finally:
        OPEN.reset(token)
    if unit.post is None or not unit.post.has_written:
        raise WrongGuess

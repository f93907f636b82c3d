"""A read of a server in one trip: who asks is taken for who they were, and looked up together with the rows.

Each trip to a server costs more than the look-up itself. So the first statement of such a read is answered with
what it found the last time, and asked again in the same statement as the second, in one snapshot. Nothing that
rests on the guess leaves before it has proved right; if it is wrong, all is thrown away and read again without one.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain
from typing import Any
from typing import Final

from models.remembered import Remembered
from models.server_transaction import ServerTransaction
from models.sql import postgresql
from models.sql.direct import STATEMENTS_KEPT
from models.sql.sqlite import TimedOut
from models.transaction import Parameters
from models.transaction import WrongGuess

GUESSES_KEPT: Final = 4_096  # some hundred bytes each
UNFIT_KEPT: Final = 1_024
PLACE: Final = re.compile(r"\$([0-9]+)")

Question = tuple[str, tuple[Any, ...]]
Answer = tuple[Any, ...]


class Guesses:
    """What look-ups found the last time they were alone, of those who came last."""

    def __init__(self) -> None:
        self.found: OrderedDict[Question, Answer] = OrderedDict()
        self.unfit: set[str] = set()
        """Statements that another one followed, for which there has to be a transaction."""

    def mark_unfit(self, sql: str) -> None:
        if len(self.unfit) >= UNFIT_KEPT:
            self.unfit.clear()
        self.unfit.add(sql)

    def note(self, question: Question, answer: Answer) -> None:
        self.found[question] = answer
        if len(self.found) > GUESSES_KEPT:
            self.found.popitem(last=False)


class Listed:
    """Rows as a session tells them, one by one: all of them at once could be gigabytes."""

    def __init__(self, rows: Iterable[Answer]) -> None:
        self.rows = iter(rows)

    def fetchall(self) -> list[Answer]:
        return list(self.rows)

    def fetchone(self) -> Answer | None:
        return next(self.rows, None)

    def __iter__(self) -> Iterator[Answer]:
        return self.rows


class GuessedTransaction(ServerTransaction):
    """A look-up and one statement more, in one trip; or a transaction like any other, once it has to be."""

    def __init__(self, session: Any, remembered: Remembered, guesses: Guesses, begin: str) -> None:
        super().__init__(session, remembered)
        self.guesses = guesses
        self.begin_words = begin
        self.has_begun = False
        self.owed: tuple[Question, Answer] | None = None
        """The look-up that was answered with a guess, which has not proved right yet."""
        self.is_wrong = False
        self.asks = False
        self.said: str | None = None
        """The statement that was run beside it."""

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        if self.has_begun:
            return super().run(sql, parameters)
        if self.said is not None:
            self.guesses.mark_unfit(self.said)
            raise self.wrong()
        if self.asks:
            return self.look_up((sql, tuple(parameters)))
        if self.owed is None:
            self.begin_now()
            return super().run(sql, parameters)
        if sql in self.guesses.unfit or not sql.startswith("SELECT"):
            self.begin_now()
            self.settle()
            return super().run(sql, parameters)
        return self.run_beside(sql, parameters)

    def recall(self, question: Hashable, ask: Callable[[], Any]) -> Any:
        """Ask; if nothing was asked before, what was found the last time is the answer, to be proved."""
        self.asks = True
        try:
            return ask()
        finally:
            self.asks = False

    def look_up(self, question: Question) -> Listed:
        """The first statement: what is known of it, or what it finds now."""
        guess = self.guesses.found.get(question) if self.owed is None else None
        if guess is not None:
            self.owed = question, guess
            return Listed([guess])
        self.begin_now()
        rows = super().run(*question).fetchall()
        if len(rows) == 1:
            self.guesses.note(question, rows[0])
        return Listed(rows)

    def run_beside(self, sql: str, parameters: Parameters) -> Listed:
        """The second: run beside the first one."""
        assert self.owed is not None
        (asked, values), guess = self.owed
        self.said = sql
        try:
            found = super().run(beside(asked, sql, len(parameters)), (*parameters, *values))
        except TimedOut:
            # To ask all of it again would take as long once more; who asks is looked up by itself.
            self.settle()
            raise
        except Exception as error:
            # Who may not ask is told that, and not what was wrong with what they asked.
            raise self.wrong() from error
        width = len(guess)
        first = found.fetchone()
        self.require_right(first[:width] if first is not None else None)
        return Listed(row[width + 1 :] for row in chain([first], found) if row[width])

    def settle(self) -> None:
        """Look up what was guessed, if that is owed still; raises WrongGuess if it was wrong."""
        if self.is_wrong:
            raise WrongGuess
        if self.owed is None:
            return
        question, _ = self.owed
        try:
            found = self.execute(*question).fetchone()
        except Exception as error:
            raise self.wrong() from error
        self.require_right(found)

    def require_right(self, found: Answer | None) -> None:
        assert self.owed is not None
        question, guess = self.owed
        if found != guess:
            self.guesses.found.pop(question, None)
            raise self.wrong()
        self.owed = None

    def wrong(self) -> WrongGuess:
        """What there is to raise, once and for all: nobody can go on as if nothing had been."""
        self.is_wrong = True
        return WrongGuess()

    def begin_now(self) -> None:
        self.has_begun = True
        try:
            self.say(self.begin_words)
        except postgresql.ERRORS as error:
            # Perhaps the server has left this session: the other way finds another one.
            raise self.wrong() from error

    def end(self) -> bool:
        self.settle()
        if self.has_begun:
            return super().end()
        self.dead = True
        return True

    def roll_back(self) -> None:
        """A failure is told only to who may ask."""
        try:
            self.settle()
        finally:
            super().roll_back()


@lru_cache(maxsize=STATEMENTS_KEPT)
def beside(asked: str, sql: str, places: int) -> str:
    """One statement of two: each row has what the first found, whether the second found a row, and that row.

    The places of the first one's values follow those of the second.

    >>> beside("SELECT $1", "SELECT $1, $2", 2)[:47]
    'SELECT asked.*, found.* FROM (SELECT $3) AS ask'
    """
    moved = PLACE.sub(lambda place: f"${int(place[1]) + places}", asked)
    there = f"SELECT true AS is_there, each.* FROM ({sql}) AS each"  # noqa: S608 - a plan's
    return f"SELECT asked.*, found.* FROM ({moved}) AS asked LEFT JOIN ({there}) AS found ON true"  # noqa: S608

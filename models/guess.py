"""A read of a server in one trip: who asks is taken for who they were, and looked up together with the rows.

Each trip to a server costs more than the look-up itself. So the first statement of such a read is answered with
what it found the last time, and asked again in the same statement as the second, in one snapshot. Nothing that
rests on the guess leaves before it has proved right; if it is wrong, all is thrown away and read again without one.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain
from typing import Any
from typing import Final

from models.guesses import Answer
from models.guesses import Asking
from models.guesses import Guesses
from models.guesses import Listed
from models.remembered import Remembered
from models.server_transaction import ServerTransaction
from models.sql import postgresql
from models.sql.direct import STATEMENTS_KEPT
from models.sql.sqlite import TimedOut
from models.transaction import ALONE
from models.transaction import Bounds
from models.transaction import Parameters
from models.transaction import Question
from models.transaction import WrongGuess

PLACE: Final = re.compile(r"\$([0-9]+)")


class NotingTransaction(Asking, ServerTransaction):
    """One that notes what the look-up of the caller finds, for guesses to come."""

    def __init__(
        self,
        session: Any,
        remembered: Remembered,
        guesses: Guesses,
        *,
        writes: bool = False,
        bounds: Bounds = ALONE,
    ) -> None:
        super().__init__(session, remembered, writes=writes, bounds=bounds)
        self.guesses = guesses

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        return self.look_up((sql, tuple(parameters))) if self.asks else super().run(sql, parameters)

    def look_up(self, question: Question) -> Listed:
        """What a look-up finds now."""
        rows = super().run(*question).fetchall()
        if len(rows) == 1:
            self.guesses.note(question, rows[0])
        else:
            self.guesses.forget(question)
        return Listed(rows)


class GuessedTransaction(NotingTransaction):
    """A look-up and one statement more, in one trip; or a transaction like any other, once it has to be."""

    def __init__(self, session: Any, remembered: Remembered, guesses: Guesses, begin: str) -> None:
        super().__init__(session, remembered, guesses)
        self.begin_words = begin
        self.has_begun = False
        self.owed: tuple[Question, Answer] | None = None
        """The look-up that was answered with a guess, which has not proved right yet."""
        self.is_wrong = False
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

    def look_up(self, question: Question) -> Listed:
        """The first statement: what is known of it, which is to be proved, or what it finds now."""
        if self.has_begun:
            return super().look_up(question)
        guess = self.guesses.found.get(question) if self.owed is None else None
        if guess is not None:
            self.owed = question, guess
            return Listed([guess])
        self.begin_now()
        return super().look_up(question)

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
    there = f"SELECT true AS is_there, each.* FROM ({sql}) AS each"  # noqa: S608 - a plan's
    return (
        f"SELECT asked.*, found.* FROM ({moved(asked, places)}) AS asked"  # noqa: S608 - a plan's
        f" LEFT JOIN ({there}) AS found ON true"
    )


def moved(sql: str, by: int) -> str:
    """A statement whose values come behind so many others.

    >>> moved("SELECT $1, $2", 3)
    'SELECT $4, $5'
    """
    return PLACE.sub(lambda place: f"${int(place[1]) + by}", sql)

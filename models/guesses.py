"""Who asks is taken for who they were: what look-ups of callers found, and a write that rests on it until it is proved.

Whether for a server (`models/guess.py`, `models/server_batch.py`) or for a file (`models/file_batch.py`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Hashable
from collections.abc import Iterable
from collections.abc import Iterator
from typing import Any
from typing import Final

from models.transaction import Parameters
from models.transaction import Question
from models.transaction import Reading
from models.transaction import Transaction
from models.transaction import WrongGuess

GUESSES_KEPT: Final = 4_096  # some hundred bytes each
UNFIT_KEPT: Final = 1_024
WRITES: Final = ("INSERT", "UPDATE")

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

    def forget(self, question: Question) -> None:
        self.found.pop(question, None)


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


class Written(Listed):
    """What a write of one row tells."""

    rowcount = 1

    def __init__(self, rows: Iterable[Answer], lastrowid: int | None = None) -> None:
        super().__init__(rows)
        self.lastrowid = lastrowid


class NotGuessed(RuntimeError):
    """A statement behind a write that was said to be the only one, and is kept. Our bug."""


class Asking(Transaction):
    """A transaction that knows which of its statements looks the caller up."""

    guesses: Guesses
    asks = False

    def recall(self, question: Hashable, ask: Callable[[], Any]) -> Any:
        """Ask: the statement that is run for it is the look-up."""
        self.asks = True
        try:
            return ask()
        finally:
            self.asks = False


class GuessedWrite(Asking):
    """One row's write: a look-up that is answered with a guess, a statement that is run with those of others, and what
    reads the row, where that was foreseen.

    Whatever else it is to run raises WrongGuess: that is for a transaction like any other.
    """

    owed: tuple[Question, Answer] | None = None
    """The look-up that was answered with a guess."""

    has_posted = False

    reading: Reading | None = None
    """How the row is read once it is written."""

    numbering = ""

    def foresee(self, reading: Reading | None, numbering: str = "") -> None:
        if reading is None:
            raise WrongGuess
        self.reading = reading
        self.numbering = numbering

    def run(self, sql: str, parameters: Parameters = ()) -> Any:
        question = sql, tuple(parameters)
        if self.has_posted:
            return self.run_behind(question)
        if self.asks:
            return self.look_up(question)
        if not sql.startswith(WRITES):
            raise WrongGuess
        self.has_posted = True
        return self.write(question)

    def look_up(self, question: Question) -> Listed:
        """What it found the last time, which is to be proved."""
        guess = self.guess_of(question)
        if guess is None or self.owed is not None:
            raise WrongGuess
        self.owed = question, guess
        return Listed([guess])

    def guess_of(self, question: Question) -> Answer | None:
        return self.guesses.found.get(question)

    @abstractmethod
    def write(self, question: Question) -> Written:
        """Have it run; what it tells, once it is kept or can be undone."""

    @abstractmethod
    def run_behind(self, question: Question) -> Any:
        """Run a statement behind the write."""

    def insert_many(self, sql: str, parameters: Any) -> None:
        raise WrongGuess

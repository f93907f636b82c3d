"""How does a worker stop? It hears of it however young it is, leaves its database closed, with the log folded
into the file if nobody reads it, and says that it ended well."""

from __future__ import annotations

import mmap
import signal
from typing import Any
from typing import Final

STOPS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)

FOLD_SECONDS_MAX = (
    3.0  # of the graceful time that is left; what is not folded now is at the next start
)


def hold_back_signals() -> None:
    """Before a fork: until a new worker has handlers of its own it has gunicorn's, which would note a stop
    in a queue that nobody reads there. It would serve on until it is killed."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)


def let_signals_through() -> None:
    """After a fork, on either side; what was held back arrives."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


class Ending:
    """What a worker says at its end, and one that is killed does not: that it ended well.

    It says so in a byte of memory that it shares with its arbiter. A file could be removed by whoever cleans up
    after others, or find no place, and a worker that was killed would pass for one that ended well.
    """

    def __init__(self) -> None:
        self._said = mmap.mmap(-1, 1)

    def say_well(self) -> None:
        self._said[0] = 1

    def is_well(self) -> bool:
        return self._said[0] == 1


class Endings:
    """In the arbiter: how its workers ended."""

    def __init__(self) -> None:
        self._expected: list[Ending] = []
        self._all_well = True

    def expect(self) -> Ending:
        """Before a fork: a worker's end, of which nothing was said yet."""
        ending = Ending()
        self._expected.append(ending)
        return ending

    def note(self, ending: Ending) -> None:
        """A worker is gone."""
        self._all_well = self._all_well and ending.is_well()
        self._expected.remove(ending)

    def are_well(self) -> bool:
        """Whether every worker that there ever was ended well; the arbiter does not hear of each."""
        return self._all_well and all(ending.is_well() for ending in self._expected)


def close_database(application: object) -> None:
    """Close what a worker's application had open; an application without a database has none."""
    found = database_of(application)
    if found is not None:
        found.shut_down(FOLD_SECONDS_MAX)


def database_of(application: object) -> Any:
    """An application's database, if it has one."""
    return getattr(application, "extensions", {}).get("walkthrough")

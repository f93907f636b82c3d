"""How does a worker stop? It hears of it however young it is, leaves its database closed, with the log folded
into the file if nobody reads it, and says that it ended well."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any
from typing import Final

SERVES: Final = "serves-"
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


def sign_on(directory: Path) -> None:
    """In a worker: say that it serves."""
    (directory / f"{SERVES}{os.getpid()}").touch()


def sign_off(directory: Path) -> None:
    """In a worker, at its end: say that it ended well. One that is killed does not come here."""
    (directory / f"{SERVES}{os.getpid()}").unlink(missing_ok=True)


def is_clean(directory: Path) -> bool:
    """Whether every worker that there ever was ended well."""
    return not any(directory.glob(f"{SERVES}*"))


def close_database(application: object) -> None:
    """Close what a worker's application had open; an application without a database has none."""
    found = database_of(application)
    if found is not None:
        found.shut_down(FOLD_SECONDS_MAX)


def database_of(application: object) -> Any:
    """An application's database, if it has one."""
    return getattr(application, "extensions", {}).get("walkthrough")

"""Stop a worker: signals, the listeners, the database, and the flag that says it ended cleanly."""

from __future__ import annotations

import mmap
import select
import signal
from contextlib import suppress
from typing import Any, Final

from gunicorn.workers.base import Worker
from gunicorn.workers.gthread import PollableMethodQueue, ThreadWorker

STOPS: Final = (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)

CHECKPOINT_SECONDS_MAX = 3.0  # of the rest of `graceful_timeout`; the next start finishes a checkpoint


def block_stop_signals() -> None:
    """Block the stop signals before a fork.

    A new worker still has the arbiter's handlers, which put a signal into a queue that the worker does not read.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)


def unblock_stop_signals() -> None:
    """Unblock the stop signals after a fork, in both processes. Pending signals arrive then."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)


class ExitFlag:
    """A byte of memory that a worker shares with its arbiter, and sets when it ends cleanly.

    A file could be removed, or the disk be full. A killed worker would then count as one that ended cleanly.
    """

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 1)

    def set(self) -> None:
        self._shared[0] = 1

    def is_set(self) -> bool:
        return self._shared[0] == 1


class ExitFlags:
    """The exit flags of an arbiter's workers."""

    def __init__(self) -> None:
        self._running: list[ExitFlag] = []
        self._all_set = True

    def create(self) -> ExitFlag:
        """Return the flag of a worker that is about to be forked."""
        flag = ExitFlag()
        self._running.append(flag)
        return flag

    def collect(self, flag: ExitFlag) -> None:
        """Record the flag of a worker that has exited."""
        self._all_set = self._all_set and flag.is_set()
        self._running.remove(flag)

    def are_set(self) -> bool:
        """Return whether every worker ended cleanly; gunicorn does not report each exit."""
        return self._all_set and all(flag.is_set() for flag in self._running)


def close_database(application: object) -> None:
    """Close the database of a worker's application, if it has one."""
    database = getattr(application, "extensions", {}).get("walkthrough")
    if database is not None:
        database.shut_down(CHECKPOINT_SECONDS_MAX)


class ProcessLongQueue(PollableMethodQueue):
    """Calls from threads to the main loop, through a pipe that stays open until the process ends."""

    def close(self) -> None:
        """Keep the pipe open: a thread that outlasts the main loop would write to a reused descriptor."""


class StoppableWorker(ThreadWorker):
    """gunicorn's threaded worker. It responds to every accepted request before it ends."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method_queue = ProcessLongQueue()
        self._ends_at_once = False

    def init_signals(self) -> None:
        super().init_signals()
        unblock_stop_signals()

    def handle_quit(self, sig: int, frame: object) -> None:
        """Exit at once, on INT or QUIT. Ctrl-C arrives twice, from the terminal and from the arbiter.

        gunicorn's own handler would wait for a lock of the pool that the interrupted thread holds.
        """
        if not self._ends_at_once:
            self._ends_at_once = True
            Worker.handle_quit(self, sig, frame)

    def is_parent_alive(self) -> bool:
        """Return whether the arbiter lives. If not, close the listeners before the last responses are sent."""
        if super().is_parent_alive():
            return True
        self.alive = False
        self.set_accept_enabled(False)
        return False

    def set_accept_enabled(self, enabled: bool) -> None:
        """Accept the queued connections and close the listeners, on a stop.

        A later client is refused at once, or reaches another worker.
        """
        super().set_accept_enabled(enabled)
        if enabled or self.alive:
            return
        for listener in self.sockets:
            with suppress(OSError):  # no descriptor is left
                while listener.fileno() >= 0 and is_readable(listener):
                    self.accept(listener)
            listener.close()
        self.sockets.clear()


def is_readable(listener: Any) -> bool:
    """Return whether a connection waits to be accepted."""
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    return bool(poller.poll(0))

"""How do requests that came together write together? Each gets as far as its write, then all write, then all answer.

Who serves them has one thread. So each is a greenlet, which can be left in its middle and gone on with. One that is
about to write waits until the others have come as far; then the first takes the turn, the others join its transaction
(`models/group_commit.py`), and the last one commits. The turn is held for the writes alone, and nobody is answered
before the COMMIT.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

from models.group_commit import Group

try:
    import greenlet
except ImportError:  # no wheel for this platform
    greenlet = None


class Joint:
    """Tasks of one thread that are worked on together; `goes_on` is called before each stretch of work."""

    def __init__(self, goes_on: Callable[[], None]) -> None:
        self.goes_on = goes_on
        self.middle = greenlet.getcurrent()
        self.about_to_write: deque[Any] = deque()
        self.written: deque[Any] = deque()
        self.group: Group | None = None  # on its way from one that has written to the next
        self.failures: list[BaseException] = []

    def work(self, tasks: Iterable[Callable[[], None]]) -> None:
        """Work on all of them to their ends; raises what one raised, or what several did in a group."""
        for run in tasks:
            task = greenlet.greenlet(run, self.middle)
            task.joint = self
            self.let_work(task)
        while self.about_to_write or self.written:
            # Answers first, but while the turn is held.
            is_writing = self.group is not None or not self.written
            self.let_work((self.about_to_write if is_writing else self.written).popleft())
        if len(self.failures) == 1:
            raise self.failures[0]
        if self.failures:
            raise BaseExceptionGroup("several tasks failed", self.failures)

    def let_work(self, task: Any) -> None:
        self.goes_on()
        try:
            task.switch()
        except BaseException as failure:  # noqa: BLE001  # the others have to get to their ends
            self.failures.append(failure)

    def meet(self) -> Group | None:
        """Called by a task that is about to write: wait for the others, and for the turn of this one. What it
        gets is the transaction to join, or none, and then it takes the turn to write for all."""
        self.about_to_write.append(greenlet.getcurrent())
        self.middle.switch()
        found, self.group = self.group, None
        return found

    def hand_on(self, group: Group) -> bool:
        """Called by a task that has written: let the next one join, and wait until the group is over; whether
        there was a next one. If not, the group is to be ended now."""
        if not self.about_to_write:
            return False
        self.group = group
        self.written.append(greenlet.getcurrent())
        self.middle.switch()
        return True


def is_possible() -> bool:
    """Whether there are greenlets on this platform."""
    return greenlet is not None


def joint() -> Joint | None:
    """What the task that asks is worked on in, together with others."""
    return getattr(greenlet.getcurrent(), "joint", None) if is_possible() else None

"""How do requests that came together write together? Each gets as far as its write, then all write, then all answer.

Who serves them has one thread. So each is a greenlet, which can be left in its middle and gone on with. One that is
about to write waits until the others have come as far; then the first takes the turn, the others join its transaction
(`models/group_commit.py`), and the last one commits. The turn is held for the writes alone, and nobody is answered
before the COMMIT. While another process has the turn, who else comes here to write is let in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from collections.abc import Iterable
from time import monotonic
from time import sleep
from typing import Any
from typing import Final

from models.group_commit import Group
from models.sql.sqlite import DiskFailed
from models.sql.turns import Turns

try:
    import greenlet
except ImportError:  # no wheel for this platform
    greenlet = None


GATHERING_SECONDS_MAX: Final = 0.003  # some two turns; then a thread waits for the next
LOOK_SECONDS: Final = 0.00003  # between looks at whose turn it is; some 80 us in all

Task = Callable[[], None]


def nobody() -> list[Task]:
    return []


class Joint:
    """Tasks of one thread that are worked on together; `goes_on` is called before each stretch of work.

    While another process has the turn among `turns`, tasks of `newcomers` are let in; None is what that says of
    somebody who is to be served by another thread, and so ends it.
    """

    def __init__(
        self,
        goes_on: Callable[[], None],
        turns: Turns | None = None,
        newcomers: Callable[[], list[Task] | None] = nobody,
    ) -> None:
        self.goes_on = goes_on
        self.turns = turns
        self.newcomers = newcomers
        self.has_turn = False
        self.middle = greenlet.getcurrent()
        self.about_to_write: deque[Any] = deque()
        self.written: deque[Any] = deque()
        self.posts: deque[tuple[Any, Any]] = deque()
        """What tasks that are about to write have made ready, for whoever of them has the turn to run."""
        self.group: Group | None = None  # on its way from one that has written to the next
        self.failures: list[BaseException] = []

    def work(self, tasks: Iterable[Task]) -> None:
        """Work on all of them to their ends; raises what one raised, or what several did in a group."""
        self.start(tasks)
        if self.turns is not None and self.about_to_write:
            try:
                self.gather(self.turns)
            except BaseException as failure:  # noqa: BLE001  # as in `let_work`
                self.failures.append(failure)
        while self.about_to_write or self.written:
            # Answers first, but while the turn is held.
            is_writing = self.group is not None or not self.written
            self.let_work((self.about_to_write if is_writing else self.written).popleft())
        if self.turns is not None and self.takes_turn(self.turns):  # nobody needed it
            self.turns.pass_on(lingers=False)
        if len(self.failures) == 1:
            raise self.failures[0]
        if self.failures:
            raise BaseExceptionGroup("several tasks failed", self.failures)

    def start(self, tasks: Iterable[Task]) -> None:
        for run in tasks:
            task = greenlet.greenlet(run, self.middle)
            task.joint = self
            self.let_work(task)

    def gather(self, turns: Turns) -> None:
        """Take the turn if it can be had soon, and let in who comes until then."""
        ends = monotonic() + GATHERING_SECONDS_MAX
        try:
            while not turns.take_at_once():
                tasks = self.newcomers()
                self.start(tasks or ())
                if tasks is None or monotonic() > ends:
                    return
                if not tasks:
                    self.goes_on()
                    sleep(LOOK_SECONDS)
        except DiskFailed:
            return  # which is told to each that takes the turn
        self.has_turn = True

    def takes_turn(self, turns: Turns | None) -> bool:
        """Called by a task that is to write for all: whether it has the turn already."""
        found = self.has_turn and turns is self.turns
        self.has_turn = self.has_turn and not found
        return found

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

    def post(self, made: Any) -> None:
        """Called by a task that is about to write: what is to be run for it, by itself or another."""
        self.posts.append((greenlet.getcurrent(), made))

    def take_posts(self, most: int) -> list[Any]:
        """Called by the task that runs them: its own first. The others have written then."""
        taken: list[Any] = []
        while self.posts and len(taken) < most:
            task, made = self.posts.popleft()
            taken.append(made)
            if task is not greenlet.getcurrent():
                self.about_to_write.remove(task)
                self.written.append(task)
        return taken

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

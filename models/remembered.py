"""Results that cost much and change seldom, kept for as long as they are exact: until any row changes.

Every change of a resource's row writes a line into the audit trail, so that the trail's last line names
the state of the rows. A result is kept under that number, as its own snapshot read it. Who asks for one
that somebody is about to have waits for it: a board on every wall would else count a million rows each,
all at once, whenever a row has changed.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Hashable
from typing import Any
from typing import TypeVar
from typing import cast

from models.pages import Pages

Result = TypeVar("Result")

RESULTS_MAX = 2_000  # a number or some kilobytes each; people × questions of a small deployment
WAIT_SECONDS_MAX = 2.0  # as long as a read may take; nobody's result comes later

NOTHING = object()


class Remembered:
    """What one process knows of one database; the least lately asked for goes first."""

    def __init__(self) -> None:
        self.results: OrderedDict[Hashable, tuple[int, object]] = OrderedDict()
        self.underway: dict[tuple[int, Hashable], threading.Event] = {}
        self.mutex = threading.Lock()  # around what precedes
        self.pages = Pages()

    def get(
        self,
        change: int,
        question: Hashable,
        answer: Callable[[], Result],
        is_light: Callable[[Result], bool] = lambda _: True,
    ) -> Result:
        """The answer to a question as of a change: the one that is kept, or a new one, which is kept if it is light."""
        while True:
            with self.mutex:
                known = self.kept(change, question)
                if known is not NOTHING:
                    return cast(Result, known)
                others = self.underway.get((change, question))
                if others is None:
                    mine = self.underway[change, question] = threading.Event()
                    break
            if not others.wait(WAIT_SECONDS_MAX):
                return answer()
        try:
            found = answer()
            if is_light(found):
                with self.mutex:
                    self.keep(change, question, found)
        finally:
            # Whoever waits finds the answer, or is the next to look for it.
            with self.mutex:
                del self.underway[change, question]
            mine.set()
        return found

    def earlier(self, change: int, question: Hashable) -> tuple[int, Any] | None:
        """What was answered as of a change before, and which: something to start from."""
        with self.mutex:
            found = self.results.get(question)
        return found if found is not None and found[0] < change else None

    def kept(self, change: int, question: Hashable) -> object:
        found = self.results.get(question)
        if found is None or found[0] != change:
            return NOTHING
        self.results.move_to_end(question)
        return found[1]

    def keep(self, change: int, question: Hashable, found: object) -> None:
        self.results[question] = (change, found)
        self.results.move_to_end(question)
        if len(self.results) > RESULTS_MAX:
            self.results.popitem(last=False)

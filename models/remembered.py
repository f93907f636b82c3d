"""Results that cost much and change seldom, kept for as long as they are exact: until any row changes.

Every change of a resource's row writes a line into the audit trail, so that the trail's last line names
the state of the rows. A result is kept under that number, as its own snapshot read it.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from collections.abc import Hashable
from typing import TypeVar
from typing import cast

Result = TypeVar("Result")

RESULTS_MAX = 512  # some kilobytes each; people × questions of a small deployment


class Remembered:
    """What one process knows of one database; the least lately asked for goes first."""

    def __init__(self) -> None:
        self.results: OrderedDict[Hashable, tuple[int, object]] = OrderedDict()
        self.mutex = threading.Lock()

    def get(self, change: int, question: Hashable, answer: Callable[[], Result]) -> Result:
        """The answer to a question as of a change: the one that is kept, or a new one."""
        with self.mutex:
            kept = self.results.get(question)
            if kept is not None and kept[0] == change:
                self.results.move_to_end(question)
                return cast(Result, kept[1])
        found = answer()
        with self.mutex:
            self.results[question] = (change, found)
            self.results.move_to_end(question)
            if len(self.results) > RESULTS_MAX:
                self.results.popitem(last=False)
        return found

"""Lists that are asked for again while nobody has changed anything: their rows, as they were printed.

A list is known by its statement and by all that this is given, callers included, and only in the snapshot that it was
read in: a connection, and SQLite's mark of the last commit that it has seen. As soon as anybody has committed anything
at all, or another connection asks, everything is forgotten (docs/decisions/0156).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from sys import getsizeof

PAGE_BYTES_MAX = 65_536  # some twenty to two hundred rows; whole tables are nobody's habit
ENTRY_BYTES = 512  # what a question takes beside its values, and a list that is empty
PAGES_BYTES_MAX = 4 << 20  # of a process: what somebody looks at is looked at again soon, or never

Question = tuple[Hashable, ...]
"""A statement, which is kept with its plan in any case, and what it was given."""


class Pages:
    """What one process has printed of one snapshot; the least lately asked for goes first."""

    def __init__(self) -> None:
        self.snapshot: Hashable = None
        self.pages: OrderedDict[Hashable, tuple[list[str], int]] = OrderedDict()
        self.bytes = 0
        self.mutex = threading.Lock()  # around what precedes

    def get(self, snapshot: Hashable, question: Question) -> list[str] | None:
        """The rows that a question found in a snapshot, if they are known. Nobody may change the list."""
        with self.mutex:
            if snapshot != self.snapshot or question not in self.pages:
                return None
            self.pages.move_to_end(question)
            return self.pages[question][0]

    def keep(self, snapshot: Hashable, question: Question, rows: list[str]) -> None:
        """Keep what a question found, if it is not large."""
        size = ENTRY_BYTES + sum(map(getsizeof, question[1:])) + sum(map(getsizeof, rows))
        if size > PAGE_BYTES_MAX:
            return
        with self.mutex:
            if snapshot != self.snapshot:
                self.pages.clear()
                self.snapshot, self.bytes = snapshot, 0
            elif question in self.pages:  # two threads have asked
                return
            self.pages[question] = rows, size
            self.bytes += size
            while self.bytes > PAGES_BYTES_MAX:
                self.bytes -= self.pages.popitem(last=False)[1][1]

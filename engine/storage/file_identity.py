"""Is the file that is open still the one that its name means? Whoever removes or replaces it under a running server
leaves that with a file that nobody finds again: it would go on, and acknowledge what is lost.

SQLite goes on by its descriptors, whatever becomes of the name; so the name is looked at, by a `stat`, before each
group of writes, and before a connection is opened, which would be one to another file, with this one's log.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import ClassVar

from models.errors import Fault

LOG = logging.getLogger("walkthrough")

Identity = tuple[int, int]
"""A file whatever its name: the device, and its number there."""


class FileLeft(Fault):
    """The database's file has not its name any more (58P01)."""

    def __init__(self) -> None:
        super().__init__(
            "the database file was removed or replaced",
            hint="Stop the service, put the file back, and start it.",
        )


class Place:
    """A file's name, and which file had it when it was opened."""

    expected: ClassVar[dict[str, Identity]] = {}
    """Which files are served, by their names, for processes that are forked later."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.known = self.expected.get(self.path)
        self.is_told = False

    def settle(self) -> None:
        """Take the file that has the name now for the one that is open."""
        self.known = identity(self.path)

    def is_left(self) -> bool:
        """Whether another file has the name, or none."""
        if self.known is None:
            return False
        try:
            return identity(self.path) != self.known
        except OSError:
            return False  # it cannot be told; a disk that fails is told of by whoever writes

    def is_empty(self) -> bool:
        """Whether no file has the name: its log then holds what nothing else does."""
        return self.known is not None and not os.path.lexists(self.path)

    def require_kept(self) -> None:
        """Raise FileLeft if another file has the name, or none; that is logged once."""
        if not self.is_left():
            self.is_told = False
        else:
            if not self.is_told:
                LOG.error(
                    "%s was removed or replaced: nothing is written until that file has its name again",
                    self.path,
                )
            self.is_told = True
            raise FileLeft


def identity(path: str) -> Identity | None:
    """Which file has a name; None where none has it."""
    try:
        found = os.stat(path)  # noqa: PTH116 - before each write: a fifth of the time
    except (FileNotFoundError, NotADirectoryError):
        return None
    return found.st_dev, found.st_ino


def expect(path: Path) -> None:
    """Have processes that are forked from here take no other file for the one that has the name now."""
    found = identity(str(path))
    if found is not None:
        Place.expected[str(path)] = found
        # As long as it is held no other file gets its number. Closed, it would drop no lock of SQLite's.
        if hasattr(os, "O_PATH"):
            os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)

"""Detect that the database file was removed or replaced while it is open.

SQLite keeps using its open descriptors, so writes would go to a file without a name and be lost. The path is therefore
checked with `stat` before each commit group, and before and after a connection is opened.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import ClassVar

from models.errors import Fault

LOG = logging.getLogger("walkthrough")

DeviceAndInode = tuple[int, int]
"""The identity of a file, whatever its name."""


class DatabaseFileReplaced(Fault):
    """The database file was removed or replaced (58P01)."""

    def __init__(self) -> None:
        super().__init__(
            "the database file was removed or replaced", hint="Stop the service, put the file back, and start it."
        )


class FileIdentity:
    """A path, and which file it named when that file was opened."""

    expected: ClassVar[dict[str, DeviceAndInode]] = {}
    """The served files by path, for processes that are forked later."""

    def __init__(self, path: Path) -> None:
        self.path = str(path)
        self.known = self.expected.get(self.path)
        self.is_reported = False

    def record(self) -> None:
        """Take the file that the path names now for the open one."""
        self.known = identity(self.path)

    def is_replaced(self) -> bool:
        """Return whether the path names another file or none; False if the disk does not answer."""
        if self.known is None:
            return False
        try:
            return identity(self.path) != self.known
        except OSError:
            return False  # a write reports a disk that fails

    def is_missing(self) -> bool:
        """Return whether the path names no file. The log then holds the only copy of its rows."""
        return self.known is not None and not os.path.lexists(self.path)

    def require_same(self) -> None:
        """Raise DatabaseFileReplaced if the path names another file or none; log it once."""
        if not self.is_replaced():
            self.is_reported = False
            return
        if not self.is_reported:
            LOG.error("%s was removed or replaced: writes are refused until the path names that file again", self.path)
        self.is_reported = True
        raise DatabaseFileReplaced


def identity(path: str) -> DeviceAndInode | None:
    """Return which file a path names; None if it names none."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a fifth of Path.stat's time
    except (FileNotFoundError, NotADirectoryError):
        return None
    return status.st_dev, status.st_ino


def expect(path: Path) -> None:
    """Bind processes that are forked later to the file that the path names now."""
    current = identity(str(path))
    if current is not None:
        FileIdentity.expected[str(path)] = current
        # An open descriptor keeps the inode number from being reused. Closing an O_PATH one drops no lock of SQLite's.
        if hasattr(os, "O_PATH"):
            os.open(path, os.O_PATH | os.O_CLOEXEC | os.O_NOFOLLOW)

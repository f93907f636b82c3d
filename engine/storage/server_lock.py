"""The lock that lets one server at a time serve a database file. It ends with the server's processes.

The lock is on a separate file, `<database>.serving`. Closing any descriptor of the database itself would drop SQLite's
locks on it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self, TypeGuard


class AlreadyServed(Exception):
    """Another process serves the database."""

    def __init__(self, database: Path) -> None:
        super().__init__(f"{database} is being served by another process")
        self.database = database


class ServingLock:
    """The lock of a server. `found_unclean` says that the previous server did not end cleanly.

    A fork inherits the lock and an exec does not. The lock therefore lasts until the last worker has ended, even if the
    arbiter is killed.
    """

    def __init__(self, path: Path, descriptor: int, found_unclean: bool) -> None:
        self.path = path
        self.found_unclean = found_unclean
        self._descriptor: int | None = descriptor

    @classmethod
    def take(cls, database: Path) -> Self:
        path = _path_of(database)
        while True:
            found_unclean = path.exists()
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                os.close(descriptor)
                raise AlreadyServed(database) from error
            if _is_at(path, descriptor):
                return cls(path, descriptor, found_unclean)
            os.close(descriptor)  # its previous holder removed it between open and lock

    def release(self) -> None:
        """Release the lock and record a clean end."""
        if self._descriptor is not None:
            self.path.unlink(missing_ok=True)
            self.abandon()

    def give_back(self) -> None:
        """Release the lock of a server that has not served, and leave the previous state."""
        if self.found_unclean:
            self.abandon()
        else:
            self.release()

    def abandon(self) -> None:
        """Release the lock and leave the mark of an unclean end. The next start then checks the database."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_served(database: Path | None) -> TypeGuard[Path]:
    """Return whether a server serves the file, this process's own server included.

    Concurrent calls do not disturb each other. A lock file that cannot be opened counts as free; `ServingLock.take`
    raises its error.
    """
    if database is None:
        return False
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # opening a pipe would block
        descriptor = os.open(_path_of(database), flags)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


def _path_of(database: Path) -> Path:
    return database.with_name(f"{database.name}.serving")


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.lstat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False

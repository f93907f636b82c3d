"""Is this database being served? One server per file, held by a lock that ends with its processes.

The lock is on a file of its own, `<database>.serving`: whoever closes any descriptor of the database
itself drops the locks that SQLite holds on it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Self
from typing import TypeGuard


class AlreadyServed(Exception):
    """Another process serves this database."""

    def __init__(self, database: Path) -> None:
        super().__init__(f"{database} is being served by another process")
        self.database = database


class ServingLock:
    """The right to serve a database; `found_unclean` when the last one to have it did not end well.

    It is inherited over a fork and not over an exec, so it lasts until the last worker is gone, even
    if the arbiter was killed; a second arbiter beside the first does not get it.
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
            os.close(descriptor)  # removed by its last holder between our open and our lock

    def release(self) -> None:
        """Say that this server ended well."""
        if self._descriptor is not None:
            self.path.unlink(missing_ok=True)
            self.abandon()

    def give_back(self) -> None:
        """Leave everything as it was found: whoever did not serve says nothing of how it ended."""
        if self.found_unclean:
            self.abandon()
        else:
            self.release()

    def abandon(self) -> None:
        """Let go and leave the mark of an unclean end, so that the next start looks closely."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def is_served(database: Path | None) -> TypeGuard[Path]:
    """Whether somebody has the right to serve a file now, this process's own server included. It may be asked by many
    at a time. What cannot be opened nobody is found at: whoever takes the right is told why."""
    if database is None:
        return False
    try:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK  # a pipe would be waited for
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

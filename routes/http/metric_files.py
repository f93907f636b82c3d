"""The files in which workers count, in a private directory. Each worker can sum up all of them.

prometheus-client defines the names and the format, and maps the files into memory. It is not imported here: at
import it reads the directory from the environment.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

FILES: Final = {"counter": 3 << 20, "histogram": 5 << 20, "gauge_livesum": 1 << 16}
"""The size in bytes of each file of a process, for all 720 pairs of route and method.

They use 2.9 MB for durations and, with a dozen statuses each, 2.1 MB for counts. A typical worker uses a
tenth of it.
"""

USED_BYTES: Final = 4  # the file's header: the number of bytes in use


PREFIX: Final = "walkthrough-metrics-"
TRIES_MAX: Final = 3  # another server may remove a new directory before it is locked

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_locked: dict[Path, int] = {}


def make_directory() -> Path | None:
    """Create and lock a directory, mode 0700, for one server and its workers. Return None if there is no place.

    Directories of killed servers are removed first.
    """
    try:
        parent = Path(tempfile.gettempdir())
        with open_directory(parent) as at:
            sweep(at)
            for _ in range(TRIES_MAX):
                directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
                descriptor = lock_directory(directory.name, at)
                if descriptor is not None:
                    _locked[directory] = descriptor
                    return directory
    except OSError:
        pass
    return None


@contextmanager
def open_directory(directory: Path) -> Iterator[int]:
    """Yield a descriptor of a directory. It stays valid if the directory is renamed."""
    descriptor = os.open(directory, DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def lock_directory(name: str, at: int) -> int | None:
    """Lock a directory of this user and return its descriptor. The lock lasts until the last forked process ends.

    Return None if it is locked, belongs to another user, or is a symbolic link.
    """
    try:
        descriptor = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    except OSError:
        return None
    try:
        status = os.fstat(descriptor)
        if status.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Another server may have removed or replaced the directory before it was locked.
            if os.path.samestat(status, os.stat(name, dir_fd=at, follow_symlinks=False)):
                return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def sweep(at: int) -> None:
    """Remove this user's unlocked directories, which killed servers left behind."""
    for name in os.listdir(at):
        descriptor = lock_directory(name, at) if name.startswith(PREFIX) else None
        if descriptor is not None:
            with suppress(OSError):  # it may contain a directory
                for each in os.listdir(descriptor):  # noqa: PTH208 - by its descriptor
                    os.unlink(each, dir_fd=descriptor)
                os.rmdir(name, dir_fd=at)
            os.close(descriptor)


def allocate(directory: Path, pid: int) -> None:
    """Create the files of a process with all of their blocks allocated; raise OSError if the disk is full.

    A page that cannot be allocated at its first write kills the process with SIGBUS. prometheus-client would
    create sparse files and extend them later.
    """
    created: list[Path] = []
    try:
        for kind, size_bytes in FILES.items():
            path = directory / f"{kind}_{pid}.db"
            if path.exists():  # of an earlier process with the same id
                lengthen(path, size_bytes)
                continue
            # An empty file cannot be parsed, so it is renamed when it is complete.
            draft = path.with_suffix(".draft")
            created += [draft, path]
            lengthen(draft, size_bytes)
            draft.replace(path)
    except OSError:
        for path in created:
            path.unlink(missing_ok=True)
        raise


def lengthen(path: Path, size_bytes: int) -> None:
    """Extend a file with zeros to `size_bytes` and allocate its blocks."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        if sys.platform == "darwin":  # macOS lacks posix_fallocate
            missing = max(size_bytes - os.fstat(descriptor).st_size, 0)
            os.pwrite(descriptor, bytes(missing), size_bytes - missing)
        else:
            os.posix_fallocate(descriptor, 0, size_bytes)
    finally:
        os.close(descriptor)


def retire_process(directory: Path | None, pid: int) -> None:
    """Remove a dead worker's live gauges and unused space. Its counts stay."""
    for file in files_of(directory, pid):
        with suppress(OSError):
            if file.name.startswith("gauge_live"):
                file.unlink(missing_ok=True)
            else:
                truncate_unused(file)


def truncate_unused(file: Path) -> None:
    with file.open("r+b") as content:
        used_bytes = int.from_bytes(content.read(USED_BYTES), sys.byteorder)
        content.truncate(max(used_bytes, 2 * USED_BYTES))


def discard_process(directory: Path | None, pid: int) -> None:
    """Remove the files of a process that served no requests."""
    for file in files_of(directory, pid):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def files_of(directory: Path | None, pid: int) -> list[Path]:
    """Return the files of a process; an empty list if the directory does not exist."""
    return list(directory.glob(f"*_{pid}.db")) if directory is not None else []


def remove_directory(directory: Path | None) -> None:
    if directory is not None:
        shutil.rmtree(directory, ignore_errors=True)
        descriptor = _locked.pop(directory, None)
        if descriptor is not None:
            os.close(descriptor)

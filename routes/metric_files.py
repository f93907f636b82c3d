"""Where do the workers count? In files of a private directory, so that each can add up what all have counted.

The names and the form of the files are prometheus-client's, which maps them into memory. It is not imported
here: it chooses how to count when it is first imported, which must be with the directory known.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from contextlib import suppress
from pathlib import Path
from typing import Final

FILES: Final = {"counter": 1 << 20, "histogram": 3 << 19, "gauge_livesum": 1 << 16}
"""The files of a process and their bytes, for every series that there can be: 403 pairs of route and method take
1.15 MB of durations and, with a dozen statuses each, 0.85 MB of counts. A worker at work uses a tenth of that."""

USED_BYTES: Final = 4  # at a file's beginning they say how much of it is used


PREFIX: Final = "walkthrough-metrics-"
TRIES_MAX: Final = 3  # to make a directory that nobody sweeps before it is held

DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

_held: dict[Path, int] = {}


def make_directory() -> Path | None:
    """Make a directory, mode 0700, for the life of one server and its workers, and hold it. None where there is no
    place for one. After a kill -9 it stays behind: those that nobody holds are swept away first."""
    try:
        parent = Path(tempfile.gettempdir())
        with opened(parent) as at:
            sweep(at)
            for _ in range(TRIES_MAX):
                made = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
                descriptor = hold(made.name, at)
                if descriptor is not None:
                    _held[made] = descriptor
                    return made
    except OSError:
        pass
    return None


@contextmanager
def opened(directory: Path) -> Iterator[int]:
    """A descriptor by which a directory stays the same, whatever becomes of its name."""
    descriptor = os.open(directory, DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def hold(name: str, at: int) -> int | None:
    """The descriptor of a directory of this user's own, held by a lock that lasts until the last process that was
    forked with it is gone; None for one that another holds, or that is none of ours. No link is followed."""
    try:
        descriptor = os.open(name, DIRECTORY | os.O_NOFOLLOW, dir_fd=at)
    except OSError:
        return None
    try:
        found = os.fstat(descriptor)
        if found.st_uid == os.geteuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Whoever swept it away before it was held has left the name to nobody, or to another one.
            if os.path.samestat(found, os.stat(name, dir_fd=at, follow_symlinks=False)):
                return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def sweep(at: int) -> None:
    """Remove what servers that were killed have left behind: directories of this user's own that nobody holds."""
    for name in os.listdir(at):
        descriptor = hold(name, at) if name.startswith(PREFIX) else None
        if descriptor is not None:
            with suppress(OSError):  # there is something in it that is no file
                for each in os.listdir(descriptor):  # noqa: PTH208 - by its descriptor
                    os.unlink(each, dir_fd=descriptor)
                os.rmdir(name, dir_fd=at)
            os.close(descriptor)


def allocate(directory: Path, pid: int) -> None:
    """Make the files that a process will count in, all of their bytes on the disk; OSError if there is no place.

    A mapped page that finds no place when it is first written to ends the process (SIGBUS), after a COMMIT maybe
    and before its answer. prometheus-client would make them with holes, and have them grow by more.
    """
    made: list[Path] = []
    try:
        for kind, size_bytes in FILES.items():
            path = directory / f"{kind}_{pid}.db"
            if path.exists():  # of a process that had the same number
                lengthen(path, size_bytes)
                continue
            # An empty file is none that can be read, so it gets its name when it is whole.
            draft = path.with_suffix(".draft")
            made += [draft, path]
            lengthen(draft, size_bytes)
            draft.replace(path)
    except OSError:
        for path in made:
            path.unlink(missing_ok=True)
        raise


def lengthen(path: Path, size_bytes: int) -> None:
    """Give a file so many bytes, zeros behind what it has, each with its place on the disk."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags, 0o600)
    try:
        if sys.platform == "darwin":  # which has no such call
            missing = max(size_bytes - os.fstat(descriptor).st_size, 0)
            os.pwrite(descriptor, bytes(missing), size_bytes - missing)
        else:
            os.posix_fallocate(descriptor, 0, size_bytes)
    finally:
        os.close(descriptor)


def forget(directory: Path | None, pid: int) -> None:
    """Take back what a dead worker had at the moment, and the room that it has not used; what it counted stays
    counted."""
    for file in files_of(directory, pid):
        with suppress(OSError):
            if file.name.startswith("gauge_live"):
                file.unlink(missing_ok=True)
            else:
                cut_off_unused(file)


def cut_off_unused(file: Path) -> None:
    with file.open("r+b") as content:
        used_bytes = int.from_bytes(content.read(USED_BYTES), sys.byteorder)
        content.truncate(max(used_bytes, 2 * USED_BYTES))


def forget_all(directory: Path | None, pid: int) -> None:
    """Take back all that a process has counted, which served nobody."""
    for file in files_of(directory, pid):
        with suppress(OSError):
            file.unlink(missing_ok=True)


def files_of(directory: Path | None, pid: int) -> list[Path]:
    """What a process counted in; nothing, where the directory is gone."""
    return list(directory.glob(f"*_{pid}.db")) if directory is not None else []


def remove_directory(directory: Path | None) -> None:
    if directory is not None:
        shutil.rmtree(directory, ignore_errors=True)
        descriptor = _held.pop(directory, None)
        if descriptor is not None:
            os.close(descriptor)

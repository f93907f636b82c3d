"""Where do the workers count? In files of a private directory, so that each can add up what all have counted.

The names of the files are prometheus-client's. It is not imported here: it chooses how to count when it
is first imported, which must be with the directory known.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path


def make_directory() -> Path:
    """Make a directory, mode 0700, for the life of one server; after a kill -9 it stays behind."""
    return Path(tempfile.mkdtemp(prefix="walkthrough-metrics-"))


def forget(directory: Path, pid: int) -> None:
    """Take back what a dead worker had at the moment; what it counted stays counted."""
    for file in directory.glob(f"gauge_live*_{pid}.db"):
        file.unlink(missing_ok=True)


def forget_all(directory: Path, pid: int) -> None:
    """Take back all that a process has counted, which served nobody."""
    for file in directory.glob(f"*_{pid}.db"):
        file.unlink(missing_ok=True)


def remove_directory(directory: Path) -> None:
    shutil.rmtree(directory, ignore_errors=True)

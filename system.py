"""What the service asks of the operating system: data survives a power cut, and freed memory returns."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

ARENA_MAX: Final = -8  # M_ARENA_MAX of malloc.h
MMAP_THRESHOLD: Final = -3  # M_MMAP_THRESHOLD
LARGE_BYTES: Final = 1 << 20


def sync(path: Path) -> None:
    """Write a file, or the names in a directory, to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


# The heap. Only glibc has these functions.


def bound_heap() -> None:
    """Let all threads share one heap, and let blocks of 1 MiB and more return to the system.

    A heap for each thread would keep the memory of every password hash.
    """
    with suppress(OSError, AttributeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(ARENA_MAX, 1)
        mallopt(MMAP_THRESHOLD, LARGE_BYTES)


def trim_heap() -> None:
    """Give free memory back to the system: small values lie between the rows of a result."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)

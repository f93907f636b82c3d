"""The heap of a serving process: what threads free returns to the system."""

from __future__ import annotations

import ctypes
from typing import Final

ARENA_MAX: Final = -8  # M_ARENA_MAX of malloc.h
MMAP_THRESHOLD: Final = -3  # M_MMAP_THRESHOLD
LARGE_BYTES: Final = 1 << 20


def bound_heap() -> None:
    """Let all threads share one heap of glibc, and let blocks of 1 MiB and more return to the system.

    A heap for each thread would keep the memory of every password hash. Other C libraries have no such settings.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError):
        return
    mallopt(ARENA_MAX, 1)
    mallopt(MMAP_THRESHOLD, LARGE_BYTES)

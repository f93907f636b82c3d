"""Have glibc allocate memory from one arena for all threads.

By default each thread has an arena of its own, which keeps what it once allocated. Its heap also grows and shrinks in
several hundred small system calls for a body of 1,000 rows. A worker runs one thread at a time, so threads do not
compete for the arena.

Blocks of LARGE_BYTES and more have a mapping of their own, which goes back to the system when it is freed. By default
the bound rises to the largest block that was freed, and a large block then stays in the arena.
"""

from __future__ import annotations

import ctypes

M_ARENA_MAX, M_MMAP_THRESHOLD = -8, -3  # <malloc.h>
LARGE_BYTES = 1 << 20


def share_one_arena() -> bool:
    """Have this process and its children allocate from one arena; return whether the C library supports it.

    Call it before the second thread starts. musl and macOS have no arenas.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_ARENA_MAX, 1) and mallopt(M_MMAP_THRESHOLD, LARGE_BYTES))

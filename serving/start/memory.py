"""How does glibc hand out memory? From one arena for all threads, not from one for each.

A worker serves on one thread at a time, whichever that is: arenas of their own spare nobody a wait. But what a thread's
arena is given and gives back goes through the system in small steps, several hundred for a body of a thousand rows,
and each keeps for itself what it once had.
"""

from __future__ import annotations

import ctypes

M_ARENA_MAX = -8  # <malloc.h>


def share_one_arena() -> bool:
    """Have all threads that this process and its children will start allocate from one arena; whether that is so.

    To be called before there is a second thread. Other C libraries (musl, macOS) have no such thing, and no need of it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return False
    return bool(mallopt(M_ARENA_MAX, 1))

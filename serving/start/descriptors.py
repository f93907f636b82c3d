"""How many clients a worker may have: each takes a file descriptor, and a process may open a limited number.

gunicorn's main loop ends when `accept` finds no free descriptor. All other clients of the worker then lose their
requests. The usual limit is 1,024 descriptors.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

CLIENTS_MAX: Final = 4_000  # most of them idle for KEEPALIVE_SECONDS
DESCRIPTORS_MIN: Final = 64  # with 32 each worker ends and is restarted without end
OTHER_DESCRIPTORS: Final = 200  # 33 connections to a file take 99; an idle worker has about 40


def clients_max() -> int:
    """Return how many clients each worker may have, after raising this process's limit of open files.

    If the limit is low, clients get a quarter of it.
    """
    limit = raise_limit(CLIENTS_MAX + OTHER_DESCRIPTORS)
    return min(CLIENTS_MAX, max(limit - OTHER_DESCRIPTORS, limit // 4))


def descriptor_shortage() -> str | None:
    """Return why the limit of open files is too low to serve, or None if it suffices."""
    limit = raise_limit(DESCRIPTORS_MIN)
    if limit >= DESCRIPTORS_MIN:
        return None
    return f"{limit} open files are too few: at least {DESCRIPTORS_MIN} (ulimit -n)"


def raise_limit(wanted: int) -> int:
    """Raise the limit of open files to `wanted` if allowed; return the limit, at most `wanted`."""
    limit, hard_limit = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY or limit >= wanted:
        return wanted
    higher = wanted if hard_limit == resource.RLIM_INFINITY else min(wanted, hard_limit)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (higher, hard_limit))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]

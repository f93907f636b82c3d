"""How many clients may a worker have? Each takes a descriptor, of which a process has so many (`ulimit -n`).

Who accepts one client more than that ends: gunicorn's main loop takes it for the end of its door, and all others are
cut off in the middle of what they asked. The usual limit, 1,024, was reached by a thousand clients that say nothing,
whom gunicorn takes; and what opens the database needs some beside them.
"""

from __future__ import annotations

import resource
from contextlib import suppress
from typing import Final

CLIENTS_MAX: Final = 4_000  # idle for KEEPALIVE_SECONDS, most of them
LEAST: Final = 64  # with 32 a worker ended, and was started again without end
BESIDE: Final = 200  # 33 connections to a file take 99, a worker at rest some 40


def clients_max() -> int:
    """How many clients each worker may have, once this process, which forks them, has had its limit raised as far as
    it may. At a low one, a quarter of it."""
    limit = raised(CLIENTS_MAX + BESIDE)
    return min(CLIENTS_MAX, max(limit - BESIDE, limit // 4))


def too_few() -> str | None:
    """Why nobody can be served with as many as there may be, if that is so."""
    limit = raised(LEAST)
    return (
        f"{limit} open files are too few: at least {LEAST} (ulimit -n)" if limit < LEAST else None
    )


def raised(wanted: int) -> int:
    """The limit of descriptors, raised to so many if that is allowed; `wanted` where it is higher, or there is none."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY or limit >= wanted:
        return wanted
    higher = wanted if most == resource.RLIM_INFINITY else min(wanted, most)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (higher, most))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]

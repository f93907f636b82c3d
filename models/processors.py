"""How many processors are there, and who needs them? Where there are several, who waits for another process may look
for a while before it sleeps; not where clients of its own have something to do for them meanwhile."""

from __future__ import annotations

import os


def core_count() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


class Served:
    """The clients that this process serves in turn, as far as it serves them so."""

    count = 0


SERVED = Served()

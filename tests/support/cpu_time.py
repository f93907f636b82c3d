"""The CPU time of a block, independent of other load and of what earlier tests left in memory."""

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def cpu_time() -> Iterator[list[float]]:
    """Yield a list that gets the seconds of this thread when the block ends. The collector of garbage is off."""
    seconds: list[float] = []
    gc.disable()
    begun = time.thread_time()
    try:
        yield seconds
    finally:
        seconds.append(time.thread_time() - begun)
        gc.enable()

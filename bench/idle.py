"""Waits until the machine is idle. A server may still work on the requests of a client that has disconnected.

Reads /proc/stat, so Linux only.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

STAT: Final = Path("/proc/stat")
SAMPLE_SECONDS: Final = 0.1
BUSY_SHARE_MAX: Final = 0.15  # of all cores, over one sample
WAIT_SECONDS_MAX: Final = 15.0  # the slowest requests take a few seconds


def ticks() -> tuple[int, int]:
    """Return the busy ticks and all ticks of all cores since the machine started."""
    words = STAT.read_text(encoding="ascii").split("\n", 1)[0].split()
    user, nice, system, idle, io_wait, irq, soft_irq, *_ = map(int, words[1:])
    busy = user + nice + system + irq + soft_irq
    return busy, busy + idle + io_wait


def wait_until_idle() -> bool:
    """Return True when the machine is idle, False after WAIT_SECONDS_MAX."""
    deadline = time.monotonic() + WAIT_SECONDS_MAX
    busy_before, total_before = ticks()
    while time.monotonic() < deadline:
        time.sleep(SAMPLE_SECONDS)
        busy, total = ticks()
        if busy - busy_before <= BUSY_SHARE_MAX * (total - total_before):
            return True
        busy_before, total_before = busy, total
    return False

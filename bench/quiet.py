"""Is the machine at rest? A server goes on with what was asked of it when whoever asked has gone, and the next one's
round would pay for that. Read from /proc/stat; Linux only.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

STAT: Final = Path("/proc/stat")
LOOK_SECONDS: Final = 0.1
SHARE_MAX: Final = 0.15  # of all cores, over one look
WAIT_SECONDS_MAX: Final = 15.0  # the slowest answers take a few


def ticks() -> tuple[int, int]:
    """How long all cores have worked since they were started, and how long they were there, in the kernel's ticks."""
    words = STAT.read_text(encoding="ascii").split("\n", 1)[0].split()
    user, nice, system, idle, io_wait, irq, soft_irq, *_ = map(int, words[1:])
    work = user + nice + system + irq + soft_irq
    return work, work + idle + io_wait


def settle() -> bool:
    """Wait until next to nothing runs; whether that was so before patience ended."""
    until = time.monotonic() + WAIT_SECONDS_MAX
    worked, passed = ticks()
    while time.monotonic() < until:
        time.sleep(LOOK_SECONDS)
        work, all_ticks = ticks()
        if work - worked <= SHARE_MAX * (all_ticks - passed):
            return True
        worked, passed = work, all_ticks
    return False

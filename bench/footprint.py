"""How much memory do a server's processes hold, and how soon does it answer? Read from /proc; Linux only."""

from __future__ import annotations

import time
from collections.abc import Callable
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.drive import Tokens
from bench.drive import ask
from bench.requests import Call
from bench.servers import Server
from bench.servers import Servers

STARTS: Final = 3
ANSWER_SECONDS_MAX: Final = 60.0


@dataclass(frozen=True, slots=True)
class Footprint:
    """What processes hold together: RSS counts shared pages once a process, PSS once."""

    processes: int
    rss_mb: float
    pss_mb: float


@dataclass(frozen=True, slots=True)
class Held:
    """A server's memory at rest, and after full pages."""

    name: str
    idle: Footprint
    worked: Footprint


def footprint(*pids: int) -> Footprint:
    """These processes and everything below them."""
    rss = pss = processes = 0
    for each in (found for pid in pids for found in tree(pid)):
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            for line in Path(f"/proc/{each}/smaps_rollup").read_text().splitlines():
                rss += int(line.split()[1]) if line.startswith("Rss:") else 0
                pss += int(line.split()[1]) if line.startswith("Pss:") else 0
            processes += 1
    return Footprint(processes, rss / 1024, pss / 1024)


def tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from tree(int(child))


def seconds_to_answer(
    servers: Servers, start: Callable[[], Server], call: Call, tokens: Tokens
) -> tuple[Server, float]:
    """Start a server on what is there already; the time until it has answered a call with rows."""
    begun = time.monotonic()
    server = start()
    while ask(server.port, call, tokens).status != 200:
        servers.require_alive(server.name, server.pid, begun + ANSWER_SECONDS_MAX)
    return server, time.monotonic() - begun

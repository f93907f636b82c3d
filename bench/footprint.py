"""Memory of a server's processes, and the time of a start. Reads /proc, so Linux only."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.dialect import Dialect
from bench.http_client import send
from bench.requests import HttpCall
from bench.servers import Server, Servers

STARTS: Final = 3
ANSWER_SECONDS_MAX: Final = 60.0


@dataclass(frozen=True, slots=True)
class Footprint:
    """Memory of a process tree: RSS counts shared pages once a process, PSS once."""

    processes: int
    rss_mb: float
    pss_mb: float
    largest_rss_mb: float  # of one process


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """A server's memory when idle, and after it has served full pages."""

    name: str
    idle: Footprint
    loaded: Footprint


def footprint(*pids: int) -> Footprint:
    """Return the memory of these processes and their descendants."""
    rss: list[int] = []
    pss: list[int] = []
    for pid in (descendant for root in pids for descendant in process_tree(root)):
        with suppress(FileNotFoundError, ProcessLookupError, PermissionError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            rss.append(sum(int(line.split()[1]) for line in lines if line.startswith("Rss:")))
            pss.append(sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")))
    return Footprint(len(rss), sum(rss) / 1024, sum(pss) / 1024, max(rss, default=0) / 1024)


def process_tree(pid: int) -> Iterator[int]:
    yield pid
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from process_tree(int(child))


def seconds_to_answer(
    servers: Servers, start: Callable[[], Server], call: HttpCall, dialect: Dialect
) -> tuple[Server, float]:
    """Start a server on an existing database. Return it, and the seconds until it has answered the call."""
    begin = time.monotonic()
    server = start()
    while send(server.port, call, dialect).status != 200:
        servers.require_alive(server.name, server.pid, begin + ANSWER_SECONDS_MAX)
    return server, time.monotonic() - begin

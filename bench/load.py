"""Generates load: wrk replays a file of calls. HEAD requests have clients here, because wrk waits for their bodies.

Background load runs beside a measurement: a writer, or slow queries with clients that connect and send nothing.
"""

from __future__ import annotations

import http.client
import json
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path
from typing import Final

from bench.http_client import HttpCall, send
from bench.servers import ANON_KEY

REPLAY: Final = Path(__file__).resolve().parent / "replay.lua"
SLOW_FACTOR: Final = 10  # a round is repeated with so many times the seconds if it saw no answer
CREATED: Final = 201
WRITES_A_SECOND: Final = 20
SLOW_QUERIES: Final = 30
SILENT_CLIENTS: Final = 100


class RequestsFailed(Exception):
    """Some calls got an error or no answer, so their rate is meaningless."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of one round: answers a second, and latency percentiles in milliseconds."""

    per_second: float
    median_ms: float
    p99_ms: float


def write_calls(path: Path, calls: Sequence[HttpCall]) -> None:
    """Write the file that `replay.lua` reads."""
    lines = ("\t".join((call.method, call.path, call.token, call.prefer, call.body)) for call in calls)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def run_wrk(port: int, path: Path, connections: int, seconds: float, start: int) -> Sample:
    """Replay a file of calls for some seconds, from call number `start`; raise RequestsFailed."""
    for factor in (1, SLOW_FACTOR):
        figures = _wrk(port, path, connections, round(seconds * factor), start)
        if figures["refused"] + figures["broken"]:
            raise RequestsFailed(f"calls of {path.stem} failed: {figures}")
        if figures["requests"]:
            rate = figures["requests"] / figures["microseconds"] * 1e6
            return Sample(rate, figures["p50"] / 1e3, figures["p99"] / 1e3)
    raise RequestsFailed(f"no call of {path.stem} was answered in {seconds * SLOW_FACTOR:g} s")


def _wrk(port: int, path: Path, connections: int, seconds: int, start: int) -> dict[str, int]:
    """Return the figures that `replay.lua` prints."""
    words = [
        "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
        "-s", str(REPLAY), f"http://127.0.0.1:{port}/", "--", str(path), ANON_KEY, str(start),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=True, timeout=seconds + 60)
    figures: dict[str, int] = json.loads(done.stdout.strip().splitlines()[-1])
    return figures


def run_heads(port: int, calls: Sequence[HttpCall], clients: int, seconds: float, start: int) -> Sample:
    """Send HEAD calls for some seconds, from call number `start`; raise RequestsFailed.

    Each call has a new connection, since PostgREST closes a connection after its answer to HEAD.
    """
    following = cycle((*calls[start:], *calls[:start]))
    latencies: list[float] = []
    begin = time.perf_counter()

    def ask() -> None:
        while (sent := time.perf_counter()) < begin + seconds:
            answer = send(port, next(following))
            if not http.client.OK <= answer.status < http.client.MULTIPLE_CHOICES:
                raise RequestsFailed(f"HEAD got {answer}")
            latencies.append(time.perf_counter() - sent)

    with ThreadPoolExecutor(clients) as pool:
        for each in [pool.submit(ask) for _ in range(clients)]:
            each.result()
    duration = time.perf_counter() - begin
    latencies.sort()
    median, p99 = (latencies[len(latencies) * percent // 100] * 1e3 for percent in (50, 99))
    return Sample(len(latencies) / duration, median, p99)


@contextmanager
def background_writer(port: int, calls: Sequence[HttpCall]) -> Iterator[None]:
    """Send 20 inserts a second until the block ends; raise RequestsFailed if one fails."""
    failures: list[str] = []

    def write(ended: threading.Event) -> None:
        for call in cycle(calls):
            if ended.wait(1 / WRITES_A_SECOND) or failures:
                return
            answer = send(port, call)
            if answer.status != CREATED:
                failures.append(str(answer))

    with _threads([write]):
        yield
    if failures:
        raise RequestsFailed(f"the background writer: {failures[0]}")


@contextmanager
def slow_queries(port: int, calls: Sequence[HttpCall]) -> Iterator[None]:
    """Keep 30 slow queries (or refusals of them) and 100 silent clients connected until the block ends."""
    following = cycle(calls)

    def query(ended: threading.Event) -> None:
        while not ended.is_set():
            with suppress(OSError):
                send(port, next(following))

    with ExitStack() as stack:
        for _ in range(SILENT_CLIENTS):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        stack.enter_context(_threads([query] * SLOW_QUERIES))
        yield


@contextmanager
def _threads(loops: Sequence[Callable[[threading.Event], None]]) -> Iterator[None]:
    ended = threading.Event()
    threads = [threading.Thread(target=loop, args=(ended,), daemon=True) for loop in loops]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()

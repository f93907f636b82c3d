"""Generates load: wrk replays a file of calls; HEAD requests have a client here, because wrk waits for their bodies."""

from __future__ import annotations

import json
import selectors
import socket
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.dialect import Dialect
from bench.requests import HttpCall
from bench.servers import ANON_KEY

REPLAY: Final = Path(__file__).resolve().parent / "replay.lua"
ANSWER_SECONDS_MAX: Final = 30.0
SLOW_FACTOR: Final = 10  # a round is repeated with so many times the seconds if it saw no answer
HEAD_END: Final = b"\r\n\r\n"
SUCCESS: Final = b"HTTP/1.1 2"


class RequestsFailed(Exception):
    """Some calls got an error or no answer, so their rate is meaningless."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The result of one round: answers a second, and latency percentiles in milliseconds."""

    per_second: float
    median_ms: float
    p99_ms: float


def write_calls(path: Path, calls: Iterable[HttpCall], dialect: Dialect) -> None:
    """Write the file that `replay.lua` reads. The calls are those of the dialect."""
    with path.open("w", encoding="utf-8") as file:
        for call in calls:
            fields = (call.method, call.path, dialect.token(call), call.prefer, call.body)
            file.write("\t".join(fields) + "\n")


def run_wrk(port: int, path: Path, connections: int, seconds: float, start: int) -> Sample:
    """Replay a file of calls for some seconds, from call number `start`; raise RequestsFailed."""
    for factor in (1, SLOW_FACTOR):
        found = _wrk(port, path, connections, max(1, round(seconds * factor)), start)
        failed = found["refused"] + found["broken"]
        if failed:
            raise RequestsFailed(f"{failed} of {found['requests']} calls of {path.stem} failed")
        if found["requests"]:
            rate = found["requests"] / found["microseconds"] * 1e6
            return Sample(rate, found["p50"] / 1e3, found["p99"] / 1e3)
    raise RequestsFailed(f"no call of {path.stem} was answered in {seconds * SLOW_FACTOR:g} s")


def _wrk(port: int, path: Path, connections: int, seconds: int, start: int) -> dict[str, int]:
    """Return the figures that `replay.lua` prints."""
    words = [
        "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
        "-s", str(REPLAY), f"http://127.0.0.1:{port}/", "--", str(path), ANON_KEY, str(start),
    ]  # fmt: skip
    done = subprocess.run(words, capture_output=True, encoding="utf-8", check=True, timeout=seconds + 60)
    found: dict[str, int] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def run_heads(
    port: int, calls: list[HttpCall], dialect: Dialect, connections: int, seconds: float, start: int
) -> Sample:
    """Send HEAD calls for some seconds, from call number `start`; raise RequestsFailed."""
    texts = [head_text(call, dialect) for call in calls]
    times: list[float] = []
    begin = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        clients = [HeadClient(port, selector, texts, start + number) for number in range(connections)]
        try:
            while time.perf_counter() < begin + seconds:
                for ready, _ in selector.select(ANSWER_SECONDS_MAX):
                    times += ready.data.receive()
        finally:
            for client in clients:
                client.connection.close()
    elapsed = time.perf_counter() - begin
    times.sort()
    if not times:
        raise RequestsFailed(f"no HEAD request was answered in {elapsed:.0f} s")
    median, p99 = (times[len(times) * percent // 100] * 1e3 for percent in (50, 99))
    return Sample(len(times) / elapsed, median, p99)


class HeadClient:
    """One keep-alive connection that sends the next request after each answer; it reconnects after a close."""

    def __init__(self, port: int, selector: selectors.BaseSelector, texts: list[bytes], position: int) -> None:
        self.port = port
        self.selector = selector
        self.texts = texts
        self.position = position
        self.connect()
        self.send()

    def connect(self) -> None:
        self.connection = socket.create_connection(("127.0.0.1", self.port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(self.connection, selectors.EVENT_READ, self)

    def send(self) -> None:
        self.received = b""
        self.sent_at = time.perf_counter()
        try:
            self.connection.sendall(self.text)
        except OSError:
            self.reconnect()

    @property
    def text(self) -> bytes:
        return self.texts[self.position % len(self.texts)]

    def reconnect(self) -> None:
        self.selector.unregister(self.connection)
        self.connection.close()
        self.connect()
        self.send()

    def receive(self) -> list[float]:
        """Read available bytes. Return the latency in seconds if the answer is complete, else an empty list."""
        try:
            piece = self.connection.recv(65_536)
        except ConnectionResetError:
            piece = b""
        if not piece:
            self.reconnect()
            return []
        self.received += piece
        if not self.received.startswith(SUCCESS[: len(self.received)]):
            raise RequestsFailed(f"{self.text[:99]!r}: {self.received[:60]!r}")
        if not self.received.endswith(HEAD_END):
            return []
        latency = time.perf_counter() - self.sent_at
        self.position += 1
        self.send()
        return [latency]


def head_text(call: HttpCall, dialect: Dialect) -> bytes:
    lines = [f"HEAD {call.path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in dialect.headers(call).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()

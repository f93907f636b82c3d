"""Load that runs beside a measurement: a writer, slow queries, and clients that connect and send nothing."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import cycle
from typing import Final

from bench.dialect import Dialect
from bench.http_client import send
from bench.load_generator import RequestsFailed
from bench.requests import HttpCall

WRITES_A_SECOND: Final = 20
SLOW_QUERIES: Final = 30
SILENT_CLIENTS: Final = 100
CREATED: Final = 201


@contextmanager
def background_writer(port: int, calls: Sequence[HttpCall], dialect: Dialect) -> Iterator[None]:
    """Send 20 of the calls a second until the block ends; raise RequestsFailed if one fails."""
    failures: list[str] = []

    def write(ended: threading.Event) -> None:
        for call in cycle(calls):
            if ended.wait(1 / WRITES_A_SECOND):
                return
            try:
                status = send(port, call, dialect).status
            except OSError as error:
                failures.append(str(error))
                return
            if status != CREATED:
                failures.append(f"{status} to {call.method} {call.path}")
                return

    with _threads([write]):
        yield
    if failures:
        raise RequestsFailed(f"the background writer: {failures[0]}")


@contextmanager
def slow_queries(port: int, calls: Sequence[HttpCall], dialect: Dialect) -> Iterator[None]:
    """Keep 30 slow queries running and 100 silent clients connected until the block ends.

    A server may refuse a slow query (503, 504): the client then sends the next one.
    """

    def query(first: int) -> Callable[[threading.Event], None]:
        def loop(ended: threading.Event) -> None:
            position = first
            while not ended.is_set():
                try:
                    send(port, calls[position % len(calls)], dialect)
                except OSError:
                    ended.wait(0.1)
                position += SLOW_QUERIES

        return loop

    with ExitStack() as stack:
        for _ in range(SILENT_CLIENTS):
            stack.enter_context(socket.create_connection(("127.0.0.1", port)))
        stack.enter_context(_threads([query(number) for number in range(SLOW_QUERIES)]))
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

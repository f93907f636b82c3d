"""Somebody who writes while others read, so that whatever a server has kept of its answers is of no use."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from collections.abc import Sequence
from contextlib import contextmanager
from itertools import cycle
from typing import Final

from bench.drive import Tokens
from bench.drive import Unanswered
from bench.drive import ask
from bench.requests import Call

WRITES_A_SECOND: Final = 20
CREATED: Final = 201


@contextmanager
def a_writer(port: int, calls: Sequence[Call], tokens: Tokens) -> Iterator[None]:
    """For the time of a block one of the calls after another, so many a second; Unanswered if one is refused."""
    ends = threading.Event()
    refused: list[str] = []

    def write() -> None:
        for call in cycle(calls):
            if ends.wait(1 / WRITES_A_SECOND):
                return
            try:
                status = ask(port, call, tokens).status
            except OSError as error:
                refused.append(str(error))
                return
            if status != CREATED:
                refused.append(f"{status} to {call.method} {call.path}")
                return

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    try:
        yield
    finally:
        ends.set()
        writer.join()
    if refused:
        raise Unanswered(f"the writer beside the readers: {refused[0]}")

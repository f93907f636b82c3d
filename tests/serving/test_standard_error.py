"""A thread writes log lines: requests do not wait for the reader, and a stop loses no line."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import logging as standard_error
from serving.logging import LineHandler
from tests.durability.served import PROJECT, serving
from tests.http.service import ask, served_over
from tests.support.waiting import until

pytestmark = pytest.mark.slow

PIPE_BYTES = 4_096


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """A pipe with a small buffer."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.set_blocking(reading, False)
    yield reading, writing
    for end in (reading, writing):
        os.close(end)


@pytest.fixture
def handler(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> LineHandler:
    monkeypatch.setattr(standard_error, "LINES_MAX", 20)
    monkeypatch.setattr(standard_error, "FLUSH_SECONDS_MAX", 0.1)
    return LineHandler(pipe[1])


def log(handler: LineHandler, *lines: str) -> None:
    for line in lines:
        handler.handle(logging.makeLogRecord({"msg": line}))


def read_all(descriptor: int) -> bytes:
    read = b""
    with contextlib.suppress(BlockingIOError):
        while piece := os.read(descriptor, 1 << 16):
            read += piece
    return read


def test_lines_dropped_by_a_full_queue_are_counted(pipe: tuple[int, int], handler: LineHandler) -> None:
    """Nothing reads: the pipe and the queue of 20 lines fill."""
    log(handler, *["x" * 999] * 200)
    dropped, read = handler.dropped, bytearray()

    until(lambda: read.extend(read_all(pipe[0])) or not handler.queue.unfinished_tasks)
    log(handler, "after")
    until(lambda: read.extend(read_all(pipe[0])) or read.endswith(b"after\n"))

    lines = read.decode().splitlines()
    assert 0 < dropped < 200
    assert lines[-2:] == [f"{dropped} lines were dropped: standard error was not read", "after"]
    assert lines[:-2] == ["x" * 999] * (200 - dropped)


def test_line_longer_than_the_pipe_is_written_completely(pipe: tuple[int, int], handler: LineHandler) -> None:
    line, read = "ü" * (5 * PIPE_BYTES // 2), b""

    log(handler, line)

    os.set_blocking(pipe[0], True)
    while len(read) <= 5 * PIPE_BYTES:
        read += os.read(pipe[0], 1_000)
    assert read.decode() == line + "\n"


def test_pipe_that_another_process_made_non_blocking_loses_no_line(pipe: tuple[int, int], handler: LineHandler) -> None:
    os.set_blocking(pipe[1], False)
    lines, read = ["x" * 999] * 10, b""

    log(handler, *lines)

    os.set_blocking(pipe[0], True)
    while len(read) < 10_000:
        read += os.read(pipe[0], 1_000)
    assert read.decode().splitlines() == lines


def test_flush_does_not_wait_for_a_full_pipe(handler: LineHandler) -> None:
    log(handler, "x" * 2 * PIPE_BYTES)

    handler.flush()

    assert handler.queue.unfinished_tasks == 1


@pytest.mark.sqlite("no database is involved")
def test_service_with_a_blocked_log_answers_and_stops(base_file: Path, tmp_path: Path, pipe: tuple[int, int]) -> None:
    own = served_over(base_file, tmp_path / "served")
    own.output = pipe[1]
    with serving(own):
        statuses = [ask(own, "ada", "GET", "/buildings").status for _ in range(60)]
        ended = own.stop()

    assert statuses == [200] * 60
    assert ended == 0
    assert not (tmp_path / "served" / "walkthrough.db.serving").exists()


LAST_LINES = """
import logging, os, sys
from serving import logging as logs
logs.configure("INFO")
for number in range(300):
    logging.getLogger("walkthrough").info({"event": number})
if not os.fork():
    logging.getLogger("walkthrough").info({"event": "child"})
    sys.exit(0)
os.wait()
"""


def test_interpreter_exit_writes_all_lines_once() -> None:
    words = [sys.executable, "-c", LAST_LINES]
    ended = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)

    events = [json.loads(line)["event"] for line in ended.stderr.splitlines()]
    assert sorted(events, key=str) == sorted([*range(300), "child"], key=str)


@pytest.mark.sqlite("no database is involved")
def test_stop_writes_the_line_of_every_answered_request(base_file: Path, tmp_path: Path) -> None:
    own = served_over(base_file, tmp_path / "served")
    with serving(own):
        statuses = [ask(own, "ada", "GET", "/buildings").status for _ in range(50)]
        assert own.stop() == 0

    lines = [json.loads(line) for line in own.log.read_text().splitlines()]
    assert sum(line.get("path") == "/buildings" for line in lines) == len(statuses)

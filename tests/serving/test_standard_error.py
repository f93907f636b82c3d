"""A thread writes log lines in batches: requests do not wait for the reader, and a stop loses no line."""

from __future__ import annotations

import fcntl
import json
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from serving import standard_error as stderr
from tests.durability.served import PROJECT, serving
from tests.http.service import ask, served_over

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
def write_line(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    monkeypatch.setattr(stderr, "PATIENCE_SECONDS", 0.01)
    with os.fdopen(os.dup(pipe[1]), "w", encoding="utf-8") as stream:
        handler = stderr.BatchHandler(stream)

        def write(line: str) -> None:
            handler.handle(logging.makeLogRecord({"msg": line}))
            handler.flush()

        yield write


def ends_in_time(task: Callable[[], None]) -> bool:
    """Return whether a task ends within 20 s."""
    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    thread.join(20)
    return not thread.is_alive()


def test_lines_dropped_by_a_full_pipe_are_counted(pipe: tuple[int, int], write_line: Callable[[str], None]) -> None:
    line = "x" * 999

    assert ends_in_time(lambda: [write_line(line) for _ in range(10)])

    read = os.read(pipe[0], 1 << 16)
    count = read.count(b"\n")
    assert 0 < count < 10
    assert read == f"{line}\n".encode() * count
    write_line("read again")
    expected = f"{10 - count} lines were dropped: standard error was not read\nread again\n"
    assert os.read(pipe[0], 1 << 16) == expected.encode()
    write_line("and again")
    assert os.read(pipe[0], 1 << 16) == b"and again\n"


def test_truncated_line_ends_before_the_next_one(pipe: tuple[int, int], write_line: Callable[[str], None]) -> None:
    assert ends_in_time(lambda: write_line("x" * 3 * PIPE_BYTES))

    assert os.read(pipe[0], 1 << 16) == b"x" * PIPE_BYTES
    write_line("next")
    assert os.read(pipe[0], 1 << 16) == b"\nnext\n"


def test_lines_of_several_processes_stay_whole(tmp_path: Path) -> None:
    """Each write ends with a line: the lines of another process stand between writes."""
    written: list[bytes] = []
    with (tmp_path / "log").open("w") as stream:
        handler = stderr.BatchHandler(stream)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(os, "write", lambda _, piece: written.append(piece) or len(piece))
            handler.write(stream.fileno(), ["x" * 300] * 100)

    assert b"".join(written) == (b"x" * 300 + b"\n") * 100
    assert all(piece.endswith(b"\n") and len(piece) <= PIPE_BYTES for piece in written)


def test_line_longer_than_the_pipe_is_written_completely(
    pipe: tuple[int, int], write_line: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stderr, "PATIENCE_SECONDS", 20.0)
    os.set_blocking(pipe[0], True)
    read = []

    def read_all() -> None:
        while sum(map(len, read)) <= 5 * PIPE_BYTES:
            read.append(os.read(pipe[0], 1_000))

    reader = threading.Thread(target=read_all)
    reader.start()
    write_line("ü" * (5 * PIPE_BYTES // 2))
    reader.join(20)

    assert b"".join(read).decode() == "ü" * (5 * PIPE_BYTES // 2) + "\n"


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


@pytest.fixture
def handler(pipe: tuple[int, int]) -> Iterator[stderr.BatchHandler]:
    with os.fdopen(os.dup(pipe[1]), "w", encoding="utf-8") as stream:
        handler = stderr.BatchHandler(stream)
        yield handler
        handler.lines.clear()
        with handler.writing:  # a write in progress ends before its descriptor is reused
            pass


def test_logging_does_not_wait_for_a_full_pipe(handler: stderr.BatchHandler) -> None:
    began = time.monotonic()

    for _ in range(stderr.LINES_MAX // 2):
        handler.handle(logging.makeLogRecord({"msg": "x" * 99}))

    assert time.monotonic() - began < stderr.PATIENCE_SECONDS


def test_queue_of_lines_is_limited(handler: stderr.BatchHandler, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stderr, "LINES_MAX", 5)
    handler.wake.set()  # the writer has not begun

    for _ in range(8):
        handler.handle(logging.makeLogRecord({"msg": "x"}))

    assert (len(handler.lines), handler.dropped) == (5, 3)


def test_line_is_written_without_a_flush(pipe: tuple[int, int], handler: stderr.BatchHandler) -> None:
    os.set_blocking(pipe[0], True)

    handler.handle(logging.makeLogRecord({"msg": "x"}))

    assert os.read(pipe[0], 100) == b"x\n"


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

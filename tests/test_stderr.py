"""Who reads the log may stop: nothing waits for them longer than a moment, and a stop not at all."""

from __future__ import annotations

import fcntl
import logging
import os
import threading
from collections.abc import Callable
from collections.abc import Iterator
from pathlib import Path

import pytest

from serving import standard_error as stderr
from tests.durability.served import serving
from tests.http.service import ask
from tests.http.service import served_over

PIPE_BYTES = 4_096


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """One that is soon full, where that can be chosen."""
    reading, writing = os.pipe()
    fcntl.fcntl(writing, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.set_blocking(reading, False)
    yield reading, writing
    for end in (reading, writing):
        os.close(end)


@pytest.fixture
def say(pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    monkeypatch.setattr(stderr, "PATIENCE_SECONDS", 0.01)
    with os.fdopen(os.dup(pipe[1]), "w", encoding="utf-8") as stream:
        handler = stderr.PatientHandler(stream)
        yield lambda line: handler.handle(logging.makeLogRecord({"msg": line}))


def in_time(task: Callable[[], None]) -> bool:
    """Whether it ends, whoever reads."""
    thread = threading.Thread(target=task, daemon=True)
    thread.start()
    thread.join(20)
    return not thread.is_alive()


def test_lines_that_nobody_reads_are_left_out_and_counted(
    pipe: tuple[int, int], say: Callable[[str], None]
) -> None:
    line = "x" * 999

    assert in_time(lambda: [say(line) for _ in range(10)])

    read = os.read(pipe[0], 1 << 16)
    count = read.count(b"\n")
    assert 0 < count < 10
    assert read == f"{line}\n".encode() * count
    say("read again")
    told = f"{10 - count} lines were left out: nobody read them\nread again\n"
    assert os.read(pipe[0], 1 << 16) == told.encode()
    say("and again")
    assert os.read(pipe[0], 1 << 16) == b"and again\n"


def test_a_line_of_which_only_the_beginning_is_read_ends_before_the_next(
    pipe: tuple[int, int], say: Callable[[str], None]
) -> None:
    assert in_time(lambda: say("x" * 3 * PIPE_BYTES))

    assert os.read(pipe[0], 1 << 16) == b"x" * PIPE_BYTES
    say("next")
    assert os.read(pipe[0], 1 << 16) == b"\nnext\n"


def test_a_line_longer_than_the_pipe_is_read_whole(
    pipe: tuple[int, int], say: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stderr, "PATIENCE_SECONDS", 20.0)
    os.set_blocking(pipe[0], True)
    read = []

    def read_all() -> None:
        while sum(map(len, read)) <= 5 * PIPE_BYTES:
            read.append(os.read(pipe[0], 1_000))

    reader = threading.Thread(target=read_all)
    reader.start()
    say("ü" * (5 * PIPE_BYTES // 2))
    reader.join(20)

    assert b"".join(read).decode() == "ü" * (5 * PIPE_BYTES // 2) + "\n"


@pytest.mark.sqlite("no database has a part in it")
def test_a_service_whose_log_nobody_reads_answers_and_stops(
    base_file: Path, tmp_path: Path, pipe: tuple[int, int]
) -> None:
    own = served_over(base_file, tmp_path / "served")
    own.output = pipe[1]
    with serving(own):
        statuses = [ask(own, "ada", "GET", "/buildings").status for _ in range(60)]
        ended = own.stop()

    assert statuses == [200] * 60
    assert ended == 0
    assert not (tmp_path / "served" / "walkthrough.db.serving").exists()

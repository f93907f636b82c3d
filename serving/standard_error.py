"""Write log lines to standard error in batches, from a background thread: no request waits for the reader.

The reader may stop reading, such as a supervisor that hangs or a terminal after Ctrl-S. A write to a full pipe blocks.
The writer thread waits for one second, then drops the lines. It reports their number once the pipe takes data again.
"""

from __future__ import annotations

import logging
import os
import select
import threading
import time
import weakref
from collections import deque
from typing import Any, Final

BATCH_SECONDS: Final = 0.025  # a line is written within twice that time
LINES_MAX: Final = 20_000  # pending, of about 250 bytes each
PATIENCE_SECONDS: Final = 1.0
PIECE_BYTES: Final = 4_096  # a pipe that is writable takes at least this much


class BatchHandler(logging.StreamHandler[Any]):
    """A handler whose lines a background thread writes. `flush` writes them now."""

    _gunicorn = False
    """gunicorn finds its own handlers by this attribute."""

    def __init__(self, stream: Any = None) -> None:
        super().__init__(stream)
        self.dropped = 0  # lines since the last successful write
        self.is_cut = False  # the last written line has no end
        self.polled: tuple[int, select.poll] | None = None
        self.reset()
        ALL.add(self)

    def reset(self) -> None:
        """Start with no lines and no writer, as in a forked child: the parent writes its own lines."""
        self.lines: deque[str] = deque()
        self.wake = threading.Event()
        self.writing = threading.Lock()
        self.writer: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        if descriptor_of(self.stream) is None:
            super().emit(record)
            return
        try:
            line = self.format(record)
        except RecursionError:
            raise
        except Exception:  # noqa: BLE001  # as in logging: an error must not reach the caller
            self.handleError(record)
            return
        if len(self.lines) >= LINES_MAX:
            self.dropped += 1
            return
        self.lines.append(line)
        if not self.wake.is_set():
            self.wake.set()
            if self.writer is None:
                self.start_writer()

    def start_writer(self) -> None:
        self.writer = threading.Thread(target=self.run, name="log-writer", daemon=True)
        try:
            self.writer.start()
        except RuntimeError:  # the interpreter is ending, and logging flushes all handlers
            self.writer = None

    def run(self) -> None:
        while True:
            self.wake.wait()
            time.sleep(BATCH_SECONDS)
            self.wake.clear()
            self.write_lines()

    def flush(self) -> None:
        """Write all pending lines. logging also calls this when the interpreter ends."""
        if descriptor_of(self.stream) is None:
            super().flush()
        else:
            self.write_lines()  # waits for a batch in progress

    def write_lines(self) -> None:
        if not self.writing.acquire(timeout=2 * PATIENCE_SECONDS):
            return
        try:
            descriptor = descriptor_of(self.stream)
            batch = [self.lines.popleft() for _ in range(len(self.lines))]
            if descriptor is not None and batch:
                self.write(descriptor, batch)
        except OSError:
            self.dropped += len(batch)
        finally:
            self.writing.release()

    def write(self, descriptor: int, batch: list[str]) -> None:
        """Write lines for as long as the descriptor takes data within PATIENCE_SECONDS."""
        before = self.dropped
        notice = [self.format(self.notice())] if before else []
        start = self.terminator if self.is_cut else ""
        text = start + self.terminator.join([*notice, *batch, ""])
        rest = text.encode(errors="backslashreplace")
        whole, seconds = len(rest), 0.0 if before else PATIENCE_SECONDS
        written = b""
        while rest and self.takes(descriptor, seconds):
            written = rest[: os.write(descriptor, first_piece(rest))]
            rest = rest[len(written) :]
        if len(rest) < whole:
            self.dropped, self.is_cut = self.dropped - before, not written.endswith(b"\n")
        lost = rest.count(b"\n") - (1 if self.is_cut and len(rest) < whole else 0)
        self.dropped += min(lost, len(batch))

    def notice(self) -> logging.LogRecord:
        """Return a record of how many lines were dropped."""
        message = f"{self.dropped} lines were dropped: standard error was not read"
        return logging.LogRecord("walkthrough", logging.WARNING, "", 0, message, None, None)

    def takes(self, descriptor: int, seconds: float) -> bool:
        """Return whether a write would not block, or would fail, within `seconds`."""
        if self.polled is None or self.polled[0] != descriptor:
            self.polled = descriptor, select.poll()
            self.polled[1].register(descriptor, select.POLLOUT)
        return bool(self.polled[1].poll(int(seconds * 1_000)))


ALL: Final[weakref.WeakSet[BatchHandler]] = weakref.WeakSet()
"""Every handler of this process."""


def first_piece(text: bytes) -> bytes:
    """Return the whole lines within PIECE_BYTES, which no other process can divide, or the start of a longer line."""
    end = len(text) if len(text) <= PIECE_BYTES else text.rfind(b"\n", 0, PIECE_BYTES) + 1
    return text[: end or PIECE_BYTES]


def reset_all() -> None:
    for handler in list(ALL):
        handler.reset()


def flush_all() -> None:
    for handler in list(ALL):
        handler.flush()


os.register_at_fork(after_in_child=reset_all)


def descriptor_of(stream: Any) -> int | None:
    """Return the descriptor of a stream; None for a stream in memory."""
    try:
        descriptor: int = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None
    return descriptor

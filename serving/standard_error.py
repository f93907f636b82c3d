"""Write log lines to standard error from a thread: no request waits for the reader.

The reader may stop reading, such as a supervisor that hangs or a terminal after Ctrl-S. The queue of lines is bounded.
Lines that a full queue drops are counted, and a line says their number once the queue takes lines again.
"""

from __future__ import annotations

import logging
import os
import select
import time
from contextlib import suppress
from logging.handlers import QueueHandler, QueueListener
from queue import Full, Queue
from typing import Any, Final

BATCH_SECONDS: Final = 0.025  # a thread that woke for each line would compete with requests
LINES_MAX: Final = 20_000  # pending, of about 250 bytes each
FLUSH_SECONDS_MAX: Final = 2.0


class LineHandler(QueueHandler):
    """A handler whose lines a thread writes. `flush` waits for FLUSH_SECONDS_MAX at most."""

    queue: Queue[str]

    def __init__(self, descriptor: int) -> None:
        super().__init__(Queue())
        self.descriptor = descriptor
        self.reset()
        os.register_at_fork(after_in_child=self.reset)

    def reset(self) -> None:
        """Start with no lines and no thread, as in a forked child: the parent writes its own lines."""
        self.queue = Queue(LINES_MAX)
        self.writer: LineWriter | None = None
        self.dropped = 0

    def prepare(self, record: logging.LogRecord) -> Any:
        return self.format(record)

    def enqueue(self, line: Any) -> None:
        if self.writer is None:
            self.writer = LineWriter(self.queue, self.descriptor)
            self.writer.start()
        try:
            if self.dropped:
                self.queue.put_nowait(self.format(dropped_record(self.dropped)))
                self.dropped = 0
            self.queue.put_nowait(line)
        except Full:
            self.dropped += 1

    def flush(self) -> None:
        """Wait until all pending lines are written. logging also calls this when the interpreter ends."""
        with self.queue.all_tasks_done:
            self.queue.all_tasks_done.wait_for(lambda: not self.queue.unfinished_tasks, FLUSH_SECONDS_MAX)


class LineWriter(QueueListener):
    """The thread. It writes to the descriptor: the interpreter could not end while a thread waits in `sys.stderr`."""

    queue: Queue[str]

    def __init__(self, queue: Queue[str], descriptor: int) -> None:
        super().__init__(queue)
        self.descriptor = descriptor

    def dequeue(self, block: bool) -> Any:
        if self.queue.empty():
            time.sleep(BATCH_SECONDS)
        return self.queue.get(block)

    def handle(self, line: Any) -> None:
        rest = f"{line}\n".encode(errors="backslashreplace")
        with suppress(OSError):
            while rest:
                try:
                    rest = rest[os.write(self.descriptor, rest) :]
                except BlockingIOError:  # another process may have made a shared pipe non-blocking
                    select.select([], [self.descriptor], [])


def dropped_record(count: int) -> logging.LogRecord:
    message = f"{count} lines were dropped: standard error was not read"
    return logging.LogRecord("walkthrough", logging.WARNING, "", 0, message, None, None)


STANDARD_ERROR: Final = LineHandler(2)

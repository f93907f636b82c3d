"""Log lines: one escaped JSON object each, on standard error, without secrets, written by a thread.

The service logs a mapping, which becomes the line. An exception is logged with its types and code locations, never with
its message, which may hold a caller's values. Quotes of requests in gunicorn's own messages are cut off
(docs/decisions/0019). No request waits for the reader, which may stop reading: a supervisor that hangs, or a terminal
after Ctrl-S. The queue of lines is bounded. Lines that a full queue drops are counted. A line says their number once
the queue takes lines again.
"""

from __future__ import annotations

import datetime
import json
import logging
import os
import select
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import lru_cache
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from queue import Full, Queue
from typing import Any, Final

from gunicorn.glogging import Logger

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
                    writable = select.poll()  # `select` takes no descriptor above 1,023
                    writable.register(self.descriptor, select.POLLOUT)
                    writable.poll()


def dropped_record(count: int) -> logging.LogRecord:
    message = f"{count} lines were dropped: standard error was not read"
    return logging.LogRecord("walkthrough", logging.WARNING, "", 0, message, None, None)


STANDARD_ERROR: Final = LineHandler(2)


PROJECT: Final = Path(__file__).resolve().parent.parent
FRAMES_MAX: Final = 20  # the innermost ones of an exception
CAUSES_MAX: Final = 5

QUOTING_PREFIXES: Final = ("Invalid request from", "Error handling request")
"""The prefixes of gunicorn's messages that quote a request's line or headers."""


class JsonLines(logging.Formatter):
    """Formats a record as one line of JSON in printable ASCII."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": f"{date_and_time(int(record.created))}.{int(record.created % 1 * 1_000):03}+00:00",
            "level": record.levelname.lower(),
        }
        if isinstance(record.msg, Mapping):
            line.update(record.msg)
        else:
            line["logger"] = record.name
            line["message"] = message(record)
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = describe(record.exc_info[1])
        # json escapes every control character except DEL.
        return ENCODER.encode(line).replace("\x7f", "\\u007f")


@lru_cache(maxsize=1)
def date_and_time(second: int) -> str:
    """Return a Unix time in ISO 8601 without its zone, cached for its second.

    >>> date_and_time(0)
    '1970-01-01T00:00:00'
    """
    return datetime.datetime.fromtimestamp(second, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")


class JsonLogger(Logger):  # type: ignore[misc]
    """gunicorn's logger, with the service's format and handler."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        configure(cfg.loglevel.upper())
        for handler in list(self.error_log.handlers):
            if type(handler) is logging.StreamHandler:
                self.error_log.removeHandler(handler)
                self.error_log.propagate = True  # to the root logger's handler
            else:
                handler.setFormatter(JsonLines())

    def access(self, resp: Any, req: Any, environ: Any, request_time: Any) -> None:
        """Log nothing: the application logs one line for each request (`routes/http/middleware.py`)."""

    def info(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Drop gunicorn's lines about its start: the service reports a refused start and its addresses itself."""
        if not str(msg).startswith(("Starting gunicorn", "Listening at")):
            super().info(msg, *args, **kwargs)


def configure(level: str) -> None:
    """Log everything in this process to standard error: the service from `level`, libraries from WARNING."""
    # No line names a caller, thread or process; looking them up costs as much as the rest of a record.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    STANDARD_ERROR.setFormatter(JsonLines())
    logging.root.handlers[:] = [STANDARD_ERROR]
    logging.root.setLevel(logging.WARNING)
    logging.getLogger("walkthrough").setLevel(level)


def watch_threads() -> None:
    """Log exceptions that end a background thread."""
    threading.excepthook = log_thread


def log_thread(ended: threading.ExceptHookArgs) -> None:
    name = ended.thread.name if ended.thread is not None else None
    line = {"event": "thread_ended", "thread": name}
    logging.getLogger("walkthrough").error(line, exc_info=ended.exc_value)


def run_logged(task: Callable[[], None]) -> None:
    """Run a task of a thread pool, and log an exception that ends it: the pool would discard it."""
    try:
        task()
    except BaseException as error:  # noqa: BLE001  # any error is logged
        thread = threading.current_thread()
        arguments = threading.ExceptHookArgs((type(error), error, error.__traceback__, thread))
        threading.excepthook(arguments)


def message(record: logging.LogRecord) -> str:
    """Return a record's message, without values of a request in gunicorn's messages."""
    if not record.name.startswith("gunicorn"):
        return record.getMessage()
    if record.levelno <= logging.DEBUG:
        return str(record.msg)  # the template: its values are parts of requests
    text = record.getMessage()
    if not text.startswith(QUOTING_PREFIXES):
        return text
    error = sys.exception()
    cause = f": {type(error).__name__}" if error is not None else ""
    return (text.partition(": ")[0] if text.startswith(QUOTING_PREFIXES[0]) else QUOTING_PREFIXES[1]) + cause


def describe(error: BaseException) -> list[dict[str, object]]:
    """Return an exception and its causes: types and code locations, no messages.

    >>> describe(ValueError("a caller's secret"))
    [{'type': 'ValueError', 'frames': []}]
    """
    causes: list[dict[str, object]] = []
    current: BaseException | None = error
    while current is not None and len(causes) < CAUSES_MAX:
        frames = traceback.extract_tb(current.__traceback__)[-FRAMES_MAX:]
        causes.append({"type": type(current).__qualname__, "frames": [location(frame) for frame in frames]})
        current = current.__cause__ or current.__context__
    return causes


def location(frame: traceback.FrameSummary) -> str:
    path = Path(frame.filename)
    if path.is_relative_to(PROJECT):
        path = path.relative_to(PROJECT)
    return f"{path}:{frame.lineno} {frame.name}"


def type_name(value: object) -> str:
    """Return the type's name for a value that JSON lacks: its text might hold secrets."""
    return type(value).__name__


ENCODER: Final = json.JSONEncoder(default=type_name)

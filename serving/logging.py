"""How does a line of the log read? One JSON object on standard error, escaped, and without what may be secret.

What the service says of a request it says as a mapping, which becomes the line. Of an exception the
kinds and the places are told, never the message: values of a caller stand in those. gunicorn quotes
requests in some of its own messages; such quotes are cut off (docs/decisions/0019).
"""

from __future__ import annotations

import datetime
import json
import logging
import logging.config
import sys
import threading
import traceback
from collections.abc import Callable
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any
from typing import Final

from gunicorn.glogging import Logger

from serving.standard_error import BatchHandler

PROJECT: Final = Path(__file__).resolve().parent.parent
FRAMES_MAX: Final = 20  # of an exception, the innermost; beyond it only recursion repeats itself
CAUSES_MAX: Final = 5

QUOTING: Final = ("Invalid request from", "Error handling request")
"""How gunicorn's messages begin that hold a request's line or headers."""


class JsonLines(logging.Formatter):
    """A record as one line of JSON; whatever is no printable ASCII is escaped in it."""

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
        # json escapes everything but DEL.
        return ENCODER.encode(line).replace("\x7f", "\\u007f")


@lru_cache(maxsize=1)
def date_and_time(second: int) -> str:
    """Return a Unix time in ISO 8601 without its zone, cached for its second.

    >>> date_and_time(0)
    '1970-01-01T00:00:00'
    """
    return datetime.datetime.fromtimestamp(second, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%S")


class JsonLogger(Logger):  # type: ignore[misc]
    """gunicorn's logger, made to write lines like everybody's."""

    def setup(self, cfg: Any) -> None:
        super().setup(cfg)
        configure(cfg.loglevel.upper())
        for place, handler in enumerate(self.error_log.handlers):
            if type(handler) is logging.StreamHandler:
                self.error_log.handlers[place] = handler = BatchHandler(handler.stream)
                handler._gunicorn = True
            handler.setFormatter(JsonLines())

    def access(self, resp: Any, req: Any, environ: Any, request_time: Any) -> None:
        """The application writes a line a request (`routes/request_log.py`)."""

    def info(self, msg: object, *args: object, **kwargs: Any) -> None:
        """Leave out that gunicorn starts: a start that is refused is told in one line, ours, as is where it listens."""
        if not str(msg).startswith(("Starting gunicorn", "Listening at")):
            super().info(msg, *args, **kwargs)


def configure(level: str) -> None:
    """Log everything in this process to standard error: the service from `level`, libraries from WARNING."""
    # No line names a caller, thread or process; looking them up costs as much as the rest of a record.
    logging._srcfile = None
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"json": {"()": JsonLines}},
            "handlers": {
                "stderr": {
                    "class": "serving.standard_error.BatchHandler",
                    "stream": "ext://sys.stderr",
                    "formatter": "json",
                }
            },
            "root": {"level": "WARNING", "handlers": ["stderr"]},
            "loggers": {"walkthrough": {"level": level}},
        }
    )


def watch_threads() -> None:
    """Have what ends a background thread logged as everything else is."""
    threading.excepthook = log_thread


def log_thread(ended: threading.ExceptHookArgs) -> None:
    name = ended.thread.name if ended.thread is not None else None
    told = {"event": "thread_ended", "thread": name}
    logging.getLogger("walkthrough").error(told, exc_info=ended.exc_value)


def run_logged(task: Callable[[], None]) -> None:
    """Run a task of a pool; what ends it is logged as what ends a thread: the pool would keep it to itself."""
    try:
        task()
    except BaseException as error:  # noqa: BLE001  # whatever it is
        thread = threading.current_thread()
        told = threading.ExceptHookArgs((type(error), error, error.__traceback__, thread))
        threading.excepthook(told)


def message(record: logging.LogRecord) -> str:
    """What a record says; of gunicorn's, nothing that a request brought."""
    if not record.name.startswith("gunicorn"):
        return record.getMessage()
    if record.levelno <= logging.DEBUG:
        return str(record.msg)  # the template: its values are pieces of requests
    told = record.getMessage()
    if not told.startswith(QUOTING):
        return told
    error = sys.exception()
    cause = f": {type(error).__name__}" if error is not None else ""
    return (told.partition(": ")[0] if told.startswith(QUOTING[0]) else QUOTING[1]) + cause


def describe(error: BaseException) -> list[dict[str, object]]:
    """An exception and what led to it: kinds and places, no messages.

    >>> describe(ValueError("a caller's secret"))
    [{'type': 'ValueError', 'frames': []}]
    """
    found: list[dict[str, object]] = []
    current: BaseException | None = error
    while current is not None and len(found) < CAUSES_MAX:
        frames = traceback.extract_tb(current.__traceback__)[-FRAMES_MAX:]
        found.append(
            {"type": type(current).__qualname__, "frames": [place(frame) for frame in frames]}
        )
        current = current.__cause__ or current.__context__
    return found


def place(frame: traceback.FrameSummary) -> str:
    path = Path(frame.filename)
    if path.is_relative_to(PROJECT):
        path = path.relative_to(PROJECT)
    return f"{path}:{frame.lineno} {frame.name}"


def kind_of(value: object) -> str:
    """Stand in for what is no JSON; its text might say too much."""
    return type(value).__name__


ENCODER: Final = json.JSONEncoder(default=kind_of)

"""Lines to standard error, for which nobody waits longer than a moment.

Who reads them may stop: a supervisor that hangs, a terminal after Ctrl-S, a program that waits itself. Once a pipe is
full a write to it waits, with the handler's lock, and all that log wait behind: every request, and the stop of the
service. So a line waits for a second, and those behind it not at all until somebody reads again, who is told how many
were left out.
"""

from __future__ import annotations

import logging
import os
import select
from typing import Any
from typing import Final

PATIENCE_SECONDS: Final = 1.0
PIECE_BYTES: Final = 4_096  # a pipe that takes anything takes as much at once


class PatientHandler(logging.StreamHandler[Any]):
    """Writes to a stream as long as somebody reads it."""

    _gunicorn = False
    """By which gunicorn finds its own."""

    left_out = 0
    """Lines, since somebody read last."""

    asked: tuple[int, select.poll] | None = None
    """Where it writes to, and what tells whether it can."""

    is_cut = False
    """Whether the last line that was written has no end."""

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line, or leave it out; the handler's lock is held meanwhile."""
        descriptor = descriptor_of(self.stream)
        if descriptor is None:
            super().emit(record)
            return
        try:
            text = self.format(record) + self.terminator
            if self.left_out:
                text = self.format(self.missing(record)) + self.terminator + text
            if self.is_cut:
                text = self.terminator + text
            self.write(descriptor, text.encode(errors="backslashreplace"))
        except RecursionError:
            raise
        except Exception:  # noqa: BLE001  # as logging has it: a line is no reason for anything to fail
            self.handleError(record)

    def missing(self, record: logging.LogRecord) -> logging.LogRecord:
        """A record of how many lines were left out before this one."""
        told = f"{self.left_out} lines were left out: nobody read them"
        return logging.LogRecord(record.name, logging.WARNING, "", 0, told, None, None)

    def write(self, descriptor: int, line: bytes) -> None:
        """Write what somebody reads of it."""
        seconds = 0.0 if self.left_out else PATIENCE_SECONDS
        rest = line
        while rest and self.takes(descriptor, seconds):
            rest = rest[os.write(descriptor, rest[:PIECE_BYTES]) :]
        if rest == line:
            self.left_out += 1
        else:
            self.left_out, self.is_cut = 0, bool(rest)

    def takes(self, descriptor: int, seconds: float) -> bool:
        """Whether something can be written, or an error told, within so many seconds."""
        if self.asked is None or self.asked[0] != descriptor:
            self.asked = descriptor, select.poll()
            self.asked[1].register(descriptor, select.POLLOUT)
        return bool(self.asked[1].poll(int(seconds * 1_000)))


def descriptor_of(stream: Any) -> int | None:
    """Where a stream writes to; None where it is none of the system's."""
    try:
        found: int = stream.fileno()
    except (OSError, ValueError, AttributeError):
        return None
    return found

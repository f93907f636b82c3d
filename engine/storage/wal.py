"""Checkpoints: a background thread copies the write-ahead log back into the database file while writers go on.

SQLite's own checkpoint runs inside a COMMIT and stops every writer for 30 to 80 ms. Here the connections of a writer
never checkpoint. A thread does, on a connection of its own, without the writer lock; SQLite 3.51.3 and later allow it.
From RESTART_PAGES on, the thread takes the writer lock for a short checkpoint, after which the log starts anew. A log
that long readers keep from shrinking is truncated under the lock once it passes LOG_BYTES_MAX. An older SQLite
checkpoints inside COMMIT, under the lock.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from typing import Final

from engine.interface.database import LockTimeout
from engine.storage import sqlite
from models.types import Fault

LOG = logging.getLogger("walkthrough")

RESTART_PAGES: Final = 4_000  # a log of so many is restarted: a short checkpoint under the writer lock
POLL_SECONDS: Final = 0.05  # between looks at a log that is being written to
IDLE_SECONDS: Final = 5.0  # without a commit, after which the thread ends
CHECKPOINT_WAIT_SECONDS_MAX: Final = 0.5
LOG_BYTES_MAX: Final = 128 << 20
LOG_BYTES_WARNED: Final = 256 << 20  # requests alone, which read for 2 s at most, leave less
RETRY_SECONDS: Final = 2.0  # a read ends within that time, so the next try finds other readers
STOP_SECONDS_MAX: Final = 5.0


class WalCheckpointer:
    """The checkpoints of one database file in one process."""

    def __init__(
        self,
        path: str,
        connect: Callable[[], AbstractContextManager[sqlite.Connection]],
        writer_lock: Callable[[float], AbstractContextManager[None]],
    ) -> None:
        self.path = path
        self.connect = connect
        self.writer_lock = writer_lock
        self.mutex = threading.Lock()  # guards what follows
        self.written = threading.Event()
        self.stopped = threading.Event()  # of the current thread
        self.thread: threading.Thread | None = None
        self.retry_at = 0.0
        self.has_warned = False

    def note_commit(self) -> None:
        """Wake the checkpoint thread; start one if there is none."""
        if self.written.is_set() or not sqlite.CHECKPOINTS_IN_BACKGROUND:
            return
        with self.mutex:
            self.written.set()
            if self.thread is None:
                self.stopped = threading.Event()
                self.thread = threading.Thread(target=self.run, args=(self.stopped,), name="checkpoint", daemon=True)
                self.thread.start()

    def run(self, stopped: threading.Event) -> None:
        while self.goes_on(stopped):
            if stopped.wait(POLL_SECONDS):
                return
            self.written.clear()
            if stopped.is_set():  # since the wait timed out; that stop's `written` is cleared
                return
            try:
                with self.connect() as connection:
                    self.checkpoint(connection)
            except Exception as error:  # noqa: BLE001 - a thread that ended would leave the log to grow
                LOG.warning("a checkpoint failed: %s", error)
                stopped.wait(RETRY_SECONDS)

    def goes_on(self, stopped: threading.Event) -> bool:
        """Wait for a commit, at most IDLE_SECONDS; return False if none came or the thread is stopped."""
        self.written.wait(IDLE_SECONDS)
        with self.mutex:
            if stopped.is_set():
                return False
            if not self.written.is_set():
                self.thread = None
            return self.written.is_set()

    def checkpoint(self, connection: sqlite.Connection) -> None:
        """Copy the log back once CHECKPOINT_PAGES wait to be copied; have a long log start from its beginning."""
        logged = connection.pages_logged()
        if logged is None or logged[0] - logged[1] < sqlite.CHECKPOINT_PAGES:
            return
        run(connection, "PASSIVE")
        if logged[0] < RESTART_PAGES or time.monotonic() < self.retry_at:
            return
        # The next writer starts the log anew if nothing is left to copy. Few pages are: those of the last moment.
        with suppress(LockTimeout), self.writer_lock(CHECKPOINT_WAIT_SECONDS_MAX):
            if self.size() < LOG_BYTES_MAX:
                run(connection, "PASSIVE")
            else:
                self.truncate(connection)
                self.retry_at = time.monotonic() + RETRY_SECONDS
                self.warn()

    def truncate(self, connection: sqlite.Connection) -> None:
        """Copy the whole log back and cut its file to zero bytes, if readers let go of it within
        CHECKPOINT_WAIT_SECONDS_MAX. The caller holds the writer lock.
        """
        connection.wait_until(time.monotonic() + CHECKPOINT_WAIT_SECONDS_MAX)
        try:
            with suppress(Fault):  # the connection is marked as broken
                run(connection, "TRUNCATE")
        finally:
            connection.wait_until(time.monotonic() + sqlite.BUSY_MILLISECONDS / 1_000)

    def size(self) -> int:
        """The size of the log's file in bytes; 0 where there is none."""
        try:
            return os.stat(f"{self.path}-wal").st_size  # noqa: PTH116 - a tenth of Path.stat's time
        except OSError:
            return 0

    def warn(self) -> None:
        """Log once that the log keeps growing: it fills the disk."""
        size = self.size()
        is_too_long = size >= LOG_BYTES_WARNED
        if is_too_long and not self.has_warned:
            LOG.warning(
                "%s-wal has grown to %d MiB and cannot be checkpointed: a reader keeps an old snapshot of the database",
                self.path,
                size >> 20,
            )
        self.has_warned = is_too_long

    def stop(self) -> None:
        """End the thread; a checkpoint that is under way finishes first, within STOP_SECONDS_MAX."""
        with self.mutex:
            thread, self.thread = self.thread, None
            self.stopped.set()
            self.written.set()  # wakes the thread
        if thread is not None:
            thread.join(STOP_SECONDS_MAX)
        self.written.clear()


def run(connection: sqlite.Connection, mode: str) -> None:
    """Run a checkpoint. Raises the faults of a disk."""
    try:
        connection.driver_connection.execute(f"PRAGMA wal_checkpoint({mode})").fetchall()
    except sqlite.ERRORS as error:
        raise connection.failed(error) from error

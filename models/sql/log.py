"""How long may the write-ahead log grow, and who folds it back? Called by who holds the turn to write.

SQLite's own checkpoint, after a COMMIT, starts the log anew only in a moment in which nobody reads from
it. With readers that overlap there is no such moment, and the log grows without bound; so past a size
the writer makes one: it waits, briefly, until the readers read from the file alone.

And it writes zeros where the next pages will go: a sync that makes a file longer has the file system note that, too,
and takes half as long again as one of what was there.
"""

from __future__ import annotations

import logging
import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from models.sql import sqlite

LOG = logging.getLogger("walkthrough")

PAGES_MIN = 1_000  # SQLite's own: on a memory card to write them back takes a second or two
PAGES_MAX = 16_000  # a page that many COMMITs change is written back once for all of them
GROWTH_MAX = 4  # from one fold to the next: a larger one may have more to do for each page
FOLD_SECONDS = 0.1  # of a COMMIT that folds; all others wait for it
LOG_BYTES_LOOK = 128 << 20  # twice what those leave when nothing holds them
LOG_BYTES_TOLD = 256 << 20  # requests alone, which read for two seconds at most, leave less
LOOK_SECONDS = 0.01  # between looks at its size
RETRY_SECONDS = 2.0  # a read takes no longer, so the next try finds others
FOLD_MILLISECONDS = 500
HEAD_BYTES: Final = 32
PAGE_BYTES: Final = 4_096 + 24  # with what is said of it
ROOM_PAGES: Final = 64  # a few small writes
ZEROS: Final = bytes(1 << 20)  # two dozen of them: for each to write its own would save nothing


class Log:
    """The write-ahead log beside a database file."""

    def __init__(self, database: Path | None) -> None:
        self.path = f"{database}-wal"
        self.look_at = 0.0
        self.pages = PAGES_MIN
        self.length = 0  # of its file, at the last look
        self.is_told = False

    def size(self) -> int:
        """Its bytes; nothing, if it is not there."""
        try:
            return os.stat(self.path).st_size  # noqa: PTH116 - a tenth of the time
        except OSError:
            return 0

    def suit(self, connection: sqlite.Connection) -> None:
        """Have SQLite fold it after as many pages as the disk writes back in a moment."""
        connection.fold_after(self.pages)

    def learn(self, connection: sqlite.Connection, seconds: float) -> None:
        """After a COMMIT of which a fold may have taken so long: if it folded the log, that is what its pages take."""
        logged = connection.pages_logged()
        if logged is not None and logged[0] == logged[1] > 0:
            within = int(logged[0] / seconds * FOLD_SECONDS)
            self.pages = min(max(within, PAGES_MIN), self.pages * GROWTH_MAX, PAGES_MAX)

    def make_room(self, connection: sqlite.Connection) -> None:
        """After a small COMMIT: have the log's file end a while behind what is in it.

        Zeros are no pages to whoever reads a log. They are appended, by the operating system, to what is there at that
        moment: whatever others write, they are never written over it.
        """
        if self.length >= HEAD_BYTES + self.pages * PAGE_BYTES:
            return  # it begins anew before it gets there
        logged = connection.pages_logged()
        if logged is None:
            return
        needed = HEAD_BYTES + (logged[0] + ROOM_PAGES) * PAGE_BYTES
        if needed > self.length:
            self.length = self.size()  # others make room, too
        if needed <= self.length:
            return
        with suppress(OSError):  # on a full disk whoever writes is told so by SQLite
            file = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
            try:
                os.write(file, ZEROS)
                self.length = os.fstat(file).st_size
            finally:
                os.close(file)

    def bound(self, connection: sqlite.Connection) -> None:
        """After a COMMIT: fold the log if it is too long. Whatever happens, the COMMIT stands."""
        now = time.monotonic()
        if now < self.look_at:
            return
        self.length = self.size()
        is_long = self.length >= LOG_BYTES_LOOK
        self.look_at = now + (RETRY_SECONDS if is_long else LOOK_SECONDS)
        if is_long:
            self.fold(connection)
        self.tell()

    def tell(self) -> None:
        """Say once that it grows: the disk will fill, by whoever keeps an older moment alive."""
        is_too_long = self.length >= LOG_BYTES_TOLD
        if is_too_long and not self.is_told:
            LOG.warning(
                "%s has grown to %d MiB, and cannot be folded: somebody keeps reading an older moment of the database",
                self.path,
                self.length >> 20,
            )
        self.is_told = is_too_long

    def fold(self, connection: sqlite.Connection) -> None:
        """Write the log back into the file and cut it off, if the readers let go of it in time."""
        connection.wait_until(time.monotonic() + FOLD_MILLISECONDS / 1_000)
        try:
            connection.driver_connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        except sqlite.ERRORS as error:
            if not isinstance(sqlite.translate(error), sqlite.HARMLESS):
                connection.broken = True
        self.length = self.size()

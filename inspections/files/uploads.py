"""An upload from its temporary file to kept bytes, and the sweep of bytes without a row."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from engine.interface.database import Database
from engine.interface.transaction import Transaction
from inspections.faults import FileEmpty, FileTooLarge, NoRoomForFile
from inspections.files.content import read_content
from inspections.files.records import TABLE, Upload
from inspections.files.store import FileStore, is_older, measure
from inspections.writes import read_rows
from models.errors import Fault

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
SWEEP_SECONDS = 3_600
SWEPT = ".swept"
"""The file whose age is that of the last sweep."""
SWEPT_AT_ONCE = 1_000
"""The number of hashes for which the writer lock is held at once."""


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The settings FILE_BYTES_MAX and FILES_BYTES_MAX."""

    file_bytes: int
    total_bytes: int


@contextmanager
def reporting_full_disk() -> Iterator[None]:
    """Raise NoRoomForFile in place of an OSError of a full disk."""
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise NoRoomForFile("There is no room: the disk is full.") from error
        raise


def keep_upload(
    store: FileStore,
    temporary: Path,
    claimed_type: str | None,
    limits: FileLimits,
    *,
    cache_control: str | None = None,
    user_metadata: str | None = None,
    check: Callable[[Upload], None] = lambda upload: None,
) -> Upload:
    """Keep the bytes of a complete temporary file, and return what its row says.

    `check` may refuse the upload before its bytes are kept.
    Raise FileEmpty, FileTooLarge, UnknownFileType, FileTypeMismatch or NoRoomForFile. Then the caller deletes the file.
    """
    size = temporary.stat().st_size
    if size == 0:
        raise FileEmpty
    if size > limits.file_bytes:
        raise FileTooLarge(limits.file_bytes)
    content = read_content(temporary, claimed_type)
    kept = measure(temporary)
    upload = Upload(
        kept.sha256,
        kept.size,
        content.mimetype,
        content.width,
        content.height,
        content.taken_at,
        cache_control,
        user_metadata,
    )
    check(upload)
    with reporting_full_disk():
        store.keep(temporary, kept)
    return upload


def sweep(database: Database, store: FileStore) -> int:
    """Remove bytes without a row after a day, old temporary files and thumbnails of removed bytes. Return the count.

    The writer lock excludes the upload whose row follows its bytes.
    """
    removed = 0
    for hashes in batched(store.abandoned(), SWEPT_AT_ONCE):
        with database.writing() as transaction:
            for sha256 in unused(transaction, hashes):
                store.remove(sha256)
                removed += 1
    store.sweep_derived()
    return removed


def sweep_if_due(database: Database, store: FileStore) -> None:
    """Sweep in a thread of its own if an hour has passed since a sweep. A failed sweep is repeated an hour later."""

    def run() -> None:
        with suppress(Fault, OSError):
            sweep(database, store)

    if is_sweep_due(store):
        threading.Thread(target=run, name="sweep of files", daemon=True).start()


def unused(transaction: Transaction, hashes: Sequence[str]) -> list[str]:
    """Return the hashes that no row has."""
    used = {row["sha256"] for row in read_rows(transaction, TABLE, ("sha256",), "sha256", hashes)}
    return [each for each in hashes if each not in used]


def batched(hashes: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    return (hashes[start : start + size] for start in range(0, len(hashes), size))


def is_sweep_due(store: FileStore) -> bool:
    """Return whether an hour has passed since a sweep, and note that one begins now. Processes share the note."""
    note = store.incoming / SWEPT
    try:
        if not is_older(note, SWEEP_SECONDS) and note.exists():
            return False
        store.prepare()
        note.touch(0o600)
        os.utime(note)
    except OSError:
        return False
    return True

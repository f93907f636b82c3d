"""From an upload's temporary file to kept bytes, what the bytes say, and the removal of bytes without a row.

The bytes say the type, the dimensions, and when and where a photograph was taken.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from engine.interface.database import Database, Transaction
from engine.query.statement import UNRESTRICTED
from engine.rows import read_rows
from inspections.faults import (
    FileEmpty,
    FilesUnavailable,
    FileTooLarge,
    FileTypeMismatch,
    NoRoomForFile,
    UnknownFileType,
)
from inspections.files.images import START_BYTES, Position, read_head, type_of
from inspections.files.records import TABLE, FileRow, Upload
from inspections.files.store import ORPHAN_SECONDS, FileStore, is_full, is_older, measure
from models.types import Fault
from models.vocabulary import FILE_TYPES, HEIC, JPEG, PNG

SAME_TYPES: Final = {"image/jpg": JPEG, "image/pjpeg": JPEG, "image/heif": HEIC, "image/x-png": PNG}
UNCHOSEN_TYPES: Final = frozenset({"", "text/plain", "application/octet-stream", "binary/octet-stream"})
"""Types that clients send unless their caller names one. They contradict no content."""


@dataclass(frozen=True, slots=True)
class Content:
    """Type, dimensions as shown, and the local time at which the camera took the photograph."""

    mimetype: str
    width: int | None = None
    height: int | None = None
    taken_at: str | None = None


def read_content(path: Path, claimed: str | None) -> Content:
    """Return what a file holds. Raise UnknownFileType, or FileTypeMismatch for another claimed content type."""
    with path.open("rb") as file:
        mimetype = type_of(file.read(START_BYTES))
        if mimetype is None:
            raise UnknownFileType
        require_match(mimetype, claimed)
        head = read_head(file)
    if head is None:  # no image, or one whose head is damaged: its bytes are kept as they are
        return Content(mimetype)
    return Content(mimetype, *head.shown_size, head.exif.taken_at)


def require_match(mimetype: str, claimed: str | None) -> None:
    """Raise FileTypeMismatch if a content type contradicts the type of the bytes."""
    named = (claimed or "").partition(";")[0].strip().lower()
    if named not in UNCHOSEN_TYPES and SAME_TYPES.get(named, named) != mimetype:
        raise FileTypeMismatch(named if named in FILE_TYPES else "of that type", mimetype)


def read_position(path: Path) -> Position | None:
    """Return where a photograph was taken, which EXIF may say. Only who may write the row learns it."""
    with path.open("rb") as file:
        head = read_head(file)
    return head.exif.position if head is not None else None


SWEEP_SECONDS = 3_600
SWEPT = ".swept"
"""The file whose age is that of the last sweep."""
SWEPT_AT_ONCE = 1_000
"""The number of hashes for which the writer lock is held at once."""
SWEEPING = threading.RLock()


@dataclass(frozen=True, slots=True)
class FileLimits:
    """The settings FILE_BYTES_MAX and FILES_BYTES_MAX."""

    file_bytes: int
    total_bytes: int


@contextmanager
def reporting_disk(store: FileStore) -> Iterator[None]:
    """Raise NoRoomForFile in place of an OSError of a full disk, and FilesUnavailable without the folder."""
    try:
        yield
    except OSError as error:
        if is_full(error):
            raise NoRoomForFile("There is no room: the disk is full.") from error
        if store.is_missing:
            raise FilesUnavailable from error
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

    `check` may refuse the upload before its bytes are kept. The caller deletes the temporary file after the COMMIT.
    Raise FileEmpty, FileTooLarge, UnknownFileType, FileTypeMismatch or NoRoomForFile.
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
    with reporting_disk(store):
        store.keep(temporary, kept)
    return upload


# Bytes without a row


def require_room_on_disk(
    database: Database, store: FileStore, size: int, replaced: FileRow | None, total_max: int
) -> None:
    """Raise NoRoomForFile if the folder would have more bytes than all files together may have.

    Bytes without a row and thumbnails count, and are removed first if there is no room beside them.
    """
    room = total_max - size + (replaced.size if replaced is not None else 0)
    if store.bytes_on_disk() <= room:
        return
    with SWEEPING:
        store.size.forget()
        if store.bytes_on_disk() > room:
            sweep(database, store, seconds=0)
        if store.bytes_on_disk() > room:
            store.remove_all_thumbnails()
        if store.bytes_on_disk() > room:
            raise NoRoomForFile(f"There is no room: all files together have at most {total_max} bytes.")


def discard(database: Database, store: FileStore, rows: Collection[FileRow]) -> None:
    """Remove the bytes and thumbnails of removed or replaced rows after the COMMIT. The sweep removes what stays."""
    with suppress(Fault, OSError):
        for row in rows:
            store.remove_thumbnails(row.id, row.sha256)
        remove_unused(database, store, {row.sha256 for row in rows})


def discard_bytes(database: Database, store: FileStore, uploads: Collection[Upload]) -> None:
    """Remove the bytes of uploads that were not stored, unless a row has them. The sweep removes what stays."""
    with suppress(Fault, OSError):
        remove_unused(database, store, {upload.sha256 for upload in uploads})


def remove_unused(database: Database, store: FileStore, hashes: Collection[str], seconds: float = 0.0) -> int:
    """Remove the bytes older than this that no row has. Return their number.

    They lose their name under the writer lock. So a row is written before, or finds that its bytes are missing.
    """
    removed = 0
    for batch in batched(sorted(hashes), SWEPT_AT_ONCE):
        with database.writing() as transaction:
            aside = [store.set_aside(sha256, seconds) for sha256 in unused(transaction, batch)]
        for path in filter(None, aside):
            path.unlink(missing_ok=True)
            removed += 1
    store.size.forget()
    return removed


def sweep(database: Database, store: FileStore, seconds: float = ORPHAN_SECONDS) -> int:
    """Remove bytes without a row after `seconds`, old temporary files and thumbnails of other rows. Return the count.

    The bytes of a deleted inspection, finding or building are removed here alone.
    """
    with SWEEPING:
        candidates: list[str] = []
        for hashes in batched(store.abandoned(seconds), SWEPT_AT_ONCE):
            with database.reading() as transaction:
                candidates += unused(transaction, hashes)
        removed = remove_unused(database, store, candidates, seconds)
        sweep_thumbnails(database, store)
        store.sweep_temporaries()
        return removed


def sweep_thumbnails(database: Database, store: FileStore) -> None:
    """Remove the thumbnails of rows that are gone or have other bytes."""
    kept = store.thumbnails_of_rows()
    for ids in batched(list(kept), SWEPT_AT_ONCE):
        with database.reading() as transaction:
            current = {
                row["id"]: row["sha256"]
                for row in read_rows(transaction, UNRESTRICTED, TABLE, ("id", "sha256"), id=ids)
            }
        for file_id in ids:
            for sha256, path in kept[file_id]:
                if current.get(file_id) != sha256:
                    path.unlink(missing_ok=True)


def sweep_if_due(database: Database, store: FileStore) -> None:
    """Sweep in a thread of its own if an hour has passed since a sweep. A failed sweep is repeated an hour later."""
    if is_sweep_due(store):
        sweep_soon(database, store, ORPHAN_SECONDS)


def sweep_soon(database: Database, store: FileStore, seconds: float = 0.0) -> None:
    """Sweep in a thread of its own, unless a sweep is running."""

    def run() -> None:
        if SWEEPING.acquire(blocking=False):
            try:
                with suppress(Fault, OSError):
                    sweep(database, store, seconds)
            finally:
                SWEEPING.release()

    threading.Thread(target=run, name="sweep of files", daemon=True).start()


def unused(transaction: Transaction, hashes: Sequence[str]) -> list[str]:
    """Return the hashes that no row has."""
    used = {row["sha256"] for row in read_rows(transaction, UNRESTRICTED, TABLE, ("sha256",), sha256=hashes)}
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

"""An upload from its temporary file to kept bytes, and the sweep of bytes without a row."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inspections.faults import FileEmpty, FileTooLarge, NoRoomForFile
from inspections.files.content import read_content
from inspections.files.records import Upload
from inspections.files.store import FileStore, measure

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


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

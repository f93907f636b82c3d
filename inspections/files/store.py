"""The bytes of files: a folder that holds each file under its SHA-256, its backup, and the check of its rows.

An upload is written to a temporary file, synced, renamed, and its folder is synced. Then its row is committed. So no
committed row lacks its bytes after a kill or a power cut. Bytes without a row are removed after the COMMIT, or by the
sweep. A backup of a database has the bytes of its files in a folder beside it. Bytes never change, so that only new
ones are copied.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from engine.interface.database import Database, Transaction
from engine.maintenance.check import MaintenanceError
from engine.storage.file_copies import hand_over, reopened
from inspections.faults import BytesMissing, FilesUnavailable
from models.types import Fault
from system import sync

ORPHAN_SECONDS = 24 * 3_600
"""The age at which the sweep removes bytes without a row and temporary files."""
NAME = re.compile(r"[0-9a-f]{64}")
THUMBNAIL = re.compile(r"([0-9a-f-]{36})-([0-9a-f]{64})-\d+\.jpg")
NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
FREE_BYTES_MIN = 64 << 20
"""A disk with less room is almost full."""
MEASURE_SHARE = 20
"""The size of the folder is measured anew after so many times the duration of the last measurement."""


def is_full(error: OSError) -> bool:
    """Return whether an error says that a disk or a quota is full."""
    return error.errno in NO_ROOM


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Bytes that a row may name: they are on the disk."""

    sha256: str
    size: int


class FileStore:
    """The folder FILES_DIR. Its methods raise OSError, also if the disk is full, and FilesUnavailable without it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.incoming = folder / "incoming"
        self.thumbnails = folder / "thumbnails"
        self.is_known = self.incoming.is_dir()
        self.size = FolderSize()

    @property
    def is_missing(self) -> bool:
        """Whether the folder was there and is gone, as a disk that is no longer mounted."""
        is_there = self.incoming.is_dir()
        self.is_known |= is_there
        return self.is_known and not is_there

    def prepare(self) -> None:
        """Create the folders and sync their names. Raise FilesUnavailable if they were there and are gone."""
        if self.is_missing:
            raise FilesUnavailable
        if self.is_known and self.thumbnails.is_dir():
            return
        missing = [each for each in (self.folder, *self.folder.parents) if not each.exists()]
        for each in (self.folder, self.incoming, self.thumbnails):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Another process may have created a folder that it has not synced yet.
        for each in {self.folder, self.folder.parent, *(made.parent for made in missing)}:
            sync(each)
        self.is_known = True

    def new_temporary(self) -> Path:
        """Create an empty file to write to, mode 0600. The caller keeps or deletes it."""
        self.prepare()
        path = self.incoming / secrets.token_hex(16)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def keep(self, temporary: Path, kept: KeptBytes) -> None:
        """Sync a measured file and give it the name of its hash, too. It replaces equal bytes, which renews their age.

        The caller removes the temporary file, which is another name of the bytes where the disk has hard links.
        """
        sync(temporary)
        os.utime(temporary)
        second = self.incoming / secrets.token_hex(16)
        try:
            os.link(temporary, second)
        except OSError:
            second = temporary
        second.replace(self.path(kept.sha256))
        if second != temporary:
            second.unlink(missing_ok=True)  # a rename between two names of one file does nothing
        sync(self.folder)
        self.size.grow(kept.size)

    def path(self, sha256: str) -> Path:
        """Return the path of the bytes of a hash, whether or not they exist. Raise FileNotFoundError for other text."""
        if not NAME.fullmatch(sha256):
            raise FileNotFoundError(errno.ENOENT, "no hash", sha256)
        return self.folder / sha256

    def has(self, kept: KeptBytes) -> bool:
        """Return whether the bytes are there in full length."""
        try:
            return self.path(kept.sha256).stat().st_size == kept.size
        except FileNotFoundError:
            return False

    def open(self, sha256: str) -> BinaryIO:
        """Open bytes for reading. Raise BytesMissing."""
        try:
            return self.path(sha256).open("rb")
        except FileNotFoundError as error:
            raise BytesMissing from error

    def read(self, sha256: str) -> bytes:
        """Return bytes. Raise BytesMissing."""
        with self.open(sha256) as file:
            return file.read()

    # Thumbnails

    def thumbnail_path(self, file_id: str, sha256: str, width: int) -> Path:
        return self.thumbnails / f"{file_id}-{self.path(sha256).name}-{width}.jpg"

    def read_thumbnail(self, file_id: str, sha256: str, width: int) -> bytes | None:
        """Return the thumbnail of a row, empty if none can be made, or None if it was not made yet."""
        try:
            return self.thumbnail_path(file_id, sha256, width).read_bytes()
        except FileNotFoundError:
            return None

    def keep_thumbnail(self, file_id: str, sha256: str, width: int, content: bytes) -> None:
        temporary = self.new_temporary()
        try:
            temporary.write_bytes(content)
            temporary.replace(self.thumbnail_path(file_id, sha256, width))
        finally:
            temporary.unlink(missing_ok=True)
        self.size.grow(len(content))

    def remove_thumbnails(self, file_id: str, sha256: str) -> None:
        for path in self.thumbnails.glob(f"{file_id}-{self.path(sha256).name}-*.jpg"):
            path.unlink(missing_ok=True)

    def remove_all_thumbnails(self) -> None:
        for path in entries_of(self.thumbnails):
            path.unlink(missing_ok=True)
        self.size.forget()

    # State

    def bytes_on_disk(self) -> int:
        """Return the bytes of the files and thumbnails in the folder, as measured a short time ago."""
        return self.size.measured(lambda: folder_bytes(self.folder) + folder_bytes(self.thumbnails))

    def problem(self) -> str | None:
        """Return why no file can be stored, in words that reveal no path; None if one can be."""
        if self.is_missing:
            return "the folder of files is missing"
        try:
            if self.is_known:
                self.new_temporary().unlink(missing_ok=True)
            nearest = next(each for each in (self.folder, *self.folder.parents) if each.exists())
            if not (nearest.is_dir() and os.access(nearest, os.W_OK)):
                return "the folder of files cannot be written"
            is_almost_full = shutil.disk_usage(nearest).free < FREE_BYTES_MIN
        except (OSError, FilesUnavailable):
            return "the folder of files cannot be written"
        return "the disk of files is almost full" if is_almost_full else None

    def hashes(self) -> Iterator[str]:
        """Yield the hashes whose bytes are in the folder."""
        if self.folder.is_dir():
            with os.scandir(self.folder) as entries:
                yield from (each.name for each in entries if NAME.fullmatch(each.name))

    # Sweeping

    def abandoned(self, seconds: float = ORPHAN_SECONDS) -> list[str]:
        """Return the hashes of bytes older than this. Those without a row are to be removed."""
        return [each for each in self.hashes() if is_older(self.path(each), seconds)]

    def set_aside(self, sha256: str, seconds: float = 0.0) -> Path | None:
        """Take the name from bytes older than this; return the temporary name under which the caller removes them.

        The caller holds the writer lock, and no row has the hash. Return None if the bytes are younger or gone.
        """
        path, aside = self.path(sha256), self.incoming / secrets.token_hex(16)
        if seconds and not is_older(path, seconds):
            return None
        with suppress(FileNotFoundError):
            return path.rename(aside)
        return None

    def sweep_temporaries(self) -> None:
        """Remove temporary files older than a day."""
        for each in entries_of(self.incoming):
            if each.is_file() and is_older(each, ORPHAN_SECONDS):
                each.unlink(missing_ok=True)

    def thumbnails_of_rows(self) -> dict[str, list[tuple[str, Path]]]:
        """Return for each row that has thumbnails the hash and the path of each. Remove what is no thumbnail."""
        found: dict[str, list[tuple[str, Path]]] = {}
        for each in entries_of(self.thumbnails):
            match = THUMBNAIL.fullmatch(each.name)
            if match is None:
                each.unlink(missing_ok=True)
            else:
                found.setdefault(match[1], []).append((match[2], each))
        return found


class FolderSize:
    """The bytes in a folder: measured now and then, and what this process added since."""

    def __init__(self) -> None:
        self.total = 0
        self.measured_until = 0.0

    def grow(self, size: int) -> None:
        self.total += size

    def forget(self) -> None:
        """Have the next call measure."""
        self.measured_until = 0.0

    def measured(self, measure: Callable[[], int]) -> int:
        began = time.monotonic()
        if began >= self.measured_until:
            self.total = measure()
            now = time.monotonic()
            self.measured_until = now + (now - began) * MEASURE_SHARE
        return self.total


def folder_bytes(folder: Path) -> int:
    """Return the bytes of the files directly in a folder."""
    total = 0
    with suppress(FileNotFoundError), os.scandir(folder) as entries:
        for each in entries:
            with suppress(FileNotFoundError):
                total += each.stat().st_size if each.is_file() else 0
    return total


def measure(path: Path) -> KeptBytes:
    """Return the hash and the size of a file."""
    with path.open("rb") as file:
        return KeptBytes(hashlib.file_digest(file, "sha256").hexdigest(), os.fstat(file.fileno()).st_size)


def entries_of(folder: Path) -> list[Path]:
    return list(folder.iterdir()) if folder.is_dir() else []


def is_older(path: Path, seconds: float) -> bool:
    with suppress(FileNotFoundError):
        return path.stat().st_mtime < time.time() - seconds
    return False


CHECK_SECONDS_MAX = 24 * 3_600.0
ROWS_AT_ONCE = 1_000
ROWS = "SELECT bucket, name, sha256, size FROM files"


@dataclass(frozen=True, slots=True)
class FileBytes:
    """The bytes that a row names."""

    path: str
    kept: KeptBytes


# Backup


def copy_new(source: FileStore, target: FileStore) -> None:
    """Copy the bytes that the target lacks, by hard links where the disk has them. Raise OSError."""
    new = sorted({*source.hashes()} - {*target.hashes()})
    if new:
        target.prepare()
    for sha256 in new:
        with suppress(FileNotFoundError):  # the sweep removes bytes without a row
            link_or_copy(source.path(sha256), sha256, target)
    if new:
        sync(target.folder)


def link_or_copy(path: Path, sha256: str, target: FileStore) -> None:
    with suppress(FileExistsError):
        try:
            os.link(path, target.path(sha256))
        except (FileExistsError, FileNotFoundError):
            raise
        except OSError:  # another disk, or one without links
            copy(path, sha256, target)


def copy(path: Path, sha256: str, target: FileStore) -> bool:
    """Copy bytes, and return whether they have their hash. Other bytes are not kept."""
    temporary = target.new_temporary()
    try:
        shutil.copyfile(path, temporary)
        kept = measure(temporary)
        if kept.sha256 == sha256:
            target.keep(temporary, kept)
        return kept.sha256 == sha256
    finally:
        temporary.unlink(missing_ok=True)


def finish_backup(backup: Path, target: FileStore) -> list[str]:
    """Remove the bytes that no row of a backup names. Return the rows without bytes."""
    if not target.folder.is_dir():
        return []
    with reopened(backup) as connection:
        rows = [FileBytes(f"{bucket}/{name}", KeptBytes(*kept)) for bucket, name, *kept in connection.execute(ROWS)]
    needed = {row.kept.sha256 for row in rows}
    for sha256 in {*target.hashes()} - needed:
        target.path(sha256).unlink(missing_ok=True)
    return missing(rows, target)


# Restore


def restore(source: FileStore, target: FileStore, like: Path) -> None:
    """Copy the bytes of a backup that the target lacks, if they have their hash. The owner of `like` owns them."""
    present = {*target.hashes()}
    new = [sha256 for sha256 in source.hashes() if sha256 not in present]
    for sha256 in new:
        if copy(source.path(sha256), sha256, target):
            give(target.path(sha256), like)
    if new:
        for folder in (target.folder, target.incoming, target.thumbnails):
            give(folder, like)


def give(path: Path, like: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        hand_over(descriptor, like)
    finally:
        os.close(descriptor)


# Check


def require_folder(database: Database, store: FileStore) -> None:
    """Make the folder of files. Raise MaintenanceError if it is missing while the database has files."""
    if not store.is_known:
        with suppress(Fault):  # the start treats a damaged database
            with database.reading() as transaction:
                has_files = transaction.value("SELECT count(*) FROM (SELECT 1 FROM files LIMIT 1) f")
            if has_files:
                raise MaintenanceError(
                    f"the database has files, but {store.incoming} is missing: mount or restore the folder of files;"
                    " to serve without their bytes, create it"
                )
    with suppress(OSError):  # /ready reports it
        store.prepare()


def problems(database: Database, store: FileStore, *, reads_bytes: bool) -> list[str]:
    """Return the rows whose bytes are missing, or differ from their hash, one a line."""
    with database.reading(seconds_max=CHECK_SECONDS_MAX) as transaction:
        rows = list(rows_of(transaction))
    return [*missing(rows, store), *(damaged(rows, store) if reads_bytes else ())]


def rows_of(transaction: Transaction) -> Iterator[FileBytes]:
    for page in transaction.pages(ROWS, ROWS_AT_ONCE):
        for bucket, name, sha256, size in page:
            yield FileBytes(f"{bucket}/{name}", KeptBytes(sha256, size))


def missing(rows: Iterable[FileBytes], store: FileStore) -> list[str]:
    return [f"the bytes of {row.path} are missing" for row in rows if not store.has(row.kept)]


def damaged(rows: Iterable[FileBytes], store: FileStore) -> Iterator[str]:
    """Yield the rows whose bytes have another hash. Rows may share bytes, which are read once."""
    by_hash: dict[KeptBytes, list[str]] = {}
    for row in rows:
        by_hash.setdefault(row.kept, []).append(row.path)
    for kept, paths in by_hash.items():
        if store.has(kept) and measure(store.path(kept.sha256)) != kept:
            yield from (f"the bytes of {path} are damaged" for path in paths)

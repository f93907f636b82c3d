"""The bytes of files: a folder that holds each file under its SHA-256.

An upload is written to a temporary file, synced, renamed, and its folder is synced. Then its row is committed. So no
committed row lacks its bytes after a kill or a power cut. Bytes without a row are removed after a day.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

ORPHAN_SECONDS = 24 * 3_600
"""The age at which bytes without a row and temporary files are removed."""
NAME = re.compile(r"[0-9a-f]{64}")
THUMBNAIL = re.compile(r"([0-9a-f]{64})-\d+\.jpg")


@dataclass(frozen=True, slots=True)
class KeptBytes:
    """Bytes that a row may name: they are on the disk."""

    sha256: str
    size: int


class FileStore:
    """The folder FILES_DIR. Its methods raise OSError, also if the disk is full."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.incoming = folder / "incoming"
        self.thumbnails = folder / "thumbnails"
        self.is_prepared = False

    def prepare(self) -> None:
        """Create the folders and sync their names."""
        if self.is_prepared and self.incoming.is_dir():
            return
        missing = [each for each in (self.folder, *self.folder.parents) if not each.exists()]
        for each in (self.folder, self.incoming, self.thumbnails):
            each.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Another process may have created a folder that it has not synced yet.
        for each in {self.folder, self.folder.parent, *(made.parent for made in missing)}:
            sync_folder(each)
        self.is_prepared = True

    def new_temporary(self) -> Path:
        """Create an empty file to write to, mode 0600. The caller keeps or deletes it."""
        self.prepare()
        path = self.incoming / secrets.token_hex(16)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        return path

    def keep(self, temporary: Path, kept: KeptBytes) -> None:
        """Sync a measured file and give it the name of its hash. It replaces equal bytes, which renews their age."""
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        os.utime(temporary)
        temporary.replace(self.path(kept.sha256))
        sync_folder(self.folder)

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
        """Open bytes for reading. Raise FileNotFoundError."""
        return self.path(sha256).open("rb")

    def thumbnail_path(self, sha256: str, width: int) -> Path:
        """Return the path of a thumbnail, whether or not it exists."""
        return self.thumbnails / f"{self.path(sha256).name}-{width}.jpg"

    def is_writable(self) -> bool:
        """Return whether a file can be created in the folder, or the folder itself where it does not exist yet."""
        if not self.folder.exists():
            parent = next(each for each in self.folder.parents if each.exists())
            return parent.is_dir() and os.access(parent, os.W_OK)
        try:
            self.new_temporary().unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def hashes(self) -> Iterator[str]:
        """Yield the hashes whose bytes are in the folder."""
        if self.folder.is_dir():
            with os.scandir(self.folder) as entries:
                yield from (each.name for each in entries if NAME.fullmatch(each.name))

    # Sweeping

    def abandoned(self) -> list[str]:
        """Return the hashes of bytes older than a day. Those without a row are to be removed."""
        return [each for each in self.hashes() if is_older(self.path(each), ORPHAN_SECONDS)]

    def remove(self, sha256: str) -> None:
        """Remove bytes older than a day. The caller holds the writer lock, and no row has the hash."""
        path = self.path(sha256)
        if is_older(path, ORPHAN_SECONDS):
            path.unlink(missing_ok=True)

    def sweep_derived(self) -> None:
        """Remove temporary files older than a day, and thumbnails whose bytes are gone."""
        for each in entries_of(self.incoming):
            if each.is_file() and is_older(each, ORPHAN_SECONDS):
                each.unlink(missing_ok=True)
        for each in entries_of(self.thumbnails):
            match = THUMBNAIL.fullmatch(each.name)
            if match is None or not self.path(match[1]).exists():
                each.unlink(missing_ok=True)


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


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

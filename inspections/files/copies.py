"""Copies of the bytes of files, in a backup and back, and the check that every row has its bytes.

A backup of a database has the bytes of its files in a folder beside it. Bytes never change, so that only new ones are
copied.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from engine.interface.database import Database
from engine.interface.transaction import Transaction
from engine.storage.atomic_files import hand_over
from engine.storage.file_copies import reopened
from inspections.files.store import FileStore, KeptBytes, measure, sync_folder

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
        sync_folder(target.folder)


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

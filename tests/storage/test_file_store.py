"""The folder of files: bytes by their hash, durable before they have a row, and swept without one."""

import errno
import hashlib
import os
import pathlib
import shutil
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from inspections.faults import FilesUnavailable, NoRoomForFile
from inspections.files import store as store_module
from inspections.files.store import FileStore, KeptBytes, measure
from inspections.files.uploads import FileLimits, is_sweep_due, keep_upload, sweep
from tests.inspections.case_world import FAILED, case_rows
from tests.inspections.file_world import Files, image_bytes

TWO_DAYS = 2 * 24 * 3_600


@pytest.fixture
def store(tmp_path: pathlib.Path) -> FileStore:
    return FileStore(tmp_path / "deep" / "files")


def kept(store: FileStore, content: bytes = b"content") -> KeptBytes:
    temporary = store.new_temporary()
    temporary.write_bytes(content)
    found = measure(temporary)
    store.keep(temporary, found)
    temporary.unlink()
    return found


def age(path: pathlib.Path) -> None:
    then = time.time() - TWO_DAYS
    os.utime(path, (then, then))


def test_bytes_are_kept_under_their_hash(store: FileStore) -> None:
    found = kept(store)

    assert found == KeptBytes(hashlib.sha256(b"content").hexdigest(), 7)
    with store.open(found.sha256) as file:
        assert file.read() == b"content"
    assert store.has(found)
    assert not store.has(KeptBytes(found.sha256, 8))
    assert not store.has(KeptBytes("0" * 64, 7))
    assert list(store.hashes()) == [found.sha256]
    assert list(store.incoming.iterdir()) == []


def test_others_on_the_machine_read_nothing(store: FileStore) -> None:
    path = store.path(kept(store).sha256)

    assert [each.stat().st_mode & 0o077 for each in (path, store.folder, store.incoming, store.thumbnails)] == [0] * 4


def test_bytes_are_synced_before_they_have_a_name(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of the steps is what survives a power cut."""
    temporary = store.new_temporary()
    temporary.write_bytes(b"content")
    steps: list[str] = []
    names = {temporary.stat().st_ino: "bytes", store.folder.stat().st_ino: "folder"}
    real_fsync, real_replace = os.fsync, pathlib.Path.replace

    def fsync(descriptor: int) -> None:
        steps.append(names[os.fstat(descriptor).st_ino])
        real_fsync(descriptor)

    def replace(self: pathlib.Path, target: pathlib.Path) -> pathlib.Path:
        steps.append("rename")
        return real_replace(self, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(pathlib.Path, "replace", replace)
    store.keep(temporary, measure(temporary))

    assert steps == ["bytes", "rename", "folder"]


def test_new_folders_are_synced_into_their_parents(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[pathlib.Path] = []
    monkeypatch.setattr(store_module, "sync", synced.append)
    store.prepare()

    assert {store.folder, store.folder.parent, store.folder.parent.parent} <= set(synced)


def test_full_disk_is_no_room(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    temporary = store.new_temporary()
    temporary.write_bytes(image_bytes())

    def fail(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(NoRoomForFile, match="the disk is full"):
        keep_upload(store, temporary, None, FileLimits(1 << 20, 1 << 20))
    assert list(store.hashes()) == []


def test_folder_that_cannot_be_written_is_reported(tmp_path: pathlib.Path, store: FileStore) -> None:
    (tmp_path / "file").write_text("")

    assert store.problem() is None
    assert not store.folder.exists()
    store.prepare()
    assert store.problem() is None
    assert list(store.incoming.iterdir()) == []
    assert FileStore(tmp_path / "file" / "files").problem() == "the folder of files cannot be written"


def test_folder_that_is_gone_is_not_made_anew(store: FileStore, tmp_path: pathlib.Path) -> None:
    """As a disk that is no longer mounted, whose place is an empty folder or none."""
    store.prepare()
    for is_gone in (False, True):
        shutil.rmtree(store.folder)
        if not is_gone:
            store.folder.mkdir()
        assert store.problem() == "the folder of files is missing"
        for attempt in (store.prepare, store.new_temporary):
            with pytest.raises(FilesUnavailable):
                attempt()
        assert [*store.folder.iterdir()] == [] if not is_gone else not store.folder.exists()

    store.incoming.mkdir(parents=True)
    store.new_temporary()
    assert store.problem() is None


def test_almost_full_disk_of_files_is_reported(store: FileStore, monkeypatch: pytest.MonkeyPatch) -> None:
    store.prepare()
    monkeypatch.setattr(store_module.shutil, "disk_usage", lambda path: SimpleNamespace(free=(64 << 20) - 1))

    assert store.problem() == "the disk of files is almost full"


# Sweeping


@pytest.fixture
def ada(world: Callable, store: FileStore) -> Files:
    return Files(world(case_rows()), store, "root")


def test_sweep_removes_old_bytes_without_a_row(ada: Files, store: FileStore) -> None:
    used = ada.put(f"inspections/{FAILED}/x.jpg")
    orphan, young = kept(store), kept(store, b"young")
    for sha256 in (used.sha256, orphan.sha256):
        age(store.path(sha256))
    thumbnails = [store.thumbnail_path(used.id, each, 160) for each in (used.sha256, orphan.sha256)]
    for path in thumbnails:
        path.write_bytes(b"small")
    left, arriving = store.new_temporary(), store.new_temporary()
    age(left)

    assert sweep(ada.app.extensions["walkthrough"], store) == 1
    assert set(store.hashes()) == {used.sha256, young.sha256}
    assert [path.exists() for path in (*thumbnails, left, arriving)] == [True, False, False, True]


def test_bytes_of_a_new_upload_are_young_again(ada: Files, store: FileStore) -> None:
    """The sweep may have chosen old bytes that an upload brings again."""
    age(store.path(kept(store, image_bytes()).sha256))
    chosen = store.abandoned()
    row = ada.put(f"inspections/{FAILED}/x.jpg", image_bytes())

    assert chosen == [row.sha256]
    assert store.set_aside(row.sha256, store_module.ORPHAN_SECONDS) is None
    assert store.has(row.kept)


def test_sweep_is_due_once_an_hour(store: FileStore) -> None:
    assert is_sweep_due(store)
    assert not is_sweep_due(FileStore(store.folder))
    age(store.incoming / ".swept")
    assert is_sweep_due(store)

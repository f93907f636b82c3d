"""What uploads, removals and thumbnails leave on the disk, and what happens without room or without the folder."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from app import NotStarted
from engine.interface.database import Database
from inspections.faults import FileDenied
from inspections.files import records, uploads
from inspections.files import store as copies
from inspections.files.store import FileStore, folder_bytes
from tests.support.storage import FORM, OBJECT, RENDER, Storage, at, form, picture, storage_of

NAME = "inspections/1/front door.jpg"
OTHER = "inspections/1/back door.jpg"
IMAGE = f"{RENDER}/authenticated/inspections/1/front%20door.jpg?width=160"
UPSERTS = 60


@pytest.fixture
def storage(api: Callable) -> Callable[[str], Storage]:
    return storage_of(api)


@pytest.fixture
def ada(storage: Callable) -> Storage:
    return storage("ada")


@pytest.fixture(autouse=True)
def swept(monkeypatch: pytest.MonkeyPatch) -> list[FileStore]:
    """The folders that were to be swept soon. The sweep is over when the request is answered."""
    found: list[FileStore] = []

    def sweep_now(database: Database, store: FileStore, seconds: float = 0.0) -> None:
        found.append(store)
        uploads.sweep(database, store, seconds)

    monkeypatch.setattr("routes.storage.uploads.sweep_soon", sweep_now)
    monkeypatch.setattr("inspections.files.uploads.sweep_soon", sweep_now)
    return found


@pytest.fixture
def store(ada: Storage) -> FileStore:
    found: FileStore = ada.api.database.app_for("POST", "/").extensions["walkthrough.files"]
    return found


def limit(ada: Storage, total: int) -> None:
    ada.api.database.app_for("POST", "/").config["FILES_BYTES_MAX"] = total


def on_disk(store: FileStore) -> int:
    return sum(folder_bytes(folder) for folder in (store.folder, store.thumbnails, store.incoming))


def large(name: str, size: int) -> bytes:
    """Return a picture of exactly this size."""
    small = picture(name)
    return small + name.encode().ljust(size - len(small), b"\0")


# Bytes that no row has


@pytest.mark.parametrize("size", [100_000, pytest.param(10 << 20, marks=pytest.mark.slow)])
def test_replaced_bytes_leave_the_disk(ada: Storage, store: FileStore, size: int) -> None:
    limit(ada, 3 * size)
    for number in range(UPSERTS):
        assert ada.upload(NAME, large(f"{number}", size), x_upsert="true").status == 200
        assert ada.send("GET", IMAGE).status == 200
        assert on_disk(store) <= 3 * size

    assert [path.name[:36] for path in store.thumbnails.iterdir()] == [ada.send("GET", at(NAME, "info")).json["id"]]
    assert len(list(store.hashes())) == 1


def remove_by_name(ada: Storage) -> None:
    assert ada.send("DELETE", at(NAME)).status == 200


def remove_by_list(ada: Storage) -> None:
    assert ada.send("DELETE", f"{OBJECT}/inspections", {"prefixes": ["1/front door.jpg"]}).status == 200


def replace_by_copy(ada: Storage) -> None:
    ada.upload(OTHER)
    keys = {"bucketId": "inspections", "sourceKey": OTHER.partition("/")[2], "destinationKey": NAME.partition("/")[2]}
    assert ada.send("POST", f"{OBJECT}/copy", keys, x_upsert="true").status == 200


@pytest.mark.parametrize("change", [remove_by_name, remove_by_list, replace_by_copy])
def test_removed_bytes_leave_the_disk_unless_another_row_has_them(
    ada: Storage, store: FileStore, change: Callable
) -> None:
    ada.upload(NAME, picture("shared"))
    ada.upload("buildings/1/plan.png", picture("shared"))
    change(ada)
    assert ada.download("buildings/1/plan.png").body == picture("shared")

    ada.upload(NAME, picture("own"), x_upsert="true")
    own = ada.send("GET", at(NAME, "info")).json["etag"].strip('"')
    assert own in set(store.hashes())
    assert ada.send("GET", IMAGE).status == 200
    change(ada)
    assert own not in set(store.hashes())
    assert list(store.thumbnails.iterdir()) == list(store.incoming.glob("[0-9a-f]*")) == []


@pytest.mark.parametrize("fault", [FileDenied, KeyboardInterrupt])
def test_bytes_of_a_row_that_was_not_written_leave_the_disk(
    ada: Storage, store: FileStore, monkeypatch: pytest.MonkeyPatch, fault: type[BaseException]
) -> None:
    def fail(*given: object, **options: object) -> None:
        raise fault

    monkeypatch.setattr(records, "put", fail)
    if fault is FileDenied:
        assert ada.upload(NAME).status == 403
    else:
        with pytest.raises(fault):
            ada.upload(NAME)
    assert on_disk(store) == 0


def test_bytes_that_were_removed_before_their_row_are_kept_again(
    ada: Storage, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another person removes the last row of the same bytes between the bytes and the row of an upload."""
    put = records.put

    def put_later(transaction: object, *given: object, **options: object) -> object:
        for sha256 in list(store.hashes()):
            store.path(sha256).unlink()
        return put(transaction, *given, **options)

    monkeypatch.setattr(records, "put", put_later)
    assert ada.upload(NAME).status == 200
    assert ada.download(NAME).body == picture(NAME)


def test_bytes_of_a_deleted_row_make_room(ada: Storage, store: FileStore) -> None:
    """The database deletes the files of a building, and no request names them."""
    size, building = 100_000, {"client_id": 1, "name": "New"}
    limit(ada, 2 * size)
    for number in range(5):
        made = ada.api.post("/buildings", building, prefer="return=representation")
        assert made.status == 201, made.json
        key = made.json[0]["id"]
        assert ada.upload(f"buildings/{key}/a.png", large(f"{number}", size)).status == 200
        assert ada.api.delete(f"/buildings?id=eq.{key}").status in (200, 204)
        assert on_disk(store) <= 2 * size


def test_thumbnails_count_and_make_room(ada: Storage, store: FileStore) -> None:
    size = 100_000
    limit(ada, 2 * size)
    ada.upload(NAME, large("a", size))
    assert ada.send("GET", IMAGE).status == 200
    assert folder_bytes(store.thumbnails) > 0

    assert ada.upload(OTHER, large("b", size)).status == 200
    assert folder_bytes(store.thumbnails) == 0
    assert ada.upload("inspections/1/c.png", large("c", 1_000)).refusal[:2] == (507, "InsufficientStorage")
    assert on_disk(store) == 2 * size
    assert ada.upload(OTHER, large("c", size), x_upsert="true").status == 200


# Full disks


def test_full_disk_below_a_temporary_file_is_no_room(
    ada: Storage, store: FileStore, swept: list[FileStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    ada.upload(OTHER)
    held = on_disk(store)
    orphan = store.path("0" * 64)
    orphan.write_bytes(b"of a deleted row")
    swept.clear()

    def fail(*given: object, **options: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(FileStore, "new_temporary", fail)
    for answer in (ada.upload(NAME), ada.send("POST", at(NAME), form(("a", picture(), "a", None)), Content_Type=FORM)):
        assert answer.refusal == (507, "InsufficientStorage", "There is no room: the disk is full.")
    assert swept == [store, store]
    assert not orphan.exists()
    assert ada.send("GET", IMAGE.replace("front", "back")).status == 200  # made, and not kept
    monkeypatch.undo()
    assert on_disk(store) == held
    assert ada.upload(NAME).status == 200


def test_full_disk_while_bytes_arrive_is_no_room(
    ada: Storage, store: FileStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object, **options: object) -> None:
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr("routes.storage.uploads.Destination.write", fail)
    assert ada.upload(NAME).refusal[:2] == (507, "InsufficientStorage")
    assert on_disk(store) == 0


@pytest.mark.parametrize(
    ("full", "status"),
    [
        ("files", "the disk of files is almost full"),
        pytest.param("database", "the disk is almost full", marks=pytest.mark.sqlite("a server has its own disk")),
    ],
)
def test_readiness_measures_both_disks(
    ada: Storage, store: FileStore, monkeypatch: pytest.MonkeyPatch, full: str, status: str
) -> None:
    ada.upload(NAME)
    path = store.folder
    if full == "database":
        path = ada.api.database.app_for("POST", "/").extensions["walkthrough"].path.parent
    free = [64 << 20]
    monkeypatch.setattr(shutil, "disk_usage", lambda at: SimpleNamespace(free=free[0] if at == path else 1 << 40))
    assert ready(ada) == (200, "ready")

    free[0] -= 1
    assert ready(ada) == (503, status)


# The folder


def ready(ada: Storage) -> tuple[int, str]:
    answer = ada.send("GET", "/ready")
    return answer.status, answer.json["status"]


def test_missing_folder_is_a_reason_and_is_not_made_anew(ada: Storage, store: FileStore, tmp_path: Path) -> None:
    ada.upload(NAME)
    assert ready(ada) == (200, "ready")
    elsewhere = tmp_path / "elsewhere"
    shutil.move(store.folder, elsewhere)

    assert ready(ada) == (503, "the folder of files is missing")
    assert ada.download(NAME).refusal[:2] == (503, "SlowDown")
    assert ada.download(NAME).headers["Retry-After"] == "1"
    assert ada.send("GET", IMAGE).refusal[:2] == (503, "SlowDown")
    assert ada.upload(OTHER).refusal == (503, "SlowDown", "The folder of files is missing.")
    assert ada.send("DELETE", at(NAME)).status == 200  # the row is the caller's to delete
    assert not store.folder.exists()

    shutil.move(elsewhere, store.folder)
    assert ready(ada) == (200, "ready")
    assert ada.upload(NAME).status == 200


def test_start_is_refused_without_the_folder_of_files(ada: Storage, store: FileStore) -> None:
    app = ada.api.database.app_for("POST", "/")
    database = app.extensions["walkthrough"]
    fresh = FileStore(store.folder)
    copies.require_folder(database, fresh)
    assert fresh.is_known

    ada.upload(NAME)
    shutil.rmtree(store.folder)
    with pytest.raises(copies.MaintenanceError, match=r"the database has files, but .*/incoming is missing"):
        copies.require_folder(database, FileStore(store.folder))
    assert not store.folder.exists()
    store.incoming.mkdir(parents=True)
    copies.require_folder(database, FileStore(store.folder))


@pytest.mark.sqlite("opens a file")
def test_application_that_serves_checks_the_folder(ada: Storage, store: FileStore) -> None:
    from app import create_app

    ada.upload(NAME)
    shutil.rmtree(store.folder)
    settings = {"DATABASE_URL": ada.api.database.app_for("POST", "/").config["DATABASE_URL"], "TESTING": True,
                "FILES_DIR": store.folder}  # fmt: skip
    with pytest.raises(NotStarted, match="mount or restore the folder of files"):
        create_app(settings, has_right_to_serve=True)
    assert os.path.lexists(store.folder) is False

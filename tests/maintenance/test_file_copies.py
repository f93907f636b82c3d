"""The bytes of files in backups, restores, checks, exports and copies."""

import json
import pathlib
from collections.abc import Callable

import pytest

import settings
from engine.maintenance import backup
from inspections.files.records import find, remove
from inspections.files.store import FileStore, problems
from inspections.files.uploads import discard
from tests.conftest import Api
from tests.inspections.case_world import ELSEWHERE, FAILED, OPEN, case_rows
from tests.inspections.file_world import Files, key_of
from tests.support.applications import open_app

OF_INSPECTION, OF_FINDING, HIDDEN = (
    f"inspections/{FAILED}/a.jpg",
    f"findings/{OPEN}/b.jpg",
    f"inspections/{ELSEWHERE}/c.jpg",
)
A_FILE = pytest.mark.sqlite("backs up a file")


@pytest.fixture
def case(world: Callable) -> Callable:
    return world(case_rows())


@pytest.fixture
def root(case: Callable) -> Files:
    app = case("root").database.app_for("GET", "/")
    files = Files(case, app.extensions["walkthrough.files"], "root")
    for path in (OF_INSPECTION, OF_FINDING, HIDDEN):
        files.put(path)
    return files


def run(files: Files, *words: object) -> object:
    done = files.app.test_cli_runner().invoke(args=[str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done


def hashes(folder: pathlib.Path) -> set[str]:
    return {*FileStore(folder).hashes()}


@A_FILE
def test_backup_has_the_bytes_beside_it(root: Files, tmp_path: pathlib.Path) -> None:
    backup, folder = tmp_path / "backup.db", tmp_path / "backup.db.files"
    run(root, "backup", backup)
    first = {each: (folder / each).stat().st_ino for each in hashes(folder)}

    assert set(first) == {*root.store.hashes()}
    assert len(first) == 3
    new = root.put(f"inspections/{FAILED}/new.jpg")
    root.write(remove, key_of(OF_FINDING))
    run(root, "backup", backup)
    gone = {each for each in first if each not in hashes(folder)}
    assert hashes(folder) == {*first} - gone | {new.sha256}
    assert len(gone) == 1
    assert all((folder / each).stat().st_ino == first[each] for each in {*first} - gone)


@A_FILE
def test_backup_copies_where_it_cannot_link(
    root: Files, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*paths: object) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", refuse)
    run(root, "backup", tmp_path / "backup.db")

    assert hashes(tmp_path / "backup.db.files") == {*root.store.hashes()}
    assert list((tmp_path / "backup.db.files" / "incoming").iterdir()) == []


@A_FILE
def test_restored_database_has_its_bytes(root: Files, tmp_path: pathlib.Path) -> None:
    backup = tmp_path / "backup.db"
    run(root, "backup", backup)
    content = root.store.path(root.read(find, key_of(OF_FINDING)).sha256).read_bytes()
    root.write(remove, key_of(OF_FINDING))
    for sha256 in {*root.store.hashes()}:
        root.store.path(sha256).unlink()
    done = run(root, "restore", backup)

    assert done.output == "restored; all users must sign in again\n"
    again = open_app(root.app.extensions["walkthrough"].path)
    restored = Files(lambda who: Api(OneApp(again), root.person), root.store, "root")
    row = restored.read(find, key_of(OF_FINDING))
    assert root.store.path(row.sha256).read_bytes() == content
    assert problems(again.extensions["walkthrough"], root.store, reads_bytes=True) == []


class OneApp:
    def __init__(self, app: object) -> None:
        self.app = app

    def app_for(self, method: str, path: str) -> object:
        return self.app


@A_FILE
def test_damaged_bytes_are_not_restored(root: Files, tmp_path: pathlib.Path) -> None:
    backup = tmp_path / "backup.db"
    run(root, "backup", backup)
    damaged = root.read(find, key_of(OF_FINDING)).sha256
    for sha256 in {*root.store.hashes()}:
        root.store.path(sha256).unlink()
    saved = tmp_path / "backup.db.files" / damaged
    saved.write_bytes(b"\xff\xd8\xff" + saved.read_bytes()[4:] + b"x")
    done = run(root, "restore", backup)

    assert f"warning: the bytes of {OF_FINDING} are missing (1 in all)" in done.output
    assert damaged not in {*root.store.hashes()}


def test_check_names_missing_and_damaged_bytes(root: Files) -> None:
    database = root.app.extensions["walkthrough"]
    assert problems(database, root.store, reads_bytes=True) == []
    missing, damaged = (root.store.path(root.read(find, key_of(path)).sha256) for path in (OF_INSPECTION, OF_FINDING))
    missing.unlink()
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")

    quick = [f"the bytes of {OF_INSPECTION} are missing"]
    assert problems(database, root.store, reads_bytes=False) == quick
    assert problems(database, root.store, reads_bytes=True) == [*quick, f"the bytes of {OF_FINDING} are damaged"]


@pytest.mark.sqlite("checks a file")
def test_command_check_fails_without_the_bytes(root: Files) -> None:
    assert run(root, "check").output.endswith("sound\n")
    root.store.path(root.read(find, key_of(OF_INSPECTION)).sha256).unlink()

    for scan, code in (("full", 1), ("quick", 0), ("none", 0)):
        done = root.app.test_cli_runner().invoke(args=["check", "--scan", scan])
        assert (done.exit_code, f"the bytes of {OF_INSPECTION} are missing" in done.output) == (code, code == 1)


def test_export_has_the_rows_and_says_where_the_bytes_are(root: Files, tmp_path: pathlib.Path) -> None:
    export = tmp_path / "export.json"
    done = run(root, "export", export)
    rows = json.loads(export.read_text())["files"]

    assert f"the bytes of 3 files are not included: they are in {root.store.folder}\n" in done.output
    assert {f"{row['bucket']}/{row['name']}" for row in rows} == {OF_INSPECTION, OF_FINDING, HIDDEN}


@A_FILE
def test_copied_rows_find_their_bytes_in_the_same_folder(root: Files, tmp_path: pathlib.Path) -> None:
    target = tmp_path / "target.db"
    done = run(root, "copy", "--to", f"sqlite:///{target}")
    copied = open_app(target)

    assert f"the bytes of 3 files are not included: they are in {root.store.folder}\n" in done.output
    assert problems(copied.extensions["walkthrough"], root.store, reads_bytes=True) == []
    assert len(problems(copied.extensions["walkthrough"], FileStore(tmp_path / "no"), reads_bytes=False)) == 3


def test_commands_say_nothing_of_files_without_any(case: Callable, tmp_path: pathlib.Path) -> None:
    app = case("root").database.app_for("GET", "/")
    done = app.test_cli_runner().invoke(args=["export", str(tmp_path / "export.json")])

    assert (done.exit_code, done.output) == (0, "")
    assert not app.extensions["walkthrough.files"].folder.exists()


@A_FILE
def test_file_that_is_removed_during_a_backup_is_not_in_it(
    root: Files, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes go at once, and the first copy of the database still has its row."""
    copies, copy_database = [], backup.back_up

    def copy_and_remove(*given: object) -> None:
        name = f"inspections/{FAILED}/brief.jpg"
        if not copies:
            root.put(name)
        copy_database(*given)
        if not copies:
            row = root.write(remove, key_of(name))
            discard(root.app.extensions["walkthrough"], root.store, [row])
            assert not root.store.has(row.kept)
        copies.append(given)

    monkeypatch.setattr(backup, "back_up", copy_and_remove)
    file = tmp_path / "backup.db"
    done = run(root, "backup", file)

    assert len(copies) == 2
    assert "missing" not in done.output
    assert hashes(settings.files_folder(file)) == {*root.store.hashes()}

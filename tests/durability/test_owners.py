"""A file that root rewrites keeps its owner. Otherwise the service could not open it."""

import os
import shutil
from pathlib import Path

import pytest

from engine.maintenance import migrate
from engine.storage import file_copies
from tests.durability.served import Served
from tests.durability.test_clock_reset import OLD_KEY, database_file, run, stored_key

SERVICE_OWNER = (65_534, 65_534)
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can change the owner of a file")

__all__ = ["database_file"]


def owner(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_uid, found.st_gid


@AS_ROOT
@pytest.mark.parametrize("word", ["compact", "restore"])
def test_file_rewritten_by_root_keeps_its_owner(served: Served, tmp_path: Path, word: str) -> None:
    kept = tmp_path / "kept.backup"
    assert served.command("backup", str(kept)).returncode == 0
    os.chown(served.database, *SERVICE_OWNER)
    before = served.database.stat().st_ino

    done = served.command(word, *([str(kept)] if word == "restore" else []))

    assert done.returncode == 0, done.stderr
    assert served.database.stat().st_ino != before
    assert owner(served.database) == SERVICE_OWNER


@AS_ROOT
def test_lock_file_created_by_root_gets_the_owner_of_the_database(served: Served) -> None:
    """Otherwise the service starts and cannot write."""
    lock = served.database.with_name(f"{served.database.name}.lock")
    lock.unlink(missing_ok=True)
    os.chown(served.database, *SERVICE_OWNER)

    assert served.command("create-user", "new@acme.example", "--role", "super_admin", "--password", "-").returncode == 0

    assert owner(lock) == SERVICE_OWNER


def test_lock_file_that_cannot_be_opened_is_reported(served: Served) -> None:
    lock = served.database.with_name(f"{served.database.name}.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()

    refused = served.command("check")

    assert refused.returncode == 1
    assert "the lock file cannot be opened: Is a directory" in refused.stderr
    assert refused.stderr.count("\n") == 1


@AS_ROOT
def test_key_file_rewritten_by_root_keeps_its_owner(database_file: Path) -> None:
    os.chown(database_file.parent / "keys.json", *SERVICE_OWNER)

    assert run(database_file, "clock", "--set-back", SECRET_KEY=OLD_KEY)[0] == 0

    assert stored_key(database_file) != OLD_KEY
    assert owner(database_file.parent / "keys.json") == SERVICE_OWNER


@AS_ROOT
def test_copy_before_a_migration_by_root_keeps_the_owner(served: Served) -> None:
    os.chown(served.database, *SERVICE_OWNER)

    migrate.save_copy(served.database, 1)

    assert owner(migrate.backup_path(served.database, 1)) == SERVICE_OWNER


@AS_ROOT
def test_backup_belongs_to_the_user_who_makes_it(served: Served, tmp_path: Path) -> None:
    """The owner of a previous file must not be able to read the new backup."""
    kept = tmp_path / "kept.backup"
    shutil.copy(served.database, kept)
    os.chown(kept, *SERVICE_OWNER)

    assert served.command("backup", str(kept)).returncode == 0

    assert owner(kept) == (os.geteuid(), os.getegid())


@pytest.mark.parametrize("is_root", [True, False])
def test_only_root_changes_owners_and_a_failure_is_ignored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_root: bool
) -> None:
    calls: list[int] = []

    def fail(descriptor: int, *_: int) -> None:
        calls.append(descriptor)
        raise PermissionError

    (tmp_path / "a.db").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 0 if is_root else 1)
    monkeypatch.setattr(os, "fchown", fail)
    with file_copies.drafted(tmp_path / "a.db", like=tmp_path / "a.db") as draft:
        assert draft.exists()
    assert bool(calls) is is_root

"""Whose file is it, once root has made it anew? Its owner's yet: the service could not open it else."""

import os
import shutil
from pathlib import Path

import pytest

from engine.maintenance.migrations import migrate
from engine.storage import atomic_files as drafts
from tests.durability.served import Served
from tests.durability.test_clock_reset import OLD_KEY, kept_key, place, run

SERVICE = (65_534, 65_534)
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which alone gives files away")

__all__ = ["place"]


def owner(file: Path) -> tuple[int, int]:
    found = file.stat()
    return found.st_uid, found.st_gid


@AS_ROOT
@pytest.mark.parametrize("word", ["compact", "restore"])
def test_a_file_that_root_writes_anew_is_its_owners_yet(served: Served, tmp_path: Path, word: str) -> None:
    kept = tmp_path / "kept.backup"
    assert served.command("backup", str(kept)).returncode == 0
    os.chown(served.database, *SERVICE)
    before = served.database.stat().st_ino

    done = served.command(word, *([str(kept)] if word == "restore" else []))

    assert done.returncode == 0, done.stderr
    assert served.database.stat().st_ino != before
    assert owner(served.database) == SERVICE


@AS_ROOT
def test_a_lock_that_root_makes_is_the_owners_of_the_file(served: Served) -> None:
    """Or the service starts, finds all sound, and cannot write."""
    lock = served.database.with_name(f"{served.database.name}.lock")
    lock.unlink(missing_ok=True)
    os.chown(served.database, *SERVICE)

    assert served.command("create-user", "new@acme.example", "--role", "super_admin", "--password", "-").returncode == 0

    assert owner(lock) == SERVICE


def test_a_lock_that_cannot_be_opened_is_told_at_the_start(served: Served) -> None:
    lock = served.database.with_name(f"{served.database.name}.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()

    refused = served.command("check")

    assert refused.returncode == 1
    assert "the lock file cannot be opened: Is a directory" in refused.stderr
    assert refused.stderr.count("\n") == 1


@AS_ROOT
def test_keys_that_root_draws_anew_are_their_owners_yet(place: Path) -> None:
    os.chown(place.parent / "keys.json", *SERVICE)

    assert run(place, "clock", "--set-back", SECRET_KEY=OLD_KEY)[0] == 0

    assert kept_key(place) != OLD_KEY
    assert owner(place.parent / "keys.json") == SERVICE


@AS_ROOT
def test_what_root_keeps_before_a_migration_is_the_owners_of_the_file(served: Served) -> None:
    os.chown(served.database, *SERVICE)

    migrate.save_copy(served.database, 1)

    assert owner(migrate.backup_path(served.database, 1)) == SERVICE


@AS_ROOT
def test_a_backup_is_whose_that_makes_it(served: Served, tmp_path: Path) -> None:
    """What was there before may be anybody's, who is not to read it."""
    kept = tmp_path / "kept.backup"
    shutil.copy(served.database, kept)
    os.chown(kept, *SERVICE)

    assert served.command("backup", str(kept)).returncode == 0

    assert owner(kept) == (os.geteuid(), os.getegid())


@pytest.mark.parametrize("is_root", [True, False])
def test_only_root_gives_files_away_and_where_it_may_not_they_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_root: bool
) -> None:
    told: list[int] = []

    def fail(descriptor: int, *_: int) -> None:
        told.append(descriptor)
        raise PermissionError

    (tmp_path / "a.db").touch()
    monkeypatch.setattr(os, "geteuid", lambda: 0 if is_root else 1)
    monkeypatch.setattr(os, "fchown", fail)
    with drafts.drafted(tmp_path / "a.db", like=tmp_path / "a.db") as draft:
        assert draft.exists()
    assert bool(told) is is_root

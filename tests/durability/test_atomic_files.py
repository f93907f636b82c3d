"""Temporary files that a kill or a power cut leaves are removed by the next start or the next file."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from config import PROJECT
from engine.storage import file_copies
from tests.durability.served import Served

STALE_SUFFIX = "0123456789abcdef"
ENDING_SCRIPT = """
import os, signal, sys
from flask.cli import main
from engine.storage import file_copies as copies
signal.signal(signal.SIGINT, signal.default_int_handler)  # the test runner may ignore SIGINT
signal.signal(signal.SIGHUP, signal.SIG_DFL)
copies.settle = lambda *_: os.kill(os.getpid(), {signal})
sys.argv = ["flask", "--app", "app", *{words}]
main()
"""


def end_during_copy(served: Served, number: int, *words: str) -> subprocess.CompletedProcess:
    """Run a command that gets a signal after it has copied the database, before it has verified the copy."""
    return subprocess.run(
        [sys.executable, "-c", ENDING_SCRIPT.format(signal=int(number), words=words)],
        cwd=PROJECT, env=served.environ(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def hidden_files(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.glob(".*"))


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("word", ["backup", "compact"])
def test_interrupted_command_leaves_no_file(served, word, number):
    words = [word] if word == "compact" else [word, str(served.directory / "today.backup")]

    ended = end_during_copy(served, number, *words)

    assert (ended.returncode, ended.stderr.strip()) == (1, "Aborted!")
    assert hidden_files(served.directory) == []
    assert not (served.directory / "today.backup").exists()


def test_next_backup_removes_files_of_a_killed_one(served, tmp_path):
    target = tmp_path / "kept" / "today.backup"
    target.parent.mkdir()
    assert end_during_copy(served, signal.SIGKILL, "backup", str(target)).returncode == -9
    assert len(hidden_files(target.parent)) == 2, "the temporary file and its lock"

    assert served.command("backup", str(target)).returncode == 0

    assert [each.name for each in target.parent.iterdir()] == ["today.backup"]


def test_next_start_removes_temporary_files_beside_the_database(served):
    assert end_during_copy(served, signal.SIGKILL, "compact").returncode == -9
    name = served.database.name
    for left in (f".{name}.{STALE_SUFFIX}", f".{name}.{STALE_SUFFIX}-journal", f".{name}.schema-10.2.{STALE_SUFFIX}"):
        (served.directory / left).touch()  # as of an older version, without a lock
    others = [
        f".{name}-wal.{STALE_SUFFIX}",
        f".{name}.notes",
        f".other.db.{STALE_SUFFIX}",
        f".{name}.{STALE_SUFFIX}.gz",
    ]
    for other in others:
        (served.directory / other).touch()
    assert len(hidden_files(served.directory)) > len(others) + 3

    assert served.command("check", "--scan", "none").returncode == 0

    assert hidden_files(served.directory) == sorted(others)


def test_locked_temporary_file_is_not_removed(tmp_path):
    target = tmp_path / "a.db"
    with file_copies.drafted(target) as draft:
        draft.with_name(f"{draft.name}-journal").touch()
        there = hidden_files(tmp_path)
        assert len(there) == 3

        file_copies.sweep(target)
        with file_copies.drafted(target):
            assert len(hidden_files(tmp_path)) == 5

        assert hidden_files(tmp_path) == there
    assert hidden_files(tmp_path) == []


def test_lock_file_removed_before_locking_is_created_again(tmp_path, monkeypatch):
    """The other process sweeps after the lock file is created and before it is locked."""
    target, swept = tmp_path / "a.db", []
    lock = file_copies.fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if not swept:
            swept.append(descriptor)
            file_copies.sweep(target)
        lock(descriptor, operation)

    monkeypatch.setattr(file_copies.fcntl, "flock", flock)
    with file_copies.drafted(target) as draft:
        assert hidden_files(tmp_path) == sorted([draft.name, f"{draft.name}-draft"])
    assert hidden_files(tmp_path) == []


def test_without_file_locks_nothing_is_removed(tmp_path, monkeypatch):
    def fail(descriptor: int, operation: int) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(file_copies.fcntl, "flock", fail)
    with file_copies.drafted(tmp_path / "a.db") as draft:
        file_copies.sweep(tmp_path / "a.db")
        assert draft.exists()
    assert hidden_files(tmp_path) == []

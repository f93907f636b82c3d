"""What a kill, or a power cut, leaves of a file in the making goes with the next start, or with the next one made."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from config import PROJECT
from engine.storage import atomic_files as drafts
from tests.durability.served import Served

DEAD = "0123456789abcdef"
ENDING = """
import os, signal, sys
from flask.cli import main
from engine.storage import file_copies as copies
signal.signal(signal.SIGINT, signal.default_int_handler)  # which whoever runs the tests may ignore
signal.signal(signal.SIGHUP, signal.SIG_DFL)
copies.settle = lambda *_: os.kill(os.getpid(), {signal})
sys.argv = ["flask", "--app", "app", *{words}]
main()
"""


def end_while_it_makes(served: Served, number: int, *words: str) -> subprocess.CompletedProcess:
    """Run a command that is sent a signal once it has made its copy, and not looked it over."""
    return subprocess.run(
        [sys.executable, "-c", ENDING.format(signal=int(number), words=words)],
        cwd=PROJECT, env=served.environ(), capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def hidden(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.glob(".*"))


@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.long), signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("word", ["backup", "compact"])
def test_a_command_that_is_told_to_end_leaves_nothing(served, word, number):
    words = [word] if word == "compact" else [word, str(served.directory / "today.backup")]

    ended = end_while_it_makes(served, number, *words)

    assert (ended.returncode, ended.stderr.strip()) == (1, "Aborted!")
    assert hidden(served.directory) == []
    assert not (served.directory / "today.backup").exists()


def test_what_a_killed_backup_left_goes_with_the_next_one(served, tmp_path):
    target = tmp_path / "kept" / "today.backup"
    target.parent.mkdir()
    assert end_while_it_makes(served, signal.SIGKILL, "backup", str(target)).returncode == -9
    assert len(hidden(target.parent)) == 2, "the draft and its lock"

    assert served.command("backup", str(target)).returncode == 0

    assert [each.name for each in target.parent.iterdir()] == ["today.backup"]


def test_what_was_killed_beside_the_database_goes_with_the_next_start(served):
    assert end_while_it_makes(served, signal.SIGKILL, "compact").returncode == -9
    name = served.database.name
    for left in (f".{name}.{DEAD}", f".{name}.{DEAD}-journal", f".{name}.schema-10.2.{DEAD}"):
        (served.directory / left).touch()  # an older version's, without a lock
    others = [f".{name}-wal.{DEAD}", f".{name}.notes", f".other.db.{DEAD}", f".{name}.{DEAD}.gz"]
    for other in others:
        (served.directory / other).touch()
    assert len(hidden(served.directory)) > len(others) + 3

    assert served.command("check", "--scan", "none").returncode == 0

    assert hidden(served.directory) == sorted(others)


def test_what_is_being_made_is_let_be(tmp_path):
    target = tmp_path / "a.db"
    with drafts.drafted(target) as draft:
        draft.with_name(f"{draft.name}-journal").touch()
        there = hidden(tmp_path)
        assert len(there) == 3

        drafts.sweep(target)
        with drafts.drafted(target):
            assert len(hidden(tmp_path)) == 5

        assert hidden(tmp_path) == there
    assert hidden(tmp_path) == []


def test_a_lock_that_was_taken_for_dead_is_made_again(tmp_path, monkeypatch):
    """Between the moment it is there and the one it is locked."""
    target, swept = tmp_path / "a.db", []
    lock = drafts.fcntl.flock

    def flock(descriptor: int, operation: int) -> None:
        if not swept:
            swept.append(descriptor)
            drafts.sweep(target)
        lock(descriptor, operation)

    monkeypatch.setattr(drafts.fcntl, "flock", flock)
    with drafts.drafted(target) as draft:
        assert hidden(tmp_path) == sorted([draft.name, f"{draft.name}-draft"])
    assert hidden(tmp_path) == []


def test_where_there_are_no_locks_nothing_is_taken_for_dead(tmp_path, monkeypatch):
    def fail(descriptor: int, operation: int) -> None:
        raise OSError(95, os.strerror(95))

    monkeypatch.setattr(drafts.fcntl, "flock", fail)
    with drafts.drafted(tmp_path / "a.db") as draft:
        drafts.sweep(tmp_path / "a.db")
        assert draft.exists()
    assert hidden(tmp_path) == []

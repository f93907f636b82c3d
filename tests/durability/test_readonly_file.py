"""A database on a full or read-only disk: backup and export work, other commands are refused."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from flask.cli import ScriptInfo

from app import NotStarted
from engine.maintenance import import_export
from engine.storage import file_copies, sqlite
from engine.storage.database import ServingLock
from engine.storage.sqlite import driver
from tests.durability.load import integrity_problems
from tests.support.applications import open_app


@pytest.fixture
def readonly_file(base_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file in a directory where SQLite cannot create files."""
    (tmp_path / "stuck").mkdir()
    file = tmp_path / "stuck" / "walkthrough.db"
    shutil.copy(base_file, file)
    file.chmod(0o600)

    def fail(path: Path, *, writable: bool) -> None:
        raise sqlite.driver.OperationalError("disk I/O error")

    monkeypatch.setattr("engine.storage.sqlite.connect", fail)
    return file


def run(file: Path, *words: str) -> tuple[int, str]:
    """Run a command whose application is built inside a click context; return its status and output."""
    with click.Context(click.Command("flask"), obj=ScriptInfo(create_app=lambda: None)):
        app = open_app(file)
    done = app.test_cli_runner().invoke(args=list(words))
    return done.exit_code, done.output


def test_backup_and_export_work(readonly_file, base_file, tmp_path):
    before = readonly_file.read_bytes()

    assert run(readonly_file, "backup", str(tmp_path / "kept"))[0] == 0
    status, printed = run(readonly_file, "export")
    assert run(readonly_file, "export", str(tmp_path / "all.json")) == (0, "")

    connection = driver.connect(str(tmp_path / "kept"))
    assert integrity_problems(connection) == []
    assert connection.execute("SELECT count(*) FROM inspections").fetchone()[0] == 9
    connection.close()
    assert (status, printed) == (0, (tmp_path / "all.json").read_text(encoding="utf-8"))
    assert '"inspections": [\n  {' in printed
    assert readonly_file.read_bytes() == before
    assert [each.name for each in readonly_file.parent.iterdir()] == [readonly_file.name]


@pytest.mark.parametrize(
    "words",
    [["check"], ["keys"], ["clock"], ["compact"], ["token", "a@x.example"], ["restore", "kept"],
     ["import", "x.json"], ["create-user", "a@x.example", "--role", "super_admin", "--password", "-"],
     ["copy", "--to", "sqlite:///other.db"]],
)  # fmt: skip
def test_other_commands_are_refused(readonly_file, words):
    assert run(readonly_file, *words) == (1, f"Error: {readonly_file} cannot be used: the disk failed\n")


def test_server_does_not_start(readonly_file):
    with pytest.raises(NotStarted, match="the disk failed"):
        open_app(readonly_file)
    with click.Context(click.Command("flask")):
        app = open_app(readonly_file)
    with pytest.raises(NotStarted, match="the disk failed"):
        app.test_client().get("/live")


@pytest.mark.parametrize("word", ["backup", "export"])
@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_file_that_needs_a_checkpoint_is_not_read(readonly_file, tmp_path, word, end):
    log = Path(f"{readonly_file}{end}")
    log.write_bytes(b"pages")

    status, output = run(readonly_file, word, str(tmp_path / "kept"))

    assert status == 1
    assert f"its log {log} needs a checkpoint: copy both files to another disk\n" in output
    assert output.count("\n") == 1
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("word", ["backup", "export"])
def test_unreadable_file_is_reported_in_one_line(readonly_file, tmp_path, monkeypatch, word):
    """To SQLite, another user's file looks like a file on a read-only disk."""

    def fail(*words: object, **named: object) -> None:
        raise driver.OperationalError("unable to open database file")

    monkeypatch.setattr(driver, "connect", fail)

    status, output = run(readonly_file, word, str(tmp_path / "kept"))

    assert status == 1
    assert output.startswith("walkthrough: ")
    assert output.count("\n") == 1
    assert not (tmp_path / "kept").exists()


def test_missing_permission_is_reported(readonly_file, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(readonly_file))

    assert run(readonly_file, "check") == (1, f"Error: {readonly_file} cannot be used: permission denied\n")


@pytest.mark.parametrize("word", ["backup", "export"])
def test_served_file_is_not_read(readonly_file, tmp_path, word):
    lock = ServingLock.take(readonly_file)

    ended = run(readonly_file, word, str(tmp_path / "kept"))
    lock.release()

    assert ended == (1, f"walkthrough: {readonly_file} cannot be used: the disk failed\n")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("word", ["backup", "export"])
def test_file_written_during_the_copy_is_reported(readonly_file, tmp_path, monkeypatch, word):
    def after(function: Callable) -> Callable:
        def change(*words: object) -> object:
            with readonly_file.open("r+b") as file:
                file.write(b"SQLite format 3\0")
            return function(*words)

        return change

    monkeypatch.setattr(file_copies, "write_copy", after(file_copies.write_copy))
    monkeypatch.setattr(import_export, "export_archive", after(import_export.export_archive))

    status, output = run(readonly_file, word, str(tmp_path / "kept"))

    assert status == 1
    assert f"{readonly_file} was written to while it was read\n" in output
    assert output.count("\n") == 1
    assert word == "export" or not (tmp_path / "kept").exists()


def test_outdated_file_is_backed_up_but_not_exported(readonly_file, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.maintenance.backup.schema_state", lambda transaction, path: "older")

    assert run(readonly_file, "backup", str(tmp_path / "kept"))[0] == 0
    status, output = run(readonly_file, "export", str(tmp_path / "all.json"))

    assert (status, output.count("\n")) == (1, 1)
    assert "has an older schema: back it up to another disk" in output

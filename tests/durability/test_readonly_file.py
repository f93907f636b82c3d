"""A database on a disk that takes nothing, full or read-only: what is in it can be saved, and nothing else is done."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from flask.cli import ScriptInfo

from app import NotStarted
from engine.maintenance import import_export
from engine.storage import file_copies as copies
from engine.storage import sqlite
from engine.storage.server_lock import ServingLock
from engine.storage.sqlite import driver
from tests.durability.load import integrity
from tests.support.applications import open_app


@pytest.fixture
def stuck(base_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file beside which SQLite can make none."""
    (tmp_path / "stuck").mkdir()
    file = tmp_path / "stuck" / "walkthrough.db"
    shutil.copy(base_file, file)
    file.chmod(0o600)

    def fail(engine: object) -> None:
        raise sqlite.driver.OperationalError("disk I/O error")

    monkeypatch.setattr("sqlalchemy.Engine.raw_connection", fail)
    return file


def run(file: Path, *words: str) -> tuple[int, str]:
    """A command, which makes its application within one of click's contexts."""
    with click.Context(click.Command("flask"), obj=ScriptInfo(create_app=lambda: None)):
        app = open_app(file)
    done = app.test_cli_runner().invoke(args=list(words))
    return done.exit_code, done.output


def test_what_is_in_it_can_be_saved(stuck, base_file, tmp_path):
    before = stuck.read_bytes()

    assert run(stuck, "backup", str(tmp_path / "kept"))[0] == 0
    status, printed = run(stuck, "export")
    assert run(stuck, "export", str(tmp_path / "all.json")) == (0, "")

    connection = driver.connect(str(tmp_path / "kept"))
    assert integrity(connection) == []
    assert connection.execute("SELECT count(*) FROM inspections").fetchone()[0] == 9
    connection.close()
    assert (status, printed) == (0, (tmp_path / "all.json").read_text(encoding="utf-8"))
    assert '"inspections": [\n  {' in printed
    assert stuck.read_bytes() == before
    assert [each.name for each in stuck.parent.iterdir()] == [stuck.name]


@pytest.mark.parametrize(
    "words",
    [["check"], ["keys"], ["clock"], ["compact"], ["token", "a@x.example"], ["restore", "kept"],
     ["import", "x.json"], ["create-user", "a@x.example", "--role", "super_admin", "--password", "-"],
     ["copy", "--to", "sqlite:///other.db"]],
)  # fmt: skip
def test_nothing_else_is_done(stuck, words):
    assert run(stuck, *words) == (1, f"Error: {stuck} cannot be used: the disk failed\n")


def test_no_server_starts_over_it(stuck):
    with pytest.raises(NotStarted, match="the disk failed"):
        open_app(stuck)
    with click.Context(click.Command("flask")):
        app = open_app(stuck)
    with pytest.raises(NotStarted, match="the disk failed"):
        app.test_client().get("/live")


@pytest.mark.parametrize("word", ["backup", "export"])
@pytest.mark.parametrize("end", ["-wal", "-journal"])
def test_what_has_a_log_is_not_read_without_it(stuck, tmp_path, word, end):
    log = Path(f"{stuck}{end}")
    log.write_bytes(b"pages")

    status, told = run(stuck, word, str(tmp_path / "kept"))

    assert status == 1
    assert f"its log {log} needs a checkpoint: copy both files to another disk\n" in told
    assert told.count("\n") == 1
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("word", ["backup", "export"])
def test_what_may_not_be_read_is_told_in_one_line(stuck, tmp_path, monkeypatch, word):
    """As another user's file, which looks like one on a disk that takes nothing."""

    def fail(*words: object, **named: object) -> None:
        raise driver.OperationalError("unable to open database file")

    monkeypatch.setattr(driver, "connect", fail)

    status, told = run(stuck, word, str(tmp_path / "kept"))

    assert status == 1
    assert told.startswith("walkthrough: ")
    assert told.count("\n") == 1
    assert not (tmp_path / "kept").exists()


def test_that_a_file_is_anothers_is_told(stuck, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: str(path) != str(stuck))

    assert run(stuck, "check") == (1, f"Error: {stuck} cannot be used: permission denied\n")


@pytest.mark.parametrize("word", ["backup", "export"])
def test_what_is_served_is_let_be(stuck, tmp_path, word):
    lock = ServingLock.take(stuck)

    ended = run(stuck, word, str(tmp_path / "kept"))
    lock.release()

    assert ended == (1, f"walkthrough: {stuck} cannot be used: the disk failed\n")
    assert not (tmp_path / "kept").exists()


@pytest.mark.parametrize("word", ["backup", "export"])
def test_what_is_written_to_meanwhile_is_no_copy(stuck, tmp_path, monkeypatch, word):
    def after(function: Callable) -> Callable:
        def change(*words: object) -> object:
            with stuck.open("r+b") as file:
                file.write(b"SQLite format 3\0")
            return function(*words)

        return change

    monkeypatch.setattr(copies, "write_copy", after(copies.write_copy))
    monkeypatch.setattr(import_export, "export_archive", after(import_export.export_archive))

    status, told = run(stuck, word, str(tmp_path / "kept"))

    assert status == 1
    assert f"{stuck} was written to while it was read\n" in told
    assert told.count("\n") == 1
    assert word == "export" or not (tmp_path / "kept").exists()


def test_an_older_versions_file_is_backed_up_and_not_exported(stuck, tmp_path, monkeypatch):
    monkeypatch.setattr("engine.maintenance.readonly_file.schema_state", lambda transaction, path: "older")

    assert run(stuck, "backup", str(tmp_path / "kept"))[0] == 0
    status, told = run(stuck, "export", str(tmp_path / "all.json"))

    assert (status, told.count("\n")) == (1, 1)
    assert "has an older schema: back it up to another disk" in told

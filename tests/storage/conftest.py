"""A database file, its disk, and threads that write to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.storage import sqlite, writer_lock
from engine.storage.database import SqliteDatabase
from tests.storage.writers import FOREVER, Disk, Writers
from tests.support.applications import open_app


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of the writer lock and commit groups have no time limit, however slow the machine."""
    monkeypatch.setattr(writer_lock, "RUN_SECONDS_MAX", FOREVER)
    monkeypatch.setattr(writer_lock, "GROUP_SECONDS_MAX", FOREVER)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    found = open_app(tmp_path / "walkthrough.db").extensions["walkthrough"]
    yield found
    found.close()


@pytest.fixture
def filled(tmp_path: Path, base_file: Path) -> Iterator[SqliteDatabase]:
    """The database of the data set, in a file of its own."""
    file = tmp_path / "filled.db"
    file.write_bytes(base_file.read_bytes())
    found = open_app(file).extensions["walkthrough"]
    yield found
    found.close()


@pytest.fixture
def disk(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> Disk:
    """The disk below `database`."""
    made = Disk()
    plain = sqlite.driver.Connection.execute

    def execute(connection: sqlite.driver.Connection, sql: str, *arguments: object) -> object:
        if sql == "COMMIT":
            made.commit()
        return plain(connection, sql, *arguments)

    monkeypatch.setattr(sqlite.DriverConnection, "execute", execute, raising=False)
    return made


@pytest.fixture
def writers(database: SqliteDatabase, unhurried: None) -> Writers:
    return Writers(database)

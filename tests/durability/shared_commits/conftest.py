"""A file, its disk, and who writes to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.storage import sqlite
from engine.storage.database import Database
from models.sql import turns
from tests.applications import open_app
from tests.durability.shared_commits.writers import FOREVER
from tests.durability.shared_commits.writers import Disk
from tests.durability.shared_commits.writers import Writers


@pytest.fixture(autouse=True)
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of turns lasts, and so does a group, however slow the machine."""
    monkeypatch.setattr(turns, "RUN_SECONDS_MAX", FOREVER)
    monkeypatch.setattr(turns, "GROUP_SECONDS_MAX", FOREVER)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    found = open_app(tmp_path / "walkthrough.db").extensions["walkthrough"]
    yield found
    found.close()


@pytest.fixture
def disk(database: Database, monkeypatch: pytest.MonkeyPatch) -> Disk:
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
def writers(database: Database) -> Writers:
    return Writers(database)

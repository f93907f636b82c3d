"""Databases and services of the durability tests, and the sizes of the long tier."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.storage.database import SqliteDatabase
from tests.durability.served import Served
from tests.durability.shim import DATABASE
from tests.support.applications import open_app


def scaled(count: int) -> int:
    """Return a size of the long tier times DURABILITY_SCALE: 0.1 for a short run, 10 for a weekend."""
    return max(1, round(count * float(os.environ.get("DURABILITY_SCALE", "1"))))


@pytest.fixture
def served(base_file: Path, tmp_path: Path) -> Served:
    """A service over a copy of the data set. It is not started."""
    directory = tmp_path / "served"
    directory.mkdir(mode=0o700)
    shutil.copy(base_file, directory / DATABASE)
    (directory / DATABASE).chmod(0o600)
    return Served(directory)


@pytest.fixture
def database(tmp_path: Path) -> Iterator[SqliteDatabase]:
    found = open_app(tmp_path / "walkthrough.db").extensions["walkthrough"]
    yield found
    found.close()

"""A table that describes itself has console pages."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import databases

SECONDS_MAX = 60


@pytest.mark.sqlite
def test_registered_table_has_pages(users_file: Path, tmp_path: Path) -> None:
    """A process of its own, since a model stays in the metadata."""
    file = tmp_path / "walkthrough.db"
    databases.copy(users_file, file)

    command = [sys.executable, "-m", "tests.console.registered_table", str(file)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS_MAX, check=False)

    assert ran.returncode == 0, ran.stderr

"""`flask run` is refused on one line and is not among the commands."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from config import PROJECT
from tests.support import tokens

pytestmark = [pytest.mark.sqlite("names files"), pytest.mark.slow]


def flask(file: Path, *words: str) -> subprocess.CompletedProcess:
    environ = {**os.environ, "SECRET_KEY": tokens.SECRET_KEY, "DATABASE_URL": f"sqlite:///{file}"}
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", *words],
        cwd=PROJECT, env=environ, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("words", [["run"], ["run", "--port", "0", "--no-reload"]])
def test_development_server_is_refused_and_makes_nothing(tmp_path: Path, words: list[str]) -> None:
    file = tmp_path / "a.db"

    ended = flask(file, *words)

    assert ended.returncode == 1
    assert ended.stdout == ""
    assert ended.stderr == "Error: flask run is a development server: start the service with bin/serve\n"
    assert list(tmp_path.iterdir()) == []


def test_development_server_is_not_listed(tmp_path: Path) -> None:
    listed = flask(tmp_path / "a.db", "--help").stdout.split("Commands:")[1]

    commands = [line.split()[0] for line in listed.splitlines() if line.strip()]
    assert "create-user" in commands
    assert "run" not in commands

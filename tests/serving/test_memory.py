"""Memory of workers: a service on a file imports no PostgreSQL module."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import databases

PROJECT = Path(__file__).resolve().parent.parent.parent
SQLITE_SCRIPT = """
import sys
from app import create_app
with create_app({"DATABASE_URL": sys.argv[1], "SECRET_KEY": 32 * "k"}).test_client() as client:
    assert client.get("/ready").status_code == 200
names = [name for name in sys.modules if not name.startswith("engine.schema.")]  # text of both engines
print(*[name for name in names if "postgresql" in name or "psycopg" in name])
"""


def test_sqlite_service_imports_no_postgresql_module(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SQLITE_SCRIPT, f"sqlite:///{tmp_path / 'a.db'}"]
    result = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)

    assert result.stdout.split() == []


POSTGRESQL_SCRIPT = """
import runpy, sys
from serving.start import checks as start
start.load("app", *runpy.run_path("gunicorn.conf.py")["POSTGRESQL"])
before = set(sys.modules)
from app import create_app
with create_app({"DATABASE_URL": sys.argv[1], "SECRET_KEY": 32 * "k"}).test_client() as client:
    assert client.get("/ready").status_code == 200
print(*[name for name in set(sys.modules) - before if "postgresql" in name or "psycopg" in name])
"""


@pytest.mark.server("a file needs nothing of it")
def test_postgresql_modules_are_imported_before_the_fork(tmp_path: Path) -> None:
    words = [sys.executable, "-c", POSTGRESQL_SCRIPT, databases.url(tmp_path / "a.db")]
    result = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)

    assert result.stdout.split() == []

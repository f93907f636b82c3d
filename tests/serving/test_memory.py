"""Memory of workers: no PostgreSQL modules without need, and one arena of glibc.

tests/http/test_running.py checks the arenas of a running service.
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import databases

PROJECT = Path(__file__).resolve().parent.parent.parent
MALLOC_INFO_SCRIPT = """
import ctypes, sys, threading
from serving.start import memory
if sys.argv[1] == "shared":
    assert memory.share_one_arena()
together = threading.Barrier(4)
threads = [threading.Thread(target=together.wait) for _ in range(4)]
for each in threads:
    each.start()
for each in threads:
    each.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
account = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, account)
libc.fflush(account)
"""

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


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="no glibc")
@pytest.mark.parametrize(("mode", "has_one_arena"), [("shared", True), ("as it is", False)])
def test_threads_allocate_from_one_arena(mode: str, has_one_arena: bool) -> None:
    result = subprocess.run(
        [sys.executable, "-c", MALLOC_INFO_SCRIPT, mode], cwd=PROJECT, capture_output=True, text=True, check=True
    )

    assert (result.stdout.count("<heap nr=") == 1) is has_one_arena


def test_other_c_library_is_not_configured(monkeypatch: pytest.MonkeyPatch) -> None:
    from serving.start import memory

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())

    assert memory.share_one_arena() is False

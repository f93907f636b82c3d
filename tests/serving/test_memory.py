"""What workers hold: of PostgreSQL's what they need, and once; with glibc one arena, as its own account shows.

That a service's workers have the one is shown with the service as it is run (tests/http/test_running.py).
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import databases

PROJECT = Path(__file__).resolve().parent.parent.parent
ACCOUNT = """
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

SERVED = """
import sys
from app import create_app
with create_app({"DATABASE_URL": sys.argv[1], "SECRET_KEY": 32 * "k"}).test_client() as client:
    assert client.get("/ready").status_code == 200
print(*[name for name in sys.modules if "postgresql" in name or "psycopg" in name])
"""


def test_a_file_is_served_without_anything_of_postgresql_s(tmp_path: Path) -> None:
    words = [sys.executable, "-c", SERVED, f"sqlite:///{tmp_path / 'a.db'}"]
    told = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)

    assert told.stdout.split() == []


FORKED = """
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
def test_what_postgresql_needs_is_imported_before_the_workers_are_forked(tmp_path: Path) -> None:
    words = [sys.executable, "-c", FORKED, databases.url(tmp_path / "a.db")]
    told = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)

    assert told.stdout.split() == []


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_info"), reason="no glibc")
@pytest.mark.parametrize(("how", "is_one"), [("shared", True), ("as it is", False)])
def test_threads_allocate_from_one_arena(how: str, is_one: bool) -> None:
    told = subprocess.run([sys.executable, "-c", ACCOUNT, how], cwd=PROJECT, capture_output=True, text=True, check=True)

    assert (told.stdout.count("<heap nr=") == 1) is is_one


def test_another_c_library_is_let_be(monkeypatch: pytest.MonkeyPatch) -> None:
    from serving.start import memory

    monkeypatch.setattr(memory.ctypes, "CDLL", lambda name: object())

    assert memory.share_one_arena() is False

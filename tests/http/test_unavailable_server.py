"""A running service while its PostgreSQL server is not available."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.durability.served import serving
from tests.http.service import CHEAP_READ, RUNNING_SERVICE, ask, error_body, log_lines, served_over
from tests.support import databases
from tests.support.waiting import until

pytestmark = [RUNNING_SERVICE, pytest.mark.server("a file is always available")]


@contextmanager
def unavailable(file: Path) -> Iterator[None]:
    """End all sessions of a database and refuse new ones."""
    name = databases.DATABASE_NAMES[file]
    with databases.connect_to("postgres") as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,))
        try:
            yield
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_workers_started_without_the_server_serve_later(base_file: Path, tmp_path: Path, number: int) -> None:
    """A worker that fails at its start would end the whole service."""
    with serving(served_over(base_file, tmp_path / "served")) as own:
        before = set(own.workers())
        with unavailable(own.database):
            for each in before if number == signal.SIGKILL else ():
                os.kill(each, number)
            if number == signal.SIGHUP:
                own.signal(number)
            until(lambda: len(own.workers()) == 2 and not before & set(own.workers()))
            own.await_answer()
            answer = ask(own, "ada", "GET", CHEAP_READ)
            assert (answer.status, error_body(answer)["code"]) == (503, "08006")

        until(lambda: ask(own, "ada", "GET", CHEAP_READ).status == 200)
        assert ask(own, "ada", "PATCH", "/buildings?id=eq.1", {"city": "Lynn"}).status == 204
    assert any("does not answer" in str(line.get("message")) for line in log_lines(own))

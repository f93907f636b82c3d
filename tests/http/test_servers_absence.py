"""A running service while its PostgreSQL server is not available."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.durability.served import serving
from tests.http.service import AS_IT_IS_RUN, HONEST, ask, log_lines, refusal_in_json, served_over
from tests.support import databases
from tests.support.waiting import until

pytestmark = [AS_IT_IS_RUN, pytest.mark.server("a file is always available")]


@contextmanager
def away(file: Path) -> Iterator[None]:
    """End all sessions of a database and refuse new ones."""
    name = databases.NAMES[file]
    with databases.connected("postgres") as connection:
        connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        connection.execute("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s", (name,))
        try:
            yield
        finally:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGHUP])
def test_workers_that_come_while_it_is_away_serve_once_it_is_back(base_file: Path, tmp_path: Path, number: int) -> None:
    """A worker that fails at its start would end the whole service."""
    with serving(served_over(base_file, tmp_path / "served")) as own:
        before = set(own.workers())
        with away(own.database):
            for each in before if number == signal.SIGKILL else ():
                os.kill(each, number)
            if number == signal.SIGHUP:
                own.signal(number)
            until(lambda: len(own.workers()) == 2 and not before & set(own.workers()))
            own.await_answer()
            answer = ask(own, "ada", "GET", HONEST)
            assert (answer.status, refusal_in_json(answer)["code"]) == (503, "08006")

        until(lambda: ask(own, "ada", "GET", HONEST).status == 200)
        assert ask(own, "ada", "PATCH", "/buildings?id=eq.1", {"city": "Lynn"}).status == 204
    assert any("does not answer" in str(line.get("message")) for line in log_lines(own))

"""A PostgreSQL primary and its streaming hot standby, in temporary directories."""

import pathlib
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.support import private_server
from tests.support.waiting import until


class ServerPair:
    """A primary and a standby. The standby can be started, stopped, promoted and paused."""

    def __init__(self, programs: pathlib.Path, primary: pathlib.Path) -> None:
        self.programs = programs
        self.primary = primary
        self.standby = pathlib.Path(tempfile.mkdtemp(prefix="walkthrough-standby-"))
        shutil.chown(self.standby, primary.owner())
        self.running = ExitStack()
        private_server.run(
            programs / "pg_basebackup", "-D", self.standby / "data", "-h", primary,
            "-U", "walkthrough", "-R", "-c", "fast", "--no-sync",
        )  # fmt: skip

    def start(self) -> None:
        self.running.enter_context(private_server.started_server(self.programs, self.standby))

    def stop(self) -> None:
        self.running.close()

    def promote(self) -> None:
        private_server.run(self.programs / "pg_ctl", "-D", self.standby / "data", "-w", "-s", "promote")

    def url(self, name: str, server: pathlib.Path) -> str:
        return f"postgresql+psycopg://walkthrough@/{name}?host={server}"

    def sql(self, server: pathlib.Path, name: str, statement: str) -> list[Any]:
        """Run a statement on a server directly."""
        with connect_to(server, name) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description is not None else []

    def catch_up(self) -> None:
        """Wait until the standby has replayed all commits of the primary."""
        ((position,),) = self.sql(self.primary, "postgres", "SELECT pg_current_wal_insert_lsn()")
        self.wait_for(f"SELECT pg_last_wal_replay_lsn() >= '{position}'")

    @contextmanager
    def replay_paused(self) -> Iterator[None]:
        """Pause the replay on the standby."""
        self.catch_up()
        self.sql(self.standby, "postgres", "SELECT pg_wal_replay_pause()")
        self.wait_for("SELECT pg_get_wal_replay_pause_state() = 'paused'")
        try:
            yield
        finally:
            self.sql(self.standby, "postgres", "SELECT pg_wal_replay_resume()")
            self.catch_up()

    def wait_for(self, question: str) -> None:
        until(lambda: self.sql(self.standby, "postgres", question) == [(True,)])


def connect_to(server: pathlib.Path, name: str) -> Any:
    import psycopg

    return psycopg.connect(host=str(server), user="walkthrough", dbname=name, autocommit=True)


@contextmanager
def running_server_pair() -> Iterator[ServerPair]:
    """Run a primary and its standby."""
    programs = private_server.find_programs()
    assert programs is not None, "the tests run on a PostgreSQL server"
    with private_server.running_server(programs) as primary:
        pair = ServerPair(programs, primary)
        try:
            pair.start()
            yield pair
        finally:
            pair.stop()
            shutil.rmtree(pair.standby, ignore_errors=True)

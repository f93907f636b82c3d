"""The data version of a file and of a snapshot: no value is cached under the version of another snapshot."""

from __future__ import annotations

import multiprocessing
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from engine.interface.database import DiskFailed, Locked, Transaction
from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from engine.storage.sqlite import driver
from tests.support.applications import open_app

COMMITS = 500  # of each other process
BUMP = "INSERT INTO facts (name, value) VALUES ('n', '1') ON CONFLICT (name) DO UPDATE SET value = value + 1"
NUMBER = "SELECT value FROM facts WHERE name = 'n'"

pytestmark = pytest.mark.sqlite("a server has no data version")


def commit(database: SqliteDatabase) -> None:
    with closing(driver.connect(str(database.path), isolation_level=None)) as other:
        other.execute(BUMP)


def version_of(database: SqliteDatabase) -> int | None:
    with database.reading() as transaction:
        return transaction.version


def test_each_commit_gives_a_greater_version(database: SqliteDatabase) -> None:
    versions = []
    for _ in range(3):
        versions += [version_of(database), version_of(database)]
        commit(database)

    assert versions[::2] == versions[1::2]
    assert versions[0] < versions[2] < versions[4]


def test_a_commit_while_the_snapshot_opens_leaves_it_without_a_version(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    version_of(database)
    commit(database)
    data_version, calls = database.data_version, []

    def interrupted() -> int:
        calls.append(1)
        if len(calls) == 2:
            commit(database)
        return data_version()

    monkeypatch.setattr(database, "data_version", interrupted)
    assert version_of(database) is None
    assert version_of(database) is not None
    assert len(calls) == 4


@pytest.mark.parametrize("call", [1, 2])
def test_an_error_leaves_no_version_with_the_mark_of_another_snapshot(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch, call: int
) -> None:
    """The connection goes back to its pool, and its next snapshot has the mark of the failed one."""
    before = version_of(database)
    commit(database)
    data_version, calls = database.data_version, []

    def failing() -> int:
        calls.append(1)
        if len(calls) == call:
            raise Locked("canceling statement due to lock timeout")
        return data_version()

    with monkeypatch.context() as patched:
        patched.setattr(database, "data_version", failing)
        with pytest.raises(Locked):
            version_of(database)
    after = version_of(database)

    assert before is not None
    assert after is not None
    assert after > before


def test_an_error_leaves_the_next_reader_its_whole_time(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> int:
        raise Locked("canceling statement due to lock timeout")

    commit(database)
    with monkeypatch.context() as patched:
        patched.setattr(database, "data_version", fail)
        with pytest.raises(Locked), database.reading(seconds_max=0.01):
            pass
    time.sleep(0.02)

    with database.reading() as transaction:
        assert transaction.value("SELECT 1") == 1
    # The thread of the checkpoints may have left a second connection.
    assert {each.driver_connection.walkthrough.deadline for each in database.readers.idle} == {float("inf")}


def test_a_version_does_not_return_once_another_connection_watches(database: SqliteDatabase) -> None:
    versions = []
    for _ in range(3):
        versions.append(version_of(database))
        database.close()
        commit(database)

    assert versions == sorted(set(versions))


def test_a_watching_connection_that_fails_is_replaced(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = database.data_version()
    watching = database.data_version.connection
    plain = driver.Connection.execute

    def execute(connection: driver.Connection, sql: str, *arguments: object) -> object:
        if sql == "PRAGMA data_version":
            raise driver.OperationalError("disk I/O error")
        return plain(connection, sql, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(sqlite.DriverConnection, "execute", execute, raising=False)
        with pytest.raises(DiskFailed):
            database.data_version()

    assert database.data_version() > before
    assert database.data_version.connection is not watching


def test_a_checkpoint_on_a_connection_gives_it_no_wrong_version(database: SqliteDatabase) -> None:
    """The connection reads the log's index for the checkpoint, and not the snapshot."""
    version_of(database)
    commit(database)
    with database.readers.checked_out() as connection:
        connection.driver_connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()
    with database.reading() as transaction:
        assert transaction.cached("n", lambda: transaction.value(NUMBER)) == "1"
        assert transaction.version == database.data_version()


def increase(path: Path, commits: int) -> None:
    with closing(driver.connect(str(path), isolation_level=None, timeout=10)) as other:
        other.execute("PRAGMA synchronous = OFF")
        for number in range(commits):
            other.execute(BUMP)
            time.sleep(0.0002 * (number % 7))


class Readers:
    """Threads that read a number through the cache and past it until they are stopped."""

    def __init__(self, database: SqliteDatabase) -> None:
        self.database = database
        self.stopped = threading.Event()
        self.wrong: list[tuple[object, object]] = []  # the cached and the actual number
        self.hits = 0
        self.versionless = 0

    def run(self, pause_seconds: float) -> None:
        while not self.stopped.is_set():
            with self.database.reading() as transaction:
                self.read(transaction, pause_seconds)

    def read(self, transaction: Transaction, pause_seconds: float) -> None:
        computations: list[int] = []

        def compute() -> object:
            computations.append(1)
            value = transaction.value(NUMBER)
            time.sleep(pause_seconds)
            return value

        cached = transaction.cached("n", compute)
        actual = transaction.value(NUMBER)
        if cached != actual:
            self.wrong.append((cached, actual))
        self.hits += not computations
        self.versionless += transaction.version is None


@pytest.mark.slow
def test_no_value_is_cached_under_the_version_of_another_snapshot(tmp_path: Path) -> None:
    """Two processes and this one commit; six threads read through the cache."""
    path = tmp_path / "walkthrough.db"
    database: SqliteDatabase = open_app(path).extensions["walkthrough"]
    commit(database)
    readers = Readers(database)

    def write() -> None:
        while not readers.stopped.is_set():
            with database.writing() as transaction:
                transaction.run(BUMP)
            time.sleep(0.003)

    threads = [threading.Thread(target=readers.run, args=(0.0003 * n,)) for n in range(6)]
    threads.append(threading.Thread(target=write))
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        runs = [processes.apply_async(increase, (path, COMMITS)) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for run in runs:
                run.get(60)
        finally:
            readers.stopped.set()
            for thread in threads:
                thread.join()
    database.close()

    print(f"{readers.hits} hits, {readers.versionless} without a version")
    assert readers.hits
    assert readers.wrong == []

"""The pool of connections: its bound, the order of reuse, and connections that end."""

import os

import pytest

from engine.interface import pool
from engine.interface.database import TooManyConnections
from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from engine.storage.file_copies import DatabaseFileReplaced


class FakeConnection:
    def __init__(self, number: int) -> None:
        self.number = number
        self.is_sound, self.has_ended, self.is_closed = True, False, False

    def close(self) -> None:
        self.is_closed = True
        if not self.is_sound:
            raise OSError("the connection is gone")


class FakePool(pool.ConnectionPool[FakeConnection]):
    opened = 0

    def connect(self) -> FakeConnection:
        self.opened += 1
        return FakeConnection(self.opened)

    def is_reusable(self, connection: FakeConnection) -> bool:
        return connection.is_sound

    def has_ended(self, connection: FakeConnection) -> bool:
        return connection.has_ended


pytestmark = pytest.mark.sqlite("the pools of a server are tested in tests/postgres")


@pytest.fixture(autouse=True)
def no_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool, "WRITE_WAIT_SECONDS_MAX", 0)


def test_connection_used_last_is_used_next() -> None:
    pool = FakePool(2)
    first, second = pool.take(), pool.take()
    pool.give_back(second)
    pool.give_back(first)

    assert pool.take() is first


def test_number_of_connections_is_bounded() -> None:
    pool = FakePool(1)
    with pool.checked_out(), pytest.raises(TooManyConnections):
        pool.take()

    assert pool.take().number == 1


def test_connection_whose_close_fails_frees_its_place() -> None:
    pool = FakePool(1)
    connection = pool.take()
    connection.is_sound = False
    with pytest.raises(OSError, match="gone"):
        pool.give_back(connection)

    assert pool.take().number == 2


def test_failure_to_connect_frees_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    pool = FakePool(1)
    monkeypatch.setattr(pool, "connect", lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        pool.take()
    monkeypatch.undo()

    assert pool.take().number == 1


def test_idle_connection_that_ended_closes_the_other_idle_ones() -> None:
    pool = FakePool(3)
    connections = [pool.take() for _ in range(3)]
    for each in connections:
        pool.give_back(each)
    connections[-1].has_ended = True

    assert pool.take().number == 4
    assert [each.is_closed for each in connections] == [True, True, True]


def test_child_process_takes_no_idle_connection(database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch) -> None:
    with database.reading() as transaction:
        assert transaction.value("SELECT 1") == 1
    monkeypatch.setattr(os, "getpid", lambda: 1)

    with pytest.raises(AssertionError, match="survive a fork"), database.reading():
        pass


def test_failed_copy_of_the_log_frees_the_writer_lock(
    database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise sqlite.driver.OperationalError("disk I/O error")

    def replaced() -> None:
        raise DatabaseFileReplaced

    with database.writing():
        pass
    with monkeypatch.context() as patch:
        patch.setattr(database, "require_same_file", replaced)
        patch.setattr(database, "detach_log", fail)
        with pytest.raises(sqlite.driver.OperationalError), database.writing():
            pass

    with database.writing() as transaction:
        assert transaction.value("SELECT 1") == 1

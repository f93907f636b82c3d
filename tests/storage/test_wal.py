"""Checkpoints: on a thread, beside the writers; a bounded log; readers that keep it from being restarted."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from itertools import count, islice

import pytest

from engine.interface.database import DiskFailed
from engine.storage import sqlite, wal
from engine.storage.database import SqliteDatabase
from tests.durability.facts import names, put
from tests.support.waiting import until

pytestmark = pytest.mark.sqlite("a file's lock and log")

IN_BACKGROUND = pytest.mark.skipif(not sqlite.CHECKPOINTS_IN_BACKGROUND, reason="this SQLite checkpoints inside COMMIT")
TEXT = "x" * 60_000  # 15 pages
NUMBERS = count()


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints after few pages, restarts after few more, and no pauses."""
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 20)
    monkeypatch.setattr(wal, "RESTART_PAGES", 40)
    monkeypatch.setattr(wal, "POLL_SECONDS", 0.002)
    monkeypatch.setattr(wal, "RETRY_SECONDS", 0.05)


@pytest.fixture
def modes(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The mode of each checkpoint, and the name of its thread."""
    found: list[tuple[str, str]] = []
    run = wal.run

    def noted(connection: sqlite.Connection, mode: str) -> None:
        found.append((mode, threading.current_thread().name))
        run(connection, mode)

    monkeypatch.setattr(wal, "run", noted)
    return found


def write(database: SqliteDatabase, writes: int) -> None:
    """Write a text of 15 pages so many times, each time another: SQLite skips unchanged pages."""
    for number in islice(NUMBERS, writes):
        put(database, "long", f"{number:06}" * 10_000)


def pages(database: SqliteDatabase) -> tuple[int, int]:
    """The pages in the log, and those of them that are in the file."""
    with database.readers.checked_out() as connection:
        found = connection.pages_logged()
    assert found is not None
    return found


@contextlib.contextmanager
def overlapping_readers(database: SqliteDatabase) -> Iterator[None]:
    """Three threads that read so that a snapshot is open at every moment."""
    stop = threading.Event()

    def read(offset_seconds: float) -> None:
        time.sleep(offset_seconds)
        while not stop.is_set():
            with database.reading() as transaction:
                transaction.value("SELECT count(*) FROM facts")
                time.sleep(0.03)

    threads = [threading.Thread(target=read, args=(number * 0.01,)) for number in range(3)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@IN_BACKGROUND
@pytest.mark.usefixtures("quick")
def test_checkpoints_run_on_a_thread_and_never_in_a_commit(database, modes):
    write(database, 4)
    until(lambda: pages(database)[0] - pages(database)[1] < 20)

    assert modes
    assert {thread for _, thread in modes} == {"checkpoint"}
    with database.writers.checked_out() as connection:
        setting = connection.driver_connection.execute("PRAGMA wal_autocheckpoint").fetchone()
    assert setting == (0,)


@IN_BACKGROUND
@pytest.mark.usefixtures("quick")
def test_the_log_is_restarted_and_keeps_its_size(database):
    for _ in range(20):
        write(database, 10)
        until(lambda: pages(database)[0] - pages(database)[1] < 20)

    assert database.checkpointer.size() < 3 << 20  # 12 MiB were written


@IN_BACKGROUND
@pytest.mark.usefixtures("quick")
def test_the_log_is_bounded_with_overlapping_readers(database, monkeypatch):
    monkeypatch.setattr(wal, "LOG_BYTES_MAX", 1 << 20)
    with overlapping_readers(database):
        longest = 0
        for _ in range(150):
            write(database, 1)
            time.sleep(0.004)
            longest = max(longest, database.checkpointer.size())

    assert longest < 5 << 20  # 9 MiB were written


@pytest.mark.slow
@IN_BACKGROUND
@pytest.mark.usefixtures("quick")
def test_a_reader_that_never_ends_is_warned_of_once_and_the_log_is_truncated_afterwards(database, monkeypatch, caplog):
    monkeypatch.setattr(wal, "LOG_BYTES_MAX", 1 << 19)
    monkeypatch.setattr(wal, "LOG_BYTES_WARNED", 1 << 20)
    monkeypatch.setattr(wal, "CHECKPOINT_WAIT_SECONDS_MAX", 0.01)
    monkeypatch.setattr(wal, "RETRY_SECONDS", 0.0)

    for times in (1, 2):
        with contextlib.closing(sqlite.driver.connect(str(database.path))) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM facts").fetchone()
            for _ in range(40):
                write(database, 1)
                time.sleep(0.005)
            until(lambda: caplog.records[times - 1 :])  # noqa: B023
        warning = caplog.records[-1].getMessage()
        assert warning.startswith(f"{database.path}-wal has grown to ")
        assert "a reader keeps an old snapshot" in warning

        def is_truncated() -> bool:
            write(database, 1)
            return database.checkpointer.size() < 1 << 19

        until(is_truncated)
        until(lambda: not database.checkpointer.has_warned)
    assert len(caplog.records) == 2


@IN_BACKGROUND
def test_a_truncation_leaves_the_wait_for_locks_as_it_was(database):
    put(database, "any")
    with database.readers.checked_out() as connection:
        database.checkpointer.truncate(connection)

        found = connection.driver_connection.execute("PRAGMA busy_timeout").fetchone()
    assert found == (sqlite.BUSY_MILLISECONDS,)
    assert database.checkpointer.size() == 0


@IN_BACKGROUND
def test_the_thread_ends_without_commits_and_the_next_commit_starts_another(database, monkeypatch):
    monkeypatch.setattr(wal, "IDLE_SECONDS", 0.01)
    monkeypatch.setattr(wal, "POLL_SECONDS", 0.0)
    put(database, "one")
    first = database.checkpointer.thread
    until(lambda: database.checkpointer.thread is None)
    assert first is not None
    first.join(10)

    put(database, "two")
    until(lambda: database.checkpointer.thread is None)
    assert names(database) == ["one", "two"]


@IN_BACKGROUND
def test_close_ends_the_thread(database):
    put(database, "one")
    thread = database.checkpointer.thread
    assert thread is not None
    database.close()

    assert not thread.is_alive()
    assert database.checkpointer.thread is None


@IN_BACKGROUND
@pytest.mark.usefixtures("quick")
def test_close_waits_for_a_checkpoint_that_is_under_way(database, monkeypatch):
    began, may_end = threading.Event(), threading.Event()
    checkpoint = database.checkpointer.checkpoint

    def slow(connection: sqlite.Connection) -> None:
        began.set()
        assert may_end.wait(10)
        checkpoint(connection)

    monkeypatch.setattr(database.checkpointer, "checkpoint", slow)
    write(database, 4)
    thread = database.checkpointer.thread
    assert began.wait(10)
    closing = threading.Thread(target=database.close)
    closing.start()
    time.sleep(0.02)
    assert closing.is_alive()
    may_end.set()
    closing.join(10)

    assert thread is not None
    assert not thread.is_alive()


@IN_BACKGROUND
def test_a_stop_during_a_retry_does_not_wait_for_it(database, monkeypatch):
    monkeypatch.setattr(wal, "POLL_SECONDS", 0.0)
    monkeypatch.setattr(wal, "RETRY_SECONDS", 60.0)
    failed = threading.Event()

    def fail(connection: sqlite.Connection) -> None:
        failed.set()
        raise DiskFailed("the disk failed")

    monkeypatch.setattr(database.checkpointer, "checkpoint", fail)
    put(database, "one")
    thread = database.checkpointer.thread
    assert failed.wait(10)
    database.checkpointer.stop()

    assert thread is not None
    assert not thread.is_alive()


class LateEvent(threading.Event):
    """An event whose `wait` times out in the moment in which a stop sets it."""

    def __init__(self, checkpointer: wal.WalCheckpointer) -> None:
        super().__init__()
        self.checkpointer = checkpointer

    def wait(self, timeout: float | None = None) -> bool:
        self.set()
        self.checkpointer.written.set()
        return False


@IN_BACKGROUND
def test_a_stop_at_the_end_of_a_pause_is_not_missed(database, monkeypatch):
    monkeypatch.setattr(wal, "IDLE_SECONDS", 60.0)
    checkpointer = database.checkpointer
    checkpointer.stop()  # the thread of an earlier commit would clear `written`, too
    checkpointer.written.set()
    thread = threading.Thread(target=checkpointer.run, args=(LateEvent(checkpointer),), daemon=True)
    thread.start()
    thread.join(10)

    assert not thread.is_alive()


@IN_BACKGROUND
def test_starts_and_stops_beside_commits_leave_at_most_one_thread(database, monkeypatch):
    monkeypatch.setattr(wal, "IDLE_SECONDS", 0.001)
    monkeypatch.setattr(wal, "POLL_SECONDS", 0.0)
    checkpointer, stop = database.checkpointer, threading.Event()

    def note() -> None:
        while not stop.is_set():
            checkpointer.note_commit()

    noting = [threading.Thread(target=note) for _ in range(2)]
    for thread in noting:
        thread.start()
    for _ in range(50):
        checkpointer.stop()
    stop.set()
    for thread in noting:
        thread.join(10)
    checkpointer.stop()

    def is_over() -> bool:
        return not [each for each in threading.enumerate() if each.name == "checkpoint"]

    until(is_over)
    put(database, "after")
    assert names(database) == ["after"]


@IN_BACKGROUND
@pytest.mark.usefixtures("quick")
def test_a_failed_checkpoint_is_logged_and_hurts_no_commit(database, monkeypatch, caplog):
    plain = sqlite.driver.Connection.execute

    def execute(connection: sqlite.driver.Connection, sql: str, *arguments: object) -> object:
        if "PASSIVE" in sql:
            raise sqlite.driver.OperationalError("disk I/O error")
        return plain(connection, sql, *arguments)

    with monkeypatch.context() as patched:
        patched.setattr(sqlite.DriverConnection, "execute", execute, raising=False)
        write(database, 4)
        until(lambda: caplog.records)
        assert "a checkpoint failed: the disk failed" in caplog.records[0].getMessage()
        put(database, "kept")

    assert names(database) == ["kept", "long"]
    write(database, 1)
    until(lambda: pages(database)[0] - pages(database)[1] < 20)


@IN_BACKGROUND
def test_an_unknown_length_of_the_log_is_no_failure(database, monkeypatch, modes):
    monkeypatch.setattr(wal, "POLL_SECONDS", 0.0)
    asked = threading.Event()
    monkeypatch.setattr(sqlite.Connection, "pages_logged", lambda _: asked.set())
    put(database, "kept")

    assert asked.wait(10)
    assert modes == []
    assert names(database) == ["kept"]


def test_an_older_sqlite_is_not_asked_for_the_length_of_its_log(database, monkeypatch):
    """It would checkpoint the log."""
    put(database, "any")
    monkeypatch.setattr(sqlite.driver, "sqlite_version_info", (3, 50, 4))
    with database.writers.checked_out() as connection:
        assert connection.pages_logged() is None


def test_an_older_sqlite_checkpoints_inside_commit(database, monkeypatch, modes):
    database.close()
    monkeypatch.setattr(sqlite, "CHECKPOINTS_IN_BACKGROUND", False)
    monkeypatch.setattr(sqlite, "CHECKPOINT_PAGES", 20)
    write(database, 20)

    assert database.checkpointer.thread is None
    assert modes == []
    assert database.checkpointer.size() < 1 << 20  # 1.2 MiB were written
    with database.writers.checked_out() as connection:
        setting = connection.driver_connection.execute("PRAGMA wal_autocheckpoint").fetchone()
    assert setting == (20,)


def test_a_shutdown_copies_the_whole_log_into_the_file(database):
    write(database, 3)
    put(database, "kept")
    database.shut_down()

    assert database.checkpointer.size() == 0
    with contextlib.closing(sqlite.driver.connect(f"file:{database.path}?immutable=1", uri=True)) as file:
        assert file.execute("SELECT value FROM facts WHERE name = 'kept'").fetchall() == [("there",)]


@IN_BACKGROUND
@pytest.mark.usefixtures("quick")
def test_a_log_without_its_index_holds_every_commit_after_background_checkpoints(database, tmp_path):
    """What a power cut leaves: the file and the log, checkpointed in part."""
    for number in range(60):
        put(database, str(number), TEXT)
    left = tmp_path / "left"
    left.mkdir()
    database.checkpointer.stop()
    for name in ("walkthrough.db", "walkthrough.db-wal"):
        (left / name).write_bytes((tmp_path / name).read_bytes())

    with contextlib.closing(sqlite.driver.connect(str(left / "walkthrough.db"))) as file:
        assert file.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        (found,) = file.execute("SELECT count(*) FROM facts WHERE value = ?", (TEXT,)).fetchone()
    assert found == 60

"""The write-ahead log: how long it grows, who folds it, and the room that it is given ahead of what is written."""

import contextlib
import errno
import shutil
import threading
import time

import pytest

from engine.storage import sqlite
from engine.storage.database import Database
from models.sql import log
from tests.durability.facts import PUT
from tests.durability.facts import names
from tests.durability.facts import put


def overlapping_readers(database: Database, stop: threading.Event) -> list[threading.Thread]:
    """Readers of which there is one in every moment."""

    def read(offset_seconds: float) -> None:
        time.sleep(offset_seconds)
        while not stop.is_set():
            with database.reading() as transaction:
                transaction.value("SELECT count(*) FROM facts")
                time.sleep(0.03)

    threads = [threading.Thread(target=read, args=(n * 0.01,)) for n in range(3)]
    for thread in threads:
        thread.start()
    return threads


def longest_log(database: Database, writes: int) -> int:
    stop, longest = threading.Event(), 0
    threads = overlapping_readers(database, stop)
    try:
        for number in range(writes):
            put(database, "long", f"{number:06}" * 10_000)
            longest = max(longest, database.log.size())
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    return longest


def test_the_log_is_bounded_though_somebody_always_reads(database, monkeypatch):
    monkeypatch.setattr(log, "PAGES_MAX", log.PAGES_MIN)
    monkeypatch.setattr(log, "LOG_BYTES_LOOK", 1 << 20)
    monkeypatch.setattr(log, "ZEROS", bytes(1 << 16))
    monkeypatch.setattr(log, "RETRY_SECONDS", 0.05)
    bounded = longest_log(database, 120)
    monkeypatch.setattr(log.Log, "bound", lambda *_: None)
    unbounded = longest_log(database, 120)

    assert bounded < 3 << 20
    assert unbounded > 6 << 20


def test_a_log_that_grows_beside_a_reader_that_never_ends_is_told_once(
    database, monkeypatch, caplog
):
    """The disk would fill, and nobody know by whom: a copy that is streamed away, a shell that was left open."""
    monkeypatch.setattr(log, "LOG_BYTES_LOOK", 1 << 19)
    monkeypatch.setattr(log, "LOG_BYTES_TOLD", 1 << 20)
    monkeypatch.setattr(log, "ZEROS", bytes(1 << 16))
    monkeypatch.setattr(log, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(log, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(log, "FOLD_MILLISECONDS", 1)
    path = f"{database.path}-wal"

    for times in (1, 2):
        with contextlib.closing(sqlite.driver.connect(str(database.path))) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM facts").fetchone()
            for number in range(40):
                put(database, "long", f"{number:06}" * 10_000)
            assert database.log.size() > 1 << 20
            told = [record.getMessage() for record in caplog.records]
            assert len(told) == times
            assert told[-1].startswith(f"{path} has grown to 1 MiB, and cannot be folded")
        for _ in range(2):
            put(database, "long", "folded")
        assert database.log.size() < 1 << 19


def folds_after(database: Database) -> int:
    with database.connections.checked_out(database.writer) as connection:
        found = connection.driver_connection.execute("PRAGMA wal_autocheckpoint").fetchone()
    return int(found[0])


@pytest.mark.parametrize(
    ("seconds", "pages"),
    [(0.001, log.PAGES_MIN * log.GROWTH_MAX), (0.05, 2_000), (2.0, log.PAGES_MIN)],
    ids=["quick", "slower", "a memory card"],
)
def test_a_disk_is_given_as_much_to_write_back_at_once_as_it_does_in_a_moment(
    database, monkeypatch, seconds, pages
):
    """To write a thousand pages back takes a memory card a second, in which nobody else writes."""
    put(database, "any")
    monkeypatch.setattr(database.pace, "note", lambda *_: seconds)
    put(database, "no fold", "x" * 1_000_000)
    assert folds_after(database) == log.PAGES_MIN

    put(database, "a fold", "x" * 4_096 * 1_000)
    assert folds_after(database) == pytest.approx(pages, rel=0.4)
    assert log.PAGES_MIN <= folds_after(database) <= log.PAGES_MIN * log.GROWTH_MAX


def test_bodies_that_fold_the_log_one_after_the_other_are_learned_from(database, monkeypatch):
    """Each of them looked as usual, and the log was folded after each for good."""
    learn, asked = log.Log.learn, []
    monkeypatch.setattr(log.Log, "learn", lambda *given: (asked.append(given[2]), learn(*given))[1])
    put(database, "any")
    monkeypatch.setattr(log, "FOLD_SECONDS", 3_600.0)  # however slow the disk
    for body in range(3):
        with database.writing() as transaction:
            for row in range(300):
                transaction.run(PUT, (f"{body} {row}", "x" * 4_096 * 4))

    assert len(asked) >= 3
    assert min(asked) > 0
    assert database.log.pages == log.PAGES_MIN * log.GROWTH_MAX


def test_what_a_disk_is_given_at_once_has_a_bound_and_falls_again(database, monkeypatch):
    folded = iter([1_000, 4_000, 16_000, 16_000, 16_000])
    monkeypatch.setattr(sqlite.Connection, "pages_logged", lambda _: (next(folded),) * 2)

    found = []
    for seconds in (0.001, 0.004, 0.016, 0.5, 60.0):
        with database.connections.checked_out(database.writer) as connection:
            database.log.learn(connection, seconds)
        found.append(database.log.pages)

    assert found == [4_000, log.PAGES_MAX, log.PAGES_MAX, 3_200, log.PAGES_MIN]


def test_an_older_sqlite_is_not_asked_how_long_its_log_is(database, monkeypatch):
    """It would fold it."""
    put(database, "any")
    monkeypatch.setattr(sqlite.driver, "sqlite_version_info", (3, 50, 4))
    with database.connections.checked_out(database.writer) as connection:
        assert connection.pages_logged() is None
        monkeypatch.setattr(sqlite.driver, "sqlite_version_info", (3, 51, 0))
        question = "PRAGMA wal_checkpoint(NOOP)"
        _, pages, in_file = connection.driver_connection.execute(question).fetchone()
    assert (pages > 0, in_file) == (True, 0)


def test_a_commit_stands_though_the_log_tells_nothing(database, monkeypatch):
    monkeypatch.setattr(database.pace, "note", lambda *_: 1.0)
    plain = sqlite.driver.Connection.execute

    def execute(connection: sqlite.driver.Connection, sql: str, *arguments: object) -> object:
        if "NOOP" in sql:
            raise sqlite.driver.OperationalError("disk I/O error")
        return plain(connection, sql, *arguments)

    monkeypatch.setattr(sqlite.DriverConnection, "execute", execute, raising=False)
    put(database, "kept")
    assert names(database) == ["kept"]
    assert folds_after(database) == log.PAGES_MIN


def logged(database: Database) -> int:
    """How far into its file the log goes."""
    with database.connections.checked_out(database.writer) as connection:
        found = connection.pages_logged()
    if found is None:
        pytest.skip("SQLite before 3.51 does not tell how long its log is")
    return log.HEAD_BYTES + found[0] * log.PAGE_BYTES


@pytest.fixture
def quick(database: Database, monkeypatch) -> Database:
    """On a disk that is quick, whatever this one is."""
    monkeypatch.setattr(database.pace, "note", lambda *_: 0.0)
    database.pace.seconds = 0.0
    return database


def test_small_writes_find_the_log_as_long_as_they_need(quick):
    """A sync of a file that has become longer takes half as long again."""
    lengths = []
    for number in range(90):
        put(quick, str(number), "x" * 12_000)
        lengths.append(quick.log.size())
        assert logged(quick) + log.ROOM_PAGES * log.PAGE_BYTES <= lengths[-1]

    assert logged(quick) > len(log.ZEROS)
    assert lengths.count(lengths[0]) > 10, "few writes make it longer"


def test_the_log_is_made_no_longer_than_it_gets(quick, monkeypatch):
    monkeypatch.setattr(log, "PAGES_MAX", log.PAGES_MIN)
    for number in range(400):
        put(quick, "same", f"{number:06}" * 2_000)

    enough = log.HEAD_BYTES + log.PAGES_MIN * log.PAGE_BYTES
    assert enough <= quick.log.size() < enough + 2 * len(log.ZEROS)

    monkeypatch.setattr(sqlite.Connection, "pages_logged", lambda _: pytest.fail("is asked again"))
    put(quick, "last")


def test_a_log_that_cannot_be_folded_is_made_no_longer_than_it_needs_to_be(
    quick, tmp_path, monkeypatch
):
    """Somebody who reads for long keeps it from being folded, try after try."""
    monkeypatch.setattr(log, "LOG_BYTES_LOOK", 1 << 20)
    monkeypatch.setattr(log, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(log, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(log, "FOLD_MILLISECONDS", 1)
    path = tmp_path / "walkthrough.db"
    with contextlib.closing(sqlite.driver.connect(str(path), isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM facts").fetchall()
        for number in range(20):
            put(quick, str(number), "x" * 12_000)
        assert quick.log.size() < logged(quick) + 2 * len(log.ZEROS)
        reader.execute("ROLLBACK")


def test_a_process_that_finds_the_log_long_enough_leaves_it_so(quick):
    """Others have made room, or did before it was started anew."""
    put(quick, "first")
    before = quick.log.size()
    quick.log.length = 0
    put(quick, "second")
    assert quick.log.size() == before


@pytest.mark.parametrize("why", ["a slow disk", "many rows", "an older SQLite", "a full disk"])
def test_nothing_is_written_ahead_where_it_does_not_help(database, monkeypatch, why):
    with database.connections.checked_out(database.writer) as connection:
        database.log.fold(connection)
    assert database.log.size() == 0
    monkeypatch.setattr(database.pace, "note", lambda *_: 0.0)
    database.pace.seconds = 1.0 if why == "a slow disk" else 0.0
    if why == "an older SQLite":
        monkeypatch.setattr(sqlite.driver, "sqlite_version_info", (3, 50, 4))
    if why == "a full disk":
        monkeypatch.setattr(log.os, "write", full)
    with database.writing() as transaction:
        for row in range(log.ROOM_PAGES * 2 if why == "many rows" else 1):
            transaction.run(PUT, (str(row), "kept"))

    monkeypatch.undo()
    assert database.log.size() == logged(database)
    assert "0" in names(database)


def full(*_: object) -> int:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_zeros_are_never_written_over_what_somebody_else_wrote(quick, tmp_path, monkeypatch):
    """Another program may write between the look at the log and the zeros: it knows nothing of our turns."""
    path = tmp_path / "walkthrough.db"
    told = log.Log.size
    other = contextlib.closing(sqlite.driver.connect(str(path), isolation_level=None))

    def looked(mine: log.Log) -> int:
        found = told(mine)
        with other as writing:
            writing.execute("PRAGMA synchronous = FULL")
            writing.execute(PUT, ("other", "y" * 3_000_000))
        return found

    put(quick, "first")
    with quick.connections.checked_out(quick.writer) as connection:
        quick.log.fold(connection)
    with monkeypatch.context() as planted:
        planted.setattr(log.Log, "size", looked)
        quick.log.look_at = float("inf")
        put(quick, "ours")
    put(quick, "last")

    left = tmp_path / "left"
    left.mkdir()
    for name in (
        "walkthrough.db",
        "walkthrough.db-wal",
    ):  # and no index of the log: it is read anew
        shutil.copy(tmp_path / name, left / name)
    with contextlib.closing(sqlite.driver.connect(str(left / path.name))) as found:
        assert found.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        rows = found.execute("SELECT name, length(value) FROM facts").fetchall()
    assert {"first": 5, "ours": 5, "last": 5, "other": 3_000_000}.items() <= dict(rows).items()


def test_a_log_of_nothing_but_zeros_is_an_empty_one(quick, tmp_path):
    put(quick, "kept")
    quick.shut_down()
    (tmp_path / "walkthrough.db-wal").write_bytes(log.ZEROS)

    with contextlib.closing(sqlite.driver.connect(str(tmp_path / "walkthrough.db"))) as found:
        assert found.execute("SELECT value FROM facts WHERE name = 'kept'").fetchall() == [
            ("there",)
        ]

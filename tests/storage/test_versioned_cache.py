"""The versioned cache: size limits, one computation for concurrent calls, and what a transaction caches."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from engine.interface import versioned_cache as module
from engine.interface.versioned_cache import VersionedCache
from engine.storage.database import SqliteDatabase
from engine.storage.sqlite import driver
from inspections.reporting.chart import Chart, Interval, Point, size_of_chart
from tests.support.waiting import until

# Entries


def computed(cache: VersionedCache, version: int | None, *keys: object) -> list[object]:
    """The keys whose values were computed, in that order."""
    found: list[object] = []
    for key in keys:
        cache.get(version, key, lambda key=key: found.append(key))
    return found


def test_an_entry_answers_its_own_version_only() -> None:
    cache = VersionedCache()
    computations: list[int] = []

    values = [
        cache.get(version, "key", lambda version=version: computations.append(version) or version)
        for version in (1, 1, 2, 2, 1)
    ]

    assert values == [1, 1, 2, 2, 1]
    assert computations == [1, 2, 1]
    assert len(cache.entries) == 1


def test_empty_values_are_cached() -> None:
    cache = VersionedCache()
    for _ in range(2):
        assert cache.get(1, "list", list) == []

    assert computed(cache, 1, "none", "none") == ["none"]


def test_the_least_recently_used_entry_is_evicted_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHE_BYTES_MAX", 3_500)
    cache, row = VersionedCache(), "x" * 1_000
    for key in ("a", "b", "a", "c"):
        cache.get(1, key, lambda: [row])

    assert list(cache.entries) == ["a", "c"]
    assert cache.bytes <= 3_500


@pytest.mark.parametrize("rows", [[], ["row"]])
def test_keys_count_towards_the_bound(rows: list[str]) -> None:
    cache = VersionedCache()
    for number in range(20_000):
        cache.get(1, ("statement", "x" * 500, number), lambda: rows)

    assert len(cache.entries) * 1_000 <= module.CACHE_BYTES_MAX


def test_a_large_value_is_returned_and_not_cached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ENTRY_BYTES_MAX", 1_000)
    cache = VersionedCache()

    assert cache.get(1, "key", lambda: ["x" * 600]) == ["x" * 600]
    assert (cache.entries, cache.bytes) == ({}, 0)


def test_a_large_value_replaces_the_entry_of_an_older_version(monkeypatch: pytest.MonkeyPatch) -> None:
    cache = VersionedCache()
    cache.get(1, "key", lambda: ["small"])
    monkeypatch.setattr(module, "ENTRY_BYTES_MAX", 0)
    cache.get(2, "key", lambda: ["large"])

    assert (cache.entries, cache.bytes) == ({}, 0)


def test_the_bytes_are_those_of_the_entries() -> None:
    cache = VersionedCache()
    for version in (1, 2, 2, 1):
        cache.get(version, "key", lambda version=version: ["x" * version])
    cache.get(1, "other", lambda: 5, lambda value: value)

    assert cache.bytes == sum(entry.size for entry in cache.entries.values())
    cache.clear()
    assert (cache.entries, cache.bytes) == ({}, 0)


def test_a_chart_of_a_thousand_statuses_is_too_large_for_the_cache() -> None:
    def chart_of(statuses: Iterable[str]) -> Chart:
        counted = dict.fromkeys(statuses, 1)
        series = [Point("2025-05-05", len(counted), counted)]
        return Chart("2025-05-05", "2025-05-05", Interval.DAY, series, [])

    assert size_of_chart(chart_of(["completed", "none"])) < 1_000
    assert size_of_chart(chart_of(f"{number:04}" * 50 for number in range(1_000))) > module.ENTRY_BYTES_MAX


# Concurrent calls


class ComputationFailed(Exception):
    """The first computation fails."""


class Slow:
    """A function whose calls return when their event is set: the number of the call."""

    def __init__(self, *, fails: bool = False) -> None:
        self.fails = fails  # the first call
        self.calls: list[int] = []
        self.may_end = [threading.Event() for _ in range(8)]
        self.mutex = threading.Lock()

    def __call__(self) -> str:
        with self.mutex:
            number = len(self.calls)
            self.calls.append(number)
        assert self.may_end[number].wait(10)
        if number == 0 and self.fails:
            raise ComputationFailed
        return f"value {number}"


def start(cache: VersionedCache, version: int, slow: Slow, pool: ThreadPoolExecutor) -> Future[str]:
    return pool.submit(cache.get, version, "key", slow)


@pytest.mark.parametrize("entry_bytes_max", [module.ENTRY_BYTES_MAX, 0], ids=["cached", "large"])
def test_concurrent_calls_compute_once(monkeypatch: pytest.MonkeyPatch, entry_bytes_max: int) -> None:
    monkeypatch.setattr(module, "ENTRY_BYTES_MAX", entry_bytes_max)
    cache, slow = VersionedCache(), Slow()
    with ThreadPoolExecutor(8) as pool:
        calls = [start(cache, 1, slow, pool) for _ in range(8)]
        until(lambda: slow.calls == [0] and pool._work_queue.empty())
        assert cache.get(1, "another key", lambda: "at once") == "at once"
        slow.may_end[0].set()

        assert [call.result(10) for call in calls] == ["value 0"] * 8
    assert slow.calls == [0]
    assert cache.computing == {}


def test_a_newer_version_does_not_wait_for_an_older_one() -> None:
    cache, slow = VersionedCache(), Slow()
    with ThreadPoolExecutor(2) as pool:
        older = start(cache, 1, slow, pool)
        until(lambda: slow.calls == [0])
        newer = start(cache, 2, slow, pool)
        slow.may_end[1].set()

        assert newer.result(10) == "value 1"
        slow.may_end[0].set()
        assert older.result(10) == "value 0"
    assert cache.get(2, "key", lambda: "computed") == "computed"


def test_calls_that_wait_for_a_failing_computation_compute_themselves() -> None:
    cache, slow = VersionedCache(), Slow(fails=True)
    with ThreadPoolExecutor(4) as pool:
        first = start(cache, 1, slow, pool)
        until(lambda: slow.calls == [0])
        others = [start(cache, 1, slow, pool) for _ in range(3)]
        for event in slow.may_end:
            event.set()

        with pytest.raises(ComputationFailed):
            first.result(10)
        assert all(call.result(10).startswith("value ") for call in others)
    assert cache.computing == {}
    assert cache.get(1, "key", lambda: "after") in ("after", "value 1", "value 2", "value 3")


def test_a_call_that_has_waited_as_long_as_a_read_may_take_computes_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WAIT_SECONDS_MAX", 0.05)
    cache, slow = VersionedCache(), Slow()
    with ThreadPoolExecutor(2) as pool:
        first = start(cache, 1, slow, pool)
        until(lambda: slow.calls == [0])
        slow.may_end[1].set()

        assert start(cache, 1, slow, pool).result(10) == "value 1"
        slow.may_end[0].set()
        assert first.result(10) == "value 0"


# Transactions

FILE_ONLY = pytest.mark.sqlite("a server has no data version")


class BuildingCount:
    """The number of buildings, and how often it was computed."""

    def __init__(self) -> None:
        self.computations = 0

    def read(self, database: SqliteDatabase, *, writing: bool = False) -> int:
        with database.writing() if writing else database.reading() as transaction:

            def compute() -> int:
                self.computations += 1
                count: int = transaction.value("SELECT count(*) FROM buildings")
                return count

            found: int = transaction.cached("buildings", compute)
            return found


@pytest.fixture
def count() -> BuildingCount:
    return BuildingCount()


@FILE_ONLY
def test_snapshots_of_one_version_share_a_value(filled: SqliteDatabase, count: BuildingCount) -> None:
    assert [count.read(filled) for _ in range(3)] == [6, 6, 6]
    with filled.reading() as transaction:  # a second connection, its first snapshot
        assert transaction.version is not None
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(count.read, filled).result(10) == 6

    assert count.computations == 1


@FILE_ONLY
@pytest.mark.parametrize("by", ["this process", "another program"])
def test_a_commit_is_seen_by_the_next_snapshot(filled: SqliteDatabase, count: BuildingCount, by: str) -> None:
    count.read(filled)
    if by == "this process":
        with filled.writing() as transaction:
            transaction.run("DELETE FROM buildings WHERE id = 6")
    else:
        other = driver.connect(str(filled.path), isolation_level=None)
        other.execute("DELETE FROM buildings WHERE id = 6")
        other.close()

    assert [count.read(filled) for _ in range(2)] == [5, 5]
    assert count.computations == 2


@FILE_ONLY
def test_a_rolled_back_write_changes_no_version(filled: SqliteDatabase, count: BuildingCount) -> None:
    with filled.writing():
        pass  # the first connection that writes updates its statistics
    count.read(filled)
    with filled.writing() as transaction:
        transaction.run("DELETE FROM buildings WHERE id = 6")
        transaction.roll_back_at_end()

    assert count.read(filled) == 6
    assert count.computations == 1


@FILE_ONLY
def test_an_older_snapshot_keeps_its_value(filled: SqliteDatabase) -> None:
    def read(transaction: object) -> int:
        return transaction.cached("buildings", lambda: transaction.value("SELECT count(*) FROM buildings"))

    with filled.readers.checked_out() as connection:
        pass
    with filled.reading() as older:
        assert older.connection is connection
        before = read(older)
        with filled.writers.checked_out() as writer:
            writer.driver_connection.execute("DELETE FROM buildings WHERE id = 6")
        with ThreadPoolExecutor(1) as pool:
            newer = pool.submit(lambda: snapshot_of(filled, read)).result(10)
        assert (before, newer, read(older)) == (6, 5, 6)

    assert snapshot_of(filled, read) == 5


def snapshot_of(database: SqliteDatabase, read: Callable) -> int:
    with database.reading() as transaction:
        found: int = read(transaction)
        return found


@FILE_ONLY
def test_a_write_transaction_caches_nothing(filled: SqliteDatabase, count: BuildingCount) -> None:
    """Its values may be rolled back; its next audit line may be that of another change."""
    count.read(filled)
    cached = dict(filled.cache.entries)
    with filled.writing() as transaction:
        transaction.run("DELETE FROM buildings WHERE id = 6")
        assert transaction.cached("buildings", lambda: 5) == 5
        transaction.roll_back_at_end()

    assert filled.cache.entries == cached
    assert count.read(filled, writing=True) == 6
    assert count.computations == 2


# The connections of a pool


def test_a_connection_serves_the_next_request(filled: SqliteDatabase) -> None:
    used = []
    for _ in range(3):
        with filled.readers.checked_out() as connection:
            used.append(connection)

    assert len(set(map(id, used))) == 1
    assert len(filled.readers.idle) == 1


def test_two_requests_at_once_have_two_connections(filled: SqliteDatabase) -> None:
    with filled.readers.checked_out() as one, filled.readers.checked_out() as other:
        assert one is not other

    assert len(filled.readers.idle) == 2


def test_a_connection_that_another_thread_takes_first_is_no_error(filled: SqliteDatabase) -> None:
    class TakenMeanwhile(deque):
        def __bool__(self) -> bool:
            return True

    filled.readers.idle = TakenMeanwhile()
    with filled.readers.checked_out() as connection:
        assert connection.driver_connection.execute("SELECT 1").fetchone() == (1,)


def test_a_broken_connection_is_not_reused(filled: SqliteDatabase) -> None:
    with filled.readers.checked_out() as connection:
        connection.broken = True

    assert not filled.readers.idle


def test_close_leaves_no_connection_open(filled: SqliteDatabase) -> None:
    with filled.readers.checked_out() as connection:
        pass
    filled.close()

    assert not filled.readers.idle
    with pytest.raises(driver.ProgrammingError):
        connection.driver_connection.execute("SELECT 1")

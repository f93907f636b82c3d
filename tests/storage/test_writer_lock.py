"""The writer lock: first come, first served in a process; runs of bounded length between processes; a deadline.

Two `WriterLock`s over one file are to each other as two processes are: each opens the file itself.
"""

from __future__ import annotations

import errno
import multiprocessing
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from engine.interface.database import DiskFailed, LockTimeout
from engine.storage import writer_lock
from engine.storage.writer_lock import WriterLock
from tests.support.waiting import until

pytestmark = pytest.mark.sqlite("a file's lock and log")

FOREVER = 30.0  # a test that hangs fails after this time
THREADS = 16  # of each of two processes
ROUNDS = 12
HOLD_SECONDS = 0.001


class Holders:
    """Threads that hold the lock one after another, and the order in which they had it."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.threads: list[threading.Thread] = []

    def enqueue(self, name: str, lock: WriterLock) -> None:
        before = len(lock.waiting)
        is_head = not lock.is_held
        thread = threading.Thread(target=self.hold, args=(name, lock))
        thread.start()
        self.threads.append(thread)
        until(lambda: lock.blocked is not None if is_head else len(lock.waiting) > before)

    def hold(self, name: str, lock: WriterLock) -> None:
        with lock.held(FOREVER):
            self.order.append(name)

    def finish(self) -> list[str]:
        for thread in self.threads:
            thread.join(FOREVER)
        return self.order


@pytest.fixture
def ours(tmp_path: Path) -> WriterLock:
    return WriterLock(tmp_path / "lock")


@pytest.fixture
def theirs(tmp_path: Path) -> WriterLock:
    return WriterLock(tmp_path / "lock")


def test_threads_of_one_process_get_the_lock_in_their_order(ours: WriterLock) -> None:
    holders = Holders()
    with ours.held(FOREVER):
        for number in range(8):
            holders.enqueue(str(number), ours)

    assert holders.finish() == [str(number) for number in range(8)]


def test_the_file_lock_stays_in_one_process_for_a_run(
    monkeypatch: pytest.MonkeyPatch, ours: WriterLock, theirs: WriterLock
) -> None:
    monkeypatch.setattr(writer_lock, "RUN_SECONDS_MAX", FOREVER)
    holders = Holders()

    with ours.held(FOREVER):
        holders.enqueue("theirs", theirs)
        for number in range(5):
            holders.enqueue(f"ours {number}", ours)

    assert holders.finish() == [*(f"ours {number}" for number in range(5)), "theirs"]


def test_the_end_of_a_run_gives_the_file_lock_to_another_process(
    monkeypatch: pytest.MonkeyPatch, ours: WriterLock, theirs: WriterLock
) -> None:
    monkeypatch.setattr(writer_lock, "RUN_SECONDS_MAX", -1.0)
    monkeypatch.setattr(writer_lock, "YIELD_SECONDS", 0.2)
    holders = Holders()

    with ours.held(FOREVER):
        holders.enqueue("theirs", theirs)
        holders.enqueue("ours", ours)

    assert holders.finish() == ["theirs", "ours"]


def test_a_process_without_waiting_threads_never_yields(monkeypatch: pytest.MonkeyPatch, ours: WriterLock) -> None:
    monkeypatch.setattr(writer_lock, "RUN_SECONDS_MAX", -1.0)
    monkeypatch.setattr(writer_lock, "YIELD_SECONDS", FOREVER)

    for _ in range(5):
        with ours.held(1.0):
            pass


def test_the_file_lock_is_free_once_no_thread_waits(ours: WriterLock, theirs: WriterLock) -> None:
    holders = Holders()
    with ours.held(FOREVER):
        holders.enqueue("ours", ours)
    holders.finish()

    with theirs.held(0.0):
        assert not ours.has_file_lock


def test_a_waiter_that_times_out_leaves_the_lock_to_others(ours: WriterLock, theirs: WriterLock) -> None:
    with ours.held(FOREVER):
        with pytest.raises(LockTimeout), ours.held(0.01):
            pass
        with pytest.raises(LockTimeout), theirs.held(0.01):
            pass

    with theirs.held(1.0):  # the blocked thread of the one that gave up frees what it gets
        assert not ours.is_held


def test_a_wait_that_timed_out_is_taken_over_by_the_next_head(ours: WriterLock, theirs: WriterLock) -> None:
    holders = Holders()
    with theirs.held(FOREVER):
        with pytest.raises(LockTimeout), ours.held(0.01):
            pass
        blocked = ours.blocked
        holders.enqueue("ours", ours)
        assert ours.blocked is blocked

    assert holders.finish() == ["ours"]
    assert theirs.try_to_lock_file()


def test_a_block_that_raises_releases_the_lock(ours: WriterLock, theirs: WriterLock) -> None:
    with pytest.raises(ZeroDivisionError), ours.held(FOREVER):
        raise ZeroDivisionError

    with theirs.held(0.0), pytest.raises(LockTimeout), ours.held(0.01):
        pass
    assert not ours.is_held


def test_close_frees_the_file_lock(ours: WriterLock, theirs: WriterLock) -> None:
    ours.acquire(FOREVER)
    ours.close()

    with theirs.held(1.0):
        pass


def test_a_thread_that_blocks_during_close_leaves_other_descriptors_alone(
    ours: WriterLock, theirs: WriterLock, tmp_path: Path
) -> None:
    """The number of the closed descriptor may be another file's, with a lock of its own."""
    with theirs.held(FOREVER):
        with pytest.raises(LockTimeout), ours.held(0.01):
            pass
        number, blocked = ours.descriptor, ours.blocked
        assert blocked is not None
        ours.close()
        others = [WriterLock(tmp_path / "other-0")]
        others[0].acquire(FOREVER)
        while others[-1].descriptor != number:  # lower numbers may be free
            others.append(WriterLock(tmp_path / f"other-{len(others)}"))
            others[-1].acquire(FOREVER)

    until(lambda: ours.blocked is None)
    with pytest.raises(LockTimeout), WriterLock(others[-1].path).held(0.01):
        pass
    for other in others:
        other.release()


def test_a_file_that_cannot_be_locked_is_reported_and_the_lock_stays_free(
    monkeypatch: pytest.MonkeyPatch, ours: WriterLock
) -> None:
    here, lock_file = threading.current_thread(), writer_lock.fcntl.flock

    def refuse(descriptor: int, operation: int) -> None:
        if threading.current_thread() is not here:  # a helper thread of an earlier test
            return lock_file(descriptor, operation)
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patched:
        patched.setattr(writer_lock.fcntl, "flock", refuse)
        with pytest.raises(DiskFailed, match="No locks available"), ours.held(FOREVER):
            pass

    with ours.held(0.0):
        pass


def test_hand_over_reaches_only_a_head_that_joins(ours: WriterLock) -> None:
    def wait(*, joins: bool) -> threading.Thread:
        before = len(ours.waiting)
        thread = threading.Thread(target=lambda: (ours.acquire(FOREVER, joins=joins), ours.release()))
        thread.start()
        until(lambda: len(ours.waiting) > before)
        return thread

    ours.acquire(FOREVER)
    assert not ours.hand_over()
    threads = [wait(joins=False), wait(joins=True)]
    assert not ours.hand_over()
    ours.release()
    for thread in threads:
        thread.join(FOREVER)
    assert not ours.is_held


def write_often(path: Path, start: float) -> list[float]:
    """The waits of THREADS threads that hold the lock again and again, in seconds."""
    lock = WriterLock(path)

    def write() -> list[float]:
        waits = []
        for _ in range(ROUNDS):
            began = time.monotonic()
            with lock.held(FOREVER):
                waits.append(time.monotonic() - began)
                time.sleep(HOLD_SECONDS)
        return waits

    time.sleep(max(0.0, start - time.monotonic()))
    with ThreadPoolExecutor(THREADS) as pool:
        runs = [pool.submit(write) for _ in range(THREADS)]
        return [seconds for run in runs for seconds in run.result()]


def test_no_writer_of_two_processes_starves(tmp_path: Path) -> None:
    """32 writers over two processes; no wait lasts a second."""
    path, start = tmp_path / "lock", time.monotonic() + 1.0
    with multiprocessing.get_context("spawn").Pool(2) as processes:
        runs = [processes.apply_async(write_often, (path, start)) for _ in range(2)]
        waits = [run.get(FOREVER) for run in runs]

    assert [len(each) for each in waits] == [THREADS * ROUNDS] * 2
    longest = [max(each) for each in waits]
    print(f"longest waits {longest}")
    assert max(longest) < 1.0

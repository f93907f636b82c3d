"""Group commit: waiting writes share a COMMIT; each is atomic, and none is answered before the COMMIT returns."""

import threading
import time
from contextlib import suppress
from dataclasses import replace

import pytest

from engine.interface.database import DiskFailed, DiskFull, Locked, LockTimeout, NotCommitted, TimedOut, Transaction
from engine.query.catalog import UniqueViolation
from engine.storage import writer_lock
from tests.storage.writers import COSTLY_WRITE, FOREVER, INSERT, Work, first, insert, names
from tests.support.waiting import until

pytestmark = pytest.mark.sqlite("a file's lock and log")


def test_waiting_writers_join_the_commit_of_the_lock_holder(database, disk, writers):
    with first(database):
        for name in ("a", "b", "c"):
            writers.enqueue(name)

    assert writers.finish() == {"a": None, "b": None, "c": None}
    assert names(database) == ["a", "b", "c", "first"]
    assert disk.commits == 1


def test_a_single_writer_commits_alone(database, disk, writers):
    for name in ("a", "b"):
        with first(database, name):
            pass

    assert disk.commits == 2
    assert names(database) == ["a", "b"]


def test_no_member_returns_before_the_commit(database, disk, writers):
    disk.may_end.clear()
    may_go_on = threading.Event()

    def hold(transaction: Transaction) -> None:
        transaction.run(INSERT, ("a",))
        assert may_go_on.wait(FOREVER)

    writers.start("a", hold)
    until(lambda: database.writer_lock.has_file_lock)
    writers.enqueue("b")
    writers.enqueue("refused", insert("a"))  # a second one of that name
    may_go_on.set()
    assert disk.begun.wait(FOREVER)
    time.sleep(0.05)  # in which a member could return
    assert writers.results == {}
    assert names(database) == []

    disk.may_end.set()
    results = writers.finish()
    assert results["a"] is results["b"] is None
    assert isinstance(results["refused"], UniqueViolation)
    assert names(database) == ["a", "b"]


def test_a_refusal_waits_for_the_commit_and_reports_its_failure(database, disk, writers):
    disk.failure = "disk I/O error"
    with pytest.raises(DiskFailed), first(database):
        writers.enqueue("refused", insert("first"))

    assert isinstance(writers.finish()["refused"], DiskFailed)
    assert names(database) == []


def test_a_failed_member_is_rolled_back_alone(database, disk, writers):
    def fail(transaction: Transaction) -> None:
        transaction.run(INSERT, ("half",))
        raise ZeroDivisionError

    with first(database):
        writers.enqueue("a")
        writers.enqueue("half", fail)
        writers.enqueue("b")

    results = writers.finish()
    assert isinstance(results.pop("half"), ZeroDivisionError)
    assert results == {"a": None, "b": None}
    assert names(database) == ["a", "b", "first"]
    assert disk.commits == 1


def test_a_member_with_tx_rollback_leaves_nothing(database, disk, writers):
    def doomed(transaction: Transaction) -> None:
        transaction.run(INSERT, ("doomed",))
        transaction.roll_back_at_end()

    with first(database):
        writers.enqueue("doomed", doomed)
        writers.enqueue("a")

    assert writers.finish() == {"doomed": None, "a": None}
    assert names(database) == ["a", "first"]


def test_a_member_that_swallows_an_error_is_not_committed_and_the_others_are(database, disk, writers):
    def swallow(transaction: Transaction) -> None:
        transaction.run(INSERT, ("half",))
        with suppress(OverflowError):
            transaction.run(INSERT, (2**70,))

    with first(database):
        writers.enqueue("half", swallow)
        writers.enqueue("a")

    results = writers.finish()
    assert isinstance(results["half"], NotCommitted)
    assert results["a"] is None
    assert names(database) == ["a", "first"]


def test_a_first_member_that_fails_passes_the_lock_on(database, disk, writers):
    with pytest.raises(ZeroDivisionError), first(database):  # noqa: PT012
        writers.enqueue("a")
        writers.enqueue("b")
        raise ZeroDivisionError

    assert writers.finish() == {"a": None, "b": None}
    assert names(database) == ["a", "b"]
    assert disk.commits == 1


@pytest.mark.parametrize(("words", "fact"), [("disk I/O error", DiskFailed), ("database or disk is full", DiskFull)])
def test_a_failed_commit_is_reported_to_each_member_and_leaves_nothing(database, disk, writers, words, fact):
    disk.failure = words
    with pytest.raises(fact), first(database):  # noqa: PT012
        for name in ("a", "b"):
            writers.enqueue(name)

    results = writers.finish()
    assert {name: type(each) for name, each in results.items()} == {"a": fact, "b": fact}
    assert results["a"] is not results["b"]
    assert names(database) == []
    assert database.last_write_failed

    disk.failure = None
    with first(database, "after"):
        pass
    assert names(database) == ["after"]
    assert not database.last_write_failed


def test_a_member_that_loses_the_transaction_reports_why_and_the_others_may_retry(database, disk, writers):
    with pytest.raises(Locked), first(database):  # noqa: PT012
        writers.enqueue("a")
        writers.enqueue("costly", lambda transaction: transaction.run(COSTLY_WRITE), seconds_max=0.1)
        writers.enqueue("b")

    results = writers.finish()
    assert isinstance(results["a"], Locked)
    assert isinstance(results["costly"], TimedOut)
    assert results["b"] is None  # it came later, and had a transaction of its own
    assert names(database) == ["b"]


def test_a_member_that_cannot_be_rolled_back_loses_the_transaction(database, disk, writers, monkeypatch):
    half_undone = replace(writer_lock.NESTED, roll_back=("ROLLBACK TO nowhere",))
    monkeypatch.setattr(writer_lock, "NESTED", half_undone)

    def fail(transaction: Transaction) -> None:
        transaction.run(INSERT, ("half",))
        raise ZeroDivisionError

    with pytest.raises(Locked), first(database):  # noqa: PT012
        writers.enqueue("half", fail)
        writers.enqueue("a")

    results = writers.finish()
    assert isinstance(results["half"], ZeroDivisionError)
    assert results["a"] is None
    assert names(database) == ["a"]


def test_a_write_that_is_not_brief_does_not_join(database, disk, writers):
    with first(database):
        writers.enqueue("long", is_brief=False)
        writers.enqueue("a")

    assert writers.finish() == {"long": None, "a": None}
    assert disk.commits == 2  # the first, then the long one with the one behind it
    assert names(database) == ["a", "first", "long"]


def test_a_group_has_at_most_members_max_members(database, disk, writers, monkeypatch):
    monkeypatch.setattr(writer_lock, "MEMBERS_MAX", 2)
    with first(database):
        for name in ("a", "b", "c", "d"):
            writers.enqueue(name)

    assert set(writers.finish().values()) == {None}
    assert disk.commits == 3
    assert len(names(database)) == 5


def test_a_group_past_its_time_limit_takes_no_member(database, disk, writers, monkeypatch):
    monkeypatch.setattr(writer_lock, "GROUP_SECONDS_MAX", -1.0)
    with first(database):
        for name in ("a", "b"):
            writers.enqueue(name)

    assert set(writers.finish().values()) == {None}
    assert disk.commits == 3


def test_each_member_has_its_own_actor(database, disk, writers):
    seen: dict[str, tuple] = {}

    def look(name: str) -> Work:
        def work(transaction: Transaction) -> None:
            transaction.run(INSERT, (name,))
            seen[name] = transaction.one("SELECT actor_id FROM audit_context")
            transaction.set_actor(name)
            transaction.run(INSERT, (f"{name} again",))

        return work

    with first(database):
        for name in ("a", "b"):
            writers.enqueue(name, look(name))

    writers.finish()
    assert seen == {"a": (None,), "b": (None,)}


def test_a_member_past_its_lock_deadline_leaves_the_queue_and_the_group(database, disk, writers):
    with first(database):
        writers.start("late", wait_seconds_max=0.05)
        until(lambda: "late" in writers.results)
        writers.enqueue("a")

    results = writers.finish()
    assert isinstance(results["late"], LockTimeout)
    assert results["a"] is None
    assert names(database) == ["a", "first"]


def test_a_lock_that_is_handed_over_at_the_deadline_is_not_lost(tmp_path):
    """The waiter times out while the holder hands the lock over: the waiter has it, or the holder keeps it."""
    lock = writer_lock.WriterLock(tmp_path / "lock")
    for _ in range(200):
        outcome = []

        def wait(outcome: list[bool] = outcome) -> None:
            try:
                lock.acquire(0.001, joins=True)
            except LockTimeout:
                outcome.append(False)
            else:
                outcome.append(True)
                lock.release()

        lock.acquire(FOREVER)
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.001)
        handed_over = lock.hand_over()
        if not handed_over:
            lock.release()
        thread.join(FOREVER)
        if handed_over:
            assert outcome == [True]
        lock.acquire(1.0)
        lock.release()

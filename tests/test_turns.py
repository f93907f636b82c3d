"""Turns to write: in order within a process, in runs between processes, and never for ever.

Two `Turns` over one file are to each other as two processes are: each has opened the file itself.
"""

from __future__ import annotations

import errno
import threading
import time
from pathlib import Path

import pytest

from engine.storage import writer_lock as module
from engine.storage.sqlite import DiskFailed
from engine.storage.writer_lock import LockTimeout
from tests.waiting import until

FOREVER = 30.0  # until a test that hangs is a test that fails


class Writers:
    """Threads that take a turn, one after another in the queue, and note whose it was."""

    def __init__(self) -> None:
        self.order: list[str] = []
        self.threads: list[threading.Thread] = []

    def line_up(self, name: str, turns: Turns) -> None:
        before = len(turns.waiting)
        heads = not turns.taken
        thread = threading.Thread(target=self.take, args=(name, turns))
        thread.start()
        self.threads.append(thread)
        if heads:
            until(lambda: turns.spare is not None)
        else:
            until(lambda: len(turns.waiting) > before)

    def take(self, name: str, turns: Turns) -> None:
        with turns.turn(FOREVER):
            self.order.append(name)

    def finish(self) -> list[str]:
        for thread in self.threads:
            thread.join(FOREVER)
        return self.order


@pytest.fixture
def ours(tmp_path: Path) -> Turns:
    return Turns(tmp_path / "lock")


@pytest.fixture
def theirs(tmp_path: Path) -> Turns:
    return Turns(tmp_path / "lock")


def test_a_run_of_turns_stays_in_one_process(
    monkeypatch: pytest.MonkeyPatch, ours: Turns, theirs: Turns
) -> None:
    monkeypatch.setattr(module, "RUN_SECONDS_MAX", FOREVER)
    writers = Writers()

    with ours.turn(FOREVER):
        writers.line_up("theirs", theirs)
        for place in range(5):
            writers.line_up(f"ours {place}", ours)

    assert writers.finish() == [*(f"ours {place}" for place in range(5)), "theirs"]


def test_a_run_that_is_over_lets_another_process_in(
    monkeypatch: pytest.MonkeyPatch, ours: Turns, theirs: Turns
) -> None:
    monkeypatch.setattr(module, "RUN_SECONDS_MAX", -1.0)
    monkeypatch.setattr(module, "COURTESY_SECONDS", 0.2)
    writers = Writers()

    with ours.turn(FOREVER):
        writers.line_up("theirs", theirs)
        writers.line_up("ours", ours)

    assert writers.finish() == ["theirs", "ours"]


def test_a_process_that_is_alone_is_courteous_now_and_then(
    monkeypatch: pytest.MonkeyPatch, ours: Turns, theirs: Turns
) -> None:
    courtesies: list[float] = []
    monkeypatch.setattr(module, "RUN_SECONDS_MAX", -1.0)
    monkeypatch.setattr(module, "COURTESY_SECONDS", FOREVER)
    monkeypatch.setattr(module, "ALONE_SECONDS", FOREVER)
    monkeypatch.setattr(module, "sleep", courtesies.append)
    ours.goes_on = lambda: True

    for _ in range(5):
        with ours.turn(FOREVER):
            pass
    assert len(courtesies) == 1

    writers = Writers()
    with theirs.turn(FOREVER):
        writers.line_up("ours", ours)
    writers.finish()
    for _ in range(5):
        with ours.turn(FOREVER):
            pass
    assert len(courtesies) == 2


def test_who_comes_back_after_a_while_has_been_courteous(
    monkeypatch: pytest.MonkeyPatch, ours: Turns
) -> None:
    courtesies: list[float] = []
    monkeypatch.setattr(module, "RUN_SECONDS_MAX", -1.0)
    monkeypatch.setattr(module, "COURTESY_SECONDS", 0.01)
    monkeypatch.setattr(module, "ALONE_SECONDS", 0.0)
    monkeypatch.setattr(module, "sleep", courtesies.append)
    ours.goes_on = lambda: True

    for _ in range(3):
        with ours.turn(FOREVER):
            pass
        time.sleep(0.02)

    assert courtesies == []


def test_nothing_is_held_once_nobody_waits(ours: Turns, theirs: Turns) -> None:
    writers = Writers()
    with ours.turn(FOREVER):
        writers.line_up("ours", ours)
    writers.finish()

    with theirs.turn(0.0):
        assert not ours.locked


def test_who_gives_up_leaves_the_turn_to_others(ours: Turns, theirs: Turns) -> None:
    with ours.turn(FOREVER):
        with pytest.raises(LockTimeout), ours.turn(0.01):
            pass
        with pytest.raises(LockTimeout), theirs.turn(0.01):
            pass

    with theirs.turn(FOREVER):
        assert not ours.taken


def test_a_turn_that_fails_is_passed_on(ours: Turns, theirs: Turns) -> None:
    with pytest.raises(ZeroDivisionError), ours.turn(FOREVER):
        raise ZeroDivisionError

    with theirs.turn(0.0), pytest.raises(LockTimeout), ours.turn(0.01):
        pass
    assert not ours.taken


# A process that goes from one request to the next


def is_free(turns: Turns) -> bool:
    """Whether another process could write at once."""
    try:
        with turns.turn(0.0):
            return True
    except LockTimeout:
        return False


@pytest.fixture
def going_on(monkeypatch: pytest.MonkeyPatch, ours: Turns) -> Turns:
    """Ours, of which more may come; the lull between two of them lasts."""
    monkeypatch.setattr(module, "RUN_SECONDS_MAX", FOREVER)
    monkeypatch.setattr(module, "LULL_SECONDS_MAX", FOREVER)
    ours.goes_on = lambda: True
    return ours


def test_the_turn_stays_where_more_writes_may_come(going_on: Turns, theirs: Turns) -> None:
    for _ in range(3):
        with going_on.turn(FOREVER):
            pass
        assert not is_free(theirs)

    going_on.let_go(at_rest=False)
    assert not is_free(theirs)
    going_on.let_go(at_rest=True)
    until(lambda: is_free(theirs))


def test_a_writer_that_does_not_come_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, going_on: Turns, theirs: Turns
) -> None:
    monkeypatch.setattr(module, "LULL_SECONDS_MAX", -1.0)
    with going_on.turn(FOREVER):
        pass
    assert not is_free(theirs)

    going_on.let_go(at_rest=False)
    until(lambda: is_free(theirs))


def test_a_run_ends_however_many_may_come(
    monkeypatch: pytest.MonkeyPatch, going_on: Turns, theirs: Turns
) -> None:
    monkeypatch.setattr(module, "RUN_SECONDS_MAX", -1.0)

    with going_on.turn(FOREVER):
        pass

    until(lambda: is_free(theirs))


def test_whoever_has_the_turn_keeps_it(going_on: Turns, theirs: Turns) -> None:
    with going_on.turn(FOREVER):
        going_on.let_go(at_rest=True)
        assert not is_free(theirs)


def test_who_goes_on_no_more_keeps_nothing(going_on: Turns, theirs: Turns) -> None:
    going_on.goes_on = lambda: False
    with going_on.turn(FOREVER):
        pass

    until(lambda: is_free(theirs))


def test_a_turn_that_is_kept_is_let_go_of_by_a_stop(going_on: Turns, theirs: Turns) -> None:
    with going_on.turn(FOREVER):
        pass
    going_on.close()

    until(lambda: is_free(theirs))


def test_a_turn_is_had_at_once_where_nobody_has_it(ours: Turns, theirs: Turns) -> None:
    assert ours.take_at_once()
    assert not ours.take_at_once()
    assert not theirs.take_at_once()

    ours.pass_on()

    assert theirs.take_at_once()
    assert not ours.take_at_once()


def test_a_turn_is_had_at_once_within_a_run(
    monkeypatch: pytest.MonkeyPatch, ours: Turns, theirs: Turns
) -> None:
    monkeypatch.setattr(module, "RUN_SECONDS_MAX", FOREVER)
    ours.goes_on = lambda: True
    with ours.turn(FOREVER):
        pass

    assert not theirs.take_at_once()
    assert ours.take_at_once()


def test_who_is_owed_a_turn_is_not_forestalled(
    monkeypatch: pytest.MonkeyPatch, ours: Turns
) -> None:
    monkeypatch.setattr(module, "COURTESY_SECONDS", FOREVER)
    ours.goes_on = lambda: True
    assert ours.take_at_once()
    ours.pass_on(lingers=False)

    assert not ours.take_at_once()

    monkeypatch.setattr(module, "COURTESY_SECONDS", 0.0)
    assert ours.take_at_once()


def test_who_waits_for_the_file_s_lock_is_not_forestalled_by_another_thread(
    ours: Turns, theirs: Turns
) -> None:
    writers = Writers()
    with theirs.turn(FOREVER):
        writers.line_up("ours", ours)

        assert not ours.take_at_once()

    assert writers.finish() == ["ours"]
    assert ours.take_at_once()


def test_a_file_that_cannot_be_locked_is_told_and_the_turn_is_free(
    monkeypatch: pytest.MonkeyPatch, ours: Turns
) -> None:
    def refuse(descriptor: int, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    with monkeypatch.context() as patched:
        patched.setattr(module.fcntl, "flock", refuse)
        for take in (ours.take_at_once, lambda: ours.take(FOREVER)):
            with pytest.raises(DiskFailed, match="No locks available"):
                take()

    assert ours.take_at_once()

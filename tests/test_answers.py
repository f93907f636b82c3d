"""Who waits for a server's answer looks for one that comes soon, and sleeps where that would be for nothing."""

from __future__ import annotations

import select
from types import SimpleNamespace

import pytest

from models.processors import SERVED

pipeline = pytest.importorskip("models.sql.pipeline", exc_type=ImportError)

LOOK = 0.0001


class Wire:
    """A server that answers after so many looks, on a clock that goes by looks; how often was looked, and slept."""

    def __init__(self) -> None:
        self.pgconn = SimpleNamespace(socket=7)
        self.now = 0.0
        self.answers_at = 0.0
        self.looks, self.sleeps = 0, 0

    def register(self, descriptor: int, for_what: int) -> None:
        assert (descriptor, for_what) == (7, select.POLLIN)

    def poll(self, timeout: int | None = None) -> bool:
        if timeout == 0:
            self.looks += 1
            self.now += LOOK
            return self.now >= self.answers_at
        self.sleeps += self.now < self.answers_at
        self.now = max(self.now, self.answers_at)
        return True

    def answer_after(self, answers: object, seconds: float) -> tuple[int, int]:
        """How often it was looked for an answer that takes so long, and slept."""
        self.looks = self.sleeps = 0
        self.answers_at = self.now + seconds
        answers.look_for(self.pgconn)
        return self.looks, self.sleeps


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    made = Wire()
    words = SimpleNamespace(poll=lambda: made, POLLIN=select.POLLIN)
    monkeypatch.setattr(pipeline, "select", words)
    monkeypatch.setattr(pipeline, "monotonic", lambda: made.now)
    return made


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setattr(pipeline.Answers, "stays_awake", True)
    monkeypatch.setattr(SERVED, "count", 1)
    return pipeline.Answers()


def test_an_answer_that_comes_soon_wakes_nobody(wire: Wire, answers: object) -> None:
    assert wire.answer_after(answers, 3 * LOOK) == (3, 0)
    assert wire.answer_after(answers, 2 * LOOK) == (2, 0)


def test_one_that_does_not_come_is_slept_for(wire: Wire, answers: object) -> None:
    looks, sleeps = wire.answer_after(answers, 1.0)

    assert 0 < looks <= pipeline.AWAKE_SECONDS / LOOK + 1
    assert sleeps == 1


def test_where_answers_take_long_nobody_looks_until_they_come_soon_again(
    wire: Wire, answers: object
) -> None:
    """A server far away, or others before us in the turn: looking would take a processor for nothing."""
    for _ in range(20):
        wire.answer_after(answers, 1.0)

    assert wire.answer_after(answers, 1.0) == (0, 1)

    for _ in range(20):
        wire.answer_after(answers, 2 * LOOK)

    assert wire.answer_after(answers, 2 * LOOK) == (2, 0)


def test_on_one_processor_nobody_looks(wire: Wire, answers: object) -> None:
    answers.stays_awake = False

    assert wire.answer_after(answers, 2 * LOOK) == (0, 1)


def test_who_has_rivals_sleeps(wire: Wire, answers: object) -> None:
    wire.answer_after(answers, LOOK)

    answers.have_rivals()

    assert wire.answer_after(answers, LOOK) == (0, 1)


@pytest.mark.parametrize("clients", [0, 2])
def test_who_does_not_serve_one_alone_sleeps(wire: Wire, answers: object, clients: int) -> None:
    """Others of its clients may need the processor, or it does not know of them."""
    SERVED.count = clients

    assert wire.answer_after(answers, LOOK) == (0, 1)

"""A round of the benchmark begins when the one before it is over: a server may go on with what nobody waits for."""

from types import SimpleNamespace

import pytest

from bench import quiet

LOOK = 20  # ticks of two cores in a tenth of a second


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch):
    """Looks at a machine: how many of its ticks each of them finds worked; the last one again and again."""

    def of(*worked: int) -> list[float]:
        now, looked = [0.0], []

        def sleep(seconds: float) -> None:
            now[0] += seconds
            looked.append(seconds)

        own_time = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
        monkeypatch.setattr(quiet, "time", own_time)

        def ticks() -> tuple[int, int]:
            count = len(looked)
            known = [*worked, *([worked[-1]] * count)][:count]
            return sum(known), LOOK * count

        monkeypatch.setattr(quiet, "ticks", ticks)
        return looked

    return of


def test_a_machine_at_rest_is_looked_at_once(looks):
    looked = looks(0)

    assert quiet.settle()
    assert len(looked) == 1


def test_work_that_goes_on_is_waited_for(looks):
    looked = looks(20, 20, 12, 1)

    assert quiet.settle()
    assert len(looked) == 4


def test_a_machine_that_never_rests_is_not_waited_for_for_ever(looks):
    looked = looks(20)

    assert not quiet.settle()
    assert sum(looked) == pytest.approx(quiet.WAIT_SECONDS_MAX, abs=2 * quiet.LOOK_SECONDS)


def test_ticks_are_those_of_all_cores(monkeypatch: pytest.MonkeyPatch, tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  10 1 5 80 4 2 3 50 0 0\ncpu0 5 0 2 40 2 1 1 25 0 0\n")
    monkeypatch.setattr(quiet, "STAT", stat)

    assert quiet.ticks() == (21, 105)

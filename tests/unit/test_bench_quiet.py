"""The benchmark starts a round when the machine is idle."""

from types import SimpleNamespace

import pytest

from bench import idle

SAMPLE_TICKS = 20  # of two cores in a tenth of a second


@pytest.fixture
def samples(monkeypatch: pytest.MonkeyPatch):
    """Sets the busy ticks of each sample; the last value repeats. Returns the list of sleeps."""

    def of(*busy: int) -> list[float]:
        now, taken = [0.0], []

        def sleep(seconds: float) -> None:
            now[0] += seconds
            taken.append(seconds)

        own_time = SimpleNamespace(monotonic=lambda: now[0], sleep=sleep)
        monkeypatch.setattr(idle, "time", own_time)

        def ticks() -> tuple[int, int]:
            count = len(taken)
            known = [*busy, *([busy[-1]] * count)][:count]
            return sum(known), SAMPLE_TICKS * count

        monkeypatch.setattr(idle, "ticks", ticks)
        return taken

    return of


def test_idle_machine_takes_one_sample(samples):
    taken = samples(0)

    assert idle.wait_until_idle()
    assert len(taken) == 1


def test_busy_machine_is_waited_for(samples):
    taken = samples(20, 20, 12, 1)

    assert idle.wait_until_idle()
    assert len(taken) == 4


def test_wait_ends_at_its_maximum(samples):
    taken = samples(20)

    assert not idle.wait_until_idle()
    assert sum(taken) == pytest.approx(idle.WAIT_SECONDS_MAX, abs=2 * idle.SAMPLE_SECONDS)


def test_ticks_sum_all_cores(monkeypatch: pytest.MonkeyPatch, tmp_path):
    stat = tmp_path / "stat"
    stat.write_text("cpu  10 1 5 80 4 2 3 50 0 0\ncpu0 5 0 2 40 2 1 1 25 0 0\n")
    monkeypatch.setattr(idle, "STAT", stat)

    assert idle.ticks() == (21, 105)

"""Many large responses at one moment: the workers' memory stays within a bound, and most of it is given back."""

import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.durability.served import Answer, Served
from tests.http.service import MIB, RUNNING_SERVICE, ask
from tests.support.waiting import until

pytestmark = [RUNNING_SERVICE, pytest.mark.long]

COUNT = 48
LARGE_READ = "/inspections?inspection_type=eq.heavy&select=notes&limit=430"  # 27 MiB
MEMORY_MAX = 1_024 * MIB
MEMORY_AFTER_MAX = 320 * MIB


def worker_memory(service: Served) -> int:
    """Return the anonymous memory of all workers, in bytes."""
    lines = [
        line
        for pid in service.workers()
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("RssAnon")
    ]
    return sum(int(line.split()[1]) for line in lines) << 10


@contextmanager
def memory_samples(service: Served) -> Iterator[list[int]]:
    samples, stopped = [worker_memory(service)], threading.Event()

    def sample() -> None:
        while not stopped.wait(0.02):
            samples.append(worker_memory(service))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield samples
    finally:
        stopped.set()
        sampler.join()


@pytest.mark.parametrize("is_shared", [True, False], ids=["equal-requests", "different-requests"])
def test_memory_of_48_large_responses_is_bounded(service: Served, is_shared: bool) -> None:
    def read(number: int) -> Answer:
        path = LARGE_READ if is_shared else f"{LARGE_READ}&id=gt.{number - COUNT}"
        answer = ask(service, "root", "GET", path)
        return Answer(answer.status, answer.headers, answer.body[:100] if answer.status != 200 else b"")

    began = time.monotonic()
    with memory_samples(service) as samples, ThreadPoolExecutor(COUNT) as pool:
        answers = list(pool.map(read, range(COUNT)))
    seconds = time.monotonic() - began
    until(lambda: worker_memory(service) < MEMORY_AFTER_MAX)
    after = worker_memory(service)

    statuses = Counter(answer.status for answer in answers)
    print(
        f"{dict(statuses)} in {seconds:.1f} s; MiB before {samples[0] // MIB}, at most {max(samples) // MIB}, "
        f"after {after // MIB}"
    )
    assert set(statuses) <= {200, 503}
    assert statuses[200] >= 6
    assert all("Retry-After" in answer.headers for answer in answers if answer.status == 503)
    assert max(samples) < MEMORY_MAX

"""Idle keep-alive connections hold no thread and delay no request."""

import resource
import statistics
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tests.durability.served import Served
from tests.http.service import CHEAP_READ, RUNNING_SERVICE, head_lines
from tests.support.raw import connect

pytestmark = [RUNNING_SERVICE, pytest.mark.one_engine]

COUNT = 2_000
READS, ROUNDS = 500, 5


@contextmanager
def idle_connections(service: Served, count: int) -> Iterator[None]:
    """Open connections that have each had one answer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, 2 * count)), hard))
    request = f"GET {CHEAP_READ} HTTP/1.1\r\n".encode() + head_lines("ada") + b"\r\n"
    with ExitStack() as stack:
        for _ in range(count):
            connection = stack.enter_context(connect(service.port, 60))
            connection.sendall(request)
            assert connection.recv(65_536).startswith(b"HTTP/1.1 200")
        yield


def count_threads(service: Served) -> int:
    return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in service.workers())


def read_milliseconds(service: Served) -> list[float]:
    """Return the times of point reads over one connection."""
    found = []
    with closing(service.consumer("ada")) as consumer:
        for _ in range(READS):
            began = time.perf_counter()
            assert consumer.send("GET", CHEAP_READ).status == 200
            found.append((time.perf_counter() - began) * 1_000)
    return sorted(found)


def least_median_and_p99(service: Served) -> tuple[float, float]:
    """Return the least median and the least 99th percentile of some rounds: other load only adds time."""
    rounds = [read_milliseconds(service) for _ in range(ROUNDS)]
    return min(map(statistics.median, rounds)), min(times[int(READS * 0.99)] for times in rounds)


def test_idle_connections_hold_no_thread(service: Served) -> None:
    """There are more connections than threads."""
    with idle_connections(service, 150):
        assert count_threads(service) < 20


@pytest.mark.long
def test_requests_are_answered_beside_2000_idle_connections(service: Served) -> None:
    alone = least_median_and_p99(service)
    with idle_connections(service, COUNT):
        beside = least_median_and_p99(service)
        threads = count_threads(service)

    print("median {:.2f} ms, p99 {:.2f} ms alone; {:.2f} ms, {:.2f} ms beside".format(*alone, *beside))
    assert threads < 20

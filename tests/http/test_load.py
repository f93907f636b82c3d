"""Attack catalogue, group H: slow clients, costly queries, large responses. Marks name the entries."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from serving.worker import connection as limits
from tests.durability.served import Served
from tests.http.service import (
    CHEAP_READ,
    COSTLIEST_OR,
    COSTLIEST_PATCH,
    COSTLY_READ,
    MIB,
    RUNNING_SERVICE,
    ask,
    count_names,
    error_body,
    head_lines,
)
from tests.support import databases, short_deadlines
from tests.support.raw import connect, count_unanswered, read_to_end, workers_by_port
from tests.support.waiting import until

pytestmark = RUNNING_SERVICE


# H04: slow clients


Times = tuple[float, float]
"""The times of a request and of its response, in seconds of the monotonic clock."""


def send_cheap_reads(service: Served, count: int, who: str = "ada") -> list[Times]:
    """Send a number of cheap reads over new connections; return their times."""
    times = []
    for _ in range(count):
        began = time.monotonic()
        assert ask(service, who, "GET", CHEAP_READ).status == 200
        times.append((began, time.monotonic()))
    return times


@contextlib.contextmanager
def open_connections(service: Served, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(connect(service.port, 60)) for _ in range(count)]


def send_partial_heads(connections: list[socket.socket]) -> None:
    for connection in connections:
        connection.sendall(b"GET /buildings HTTP/1.1\r\nHost: a\r\nX-Half: ")


@pytest.mark.parametrize("count", [24, 300])
@pytest.mark.attack(entry="H04")
def test_partial_requests_delay_no_request(service: Served, count: int) -> None:
    """Other requests are answered while all partial requests are still open.

    The larger number is five times the number of threads.
    """
    with open_connections(service, count) as connections:
        send_partial_heads(connections)

        send_cheap_reads(service, 10)

        assert count_unanswered(connections) == count


@contextlib.contextmanager
def dripping_connections(service: Served, count: int) -> Iterator[list[socket.socket]]:
    """Open connections that send their requests one byte at a time."""
    with open_connections(service, count) as dripping:
        stop = threading.Event()

        def drip() -> None:
            while not stop.wait(0.1):
                for connection in dripping:
                    with contextlib.suppress(OSError):
                        connection.sendall(b"X")

        for connection in dripping:
            connection.sendall(b"GET /buildings HTTP/1.1\r\nHost: a\r\n")
        dripper = threading.Thread(target=drip)
        dripper.start()
        try:
            yield dripping
        finally:
            stop.set()
            dripper.join()


@pytest.mark.attack(entry="H04")
def test_dripping_connections_are_closed(short_deadlines_service: Served) -> None:
    """The number exceeds that of the threads. Each connection is closed while it still sends."""
    with dripping_connections(short_deadlines_service, 90) as dripping:
        send_cheap_reads(short_deadlines_service, 1)

        until(lambda: count_unanswered(dripping) == 0)


def read_slowly(service: Served, seconds: float) -> int:
    """Request a large response, read nothing for some seconds, and return the number of bytes received."""
    path = b"GET /inspections?inspection_type=eq.heavy&limit=450 HTTP/1.1\r\n"
    with connect(service.port, 60) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.sendall(path + head_lines("root") + b"\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        assert ask(service, "root", "PATCH", "/inspectors?id=eq.1", {"email": "x@y"}).status == 204
        until(lambda: not databases.is_being_read(service.database))
        own_port = connection.getsockname()[1]
        assert own_port in workers_by_port(service), "the connection is still open"
        time.sleep(seconds)
        return len(read_to_end(connection))


@pytest.mark.attack(entry="H04")
def test_slow_reader_holds_no_transaction_and_is_closed(short_deadlines_service: Served) -> None:
    received = read_slowly(short_deadlines_service, short_deadlines.REQUEST_SECONDS_MAX + 1.5)

    assert received < 29 * MIB
    assert ask(short_deadlines_service, "ada", "GET", CHEAP_READ).status == 200


@pytest.mark.long
@pytest.mark.attack(entry="H04")
def test_slow_reader_is_closed_after_60_s(service: Served) -> None:
    assert read_slowly(service, limits.REQUEST_SECONDS_MAX + 2) < 29 * MIB


@pytest.mark.attack(entry="H04")
def test_shipped_deadlines() -> None:
    shipped = Path(limits.__file__).read_text()

    assert "HEAD_SECONDS_MAX = 10.0" in shipped
    assert "REQUEST_SECONDS_MAX = 60.0" in shipped


# H05: costly queries


@dataclass
class ConcurrentTimes:
    """Times of cheap requests beside costly queries, and the times at which costly queries were cancelled."""

    reads: list[Times] = field(default_factory=list)
    writes: list[Times] = field(default_factory=list)
    cancelled: list[float] = field(default_factory=list)

    def count_ended_before_cancellation(self, times: list[Times]) -> int:
        """Return how many requests ended before the first costly query was cancelled."""
        assert self.cancelled, "no query was cancelled"
        first = min(self.cancelled)
        return sum(ended < first for _, ended in times)


def run_beside_costly_reads(service: Served, count: int) -> ConcurrentTimes:
    done, concurrent = threading.Event(), ConcurrentTimes()

    def send_costly_read(_: int) -> tuple[int, str | None]:
        answer = ask(service, "ada", "GET", COSTLY_READ)
        if answer.status == 500:
            concurrent.cancelled.append(time.monotonic())
        return answer.status, answer.code

    def write() -> None:
        with closing(service.consumer("bob")) as consumer:
            while not done.is_set():
                began = time.monotonic()
                sent = consumer.send("PATCH", "/buildings?id=eq.4", {"city": "Beside"})
                assert sent.status == 204
                concurrent.writes.append((began, time.monotonic()))

    with ThreadPoolExecutor(count + 1) as pool:
        costly_reads = [pool.submit(send_costly_read, n) for n in range(count)]
        writer = pool.submit(write)
        try:
            time.sleep(0.2)
            concurrent.reads += send_cheap_reads(service, 40, "bob")
        finally:
            done.set()
        writer.result(30)
        assert {each.result(60) for each in costly_reads} <= {(500, "57014"), (503, "53300")}
    return concurrent


@pytest.mark.parametrize("count", [8, pytest.param(30, marks=pytest.mark.long)])
@pytest.mark.attack(entry="H05")
def test_requests_are_answered_while_costly_queries_run(service: Served, count: int) -> None:
    concurrent = run_beside_costly_reads(service, count)

    assert concurrent.count_ended_before_cancellation(concurrent.reads) >= 1
    assert concurrent.count_ended_before_cancellation(concurrent.writes) >= 1


@pytest.mark.long
@pytest.mark.attack(entry="H05")
def test_requests_are_answered_after_100_costly_queries_are_cancelled(service: Served) -> None:
    """The number exceeds that of the threads."""
    concurrent = run_beside_costly_reads(service, 100)

    assert len(concurrent.reads) == 40
    assert concurrent.writes


@pytest.mark.parametrize("who", ["ada", "root"])
@pytest.mark.parametrize("path", [f"{COSTLIEST_PATCH}&select=id", COSTLIEST_OR])
@pytest.mark.attack(entry="H05")
def test_concurrent_costliest_reads_are_cancelled(service: Served, who: str, path: str) -> None:
    """Each filter scans a long text, so that a single row takes long."""
    with ThreadPoolExecutor(4) as pool:
        cancelled = list(pool.map(lambda _: ask(service, who, "GET", path), range(4)))

    assert {(each.status, each.code) for each in cancelled} == {(500, "57014")}


@pytest.mark.attack(entry="H05")
def test_costliest_patch_is_cancelled_and_others_get_the_lock(service: Served) -> None:
    building = "/buildings?id=eq.4"
    with ThreadPoolExecutor(1) as pool:
        costly = pool.submit(ask, service, "ada", "PATCH", COSTLIEST_PATCH, {"status": "failed"})
        time.sleep(0.3)
        concurrent = ask(service, "bob", "PATCH", building, {"city": "Waited"})
        if concurrent.status == 503:  # on a slow machine: retried, as the response says
            assert (concurrent.code, concurrent.headers["Retry-After"]) == ("55P03", "1")
            concurrent = ask(service, "bob", "PATCH", building, {"city": "Waited"})
        cancelled = costly.result(20)

    assert (cancelled.status, cancelled.code) == (500, "57014")
    assert concurrent.status == 204
    heavy = "/inspections?inspection_type=eq.heavy&status=eq.failed&select=id"
    assert ask(service, "root", "GET", heavy).json == []


# H06: limits of the response

TOO_LARGE = {
    "rows": "/inspections?inspection_type=eq.heavy",
    "embed": "/buildings?select=*,inspections(*)&id=eq.6",
    "embeds-of-embeds": "/inspections?inspection_type=eq.heavy&select=*,buildings(*,inspections(*))&limit=3",
    "back-and-forth": "/clients?select=buildings(inspections(buildings(inspections(notes))))&id=eq.1",
}
CHECKED_LATE = ("embeds-of-embeds", "back-and-forth") if databases.SERVER is not None else ()
"""Responses that PostgreSQL builds completely before it checks their size. The time limit may come first."""


@pytest.mark.parametrize("who", ["root", "ada"])
@pytest.mark.parametrize("kind", TOO_LARGE)
@pytest.mark.attack(entry="H06")
def test_response_beyond_32_mebibytes_is_refused(patient_service: Served, kind: str, who: str) -> None:
    answer = ask(patient_service, who, "GET", TOO_LARGE[kind])

    refusals = [(400, "54000"), (500, "57014")] if kind in CHECKED_LATE else [(400, "54000")]
    assert (answer.status, answer.code) in refusals
    error_body(answer)


# H08: many errors, one report


@pytest.mark.attack(entry="H08")
def test_first_of_many_invalid_rows_is_reported(service: Served) -> None:
    row = {"name": "Bad", "client_id": "no number", "floors": "none"}
    one = ask(service, "root", "POST", "/buildings", [row])

    many = ask(service, "root", "POST", "/buildings", [row] * 1_000)

    expected = {**json.loads(one.body), "details": "row 1, column client_id"}
    assert (many.status, json.loads(many.body)) == (one.status, expected) == (400, expected)
    assert len(many.body) < 500
    assert count_names(service, "buildings", "Bad") == 0

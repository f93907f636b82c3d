"""Slow clients of a running service use buffers within limits, and no threads."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from serving.worker import connection as limits
from tests.durability.served import Served, serving
from tests.http.service import CHEAP_READ, RUNNING_SERVICE, ask, head_lines, served_over
from tests.support.raw import RawResponse, answers, connect, count_unanswered, exchange, read_to_end
from tests.support.waiting import until

pytestmark = [RUNNING_SERVICE, pytest.mark.slow]

MIB = 1 << 20
CONNECTIONS = 400
BODY = b"x" * 65_536
LIVE = b"GET /live HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.fixture(scope="module")
def service(base_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(served_over(base_file, tmp_path_factory.mktemp("slow") / "served")) as running:
        yield running


def memory_of(service: Served) -> int:
    """Return the resident bytes of the workers."""
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in service.workers()]
    return sum(pages) * os.sysconf("SC_PAGE_SIZE")


def posted(who: str, length: int, *fields: str) -> bytes:
    lines = head_lines(who, Content_Length=str(length))
    return b"POST /inspectors HTTP/1.1\r\n" + lines + "".join(fields).encode() + b"\r\n"


DRIPS: dict[str, tuple[bytes, int]] = {
    "heads": (b"GET /buildings HTTP/1.1\r\n" + head_lines("nobody"), 1),
    "bodies": (posted("service", len(BODY)), 36),
    "bodies-without-token": (posted("nobody", len(BODY)), 36),
}
"""The first bytes of each connection, and the number of bytes every 100 ms afterwards."""


@pytest.mark.parametrize("kind", DRIPS)
def test_requests_are_answered_while_400_connections_drip(service: Served, kind: str) -> None:
    first, size = DRIPS[kind]
    before, stop = memory_of(service), threading.Event()
    with contextlib.ExitStack() as crowd:
        connections = [crowd.enter_context(connect(service.port)) for _ in range(CONNECTIONS)]
        for connection in connections:
            connection.sendall(first)

        def drip() -> None:
            while not stop.wait(0.1):
                for connection in connections:
                    with contextlib.suppress(OSError):
                        connection.send(BODY[:size], socket.MSG_DONTWAIT)

        dripper = threading.Thread(target=drip)
        dripper.start()
        try:
            for who, path in [("nobody", "/live"), ("ada", CHEAP_READ)] * 10:
                assert ask(service, who, "GET", path).status == 200
            assert count_unanswered(connections) == CONNECTIONS
            growth = memory_of(service) - before
        finally:
            stop.set()
            dripper.join()

    assert growth < 100 * MIB


def refused(received: bytes, status: int) -> RawResponse:
    [answer] = answers(received)
    assert (answer.status, answer.headers["connection"]) == (status, "close")
    assert {"code", "message", "details", "hint"} <= set(answer.json)
    return answer


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        pytest.param(posted("service", 20 * MIB), 413, id="length"),
        pytest.param(
            b"POST /inspectors HTTP/1.1\r\n" + head_lines() + b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n",
            413,
            id="chunk",
        ),
        pytest.param(
            b"POST /inspectors HTTP/1.1\r\n" + head_lines() + b"Transfer-Encoding: chunked\r\n\r\n1\r\nabc",
            400,
            id="malformed-chunk",
        ),
        pytest.param(posted("service", 20 * MIB, "Expect: 100-continue\r\n"), 413, id="expect"),
    ],
)  # fmt: skip
def test_refused_request_is_closed_without_its_body(service: Served, sent: bytes, status: int) -> None:
    refused(exchange(service.port, sent), status)


def test_refusal_under_auth_has_gotrue_keys(service: Served) -> None:
    sent = b"POST /auth/v1/token?grant_type=password HTTP/1.1\r\n" + head_lines("nobody", Content_Length=str(20 * MIB))

    answer = refused(exchange(service.port, sent + b"\r\n"), 413)

    assert isinstance(answer.json, dict)
    assert answer.json["error_code"] == "request_too_large"
    assert "msg" in answer.json


def test_body_below_the_minimum_rate_gets_408(service: Served) -> None:
    with connect(service.port) as connection:
        connection.sendall(posted("service", 65_536) + b"[")
        began = time.monotonic()
        received = read_to_end(connection)

    refused(received, 408)
    assert time.monotonic() - began >= limits.BODY_GRACE_SECONDS


def test_partial_bodies_beyond_the_shared_limit_get_503(service: Served) -> None:
    """Each worker buffers 48 MiB; 40 connections hold 5 MiB each."""
    with contextlib.ExitStack() as crowd, selectors.DefaultSelector() as selector:
        for _ in range(40):
            connection = crowd.enter_context(connect(service.port))
            with contextlib.suppress(ConnectionError):
                connection.sendall(posted("service", 5 * MIB) + b" " * (5 * MIB - 10))
            selector.register(connection, selectors.EVENT_READ)
        until(lambda: len(selector.select(0)) >= 10)
        found = answers(read_to_end(selector.select(0)[0][0].fileobj))  # type: ignore[arg-type]

        assert ask(service, "ada", "GET", CHEAP_READ).status == 200
    if found:  # a client that is still sending may get a reset
        assert (found[0].status, found[0].headers["retry-after"]) == (503, "1")


def test_get_with_a_slow_body_holds_no_thread(service: Served) -> None:
    """There are more such requests than threads."""
    with contextlib.ExitStack() as crowd:
        for _ in range(90):
            connection = crowd.enter_context(connect(service.port))
            connection.sendall(b"GET /live HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nab")

        assert [ask(service, "ada", "GET", CHEAP_READ).status for _ in range(6)] == [200] * 6


def test_pipelined_requests_are_answered_in_order(service: Served) -> None:
    body = b'{"name": "Pipelined slowly"}'
    sent = posted("service", len(body)) + body + LIVE * 3
    with connect(service.port) as connection:
        for begin in range(0, len(sent), 100):
            connection.sendall(sent[begin : begin + 100])
            time.sleep(0.002)
        connection.shutdown(socket.SHUT_WR)
        received = read_to_end(connection)

    assert [answer.status for answer in answers(received)] == [201, 200, 200, 200]


def test_continue_is_sent_before_the_body(service: Served) -> None:
    body = b'{"name": "Continued"}'
    with connect(service.port) as connection:
        connection.sendall(posted("service", len(body), "Expect: 100-continue\r\n", "Connection: close\r\n"))
        assert connection.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(body)
        [answer] = answers(read_to_end(connection))

    assert answer.status == 201


def test_http_1_0_request_is_answered_and_closed(service: Served) -> None:
    [answer] = answers(exchange(service.port, b"GET /live HTTP/1.0\r\n\r\n"))

    assert (answer.status, answer.headers["connection"]) == (200, "close")


@pytest.mark.parametrize(
    ("sent", "statuses"), [(LIVE, [200]), (posted("service", 2) + b"[", [400]), (b"GET /live HTTP/1.1\r\nHo", [])]
)
def test_half_closed_client_gets_its_responses(service: Served, sent: bytes, statuses: list[int]) -> None:
    received = exchange(service.port, sent, then_close=True)

    assert [answer.status for answer in answers(received)] == statuses


def test_connection_is_reused_after_12_idle_seconds(service: Served) -> None:
    with contextlib.closing(HTTPConnection("127.0.0.1", service.port, timeout=10)) as client:
        for pause in (12, 0):
            client.request("GET", "/live")
            assert json.loads(client.getresponse().read())
            sock = client.sock
            time.sleep(pause)
        assert client.sock is sock


def test_request_with_an_incomplete_body_is_answered_after_term(base_file: Path, tmp_path: Path) -> None:
    body = b'{"name": "Last"}'
    with serving(served_over(base_file, tmp_path / "served")) as own, connect(own.port) as client:
        client.sendall(posted("service", len(body)) + body[:5])
        time.sleep(0.3)
        own.signal(signal.SIGTERM)
        time.sleep(0.5)
        client.sendall(body[5:])
        [answer] = answers(read_to_end(client))
        assert own.process is not None
        assert own.process.wait(20) == 0

    assert (answer.status, answer.headers["connection"]) == (201, "close")

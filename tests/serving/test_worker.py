"""The running server: gunicorn with the shipped settings over a minimal application.

The application shortens the deadlines, since slow clients would take a minute with the shipped ones.
`test_shipped_deadlines` checks the shipped values.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.client import HTTPConnection

import pytest

from serving.worker import connection as limits
from serving.worker import connection as refusal
from tests.support.minimal_server import SHIPPED_DEADLINES_APPLICATION, SIMPLE_REQUEST, Server, is_answering, serving
from tests.support.raw import answers, count_unanswered, read_to_end
from tests.support.waiting import until


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("served")) as running:
        yield running


def test_shipped_deadlines():
    assert (limits.HEAD_SECONDS_MAX, limits.REQUEST_SECONDS_MAX) == (10.0, 60.0)


HOSTILE = [
    pytest.param(b"no HTTP at all\r\n\r\n", 400, id="no-http"),
    pytest.param(b"get / HTTP/1.1\r\nHost: a\r\n\r\n", 400, id="method-in-lower-case"),
    pytest.param(b"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 400, id="unknown-version"),
    pytest.param(b"GET / HTTP/1.1\nHost: a\n\n", 400, id="bare-LF"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400, id="two-hosts"),
    pytest.param(b"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, id="space-before-colon"),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n", 400, id="folded-header"),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        400,
        id="length-with-chunks",
    ),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\nabcd", 400, id="two-lengths"
    ),
    pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: +4\r\n\r\nabcd", 400, id="signed-length"),
    pytest.param(b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501, id="odd-coding"),
    pytest.param(b"POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, id="chunks-in-1.0"),
    pytest.param(
        b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\rb\r\nx\r\n0\r\n\r\n",
        400,
        id="CR-in-chunk-extension",
    ),
    pytest.param(b"GET / HTTP/1.1\r\nHost: a\r\nX: a\0b\r\n\r\n", 400, id="NUL-in-header"),
    pytest.param(b"GET /?" + b"x" * 66_000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414, id="line-of-66-KB"),
    pytest.param(
        b"GET / HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(101)) + b"\r\n", 431, id="101-headers"
    ),
    pytest.param(
        b"GET / HTTP/1.1\r\n" + b"".join(b"X_%d: 1\r\n" % n for n in range(101)) + b"\r\n",
        431,
        id="101-headers-of-no-effect",
    ),
    pytest.param(b"GET / HTTP/1.1\r\nX: " + b"x" * 8_200 + b"\r\n\r\n", 431, id="header-of-8200-bytes"),
]


@pytest.mark.parametrize(("request_bytes", "status"), HOSTILE)
def test_malformed_request_is_refused_in_json_and_closed(server, request_bytes, status):
    answer = server.exchange(request_bytes)

    head, body = answer.split(b"\r\n\r\n", 1)
    lines = head.split(b"\r\n")
    headers = dict(line.decode().lower().split(": ", 1) for line in lines[1:])
    assert lines[0].startswith(b"HTTP/1.1 %d " % status)
    assert headers["connection"] == "close"
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert headers["content-length"] == str(len(body))
    assert headers["x-content-type-options"] == "nosniff"
    code, message = refusal.REFUSALS[status]
    assert json.loads(body) == {"code": code, "message": message, "details": None, "hint": None}


def test_request_line_of_41_kilobytes_is_accepted(server):
    line = b"GET /?id=in.(" + b"x" * 41_000 + b") HTTP/1.1\r\n"

    answer = server.exchange(line + b"Host: a\r\nConnection: close\r\n\r\n")

    assert answer.endswith(b"served")


def test_header_with_underscores_is_dropped(server):
    headers = {"X_Forwarded_For": "6.6.6.6", "SCRIPT_NAME": "/moved", "X-Forwarded-Proto": "https"}
    connection = HTTPConnection("127.0.0.1", server.port, timeout=10)
    with contextlib.closing(connection):
        connection.request("GET", "/headers", headers=headers)
        environ = connection.getresponse().read()

    assert b"6.6.6.6" not in environ
    assert b"('SCRIPT_NAME', '')" in environ
    assert b"('wsgi.url_scheme', 'http')" in environ


def test_partial_heads_delay_no_request_and_get_408(server):
    with contextlib.ExitStack() as crowd:
        half_sent = [crowd.enter_context(server.connect()) for _ in range(24)]
        for connection in half_sent:
            connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\nX-Half: ")

        assert all(is_answering(server) for _ in range(10))

        answers_ = [answers(read_to_end(connection)) for connection in half_sent]
        assert [[each.status for each in found] for found in answers_] == [[408]] * 24


def test_dripping_heads_are_closed_at_the_deadline(server):
    """There are more connections than threads. The deadline of 1 s closes each connection while it sends."""
    with contextlib.ExitStack() as crowd:
        dripping = [crowd.enter_context(server.connect()) for _ in range(100)]
        stop = threading.Event()
        dripper = threading.Thread(target=drip, args=(dripping, stop))
        dripper.start()
        try:
            assert is_answering(server)
            until(lambda: count_unanswered(dripping) == 0)
        finally:
            stop.set()
            dripper.join()


def drip(connections: list[socket.socket], stop: threading.Event) -> None:
    for connection in connections:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n")
    while not stop.wait(0.2):
        for connection in connections:
            with contextlib.suppress(OSError):
                connection.sendall(b"X")


def test_silent_connections_hold_no_thread(tmp_path):
    """The shipped deadline applies, so that all silent connections are still open."""
    with serving(tmp_path, SHIPPED_DEADLINES_APPLICATION) as server, contextlib.ExitStack() as crowd:
        silent = [crowd.enter_context(server.connect()) for _ in range(200)]

        assert all(is_answering(server) for _ in range(5))

        assert count_unanswered(silent) == 200


RELEASE = """
import threading

released = threading.Event()


def app(environ, start_response):
    body = b"served"
    if environ["PATH_INFO"] == "/wait":
        body = b"released" if released.wait(20) else b"timed out"
    elif environ["PATH_INFO"] == "/release":
        released.set()
    start_response("200 OK", [("Content-Length", str(len(body)))])
    return [body]
"""


def test_slow_reads_delay_no_request(tmp_path):
    """Each process has slow reads, and each is ended by a later request to the same process."""
    wait, release = (SIMPLE_REQUEST.replace(b"GET /", b"GET /" + name) for name in (b"wait", b"release"))
    with serving(tmp_path, RELEASE) as server, contextlib.ExitStack() as crowd:
        slow = [crowd.enter_context(server.connect(30)) for _ in range(24)]
        for client in slow:
            client.sendall(wait)

        assert all(server.exchange(release).endswith(b"served") for _ in range(40))

        assert all(read_to_end(client).endswith(b"released") for client in slow)


def test_partial_pipelined_head_holds_no_thread(tmp_path):
    """One packet holds a complete request and part of the next one.

    The shipped deadline applies: with one thread for each connection, the last ones would wait for it.
    """
    whole, half, rest = SIMPLE_REQUEST.replace(b"close", b"keep-alive"), b"GET /headers HTT", b"P/1.1\r\n"
    with serving(tmp_path, SHIPPED_DEADLINES_APPLICATION) as server, contextlib.ExitStack() as crowd:
        clients = [crowd.enter_context(server.connect()) for _ in range(100)]
        for client in clients:
            client.sendall(whole + half)
        answers = [client.recv(65_536) for client in clients]
        assert is_answering(server)
        clients[0].sendall(rest)
        clients[0].sendall(b"Host: a\r\n\r\n")

        assert all(answer.endswith(b"served") for answer in answers)
        assert b"SCRIPT_NAME" in clients[0].recv(65_536)


def test_partial_pipelined_head_gets_408(server):
    received = server.exchange(SIMPLE_REQUEST.replace(b"close", b"keep-alive") + b"GET /headers HTT")

    assert [answer.status for answer in answers(received)] == [200, 408]


def test_refused_connections_that_stay_open_delay_no_request(server):
    """gunicorn's own worker waits in its main loop for 2 s for each such connection."""
    with contextlib.ExitStack() as crowd:
        for _ in range(60):
            crowd.enter_context(server.connect()).sendall(b"no HTTP at all\r\n\r\n")

        assert all(is_answering(server) for _ in range(5))


def test_readers_that_stop_delay_no_request(tmp_path):
    """The shipped deadline applies. Each of the two workers has some ten clients that read 1 MiB and stop."""
    with serving(tmp_path, SHIPPED_DEADLINES_APPLICATION) as server, contextlib.ExitStack() as crowd:
        for _ in range(20):
            reader = crowd.enter_context(server.connect())
            reader.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
            received = 0
            while received < 1 << 20:
                received += len(reader.recv(65_536))

        assert all(is_answering(server) for _ in range(40))


@pytest.mark.slow
def test_slow_reader_is_cut_off(server):
    with server.connect() as connection:
        connection.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
        time.sleep(4.5)  # longer than the shortened deadline and the interval of its enforcement
        received = len(read_to_end(connection))

    assert 0 < received < 32 * 1024 * 1024
    assert is_answering(server)


@pytest.mark.slow
def test_body_that_stops_gets_408(server):
    with server.connect() as connection:
        connection.sendall(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc")

        [answer] = answers(read_to_end(connection))
        assert answer.status == 408

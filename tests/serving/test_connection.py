"""A connection assembles requests within the limits, and refuses requests beyond a limit."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from gunicorn.http.errors import ParseException

from serving.worker import connection as limits
from serving.worker.connection import ClientConnection, Refused
from settings import BODY_BYTES_MAX
from tests.serving.test_head_cache import SETTINGS

CHUNKED = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"


@pytest.fixture
def connection_pair() -> Iterator[tuple[ClientConnection, socket.socket]]:
    client, server = socket.socketpair()
    yield ClientConnection(SETTINGS, server, ("10.0.0.7", 1), ("127.0.0.1", 2)), client
    client.close()
    server.close()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"GET /" + b"x" * limits.REQUEST_LINE_BYTES_MAX, 414),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * limits.HEAD_BYTES_MAX, 431),
        (b"GET / HTTP/1.1\nHost: a\n", 400),
        (b"POST / HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (BODY_BYTES_MAX + 1), 413),
        (CHUNKED + b"%x\r\n" % (BODY_BYTES_MAX + 1), 413),
        (CHUNKED + b"zz\r\n", 400),
        (CHUNKED + b"+1\r\na\r\n", 400),
        (CHUNKED + b"\r\na\r\n", 400),
        (CHUNKED + b"1;a=\rb\r\na\r\n", 400),
        (CHUNKED + b"1\r\nab\r\n", 400),
        (CHUNKED + b"1" * (limits.HEADER_BYTES_MAX + 1), 400),
    ],
)
def test_request_beyond_a_limit_is_refused(
    connection_pair: tuple[ClientConnection, socket.socket], sent: bytes, status: int
) -> None:
    with pytest.raises(Refused) as refused:
        connection_pair[0].receive(sent)

    assert refused.value.status == status


def test_total_size_of_chunks_is_limited(connection_pair: tuple[ClientConnection, socket.socket]) -> None:
    chunk = b"10000\r\n" + b"x" * 65_536 + b"\r\n"
    connection_pair[0].receive(CHUNKED)
    for _ in range(BODY_BYTES_MAX // 65_536):
        assert connection_pair[0].receive(chunk) is None

    with pytest.raises(Refused) as refused:
        connection_pair[0].receive(chunk)

    assert refused.value.status == 413


def test_trailer_with_a_framing_field_is_refused(connection_pair: tuple[ClientConnection, socket.socket]) -> None:
    with pytest.raises(ParseException):
        connection_pair[0].receive(CHUNKED + b"0\r\nContent-Length: 3\r\n\r\n")


def test_continue_is_sent_before_a_missing_body(connection_pair: tuple[ClientConnection, socket.socket]) -> None:
    connection, client = connection_pair
    head = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"

    assert connection.receive(head) is None
    assert client.recv(100) == b"HTTP/1.1 100 Continue\r\n\r\n"
    request = connection.receive(b"hi")
    assert request is not None
    assert request.body.read() == b"hi"
    connection.receive(head + b"hi")
    with pytest.raises(BlockingIOError):
        client.recv(100, socket.MSG_DONTWAIT)


def test_body_deadline_depends_on_the_minimum_rate(connection_pair: tuple[ClientConnection, socket.socket]) -> None:
    connection = connection_pair[0]
    connection.receive(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 999999\r\n\r\n")
    grace, rate = limits.BODY_GRACE_SECONDS, limits.BODY_BYTES_PER_SECOND_MIN

    assert connection.due(100.0) == 100.0 + grace
    connection.receive(b"x" * 10 * rate)
    assert connection.due(101.0) == 100.0 + grace + 10
    connection.receive(b"x" * 100 * rate)
    assert connection.due(102.0) == 100.0 + limits.REQUEST_SECONDS_MAX

"""Cached request heads: the request and the WSGI environment equal those of gunicorn's parser."""

from __future__ import annotations

import socket
from itertools import pairwise
from typing import Any

import gunicorn.http.wsgi
import pytest
from gunicorn.config import Config
from gunicorn.http.errors import ParseException
from gunicorn.http.unreader import IterUnreader
from hypothesis import given
from hypothesis import strategies as st

from serving.worker import connection as head_cache
from serving.worker.connection import (
    BufferedRequest,
    CachedHeadRequest,
    ClientConnection,
    Refused,
    create,
    read_block,
    read_request,
)

CLIENT, SERVER = ("10.0.0.7", 40_123), ("127.0.0.1", 3000)
UNCOMPARED = {"wsgi.errors", "wsgi.input", "wsgi.early_hints", "gunicorn.socket", "walkthrough.arrived"}
"""Keys whose values are new objects for each request, and keys that only one of both sets."""


def settings() -> Config:
    found = Config()
    for name, value in {
        "header_map": "drop",
        "forwarder_headers": "",
        "forwarded_allow_ips": "",
        "secure_scheme_headers": {},
        "limit_request_line": 65_536,
    }.items():
        found.set(name, value)
    return found


SETTINGS = settings()


def description(request: BufferedRequest, made: Any) -> dict[str, object]:
    """Return everything that the application and gunicorn's response read from a request."""
    _, environ = made(request, None, CLIENT, SERVER, SETTINGS)
    names = (
        "method", "uri", "path", "query", "fragment", "version", "scheme", "length",
        "must_close", "req_number", "trailers", "proxy_protocol_info", "remote_addr",
    )  # fmt: skip
    found = {name: value for name, value in environ.items() if name not in UNCOMPARED}
    return found | {name: getattr(request, name) for name in names} | {"closes": request.should_close()}


def outcome(head: bytes, *, cached: bool) -> object:
    """Return the description of a request, or its error."""
    try:
        if cached:
            return description(read_request(SETTINGS, head, CLIENT, 1), create)
        request = BufferedRequest(SETTINGS, IterUnreader([head]), CLIENT, 1)
        request._expected_100_continue = False
        return description(request, gunicorn.http.wsgi.create)
    except Exception as error:  # noqa: BLE001  # both parsers must raise the same error
        return type(error), str(error)


NAMES = st.sampled_from(
    [
        "Host", "host", "Accept", "apikey", "Authorization", "X_Forwarded_For", "X-Forwarded-For",
        "Content-Length", "Content-Type", "Transfer-Encoding", "Connection", "Expect", "Upgrade",
        "Trailer", "X-Request-Id", "x-request-ID", "Script_Name", "Prefer", "Range", "Cookie", "a b", "", "X-Ä",
    ]
)  # fmt: skip
VALUES = st.sampled_from(
    [
        "", "0", "1", "5", "0b" * 16, " 0-A ", "+1", "1, 1", "x", " x ", "\tx", "a\0b", "a\nb", "a\rb", "ä", "\x7f",
        "close", "keep-alive", "Keep-Alive", "close, x", "chunked", "gzip", "identity", "gzip, chunked",
        "100-continue", "websocket", "h2c", "x" * 5000, "application/json", "count=exact",
    ]
)  # fmt: skip
LINES = st.tuples(NAMES, st.sampled_from([": ", ":", " : ", " "]), VALUES).map("".join)
TARGETS = st.sampled_from(
    [
        "/", "/inspections", "/inspections?id=eq.1", "//a/b", "/a//b", "/a?b?c", "/a#b", "/a%20b", "/%",
        "/%ff", "*", "http://a/b", "a:80", "", "/a b", "/a\x7f", "/ä", "/?", "/a?%00", "/a\tb", '/"',
    ]
)  # fmt: skip
METHODS = st.sampled_from(["GET", "HEAD", "POST", "OPTIONS", "CONNECT", "get", "G", "DELETE"])
VERSIONS = st.sampled_from(["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.1 ", "http/1.1"])


@st.composite
def heads(draw: st.DrawFn) -> bytes:
    first = " ".join((draw(METHODS | st.just("GET")), draw(TARGETS), draw(VERSIONS)))
    lines = [first, *draw(st.lists(LINES, max_size=4))]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1").partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


@given(heads().filter(lambda head: b"100-continue" not in head))
def test_cached_request_equals_gunicorns(head: bytes) -> None:
    parsed = outcome(head, cached=False)

    assert outcome(head, cached=True) == parsed
    assert outcome(head, cached=True) == parsed  # from the cache


PLAIN = b"Host: a\r\napikey: k\r\nConnection: keep-alive\r\n\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "is_cached"),
    [
        (b"GET /a?b=c HTTP/1.1\r\n" + PLAIN, True),
        (b"HEAD / HTTP/1.1\r\n" + PLAIN, True),
        (b"GET / HTTP/1.1\r\n\r\n", True),
        (b"GET / HTTP/1.1\r\nX-Request-Id: 0af\r\n" + PLAIN, True),
        (b"GET / HTTP/1.1\r\nX-Request-Id: 0af\r\nx-request-id: 0af\r\n" + PLAIN, False),
        (b"GET / HTTP/1.1\r\nX-Request-Id: ABC\r\nx-request-id: 0af\r\n" + PLAIN, False),
        (b"DELETE / HTTP/1.1\r\n" + PLAIN, True),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\n" + PLAIN + b"hi", True),
        (b"PATCH / HTTP/1.1\r\nContent-Length: 2\r\n" + PLAIN + b"h", True),
        (b"PUT / HTTP/1.1\r\nContent-Length: 0\r\n" + PLAIN, True),
        (b"POST / HTTP/1.1\r\nContent-Length: 02\r\n" + PLAIN + b"hi", False),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\ncontent-length: 2\r\n" + PLAIN, False),
        (b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + PLAIN + b"0\r\n\r\n", False),
        (b"POST / HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n" + PLAIN, False),
        (b"OPTIONS / HTTP/1.1\r\n" + PLAIN, False),
        (b"GET / HTTP/1.0\r\n" + PLAIN, False),
        (b"GET //a HTTP/1.1\r\n" + PLAIN, False),
        (b"GET /#a HTTP/1.1\r\n" + PLAIN, False),
        (b"GET http://a/ HTTP/1.1\r\n" + PLAIN, False),
        (b"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nContent-Length: 0\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nExpect: 100-continue\r\n\r\n", False),
        (b"GET / HTTP/1.1\r\nUpgrade: h2c\r\n\r\n", False),
        (b"GET /" + b"x" * 65_600 + b" HTTP/1.1\r\n" + PLAIN, False),
        (b"GET / HTTP/1.1\r\nX: " + b"x" * head_cache.BLOCK_BYTES_MAX + b"\r\n\r\n", False),
    ],
)
def test_only_plain_heads_are_cached(request_bytes: bytes, is_cached: bool) -> None:
    head = request_bytes.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"

    try:
        assert isinstance(read_request(SETTINGS, head, CLIENT, 1), CachedHeadRequest) is is_cached
    except ParseException:
        assert not is_cached


def requests_of(pieces: list[bytes]) -> list[object]:
    """Return the target, body and number of each request that a connection assembles, and the status of an error."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        connection = ClientConnection(SETTINGS, ours, CLIENT, SERVER)
        found: list[object] = []
        try:
            for piece in pieces:
                request = connection.receive(piece)
                while request is not None:
                    found.append((request.uri, request.body.read(), request.req_number))
                    rest, connection.pending = bytes(connection.pending), bytearray()
                    request = connection.receive(rest) if rest else None
        except (Refused, ParseException) as error:
            found.append(getattr(error, "status", 400))
    return found


TWO = (
    b"POST /1 HTTP/1.1\r\nContent-Length: 5\r\n" + PLAIN + b"hello"
    b"POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n3;a=b\r\nyou\r\n0\r\nX: 1\r\n\r\n"
    b"GET /3 HTTP/1.1\r\n" + PLAIN
)


@given(st.lists(st.integers(0, len(TWO)), max_size=6))
def test_requests_do_not_depend_on_packet_boundaries(cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), len(TWO)]
    pieces = [TWO[begin:end] for begin, end in pairwise(bounds) if end > begin]

    assert requests_of(pieces) == [("/1", b"hello", 1), ("/2", b"hiyou", 2), ("/3", b"", 3)]


def test_environ_belongs_to_one_request() -> None:
    head = b"GET / HTTP/1.1\r\n" + PLAIN
    first, second = (read_request(SETTINGS, head, CLIENT, number) for number in (1, 2))
    create(first, None, CLIENT, SERVER, SETTINGS)[1].clear()

    assert create(second, None, CLIENT, SERVER, SETTINGS)[1]["HTTP_APIKEY"] == "k"


def test_environ_has_the_time_of_arrival() -> None:
    for lines in (PLAIN, b"Upgrade: none\r\n" + PLAIN):  # from the cache, and from gunicorn's parser
        request = read_request(SETTINGS, b"GET / HTTP/1.1\r\n" + lines, CLIENT, 1)
        request.arrived = 5.0
        assert create(request, None, CLIENT, SERVER, SETTINGS)[1]["walkthrough.arrived"] == 5.0


def test_addresses_are_not_cached() -> None:
    head = b"GET / HTTP/1.1\r\n" + PLAIN
    for client, server in ((("10.0.0.1", 1), ("10.0.0.2", 80)), (("::1", 2, 0, 0), ("::2", 81, 0, 0))):
        ours = create(read_request(SETTINGS, head, client, 1), None, client, server, SETTINGS)[1]
        assert (ours["REMOTE_ADDR"], ours["REMOTE_PORT"]) == (client[0], str(client[1]))
        assert (ours["SERVER_NAME"], ours["SERVER_PORT"]) == (server[0], str(server[1]))


def test_script_name_disables_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPT_NAME", "/below")
    head = b"GET /below/a HTTP/1.1\r\nHost: somewhere else\r\n\r\n"

    assert outcome(head, cached=True) == outcome(head, cached=False)


def test_cache_size_is_limited() -> None:
    for number in range(head_cache.HEADS_MAX + 10):
        read_block(SETTINGS, b"\r\nX-Anything: %d\r\n\r\n" % number, has_length=False)

    assert read_block.cache_info().currsize == head_cache.HEADS_MAX


def test_request_id_and_length_share_a_cache_entry() -> None:
    before = read_block.cache_info().currsize
    found = []
    for number in range(20):
        head = b"POST / HTTP/1.1\r\nHost: a\r\nX-Request-ID: %032x\r\nVia: p\r\n" % number
        head += b"Content-Length: %d\r\n\r\n" % number
        request = read_request(SETTINGS, head, CLIENT, 1)
        environ = create(request, None, CLIENT, SERVER, SETTINGS)[1]
        found.append((environ["HTTP_X_REQUEST_ID"], environ["CONTENT_LENGTH"], request.length))

    assert found == [(f"{number:032x}", str(number), number) for number in range(20)]
    assert read_block.cache_info().currsize <= before + 1

"""A head that is known by its bytes: the request and the environment are those that gunicorn makes of it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import gunicorn.http.wsgi
import pytest
from gunicorn.config import Config
from gunicorn.http.errors import ParseException
from gunicorn.http.parser import RequestParser
from hypothesis import given
from hypothesis import strategies as st

from serving import familiar
from serving.familiar import Familiar
from serving.familiar import Reader
from serving.familiar import create
from serving.familiar import read_head
from serving.incoming import Incoming

CLIENT, SERVER = ("10.0.0.7", 40_123), ("127.0.0.1", 3000)
FOREIGN = {"wsgi.errors", "wsgi.input", "wsgi.early_hints"}
"""What is another object each time, and what gunicorn alone offers."""


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


class Anew(RequestParser):
    """gunicorn's reader, which knows nothing by its bytes."""

    mesg_class = Incoming


class Wire:
    def send(self, data: bytes) -> None:
        """An interim answer, which a head may ask for."""


def told(request: Incoming, made: Any) -> dict[str, object]:
    """All that an application, and gunicorn's own answer, can learn of a request."""
    _, environ = made(request, Wire(), CLIENT, SERVER, SETTINGS)
    kept = {name: value for name, value in environ.items() if name not in FOREIGN}
    del kept["gunicorn.socket"]
    return {
        **kept,
        "body": environ["wsgi.input"].read(),
        "closes": request.should_close(),
        "headers": sorted(request.headers),
        **{
            name: getattr(request, name)
            for name in (
                "method", "uri", "path", "query", "fragment", "version", "scheme",
                "must_close", "req_number", "trailers", "proxy_protocol_info", "remote_addr",
            )
        },
    }  # fmt: skip


def outcome(kind: type[RequestParser], said: list[bytes], made: Any) -> list[object]:
    """Every request in what was said, piece by piece, and how it ended."""
    found: list[object] = []
    reader = kind(SETTINGS, said, CLIENT)
    try:
        found.extend(told(request, made) for request in reader)
    except Exception as error:  # noqa: BLE001 - whichever it is, it has to be the same
        found.append((type(error), str(error)))
    return found


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
VERSIONS = st.sampled_from(
    ["HTTP/1.1", "HTTP/1.1", "HTTP/1.0", "HTTP/2.0", "HTTP/1.1 ", "http/1.1"]
)
ENDS = st.sampled_from(["", "", "", "5\r\nhello\r\n0\r\n\r\n", "hello", "\r\n"])


@st.composite
def heads(draw: st.DrawFn) -> bytes:
    first = " ".join((draw(METHODS | st.just("GET")), draw(TARGETS), draw(VERSIONS)))
    lines = [first, *draw(st.lists(LINES, max_size=4))]
    return ("\r\n".join(lines) + "\r\n\r\n" + draw(ENDS)).encode("latin-1")


@given(st.lists(heads(), min_size=1, max_size=2).map(b"".join))
def test_a_request_is_what_gunicorn_makes_of_it(said: bytes) -> None:
    ours = outcome(Reader, [said], create)

    assert ours == outcome(Anew, [said], gunicorn.http.wsgi.create)
    assert ours == outcome(Reader, [said], create)  # and again, from memory


PLAIN = b"Host: a\r\napikey: k\r\nConnection: keep-alive\r\n\r\n"


@pytest.fixture
def reader() -> Iterator[tuple[Reader, socket.socket]]:
    client, server = socket.socketpair()
    yield Reader(SETTINGS, server, CLIENT), client
    client.close()
    server.close()


@pytest.mark.parametrize(
    ("said", "is_familiar"),
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
        (b"POST / HTTP/1.1\r\nContent-Length: 1\r\n" + PLAIN + b"hi", False),
        (b"POST / HTTP/1.1\r\n" + PLAIN + b"hi", False),
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
        (b"GET / HTTP/1.1\r\nX: " + b"x" * familiar.HEAD_BYTES_MAX + b"\r\n\r\n", False),
        ((b"GET / HTTP/1.1\r\n" + PLAIN) * 2, False),
    ],
)
def test_only_what_is_as_plain_as_can_be_is_familiar(
    reader: tuple[Reader, socket.socket], said: bytes, is_familiar: bool
) -> None:
    reader[1].sendall(said)

    try:
        assert isinstance(next(reader[0]), Familiar) is is_familiar
    except ParseException:
        assert not is_familiar


def test_a_connection_may_go_from_one_kind_to_the_other(
    reader: tuple[Reader, socket.socket],
) -> None:
    requests, client = reader
    kinds = []
    for said in (
        b"GET /1 HTTP/1.1\r\n" + PLAIN,
        b"POST /2 HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
        b"GET /3 HTTP/1.1\r\n" + PLAIN,
        b"GET /4 HTTP/1.1\r\nConnection: close\r\n\r\n",
    ):
        client.sendall(said)
        request = next(requests)
        request.body.read()
        kinds.append((request.path, type(request), request.req_number))

    assert kinds == [
        ("/1", Familiar, 1),
        ("/2", Incoming, 2),
        ("/3", Familiar, 3),
        ("/4", Incoming, 4),
    ]
    client.sendall(b"GET /5 HTTP/1.1\r\n" + PLAIN)
    with pytest.raises(StopIteration):
        next(requests)


def test_the_end_of_a_connection_is_one(reader: tuple[Reader, socket.socket]) -> None:
    requests, client = reader
    client.sendall(b"GET /1 HTTP/1.1\r\n" + PLAIN)
    next(requests)
    client.close()

    with pytest.raises(StopIteration):
        next(requests)


@pytest.mark.parametrize("at_once", [0, 2, 5])
@pytest.mark.parametrize("read", [0, 3, 5])
def test_a_body_is_its_requests_own(
    reader: tuple[Reader, socket.socket], at_once: int, read: int
) -> None:
    requests, client = reader
    head = b"POST /1 HTTP/1.1\r\nContent-Length: 5\r\n" + PLAIN
    client.sendall(head + b"hello"[:at_once])
    request = next(requests)
    client.sendall(b"hello"[at_once:] + b"GET /2 HTTP/1.1\r\n" + PLAIN)

    assert type(request) is Familiar
    assert request.body.read(read) == b"hello"[:read]
    assert next(requests).path == "/2"


def test_after_a_body_that_breaks_off_comes_nothing(reader: tuple[Reader, socket.socket]) -> None:
    requests, client = reader
    client.sendall(b"POST /1 HTTP/1.1\r\nContent-Length: 5\r\n" + PLAIN + b"he")
    request = next(requests)
    client.close()

    assert request.body.read(5) == b"he"
    with pytest.raises(StopIteration):
        next(requests)


def test_an_answer_to_a_body_that_failed_is_the_last_and_says_so(
    reader: tuple[Reader, socket.socket],
) -> None:
    """Where the next request would begin is unknown."""
    requests, client = reader
    client.sendall(b"POST /1 HTTP/1.1\r\nContent-Length: 5\r\n" + PLAIN + b"he")
    request = next(requests)
    assert (type(request), request.should_close()) == (Familiar, False)

    requests.unreader.sock.setblocking(False)
    with pytest.raises(BlockingIOError):
        request.body.read(5)

    assert request.should_close()


@given(
    st.sampled_from(["POST", "PATCH", "PUT", "DELETE", "GET", "HEAD"]),
    st.lists(LINES, max_size=2),
    st.sampled_from(["0", "1", "5", "05", "-1", "5 ", "5, 5", "99999999999", "0x5", "५"]),
    st.binary(max_size=8),
    st.booleans(),
)
def test_a_body_is_what_gunicorn_makes_of_it(
    method: str, lines: list[str], length: str, body: bytes, at_once: bool
) -> None:
    stated = b"Content-Length: " + length.encode()
    head = f"{method} /a HTTP/1.1\r\n".encode() + stated + b"\r\n"
    head += "".join(f"{line}\r\n" for line in lines).encode("latin-1") + b"\r\n"
    said = [head + body] if at_once else [head, body]
    ours = outcome(Reader, said, create)

    assert ours == outcome(Anew, said, gunicorn.http.wsgi.create)
    assert ours == outcome(Reader, said, create)


def test_half_a_head_is_read_on(reader: tuple[Reader, socket.socket]) -> None:
    requests, client = reader
    client.sendall(b"GET /1 HTTP/1.1\r\nHo")
    client.sendall(b"st: a\r\n\r\n")

    assert next(requests).path == "/1"


def test_two_heads_at_once_are_two_requests(reader: tuple[Reader, socket.socket]) -> None:
    requests, client = reader
    client.sendall(b"GET /1 HTTP/1.1\r\n" + PLAIN + b"GET /2 HTTP/1.1\r\n" + PLAIN)

    assert [next(requests).path for _ in range(2)] == ["/1", "/2"]


def test_an_environment_is_a_requests_own() -> None:
    requests = Reader(
        SETTINGS, [b"GET / HTTP/1.1\r\n" + PLAIN, b"GET / HTTP/1.1\r\n" + PLAIN], CLIENT
    )
    first = create(next(requests), Wire(), CLIENT, SERVER, SETTINGS)[1]
    expected = dict(first)
    first.clear()

    second = create(next(requests), Wire(), CLIENT, SERVER, SETTINGS)[1]

    assert second.keys() == expected.keys()
    assert second["HTTP_APIKEY"] == "k"
    assert second["wsgi.input"] is not expected["wsgi.input"]


def test_who_asks_is_nothing_that_is_kept() -> None:
    said = b"GET / HTTP/1.1\r\n" + PLAIN
    for client, server in (
        (("10.0.0.1", 1), ("10.0.0.2", 80)),
        (("::1", 2, 0, 0), ("::2", 81, 0, 0)),
        ("", "/run/socket"),
    ):
        request = next(Reader(SETTINGS, [said], client))
        ours = create(request, Wire(), client, server, SETTINGS)[1]
        anew = next(Anew(SETTINGS, [said], client))
        theirs = gunicorn.http.wsgi.create(anew, Wire(), client, server, SETTINGS)[1]
        for name in ("REMOTE_ADDR", "REMOTE_PORT", "SERVER_NAME", "SERVER_PORT"):
            assert ours.get(name) == theirs.get(name)


def test_below_another_path_nothing_is_familiar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SCRIPT_NAME", "/below")
    said = b"GET /below/a HTTP/1.1\r\nHost: somewhere else\r\n\r\n"

    assert outcome(Reader, [said], create) == outcome(Anew, [said], gunicorn.http.wsgi.create)


def test_a_few_heads_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(familiar.HEADS_KEPT + 10):
        read_head(SETTINGS, b"\r\nX-Anything: %d\r\n\r\n" % number, has_length=False)

    assert read_head.cache_info().currsize == familiar.HEADS_KEPT


def test_neither_a_proxys_number_nor_a_length_makes_a_head_another() -> None:
    before = read_head.cache_info().currsize
    found = []
    for number in range(20):
        said = b"POST / HTTP/1.1\r\nHost: a\r\nX-Request-ID: %032x\r\nVia: p\r\n" % number
        said += b"Content-Length: %d\r\n\r\n" % number + b"x" * number
        request = next(Reader(SETTINGS, [said], CLIENT))
        environ = create(request, Wire(), CLIENT, SERVER, SETTINGS)[1]
        found.append((environ["HTTP_X_REQUEST_ID"], environ["CONTENT_LENGTH"]))
        assert environ["wsgi.input"].read() == b"x" * number

    assert found == [(f"{number:032x}", str(number)) for number in range(20)]
    assert read_head.cache_info().currsize <= before + 1

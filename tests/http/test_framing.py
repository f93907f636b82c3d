"""Attack catalogue, group H: framing of requests, and limits. Marks name the entries."""

import socket
import time

import pytest

from tests.durability.served import Served
from tests.http.service import CHEAP_READ, MIB, RUNNING_SERVICE, ask, count_names, error_body, head_lines
from tests.support.raw import answers, exchange

pytestmark = [RUNNING_SERVICE, pytest.mark.one_engine]
# H01: request smuggling

ROW = b'{"name": "Smuggled"}'
SMUGGLED_REQUEST = b"POST /inspectors HTTP/1.1\r\n" + head_lines(Content_Length="20") + b"\r\n" + ROW
LENGTH = b"Content-Length: %d\r\n" % len(ROW)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
CHUNKED_ROW = b"14\r\n" + ROW + b"\r\n0\r\n\r\n"


def post_request(framing: bytes, body: bytes, version: bytes = b"1.1") -> bytes:
    return b"POST /inspectors HTTP/%s\r\n" % version + head_lines() + framing + b"\r\n" + body


AMBIGUOUS_REQUESTS = {
    "length-and-chunks": post_request(LENGTH + CHUNKED, CHUNKED_ROW),
    "chunks-and-length": post_request(CHUNKED + LENGTH, CHUNKED_ROW),
    "chunks-and-no-length": post_request(CHUNKED + b"Content-Length: 0\r\n", CHUNKED_ROW),
    "two-lengths": post_request(LENGTH + LENGTH, ROW),
    "two-other-lengths": post_request(b"Content-Length: 0\r\n" + LENGTH, ROW),
    "lengths-in-a-list": post_request(b"Content-Length: 20, 20\r\n", ROW),
    "signed-length": post_request(b"Content-Length: +20\r\n", ROW),
    "negative-length": post_request(b"Content-Length: -20\r\n", ROW),
    "length-with-underscore": post_request(b"Content-Length: 2_0\r\n", ROW),
    "length-in-hexadecimal": post_request(b"Content-Length: 0x14\r\n", ROW),
    "length-in-other-digits": post_request("Content-Length: ２０\r\n".encode(), ROW),
    "odd-coding": post_request(b"Transfer-Encoding: xchunked\r\n", CHUNKED_ROW),
    "coding-with-a-tail": post_request(b"Transfer-Encoding: chunked x\r\n", CHUNKED_ROW),
    "chunked-twice": post_request(CHUNKED + CHUNKED, CHUNKED_ROW),
    "chunked-then-identity": post_request(b"Transfer-Encoding: chunked, identity\r\n", CHUNKED_ROW),
    "compressed-chunks": post_request(b"Transfer-Encoding: gzip, chunked\r\n", CHUNKED_ROW),
    "chunks-in-1.0": post_request(CHUNKED, CHUNKED_ROW, b"1.0"),
    "space-before-colon": post_request(b"Transfer-Encoding : chunked\r\n", CHUNKED_ROW),
    "vertical-tab": post_request(b"Transfer-Encoding:\x0bchunked\r\n", CHUNKED_ROW),
    "folded": post_request(b"X: 1\r\n Transfer-Encoding: chunked\r\n", CHUNKED_ROW),
    "folded-by-tab": post_request(LENGTH + b"X: 1\r\n\tY: 2\r\n", ROW),
    "two-hosts": post_request(b"Host: b\r\n" + LENGTH, ROW),
    "bare-LF": post_request(LENGTH, ROW).replace(b"\r\n", b"\n"),
    "bare-LF-in-the-head": post_request(LENGTH + b"X: 1\n", ROW),
    "bare-CR-in-the-head": post_request(b"X: 1\r" + LENGTH, ROW),
    "NUL-in-the-head": post_request(b"X: \0\r\n" + LENGTH, ROW),
    "LF-in-the-request-line": post_request(LENGTH, ROW).replace(b" HTTP", b"\n HTTP", 1),
    "CR-in-a-chunk-extension": post_request(CHUNKED, b"14;a=\rb\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "LF-in-a-chunk-extension": post_request(CHUNKED, b"14;a=\nb\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-size-signed": post_request(CHUNKED, b"+14\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-size-with-0x": post_request(CHUNKED, b"0x14\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-size-with-underscore": post_request(CHUNKED, b"1_4\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-size-by-LF": post_request(CHUNKED, b"14\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-longer-than-its-size": post_request(CHUNKED, b"13\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-never-ended": post_request(CHUNKED, b"14\r\n" + ROW),
    "no-last-chunk": post_request(CHUNKED, b"14\r\n" + ROW + b"\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("kind", AMBIGUOUS_REQUESTS)
@pytest.mark.attack(entry="H01")
def test_ambiguous_request_is_refused_and_closed(service: Served, kind: str) -> None:
    received = exchange(service.port, AMBIGUOUS_REQUESTS[kind] + SMUGGLED_REQUEST, then_close=True)

    [answer] = answers(received)
    assert answer.status in (400, 501)
    assert answer.headers["connection"] == "close"
    error_body(answer)
    assert count_names(service, "inspectors", "Smuggled") == 0


@pytest.mark.attack(entry="H01")
def test_sign_in_refuses_malformed_chunks(service: Served) -> None:
    line = b"POST /auth/v1/token?grant_type=password HTTP/1.1\r\n"

    received = exchange(
        service.port, line + head_lines("nobody") + CHUNKED + b"\r\n+2\r\n{}\r\n0\r\n\r\n" + SMUGGLED_REQUEST
    )

    [answer] = answers(received)
    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert set(answer.json) >= {"code", "error_code", "message", "msg"}


def test_target_with_raw_utf_8_is_accepted(service: Served) -> None:
    """curl does not encode the target. Parsed and cached heads are decoded alike."""
    sent = {
        line: b"GET /inspectors?select=%s:name&limit=1 HTTP/1.1\r\n" % line + head_lines(Connection="close") + b"\r\n"
        for line in ("Zürich".encode(), b"Z%C3%BCrich", b"Z\xfcrich")
    }  # fmt: skip

    typed, encoded, broken = (answers(exchange(service.port, each))[0] for each in sent.values())

    assert typed.status == encoded.status == 200
    assert [set(row) for row in typed.json] == [set(row) for row in encoded.json] == [{"Zürich"}]
    assert broken.status == 400


def test_target_with_a_hash_is_refused(service: Served) -> None:
    """Node's http sends a path with `#` unchanged. Cut at `#`, the write would lose its filters."""
    line = b"DELETE /inspectors?name=like.*#4*&id=eq.999 HTTP/1.1\r\n"
    before = count_names(service, "inspectors", "")

    for _ in range(2):
        [answer] = answers(exchange(service.port, line + head_lines(Connection="close") + b"\r\n"))
        assert (answer.status, error_body(answer)["code"]) == (400, "PGRST100")
    assert count_names(service, "inspectors", "") == before > 0


@pytest.mark.attack(entry="H01")
def test_pipelined_requests_in_one_packet_are_accepted(service: Served) -> None:
    """The control: two pipelined requests with valid framing are both accepted."""
    row = b'{"name": "Pipelined"}'
    framed = b"POST /inspectors HTTP/1.1\r\n" + head_lines(Content_Length=str(len(row))) + b"\r\n" + row
    chunks = b"POST /inspectors HTTP/1.1\r\n" + head_lines(Connection="close") + CHUNKED
    chunks += b"\r\n15;x=y\r\n" + row + b"\r\n0\r\n\r\n"

    received = answers(exchange(service.port, framed + chunks))

    assert [answer.status for answer in received] == [201, 201]
    assert count_names(service, "inspectors", "Pipelined") == 2


# H02: limits of the head, and methods

HEADS = {
    "line-of-66-KB": (b"GET /buildings?" + b"x" * 66_000 + b" HTTP/1.1\r\n" + head_lines(), 414),
    "101-fields": (
        b"GET /buildings HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(101)), 431,
    ),
    "101-fields-of-no-effect": (
        b"GET /buildings HTTP/1.1\r\n" + b"".join(b"X_%d: 1\r\n" % n for n in range(101)), 431,
    ),
    "field-of-8200-bytes": (b"GET /buildings HTTP/1.1\r\n" + head_lines(X="x" * 8_200), 431),
    "field-that-does-not-end": (b"GET /buildings HTTP/1.1\r\nX: " + b"x" * 1_000_000, 431),
    "TRACE": (b"TRACE /buildings HTTP/1.1\r\n" + head_lines(), 405),
    "CONNECT": (b"CONNECT /buildings HTTP/1.1\r\n" + head_lines(), 405),
    "unknown-method": (b"PROPFIND /buildings HTTP/1.1\r\n" + head_lines(), 405),
    "method-in-lower-case": (b"get /buildings HTTP/1.1\r\n" + head_lines(), 400),
    "other-version": (b"GET /buildings HTTP/2.0\r\n" + head_lines(), 400),
    "no-version": (b"GET /buildings\r\n" + head_lines(), 400),
}  # fmt: skip


@pytest.mark.parametrize("kind", HEADS)
@pytest.mark.attack(entry="H02")
def test_head_beyond_a_limit_is_refused_in_json(service: Served, kind: str) -> None:
    sent, status = HEADS[kind]

    [answer] = answers(exchange(service.port, sent + b"Connection: close\r\n\r\n"))

    assert answer.status == status
    assert answer.headers["content-type"].startswith("application/json")
    error_body(answer)


@pytest.mark.attack(entry="H02")
def test_head_within_the_limits_is_accepted(service: Served) -> None:
    line = b"GET /buildings?select=id&id=in.(" + b"1," * 900 + b"1) HTTP/1.1\r\n"
    fields = head_lines(X="x" * 8_000, Connection="close")

    [answer] = answers(exchange(service.port, line + fields + b"\r\n"))

    assert (answer.status, answer.json) == (200, [{"id": 1}])


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
@pytest.mark.attack(entry="H02")
def test_method_override_header_is_ignored(service: Served, name: str) -> None:
    read = ask(service, "service", "GET", "/inspections?id=eq.1&select=id", **{name: "DELETE"})
    sent = ask(service, "service", "POST", "/inspections?id=eq.1", {}, **{name: "DELETE"})

    assert (read.status, read.json) == (200, [{"id": 1}])
    assert sent.status == 400
    assert ask(service, "service", "GET", "/inspections?id=eq.1&select=id").json == [{"id": 1}]


# H03: limits of the body, and wrong lengths


def large(kind: str, size: int) -> bytes:
    if kind == "text/csv":
        return b"name\nLarge" + b"x" * (size - len(b"name\nLarge"))
    start, end = b'[{"name": "Large"}', b"]"
    return start + b" " * (size - len(start) - len(end)) + end


def complete_request(kind: str, size: int, chunked: bool) -> bytes:
    body = large(kind, size)
    fields = head_lines(Content_Type=kind, Connection="close")
    if not chunked:
        return fields + b"Content-Length: %d\r\n\r\n" % size + body
    pieces = (body[at : at + 100_000] for at in range(0, size, 100_000))
    framed = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return fields + CHUNKED + b"\r\n" + framed + b"0\r\n\r\n"


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize(
    ("kind", "size"),
    [
        pytest.param("application/json", MIB + 1, id="json"),
        pytest.param("text/csv", 5 * MIB + 1, id="csv"),
        pytest.param("application/json", 20 * MIB, id="json-of-20-MiB"),
    ],
)
@pytest.mark.attack(entry="H03")
def test_body_beyond_its_limit_is_refused_and_writes_nothing(
    service: Served, kind: str, size: int, chunked: bool
) -> None:
    received = exchange(service.port, b"POST /inspectors HTTP/1.1\r\n" + complete_request(kind, size, chunked))

    found = answers(received)
    if size > 5 * MIB + 1:  # a client that does not read may get a reset
        assert len(found) <= 1
    else:
        assert len(found) == 1
    for answer in found:
        assert answer.status == 413
        error_body(answer)
    assert count_names(service, "inspectors", "Large") == 0


@pytest.mark.parametrize("size", [300_000, 4_500_000])
@pytest.mark.attack(entry="H03")
def test_client_that_reads_after_sending_gets_the_refusal(service: Served, size: int) -> None:
    sent = complete_request("text/csv", size, False).replace(b"Bearer ", b"Bearer x", 1)
    received = b""

    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as wire:
        wire.sendall(b"POST /inspectors HTTP/1.1\r\n")
        for start in range(0, len(sent), 65_536):
            wire.sendall(sent[start : start + 65_536])
            time.sleep(0.002)  # most clients wait between writes
        while more := wire.recv(65_536):
            received += more

    [answer] = answers(received)
    assert answer.status == 401
    error_body(answer)


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.attack(entry="H03")
def test_body_at_its_limit_is_accepted(service: Served, chunked: bool) -> None:
    sent = complete_request("application/json", MIB, chunked).replace(b'"Large"', b'"Exact"')

    [answer] = answers(exchange(service.port, b"POST /inspectors HTTP/1.1\r\n" + sent))

    assert answer.status == 201
    assert count_names(service, "inspectors", "Exact") >= 1


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
@pytest.mark.parametrize("size", [1_000, 64_000, 66_000, 900_000])
@pytest.mark.attack(entry="H03")
def test_refusal_before_the_body_states_whether_it_closes(service: Served, size: int, chunked: bool) -> None:
    unknown = complete_request("application/json", size, chunked).replace(b"Bearer ", b"Bearer x", 1)
    keep_alive = unknown.replace(b"Connection: close\r\n", b"", 1)
    second = b"GET /live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    received = exchange(service.port, b"POST /inspectors HTTP/1.1\r\n" + keep_alive + second)

    first, *others = answers(received)
    assert first.status == 401
    if first.headers["connection"] == "close":
        assert chunked or size > 65_000
        assert others == []
    else:
        assert [answer.status for answer in others] == [200]


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_connection_is_kept_after_a_large_body(service: Served, chunked: bool) -> None:
    taken = complete_request("application/json", 900_000, chunked).replace(b'"Large"', b'"Exact"')
    keep_alive = taken.replace(b"Connection: close\r\n", b"", 1)
    second = b"GET /live HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"

    received = exchange(service.port, b"POST /inspectors HTTP/1.1\r\n" + keep_alive + second)

    assert [answer.status for answer in answers(received)] == [201, 200]


WRONG_LENGTHS = {
    "more-than-comes": post_request(b"Content-Length: 40\r\n", b'[{"name": "Lying"}]'),
    "less-than-comes": post_request(b"Content-Length: 18\r\n", b'[{"name": "Lying"}]'),
    "half-a-CSV": post_request(b"Content-Length: 90\r\n", b"name\nLying one\nLying two\n").replace(
        b"application/json", b"text/csv"
    ),
    "none": post_request(b"Content-Length: 0\r\n", b'[{"name": "Lying"}]'),
    "absent": post_request(b"", b'[{"name": "Lying"}]'),
    "20-MiB-and-nothing-comes": post_request(b"Content-Length: 20971520\r\n", b""),
    "of-400-digits": post_request(b"Content-Length: " + b"9" * 400 + b"\r\n", b'[{"name": "Lying"}]'),
    "of-5000-digits": post_request(b"Content-Length: " + b"9" * 5_000 + b"\r\n", b"[]"),
}


@pytest.mark.parametrize("kind", WRONG_LENGTHS)
@pytest.mark.attack(entry="H03")
def test_wrong_content_length_writes_nothing(service: Served, kind: str) -> None:
    received = exchange(service.port, WRONG_LENGTHS[kind], then_close=True)

    for answer in answers(received):
        assert 400 <= answer.status < 500
        error_body(answer)
    assert count_names(service, "inspectors", "Lying") == 0
    assert ask(service, "ada", "GET", CHEAP_READ).status == 200

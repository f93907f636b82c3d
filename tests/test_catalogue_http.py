"""Attack catalogue, group H: HTTP, load, logs, supply; of the server as it is run. A test's number is the catalogue's.

Sizes are those of the commit tier; the full ones are marked `long`. That a graceful stop under load loses
nothing (the rest of H14) is in durability/test_load.py.
"""
# ruff: noqa: N802  (a test carries its catalogue number as it is written there)

import ast
import contextlib
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from models.sql.sqlite import driver
from serving import worker
from tests import hurried
from tests import tokens
from tests.conftest import CAST
from tests.durability.served import PROJECT
from tests.durability.served import Answer
from tests.durability.served import Served
from tests.durability.served import free_port
from tests.durability.served import serving
from tests.durability.shim import DATABASE
from tests.raw import RawAnswer
from tests.raw import answers
from tests.raw import connect
from tests.raw import exchange
from tests.raw import inodes_of
from tests.raw import read_to_end
from tests.raw import tcp_rows

pytestmark = [
    pytest.mark.sqlite("the server is started over a file"),
    pytest.mark.skipif(
        sys.platform != "linux", reason="signals and sockets are looked at in /proc"
    ),
]

MIB = 1 << 20
NOTE = "a" * 65_536
HEAVY_ROWS = 600  # of 64 KiB each: more than an answer may hold
PATTERN = "*" + "a" * 253 + "b"  # almost, at every place of a note: some 25 ms a row
WORST = "/inspections?select=id&or=(" + ",".join([f"notes.ilike.{PATTERN}"] * 99) + ")"
COSTLIEST_PATCH = "/inspections?" + "&".join([f"notes=not.like.{PATTERN}"] * 99)
HONEST = "/buildings?select=id&id=eq.1"

ENDS_WITHIN_SECONDS = 2.2
MARGIN_SECONDS = 1.8  # this machine may have other things to do


@pytest.fixture(scope="module")
def heavy_file(base_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data set, and on building 6 of client 1 inspections with long notes."""
    file = tmp_path_factory.mktemp("heavy") / DATABASE
    shutil.copy(base_file, file)
    with closing(driver.connect(str(file))) as connection:
        connection.executemany(
            "INSERT INTO inspections (building_id, inspection_type, notes, created_at, updated_at, client_id)"
            " VALUES (6, 'heavy', ?, '2025-01-01T00:00:00+00:00', '2025-01-01T00:00:00+00:00', 1)",
            ((NOTE,) for _ in range(HEAVY_ROWS)),
        )
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return file


def served_over(file: Path, directory: Path, application: str = "wsgi:app") -> Served:
    directory.mkdir(mode=0o700)
    shutil.copy(file, directory / DATABASE)
    (directory / DATABASE).chmod(0o600)
    return Served(directory, application, {"LOG_LEVEL": "info"})


@pytest.fixture(scope="module")
def service(heavy_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(served_over(heavy_file, tmp_path_factory.mktemp("http") / "served")) as running:
        yield running


@pytest.fixture(scope="module")
def in_a_hurry(heavy_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """The same with deadlines that a test can wait for."""
    directory = tmp_path_factory.mktemp("hurried") / "served"
    with serving(served_over(heavy_file, directory, "tests.hurried:make()")) as running:
        yield running


def head_lines(who: str = "service", **more: str) -> bytes:
    """The head's lines of a request that would be let in."""
    sent = {"Host": "a", "apikey": tokens.ANON_KEY, "Authorization": CAST[who].authorization()}
    sent |= {"Content-Type": "application/json"}
    sent |= {name.replace("_", "-"): value for name, value in more.items()}
    return "".join(f"{name}: {value}\r\n" for name, value in sent.items() if value).encode()


def ask(
    service: Served, who: str, method: str, path: str, body: object = None, **headers: str
) -> Answer:
    with closing(service.consumer(who)) as consumer:
        return consumer.send(method, path, body, **headers)


def refusal_in_json(answer: RawAnswer | Answer) -> dict:
    """The four keys of an error, and nothing of the inside in it."""
    found = json.loads(answer.body)
    assert set(found) == {"code", "message", "details", "hint"}
    assert not re.search(
        r"Traceback|gunicorn|werkzeug|sqlite|/home|\.py", json.dumps(found), re.IGNORECASE
    )
    return found


def names_written(service: Served, table: str, name: str) -> int:
    with closing(driver.connect(str(service.database))) as connection:
        found: int = connection.execute(
            f"SELECT count(*) FROM {table} WHERE name LIKE ?", (f"{name}%",)
        ).fetchone()[0]
        return found


# H01: two readers of one stream must agree where a request ends

ROW = b'{"name": "Smuggled"}'
INNER = b"POST /inspectors HTTP/1.1\r\n" + head_lines(Content_Length="20") + b"\r\n" + ROW
LENGTH = b"Content-Length: %d\r\n" % len(ROW)
CHUNKED = b"Transfer-Encoding: chunked\r\n"
IN_CHUNKS = b"14\r\n" + ROW + b"\r\n0\r\n\r\n"


def posted(framing: bytes, body: bytes, version: bytes = b"1.1") -> bytes:
    return b"POST /inspectors HTTP/%s\r\n" % version + head_lines() + framing + b"\r\n" + body


SMUGGLED = {
    "length-and-chunks": posted(LENGTH + CHUNKED, IN_CHUNKS),
    "chunks-and-length": posted(CHUNKED + LENGTH, IN_CHUNKS),
    "chunks-and-no-length": posted(CHUNKED + b"Content-Length: 0\r\n", IN_CHUNKS),
    "two-lengths": posted(LENGTH + LENGTH, ROW),
    "two-other-lengths": posted(b"Content-Length: 0\r\n" + LENGTH, ROW),
    "lengths-in-a-list": posted(b"Content-Length: 20, 20\r\n", ROW),
    "signed-length": posted(b"Content-Length: +20\r\n", ROW),
    "negative-length": posted(b"Content-Length: -20\r\n", ROW),
    "length-with-underscore": posted(b"Content-Length: 2_0\r\n", ROW),
    "length-in-hexadecimal": posted(b"Content-Length: 0x14\r\n", ROW),
    "length-in-other-digits": posted("Content-Length: ２０\r\n".encode(), ROW),
    "odd-coding": posted(b"Transfer-Encoding: xchunked\r\n", IN_CHUNKS),
    "coding-with-a-tail": posted(b"Transfer-Encoding: chunked x\r\n", IN_CHUNKS),
    "chunked-twice": posted(CHUNKED + CHUNKED, IN_CHUNKS),
    "chunked-then-identity": posted(b"Transfer-Encoding: chunked, identity\r\n", IN_CHUNKS),
    "compressed-chunks": posted(b"Transfer-Encoding: gzip, chunked\r\n", IN_CHUNKS),
    "chunks-in-1.0": posted(CHUNKED, IN_CHUNKS, b"1.0"),
    "space-before-colon": posted(b"Transfer-Encoding : chunked\r\n", IN_CHUNKS),
    "vertical-tab": posted(b"Transfer-Encoding:\x0bchunked\r\n", IN_CHUNKS),
    "folded": posted(b"X: 1\r\n Transfer-Encoding: chunked\r\n", IN_CHUNKS),
    "folded-by-tab": posted(LENGTH + b"X: 1\r\n\tY: 2\r\n", ROW),
    "two-hosts": posted(b"Host: b\r\n" + LENGTH, ROW),
    "bare-LF": posted(LENGTH, ROW).replace(b"\r\n", b"\n"),
    "bare-LF-in-the-head": posted(LENGTH + b"X: 1\n", ROW),
    "bare-CR-in-the-head": posted(b"X: 1\r" + LENGTH, ROW),
    "NUL-in-the-head": posted(b"X: \0\r\n" + LENGTH, ROW),
    "LF-in-the-request-line": posted(LENGTH, ROW).replace(b" HTTP", b"\n HTTP", 1),
    "CR-in-a-chunk-extension": posted(CHUNKED, b"14;a=\rb\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "LF-in-a-chunk-extension": posted(CHUNKED, b"14;a=\nb\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-size-signed": posted(CHUNKED, b"+14\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-size-with-0x": posted(CHUNKED, b"0x14\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-size-with-underscore": posted(CHUNKED, b"1_4\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-size-by-LF": posted(CHUNKED, b"14\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-longer-than-said": posted(CHUNKED, b"13\r\n" + ROW + b"\r\n0\r\n\r\n"),
    "chunk-never-ended": posted(CHUNKED, b"14\r\n" + ROW),
    "no-last-chunk": posted(CHUNKED, b"14\r\n" + ROW + b"\r\n"),
}  # fmt: skip


@pytest.mark.parametrize("kind", SMUGGLED)
def test_H01_request_that_two_readers_read_differently_is_refused_and_closed(
    service: Served, kind: str
) -> None:
    received = exchange(service.port, SMUGGLED[kind] + INNER, then_close=True)

    [answer] = answers(received)
    assert answer.status in (400, 501)
    assert answer.headers["connection"] == "close"
    refusal_in_json(answer)
    assert names_written(service, "inspectors", "Smuggled") == 0


def test_H01_broken_chunks_are_refused_by_the_sign_in_too(service: Served) -> None:
    line = b"POST /auth/v1/token?grant_type=password HTTP/1.1\r\n"

    received = exchange(
        service.port, line + head_lines("nobody") + CHUNKED + b"\r\n+2\r\n{}\r\n0\r\n\r\n" + INNER
    )

    [answer] = answers(received)
    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert set(answer.json) >= {"code", "error_code", "message", "msg"}


def test_H01_two_requests_in_one_packet_are_two(service: Served) -> None:
    """What is refused above is refused for its framing: well framed, both are taken."""
    row = b'{"name": "Pipelined"}'
    framed = (
        b"POST /inspectors HTTP/1.1\r\n" + head_lines(Content_Length=str(len(row))) + b"\r\n" + row
    )
    chunks = b"POST /inspectors HTTP/1.1\r\n" + head_lines(Connection="close") + CHUNKED
    chunks += b"\r\n15;x=y\r\n" + row + b"\r\n0\r\n\r\n"

    received = answers(exchange(service.port, framed + chunks))

    assert [answer.status for answer in received] == [201, 201]
    assert names_written(service, "inspectors", "Pipelined") == 2


# H02: heads that are too large, methods that are none

HEADS = {
    "line-of-66-KB": (b"GET /buildings?" + b"x" * 66_000 + b" HTTP/1.1\r\n" + head_lines(), 414),
    "101-fields": (
        b"GET /buildings HTTP/1.1\r\n" + b"".join(b"X-%d: 1\r\n" % n for n in range(101)), 431,
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
def test_H02_head_beyond_the_bounds_is_refused_in_json(service: Served, kind: str) -> None:
    sent, status = HEADS[kind]

    [answer] = answers(exchange(service.port, sent + b"Connection: close\r\n\r\n"))

    assert answer.status == status
    assert answer.headers["content-type"].startswith("application/json")
    refusal_in_json(answer)


def test_H02_head_within_the_bounds_is_taken(service: Served) -> None:
    line = b"GET /buildings?select=id&id=in.(" + b"1," * 900 + b"1) HTTP/1.1\r\n"
    fields = head_lines(X="x" * 8_000, Connection="close")

    [answer] = answers(exchange(service.port, line + fields + b"\r\n"))

    assert (answer.status, answer.json) == (200, [{"id": 1}])


@pytest.mark.parametrize("name", ["X-HTTP-Method-Override", "X-HTTP-Method", "X-Method-Override"])
def test_H02_overridden_method_is_ignored(service: Served, name: str) -> None:
    read = ask(service, "service", "GET", "/inspections?id=eq.1&select=id", **{name: "DELETE"})
    sent = ask(service, "service", "POST", "/inspections?id=eq.1", {}, **{name: "DELETE"})

    assert (read.status, read.json) == (200, [{"id": 1}])
    assert sent.status == 400
    assert ask(service, "service", "GET", "/inspections?id=eq.1&select=id").json == [{"id": 1}]


# H03: bodies beyond their bound, and lengths that lie


def large(kind: str, size: int) -> bytes:
    if kind == "text/csv":
        return b"name\nLarge" + b"x" * (size - len(b"name\nLarge"))
    start, end = b'[{"name": "Large"}', b"]"
    return start + b" " * (size - len(start) - len(end)) + end


def sent_whole(kind: str, size: int, chunked: bool) -> bytes:
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
def test_H03_body_beyond_its_bound_is_refused_and_writes_nothing(
    service: Served, kind: str, size: int, chunked: bool
) -> None:
    received = exchange(
        service.port, b"POST /inspectors HTTP/1.1\r\n" + sent_whole(kind, size, chunked)
    )

    found = answers(received)
    if size > 5 * MIB + 1:  # a sender that does not listen may be cut off without a word
        assert len(found) <= 1
    else:
        assert len(found) == 1
    for answer in found:
        assert answer.status == 413
        refusal_in_json(answer)
    assert names_written(service, "inspectors", "Large") == 0


@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_H03_body_at_its_bound_is_taken(service: Served, chunked: bool) -> None:
    sent = sent_whole("application/json", MIB, chunked).replace(b'"Large"', b'"Exact"')

    [answer] = answers(exchange(service.port, b"POST /inspectors HTTP/1.1\r\n" + sent))

    assert answer.status == 201
    assert names_written(service, "inspectors", "Exact") >= 1


LYING = {
    "more-than-comes": posted(b"Content-Length: 40\r\n", b'[{"name": "Lying"}]'),
    "less-than-comes": posted(b"Content-Length: 18\r\n", b'[{"name": "Lying"}]'),
    "half-a-CSV": posted(b"Content-Length: 90\r\n", b"name\nLying one\nLying two\n").replace(
        b"application/json", b"text/csv"
    ),
    "none": posted(b"Content-Length: 0\r\n", b'[{"name": "Lying"}]'),
    "not-said": posted(b"", b'[{"name": "Lying"}]'),
    "20-MiB-and-nothing-comes": posted(b"Content-Length: 20971520\r\n", b""),
    "beyond-all-numbers": posted(
        b"Content-Length: " + b"9" * 400 + b"\r\n", b'[{"name": "Lying"}]'
    ),
    "beyond-what-is-parsed": posted(b"Content-Length: " + b"9" * 5_000 + b"\r\n", b"[]"),
}


@pytest.mark.parametrize("kind", LYING)
def test_H03_length_that_lies_writes_nothing(service: Served, kind: str) -> None:
    received = exchange(service.port, LYING[kind], then_close=True)

    for answer in answers(received):
        assert 400 <= answer.status < 500
        refusal_in_json(answer)
    assert names_written(service, "inspectors", "Lying") == 0
    assert ask(service, "ada", "GET", HONEST).status == 200


# H04: clients that take their time


def honest_seconds(service: Served, count: int, who: str = "ada") -> list[float]:
    """How long each of so many requests of an honest client took, the longest last; each may meet either worker."""
    taken = []
    for _ in range(count):
        began = time.monotonic()
        assert ask(service, who, "GET", HONEST).status == 200
        taken.append(time.monotonic() - began)
    return sorted(taken)


@contextlib.contextmanager
def crowd(service: Served, count: int) -> Iterator[list[socket.socket]]:
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(connect(service.port, 60)) for _ in range(count)]


def test_H04_24_half_sent_requests_delay_nobody(service: Served) -> None:
    with crowd(service, 24) as half_sent:
        for connection in half_sent:
            connection.sendall(b"GET /buildings HTTP/1.1\r\nHost: a\r\nX-Half: ")

        assert honest_seconds(service, 100)[98] <= 0.5


def drip_until_served(service: Served, count: int) -> float:
    """How long somebody waits while so many drip their requests."""
    with crowd(service, count) as dripping:
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
            time.sleep(0.3)
            began = time.monotonic()
            assert ask(service, "ada", "GET", HONEST).status == 200
            return time.monotonic() - began
        finally:
            stop.set()
            dripper.join()


def test_H04_crowd_that_drips_is_sent_away(in_a_hurry: Served) -> None:
    """More than there are threads; two seconds of deadline, one of the sweep that enforces it."""
    assert drip_until_served(in_a_hurry, 90) <= 15 * hurried.HEAD_SECONDS_MAX / 10 + MARGIN_SECONDS


@pytest.mark.long
def test_H04_hundred_that_drip_are_sent_away_within_15_seconds(service: Served) -> None:
    assert drip_until_served(service, 100) <= 15


def read_slowly(service: Served, seconds: float) -> int:
    """Ask for as much as there is, read nothing for a while, and return how much still came."""
    path = b"GET /inspections?inspection_type=eq.heavy&limit=450 HTTP/1.1\r\n"
    with connect(service.port, 60) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        connection.sendall(path + head_lines("root") + b"\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        with closing(driver.connect(str(service.database), isolation_level=None)) as other:
            assert (
                ask(service, "root", "PATCH", "/inspectors?id=eq.1", {"email": "x@y"}).status == 204
            )
            busy = other.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
            assert busy == 0, "the slow reader keeps its snapshot"
        time.sleep(seconds)
        return len(read_to_end(connection))


def test_H04_slow_reader_holds_no_transaction_and_is_cut_off(in_a_hurry: Served) -> None:
    received = read_slowly(in_a_hurry, hurried.REQUEST_SECONDS_MAX + 1.5)

    assert received < 29 * MIB
    assert ask(in_a_hurry, "ada", "GET", HONEST).status == 200


@pytest.mark.long
def test_H04_slow_reader_is_cut_off_after_a_minute(service: Served) -> None:
    assert read_slowly(service, worker.REQUEST_SECONDS_MAX + 2) < 29 * MIB


def test_H04_deadlines_are_the_shipped_ones_in_the_long_tier() -> None:
    shipped = Path(worker.__file__).read_text()

    assert "HEAD_SECONDS_MAX: Final = 10.0" in shipped
    assert "REQUEST_SECONDS_MAX: Final = 60.0" in shipped


# H05: queries that cost


def honest_beside(service: Served, crowd_size: int) -> tuple[list[float], list[float]]:
    """Reads and writes of others while so many ask for the worst that is legal; how long each took."""
    done = threading.Event()
    writes: list[float] = []

    def worst(_: int) -> tuple[int, str | None]:
        answer = ask(service, "ada", "GET", WORST)
        return answer.status, answer.code

    def write() -> None:
        with closing(service.consumer("bob")) as consumer:
            while not done.is_set():
                began = time.monotonic()
                sent = consumer.send("PATCH", "/buildings?id=eq.4", {"city": "Beside"})
                assert sent.status == 204
                writes.append(time.monotonic() - began)

    with ThreadPoolExecutor(crowd_size + 1) as pool:
        asked = [pool.submit(worst, n) for n in range(crowd_size)]
        writer = pool.submit(write)
        time.sleep(0.2)
        reads = honest_seconds(service, 40, "bob")
        done.set()
        writer.result(30)
        assert {each.result(60) for each in asked} <= {(500, "57014"), (503, "53300")}
    return reads, sorted(writes)


def test_H05_worst_legal_queries_delay_nobody(service: Served) -> None:
    reads, writes = honest_beside(service, 8)

    assert reads[-2] <= 1.0
    assert writes[-2] <= 1.0


@pytest.mark.long
def test_H05_thirty_of_the_worst_legal_query_delay_nobody(service: Served) -> None:
    reads, writes = honest_beside(service, 30)

    assert reads[-2] <= 1.0
    assert writes[-2] <= 1.5


@pytest.mark.long
def test_H05_hundred_of_the_worst_legal_query_end_on_time(service: Served) -> None:
    """More than there are threads: whoever comes then waits until some of them were stopped."""
    reads, writes = honest_beside(service, 100)

    assert reads[-1] <= 2 * ENDS_WITHIN_SECONDS + MARGIN_SECONDS
    assert writes[-1] <= 3 * ENDS_WITHIN_SECONDS + MARGIN_SECONDS
    assert honest_seconds(service, 20)[-2] <= 0.5


def test_H05_costliest_patch_is_stopped_and_others_get_their_turn(service: Served) -> None:
    with ThreadPoolExecutor(1) as pool:
        began = time.monotonic()
        costly = pool.submit(ask, service, "ada", "PATCH", COSTLIEST_PATCH, {"status": "failed"})
        time.sleep(0.3)
        beside = ask(service, "bob", "PATCH", "/buildings?id=eq.4", {"city": "Waited"})
        waited = time.monotonic() - began
        stopped = costly.result(20)

    assert (stopped.status, stopped.code) == (500, "57014")
    assert beside.status == 204
    assert waited <= 4 + MARGIN_SECONDS
    assert (
        ask(
            service,
            "root",
            "GET",
            "/inspections?inspection_type=eq.heavy&status=eq.failed&select=id",
        ).json
        == []
    )


# H06: answers beyond their bound

TOO_LARGE = {
    "rows": "/inspections?inspection_type=eq.heavy",
    "embed": "/buildings?select=*,inspections(*)&id=eq.6",
    "embeds-of-embeds": "/inspections?inspection_type=eq.heavy&select=*,buildings(*,inspections(*))&limit=3",
    "to-and-fro": "/clients?select=buildings(inspections(buildings(inspections(notes))))&id=eq.1",
}


@pytest.mark.parametrize("who", ["root", "ada"])
@pytest.mark.parametrize("path", TOO_LARGE.values(), ids=TOO_LARGE)
def test_H06_answer_of_more_than_32_MiB_is_refused(service: Served, path: str, who: str) -> None:
    began = time.monotonic()

    answer = ask(service, who, "GET", path)

    assert (answer.status, answer.code) == (400, "54000")
    assert time.monotonic() - began <= ENDS_WITHIN_SECONDS + MARGIN_SECONDS
    refusal_in_json(answer)


# H07: headers that would move the service, or pass for another

FOREIGN = {
    "host": {"Host": "evil.example"},
    "forwarded-host": {"X-Forwarded-Host": "evil.example", "X-Forwarded-Server": "evil.example"},
    "forwarded-scheme": {
        "X-Forwarded-Proto": "https",
        "X-Forwarded-Ssl": "on",
        "X-Scheme": "https",
    },
    "forwarded": {"Forwarded": "for=127.0.0.1;host=evil.example;proto=https"},
    "forwarded-prefix": {"X-Forwarded-Prefix": "/evil", "X-Script-Name": "/evil"},
    "script-name": {"SCRIPT_NAME": "/evil", "Script-Name": "/evil", "PATH_INFO": "/users"},
    "original-url": {"X-Original-URL": "/users", "X-Rewrite-URL": "/users"},
    "remote-user": {"REMOTE_USER": "root", "Remote-User": "root", "X-Remote-User": "root"},
}


@pytest.mark.parametrize(
    "path", ["/", "/buildings", "/nope", "/rest/v1/buildings?select=id", "/auth/v1/user"]
)
@pytest.mark.parametrize("headers", FOREIGN.values(), ids=FOREIGN)
def test_H07_foreign_header_has_no_effect(service: Served, path: str, headers: dict) -> None:
    plain, moved = read_with(service, path, {}), read_with(service, path, headers)

    assert (moved.status, moved.body) == (plain.status, plain.body)
    assert {**moved.headers, "date": ""} == {**plain.headers, "date": ""}
    assert b"evil" not in moved.body


def read_with(service: Served, path: str, headers: dict[str, str]) -> RawAnswer:
    """What moe reads, with headers as they are written, underscores and all."""
    lines = head_lines("moe", Connection="close").decode()
    for name, value in headers.items():
        lines = re.sub(rf"^{name}: .*\r\n", "", lines, flags=re.MULTILINE) + f"{name}: {value}\r\n"
    [answer] = answers(exchange(service.port, f"GET {path} HTTP/1.1\r\n{lines}\r\n".encode()))
    return answer


@pytest.mark.parametrize(
    "name", ["Authorization_", "Authorization_X", "AUTHORIZATION_", "HTTP_AUTHORIZATION"]
)
def test_H07_underscore_makes_no_other_header(service: Served, name: str) -> None:
    lines = (
        head_lines("nobody", Connection="close")
        + f"{name}: Bearer {tokens.SERVICE_KEY}\r\n".encode()
    )

    [answer] = answers(exchange(service.port, b"GET /buildings HTTP/1.1\r\n" + lines + b"\r\n"))

    assert (answer.status, refusal_in_json(answer)["code"]) == (401, "42501")


def test_H07_location_of_a_new_row_is_relative(service: Served) -> None:
    made = ask(service, "service", "POST", "/inspectors", {"name": "Located"},
               Host="evil.example", Prefer="return=headers-only")  # fmt: skip

    assert made.status == 201
    assert re.fullmatch(r"/inspectors\?id=eq\.[0-9]+", made.headers["Location"])


def test_H07_absolute_target_moves_nothing(service: Served) -> None:
    line = b"GET http://evil.example/buildings?select=id HTTP/1.1\r\n"

    [answer] = answers(
        exchange(service.port, line + head_lines("moe", Connection="close") + b"\r\n")
    )

    assert b"evil" not in answer.body
    assert (answer.status, answer.body) == (200, b'[{"id":1}]') or 400 <= answer.status < 500


# H08: many faults, one told


def test_H08_many_bad_rows_are_told_by_the_first(service: Served) -> None:
    row = {"name": "Bad", "client_id": "no number", "floors": "none"}
    one = ask(service, "root", "POST", "/buildings", [row])
    began = time.monotonic()

    many = ask(service, "root", "POST", "/buildings", [row] * 1_000)

    assert time.monotonic() - began < 1
    assert (many.status, many.body) == (one.status, one.body) == (400, one.body)
    assert len(many.body) < 500
    assert names_written(service, "buildings", "Bad") == 0


# H09: a thread that ends badly


def test_H09_background_thread_that_ends_badly_is_logged_and_the_server_lives(
    in_a_hurry: Served,
) -> None:
    assert ask(in_a_hurry, "ada", "GET", HONEST).status == 200

    ended = [line for line in log_lines(in_a_hurry) if line.get("event") == "thread_ended"]
    assert len(ended) >= 2, "each worker has one"
    assert {line["thread"] for line in ended} == {hurried.THREAD}
    assert {line["exception"][0]["type"] for line in ended} == {"RuntimeError"}
    assert "ends badly" not in in_a_hurry.log.read_text()
    assert len(in_a_hurry.workers()) == 2


# H10: pages of others

OWN_PAGES = (
    "http://localhost:3000",
    "https://localhost",
    "http://127.0.0.1:8000",
    "http://[::1]:5173",
)
OTHER_PAGES = (
    "https://localhost.evil.example", "https://evil.example", "null", "http://localhost@evil.example",
    "http://localhost:3000.evil.example", "http://127.0.0.1.evil.example", "http://localhostevil",
    "http://evil.example/localhost", "http://localhost:80:80", "file://localhost", "localhost",
    "http://localhost:123456", "http://localhost/", "http://localhost evil", "http://LOCALHOST", "",
)  # fmt: skip


def asked_from(service: Served, origin: str) -> list[Answer]:
    """Reads, refusals and preflights as a page of this origin would have them sent."""
    preflight = {
        "Access-Control-Request-Method": "DELETE",
        "Access-Control-Request-Headers": "apikey, authorization",
        "Access-Control-Request-Private-Network": "true",
    }
    return [
        ask(service, "moe", "GET", "/buildings", Origin=origin),
        ask(service, "moe", "DELETE", "/buildings?id=eq.1", Origin=origin),
        ask(service, "moe", "GET", "/nope", Origin=origin),
        ask(service, "moe", "GET", "/buildings?nope=eq.1", Origin=origin),
        ask(service, "nobody", "GET", "/auth/v1/user", Origin=origin, apikey="wrong"),
        ask(service, "nobody", "OPTIONS", "/buildings", Origin=origin, **preflight),
    ]


@pytest.mark.parametrize("origin", OTHER_PAGES)
def test_H10_page_of_another_origin_reads_nothing(service: Served, origin: str) -> None:
    for answer in asked_from(service, origin):
        assert not [name for name in answer.headers if name.startswith("Access-Control-")]


@pytest.mark.parametrize("origin", OWN_PAGES)
def test_H10_page_of_this_machine_reads_errors_too_and_never_with_credentials(
    service: Served, origin: str
) -> None:
    for answer in asked_from(service, origin):
        assert answer.headers["Access-Control-Allow-Origin"] == origin
        assert "Access-Control-Allow-Credentials" not in answer.headers
        assert "Access-Control-Allow-Private-Network" not in answer.headers
        assert "Origin" in answer.headers["Vary"]


def test_H10_form_or_link_of_another_site_does_nothing(service: Served) -> None:
    """A browser brings neither headers of ours nor a cookie that means anything."""
    cookie = f"access_token={tokens.SERVICE_KEY}; session={tokens.SERVICE_KEY}"
    form = head_lines("nobody", Cookie=cookie, Connection="close", Origin="https://evil.example",
                      apikey="", Content_Type="application/x-www-form-urlencoded")  # fmt: skip
    body = b"name=Forged&apikey=" + tokens.ANON_KEY.encode()
    length = b"Content-Length: %d\r\n\r\n" % len(body)
    for path in (
        b"/inspectors",
        b"/rest/v1/inspectors",
        b"/auth/v1/admin/users",
        b"/rpc/assign_to_client_manager",
    ):
        [answer] = answers(
            exchange(service.port, b"POST " + path + b" HTTP/1.1\r\n" + form + length + body)
        )
        assert answer.status == 401
        assert "set-cookie" not in answer.headers

    assert names_written(service, "inspectors", "Forged") == 0


def test_H10_get_never_writes(service: Served) -> None:
    links = (
        "/rpc/assign_to_client_manager?manager_id=x&building_ids=[1]",
        "/rpc/assign_buildings_to_client_admin?admin_id=x&building_ids=[4]",
        "/auth/v1/logout",
        "/auth/v1/token?grant_type=password&email=x&password=y",
        "/inspectors?columns=name&name=Forged",
    )
    for link in links:
        answer = ask(service, "root", "GET", link)
        assert 400 <= answer.status < 500, link
        assert "Set-Cookie" not in answer.headers


# H11: paths that are files somewhere


@pytest.mark.parametrize(
    "path",
    [
        "/..", "/../", "/../../../../etc/passwd", "/buildings/../users", "/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2fetc%2fpasswd", "/..%5c..%5cetc%5cpasswd", "/static/", "/static/../app.py", "/static",
        "/app.py", "/config.py", "/schema.sql", "/instance/walkthrough.db", "/instance/keys.json",
        "/walkthrough.db", "/.git/config", "/.env", "/CON", "/NUL", "/aux.txt", "/COM1", "/buildings/CON",
        "//etc/passwd", "/./buildings", "/buildings/", "/rest/v1/../../etc/passwd", "/etc/passwd%00",
        "/rest/v1/static/x", "/auth/v1/../v1/user", "/favicon.ico", "/server-status", "/debug", "/console.",
    ],
)  # fmt: skip
def test_H11_path_of_a_file_is_not_found(service: Served, path: str) -> None:
    line = f"GET {path} HTTP/1.1\r\n".encode()

    [answer] = answers(
        exchange(service.port, line + head_lines("root", Connection="close") + b"\r\n")
    )

    assert answer.status in ((400, 404) if "%00" in path else (404,))
    assert refusal_in_json_or_gotrue(answer, path)
    assert "location" not in answer.headers


def refusal_in_json_or_gotrue(answer: RawAnswer, path: str) -> bool:
    keys = {"code", "message", "details", "hint"}
    return set(answer.json) == (
        keys | {"error_code", "msg"} if path.startswith("/auth/v1") else keys
    )


# H12: what callers say does not become lines of the log, nor what they keep secret


def log_lines(service: Served) -> list[dict]:
    return [json.loads(line) for line in service.log.read_text().split("\n") if line]


CANARY = "canary-77b1"


def test_H12_log_is_one_escaped_line_a_request_and_holds_no_secret(service: Served) -> None:
    before = len(log_lines(service))
    forged = "%0d%0a%7b%22level%22:%22forged%22%7d%1b[31m%e2%80%ae%c2%85%7f"
    spoken = {
        "User_Agent": '\u202e{"level":"forged"}',
        "X_Request_Id": CANARY + forged,
        "Referer": CANARY,
        "Cookie": f"a={CANARY}",
        "Connection": "close",
    }
    for path in (f"/a{forged}", "/buildings"):
        line = f"GET {path}?name=eq.{CANARY} HTTP/1.1\r\n".encode()
        exchange(service.port, line + head_lines("root", **spoken) + b"\r\n")
    for email in (f"{CANARY}\r\n{{}}@a.example", f"\x1b[31m\u202e{CANARY}@a.example"):
        body = {"email": email, "password": f"{CANARY}-password"}
        ask(service, "root", "POST", "/auth/v1/token?grant_type=password", body)
        ask(service, "root", "POST", "/auth/v1/admin/users", body)
    ask(service, "root", "POST", "/inspectors", {"name": f"{CANARY}\r\n\x1b[31m"})
    for broken in (f"GET /{CANARY} HTTP/1.1\r\nX: \0{CANARY}", f"{CANARY}\x1b[31m",
                   f"GET / HTTP/1.1\r\nUser-Agent: \x1b[31m{CANARY}"):  # fmt: skip
        exchange(service.port, f"{broken}\r\n\r\n".encode(), then_close=True)

    text, lines = service.log.read_text(), log_lines(service)  # each of them parses
    assert len([line for line in lines[before:] if line.get("event") == "request"]) == 7
    assert all(character == "\n" or " " <= character <= "~" for character in text)
    assert {line["level"] for line in lines} <= {"info", "warning", "error"}
    header = tokens.token_for(CAST["root"].id, "super_admin", None).split(".")[0]
    secrets = (tokens.SECRET_KEY, tokens.ANON_KEY, tokens.SERVICE_KEY, CANARY, header)
    assert [secret for secret in secrets if secret in text] == []


def test_H12_nothing_of_the_whole_module_was_an_incident(service: Served) -> None:
    """Whatever was sent above: no refusal was a surprise, nothing that ended badly went unseen."""
    assert [
        line for line in log_lines(service) if line.get("event") in ("incident", "thread_ended")
    ] == []


# H13: starts that are refused


def refused(*words: str, **environ: str) -> tuple[int, list[str]]:
    """Start it as `bin/serve` does, where it is expected to refuse; what it says then."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    done = subprocess.run(
        [sys.executable, "-m", "serving", *words],
        cwd=PROJECT, env={**kept, **environ}, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done.returncode, [line for line in done.stderr.splitlines() if not line.startswith("{")]


KEYS = {
    "SECRET_KEY": tokens.SECRET_KEY,
    "ANON_KEY": tokens.ANON_KEY,
    "SERVICE_KEY": tokens.SERVICE_KEY,
}


def test_H13_start_that_would_be_unsafe_is_refused_in_one_line(
    service: Served, base_file: Path, tmp_path: Path
) -> None:
    own, linked = tmp_path / "own.db", tmp_path / "linked.db"
    shutil.copy(base_file, own)
    linked.symlink_to(own)
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "keys.json").write_text(json.dumps(KEYS))
    (shared / "keys.json").chmod(0o644)

    def over(file: Path, **more: str) -> dict[str, str]:
        return {"DATABASE_URL": f"sqlite:///{file}", "PORT": str(free_port()), **more}

    cases = {
        "is being served by another process": over(service.database, **KEYS),
        "something already answers at": over(own, **KEYS) | {"PORT": str(service.port)},
        "is not a regular file": over(linked, **KEYS),
        "can be read by others": over(shared / DATABASE),
        "FLASK_DEBUG is set": over(own, FLASK_DEBUG="1", **KEYS),
    }
    with ThreadPoolExecutor(2) as pool:
        found = dict(
            zip(cases, pool.map(lambda environ: refused(**environ), cases.values()), strict=True)
        )

    for words, (status, said) in found.items():
        assert status != 0, words
        assert len(said) == 1, (words, said)
        assert words in said[0]
    assert ask(service, "ada", "GET", HONEST).status == 200


# H14: a stop


@pytest.mark.parametrize(
    "number", [signal.SIGTERM, pytest.param(signal.SIGHUP, marks=pytest.mark.long)]
)
def test_H14_write_that_was_accepted_is_answered_after_the_signal(
    base_file: Path, tmp_path: Path, number: int
) -> None:
    row = {"building_id": 1, "inspection_type": "last"}
    with serving(served_over(base_file, tmp_path / "served")) as own, ThreadPoolExecutor(1) as pool:
        lock = os.open(f"{own.database}.lock", os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            waiting = pool.submit(ask, own, "ada", "POST", "/inspections", row)
            time.sleep(0.4)
            began = time.monotonic()
            own.signal(number)
            time.sleep(0.4)
        finally:
            os.close(lock)
        answer = waiting.result(20)
        if number == signal.SIGTERM:
            assert own.process.wait(20) == 0
        assert time.monotonic() - began <= 15

    assert answer.status == 201
    with closing(driver.connect(str(own.database))) as connection:
        question = "SELECT count(*) FROM inspections WHERE inspection_type = 'last'"
        assert connection.execute(question).fetchone() == (1,)


# H15: what it is made of

LOCKED = re.compile(
    r"(?P<name>[a-z0-9][a-z0-9._-]*)==[0-9][^ ]*(?: ; .*)?(?P<hashes>(?: --hash=sha256:[0-9a-f]{64})+)"
)
OPTIONS = re.compile(r"--only-binary [a-z0-9-]+")
OUTWARD = {
    "urllib.request",
    "http.client",
    "requests",
    "httpx",
    "aiohttp",
    "ftplib",
    "smtplib",
    "pip",
    "urllib3",
}
ROOMS = ("access", "demo", "models", "routes", "serving")


def locks() -> list[Path]:
    return sorted(PROJECT.glob("requirements*.txt"))


@pytest.mark.parametrize("lock", locks(), ids=lambda path: path.name)
def test_H15_every_package_is_pinned_with_hashes(lock: Path) -> None:
    joined = lock.read_text().replace("\\\n", " ")
    lines = [re.sub(r"\s+", " ", line).strip() for line in joined.splitlines()]
    lines = [line for line in lines if line and not line.startswith("#")]

    packages = [line for line in lines if not OPTIONS.fullmatch(line)]

    assert packages
    assert [line for line in packages if not LOCKED.fullmatch(line)] == []
    wanted = re.findall(
        r"^[A-Za-z0-9][A-Za-z0-9._-]*", lock.with_suffix(".in").read_text(), re.MULTILINE
    )
    names = {LOCKED.fullmatch(line)["name"] for line in packages}
    missing = {re.sub(r"[-_.]+", "-", name).lower() for name in wanted} - names
    assert missing == set()


def test_H15_what_is_installed_is_checked_against_the_hashes() -> None:
    installing = (PROJECT / "bin" / "venv.sh").read_text()

    assert re.findall(r"pip install (?!.*--require-hashes).*", installing) == []
    assert "--require-hashes" in installing


def test_H15_product_has_no_way_out_to_the_network() -> None:
    files = [PROJECT / name for name in ("app.py", "config.py", "gunicorn.conf.py", "wsgi.py")]
    files += [file for room in ROOMS for file in (PROJECT / room).rglob("*.py")]
    found = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                found |= {(file.name, alias.name) for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found |= {(file.name, node.module)}

    assert [each for each in found if each[1] in OUTWARD or each[1].split(".")[0] in OUTWARD] == []


def test_H15_running_service_speaks_to_nobody_but_its_callers(service: Served) -> None:
    sockets = {inode for pid in service.workers() for inode in inodes_of(pid)}

    local = {row[1] for row in tcp_rows() if row[9] in sockets}

    assert local
    assert {int(address.split(":")[1], 16) for address in local} == {service.port}
    assert {address.split(":")[0] for address in local} == {"0100007F"}

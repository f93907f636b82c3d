"""Uploads of a running service: many and slow ones delay no other request, and a refused one leaves no file."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import zlib
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

from tests.durability.served import Served, serving
from tests.http.service import CHEAP_READ, RUNNING_SERVICE, ask, head_lines, served_over
from tests.support import tokens
from tests.support.raw import answers, connect, count_unanswered, exchange, read_to_end
from tests.support.storage import PDF, RENDER, at
from tests.support.waiting import until

pytestmark = [RUNNING_SERVICE, pytest.mark.slow]

MIB = 1 << 20
SLOW_UPLOADS = 90  # more than threads
LARGE = PDF + b"x" * (20 * MIB - len(PDF))


@pytest.fixture(scope="module")
def service(base_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(served_over(base_file, tmp_path_factory.mktemp("uploads") / "served")) as running:
        yield running


def uploaded(name: str, who: str = "ada", **fields: str) -> bytes:
    """Return the head of an upload."""
    sent = {"Content_Length": str(len(LARGE)), "Content_Type": "application/pdf", **fields}
    head = head_lines(who, **sent)
    return f"POST {at(name)} HTTP/1.1\r\n".encode() + head + b"\r\n"


def files_of(service: Served) -> list[str]:
    """Return the names of all files in the service's folder."""
    folder = service.database.with_name(f"{service.database.name}.files")
    return [path.name for path in folder.rglob("*") if path.is_file()]


def held_descriptors(service: Served) -> int:
    """Return how many unnamed files of uploads the workers have open."""
    links = [link for pid in service.workers() for link in Path(f"/proc/{pid}/fd").iterdir()]
    found = 0
    for link in links:
        with contextlib.suppress(OSError):
            target = str(link.readlink())
            found += ".files/incoming/" in target and target.endswith("(deleted)")
    return found


@pytest.mark.attack(entry="F10")
def test_requests_are_answered_while_90_slow_uploads_arrive(service: Served) -> None:
    stop = threading.Event()
    with contextlib.ExitStack() as crowd:
        connections = [crowd.enter_context(connect(service.port)) for _ in range(SLOW_UPLOADS)]
        for number, connection in enumerate(connections):
            connection.sendall(uploaded(f"inspections/1/slow{number}.pdf") + LARGE[: 2 * MIB])

        def drip() -> None:
            while not stop.wait(0.1):
                for connection in connections:
                    with contextlib.suppress(OSError):
                        connection.send(LARGE[:1_000], socket.MSG_DONTWAIT)

        dripper = threading.Thread(target=drip)
        dripper.start()
        try:
            until(lambda: held_descriptors(service) == SLOW_UPLOADS)
            for who, path in [("nobody", "/live"), ("ada", CHEAP_READ)] * 10:
                assert ask(service, who, "GET", path).status == 200
            assert count_unanswered(connections) == SLOW_UPLOADS
        finally:
            stop.set()
            dripper.join()

    until(lambda: held_descriptors(service) == 0)
    assert files_of(service) == []


def test_large_upload_is_stored_and_read_back(service: Served) -> None:
    name = "inspections/1/large.pdf"
    with contextlib.closing(HTTPConnection("127.0.0.1", service.port, timeout=30)) as client:
        headers = {"apikey": tokens.ANON_KEY, "Authorization": service.consumer("ada").headers["Authorization"]}
        client.request("POST", at(name), LARGE, headers)
        assert json.loads(client.getresponse().read())["Key"] == name
        client.request("GET", at(name), headers=headers)
        assert client.getresponse().read() == LARGE
        sock = client.sock
        client.request("DELETE", at(name), headers=headers)
        assert client.getresponse().status == 200
        assert client.sock is sock


@pytest.mark.attack(entry="F09")
def test_image_of_900_million_pixels_takes_no_memory(service: Served) -> None:
    name, before = "inspections/1/huge.png", peak_memory_of(service)
    with contextlib.closing(service.consumer("ada")) as ada:
        stored = ada.send("POST", at(name), huge_png(), Content_Type="image/png")
        image = ada.send("GET", f"{RENDER}/authenticated/{name}?width=160")
        ada.send("DELETE", at(name))

    assert stored.status == 200
    assert (image.status, image.code) == (400, "InvalidRequest")
    assert peak_memory_of(service) - before < 40 * MIB


def huge_png(side: int = 30_000) -> bytes:
    """Return an image of one bit a pixel."""
    packed = zlib.compressobj()
    row = bytes(1 + side // 8)
    data = b"".join([*(packed.compress(row) for _ in range(side)), packed.flush()])
    head = side.to_bytes(4) * 2 + bytes((1, 0, 0, 0, 0))
    parts = [(b"IHDR", head), (b"IDAT", data), (b"IEND", b"")]
    framed = (len(body).to_bytes(4) + kind + body + zlib.crc32(kind + body).to_bytes(4) for kind, body in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(framed)


def peak_memory_of(service: Served) -> int:
    """Return the largest resident size of the workers so far, in bytes."""
    texts = (Path(f"/proc/{pid}/status").read_text() for pid in service.workers())
    return sum(int(line.split()[1]) * 1_024 for text in texts for line in text.splitlines() if "VmHWM" in line)


@pytest.mark.parametrize(
    ("who", "fields", "status"),
    [
        pytest.param("nobody", {}, 401, id="no-token"),
        pytest.param("ada", {"Authorization": "Bearer nonsense"}, 401, id="bad-token"),
        pytest.param("ada", {"apikey": "wrong"}, 401, id="bad-key"),
        pytest.param("ada", {"Content_Length": str(25 * MIB)}, 413, id="length"),
        pytest.param("nobody", {"Expect": "100-continue"}, 401, id="expect"),
    ],
)
@pytest.mark.attack(entry="F11")
def test_upload_is_refused_at_its_head(service: Served, who: str, fields: dict, status: int) -> None:
    origin = {"Origin": "http://localhost:1"}

    received = exchange(service.port, uploaded("inspections/1/refused.pdf", who, **{**origin, **fields}))

    [answer] = answers(received)
    assert (answer.status, answer.headers["connection"]) == (status, "close")
    assert set(answer.json) == {"statusCode", "code", "error", "message"}
    assert answer.headers["access-control-allow-origin"] == origin["Origin"]


def test_signed_upload_is_refused_at_its_head(service: Served) -> None:
    path = at("inspections/1/refused.pdf", "upload/sign").encode()
    head = head_lines("nobody", Content_Length=str(len(LARGE)))

    [answer] = answers(exchange(service.port, b"PUT " + path + b"?token=x HTTP/1.1\r\n" + head + b"\r\n"))

    assert (answer.status, answer.json["code"]) == (400, "InvalidSignature")


def test_upload_below_the_minimum_rate_gets_408_and_leaves_no_file(service: Served) -> None:
    before = files_of(service)
    with connect(service.port) as connection:
        connection.sendall(uploaded("inspections/1/silent.pdf") + b"x" * 100)
        received = read_to_end(connection)

    [answer] = answers(received)
    assert (answer.status, answer.json["statusCode"]) == (408, "408")
    assert files_of(service) == before


def test_upload_that_breaks_off_leaves_no_file(service: Served) -> None:
    before = files_of(service)
    with connect(service.port) as connection:
        connection.sendall(uploaded("inspections/1/broken.pdf") + LARGE[: 3 * MIB])
        until(lambda: held_descriptors(service) == 1)

    until(lambda: held_descriptors(service) == 0)
    assert files_of(service) == before


def test_unfinished_uploads_have_a_limit(base_file: Path, tmp_path: Path) -> None:
    application = "tests.support.small_uploads:make()"
    with serving(served_over(base_file, tmp_path / "served", application)) as own, contextlib.ExitStack() as crowd:
        connections = [crowd.enter_context(connect(own.port)) for _ in range(12)]
        for number, connection in enumerate(connections):
            with contextlib.suppress(ConnectionError):
                connection.sendall(uploaded(f"inspections/1/many{number}.pdf") + LARGE[: 3 * MIB])
        found = [answer for each in connections if (answer := first_answer(each))]

        assert found
        assert {each.status for each in found} == {503}
        assert ask(own, "ada", "GET", CHEAP_READ).status == 200


def first_answer(connection: socket.socket) -> object:
    """Return what a connection answers within a second, or None."""
    connection.settimeout(1)
    try:
        received = read_to_end(connection)
    except TimeoutError:
        return None
    return answers(received)[0] if received else None

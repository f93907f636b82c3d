"""The body of an upload arrives in a file without a name, within limits of its own."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import pytest

from serving.worker import connection as limits
from serving.worker.connection import BufferedRequest, ClientConnection, Refused
from tests.serving.test_head_cache import SETTINGS

MIB = 1 << 20
BYTES_MAX = 4 * MIB
BODY = bytes(range(256)) * (3 * MIB // 256)


class Uploads:
    """Rules by which a PUT of a path under /files is an upload, and one under /files/refused is refused."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def body_bytes_max(self, request: BufferedRequest) -> int | None:
        if request.method != "PUT" or not request.path.startswith("/files/"):
            return None
        return 0 if request.path == "/files/refused" else BYTES_MAX


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[ClientConnection]:
    client, server = socket.socketpair()
    made = ClientConnection(SETTINGS, server, ("10.0.0.7", 1), ("127.0.0.1", 2), Uploads(tmp_path))
    yield made
    made.clear()
    client.close()
    server.close()


def sized(path: str, length: int, method: str = "PUT") -> bytes:
    return f"{method} {path} HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n".encode()


def chunked(path: str) -> bytes:
    return f"PUT {path} HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".encode()


def in_chunks(body: bytes, size: int) -> bytes:
    parts = [body[begin : begin + size] for begin in range(0, len(body), size)]
    return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


def receive(connection: ClientConnection, sent: bytes, piece: int = limits.RECEIVE_BYTES_MAX) -> BufferedRequest | None:
    """Receive bytes in pieces, as the main loop does; return the complete request."""
    request = None
    for begin in range(0, len(sent), piece):
        assert request is None, "bytes follow a complete request"
        request = connection.receive(sent[begin : begin + piece])
        assert connection.held[0] <= limits.UPLOAD_MEMORY_BYTES_MAX + limits.RECEIVE_BYTES_MAX
    return request


@pytest.mark.parametrize("piece", [1_000, limits.RECEIVE_BYTES_MAX])
@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(sized("/files/a", len(BODY)) + BODY, id="length"),
        pytest.param(chunked("/files/a") + in_chunks(BODY, 65_536), id="chunks"),
        pytest.param(chunked("/files/a") + in_chunks(BODY, len(BODY)), id="one-chunk"),
        pytest.param(chunked("/files/a") + in_chunks(BODY, 7_001), id="odd-chunks"),
    ],
)
def test_large_upload_arrives_in_a_file_without_a_name(
    connection: ClientConnection, tmp_path: Path, sent: bytes, piece: int
) -> None:
    request = receive(connection, sent, piece)

    assert request is not None
    assert not isinstance(request.body, BytesIO)
    with request.body as body:
        assert body.read() == BODY
    assert list(tmp_path.iterdir()) == []
    assert connection.held == (0, 0)


def test_small_upload_stays_in_memory(connection: ClientConnection) -> None:
    request = receive(connection, sized("/files/a", MIB) + BODY[:MIB])

    assert request is not None
    assert isinstance(request.body, BytesIO)
    assert request.body.read() == BODY[:MIB]


def test_other_requests_use_no_file(connection: ClientConnection) -> None:
    connection.uploads.directory = Path("/nonexistent")  # type: ignore[union-attr]
    connection.receive(sized("/rows", len(BODY), "POST"))

    request = connection.receive(BODY)

    assert request is not None
    assert request.body.read() == BODY


def test_next_request_on_the_connection_is_kept(connection: ClientConnection) -> None:
    following = b"GET /live HTTP/1.1\r\nHost: a\r\n\r\n"
    connection.receive(sized("/files/a", len(BODY)))

    first = connection.receive(BODY + following)
    connection.pending, data = bytearray(), bytes(connection.pending)
    second = connection.receive(data)

    assert first is not None
    assert first.body.read() == BODY
    first.body.close()
    assert data == following
    assert second is not None
    assert second.path == "/live"


@pytest.mark.parametrize(
    "head",
    [
        sized("/files/refused", len(BODY)),
        chunked("/files/refused"),
        sized("/files/a", BYTES_MAX + 1),
        sized("/files/a", BYTES_MAX + 1).replace(b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"),
    ],
)
def test_application_refuses_an_upload_before_its_body_arrives(connection: ClientConnection, head: bytes) -> None:
    request = connection.receive(head)

    assert request is not None
    assert request.should_close()
    assert request.body.read() == b""
    assert not request._expected_100_continue


def test_chunks_beyond_the_limit_are_refused_and_leave_no_file(connection: ClientConnection, tmp_path: Path) -> None:
    with pytest.raises(Refused) as refused:
        receive(connection, chunked("/files/a") + in_chunks(BODY * 2, 65_536))
    connection.clear()

    assert refused.value.status == 413
    assert list(tmp_path.iterdir()) == []
    assert connection.held == (0, 0)


def test_upload_is_refused_if_no_file_can_be_written(connection: ClientConnection) -> None:
    connection.uploads.directory = Path("/nonexistent")  # type: ignore[union-attr]

    with pytest.raises(Refused) as refused:
        receive(connection, sized("/files/a", len(BODY)) + BODY)

    assert refused.value.status == 507


def test_upload_has_to_arrive_at_the_minimum_rate_and_has_no_other_limit_of_time(connection: ClientConnection) -> None:
    connection.receive(sized("/files/a", len(BODY)))
    assert connection.due(100) == 100 + limits.BODY_GRACE_SECONDS
    connection.receive(BODY[: 200 * limits.BODY_BYTES_PER_SECOND_MIN])

    assert connection.due(190) == 190 + limits.REQUEST_SECONDS_MAX
    assert connection.due(290) == 100 + limits.BODY_GRACE_SECONDS + 200

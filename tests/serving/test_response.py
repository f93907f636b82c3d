"""Small responses are sent in one write, with the same bytes as gunicorn's own."""

from __future__ import annotations

import io
import types

import pytest
from gunicorn.http.wsgi import FileWrapper, Response

from serving.worker import connection
from serving.worker.connection import SingleWriteResponse

HEADERS = [("Content-Type", "application/json"), ("Content-Length", "5")]
CHUNKED = HEADERS[:1]
LARGE = b"x" * (connection.COPY_BYTES_MAX + 1)


class RecordingSocket:
    """A socket that records each write."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []

    def sendall(self, data: bytes) -> None:
        self.writes.append(bytes(data))


def writes_of(kind: type[Response], headers: list[tuple[str, str]], body: object, method: str = "GET") -> list[bytes]:
    sock = RecordingSocket()
    request = types.SimpleNamespace(method=method, version=(1, 1), should_close=lambda: False, headers=[])
    settings = types.SimpleNamespace(is_ssl=False, sendfile=False, protocol="http")
    made = kind(request, sock, settings)
    made.start_response("200 OK", list(headers))
    if isinstance(body, FileWrapper):
        made.write_file(body)
    else:
        for piece in body:
            made.write(piece)
    made.close()
    return sock.writes


def large_headers() -> list[tuple[str, str]]:
    return [*CHUNKED, ("Content-Length", str(len(LARGE)))]


BODIES = {
    "one piece": (HEADERS, lambda: [b"hello"], "GET", 1),
    "two pieces": (HEADERS, lambda: [b"he", b"llo"], "GET", 2),
    "more than the declared length": (HEADERS, lambda: [b"hello, hello"], "GET", 1),
    "no body": ([("Content-Length", "0")], list, "GET", 1),
    "a HEAD": (HEADERS, lambda: [b"hello"], "HEAD", 1),
    "chunks": (CHUNKED, lambda: [b"he", b"llo"], "GET", 4),
    "no chunks": (CHUNKED, list, "GET", 2),
    "a large one": (large_headers(), lambda: [LARGE], "GET", 2),
    "a file": (HEADERS, lambda: FileWrapper(io.BytesIO(b"hello")), "GET", 1),
}


@pytest.mark.parametrize("body", BODIES)
def test_response_has_the_same_bytes_as_gunicorns(body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gunicorn.util.http_date", lambda: "now")
    headers, pieces, method, count = BODIES[body]

    ours = writes_of(SingleWriteResponse, headers, pieces(), method)

    assert b"".join(ours) == b"".join(writes_of(Response, headers, pieces(), method))
    assert len(ours) == count

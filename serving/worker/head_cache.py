"""Cache parsed request heads by their bytes.

A client sends the same header lines with each request. Parsing them costs as much as finding a row. The cache
holds what gunicorn made of a block of header lines. The request line, Content-Length and X-Request-Id differ
per request and are read each time. Any other peculiarity is left to gunicorn's parser.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Final, NamedTuple

import gunicorn.http.wsgi
from gunicorn.http.errors import ParseException
from gunicorn.http.unreader import IterUnreader
from gunicorn.util import unquote_to_wsgi_str

from serving.worker import limits
from serving.worker.request import BufferedRequest

HEADS_MAX: Final = 256
BLOCK_BYTES_MAX: Final = 4_096  # a token and a browser's header lines fit

REQUEST_LINE: Final = re.compile(rb"(GET|HEAD|POST|PATCH|PUT|DELETE) (/(?!/)[!\"$-~]*) HTTP/1\.1\r\n")
"""A path of this server in the characters of RFC 9112, without a fragment."""

LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*(0|[1-9][0-9]{0,9})[ \t]*(?=\r\n)", re.IGNORECASE)
REQUEST_ID: Final = re.compile(rb"\r\nx-request-id:[ \t]*([0-9a-f-]{1,64})[ \t]*(?=\r\n)", re.IGNORECASE)
UNCACHEABLE: Final = frozenset({"TRANSFER-ENCODING", "EXPECT", "UPGRADE", "TRAILER"})
"""Header fields that change the framing or the protocol."""

ARRIVED: Final = "walkthrough.arrived"
"""The WSGI variable with `BufferedRequest.arrived`: a request's time includes its wait for a thread."""

create_uncached: Final = gunicorn.http.wsgi.create


class CachedRequestHead(NamedTuple):
    """A block of header lines: the attributes of gunicorn's request for it, and its WSGI environment."""

    attributes: dict[str, Any]
    environ: dict[str, Any]


class CachedHeadRequest(BufferedRequest):
    """A request whose header lines were in the cache. `environ` is a copy for this request.

    `headers` are those of the cached block: in them a number that differs per request is 0.
    """

    def __init__(self, head: CachedRequestHead, line: re.Match[bytes], client: Any, number: int) -> None:
        self.__dict__.update(head.attributes)
        self.environ = head.environ.copy()
        self.peer_addr = self.remote_addr = client
        self.req_number = number
        self.method, self.uri = line[1].decode(), line[2].decode()
        self.path, _, self.query = self.uri.partition("?")

    def should_close(self) -> bool:
        return bool(self.must_close)


def read_request(settings: Any, head: bytes, client: Any, number: int) -> BufferedRequest:
    """Parse a whole head, from the cache where possible; raises gunicorn's ParseException.

    `number` counts the requests of the connection from 1.
    """
    found = read_cached(settings, head, client, number)
    return found or BufferedRequest(settings, IterUnreader([head]), client, number)


def read_cached(settings: Any, head: bytes, client: Any, number: int) -> BufferedRequest | None:
    """Return the request, or None for a head that only gunicorn's parser can read."""
    line = REQUEST_LINE.match(head)
    if line is None or line.end() > limits.REQUEST_LINE_BYTES_MAX:
        return None
    if len(head) - line.end() > BLOCK_BYTES_MAX:
        return None
    block = head[line.end() - 2 :]  # begins with the line break of the request line
    request_id = REQUEST_ID.search(block)
    if request_id is not None:
        block = zeroed(block, request_id)
    length = LENGTH.search(block) if line[1] not in (b"GET", b"HEAD") else None
    if length is not None:
        block = zeroed(block, length)
    cached = read_block(settings, block, has_length=length is not None)
    if cached is None:
        return None
    request = CachedHeadRequest(cached, line, client, number)
    if length is not None:
        request.environ["CONTENT_LENGTH"] = length[1].decode()
        request.length = int(length[1])
    if request_id is not None:
        request.environ["HTTP_X_REQUEST_ID"] = request_id[1].decode()
    return request


def zeroed(block: bytes, found: re.Match[bytes]) -> bytes:
    """Replace a value that differs per request with a constant."""
    return block[: found.start(1)] + b"0" + block[found.end(1) :]


@lru_cache(maxsize=HEADS_MAX)
def read_block(settings: Any, block: bytes, *, has_length: bool) -> CachedRequestHead | None:
    """Parse header lines with gunicorn; None for a block that must not be cached.

    `block` begins with the end of the request line and ends with the empty line. `has_length` says that one
    of the lines is a Content-Length that the caller has read.
    """
    try:
        request = BufferedRequest(settings, IterUnreader([b"GET / HTTP/1.1" + block]), ("", 0))
        names = [name for name, _ in request.headers]
        if request.should_close() or not UNCACHEABLE.isdisjoint(names):
            return None
        if ("CONTENT-LENGTH" in names) is not has_length or names.count("X-REQUEST-ID") > 1:
            return None
        _, environ = create_uncached(request, None, ("", 0), ("", 0), settings)
    except (ParseException, OSError):
        return None
    if environ["SCRIPT_NAME"]:
        return None
    del environ["wsgi.early_hints"]  # of this request's socket
    return CachedRequestHead(dict(vars(request)), environ)


def create(
    request: BufferedRequest, sock: Any, client: Any, server: Any, settings: Any, **more: Any
) -> tuple[Any, dict[str, Any]]:
    """Replace `gunicorn.http.wsgi.create`: return the response to write to and the WSGI environment."""
    if type(request) is not CachedHeadRequest:
        made: tuple[Any, dict[str, Any]] = create_uncached(request, sock, client, server, settings, **more)
        made[1][ARRIVED] = request.arrived
        return made
    environ = request.environ
    environ[ARRIVED] = request.arrived
    environ["gunicorn.socket"] = sock
    environ["wsgi.input"] = request.body
    environ["REQUEST_METHOD"] = request.method
    environ["RAW_URI"] = request.uri
    environ["PATH_INFO"] = unquote_to_wsgi_str(request.path)
    environ["QUERY_STRING"] = request.query
    environ["REMOTE_ADDR"], environ["REMOTE_PORT"] = client[0], str(client[1])
    environ["SERVER_NAME"], environ["SERVER_PORT"] = server[0], str(server[1])
    return gunicorn.http.wsgi.Response(request, sock, settings), environ

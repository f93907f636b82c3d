"""A client's connection: assembles requests without a thread, parses heads, refuses, and sends responses.

gunicorn's request parser parses a head, with the corrections that clients of PostgREST need. Time and size are limited
per connection and per worker. A client sends the same header lines with each request, and parsing them costs as much as
finding a row. So a cache holds what gunicorn made of a block of header lines. The request line, Content-Length and
X-Request-Id are read each time. gunicorn's parser takes any other peculiarity. A refused request never reaches the
application. Its body is JSON, in the error shape of the addressed API. Head and body of a response are sent in one
write. gunicorn makes two, and each wakes the client.
"""

from __future__ import annotations

import json
import re
import socket
from contextlib import suppress
from functools import lru_cache
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, NamedTuple, Protocol

import gunicorn.http.message
import gunicorn.http.wsgi
import gunicorn.util
from gunicorn.http.body import CHUNK_EXT_RE, LengthReader
from gunicorn.http.errors import LimitRequestHeaders, ParseException
from gunicorn.http.message import Request
from gunicorn.http.unreader import IterUnreader
from gunicorn.http.wsgi import Response
from gunicorn.util import unquote_to_wsgi_str

from models.types import Fault
from settings import BODY_BYTES_MAX

BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
SINGLE_VALUED: Final = frozenset({"ACCEPT-PROFILE", "APIKEY", "AUTHORIZATION", "CONTENT-PROFILE", "CONTENT-TYPE"})


class BufferedRequest(Request):
    """A parsed request head. `ClientConnection` sets `body` to the whole body.

    `length` is the stated length of the body in bytes, None for a chunked body. `arrived` is when the whole request
    was there, in seconds of the monotonic clock.
    """

    arrived = 0.0

    length: int | None
    body: Any
    path: str
    query: str

    def set_body_reader(self) -> None:
        super().set_body_reader()
        reader = self.body.reader
        self.length = reader.length if isinstance(reader, LengthReader) else None

    def parse_request_line(self, line_bytes: bytes) -> None:
        """Percent-encode bytes beyond ASCII, as PostgREST does: curl sends a target as typed."""
        method, space, rest = line_bytes.partition(b" ")
        super().parse_request_line(method + space + BEYOND_ASCII.sub(percent_encoded, rest))

    def parse_headers(self, data: bytes, from_trailer: bool = False) -> list[tuple[str, str]]:
        """Count all fields before parsing them. gunicorn would parse 100,000 fields first."""
        if data.count(b"\r\n") >= self.limit_request_fields:
            raise LimitRequestHeaders("limit request headers fields")
        parsed: list[tuple[str, str]] = super().parse_headers(data, from_trailer)
        return parsed

    def _apply_header_policy(
        self, name: str, value: str, scheme: list[bool], seen: set[object], *more: Any, **named: Any
    ) -> tuple[str, str] | None:
        """Drop an exact repetition of a single-valued field: postgrest-go sends each field several times.

        Different values of such a field stay an error."""
        if name in SINGLE_VALUED:
            if (name, value) in seen:
                return None
            seen.add((name, value))  # gunicorn itself keeps names in this set
        kept: tuple[str, str] | None = super()._apply_header_policy(name, value, scheme, seen, *more, **named)
        return kept


def percent_encoded(byte: re.Match[bytes]) -> bytes:
    return b"%%%02X" % byte[0][0]


REQUEST_LINE_BYTES_MAX = 65_535
HEADER_FIELDS_MAX = 100
HEADER_BYTES_MAX = 8_190
HEAD_BYTES_MAX = REQUEST_LINE_BYTES_MAX + HEADER_FIELDS_MAX * (HEADER_BYTES_MAX + 2) + 4

BUFFERED_BYTES_MAX = 48 << 20  # of all requests of a worker that arrived in pieces
RECEIVE_BYTES_MAX = 65_536  # per recv
UPLOAD_MEMORY_BYTES_MAX = 1 << 20  # of an upload; a larger one is written to a file while it arrives
UPLOADED_BYTES_MAX = 1 << 30  # of all unfinished uploads of a worker on disk

HEAD_SECONDS_MAX = 10.0  # a head is one or two packets; 10 s allow for three lost ones
REQUEST_SECONDS_MAX = 60.0  # to receive a request, and again to send its response
BODY_GRACE_SECONDS = 5.0
BODY_BYTES_PER_SECOND_MIN = 1_024  # on average, after the grace period

LINGER_SECONDS_MAX = 1.0  # a client that is still sending needs it to read the refusal
STOP_KEEPALIVE_SECONDS = 2.0  # a client may be sending its next request when the worker stops


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
    if line is None or line.end() > REQUEST_LINE_BYTES_MAX:
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


MANY_FIELDS = f"there are more than {HEADER_FIELDS_MAX} header fields"
LARGE_FIELD = f"one over {HEADER_BYTES_MAX} bytes"
REFUSALS: Final = {
    400: ("08P01", "the request is not well-formed HTTP"),
    403: ("42501", "the request is forbidden"),
    408: ("57014", "the request did not arrive in time"),
    413: ("PGRST102", f"The request body is larger than {BODY_BYTES_MAX} bytes"),
    414: ("54000", f"the request line is longer than {REQUEST_LINE_BYTES_MAX} bytes"),
    417: ("0A000", "the expectation is not supported"),
    431: ("54000", f"{MANY_FIELDS}, or {LARGE_FIELD}"),
    500: ("XX000", "internal error"),
    501: ("0A000", "the transfer coding is not supported"),
    503: ("53200", "the server is receiving too many large requests"),
    507: ("53100", "no room is left for the file"),
}
"""status -> code, message. The codes are PostgreSQL's and PostgREST's."""

AUTH_PATH: Final = "/auth/v1/"
AUTH_CODES: Final = {400: "bad_json", 408: "request_timeout", 413: "request_too_large"}
"""status -> GoTrue's error code, where it has one."""

STORAGE_PATH: Final = "/storage/v1/"
STORAGE_CODES: Final = {413: "EntityTooLarge", 503: "SlowDown", 507: "InsufficientStorage"}
STORAGE_MESSAGES: Final = {413: "Payload too large"}
"""status -> Supabase's error code and message, where the data API has another one."""


class Refused(Exception):
    """A request cannot be accepted; `status` is the status of the response."""

    def __init__(self, status: int) -> None:
        self.status = status


def write_refusal(sock: socket.socket, status_int: int, reason: str, mesg: str) -> None:
    """Replace `gunicorn.util.write_error`, which quotes the request in a page of HTML."""
    send_now(sock, compose(status_int))


def send_now(sock: socket.socket, data: bytes) -> None:
    """Send without waiting for the client; raises OSError if the socket takes nothing."""
    sock.send(data, socket.MSG_DONTWAIT)


def compose(status_code: int, path: str = "") -> bytes:
    """Return the whole response to a refused request, whose connection closes."""
    status = HTTPStatus(status_code)
    code, message = REFUSALS.get(status, REFUSALS[400])
    shape = {"code": code, "message": message, "details": None, "hint": None}
    if path.startswith(AUTH_PATH):
        code = AUTH_CODES.get(status, "unexpected_failure")
        shape |= {"code": code, "error_code": code, "msg": message}
    elif path.startswith(STORAGE_PATH):
        code = STORAGE_CODES.get(status, "InvalidRequest")
        message = STORAGE_MESSAGES.get(status, message)
        shape = {"statusCode": str(status.value), "code": code, "error": status.phrase, "message": message}
    body = json.dumps(shape).encode()
    retry = "Retry-After: 1\r\n" if status == HTTPStatus.SERVICE_UNAVAILABLE else ""
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Connection: close\r\n"
        "Content-Type: application/json; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        f"{retry}"
        "Cache-Control: private, no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'\r\n\r\n"
    )
    return head.encode() + body


CRLF: Final = b"\r\n"
HEAD_END: Final = b"\r\n\r\n"
BARE_LF: Final = re.compile(rb"(?<!\r)\n")
CHUNK_SIZE: Final = re.compile(rb"[0-9a-fA-F]{1,16}")
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class UploadRules(Protocol):
    """The application's rules of uploads. Their unfinished bodies lie in `directory`."""

    directory: Path

    def body_bytes_max(self, request: BufferedRequest) -> int | None:
        """Return the largest body: None for a request that is no upload, 0 if the head is enough to refuse it."""


class ClientConnection:
    """A client's connection. `pending` holds received bytes of the next request, `chunks` decoded bytes of its body.

    `queue` is the worker's queue that the connection is in, and `deadline` when it has to leave it, in seconds of the
    monotonic clock. `counted` is how many held bytes the worker has counted. Of an upload, the first `written` bytes
    are in `file`. `rest` is the length of what the current chunk still lacks, with the line break at its end.
    """

    __slots__ = (
        "began", "body_began", "body_max", "chunks", "client", "counted", "deadline", "file", "is_upload",
        "is_watched", "pending", "queue", "received", "request", "requests", "rest", "server", "settings", "sock",
        "uploads", "written",
    )  # fmt: skip

    def __init__(
        self, settings: Any, sock: socket.socket, client: Any, server: Any, uploads: UploadRules | None = None
    ) -> None:
        self.settings, self.sock, self.client, self.server = settings, sock, client, server
        self.uploads = uploads
        self.file: IO[bytes] | None = None
        self.queue: dict[ClientConnection, None] = {}
        self.requests = 0
        self.counted = (0, 0)
        self.is_watched = False
        self.deadline = 0.0
        self.clear()

    def clear(self) -> None:
        """Discard what was received."""
        self.request: BufferedRequest | None = None  # whose body is incomplete
        self.pending, self.received, self.is_upload = bytearray(), 0, False
        if self.file is not None:
            with suppress(OSError):  # bytes that found no room
                self.file.close()
        self._begin_body()
        self.began = self.body_began = 0.0  # of the request and its body; 0 if it arrives at once

    def _begin_body(self) -> None:
        self.chunks, self.rest, self.file, self.written = bytearray(), 0, None, 0

    @property
    def held(self) -> tuple[int, int]:
        """The bytes in memory and on disk."""
        return len(self.pending) + len(self.chunks), self.written

    def receive(self, data: bytes) -> BufferedRequest | None:
        """Add received bytes; return the request once it is complete. Later bytes stay in `pending`.

        An upload that is refused from its head is complete without its body: the application refuses it.
        Raise Refused, or gunicorn's ParseException.
        """
        self.pending += data
        if self.request is None:
            end = self._find_head_end(len(self.pending) - len(data))
            if end < 0:
                return None
            self.requests += 1
            head = bytes(self.pending[:end])
            del self.pending[:end]
            self.request = request = read_request(self.settings, head, self.client, self.requests)
            self.received = len(self.pending)
            expects_continue, request._expected_100_continue = request._expected_100_continue, False
            upload_max = self.uploads.body_bytes_max(request) if self.uploads is not None else None
            self.is_upload = upload_max is not None
            self.body_max = BODY_BYTES_MAX if upload_max is None else upload_max
            if (request.length or 0) > self.body_max or upload_max == 0:
                if not self.is_upload:
                    raise Refused(413)
                request.must_close, request.body, self.request = True, BytesIO(), None
                return request
            if expects_continue and not self.pending:
                send_now(self.sock, CONTINUE)
        else:
            request = self.request
            self.received += len(data)
        if not self._take_body(request):
            return None
        self.request = None
        return request

    def _find_head_end(self, searched: int) -> int:
        """Return where the head ends in `pending`, or -1; the first `searched` bytes hold no end."""
        begin = max(0, searched - len(HEAD_END) + 1)
        if (found := self.pending.find(HEAD_END, begin)) >= 0:
            return found + len(HEAD_END)
        if BARE_LF.search(self.pending, begin):
            raise Refused(400)
        line_max = REQUEST_LINE_BYTES_MAX + len(CRLF)
        if len(self.pending) > line_max and self.pending.find(CRLF, 0, line_max) < 0:
            raise Refused(414)
        if len(self.pending) > HEAD_BYTES_MAX:
            raise Refused(431)
        return -1

    def _take_body(self, request: BufferedRequest) -> bool:
        """Move the body from `pending` to the request; return whether the whole body was there."""
        if request.length is None:
            is_whole = self._decode_chunks(request)
        else:
            lacking = request.length - self.written - len(self.chunks)
            is_whole = len(self.pending) >= lacking
            if is_whole or self.is_upload:
                self.chunks += memoryview(self.pending)[:lacking]
                del self.pending[:lacking]
        if self.is_upload and self.written + len(self.chunks) > UPLOAD_MEMORY_BYTES_MAX:
            self._write_chunks(is_whole)
        if is_whole:
            request.body = self.file or BytesIO(self.chunks)
            self._begin_body()
        return is_whole

    def _write_chunks(self, is_whole: bool) -> None:
        """Move `chunks` to the file, which has no name: it goes with the last descriptor, also after a kill."""
        assert self.uploads is not None
        try:
            if self.file is None:
                self.file = TemporaryFile(dir=self.uploads.directory)  # noqa: SIM115  # `clear` or the thread closes it
            self.file.write(self.chunks)
            if is_whole:
                self.file.seek(0)
        except OSError as error:
            raise Refused(HTTPStatus.INSUFFICIENT_STORAGE) from error
        except Fault as error:  # the folder is missing
            raise Refused(HTTPStatus.SERVICE_UNAVAILABLE) from error
        self.written += len(self.chunks)
        self.chunks.clear()

    def _decode_chunks(self, request: BufferedRequest) -> bool:
        """Move chunks from `pending` to `chunks`; return whether the last chunk was there (RFC 9112, 7.1)."""
        while self._take_rest() and (line_end := self.pending.find(CRLF)) >= 0:
            size_text, semicolon, extension = self.pending[:line_end].partition(b";")
            if semicolon:
                size_text = size_text.rstrip(b" \t")
            if not (CHUNK_SIZE.fullmatch(size_text) and CHUNK_EXT_RE.fullmatch(semicolon + extension)):
                raise Refused(400)
            size = int(size_text, 16)
            if self.written + len(self.chunks) + size > self.body_max:
                raise Refused(413)
            if size == 0:
                return self._take_trailers(request, line_end)
            del self.pending[: line_end + len(CRLF)]
            self.rest = size + len(CRLF)
        if not self.rest and len(self.pending) > HEADER_BYTES_MAX:
            raise Refused(400)
        return False

    def _take_rest(self) -> bool:
        """Move received bytes of the current chunk from `pending` to `chunks`; return whether the chunk is complete."""
        taken = max(0, min(self.rest - len(CRLF), len(self.pending)))
        self.chunks += memoryview(self.pending)[:taken]
        del self.pending[:taken]
        self.rest -= taken
        if self.rest == len(CRLF) <= len(self.pending):
            if not self.pending.startswith(CRLF):
                raise Refused(400)
            del self.pending[: len(CRLF)]
            self.rest = 0
        return self.rest == 0

    def _take_trailers(self, request: BufferedRequest, line_end: int) -> bool:
        """Take the trailer section that follows the last chunk's line; return whether it was there."""
        end = self.pending.find(HEAD_END, line_end)
        if end < 0:
            if len(self.pending) > HEAD_BYTES_MAX:
                raise Refused(400)
            return False
        if end > line_end:
            trailers = bytes(self.pending[line_end + len(CRLF) : end])
            request.trailers = request.parse_headers(trailers, from_trailer=True)
        del self.pending[: end + len(HEAD_END)]
        return True

    def due(self, now: float) -> float:
        """Return the deadline for the rest of a request, in seconds of the monotonic clock.

        A head may take HEAD_SECONDS_MAX, and a whole request REQUEST_SECONDS_MAX, which counts anew with each part of
        an upload. A body must arrive at a minimum rate after a grace period.
        """
        self.began = self.began or now
        if self.request is None:
            return self.began + HEAD_SECONDS_MAX
        self.body_began = self.body_began or now
        earned = BODY_GRACE_SECONDS + self.received / BODY_BYTES_PER_SECOND_MIN
        latest = (now if self.is_upload else self.began) + REQUEST_SECONDS_MAX
        return min(latest, self.body_began + earned)


COPY_BYTES_MAX: Final = 65_536  # beyond it another write is cheaper than a copy
HEADERS_MAX: Final = 1_024  # some thirty constants, and one for each length and range


class SingleWriteResponse(Response):
    """gunicorn's response. Its head waits for the first piece of the body."""

    sock: Any
    upgrade: bool
    headers_sent: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = b""

    def process_headers(self, headers: list[tuple[str, str]]) -> None:
        for name, value in headers:
            fields, length, is_upgrade = check_header(name, value)
            self.headers.extend(fields)
            if length is not None:
                self.response_length = length
            self.upgrade = self.upgrade or is_upgrade

    def send_headers(self) -> None:
        if self.headers_sent:
            return
        lines = [f"{name}: {value}\r\n" for name, value in self.headers]
        self._head = "".join([*self.default_headers(), *lines, "\r\n"]).encode("latin-1")
        self.headers_sent = True

    def _emit_body(self, data: bytes) -> None:
        if self.chunked or len(data) > COPY_BYTES_MAX:
            self._send_head()
            super()._emit_body(data)
        else:
            head, self._head = self._head, b""
            gunicorn.util.write(self.sock, head + data)

    def close(self) -> None:
        self.send_headers()
        self._send_head()
        super().close()

    def _send_head(self) -> None:
        """Send the head, unless it has been sent."""
        if self._head:
            head, self._head = self._head, b""
            gunicorn.util.write(self.sock, head)


@lru_cache(maxsize=HEADERS_MAX)
def check_header(name: str, value: str) -> tuple[list[tuple[str, str]], int | None, bool]:
    """Return gunicorn's reading of a header: the fields to send, the length if stated, whether it upgrades.

    Raises what gunicorn raises for a malformed header.
    """
    alone = Response(None, None, None)
    alone.process_headers([(name, value)])
    return alone.headers, alone.response_length, alone.upgrade


def replace_internals() -> None:
    """Replace the parts of gunicorn that no setting reaches. Workers inherit them.

    - `message.MAX_REQUEST_LINE`: gunicorn lowers `limit_request_line` to it, and takes 0 for "no limit".
    - `util.write_error`: every refusal is JSON in the shape of the API, and quotes nothing of the request.
    - `wsgi.Response` and `wsgi.create`: head and body in one write, and parsed heads from a cache. Rows by id would be
      slower than their floor (docs/PERFORMANCE.md).

    `BufferedRequest` changes the parser: it accepts an exact repetition of a header field, as postgrest-go sends it,
    encodes bytes beyond ASCII in a target, as curl sends them, and counts fields before it parses them.
    """
    gunicorn.http.message.MAX_REQUEST_LINE = REQUEST_LINE_BYTES_MAX + 1
    gunicorn.util.write_error = write_refusal
    gunicorn.http.wsgi.Response = SingleWriteResponse
    gunicorn.http.wsgi.create = create

"""A head whose like was read before: known by its bytes.

A client sends the same header lines with each of its requests. gunicorn splits, checks and names every one of
them every time, which costs as much as finding the row that is asked for. Here a block of header lines is read
once, by gunicorn, and what it makes of it is kept under the very bytes; only the first line differs, the length
of a body, and the number that a proxy gives each request, and those are read anew. Whatever is not as plain as
can be is left to gunicorn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from typing import Any
from typing import Final

import gunicorn.http.wsgi
from gunicorn.http.body import Body
from gunicorn.http.body import LengthReader
from gunicorn.http.errors import ParseException
from gunicorn.http.parser import RequestParser
from gunicorn.http.unreader import IterUnreader
from gunicorn.util import unquote_to_wsgi_str

from serving.incoming import Incoming
from serving.incoming import leaves_much

HEADS_KEPT: Final = 256  # as many clients at a time are many; each one's is copied for its requests
HEAD_BYTES_MAX: Final = 4_096  # a token and a browser's header lines have room
HEAD_END: Final = b"\r\n\r\n"

FIRST_LINE: Final = re.compile(rb"(GET|HEAD|POST|PATCH|PUT|DELETE) (/(?!/)[!\"$-~]*) HTTP/1\.1\r\n")
"""A path of this server, in the letters that RFC 9112 allows, without a fragment."""

BODILESS: Final = frozenset({"GET", "HEAD"})

LENGTH: Final = re.compile(
    rb"\r\ncontent-length:[ \t]*(0|[1-9][0-9]{0,9})[ \t]*(?=\r\n)", re.IGNORECASE
)
NUMBER: Final = re.compile(
    rb"\r\nx-request-id:[ \t]*([0-9a-f-]{1,64})[ \t]*(?=\r\n)", re.IGNORECASE
)
NUMBERED: Final = re.compile(rb"\r\nx-request-id[ \t]*:", re.IGNORECASE)

UNUSUAL: Final = frozenset({"TRANSFER-ENCODING", "EXPECT", "UPGRADE", "TRAILER"})
"""Headers of requests whose end is elsewhere, or that are to become something else."""

SINGLE: Final = frozenset(
    {
        "gunicorn.socket", "wsgi.input", "wsgi.early_hints", "REQUEST_METHOD", "RAW_URI", "PATH_INFO",
        "QUERY_STRING", "REMOTE_ADDR", "REMOTE_PORT", "SERVER_NAME", "SERVER_PORT",
    }
)  # fmt: skip
"""What an environment says of one request or connection alone."""

create_anew: Final = gunicorn.http.wsgi.create


@dataclass(frozen=True, slots=True)
class Head:
    """What header lines say: as gunicorn has them, and as WSGI does."""

    headers: list[tuple[str, str]]
    environ: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Own:
    """What a request says for itself, beside what its head is known by; numbers as they were sent."""

    method: str
    uri: str
    length: str | None
    number: str | None


class Whole(BytesIO):
    """A body that came along with its head."""

    failed = False  # as gunicorn asks of its own


class Familiar(Incoming):
    """A request whose header lines were read before."""

    def __init__(self, reader: Reader, own: Own, head: Head, body: bytes) -> None:
        # Not gunicorn's: nothing is left to be parsed. These are all of its attributes that are asked for.
        self.cfg = reader.cfg
        self.unreader = reader.unreader
        self.peer_addr = self.remote_addr = reader.source_addr
        self.req_number = reader.req_count
        self.proxy_protocol_info = None
        self.own = own
        self.head = head
        self.method = own.method
        self.uri = own.uri
        self.path, _, self.query = own.uri.partition("?")
        self.fragment = ""
        self.version = (1, 1)
        self.scheme = head.environ["wsgi.url_scheme"]
        self.trailers: list[tuple[str, str]] = []
        self.must_close = False
        self._expected_100_continue = False
        left = int(own.length or 0) - len(body)
        if left <= 0:
            self.body: Any = Whole(body)
        else:
            reader.unreader.unread(body)
            self.body = Body(LengthReader(reader.unreader, left + len(body)))
        self.is_whole = left <= 0

    @property
    def headers(self) -> list[tuple[str, str]]:
        """As gunicorn would have them: by the application's way they are not asked for."""
        own = {"CONTENT-LENGTH": self.own.length, "X-REQUEST-ID": self.own.number}
        return [(name, own.get(name) or value) for name, value in self.head.headers]

    def should_close(self) -> bool:
        return bool(self.body.failed or self.must_close or leaves_much(self.body))


class Reader(RequestParser):  # type: ignore[misc]
    """gunicorn's reader of a connection's requests, which looks first whether it knows a head."""

    mesg_class = Incoming
    mesg: Incoming | None

    def __next__(self) -> Incoming:
        if self.mesg is not None and (self.mesg.should_close() or not self.finish_body()):
            raise StopIteration
        said = self.unreader.read()
        if (found := self.recognise(said)) is not None:
            self.mesg = found
            return found
        self.unreader.unread(said)
        read: Incoming = super().__next__()
        return read

    def recognise(self, said: bytes) -> Familiar | None:
        """The request, if its head is a familiar one, and nothing follows that is not its body."""
        line = FIRST_LINE.match(said)
        end = said.find(HEAD_END) + len(HEAD_END)
        if line is None or not line.end() < end <= line.end() + HEAD_BYTES_MAX:
            return None
        method = line[1].decode()
        block = said[line.end() - 2 : end]  # with the end of the line before
        number = NUMBER.search(block)
        if number is not None:
            if len(NUMBERED.findall(block)) > 1:
                return None
            block = without(block, number)
        length = LENGTH.search(block) if method not in BODILESS else None
        if length is not None:
            block = without(block, length)
        body = said[end:]
        if len(body) > (int(length[1]) if length is not None else 0):
            return None
        head = read_head(self.cfg, block, has_length=length is not None)
        if head is None:
            return None
        self.req_count += 1
        own = Own(method, line[2].decode(), told(length), told(number))
        return Familiar(self, own, head, body)

    def finish_body(self, deadline: float | None = None, max_bytes: int | None = None) -> bool:
        if type(self.mesg) is Familiar and self.mesg.is_whole:
            return True
        return bool(super().finish_body(deadline, max_bytes))


def without(block: bytes, said: re.Match[bytes]) -> bytes:
    """Header lines with a blank for a number that differs from request to request."""
    return block[: said.start(1)] + b"0" + block[said.end(1) :]


def told(said: re.Match[bytes] | None) -> str | None:
    return said[1].decode() if said is not None else None


@lru_cache(maxsize=HEADS_KEPT)
def read_head(settings: Any, block: bytes, *, has_length: bool) -> Head | None:
    """What gunicorn reads in a block of header lines; None for one that is left to it.

    `block` begins with the end of the first line, and ends with the empty one. Under the same settings it means
    the same, whoever sends it. `has_length`: whether one of its lines is a Content-Length that was looked at.
    """
    try:
        request = Incoming(settings, IterUnreader([b"GET / HTTP/1.1" + block]), ("", 0))
        names = {name for name, _ in request.headers}
        if request.should_close() or not UNUSUAL.isdisjoint(names):
            return None
        if ("CONTENT-LENGTH" in names) is not has_length:
            return None
        _, environ = create_anew(request, None, ("", 0), ("", 0), settings)
    except (ParseException, OSError):
        return None
    if environ["SCRIPT_NAME"]:
        return None
    kept = {name: value for name, value in environ.items() if name not in SINGLE}
    return Head(request.headers, kept)


def create(
    request: Incoming, sock: Any, client: Any, server: Any, settings: Any, **more: Any
) -> tuple[Any, dict[str, Any]]:
    """The answer to be and the environment of a request; gunicorn's own, but for a familiar head."""
    # An address that is no pair, of a socket in the file system, is gunicorn's to name.
    if type(request) is not Familiar or type(client) is not tuple or type(server) is not tuple:
        made: tuple[Any, dict[str, Any]] = create_anew(
            request, sock, client, server, settings, **more
        )
        return made
    environ = request.head.environ.copy()
    environ["gunicorn.socket"] = sock
    environ["wsgi.input"] = request.body
    environ["REQUEST_METHOD"] = request.method
    environ["RAW_URI"] = request.uri
    environ["PATH_INFO"] = unquote_to_wsgi_str(request.path)
    environ["QUERY_STRING"] = request.query
    if request.own.length is not None:
        environ["CONTENT_LENGTH"] = request.own.length
    if request.own.number is not None:
        environ["HTTP_X_REQUEST_ID"] = request.own.number
    environ["REMOTE_ADDR"] = client[0]
    environ["REMOTE_PORT"] = str(client[1])
    environ["SERVER_NAME"] = server[0]
    environ["SERVER_PORT"] = str(server[1])
    return gunicorn.http.wsgi.Response(request, sock, settings), environ

"""A head whose like was read before: known by its bytes.

A client sends the same header lines with each of its requests. gunicorn splits, checks and names every one of
them every time, which costs as much as finding the row that is asked for. Here a block of header lines is read
once, by gunicorn, and what it makes of it is kept under the very bytes; only the first line differs, and the
number that a proxy gives each request, and those are read anew. Whatever is not as plain as can be, a body above
all, is left to gunicorn.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
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

HEADS_KEPT: Final = 256  # as many clients at a time are many; each one's is copied for its requests
HEAD_BYTES_MAX: Final = 4_096  # a token and a browser's header lines have room
HEAD_END: Final = b"\r\n\r\n"

FIRST_LINE: Final = re.compile(rb"(GET|HEAD) (/(?!/)[!\"$-~]*) HTTP/1\.1\r\n")
"""A path of this server, in the letters that RFC 9112 allows, without a fragment."""

NUMBER: Final = re.compile(
    rb"\r\nx-request-id:[ \t]*([0-9a-f-]{1,64})[ \t]*(?=\r\n)", re.IGNORECASE
)
NUMBERED: Final = re.compile(rb"\r\nx-request-id[ \t]*:", re.IGNORECASE)

UNUSUAL: Final = frozenset({"CONTENT-LENGTH", "TRANSFER-ENCODING", "EXPECT", "UPGRADE", "TRAILER"})
"""Headers of requests that have more than a head, or are to become something else."""

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


class Familiar(Incoming):
    """A request without a body, whose header lines were read before."""

    def __init__(
        self, reader: Reader, method: str, uri: str, head: Head, number: str | None
    ) -> None:
        # Not gunicorn's: nothing is left to be parsed. These are all of its attributes that are asked for.
        self.cfg = reader.cfg
        self.unreader = reader.unreader
        self.peer_addr = self.remote_addr = reader.source_addr
        self.req_number = reader.req_count
        self.proxy_protocol_info = None
        self.method = method
        self.uri = uri
        self.path, _, self.query = uri.partition("?")
        self.fragment = ""
        self.version = (1, 1)
        self.scheme = "http"
        self.head = head
        self.number = number
        self.headers = head.headers
        if number is not None:
            self.headers = [*head.headers, ("X-REQUEST-ID", number)]
        self.trailers: list[tuple[str, str]] = []
        self.body = Body(LengthReader(reader.unreader, 0))
        self.must_close = False
        self._expected_100_continue = False

    def should_close(self) -> bool:
        return self.must_close


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
        """The request, if it is all that was said, and its head is a familiar one."""
        if said.find(HEAD_END) != len(said) - len(HEAD_END):
            return None
        line = FIRST_LINE.match(said)
        if line is None or len(said) - line.end() > HEAD_BYTES_MAX:
            return None
        block = said[line.end() - 2 :]  # with the end of the line before
        number = NUMBER.search(block)
        if number is not None:
            block = block[: number.start()] + block[number.end() :]
            if NUMBERED.search(block):
                return None
        head = read_head(self.cfg, block)
        if head is None:
            return None
        self.req_count += 1
        told = number[1].decode() if number is not None else None
        return Familiar(self, line[1].decode(), line[2].decode(), head, told)

    def finish_body(self, deadline: float | None = None, max_bytes: int | None = None) -> bool:
        if type(self.mesg) is Familiar:
            return True
        return bool(super().finish_body(deadline, max_bytes))


@lru_cache(maxsize=HEADS_KEPT)
def read_head(settings: Any, block: bytes) -> Head | None:
    """What gunicorn reads in a block of header lines; None for one that is left to it.

    `block` begins with the end of the first line, and ends with the empty one. Under the same settings it means
    the same, whoever sends it.
    """
    try:
        request = Incoming(settings, IterUnreader([b"GET / HTTP/1.1" + block]), ("", 0))
        if request.should_close() or not UNUSUAL.isdisjoint(name for name, _ in request.headers):
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
    if request.number is not None:
        environ["HTTP_X_REQUEST_ID"] = request.number
    environ["REMOTE_ADDR"] = client[0]
    environ["REMOTE_PORT"] = str(client[1])
    environ["SERVER_NAME"] = server[0]
    environ["SERVER_PORT"] = str(server[1])
    return gunicorn.http.wsgi.Response(request, sock, settings), environ

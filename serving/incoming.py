"""What is read of a request before the application has it: whether there is one, and its head."""

from __future__ import annotations

import enum
import re
import select
import socket
from typing import Any
from typing import Final
from urllib.parse import SplitResult

from gunicorn.http.body import ChunkedReader
from gunicorn.http.body import LengthReader
from gunicorn.http.errors import LimitRequestHeaders
from gunicorn.http.message import Request
from gunicorn.util import split_request_uri

ENDED: Final = getattr(select, "POLLRDHUP", select.POLLHUP)  # the first is Linux's alone
SMALL_WRITE: Final = re.compile(rb"(?:POST|PATCH) (?:/rest/v1)?/[a-z_]+(?:\?[^ ]*)? HTTP/1\.1\r\n")
LENGTH: Final = re.compile(rb"\r\ncontent-length:[ \t]*([0-9]{1,5})[ \t]*\r\n", re.IGNORECASE)
BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
SAID_ONCE: Final = frozenset(
    {"ACCEPT-PROFILE", "APIKEY", "AUTHORIZATION", "CONTENT-PROFILE", "CONTENT-TYPE"}
)
"""Headers that hold one value, of those that clients send."""
UNREAD_BYTES_MAX: Final = 65_536  # gunicorn parts with who leaves as much
PEEKED_BYTES_MAX: Final = 16_384  # of an unfinished head; well below what the system keeps unread


class Incoming(Request):  # type: ignore[misc]
    """A request. One whose body broke off is the last of its connection, and its answer says so: where the
    next one would start is unknown. So is one of which more was left unread than is read for nothing."""

    def _peer_is_trusted_proxy(self) -> bool:
        """Nobody's headers move the application (gunicorn.conf.py): no address need be looked at."""
        return False

    def parse_request_line(self, line_bytes: bytes) -> None:
        """As gunicorn does; but a letter beyond ASCII is taken for what it should have been sent as. curl sends a
        target as it was typed, and PostgREST reads it."""
        method, space, rest = line_bytes.partition(b" ")
        super().parse_request_line(method + space + BEYOND_ASCII.sub(percent_encoded, rest))

    def parse_headers(self, data: bytes, from_trailer: bool = False) -> list[tuple[str, str]]:
        """As gunicorn does; but fields are counted before they are read, also those that are dropped for an underscore:
        gunicorn takes a hundred thousand of them apart, which takes seconds, from whoever sends them."""
        if data.count(b"\r\n") >= self.limit_request_fields:  # what is between two fields
            raise LimitRequestHeaders("limit request headers fields")
        parsed: list[tuple[str, str]] = super().parse_headers(data, from_trailer)
        return parsed

    def _apply_header_policy(
        self, name: str, value: str, scheme: list[bool], seen: set[object], *more: Any, **named: Any
    ) -> tuple[str, str] | None:
        """As gunicorn does; but what is said twice to the letter was said once. postgrest-go sends each of its headers
        several times, and PostgREST looks at the first. Two that differ stay refused: who asks is not guessed."""
        if name in SAID_ONCE:
            if (name, value) in seen:
                return None
            seen.add((name, value))  # gunicorn itself keeps names there
        kept: tuple[str, str] | None = super()._apply_header_policy(
            name, value, scheme, seen, *more, **named
        )
        return kept

    def should_close(self) -> bool:
        return bool(self.body.failed or leaves_much(self.body) or super().should_close())


def percent_encoded(letter: re.Match[bytes]) -> bytes:
    return b"%%%02X" % letter[0][0]


def leaves_much(body: Any) -> bool:
    """Whether `UNREAD_BYTES_MAX` of a body or more are unread, or, of one in chunks, an unknown part."""
    reader = getattr(body, "reader", None)
    if isinstance(reader, LengthReader):
        return bool(reader.length + body.buf.tell() >= UNREAD_BYTES_MAX)
    return isinstance(reader, ChunkedReader) and reader.parser is not None


class Settled:
    """gunicorn's settings, each looked up once. gunicorn looks up twenty a request, each by a call or two."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._settings, name)
        self.__dict__[name] = value
        return value


def split_target(target: str) -> SplitResult:
    """A request's target in its parts; for a path of this server, which nearly all are, it is soon done.

    >>> split_target("/buildings?id=eq.1#x")
    SplitResult(scheme='', netloc='', path='/buildings', query='id=eq.1', fragment='x')
    """
    if not target.startswith("/") or target.startswith("//"):
        parts: SplitResult = split_request_uri(target)
        return parts
    rest, _, fragment = target.partition("#")
    path, _, query = rest.partition("?")
    return SplitResult("", "", path, query, fragment)


class Asked(enum.IntEnum):
    """What a client has asked. Only of the first, which is false, more has to come before it can be served."""

    HALF_A_HEAD = 0
    SOMETHING = 1
    SMALL_WRITE = 2


def look(sock: socket.socket, held: bytes = b"") -> Asked:
    """What a client has asked, without reading it. `held` is what was read of it along with the request before.

    Something is also what the parser refuses at sight, and an end.
    """
    try:
        said = sock.recv(PEEKED_BYTES_MAX, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        is_over = not said
    except BlockingIOError:
        said, is_over = b"", False
    except OSError:
        return Asked.SOMETHING
    said = held + said
    if is_small_write(said):
        return Asked.SMALL_WRITE
    if is_over or b"\r\n\r\n" in said or len(said) >= PEEKED_BYTES_MAX:
        return Asked.SOMETHING
    is_refused = said.count(b"\n") != said.count(b"\r\n")
    return Asked.SOMETHING if is_refused or has_ended(sock) else Asked.HALF_A_HEAD


def is_small_write(said: bytes) -> bool:
    """Whether that is a request, all of it and nothing else, that looks like a small change of a relation:
    nobody who is served together with it has to wait for its client.

    >>> is_small_write(b"POST /inspections HTTP/1.1\\r\\nContent-Length: 2\\r\\n\\r\\n{}")
    True
    """
    if SMALL_WRITE.match(said) is None:
        return False
    head, _, body = said.partition(b"\r\n\r\n")
    length = LENGTH.search(head + b"\r\n")
    return length is not None and int(length[1]) == len(body)


def has_ended(sock: socket.socket) -> bool:
    """Whether nothing more will come, after what may still be unread."""
    poller = select.poll()
    poller.register(sock, ENDED)
    return bool(poller.poll(0))

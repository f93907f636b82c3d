"""Assemble the requests of a client's connection from received bytes, without a thread."""

from __future__ import annotations

import re
import socket
from io import BytesIO
from typing import Any, Final

from gunicorn.http.body import CHUNK_EXT_RE

from serving.worker import limits
from serving.worker.head_cache import read_request
from serving.worker.refusal import Refused, send_now
from serving.worker.request import BufferedRequest

CRLF: Final = b"\r\n"
HEAD_END: Final = b"\r\n\r\n"
BARE_LF: Final = re.compile(rb"(?<!\r)\n")
CHUNK_SIZE: Final = re.compile(rb"[0-9a-fA-F]{1,16}")
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class ClientConnection:
    """A client's connection. `pending` holds received bytes of the next request, `chunks` its decoded chunks.

    `queue` is the worker's queue that the connection is in, and `deadline` when it has to leave it, in seconds of the
    monotonic clock. `counted` is the number of buffered bytes that the worker has counted.
    """

    __slots__ = (
        "began", "body_began", "chunks", "client", "counted", "deadline", "is_watched", "pending", "queue",
        "received", "request", "requests", "server", "settings", "sock",
    )  # fmt: skip

    def __init__(self, settings: Any, sock: socket.socket, client: Any, server: Any) -> None:
        self.settings, self.sock, self.client, self.server = settings, sock, client, server
        self.queue: dict[ClientConnection, None] = {}
        self.requests = self.counted = 0
        self.is_watched = False
        self.deadline = 0.0
        self.clear()

    def clear(self) -> None:
        """Discard what was received."""
        self.request: BufferedRequest | None = None  # whose body is incomplete
        self.pending, self.chunks, self.received = bytearray(), bytearray(), 0
        self.began = self.body_began = 0.0  # of the request and its body; 0 if it arrives at once

    def receive(self, data: bytes) -> BufferedRequest | None:
        """Add received bytes; return the request once it is complete. Later bytes stay in `pending`.

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
            if (request.length or 0) > limits.BODY_BYTES_MAX:
                raise Refused(413)
            expects_continue, request._expected_100_continue = request._expected_100_continue, False
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
        line_max = limits.REQUEST_LINE_BYTES_MAX + len(CRLF)
        if len(self.pending) > line_max and self.pending.find(CRLF, 0, line_max) < 0:
            raise Refused(414)
        if len(self.pending) > limits.HEAD_BYTES_MAX:
            raise Refused(431)
        return -1

    def _take_body(self, request: BufferedRequest) -> bool:
        """Move the whole body from `pending` to the request; return whether it was there."""
        if request.length is None:
            if not self._decode_chunks(request):
                return False
            body, self.chunks = bytes(self.chunks), bytearray()
        else:
            if len(self.pending) < request.length:
                return False
            body = bytes(memoryview(self.pending)[: request.length])
            del self.pending[: request.length]
        request.body = BytesIO(body)
        return True

    def _decode_chunks(self, request: BufferedRequest) -> bool:
        """Move complete chunks from `pending` to `chunks`; return whether the last chunk was there (RFC 9112, 7.1)."""
        data, begin = self.pending, 0
        while (line_end := data.find(CRLF, begin)) >= 0:
            size_text, semicolon, extension = data[begin:line_end].partition(b";")
            if semicolon:
                size_text = size_text.rstrip(b" \t")
            if not (CHUNK_SIZE.fullmatch(size_text) and CHUNK_EXT_RE.fullmatch(semicolon + extension)):
                raise Refused(400)
            size, start = int(size_text, 16), line_end + len(CRLF)
            if len(self.chunks) + size > limits.BODY_BYTES_MAX:
                raise Refused(413)
            if size == 0 and (end := data.find(HEAD_END, line_end)) >= 0:
                if end > line_end:
                    request.trailers = request.parse_headers(bytes(data[start:end]), from_trailer=True)
                del data[: end + len(HEAD_END)]
                return True
            if size == 0 or len(data) < start + size + len(CRLF):
                break
            if data[start + size : start + size + len(CRLF)] != CRLF:
                raise Refused(400)
            self.chunks += memoryview(data)[start : start + size]
            begin = start + size + len(CRLF)
        del data[:begin]
        # Without a line break the rest is a chunk size line; with one it is an incomplete chunk or trailer section.
        has_line = data.find(CRLF) >= 0
        rest_max = limits.HEAD_BYTES_MAX + limits.BODY_BYTES_MAX if has_line else limits.HEADER_BYTES_MAX
        if len(data) > rest_max:
            raise Refused(400)
        return False

    def due(self, now: float) -> float:
        """Return the deadline for the rest of a request, in seconds of the monotonic clock.

        A head may take HEAD_SECONDS_MAX, and a whole request REQUEST_SECONDS_MAX. A body must arrive at a minimum rate
        after a grace period.
        """
        self.began = self.began or now
        if self.request is None:
            return self.began + limits.HEAD_SECONDS_MAX
        self.body_began = self.body_began or now
        earned = limits.BODY_GRACE_SECONDS + self.received / limits.BODY_BYTES_PER_SECOND_MIN
        return min(self.began + limits.REQUEST_SECONDS_MAX, self.body_began + earned)

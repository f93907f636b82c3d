"""Assemble the requests of a connection from the pieces that arrive, without a thread."""

from __future__ import annotations

import re
import socket
from io import BytesIO
from typing import Any
from typing import Final

from gunicorn.http.body import CHUNK_EXT_RE

from serving.worker import limits
from serving.worker.head_cache import read_request
from serving.worker.refusal import Refused
from serving.worker.refusal import send_now
from serving.worker.request import BufferedRequest

CRLF: Final = b"\r\n"
HEAD_END: Final = b"\r\n\r\n"
BARE_LF: Final = re.compile(rb"(?<!\r)\n")
CHUNK_SIZE: Final = re.compile(rb"[0-9a-fA-F]{1,16}")
CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"


class Connection:
    """A client's connection. `pending` holds received bytes of the next request, `chunks` its decoded chunks.

    `queue` is the worker's queue that the connection is in, `deadline` when it has to leave it, in seconds
    of the monotonic clock. `counted` are the buffered bytes that the worker has counted.
    """

    __slots__ = (
        "began", "body_began", "chunks", "client", "counted", "deadline", "pending", "queue",
        "received", "request", "requests", "server", "settings", "sock",
    )  # fmt: skip

    def __init__(self, settings: Any, sock: socket.socket, client: Any, server: Any) -> None:
        self.settings, self.sock, self.client, self.server = settings, sock, client, server
        self.queue: dict[Connection, None] = {}
        self.requests = self.counted = 0
        self.deadline = 0.0
        self.clear()

    def clear(self) -> None:
        """Forget what was received."""
        self.request: BufferedRequest | None = None  # whose body is on its way
        self.pending, self.chunks, self.received = bytearray(), bytearray(), 0
        self.began = self.body_began = 0.0  # of the request and its body; 0 if it arrives at once

    def receive(self, data: bytes) -> BufferedRequest | None:
        """Add received bytes and return the request once all of it is there; more may be in `pending`.

        Raises Refused, or gunicorn's ParseException.
        """
        if self.request is not None:
            self.pending += data
            self.received += len(data)
            return self._take_body(self.request)
        end = self._find_head_end(data)
        if end < 0:
            return None
        if self.pending:
            data, self.pending = bytes(self.pending), bytearray()
        self.requests += 1
        request = read_request(self.settings, data[:end], self.client, self.requests)
        body_end = end + (request.length or 0)
        if request.length is not None and len(data) >= body_end:
            request._expected_100_continue = False
            request.body = BytesIO(data[end:body_end])
            if len(data) > body_end:
                self.pending += data[body_end:]
            return request
        self.request = request
        if body_end - end > limits.BODY_BYTES_MAX:
            raise Refused(413)
        if request._expected_100_continue:
            request._expected_100_continue = False
            send_now(self.sock, CONTINUE)
        self.pending += data[end:]
        self.received = len(data) - end
        return self._take_body(request)

    def _find_head_end(self, data: bytes) -> int:
        """Return where the head ends in all that was received, or -1 after adding `data` to it."""
        if not self.pending and (found := data.find(HEAD_END)) >= 0:
            return found + len(HEAD_END)
        begin = max(0, len(self.pending) - len(HEAD_END) + 1)
        self.pending += data
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

    def _take_body(self, request: BufferedRequest) -> BufferedRequest | None:
        if request.length is None:
            if not self._decode_chunks(request):
                return None
            body, self.chunks = bytes(self.chunks), bytearray()
        else:
            if len(self.pending) < request.length:
                return None
            body = bytes(memoryview(self.pending)[: request.length])
            del self.pending[: request.length]
        request.body = BytesIO(body)
        self.request = None
        return request

    def _decode_chunks(self, request: BufferedRequest) -> bool:
        """Move whole chunks from `pending` to `chunks`; return whether the last one was there (RFC 9112, 7.1)."""
        data, begin = self.pending, 0
        while (line_end := data.find(CRLF, begin)) >= 0:
            size_text, semicolon, extension = data[begin:line_end].partition(b";")
            if semicolon:
                size_text = size_text.rstrip(b" \t")
            if not (
                CHUNK_SIZE.fullmatch(size_text) and CHUNK_EXT_RE.fullmatch(semicolon + extension)
            ):
                raise Refused(400)
            size, start = int(size_text, 16), line_end + len(CRLF)
            if len(self.chunks) + size > limits.BODY_BYTES_MAX:
                raise Refused(413)
            if size == 0 and (end := data.find(HEAD_END, line_end)) >= 0:
                if end > line_end:
                    request.trailers = request.parse_headers(
                        bytes(data[start:end]), from_trailer=True
                    )
                del data[: end + len(HEAD_END)]
                return True
            if size == 0 or len(data) < start + size + len(CRLF):
                break
            if data[start + size : start + size + len(CRLF)] != CRLF:
                raise Refused(400)
            self.chunks += memoryview(data)[start : start + size]
            begin = start + size + len(CRLF)
        del data[:begin]
        line_end = data.find(CRLF)  # of a chunk that is not whole; without one it is a size line
        if len(data) > (
            limits.HEADER_BYTES_MAX
            if line_end < 0
            else limits.HEAD_BYTES_MAX + limits.BODY_BYTES_MAX
        ):
            raise Refused(400)
        return False

    def due(self, now: float) -> float:
        """Return until when more of a request has to arrive, in seconds of the monotonic clock.

        A head has HEAD_SECONDS_MAX. A body has REQUEST_SECONDS_MAX, and a least rate after a grace period.
        """
        self.began = self.began or now
        if self.request is None:
            return self.began + limits.HEAD_SECONDS_MAX
        self.body_began = self.body_began or now
        earned = limits.BODY_GRACE_SECONDS + self.received / limits.BODY_BYTES_PER_SECOND_MIN
        return min(self.began + limits.REQUEST_SECONDS_MAX, self.body_began + earned)

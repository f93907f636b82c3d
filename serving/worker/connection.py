"""Assemble the requests of a client's connection from received bytes, without a thread."""

from __future__ import annotations

import re
import socket
from contextlib import suppress
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final, Protocol

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
            self.body_max = limits.BODY_BYTES_MAX if upload_max is None else upload_max
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
        line_max = limits.REQUEST_LINE_BYTES_MAX + len(CRLF)
        if len(self.pending) > line_max and self.pending.find(CRLF, 0, line_max) < 0:
            raise Refused(414)
        if len(self.pending) > limits.HEAD_BYTES_MAX:
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
        if self.is_upload and self.written + len(self.chunks) > limits.UPLOAD_MEMORY_BYTES_MAX:
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
        if not self.rest and len(self.pending) > limits.HEADER_BYTES_MAX:
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
            if len(self.pending) > limits.HEAD_BYTES_MAX:
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
            return self.began + limits.HEAD_SECONDS_MAX
        self.body_began = self.body_began or now
        earned = limits.BODY_GRACE_SECONDS + self.received / limits.BODY_BYTES_PER_SECOND_MIN
        latest = (now if self.is_upload else self.began) + limits.REQUEST_SECONDS_MAX
        return min(latest, self.body_began + earned)

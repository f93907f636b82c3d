"""Send the bytes of a file: whole, in part, or the answer that the client's copy is current."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple
from urllib.parse import quote

from flask import Response, request
from werkzeug.exceptions import RequestedRangeNotSatisfiable

from models.errors import Fault
from routes.http.flask_app import ApiResponse

PIECE_BYTES: Final = 65_536
LARGE_BYTES: Final = 1 << 20  # what is smaller, the socket's buffer takes at once
LARGE_MAX: Final = 16  # of a process' 32 threads: slow clients keep the others free
WAIT_SECONDS_MAX = 1.0

LARGE_SLOTS = threading.BoundedSemaphore(LARGE_MAX)

HEADERS: Final = {
    # A copy has to be validated at each use: the caller may have lost the row.
    "Cache-Control": "private, no-cache",
    "Content-Security-Policy": "sandbox; default-src 'none'",
    # A page of another origin shows an image by its signed link.
    "Cross-Origin-Resource-Policy": "cross-origin",
}


class RangeNotSatisfiable(Fault):
    """A range that lies outside of the file, or several ranges."""

    def __init__(self, size: int) -> None:
        super().__init__("The requested range is not satisfiable")
        self.size = size


class TooManyLargeFiles(Fault):
    """All slots for large files are taken. A retry is right."""

    def __init__(self) -> None:
        super().__init__("The server is sending too many large files")


class FileBody(NamedTuple):
    """What is sent: bytes, their type, a text that changes with them, and when they changed."""

    path: Path
    size: int
    mimetype: str
    etag: str
    modified: datetime.datetime


def send_file(body: FileBody, name: str, download: str | None) -> Response:
    """Return the response for GET and HEAD. `download` makes it an attachment, of that name unless it is empty.

    Raise RangeNotSatisfiable or TooManyLargeFiles.
    """
    headers = HEADERS | {"Content-Type": body.mimetype, "Content-Disposition": disposition(name, download)}
    response = ApiResponse(headers=headers, direct_passthrough=True)
    response.content_length = body.size
    response.last_modified = body.modified
    response.set_etag(body.etag)
    try:
        response.make_conditional(request.environ, accept_ranges=True, complete_length=body.size)
    except RequestedRangeNotSatisfiable as error:
        raise RangeNotSatisfiable(body.size) from error
    del response.headers["Date"]  # gunicorn adds it
    if response.status_code in (200, 206) and request.method != "HEAD":
        part = response.content_range
        begin, end = (part.start or 0, part.stop or 0) if part else (0, body.size)
        response.response = FilePieces(body.path, begin, end)
    return response


def disposition(name: str, download: str | None) -> str:
    """Return a Content-Disposition (RFC 6266).

    >>> disposition("417/front door.jpg", None), disposition("417/Tür.jpg", "")
    ("inline; filename*=UTF-8''front%20door.jpg", "attachment; filename*=UTF-8''T%C3%BCr.jpg")
    """
    kind = "inline" if download is None else "attachment"
    return f"{kind}; filename*=UTF-8''{quote(download or name.rpartition('/')[2], safe='')}"


class FilePieces:
    """A part of a file, read while it is sent. A large one holds a slot until it is sent or the client is gone."""

    def __init__(self, path: Path, begin: int, end: int) -> None:
        self.is_large = end - begin > LARGE_BYTES
        if self.is_large and not LARGE_SLOTS.acquire(timeout=WAIT_SECONDS_MAX):
            raise TooManyLargeFiles
        try:
            self.file = path.open("rb")
        except BaseException:
            self.release()
            raise
        self.file.seek(begin)
        self.rest = end - begin

    def __iter__(self) -> Iterator[bytes]:
        while self.rest and (piece := self.file.read(min(self.rest, PIECE_BYTES))):
            self.rest -= len(piece)
            yield piece

    def release(self) -> None:
        if self.is_large:
            self.is_large = False
            LARGE_SLOTS.release()

    def close(self) -> None:
        self.file.close()
        self.release()

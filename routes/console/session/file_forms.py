"""Forms with files. A form with one small file is read in memory; nothing is written to the disk.

The files of a form with more of them arrive in temporary files of FILES_DIR. The worker takes the body of such a form
as it takes an upload of /storage/v1, with a limit of its own.
"""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import IO, Final, TypeVar, cast

from flask import g, request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import MultiPartParser
from werkzeug.sansio.multipart import Data, Event, Field, File, MultipartDecoder

from inspections.faults import FileTooLarge
from inspections.files.uploads import reporting_disk
from routes.http.body import read_body
from routes.http.faults import BodyTooLarge
from routes.postgrest.representation import BadRequest
from routes.storage.bodies import file_limits, file_store
from routes.storage.uploads import PIECE_BYTES, form_events
from settings import CONSOLE_FORM_BYTES_MAX

FILE_FORM_TYPE: Final = "multipart/form-data"
FORM_PARTS_MAX: Final = 1_000


def read_file_form(bytes_max: int) -> list[tuple[str, str]]:
    """Return the fields of the request's form; `g.file` is the content of its file. Nothing is written to the disk.

    Raise BodyTooLarge or BadRequest.
    """
    body = read_body(bytes_max)
    boundary = request.mimetype_params.get("boundary", "").encode("ascii", "replace")
    parser = MultiPartParser(
        lambda *arguments, **named: io.BytesIO(), max_form_memory_size=None, max_form_parts=FORM_PARTS_MAX
    )
    try:
        fields, files = parser.parse(io.BytesIO(body), boundary, len(body))
    except (ValueError, RequestEntityTooLarge):
        raise BadRequest("The form could not be read") from None
    g.file = b"".join(each.read() for each in files.values())
    return list(fields.items(multi=True))


View = TypeVar("View", bound=Callable[..., object])

FILES_MAX: Final = 20
PARTS_MAX: Final = FILES_MAX + 10
BODY_FILES: Final = 5
"""A form has room for so many files of the largest size."""


@dataclass(slots=True)
class SentFile:
    """A file of a form. A larger one than FILE_BYTES_MAX is cut."""

    name: str
    path: Path
    is_too_large: bool = False


def form_bytes_max(file_bytes_max: int) -> int:
    return BODY_FILES * file_bytes_max + CONSOLE_FORM_BYTES_MAX


def read_sent_files() -> list[tuple[str, str]]:
    """Return the fields of the request's form; `g.sent_files` are its files. Raise BodyTooLarge or BadRequest.

    `removing_sent_files` removes the temporary files after the view.
    """
    limits = file_limits()
    if (request.content_length or 0) > form_bytes_max(limits.file_bytes):
        raise BodyTooLarge(form_bytes_max(limits.file_bytes))
    g.sent_files = []
    parts = Parts(limits.file_bytes)
    boundary = request.mimetype_params.get("boundary", "").encode("ascii", "replace")
    try:
        with reporting_disk(file_store()):
            for event in form_events(MultipartDecoder(boundary, 2 * PIECE_BYTES, max_parts=PARTS_MAX)):
                parts.add(event)
        return [(name, text.decode()) for name, text in parts.fields]
    except RequestEntityTooLarge as error:
        raise BadRequest(f"The form has more than {FILES_MAX} files, or too much text") from error
    except ValueError as error:
        raise BadRequest("The form could not be read") from error
    finally:
        parts.close()


class Parts:
    """The parts of a form while they arrive."""

    def __init__(self, bytes_max: int) -> None:
        self.bytes_max = bytes_max
        self.fields: list[tuple[str, bytearray]] = []
        self.file: IO[bytes] | None = None
        self.is_field = False
        self.written = self.text = 0

    def add(self, event: Event) -> None:
        if isinstance(event, File | Field):
            self.begin(event)
        elif isinstance(event, Data) and self.file is not None:
            self.write(event.data)
        elif isinstance(event, Data) and self.is_field:
            self.text += len(event.data)
            if self.text > CONSOLE_FORM_BYTES_MAX:
                raise RequestEntityTooLarge
            self.fields[-1][1].extend(event.data)

    def begin(self, part: File | Field) -> None:
        self.close()
        self.is_field = isinstance(part, Field)
        if isinstance(part, Field):
            self.fields.append((part.name, bytearray()))
        elif part.filename:  # a browser sends a field without a file under an empty name
            sent = SentFile(part.filename, file_store().new_temporary())
            g.sent_files.append(sent)
            self.file, self.written = sent.path.open("wb"), 0

    def write(self, data: bytes) -> None:
        assert self.file is not None
        self.written += len(data)
        if self.written > self.bytes_max:
            g.sent_files[-1].is_too_large = True
        else:
            self.file.write(data)

    def close(self) -> None:
        if self.file is not None:
            self.file.close()
            self.file = None


def require_sizes(files: list[SentFile], bytes_max: int) -> None:
    """Raise FileTooLarge for a file that was cut."""
    if any(each.is_too_large for each in files):
        raise FileTooLarge(bytes_max)


def removing_sent_files(view: View) -> View:
    """Decorate a view of such a form: its temporary files are removed at the end. A kept file has another name."""

    @wraps(view)
    def run(*arguments: object, **keywords: object) -> object:
        try:
            return view(*arguments, **keywords)
        finally:
            for each in g.pop("sent_files", ()):
                with suppress(OSError):
                    each.path.unlink(missing_ok=True)

    return cast(View, run)

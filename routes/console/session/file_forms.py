"""Reads forms with a file (multipart/form-data)."""

from __future__ import annotations

import io
from typing import Final

from flask import g, request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import MultiPartParser

from routes.http.body import read_body
from routes.postgrest.requests import BadRequest

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

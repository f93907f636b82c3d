"""Reads forms with a file (multipart/form-data)."""

from __future__ import annotations

import io
from collections.abc import Mapping
from typing import Final

from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import MultiPartParser

from routes.postgrest.requests import BadRequest

FILE_FORM_TYPE: Final = "multipart/form-data"
FORM_PARTS_MAX: Final = 1_000


def read_file_form(body: bytes, type_parameters: Mapping[str, str]) -> tuple[list[tuple[str, str]], bytes]:
    """Return the fields of a form, and the content of its file; raise BadRequest. Nothing is written to the disk."""
    boundary = type_parameters.get("boundary", "").encode("ascii", "replace")
    parser = MultiPartParser(
        lambda *arguments, **named: io.BytesIO(), max_form_memory_size=None, max_form_parts=FORM_PARTS_MAX
    )
    try:
        fields, files = parser.parse(io.BytesIO(body), boundary, len(body))
    except (ValueError, RequestEntityTooLarge):
        raise BadRequest("The form could not be read") from None
    return list(fields.items(multi=True)), b"".join(each.read() for each in files.values())

"""gunicorn's request parser, with the corrections that clients of PostgREST need."""

from __future__ import annotations

import re
from typing import Any, Final

from gunicorn.http.body import LengthReader
from gunicorn.http.errors import LimitRequestHeaders
from gunicorn.http.message import Request

BEYOND_ASCII: Final = re.compile(rb"[\x80-\xff]")
SINGLE_VALUED: Final = frozenset({"ACCEPT-PROFILE", "APIKEY", "AUTHORIZATION", "CONTENT-PROFILE", "CONTENT-TYPE"})


class BufferedRequest(Request):
    """A parsed request head. `ClientConnection` sets `body` to the whole body.

    `length` is the stated length of the body in bytes, None for a chunked body. `arrived` is when the whole request
    was there, in seconds of the monotonic clock.
    """

    arrived = 0.0

    length: int | None
    body: Any
    path: str
    query: str

    def set_body_reader(self) -> None:
        super().set_body_reader()
        reader = self.body.reader
        self.length = reader.length if isinstance(reader, LengthReader) else None

    def parse_request_line(self, line_bytes: bytes) -> None:
        """Percent-encode bytes beyond ASCII, as PostgREST does: curl sends a target as typed."""
        method, space, rest = line_bytes.partition(b" ")
        super().parse_request_line(method + space + BEYOND_ASCII.sub(percent_encoded, rest))

    def parse_headers(self, data: bytes, from_trailer: bool = False) -> list[tuple[str, str]]:
        """Count all fields before parsing them. gunicorn would parse 100,000 fields first."""
        if data.count(b"\r\n") >= self.limit_request_fields:
            raise LimitRequestHeaders("limit request headers fields")
        parsed: list[tuple[str, str]] = super().parse_headers(data, from_trailer)
        return parsed

    def _apply_header_policy(
        self, name: str, value: str, scheme: list[bool], seen: set[object], *more: Any, **named: Any
    ) -> tuple[str, str] | None:
        """Drop an exact repetition of a single-valued field: postgrest-go sends each field several times.

        Different values of such a field stay an error."""
        if name in SINGLE_VALUED:
            if (name, value) in seen:
                return None
            seen.add((name, value))  # gunicorn itself keeps names in this set
        kept: tuple[str, str] | None = super()._apply_header_policy(name, value, scheme, seen, *more, **named)
        return kept


def percent_encoded(byte: re.Match[bytes]) -> bytes:
    return b"%%%02X" % byte[0][0]

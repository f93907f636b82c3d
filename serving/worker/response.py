"""Send head and body of a response in one write. gunicorn makes two, and each wakes the client."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

import gunicorn.util
from gunicorn.http.wsgi import Response

COPY_BYTES_MAX: Final = 65_536  # beyond it another write is cheaper than a copy
HEADERS_MAX: Final = 1_024  # some thirty constants, and one for each length and range


class SingleWriteResponse(Response):
    """gunicorn's response. Its head waits for the first piece of the body."""

    sock: Any
    upgrade: bool
    headers_sent: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = b""

    def process_headers(self, headers: list[tuple[str, str]]) -> None:
        for name, value in headers:
            fields, length, is_upgrade = check_header(name, value)
            self.headers.extend(fields)
            if length is not None:
                self.response_length = length
            self.upgrade = self.upgrade or is_upgrade

    def send_headers(self) -> None:
        if self.headers_sent:
            return
        lines = [f"{name}: {value}\r\n" for name, value in self.headers]
        self._head = "".join([*self.default_headers(), *lines, "\r\n"]).encode("latin-1")
        self.headers_sent = True

    def _emit_body(self, data: bytes) -> None:
        if self.chunked or len(data) > COPY_BYTES_MAX:
            self._send_head()
            super()._emit_body(data)
        else:
            head, self._head = self._head, b""
            gunicorn.util.write(self.sock, head + data)

    def close(self) -> None:
        self.send_headers()
        self._send_head()
        super().close()

    def _send_head(self) -> None:
        """Send the head, unless it has been sent."""
        if self._head:
            head, self._head = self._head, b""
            gunicorn.util.write(self.sock, head)


@lru_cache(maxsize=HEADERS_MAX)
def check_header(name: str, value: str) -> tuple[list[tuple[str, str]], int | None, bool]:
    """Return gunicorn's reading of a header: the fields to send, the length if stated, whether it upgrades.

    Raises what gunicorn raises for a malformed header.
    """
    alone = Response(None, None, None)
    alone.process_headers([(name, value)])
    return alone.headers, alone.response_length, alone.upgrade

"""Send head and body of a response in one write. gunicorn makes two, and each wakes the client."""

from __future__ import annotations

from typing import Any
from typing import Final

import gunicorn.util
from gunicorn.http.wsgi import Response

COPY_BYTES_MAX: Final = 65_536  # beyond it another write is cheaper than a copy


class SingleWriteResponse(Response):
    """gunicorn's response. Its head waits for the first piece of the body."""

    headers_sent: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._head = b""

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
        """Send the head unless it has been sent."""
        if self._head:
            head, self._head = self._head, b""
            gunicorn.util.write(self.sock, head)

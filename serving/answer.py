"""How does an answer leave? Head and body in one write, where gunicorn makes two: each is a call into the
system, and wakes the client."""

from __future__ import annotations

import time
from email.utils import formatdate
from functools import lru_cache
from typing import Any
from typing import Final

import gunicorn.util
from gunicorn.http.wsgi import Response

COPIED_BYTES_MAX: Final = 65_536  # beyond it another write is cheaper than a copy


class Held:
    """Stands in for a socket, and keeps what is sent to it."""

    def __init__(self) -> None:
        self.sent = b""

    def sendall(self, data: bytes) -> None:
        self.sent += data


class OnePiece(Response):  # type: ignore[misc]
    """gunicorn's answer, whose head waits for the first piece of the body."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held = Held()

    sock: Any

    def send_headers(self) -> None:
        wire, self.sock = self.sock, self._held
        try:
            super().send_headers()
        finally:
            self.sock = wire

    def _emit_body(self, data: bytes) -> None:
        if self.chunked or len(data) > COPIED_BYTES_MAX:
            self._let_go()
            super()._emit_body(data)
        else:
            head, self._held.sent = self._held.sent, b""
            gunicorn.util.write(self.sock, head + data)

    def write_file(self, respiter: Any) -> None:
        self.send_headers()
        self._let_go()
        super().write_file(respiter)

    def close(self) -> None:
        self.send_headers()
        self._let_go()
        super().close()

    def _let_go(self) -> None:
        """Send a head that is still held."""
        if self._held.sent:
            head, self._held.sent = self._held.sent, b""
            gunicorn.util.write(self.sock, head)


def http_date() -> str:
    """The moment as an answer's Date."""
    return date_of(int(time.time()))


@lru_cache(maxsize=1)
def date_of(second: int) -> str:
    """A Unix time as a Date; kept for its second.

    >>> date_of(0)
    'Thu, 01 Jan 1970 00:00:00 GMT'
    """
    return formatdate(second, usegmt=True)

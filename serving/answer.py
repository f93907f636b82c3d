"""How does an answer leave? Head and body in one write, where gunicorn makes two: each is a call into the
system, and wakes the client."""

from __future__ import annotations

import time
from dataclasses import dataclass
from email.utils import formatdate
from functools import lru_cache
from typing import Any
from typing import Final

import gunicorn.util
from gunicorn.http.wsgi import Response

COPIED_BYTES_MAX: Final = 65_536  # beyond it another write is cheaper than a copy
HEADERS_KEPT: Final = 1_024  # of answers: some thirty, and one each for lengths and ranges


class OnePiece(Response):  # type: ignore[misc]
    """gunicorn's answer, whose head waits for the first piece of the body."""

    sock: Any
    upgrade: bool
    headers_sent: bool

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._held = b""

    def process_headers(self, headers: list[tuple[str, str]]) -> None:
        for name, value in headers:
            checked = check_header(name, value)
            self.headers.extend(checked.kept)
            if checked.length is not None:
                self.response_length = checked.length
            self.upgrade = self.upgrade or checked.is_upgrade

    def send_headers(self) -> None:
        if self.headers_sent:
            return
        lines = [f"{name}: {value}\r\n" for name, value in self.headers]
        self._held = "".join([*self.default_headers(), *lines, "\r\n"]).encode("latin-1")
        self.headers_sent = True

    def _emit_body(self, data: bytes) -> None:
        if self.chunked or len(data) > COPIED_BYTES_MAX:
            self._let_go()
            super()._emit_body(data)
        else:
            head, self._held = self._held, b""
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
        if self._held:
            head, self._held = self._held, b""
            gunicorn.util.write(self.sock, head)


@dataclass(frozen=True, slots=True)
class Checked:
    """What one header of an answer comes to: whether it goes out, and what else it says."""

    kept: tuple[tuple[str, str], ...]
    length: int | None
    is_upgrade: bool


@lru_cache(maxsize=HEADERS_KEPT)
def check_header(name: str, value: str) -> Checked:
    """What gunicorn makes of a header, or what it raises; most are the same in answer after answer."""
    alone = Response(None, None, None)
    alone.process_headers([(name, value)])
    return Checked(tuple(alone.headers), alone.response_length, alone.upgrade)


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

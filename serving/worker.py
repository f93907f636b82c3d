"""How long may a client take, and what does it hear when what it sent is no HTTP?

gunicorn's threaded worker watches its main loop only: a client that sends half a request keeps a
thread for as long as it likes, and 64 of them keep them all. This one gives every connection a
deadline, lets idle ones wait without a thread, and answers in JSON where gunicorn would in HTML.
"""

from __future__ import annotations

import json
import select
import selectors
import socket
import time
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any
from typing import Final

import gunicorn.util
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.workers.gthread import TConn
from gunicorn.workers.gthread import ThreadWorker

from serving.gate import Gate

HEAD_SECONDS_MAX: Final = 10.0  # a head is one or two packets; ten seconds forgive three lost ones
REQUEST_SECONDS_MAX: Final = 60.0  # 5 MiB of CSV in, 32 MiB out, at some 5 Mbit/s
NEXT_MILLISECONDS_MAX: Final = (
    2  # a client that has what it waited for asks on at once, or in a while
)
LINGER_SECONDS_MAX: Final = 1.0  # for a client that is still sending to read its refusal

REQUEST_LINE_BYTES_MAX: Final = 65_535
HEADER_FIELDS_MAX: Final = 100
HEADER_BYTES_MAX: Final = 8_190

REFUSALS: Final = {
    400: ("08P01", "the request is not well-formed HTTP"),
    403: ("42501", "the request is forbidden"),
    414: ("54000", f"the request line is longer than {REQUEST_LINE_BYTES_MAX} bytes"),
    417: ("0A000", "the expectation is not supported"),
    431: (
        "54000",
        f"there are more than {HEADER_FIELDS_MAX} header fields, or one over {HEADER_BYTES_MAX} bytes",
    ),
    500: ("XX000", "internal error"),
    501: ("0A000", "the transfer coding is not supported"),
}
"""What gunicorn itself refuses: status -> code, message. The codes are PostgreSQL's, as everywhere."""

_CLOSED: Final = object()
"""Returned by `handle` for a connection that is closed already."""


class LastIfUnread(Request):
    """A request whose body broke off is the last of its connection, and its answer says so: where the
    next one would start is unknown."""

    def should_close(self) -> bool:
        return bool(self.body.failed or super().should_close())


class DeadlineWorker(ThreadWorker):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadlines: dict[TConn, float] = {}
        self._gate = Gate()

    def init_process(self) -> None:
        gunicorn.util.write_error = write_refusal
        RequestParser.mesg_class = LastIfUnread
        super().init_process()

    def enqueue_req(self, conn: TConn) -> None:
        """Give a connection a thread once it has said something; until then the poller has it."""
        if conn.initialized or conn.data_ready:
            super().enqueue_req(conn)
            return
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        readable = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, readable)

    def handle(self, conn: TConn) -> object:
        outcome: object = True
        try:
            while outcome is True:
                self._deadlines[conn] = time.monotonic() + HEAD_SECONDS_MAX
                outcome = super().handle(conn)
                if outcome is not True or not self._asks_on(conn):
                    break
        finally:
            self._deadlines.pop(conn, None)
        if outcome is not False:
            return outcome
        # Waiting for the peer to close belongs in this thread. Left to `finish_request` it happens
        # in the main loop, which meanwhile accepts nobody and, over `timeout`, counts as dead.
        gunicorn.util.close_graceful(conn.sock, timeout=LINGER_SECONDS_MAX)
        return _CLOSED

    def _asks_on(self, conn: TConn) -> bool:
        """Whether the client's next request is there already. The way of a connection to the main loop, its
        poller, and back to a thread costs as much as a short request; it is not taken while nobody waits
        for a thread."""
        if not self.alive or self.tpool._work_queue.qsize():
            return False
        poller = select.poll()
        poller.register(conn.sock, select.POLLIN)
        return bool(poller.poll(NEXT_MILLISECONDS_MAX))

    def handle_request(self, req: Request, conn: TConn) -> bool:
        self._deadlines[conn] = time.monotonic() + REQUEST_SECONDS_MAX
        with self._gate.passing():
            return bool(super().handle_request(req, conn))

    def finish_request(self, conn: TConn, fs: Future[object]) -> None:
        if not fs.cancelled() and fs.exception() is None and fs.result() is _CLOSED:
            self.nr_conns -= 1
        else:
            super().finish_request(conn, fs)

    def murder_pending(self) -> None:
        """Shut the sockets that are late; the main loop passes here every second."""
        super().murder_pending()
        now = time.monotonic()
        late = [conn for conn, deadline in self._deadlines.copy().items() if deadline < now]
        for conn in late:
            self._deadlines.pop(conn, None)
            with suppress(OSError):  # closed in the meantime
                conn.sock.shutdown(socket.SHUT_RDWR)
        if late:
            self.log.info("closed %d connections that were too slow", len(late))


def write_refusal(sock: socket.socket, status_int: int, reason: str, mesg: str) -> None:
    """Take the place of `gunicorn.util.write_error`, which quotes the request in a page of HTML."""
    gunicorn.util.write_nonblock(sock, refusal(status_int))


def refusal(status_code: int) -> bytes:
    """Compose the whole answer to a request that never reached the application."""
    status = HTTPStatus(status_code)
    code, message = REFUSALS.get(status, REFUSALS[400])
    body = json.dumps({"code": code, "message": message, "details": None, "hint": None}).encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\n"
        "Connection: close\r\n"
        "Content-Type: application/json; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Cache-Control: private, no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'\r\n\r\n"
    )
    return head.encode() + body

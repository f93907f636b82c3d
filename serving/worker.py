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
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any
from typing import Final

import gunicorn.http.wsgi
import gunicorn.util
from gunicorn.http.message import Request
from gunicorn.http.parser import RequestParser
from gunicorn.workers.gthread import TConn
from gunicorn.workers.gthread import ThreadWorker

from serving.answer import OnePiece
from serving.answer import http_date
from serving.heads import Heads
from serving.lead import Crew
from serving.stop import database_of

HEAD_SECONDS_MAX: Final = 10.0  # a head is one or two packets; ten seconds forgive three lost ones
REQUEST_SECONDS_MAX: Final = 60.0  # 5 MiB of CSV in, 32 MiB out, at some 5 Mbit/s
ENDED: Final = getattr(select, "POLLRDHUP", select.POLLHUP)  # the first is Linux's alone
PEEKED_BYTES_MAX: Final = 16_384  # of an unfinished head; well below what the system keeps unread
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


class Incoming(Request):
    """A request. One whose body broke off is the last of its connection, and its answer says so: where the
    next one would start is unknown."""

    def _peer_is_trusted_proxy(self) -> bool:
        """Nobody's headers move the application (gunicorn.conf.py): no address need be looked at."""
        return False

    def should_close(self) -> bool:
        return bool(self.body.failed or super().should_close())


class Settled:
    """gunicorn's settings, each looked up once: gunicorn looks up thirty a request, which takes as long as its
    parsing of three headers."""

    def __init__(self, settings: Any) -> None:
        self._settings = settings

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._settings, name)
        self.__dict__[name] = value
        return value


class DeadlineWorker(ThreadWorker):
    cfg: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._deadlines: dict[TConn, float] = {}
        self._heads = Heads(self._has_asked, self._join, self._start)
        self._crew = Crew(self._has_asked, self._hesitates, self._serve, self._dismiss, self._start)

    def init_process(self) -> None:
        gunicorn.util.write_error = write_refusal
        gunicorn.util.http_date = http_date
        gunicorn.http.wsgi.Response = OnePiece
        RequestParser.mesg_class = Incoming
        self.cfg = Settled(self.cfg)
        super().init_process()

    def run(self) -> None:
        database = database_of(self.wsgi)
        if database is not None:
            self._crew.pause = database.serve_in_runs(self._crew.is_led)
        super().run()

    def _start(self, task: Callable[[], None]) -> None:
        self.tpool.submit(task)

    def enqueue_req(self, conn: TConn) -> None:
        """Have a connection served once it has said something; until then the poller has it."""
        if conn.initialized or conn.data_ready:
            self._join(conn)
            return
        conn.sock.setblocking(False)
        conn.timeout = time.monotonic() + self.cfg.keepalive
        self.pending_conns.append(conn)
        readable = partial(self.on_pending_socket_readable, conn)
        self.poller.register(conn.sock, selectors.EVENT_READ, readable)

    def _join(self, conn: TConn) -> None:
        self._crew.join(conn, conn.sock.fileno())

    def _hesitates(self, conn: TConn) -> None:
        """Give a client that has sent half a head the rest of its time for it."""
        self._deadlines[conn] = time.monotonic() + HEAD_SECONDS_MAX
        self._heads.wait_for(conn)

    def _has_asked(self, conn: TConn) -> bool:
        """Whether there is a whole head to be parsed, or what the parser refuses at sight, or an end."""
        if self.cfg.is_ssl:
            return True
        try:
            said: bytes = conn.sock.recv(PEEKED_BYTES_MAX, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return False
        except OSError:
            return True
        if b"\r\n\r\n" in said or len(said) in (0, PEEKED_BYTES_MAX):
            return True
        return said.count(b"\n") != said.count(b"\r\n") or has_ended(conn.sock)

    def _serve(self, conn: TConn) -> bool:
        """Answer a connection's request, and those that were sent along with it."""
        outcome: object = False
        try:
            while True:
                self._deadlines[conn] = time.monotonic() + HEAD_SECONDS_MAX
                outcome = self.handle(conn)
                if outcome is not True or not conn.parser.unreader.buf.getvalue():
                    break
        finally:
            self._deadlines.pop(conn, None)
        return outcome is True

    def handle_request(self, req: Request, conn: TConn) -> bool:
        self._deadlines[conn] = time.monotonic() + REQUEST_SECONDS_MAX
        return bool(super().handle_request(req, conn))

    def _dismiss(self, conn: TConn, may_ask: bool) -> None:
        """Give a connection back to the main loop, which counts them, or close it."""
        if not may_ask:
            # Waiting for the peer to close belongs in this thread. Left to `finish_request` it happens
            # in the main loop, which meanwhile accepts nobody and, over `timeout`, counts as dead.
            gunicorn.util.close_graceful(conn.sock, timeout=LINGER_SECONDS_MAX)
        outcome: Future[object] = Future()
        outcome.set_result(True if may_ask else _CLOSED)
        self.method_queue.defer(self.finish_request, conn, outcome)

    def finish_request(self, conn: TConn, fs: Future[object]) -> None:
        if fs.result() is _CLOSED:
            self.nr_conns -= 1
        elif not conn.initialized:  # it was not served once
            self.enqueue_req(conn)
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


def has_ended(sock: socket.socket) -> bool:
    """Whether nothing more will come, after what may still be unread."""
    poller = select.poll()
    poller.register(sock, ENDED)
    return bool(poller.poll(0))


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

"""How long may a client take? gunicorn's threaded worker, with deadlines, and with a crew to serve.

It watches its main loop only: a client that sends half a request keeps a thread for as long as it
likes, and 64 of them keep them all. This one gives every connection a deadline, and none a thread.
The main loop accepts, and holds whoever says nothing; who asks is the crew's (`serving/lead.py`).
"""

from __future__ import annotations

import select
import selectors
import socket
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any
from typing import Final

import gunicorn.http
import gunicorn.http.message
import gunicorn.http.wsgi
import gunicorn.util
from gunicorn.workers.base import Worker
from gunicorn.workers.gthread import PollableMethodQueue
from gunicorn.workers.gthread import TConn
from gunicorn.workers.gthread import ThreadWorker

from serving.answer import OnePiece
from serving.answer import http_date
from serving.familiar import Reader
from serving.familiar import create
from serving.heads import Heads
from serving.incoming import Asked
from serving.incoming import Incoming
from serving.incoming import Settled
from serving.incoming import look
from serving.incoming import split_target
from serving.lead import Crew
from serving.logging import run_logged
from serving.refusal import write_refusal
from serving.shutdown import let_signals_through

HEAD_SECONDS_MAX: Final = 10.0  # a head is one or two packets; ten seconds forgive three lost ones
REQUEST_SECONDS_MAX: Final = 60.0  # 5 MiB of CSV in, 32 MiB out, at some 5 Mbit/s
LINGER_SECONDS_MAX: Final = 1.0  # for a client that is still sending to read its refusal
LINGER_BYTES_MAX: Final = (
    64 << 20
)  # of what it has on its way: cut off sooner, many never read what they were told

_CLOSED: Final = object()
"""Returned by `handle` for a connection that is closed already."""


class LastingQueue(PollableMethodQueue):
    """What threads tell the main loop; its pipe stays open for as long as the process lives."""

    def close(self) -> None:
        """A thread that outlasts the main loop wakes it yet: with a byte that would go to whatever had the
        pipe's number by then, the database's file maybe."""


class DeadlineWorker(ThreadWorker):
    cfg: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.method_queue = LastingQueue()
        self._deadlines: dict[TConn, float] = {}
        self._heads = Heads(self._look, self._join, self._start)
        self._crews: list[Crew[TConn]] = []
        self._ends_at_once = False

    def init_process(self) -> None:
        gunicorn.util.write_error = write_refusal
        gunicorn.util.http_date = http_date
        gunicorn.http.wsgi.Response = OnePiece
        gunicorn.http.message.split_request_uri = split_target
        gunicorn.http.wsgi.create = create
        gunicorn.http.RequestParser = Reader
        self.cfg = Settled(self.cfg)
        super().init_process()

    def init_signals(self) -> None:
        super().init_signals()
        let_signals_through()

    def handle_quit(self, sig: int, frame: object) -> None:
        """INT and QUIT: end at once. Ctrl-C comes twice, from the terminal and from the arbiter, and in the middle of
        anything: gunicorn's own has the threads' pool locked here, and would wait for whom it has interrupted. What is
        idle of them ends with the interpreter."""
        if not self._ends_at_once:
            self._ends_at_once = True
            Worker.handle_quit(self, sig, frame)

    def run(self) -> None:
        self._crews = [
            Crew(self._look, self._hesitates, self._serve, self._dismiss, self._start)
            for _ in range(1)
        ]
        super().run()

    def is_parent_alive(self) -> bool:
        """Whether the arbiter is there, asked every second. Without it nobody else closes the door: whoever came in the
        time that the requests under way may take would wait for nothing, and then be sent away."""
        if super().is_parent_alive():
            return True
        self.alive = False  # from now on an answer is a connection's last one
        self.set_accept_enabled(False)
        return False

    def set_accept_enabled(self, enabled: bool) -> None:
        """Who stops takes in who has come to its door, and closes it: whoever comes later is refused at once, or goes
        to another worker. Left open until all are answered, it would let them wait, and then send them away."""
        super().set_accept_enabled(enabled)
        if enabled or self.alive:
            return
        for listener in self.sockets:
            with suppress(OSError):  # as where no descriptor is left
                while listener.fileno() >= 0 and has_come(listener):
                    self.accept(listener)
            listener.close()
        self.sockets.clear()  # this is called again as the worker goes on, and of a closed one nothing can be asked

    def _start(self, task: Callable[[], None]) -> None:
        self.tpool.submit(run_logged, task)

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
        descriptor = conn.sock.fileno()
        self._crews[descriptor % len(self._crews)].join(conn, descriptor)

    def _look(self, conn: TConn) -> Asked:
        return Asked.SOMETHING if self.cfg.is_ssl else look(conn.sock, held(conn))

    def _hesitates(self, conn: TConn) -> None:
        """Give a client that has sent half a head the rest of its time for it."""
        self._deadlines[conn] = time.monotonic() + HEAD_SECONDS_MAX
        self._heads.wait_for(conn)

    def _serve(self, conn: TConn) -> bool:
        """Answer a connection's request, and those that were sent whole along with it."""
        outcome: object = False
        try:
            while True:
                self._deadlines[conn] = time.monotonic() + HEAD_SECONDS_MAX
                outcome = self.handle(conn)
                if outcome is not True or not held(conn) or not self._look(conn):
                    break
        finally:
            self._deadlines.pop(conn, None)
        return outcome is True

    def handle_request(self, req: Incoming, conn: TConn) -> bool:
        self._deadlines[conn] = time.monotonic() + REQUEST_SECONDS_MAX
        return bool(super().handle_request(req, conn))

    def _dismiss(self, conn: TConn, may_ask: bool) -> None:
        """Give a connection back to the main loop, which counts them, or close it."""
        if not may_ask:
            # Waiting for the peer to close belongs in this thread. Left to `finish_request` it happens
            # in the main loop, which meanwhile accepts nobody and, over `timeout`, counts as dead.
            gunicorn.util.close_graceful(conn.sock, LINGER_SECONDS_MAX, LINGER_BYTES_MAX)
        outcome: Future[object] = Future()
        outcome.set_result(True if may_ask else _CLOSED)
        self.method_queue.defer(self.finish_request, conn, outcome)

    def finish_request(self, conn: TConn, fs: Future[object]) -> None:
        if fs.result() is _CLOSED:
            self.nr_conns -= 1
        elif not conn.initialized:  # it was not served once
            self.enqueue_req(conn)
        elif held(conn) and not self._look(conn):
            self._hesitates(conn)
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


def has_come(listener: socket.socket) -> bool:
    """Whether a connection waits to be accepted."""
    poller = select.poll()
    poller.register(listener, select.POLLIN)
    return bool(poller.poll(0))


def held(conn: TConn) -> bytes:
    """What was read from a client beyond the requests that it was answered."""
    if not conn.initialized:
        return b""
    read: bytes = conn.parser.unreader.buf.getvalue()
    return read

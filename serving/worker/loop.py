"""gunicorn's threaded worker, whose threads get whole requests only.

The main loop accepts connections and receives heads and bodies without blocking. A slow or silent client
holds a buffer, not a thread. A thread runs the application and sends the response.
"""

from __future__ import annotations

import errno
import selectors
import socket
import time
from contextlib import suppress
from functools import partial
from itertools import takewhile
from typing import Any

import gunicorn.util

from serving.logging import run_logged
from serving.shutdown import StoppableWorker
from serving.worker import connection
from serving.worker.connection import BufferedRequest, ClientConnection, UploadRules

SWEEP_SECONDS = 0.25
GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN, errno.EBADF)
NOT_ACCEPTED = (errno.EAGAIN, errno.EWOULDBLOCK, errno.ECONNABORTED)

Queue = dict[ClientConnection, None]


class BufferingWorker(StoppableWorker):
    """Each connection is in one queue: `idle` between requests, `receiving`, `serving` by a thread, or
    `lingering` until a refused client closes. Only threads move connections from `serving` to `idle`."""

    cfg: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.idle: Queue = {}
        self.receiving: Queue = {}
        self.serving: Queue = {}
        self.lingering: Queue = {}
        self._notified = 0.0
        self.buffered = [0, 0]  # bytes of requests that arrived in pieces, in memory and on disk
        self.uploads: UploadRules | None = None
        self._next_sweep = 0.0

    def load_wsgi(self) -> None:
        super().load_wsgi()
        self.uploads = getattr(self.wsgi, "extensions", {}).get("walkthrough.uploads")

    # The main loop

    def notify(self) -> None:
        if time.monotonic() > self._notified + 1:
            self._notified = time.monotonic()
            super().notify()

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        is_sweep_due = self.receiving or self.lingering or not self.alive
        super().wait_for_and_dispatch_events(SWEEP_SECONDS if is_sweep_due else timeout)

    def accept(self, listener: Any) -> None:
        try:
            sock, client = listener.accept()
        except OSError as error:
            if error.errno in NOT_ACCEPTED:
                return
            raise
        server = listener.getsockname()
        if isinstance(server, str):  # a Unix socket
            client, server = ("unix:", 0), ("localhost", 80)
        sock.setblocking(True)  # for the threads; the main loop passes MSG_DONTWAIT
        self.nr_conns += 1
        conn = ClientConnection(self.cfg, sock, client, server, self.uploads)
        self._move(conn, self.receiving, time.monotonic() + connection.HEAD_SECONDS_MAX)
        self._watch(conn)

    def _watch(self, conn: ClientConnection) -> None:
        if conn.is_watched:
            return
        conn.is_watched = True
        with suppress(KeyError):  # the other thread was first
            self.poller.register(conn.sock, selectors.EVENT_READ, partial(self._on_readable, conn))

    def _move(self, conn: ClientConnection, queue: Queue, deadline: float) -> None:
        conn.queue.pop(conn, None)
        conn.deadline, conn.queue = deadline, queue
        queue[conn] = None

    def _on_readable(self, conn: ClientConnection, sock: socket.socket) -> None:
        if conn.queue is self.serving:
            # Bytes arrived while a thread serves. In this order: the thread may finish, and watch, at any point.
            self.poller.unregister(sock)
            conn.is_watched = False
            if conn.queue is not self.serving:
                self._watch(conn)
            return
        try:
            data = sock.recv(connection.RECEIVE_BYTES_MAX, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._refuse(conn, 400) if conn.request is not None else self._close(conn)
        elif conn.queue is not self.lingering:
            self._receive(conn, data)

    def _receive(self, conn: ClientConnection, data: bytes) -> None:
        """Add received bytes to a request. Hand it to a thread once it is whole."""
        try:
            request = conn.receive(data)
        except connection.Refused as refused:
            self._refuse(conn, refused.status)
        except Exception as error:  # noqa: BLE001  # gunicorn's parser has many
            self.handle_error(None, conn.sock, conn.client, error)
            self._linger(conn)
        else:
            if request is None:
                self._wait_for_more(conn)
                return
            conn.began = conn.body_began = 0.0
            request.arrived = now = time.monotonic()
            self._move(conn, self.serving, now + connection.REQUEST_SECONDS_MAX)
            self.tpool.submit(run_logged, partial(self._serve, conn, request))

    def _wait_for_more(self, conn: ClientConnection) -> None:
        now = time.monotonic()
        self._move(conn, self.receiving, conn.due(now))
        self._count(conn, conn.held)
        for kind, bytes_max in enumerate((connection.BUFFERED_BYTES_MAX, connection.UPLOADED_BYTES_MAX)):
            if self.buffered[kind] > bytes_max:
                # Slow requests hold many bytes for long; a fast upload is soon whole.
                held = sorted(self.receiving, key=lambda each: each.counted[kind] * (now - each.began))
                while held and self.buffered[kind] > bytes_max * 0.9:
                    self._refuse(held.pop(), 503)

    def _count(self, conn: ClientConnection, held: tuple[int, int] = (0, 0)) -> None:
        for kind, size in enumerate(held):
            self.buffered[kind] += size - conn.counted[kind]
        conn.counted = held

    def _refuse(self, conn: ClientConnection, status: int) -> None:
        path = conn.request.path if conn.request is not None else ""
        self.log.info("refused a request with status %d", status)
        with suppress(OSError):
            connection.send_now(conn.sock, connection.compose(status, path))
        self._linger(conn)

    def _linger(self, conn: ClientConnection) -> None:
        """Close soon. A client that is still sending would lose the response by a close now (RFC 9112, 9.6)."""
        was_served = conn.queue is self.serving
        conn.clear()
        self._count(conn)
        self._move(conn, self.lingering, time.monotonic() + connection.LINGER_SECONDS_MAX)
        try:
            conn.sock.shutdown(socket.SHUT_WR)
            if was_served:
                self._watch(conn)
        except (OSError, ValueError):
            self._close(conn)

    def _close(self, conn: ClientConnection) -> None:
        conn.queue.pop(conn, None)
        conn.clear()
        self._count(conn)
        with suppress(KeyError, ValueError):
            self.poller.unregister(conn.sock)
        gunicorn.util.close(conn.sock)
        self.nr_conns -= 1

    def murder_pending(self) -> None:
        """Enforce the deadlines. The main loop calls this after each wait."""
        if self.nr_conns >= self.worker_connections and self.idle:
            self._close(list(self.idle)[0])  # noqa: RUF015  # threads add to it meanwhile
        now = time.monotonic()
        if now < self._next_sweep:
            return
        self._next_sweep = now + SWEEP_SECONDS
        if not self.alive:
            for conn in (*list(self.idle), *self.receiving):
                if not conn.pending and conn.request is None:
                    conn.deadline = min(conn.deadline, now + connection.STOP_KEEPALIVE_SECONDS)
        others = [*self.receiving, *self.lingering, *list(self.serving)]
        late = [conn for conn in others if conn.deadline <= now]
        late += takewhile(lambda conn: conn.deadline <= now, list(self.idle))
        for conn in late:
            if conn.queue is self.serving:
                with suppress(OSError):
                    conn.sock.shutdown(socket.SHUT_RDWR)  # the thread gets an error
            elif conn.queue is self.receiving and (conn.pending or conn.request is not None):
                self._refuse(conn, 408)
            else:
                self._close(conn)

    def murder_keepalived(self, force: bool = False) -> None:
        """At the end of a stop: close what is left."""
        for conn in (*list(self.idle), *self.receiving, *self.lingering) if force else ():
            self._close(conn)

    # The threads

    def _serve(self, conn: ClientConnection, request: BufferedRequest) -> None:
        is_kept_alive = False
        try:
            is_kept_alive = self._respond(conn, request)
        finally:
            request.body.close()
            if not is_kept_alive:
                self.method_queue.defer(self._linger, conn)
            elif conn.pending or any(conn.counted) or not self.alive:
                self.method_queue.defer(self._resume, conn)
            else:
                self._rest(conn, self.cfg.keepalive)

    def _respond(self, conn: ClientConnection, request: BufferedRequest) -> bool:
        """Run the application and send its response; return whether the connection stays open."""
        try:
            return bool(self.handle_request(request, conn))
        except StopIteration:  # the response broke off
            pass
        except OSError as error:
            if error.errno not in GONE:
                self.log.exception("Socket error processing request.")
        except Exception as error:  # noqa: BLE001  # whatever the application raises
            self.handle_error(request, conn.sock, conn.client, error)
        return False

    def _rest(self, conn: ClientConnection, seconds: float) -> None:
        self._move(conn, self.idle, time.monotonic() + seconds)
        try:
            self._watch(conn)
        except (OSError, ValueError, KeyError):  # the main loop has ended
            gunicorn.util.close(conn.sock)

    def _resume(self, conn: ClientConnection) -> None:
        """In the main loop: continue with the bytes that arrived after a request."""
        self._count(conn)
        data, conn.pending = bytes(conn.pending), bytearray()
        self._rest(conn, self.cfg.keepalive if self.alive else connection.STOP_KEEPALIVE_SECONDS)
        if data:
            self._receive(conn, data)

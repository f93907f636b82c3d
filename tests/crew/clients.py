"""Clients on socket pairs, and a crew that answers each five bytes with as many."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable

from models.joint import joint
from serving.heads import Heads
from serving.incoming import Asked
from serving.lead import Crew
from tests.waiting import until

FOREVER = 30.0  # until a test that hangs is a test that fails
BREAK = b"break"
CLOSE = b"close"
SLOW = b"slow!"
WAIT = b"wait!"  # slow, and says so beforehand
SMALL = (b"small", b"Small", b"sMall")  # writes, served together
HALT = b"halt!"  # such a one, that is slow before it comes to write
PART = b"part!"  # such a one, whose client may not ask on


class Line:
    """Clients and a crew that answers each five bytes with as many: the server's part of each is a socket."""

    def __init__(self) -> None:
        self.crew = Crew(self.look, self.hesitates, self.serve, self.dismiss, self.start)
        self.crew.serves_together = True
        self.heads = Heads(self.look, self.join, self.start)
        self.inside = self.most = self.served = 0
        self.counting = threading.Lock()
        self.go_on = threading.Event()
        self.threads = 0
        self.is_stopping = False
        self.given_back: list[socket.socket] = []
        self.closed: list[socket.socket] = []
        self.happened: list[bytes] = []
        self.ends: dict[socket.socket, socket.socket] = {}

    def connect(self) -> socket.socket:
        """The client's end of a new connection, whose first request is what the main loop waits for."""
        client, server = socket.socketpair()
        client.settimeout(FOREVER)
        self.ends[client] = server
        return client

    def server_of(self, client: socket.socket) -> socket.socket:
        return self.ends[client]

    def start(self, task: Callable[[], None]) -> None:
        if self.is_stopping:
            raise RuntimeError("cannot schedule new futures after shutdown")
        self.threads += 1

        def run() -> None:
            with contextlib.suppress(SystemExit):
                task()

        threading.Thread(target=run, daemon=True).start()

    def join(self, server: socket.socket) -> None:
        self.crew.join(server, server.fileno())

    def look(self, server: socket.socket) -> Asked:
        said = server.recv(5, socket.MSG_PEEK)
        if said in (*SMALL, HALT, PART):
            return Asked.SMALL_WRITE
        return Asked.SOMETHING if len(said) in (0, 5) else Asked.HALF_A_HEAD

    def hesitates(self, server: socket.socket) -> None:
        self.heads.wait_for(server)

    def serve(self, server: socket.socket) -> bool:
        with self.counting:
            self.inside += 1
            self.most = max(self.most, self.inside)
        try:
            asked = server.recv(5)
            if asked == BREAK:
                raise SystemExit
            if asked == WAIT:
                self.crew.make_way()
            if asked in (SLOW, WAIT, HALT):
                self.go_on.wait(FOREVER)
            self.happened.append(asked)
            if (together := joint()) is not None:
                together.meet()
                self.happened.append(b"then " + asked)
            if asked in (b"", CLOSE, PART):
                return False
            server.sendall(asked)
            return True
        finally:
            with self.counting:
                self.inside -= 1
                self.served += 1

    def dismiss(self, server: socket.socket, may_ask: bool) -> None:
        self.happened.append(b"given back" if may_ask else b"parted with")
        (self.given_back if may_ask else self.closed).append(server)

    def first(self, client: socket.socket, words: bytes = b"hello") -> None:
        """Ask as the first thing, or after a while: the main loop hears it."""
        client.sendall(words)
        self.join(self.ends[client])

    def is_at_rest(self) -> bool:
        return self.crew.lead is None and not self.crew.has_deputy


def ask_often(line: Line, client: socket.socket, times: int) -> None:
    line.first(client)
    assert client.recv(5) == b"hello"
    for _ in range(times):
        ask_again(line, client)


def ask_again(line: Line, client: socket.socket) -> None:
    """Ask on, or as the first thing, if nobody waited any more."""
    client.sendall(b"again")
    while not (answer := peeked(client)):
        if line.server_of(client) in line.given_back:
            line.given_back.remove(line.server_of(client))
            line.join(line.server_of(client))
    assert answer == b"again"
    client.recv(5)


def peeked(client: socket.socket) -> bytes:
    client.settimeout(0.005)
    try:
        return client.recv(5, socket.MSG_PEEK)
    except TimeoutError:
        return b""
    finally:
        client.settimeout(FOREVER)


def seated(line: Line, count: int) -> list[socket.socket]:
    """Clients whom one thread serves, each having asked once."""
    clients = [line.connect() for _ in range(count)]
    for client in clients:
        line.first(client)
        assert client.recv(5) == b"hello"
    until(lambda: line.served == count)
    return clients

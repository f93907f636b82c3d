"""Who serves in a process: one thread at a time, while nothing takes long; and nobody is forgotten."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from collections.abc import Iterator

import pytest

from models.joint import joint
from serving import heads
from serving import lead
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
            if (together := joint()) is not None:
                self.happened.append(asked)
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


@pytest.fixture
def line() -> Iterator[Line]:
    made = Line()
    yield made
    made.go_on.set()
    for client in made.ends:
        client.close()
    until(made.is_at_rest)
    until(lambda: not made.heads.is_watched)
    for server in made.ends.values():
        server.close()


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


def test_requests_that_are_quick_are_served_one_at_a_time(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead, "PATIENCE_SECONDS", FOREVER)
    clients = [line.connect() for _ in range(8)]
    threads = [
        threading.Thread(target=ask_often, args=(line, client, 50), daemon=True)
        for client in clients
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(FOREVER)

    until(lambda: line.served == 8 * 51)
    assert line.most == 1


def test_nobody_waits_behind_who_is_slow(line: Line) -> None:
    slow = [line.connect() for _ in range(5)]
    for client in slow:
        line.first(client, SLOW)
    until(lambda: line.inside == 5)

    quick = line.connect()
    line.first(quick)
    assert quick.recv(5) == b"hello"

    line.go_on.set()
    assert [client.recv(5) for client in slow] == [SLOW] * 5
    until(lambda: len(line.given_back) == 6)
    until(line.is_at_rest)


def seated(line: Line, count: int) -> list[socket.socket]:
    """Clients whom one thread serves, each having asked once."""
    clients = [line.connect() for _ in range(count)]
    for client in clients:
        line.first(client)
        assert client.recv(5) == b"hello"
    until(lambda: line.served == count)
    return clients


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is overtaken, and nobody gives up waiting for requests."""
    monkeypatch.setattr(lead, "PATIENCE_SECONDS", FOREVER)
    monkeypatch.setattr(lead, "NEXT_SECONDS_MAX", 1.5)


@pytest.mark.usefixtures("patient")
def test_who_says_that_it_will_wait_has_another_lead_at_once(line: Line) -> None:
    waiting, quick = seated(line, 2)
    waiting.sendall(WAIT)
    until(lambda: line.inside == 1)
    quick.sendall(b"again")
    assert quick.recv(5) == b"again"

    line.go_on.set()
    assert waiting.recv(5) == WAIT
    waiting.sendall(b"again")
    assert waiting.recv(5) == b"again"


@pytest.mark.usefixtures("patient")
def test_many_that_wait_are_each_served(line: Line) -> None:
    clients = seated(line, 6)
    for client in clients:
        client.sendall(WAIT)
    until(lambda: line.inside == 6)
    line.go_on.set()

    assert [client.recv(5) for client in clients] == [WAIT] * 6
    until(lambda: len(line.given_back) == 6)


@pytest.mark.usefixtures("patient")
def test_who_makes_way_keeps_its_client_though_it_has_asked_on(line: Line) -> None:
    """Two threads that serve one connection would answer its requests in any order."""
    waiting, _ = seated(line, 2)
    start = line.crew.start

    def start_and_let_it_look(task: Callable[[], None]) -> None:
        start(task)
        time.sleep(0.1)

    line.crew.start = start_and_let_it_look
    waiting.sendall(WAIT + b"again")
    until(lambda: line.inside > 0)
    time.sleep(0.2)
    assert line.inside == 1

    line.go_on.set()
    assert waiting.recv(5) == WAIT
    assert waiting.recv(5) == b"again"


@pytest.mark.usefixtures("patient")
def test_who_is_alone_makes_way_for_nobody(line: Line) -> None:
    line.go_on.set()
    (client,) = seated(line, 1)
    before = line.threads
    client.sendall(WAIT)

    assert client.recv(5) == WAIT
    assert line.threads == before


@pytest.mark.usefixtures("patient")
def test_who_makes_way_while_the_server_stops_is_served(line: Line) -> None:
    line.go_on.set()
    client, _ = seated(line, 2)
    line.is_stopping = True
    client.sendall(WAIT)

    assert client.recv(5) == WAIT
    client.sendall(b"again")
    assert client.recv(5) == b"again"
    line.is_stopping = False


def test_only_who_leads_makes_way(line: Line) -> None:
    line.crew.make_way()

    assert line.is_at_rest()
    assert line.threads == 0


def test_who_says_nothing_more_is_given_back_and_everybody_rests(line: Line) -> None:
    clients = [line.connect() for _ in range(4)]
    for client in clients:
        line.first(client)
        assert client.recv(5) == b"hello"

    until(lambda: len(line.given_back) == 4)
    until(line.is_at_rest)
    assert not line.crew.clients.get_map()
    assert sorted(line.given_back, key=id) == sorted((line.server_of(c) for c in clients), key=id)


def test_who_was_given_back_is_served_again(line: Line) -> None:
    client = line.connect()
    line.first(client)
    client.recv(5)
    until(lambda: line.given_back)

    line.first(client, b"later")
    assert client.recv(5) == b"later"


def test_who_is_silent_while_others_ask_is_given_back(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead, "SILENT_SECONDS_MAX", 0.05)
    monkeypatch.setattr(lead, "NEXT_SECONDS_MAX", FOREVER)  # else everybody may be, for a moment
    silent, loud = line.connect(), line.connect()
    line.first(silent)
    silent.recv(5)
    line.first(loud)
    loud.recv(5)
    give_up = time.monotonic() + FOREVER
    while line.server_of(silent) not in line.given_back and time.monotonic() < give_up:
        loud.sendall(b"again")
        assert loud.recv(5) == b"again"

    assert line.given_back == [line.server_of(silent)]
    monkeypatch.undo()
    loud.close()


@pytest.mark.parametrize("how", ["it closes", "it may not ask on"])
def test_a_connection_that_ends_is_let_go_once(line: Line, how: str) -> None:
    client = line.connect()
    line.first(client)
    client.recv(5)
    until(lambda: line.given_back)
    line.given_back.clear()
    if how == "it closes":
        client.shutdown(socket.SHUT_WR)
    else:
        client.sendall(CLOSE)
    line.join(line.server_of(client))

    until(lambda: line.closed)
    until(line.is_at_rest)
    assert (line.closed, line.given_back) == ([line.server_of(client)], [])


def test_one_that_comes_as_the_leader_leaves_is_not_given_back_unserved(
    line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one moment in which a connection could be lost: nobody has asked, and then somebody does."""
    client, late = line.connect(), line.connect()
    looked = line.crew.clients.select
    came = threading.Event()

    def select(timeout: float) -> list:
        ready = looked(timeout)
        if not ready and not came.is_set():
            came.set()
            line.first(late)
        return ready

    monkeypatch.setattr(line.crew.clients, "select", select)
    line.first(client)
    client.recv(5)

    assert late.recv(5) == b"hello"
    assert came.is_set()


def test_it_says_when_it_rests(line: Line) -> None:
    """After the last request it says so with nobody leading, so that nothing is kept for who comes next."""
    said: list[tuple[bool, bool]] = []
    line.crew.pause = lambda at_rest: said.append((at_rest, line.crew.is_led()))
    client = line.connect()
    line.first(client)
    client.recv(5)
    until(lambda: line.given_back)
    until(line.is_at_rest)

    assert (False, True) in said
    assert (True, True) in said
    assert said[-1] == (True, False)


def test_it_rests_when_who_leads_is_overtaken(line: Line) -> None:
    said: list[bool] = []
    slow, other = line.connect(), line.connect()
    line.crew.pause = said.append
    line.first(slow, SLOW)
    until(lambda: line.inside == 1)
    said.clear()
    line.first(other)
    assert other.recv(5) == b"hello"

    assert said[0]
    line.go_on.set()
    assert slow.recv(5) == SLOW


def test_a_thread_that_ends_badly_leaves_nobody_waiting(line: Line) -> None:
    broken, other = line.connect(), line.connect()
    line.first(broken, BREAK)
    until(lambda: line.closed == [line.server_of(broken)])
    line.first(other)

    assert other.recv(5) == b"hello"


def test_a_descriptor_that_was_used_before_is_another_connection(line: Line) -> None:
    """gunicorn closes some sockets by itself, while they are served."""
    client = line.connect()
    descriptor = line.server_of(client).fileno()
    line.crew.take_seat(lead.Seat("gone", descriptor))
    line.first(client)

    assert client.recv(5) == b"hello"


def test_half_a_head_holds_no_thread_of_those_that_serve(line: Line) -> None:
    dripping = [line.connect() for _ in range(20)]
    for client in dripping:
        line.first(client, b"hel")
    quick = line.connect()
    line.first(quick)
    assert quick.recv(5) == b"hello"
    until(lambda: len(line.heads.waiting) == 20)
    until(lambda: line.served == 1)

    for client in dripping:
        client.sendall(b"lo")
    assert [client.recv(5) for client in dripping] == [b"hello"] * 20
    until(lambda: not line.heads.is_watched)


def test_long_heads_are_looked_at_less_often_once_they_are_late(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slept: list[float] = []
    answers = iter([False] * 3 + [True])
    clock = iter([0.0, 0.01, 0.05, 0.2, 0.5, 1.0])
    monkeypatch.setattr(heads.time, "sleep", slept.append)
    monkeypatch.setattr(heads.time, "monotonic", lambda: next(clock))
    went_on: list[str] = []
    waiting = Heads(lambda connection: next(answers), went_on.append, lambda task: task())

    waiting.wait_for("somebody")

    assert slept == [heads.FRESH_LOOK_SECONDS] * 2 + [heads.LOOK_SECONDS] * 2
    assert went_on == ["somebody"]


# Small writes


def ask_together(line: Line, *words: bytes) -> list[socket.socket]:
    """Clients that have all asked by the time that somebody looks."""
    clients = [line.connect() for _ in words]
    for client, asked in zip(clients, words, strict=True):
        client.sendall(asked)
        line.crew.take_seat(lead.Seat(line.server_of(client), line.server_of(client).fileno()))
    line.join(line.server_of(clients[0]))
    return clients


@pytest.mark.usefixtures("patient")
def test_small_writes_that_came_together_are_served_together(line: Line) -> None:
    clients = ask_together(line, *SMALL)

    assert tuple(client.recv(5) for client in clients) == SMALL
    first = line.happened[:3]
    assert sorted(first) == sorted(SMALL)
    assert line.happened[3:6] == [b"then " + each for each in first]
    assert line.most == 3


@pytest.mark.usefixtures("patient")
def test_who_came_with_them_and_writes_nothing_is_served_before(line: Line) -> None:
    clients = ask_together(line, SMALL[0], b"reads", SMALL[1])

    assert [client.recv(5) for client in clients] == [SMALL[0], b"reads", SMALL[1]]
    assert sorted(line.happened[:2]) == sorted(SMALL[:2])


@pytest.mark.usefixtures("patient")
def test_one_small_write_is_served_alone(line: Line) -> None:
    (client,) = ask_together(line, SMALL[0])

    assert client.recv(5) == SMALL[0]
    assert SMALL[0] not in line.happened


@pytest.mark.usefixtures("patient")
def test_where_writes_do_not_share_each_is_served_alone(line: Line) -> None:
    line.crew.serves_together = False
    clients = ask_together(line, *SMALL)

    assert tuple(client.recv(5) for client in clients) == SMALL
    assert line.most == 1


def test_who_is_overtaken_keeps_all_that_it_serves(line: Line) -> None:
    """Two threads that serve one connection would answer a request twice."""
    clients = ask_together(line, SMALL[0], HALT, *SMALL[1:])
    late = line.connect()
    line.first(late)
    assert late.recv(5) == b"hello"  # from whoever leads now
    threads = line.threads
    time.sleep(0.05)  # in which that one could look after the others
    assert not any(peeked(client) for client in clients)

    line.go_on.set()
    for client, said in zip(clients, (SMALL[0], HALT, *SMALL[1:]), strict=True):
        client.settimeout(FOREVER)
        assert client.recv(5) == said
    assert line.served == len(clients) + 1
    assert threads >= 2
    for client in clients:
        ask_again(line, client)


@pytest.mark.usefixtures("patient")
def test_who_may_not_ask_on_is_parted_with_once_all_are_answered(line: Line) -> None:
    clients = ask_together(line, PART, SMALL[0], PART, SMALL[1])

    assert clients[1].recv(5) == SMALL[0]
    assert clients[3].recv(5) == SMALL[1]
    until(lambda: len(line.closed) == 2)
    assert line.happened[8:10] == [b"parted with"] * 2

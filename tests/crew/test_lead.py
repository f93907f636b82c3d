"""Who serves in a process: one thread at a time, while nothing takes long; and nobody is forgotten."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from models import processors
from serving import heads
from serving import lead
from serving.heads import Heads
from tests.crew.clients import BREAK
from tests.crew.clients import CLOSE
from tests.crew.clients import FOREVER
from tests.crew.clients import SLOW
from tests.crew.clients import WAIT
from tests.crew.clients import Line
from tests.crew.clients import ask_again
from tests.crew.clients import ask_often
from tests.crew.clients import seated
from tests.waiting import until


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


@pytest.fixture
def waits(line: Line, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the crew was ready to sleep each time it looked who has asked."""
    found: list[float] = []
    select = line.crew.clients.select

    def noted(seconds: float) -> list[lead.Ready]:
        found.append(seconds)
        return select(seconds)

    monkeypatch.setattr(line.crew.clients, "select", noted)
    return found


def test_who_leads_looks_for_a_while_before_it_sleeps(
    line: Line, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead, "AWAKE_SECONDS", FOREVER)
    line.crew.stays_awake = True
    (client,) = seated(line, 1)
    until(lambda: len(waits) > 100)
    client.sendall(b"again")

    assert client.recv(5) == b"again"
    assert set(waits) == {0}

    line.crew.stays_awake = False
    ask_again(line, client)


def test_who_shares_one_processor_with_its_clients_sleeps_at_once(
    line: Line, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lead, "AWAKE_SECONDS", FOREVER)
    line.crew.stays_awake = False
    (client,) = seated(line, 1)
    until(line.is_at_rest)

    assert 0 < len(waits) < 10
    assert lead.NEXT_SECONDS_MAX in waits
    client.close()


def test_nobody_stands_by_for_a_lead_that_no_thread_can_take() -> None:
    """As a process ends there are no more threads; it waits for those that there are, and one stood by for ever."""

    def start(task: Callable[[], None]) -> None:
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    crew: lead.Crew[socket.socket] = lead.Crew(None, None, None, None, start)
    one, other = socket.socketpair()
    with one, other:
        crew.has_deputy = True  # who is about to look whether anybody leads
        with pytest.raises(RuntimeError):
            crew.join(one, one.fileno())
        deputy = threading.Thread(target=crew.stand_by, daemon=True)
        deputy.start()
        deputy.join(5)

        assert not deputy.is_alive()
        assert not crew.is_led()


def test_how_many_clients_are_served_is_known(line: Line) -> None:
    """By that it is decided whether who waits for a server may take a processor meanwhile."""
    going, staying = seated(line, 2)

    def are_served(*clients: socket.socket) -> bool:
        # It is counted where somebody asks: a crew that nobody asks is soon at rest, and has nobody.
        for client in clients:
            ask_again(line, client)
        return processors.SERVED.count == len(clients)

    until(lambda: are_served(going, staying))

    going.close()

    until(lambda: are_served(staying))


@pytest.mark.parametrize(("cores", "stays"), [({0}, False), ({0, 3}, True)])
def test_a_processor_of_ones_own_is_looked_for(
    cores: set[int], stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processors.os, "sched_getaffinity", lambda _: cores, raising=False)

    assert (processors.core_count() > 1) is stays


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
    own_time = SimpleNamespace(sleep=slept.append, monotonic=lambda: next(clock))
    monkeypatch.setattr(heads, "time", own_time)  # other threads look at theirs
    went_on: list[str] = []
    waiting = Heads(lambda connection: next(answers), went_on.append, lambda task: task())

    waiting.wait_for("somebody")

    assert slept == [heads.FRESH_LOOK_SECONDS] * 2 + [heads.LOOK_SECONDS] * 2
    assert went_on == ["somebody"]

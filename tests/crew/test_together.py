"""Small writes that came together are served together, by one thread, and by that one alone."""

from __future__ import annotations

import socket
import time
from pathlib import Path

import pytest

from models import joint
from models.sql.turns import Turns
from serving import lead
from tests.crew.clients import FOREVER
from tests.crew.clients import HALT
from tests.crew.clients import PART
from tests.crew.clients import SMALL
from tests.crew.clients import Line
from tests.crew.clients import ask_again
from tests.crew.clients import peeked
from tests.crew.clients import seated
from tests.waiting import until


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
    assert line.happened[0] == b"reads"
    assert sorted(line.happened[1:3]) == sorted(SMALL[:2])


@pytest.mark.usefixtures("patient")
def test_one_small_write_is_served_alone(line: Line) -> None:
    (client,) = ask_together(line, SMALL[0])

    assert client.recv(5) == SMALL[0]
    assert line.happened[0] == SMALL[0]
    assert b"then " + SMALL[0] not in line.happened


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
    until(lambda: line.served == len(clients) + 1)
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


@pytest.fixture
def theirs(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patient: None) -> Turns:
    """The turns of another process, which has the one that the crew's writes need."""
    monkeypatch.setattr(joint, "GATHERING_SECONDS_MAX", FOREVER)
    ours, found = Turns(tmp_path / "lock"), Turns(tmp_path / "lock")
    assert found.take_at_once()
    line.crew.turns = lambda: ours
    return found


def test_who_comes_while_another_process_has_the_turn_is_served_with_them(
    line: Line, theirs: Turns
) -> None:
    clients = seated(line, 3)
    line.happened.clear()
    for client, asked in zip(clients, SMALL, strict=True):
        client.sendall(asked)
        until(lambda asked=asked: asked in line.happened)
    assert tuple(line.happened) == SMALL

    theirs.pass_on(lingers=False)

    assert tuple(client.recv(5) for client in clients) == SMALL
    assert tuple(line.happened[3:6]) == tuple(b"then " + asked for asked in SMALL)


def test_who_asks_anything_else_meanwhile_does_not_wait_for_the_turn(
    line: Line, theirs: Turns
) -> None:
    clients = seated(line, 3)
    line.happened.clear()
    clients[0].sendall(SMALL[0])
    until(lambda: SMALL[0] in line.happened)

    clients[1].sendall(b"reads")

    assert clients[1].recv(5) == b"reads"
    assert clients[0].recv(5) == SMALL[0]


def test_who_asks_twice_is_answered_once_before(line: Line, theirs: Turns) -> None:
    clients = seated(line, 2)
    line.happened.clear()
    clients[0].sendall(SMALL[0])
    until(lambda: SMALL[0] in line.happened)
    clients[0].sendall(SMALL[1])
    time.sleep(0.05)  # in which it could be served
    assert line.happened == [SMALL[0]]

    theirs.pass_on(lingers=False)

    assert (clients[0].recv(5), clients[0].recv(5)) == SMALL[:2]

"""What is read of a request before the application has it: as gunicorn reads it, or sooner."""

from __future__ import annotations

import socket
from collections.abc import Callable
from collections.abc import Iterator

import pytest
from gunicorn.util import split_request_uri
from hypothesis import given
from hypothesis import strategies as st

from serving import incoming
from serving.incoming import Asked
from serving.incoming import Settled
from serving.incoming import look
from serving.incoming import split_target

VISIBLE = st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=40)
"""What a target may hold; gunicorn has refused the rest before it splits one."""


def outcome(split: Callable[[str], object], target: str) -> object:
    try:
        return split(target)
    except ValueError:
        return ValueError


@given(VISIBLE | VISIBLE.map("/".__add__) | st.text("/?#:@[]a.%", min_size=1, max_size=12))
def test_a_target_is_split_as_gunicorn_splits_it(target: str) -> None:
    assert outcome(split_target, target) == outcome(split_request_uri, target)


@pytest.fixture
def wire() -> Iterator[tuple[socket.socket, socket.socket]]:
    client, server = socket.socketpair()
    yield client, server
    client.close()
    server.close()


HEAD = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    ("said", "asked"),
    [
        (HEAD, True),
        (HEAD + b"the body", True),
        (HEAD[:-1], False),
        (HEAD[:4], False),
        (b"GET / HTTP/1.1\n\n", True),  # to be refused
        (b"x" * incoming.PEEKED_BYTES_MAX, True),  # to be refused, or read on
    ],
)
def test_a_head_is_asked_for_when_it_is_there(
    wire: tuple[socket.socket, socket.socket], said: bytes, asked: bool
) -> None:
    client, server = wire
    client.sendall(said)

    assert bool(look(server)) is asked
    assert server.recv(len(said)) == said  # and is still to be read


@pytest.mark.parametrize("cut", [1, 4, len(HEAD) - 3, len(HEAD) - 1])
def test_what_was_read_before_counts(wire: tuple[socket.socket, socket.socket], cut: int) -> None:
    client, server = wire

    assert not look(server, HEAD[:cut])
    client.sendall(HEAD[cut:-1])
    assert not look(server, HEAD[:cut])
    client.sendall(HEAD[-1:])
    assert look(server, HEAD[:cut])
    assert look(server, HEAD)


def test_half_a_head_that_was_read_before_an_end_is_over(
    wire: tuple[socket.socket, socket.socket],
) -> None:
    client, server = wire
    client.close()

    assert look(server, HEAD[:4])


def test_nothing_said_is_nothing_asked(wire: tuple[socket.socket, socket.socket]) -> None:
    assert not look(wire[1])


@pytest.mark.parametrize("said", [b"", HEAD[:4]])
def test_the_end_is_told_like_a_head(
    wire: tuple[socket.socket, socket.socket], said: bytes
) -> None:
    client, server = wire
    client.sendall(said)
    client.close()

    assert look(server)


def test_a_connection_that_was_shut_here_is_at_its_end(
    wire: tuple[socket.socket, socket.socket],
) -> None:
    """As the sweep does with who is late."""
    client, server = wire
    client.sendall(HEAD[:4])
    server.shutdown(socket.SHUT_RDWR)

    assert look(server)


def test_settings_are_looked_up_once() -> None:
    class Settings:
        asked = 0

        def __getattr__(self, name: str) -> str:
            if name == "nothing":
                raise AttributeError(name)
            Settings.asked += 1
            return name

    settled = Settled(Settings())

    assert [settled.keepalive, settled.keepalive, settled.timeout] == [
        "keepalive",
        "keepalive",
        "timeout",
    ]
    assert Settings.asked == 2
    with pytest.raises(AttributeError):
        assert settled.nothing


SMALL = b"POST /inspections HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n{}"


@pytest.mark.parametrize(
    ("said", "is_small"),
    [
        (SMALL, True),
        (SMALL.replace(b"POST /inspections", b"PATCH /rest/v1/buildings?id=eq.1"), True),
        (SMALL.replace(b"Content-Length: ", b"content-length:"), True),
        (SMALL[:-1], False),  # its client may take its time for the rest
        (SMALL + b"GET", False),  # so it may for the next one, which is whole or not
        (SMALL.replace(b"Content-Length: 2", b"Transfer-Encoding: chunked"), False),
        (SMALL.replace(b"Content-Length: 2", b"X: 2"), False),
        (SMALL.replace(b"POST", b"GET"), False),
        (SMALL.replace(b"POST", b"PUT"), False),
        (SMALL.replace(b"/inspections", b"/rpc/get_building_stats"), False),
        (SMALL.replace(b"/inspections", b"/auth/v1/token?grant_type=password"), False),
        (SMALL.replace(b"/inspections", b"/console/people"), False),
        (
            SMALL.replace(b"HTTP/1.1", b"HTTP/1.0"),
            False,
        ),  # to be parted with, for which there is a wait
        (SMALL.replace(b"\r\n\r\n", b"\n\n"), False),
        (b"", False),
    ],
)
def test_a_small_write_is_known_when_all_of_it_is_there(
    wire: tuple[socket.socket, socket.socket], said: bytes, is_small: bool
) -> None:
    client, server = wire
    client.sendall(said)

    assert (look(server) is Asked.SMALL_WRITE) is is_small
    client.close()
    assert server.recv(1 << 20) == said, "nothing is taken"


def test_a_small_write_may_be_held_already(wire: tuple[socket.socket, socket.socket]) -> None:
    client, server = wire
    assert look(server, SMALL) is Asked.SMALL_WRITE
    client.sendall(SMALL[4:])

    assert look(server, SMALL[:4]) is Asked.SMALL_WRITE


def test_a_connection_that_is_gone_is_no_small_write() -> None:
    client, server = socket.socketpair()
    client.close()
    server.close()

    assert look(server) is Asked.SOMETHING

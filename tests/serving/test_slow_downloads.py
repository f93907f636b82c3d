"""Slow readers of large files take a share of the worker's slots, and leave the others to other clients."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from routes.storage.objects import ADDRESS_MAX, LARGE_MAX, MAKER_MAX, WAITING_MAX, Slots
from tests.durability.served import Served, serving
from tests.http.service import RUNNING_SERVICE, ask, served_over
from tests.support.waiting import until

READERS = 80
PDF = b"%PDF-1.4\n" + bytes(range(256)) * (9 << 12)  # 9 MiB: more than the buffers of a connection take
OBJECT = "/storage/v1/object"
NAME = "buildings/1/slow.pdf"
OTHER = "buildings/4/fast.pdf"


@pytest.fixture
def service(base_file: Path, tmp_path: Path) -> Iterator[Served]:
    with serving(served_over(base_file, tmp_path / "served")) as running:
        yield running


def slow_reader(port: int, target: str) -> socket.socket:
    """Return a connection that asked for a file and reads none of it."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
    connection.settimeout(30)
    connection.connect(("127.0.0.1", port))
    connection.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    return connection


@RUNNING_SERVICE
@pytest.mark.slow
def test_slow_readers_of_one_link_leave_large_downloads_to_others(service: Served) -> None:
    for name in (NAME, OTHER):
        stored = ask(service, "root", "POST", f"{OBJECT}/{name}", PDF, Content_Type="application/pdf")
        assert stored.status == 200, stored.body
    signed = ask(service, "ada", "POST", f"{OBJECT}/sign/{NAME}", {"expiresIn": 600})
    link = f"/storage/v1{signed.json['signedURL']}"

    with contextlib.ExitStack() as crowd:
        readers = [crowd.enter_context(slow_reader(service.port, link)) for _ in range(READERS)]
        heads = [reader.recv(12) for reader in readers]
        read = [ask(service, "bob", "GET", f"{OBJECT}/{OTHER}") for _ in range(8)]

    assert heads.count(b"HTTP/1.1 200") == 2 * MAKER_MAX
    assert heads.count(b"HTTP/1.1 503") == READERS - 2 * MAKER_MAX
    assert [answer.status for answer in read] == [200] * 8
    assert all(answer.body == PDF for answer in read)
    until(lambda: ask(service, "ada", "GET", f"{OBJECT}/{NAME}").status == 200)


def test_each_maker_and_each_address_has_a_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routes.storage.objects.WAIT_SECONDS_MAX", 0)
    slots = Slots()

    assert [slots.acquire("ada", f"192.0.2.{n}") for n in range(6)] == [True] * MAKER_MAX + [False] * 2
    assert [slots.acquire(f"user {n}", "198.51.100.1") for n in range(10)] == [True] * ADDRESS_MAX + [False] * 2
    left = LARGE_MAX - MAKER_MAX - ADDRESS_MAX
    assert [slots.acquire(f"other {n}", f"203.0.113.{n}") for n in range(6)] == [True] * left + [False] * (6 - left)

    slots.release("ada", "192.0.2.0")
    assert slots.acquire("ada", "192.0.2.9")
    assert slots.taken[("all", "")] == LARGE_MAX


def test_few_threads_wait_for_a_slot() -> None:
    slots = Slots()
    assert all(slots.acquire("ada", "192.0.2.1") for _ in range(MAKER_MAX))
    slots.waiting = WAITING_MAX

    assert not slots.acquire("ada", "192.0.2.1")
    assert slots.waiting == WAITING_MAX


def test_released_slots_are_forgotten() -> None:
    slots = Slots()
    slots.acquire("ada", "192.0.2.1")
    slots.release("ada", "192.0.2.1")

    assert not slots.taken

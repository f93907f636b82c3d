"""Requests over connections that were idle for 1 to 70 s, through a relay that delays each byte: none is reset."""

from __future__ import annotations

import asyncio
import json
import random
import ssl
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import httpx
import pytest

from tests.clients import node
from tests.clients.server import Server
from tests.support import tokens

pytestmark = pytest.mark.long

DELAY_SECONDS = 0.08
CONNECTIONS, REQUESTS = 200, 5
IDLE_SECONDS = [[random.Random(f"{line}.{at}").uniform(1, 70) for at in range(REQUESTS)] for line in range(CONNECTIONS)]
STATISTICS = {"building_id": 1}
KEPT = httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=600)
CLIENT_SECONDS_MAX = 600
TLS = ssl.create_default_context()  # unused, and slow to create for each client


class Relay:
    """A TCP relay to a port, in its own thread. `accepted` counts its connections."""

    def __init__(self, port: int) -> None:
        self.target, self.port, self.accepted = port, 0, 0
        self.writers: list[asyncio.StreamWriter] = []
        self.started, self.stopped = threading.Event(), threading.Event()

    async def run(self) -> None:
        async with await asyncio.start_server(self.relay, "127.0.0.1", 0, backlog=CONNECTIONS) as listening:
            self.port = listening.sockets[0].getsockname()[1]
            self.started.set()
            await asyncio.to_thread(self.stopped.wait)
        for writer in self.writers:
            writer.transport.abort()
        await asyncio.sleep(2 * DELAY_SECONDS)

    async def relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.target)
        self.writers += [writer, other_writer]
        await asyncio.gather(pass_on(reader, other_writer), pass_on(other_reader, writer))


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    loop = asyncio.get_running_loop()
    with suppress(ConnectionError):
        while data := await reader.read(65_536):
            loop.call_later(DELAY_SECONDS, writer.write, data)
    loop.call_later(DELAY_SECONDS, writer.close)


@contextmanager
def relaying(port: int) -> Iterator[Relay]:
    relay = Relay(port)
    with ThreadPoolExecutor(1) as pool:
        ended = pool.submit(asyncio.run, relay.run())
        try:
            assert relay.started.wait(10)
            yield relay
        finally:
            relay.stopped.set()
            ended.result()


def httpx_call(client: httpx.Client, url: str) -> Callable[[], int]:
    headers = {"apikey": tokens.SERVICE_KEY}
    return lambda: client.post(f"{url}/rpc/get_building_stats", json=STATISTICS, headers=headers).status_code


def supabase_call(client: httpx.Client, url: str) -> Callable[[], int]:
    supabase = pytest.importorskip("supabase", reason="requirements/clients.txt is not installed")
    options = supabase.ClientOptions(auto_refresh_token=False, httpx_client=client)
    consumer = supabase.create_client(url, tokens.SERVICE_KEY, options)
    return lambda: 200 if consumer.rpc("get_building_stats", STATISTICS).execute().data else 0


def ask_in_python(make: Callable[[httpx.Client, str], Callable[[], int]], url: str) -> dict[str, int]:
    def follow(pauses: list[float]) -> list[str]:
        with httpx.Client(limits=KEPT, timeout=20, verify=TLS) as client:
            return outcomes(make(client, url), pauses)

    def outcomes(ask: Callable[[], int], pauses: list[float]) -> list[str]:
        found = []
        for seconds in [0.0, *pauses]:
            time.sleep(seconds)
            try:
                found.append(str(ask()))
            except Exception as error:  # noqa: BLE001  # every error of a client is an outcome
                found.append(repr(error))
        return found

    with ThreadPoolExecutor(CONNECTIONS) as pool:
        return Counter(each for found in pool.map(follow, IDLE_SECONDS) for each in found)


def ask_in_node(name: str, url: str) -> dict[str, int]:
    node.installed()
    service = {"URL": url, "KEY": tokens.SERVICE_KEY, "IDLE_SECONDS": IDLE_SECONDS}
    ran = subprocess.run(
        [str(node.NODE), "idle.js", name],
        cwd=node.JS,
        env={"SERVICE": json.dumps(service), "PATH": "/usr/bin:/bin"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=CLIENT_SECONDS_MAX,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, int] = json.loads(ran.stdout)
    return found


CLIENTS: dict[str, Callable[[str], dict[str, int]]] = {
    "httpx": lambda url: ask_in_python(httpx_call, url),
    "supabase-py": lambda url: ask_in_python(supabase_call, url),
    "supabase-js": lambda url: ask_in_node("supabase-js", url),
    "Agent": lambda url: ask_in_node("Agent", url),
}


def test_no_request_after_an_idle_time_is_reset(server: Server) -> None:
    """All clients run at once: 1,000 requests each, after 200 that open the connections."""
    port = httpx.URL(server.url).port
    assert port is not None

    def run(name: str) -> tuple[dict[str, int], int]:
        with relaying(port) as relay:
            return CLIENTS[name](f"http://127.0.0.1:{relay.port}"), relay.accepted

    with ThreadPoolExecutor(len(CLIENTS)) as pool:
        found = dict(zip(CLIENTS, pool.map(run, CLIENTS), strict=True))

    print(found)
    warmed = {"supabase-js": 1, "Agent": 1}  # fetch of /live
    for name, (outcomes, accepted) in found.items():
        assert outcomes == {"200": CONNECTIONS * (REQUESTS + 1)}, name
        assert accepted == CONNECTIONS + warmed.get(name, 0), name

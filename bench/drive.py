"""How is load made? wrk sends the calls of a file, and one core of ours sends HEAD, whose answers wrk waits on."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import json
import selectors
import socket
import subprocess
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.portfolio import Person
from bench.requests import Call
from bench.servers import ANON_KEY
from bench.servers import SECRET

REPLAY: Final = Path(__file__).resolve().parent / "replay.lua"
TOKEN_SECONDS: Final = 24 * 3_600
ANSWER_SECONDS_MAX: Final = 30.0
SLOW_FACTOR: Final = 10  # how much longer a server is looked at that answered nothing at first
HEAD_END: Final = b"\r\n\r\n"
GOOD: Final = b"HTTP/1.1 2"


class Unanswered(Exception):
    """Calls that were refused or broken off, so that their rate means nothing."""


@dataclass(frozen=True, slots=True)
class Rate:
    """Answers a second, and how long the slowest ones took."""

    per_second: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What is compared of an answer."""

    status: int
    content_range: str | None
    body: bytes


class Tokens:
    """One JWT a person, which both sides accept."""

    def __init__(self) -> None:
        self.now = int(time.time()) - 2
        self.known: dict[str, str] = {}

    def of(self, person: Person) -> str:
        if person.id not in self.known:
            claims: dict[str, object] = {
                "aud": "authenticated", "sub": person.id, "role": person.role,
                "iat": self.now, "exp": self.now + TOKEN_SECONDS,
            }  # fmt: skip
            if person.client_id is not None:
                claims["client_id"] = person.client_id
            self.known[person.id] = sign(claims)
        return self.known[person.id]


def sign(claims: dict[str, object]) -> str:
    """A compact JWS, by HS256."""
    parts = [_part(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims)]
    signature = hmac.digest(SECRET.encode(), ".".join(parts).encode(), hashlib.sha256)
    return ".".join([*parts, _part(signature)])


def _part(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


def headers(call: Call, tokens: Tokens) -> dict[str, str]:
    found = {"apikey": ANON_KEY}
    if call.asker is not None:
        found["Authorization"] = f"Bearer {tokens.of(call.asker.person)}"
    if call.prefer:
        found["Prefer"] = call.prefer
    if call.body:
        found["Content-Type"] = "application/json"
    return found


def ask(port: int, call: Call, tokens: Tokens) -> Answer:
    """Send one call and read the whole answer."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=ANSWER_SECONDS_MAX)
    try:
        body = call.body.encode() or None
        connection.request(call.method, call.path, body, headers(call, tokens))
        response = connection.getresponse()
        return Answer(response.status, response.headers["Content-Range"], response.read())
    finally:
        connection.close()


def write_calls(path: Path, calls: Iterable[Call], tokens: Tokens) -> None:
    """The file that `replay.lua` reads."""
    with path.open("w", encoding="utf-8") as file:
        for call in calls:
            token = tokens.of(call.asker.person) if call.asker is not None else ""
            file.write("\t".join((call.method, call.path, token, call.prefer, call.body)) + "\n")


def run_wrk(port: int, path: Path, connections: int, seconds: float, place: int) -> Rate:
    """Load one server with a file's calls; its rate, or Unanswered. A slow one is given longer."""
    for patience in (1, SLOW_FACTOR):
        found = wrk(port, path, connections, max(1, round(seconds * patience)), place)
        bad = found["refused"] + found["broken"]
        if bad:
            raise Unanswered(f"{bad} of {found['requests']} calls of {path.stem} failed")
        if found["requests"]:
            rate = found["requests"] / found["microseconds"] * 1e6
            return Rate(rate, found["p99"] / 1e3)
    raise Unanswered(f"no call of {path.stem} was answered in {seconds * SLOW_FACTOR:g} s")


def wrk(port: int, path: Path, connections: int, seconds: int, place: int) -> dict[str, int]:
    """What `replay.lua` says at its end."""
    words = [
        "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
        "-s", str(REPLAY), f"http://127.0.0.1:{port}/", "--", str(path), ANON_KEY, str(place),
    ]  # fmt: skip
    done = subprocess.run(
        words, capture_output=True, encoding="utf-8", check=True, timeout=seconds + 60
    )
    found: dict[str, int] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def run_heads(
    port: int, calls: list[Call], tokens: Tokens, connections: int, seconds: float, place: int
) -> Rate:
    """The same for HEAD: wrk would wait for the body that the length announces."""
    texts = [head_text(call, tokens) for call in calls]
    times: list[float] = []
    begun = time.perf_counter()
    with selectors.DefaultSelector() as selector:
        talks = [Talk(port, selector, texts, place + number) for number in range(connections)]
        try:
            while time.perf_counter() < begun + seconds:
                for ready, _ in selector.select(ANSWER_SECONDS_MAX):
                    times += ready.data.hear()
        finally:
            for talk in talks:
                talk.connection.close()
    took = time.perf_counter() - begun
    times.sort()
    return Rate(len(times) / took, times[len(times) * 99 // 100] * 1e3)


class Talk:
    """One connection that asks, hears and asks again; made anew where the server ends it after an answer."""

    def __init__(
        self, port: int, selector: selectors.BaseSelector, texts: list[bytes], place: int
    ) -> None:
        self.port = port
        self.selector = selector
        self.texts = texts
        self.place = place
        self.connect()
        self.say()

    def connect(self) -> None:
        self.connection = socket.create_connection(("127.0.0.1", self.port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(self.connection, selectors.EVENT_READ, self)

    def say(self) -> None:
        self.heard = b""
        self.said_at = time.perf_counter()
        try:
            self.connection.sendall(self.texts[self.place % len(self.texts)])
        except OSError:
            self.again()

    def again(self) -> None:
        self.selector.unregister(self.connection)
        self.connection.close()
        self.connect()
        self.say()

    def hear(self) -> list[float]:
        """Read what came; the time that the answer took, once it is whole."""
        try:
            piece = self.connection.recv(65_536)
        except ConnectionResetError:
            piece = b""
        if not piece:
            self.again()
            return []
        self.heard += piece
        if not self.heard.startswith(GOOD[: len(self.heard)]):
            raise Unanswered(
                f"{self.texts[self.place % len(self.texts)][:99]!r}: {self.heard[:60]!r}"
            )
        if not self.heard.endswith(HEAD_END):
            return []
        took = time.perf_counter() - self.said_at
        self.place += 1
        self.say()
        return [took]


def head_text(call: Call, tokens: Tokens) -> bytes:
    lines = [f"HEAD {call.path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in headers(call, tokens).items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()

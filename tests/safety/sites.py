"""Sites: the service over a database whose rows are replaced at will, asked without a socket, with a clock that
stands still and UUIDs that count, so that a seed repeats a run exactly.
"""

import functools
import io
import itertools
import json
import pathlib
import types
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

import pytest

from engine.postgres import database as server
from engine.storage.clock import Clock
from tests.safety.sides import Side, beside
from tests.support import databases, oracle, tokens
from tests.support.applications import open_app

MOMENT = 1_749_988_800  # 2025-06-15T12:00:00Z, among the dates of the random worlds
HOUR_SECONDS = 3_600.0


@dataclass(frozen=True, slots=True)
class Asking:
    """One request, by whomever it is sent."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        headers = "".join(f"\n    {name}: {value}" for name, value in self.headers)
        body = f"\n    {self.body[:2_000]!r}" if self.body else ""
        return f"{self.method} {self.path}{headers}{body}"


def asking(method: str, path: str, body: object = None, prefer: str | None = None, **headers: str) -> Asking:
    """Make a request; a body that is no bytes travels as JSON, `accept_profile=` as Accept-Profile."""
    named = [(name.replace("_", "-").title(), value) for name, value in headers.items()]
    if prefer:
        named.append(("Prefer", prefer))
    if body is None:
        return Asking(method, path, b"", tuple(named))
    if not any(name == "Content-Type" for name, _ in named):
        named.append(("Content-Type", "application/json"))
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return Asking(method, path, raw, tuple(named))


@dataclass(frozen=True, slots=True)
class Answer:
    """All that came back, but for the date."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def json(self) -> object:
        return json.loads(self.body)

    @property
    def code(self) -> str | None:
        """The code of an error."""
        found = self.json if self.body else None
        return found.get("code") if isinstance(found, dict) else None

    def header(self, wanted: str) -> str | None:
        return next((value for name, value in self.headers if name == wanted.lower()), None)

    def __str__(self) -> str:
        return f"{self.status} {dict(self.headers)}\n{self.body[:4_000].decode(errors='replace')}"


@dataclass(slots=True)
class Site:
    """An app over one database, and a way to its rows that does not lead through the app."""

    app: object
    side: Side
    bearers: dict[str, str] = field(default_factory=dict)
    told: Counter = field(default_factory=Counter)

    def load(self, world: dict) -> None:
        """Make the world's rows the only ones; what is kept to sign in is gone with its users."""
        owned = {
            table: [{**row, "client_id": owner(world, row)} for row in world[table]] for table, owner in OWNERS.items()
        }
        self.side.load({**world, **owned})
        # What is remembered until a row changes: here all of them changed, and the trail began anew.
        self.app.extensions["walkthrough"].cache.clear()

    def world(self) -> dict[str, list[dict]]:
        """Every row of every resource as it is stored, in the order of its keys."""
        return self.side.world()

    def rows(self, table: str) -> list[dict]:
        return self.side.rows(table)

    def send(self, who: dict | str | None, request: Asking) -> Answer:
        """Send a request as a user (a row), as whoever bears a token (text), or as nobody."""
        headers = {"apikey": tokens.ANON_KEY, "Accept": "*/*"}
        if who is not None:
            headers["Authorization"] = f"Bearer {self.bearer(who)}"
        headers.update(request.headers)
        return self.open(request, headers)

    def open(self, request: Asking, headers: dict[str, str]) -> Answer:
        path, _, query = request.path.partition("?")
        environ = {
            "REQUEST_METHOD": request.method,
            "SCRIPT_NAME": "",
            "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
            "QUERY_STRING": query.encode("utf-8", "surrogateescape").decode("latin-1"),
            "RAW_URI": request.path,
            "SERVER_NAME": "localhost",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "REMOTE_ADDR": "127.0.0.1",
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.input": io.BytesIO(request.body),
            "wsgi.input_terminated": True,
            "wsgi.errors": io.StringIO(),
            "wsgi.multithread": False,
            "wsgi.multiprocess": False,
            "wsgi.run_once": False,
        }
        if request.body or request.method in ("POST", "PUT", "PATCH"):
            environ["CONTENT_LENGTH"] = str(len(request.body))
        for name, value in headers.items():
            key = name.upper().replace("-", "_")
            environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
        got: list = []
        chunks = self.app.wsgi_app(environ, lambda status, headers, *_: got.extend((status, headers)))
        try:
            body = b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        named = sorted((name.lower(), value) for name, value in got[1] if name.lower() != "date")
        return Answer(int(got[0][:3]), tuple(named), body)

    def bearer(self, who: dict | str) -> str:
        if isinstance(who, str):
            return who
        key = f"{who['id']} {who['role']} {who['client_id']}"
        if key not in self.bearers:
            times = {"iat": MOMENT, "exp": MOMENT + tokens.HOUR}
            self.bearers[key] = tokens.token_for(who["id"], who["role"], who["client_id"], **times)
        return self.bearers[key]


def owner_of_inspection(world: dict, inspection: dict) -> int:
    return oracle.find(world, "buildings", inspection["building_id"])["client_id"]


def owner_of_reading(world: dict, reading: dict) -> int:
    return owner_of_inspection(world, oracle.find(world, "inspections", reading["inspection_id"]))


OWNERS = {"inspections": owner_of_inspection, "reports_lead": owner_of_reading}
"""The hidden columns: whose building it is, so that the loader keeps what the schema demands."""


class StillClock(Clock):
    """The service's clock, stopped."""

    def __call__(self) -> float:
        return float(MOMENT)


@contextmanager
def open_site(file: pathlib.Path, **config: object) -> Iterator[Site]:
    """Build the service over a database of its own; what it writes need not outlive a power cut."""
    app = open_app(file, **config)
    app.extensions["walkthrough"].clock = app.extensions["walkthrough.clock"] = StillClock()
    if databases.SERVER is None:  # the tests' server waits for no disk
        hasty(app)
    with closing(beside(file)) as side:
        yield Site(app, side)


def patient(app: object, patch: pytest.MonkeyPatch) -> None:
    """Let no request be late: a machine that stands still for two seconds would part two worlds."""
    database = app.extensions["walkthrough"]
    database.writing = functools.partial(database.writing, seconds_max=HOUR_SECONDS)
    if databases.SERVER is None:
        database.reading = functools.partial(database.reading, seconds_max=HOUR_SECONDS)
        return
    # What takes as long as usual is told to a session when it is made, and read in one trip (models/guess.py).
    patch.setattr(server, "READ_SECONDS_MAX", HOUR_SECONDS)
    patch.setattr(server.ServerDatabase.reading, "__defaults__", (HOUR_SECONDS,))
    database.forget_sessions()


def hasty(app: object) -> None:
    """Spare the one connection that writes its syncs, which other tests are about."""
    database = app.extensions["walkthrough"]
    with database.connections.checked_out(database.writer) as connection:
        connection.driver_connection.execute("PRAGMA synchronous = OFF")


def counting_uuids() -> Iterator[uuid.UUID]:
    return (uuid.UUID(int=(0xC0 << 120) | (4 << 76) | (8 << 60) | n) for n in itertools.count(1))


@contextmanager
def standing_still(patch: pytest.MonkeyPatch) -> Iterator[types.SimpleNamespace]:
    """Let the UUIDs of the service count; `restart()` begins to count anew."""
    source = types.SimpleNamespace(uuids=counting_uuids())

    def restart() -> None:
        source.uuids = counting_uuids()

    source.restart = restart
    counting = types.SimpleNamespace(uuid4=lambda: next(source.uuids))
    patch.setattr("models.types.uuid", counting)
    yield source

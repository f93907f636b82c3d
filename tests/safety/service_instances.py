"""Service instances over replaceable rows, called without a socket.

The clock is frozen and UUIDs are sequential, so a seed repeats a run exactly.
"""

import io
import itertools
import json
import pathlib
import re
import types
import uuid
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

import pytest

from engine.interface.clock import Clock
from tests.safety.database_access import DirectDatabaseAccess, open_direct_access
from tests.support import databases, oracle, tokens
from tests.support.applications import open_app

COOKIE_DATE = re.compile("; Expires=[^;]*")  # of the machine's clock; Max-Age says the same
NOW_SECONDS = 1_749_988_800  # 2025-06-15T12:00:00Z, among the dates of the random worlds


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """One request, without its sender."""

    method: str
    path: str
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()

    def __str__(self) -> str:
        headers = "".join(f"\n    {name}: {value}" for name, value in self.headers)
        body = f"\n    {self.body[:2_000]!r}" if self.body else ""
        return f"{self.method} {self.path}{headers}{body}"


def make_request(method: str, path: str, body: object = None, prefer: str | None = None, **headers: str) -> HttpRequest:
    """Return a request. Bodies other than bytes become JSON; `accept_profile=` becomes Accept-Profile."""
    named = [(name.replace("_", "-").title(), value) for name, value in headers.items()]
    if prefer:
        named.append(("Prefer", prefer))
    if body is None:
        return HttpRequest(method, path, b"", tuple(named))
    if not any(name == "Content-Type" for name, _ in named):
        named.append(("Content-Type", "application/json"))
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return HttpRequest(method, path, raw, tuple(named))


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """A response without its Date header and without the dates of its cookies."""

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
class ServiceInstance:
    """An app over one database, with direct access to its rows."""

    app: object
    direct_database: DirectDatabaseAccess
    bearers: dict[str, str] = field(default_factory=dict)
    known_audit_entries: Counter = field(default_factory=Counter)

    def load(self, world: dict) -> None:
        """Replace all rows by the world's rows, and clear the sign-in tables."""
        owned = {
            table: [{**row, "client_id": owner(world, row)} for row in world[table]] for table, owner in OWNERS.items()
        }
        self.direct_database.load({**world, **owned})
        # Direct access bypasses the cache's invalidation.
        self.app.extensions["walkthrough"].cache.clear()

    def world(self) -> dict[str, list[dict]]:
        """Return every stored row of every resource, in key order."""
        return self.direct_database.world()

    def rows(self, table: str) -> list[dict]:
        return self.direct_database.rows(table)

    def send(self, who: dict | str | None, request: HttpRequest) -> HttpResponse:
        """Send a request as a user (a row), with a bearer token (text), or without a token."""
        headers = {"apikey": tokens.ANON_KEY, "Accept": "*/*"}
        if who is not None:
            headers["Authorization"] = f"Bearer {self.bearer(who)}"
        headers.update(request.headers)
        return self.open(request, headers)

    def open(self, request: HttpRequest, headers: dict[str, str]) -> HttpResponse:
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
        started: list = []
        chunks = self.app.wsgi_app(environ, lambda status, headers, *_: started.extend((status, headers)))
        try:
            body = b"".join(chunks)
        finally:
            if hasattr(chunks, "close"):
                chunks.close()
        kept = ((name, COOKIE_DATE.sub("", value)) for name, value in started[1] if name.lower() != "date")
        named = sorted((name.lower(), value) for name, value in kept)
        return HttpResponse(int(started[0][:3]), tuple(named), body)

    def bearer(self, who: dict | str) -> str:
        if isinstance(who, str):
            return who
        key = f"{who['id']} {who['role']} {who['client_id']}"
        if key not in self.bearers:
            times = {"iat": NOW_SECONDS, "exp": NOW_SECONDS + tokens.HOUR}
            self.bearers[key] = tokens.token_for(who["id"], who["role"], who["client_id"], **times)
        return self.bearers[key]


def owner_of_inspection(world: dict, inspection: dict) -> int:
    return oracle.find(world, "buildings", inspection["building_id"])["client_id"]


def owner_of_reading(world: dict, reading: dict) -> int:
    return owner_of_inspection(world, oracle.find(world, "inspections", reading["inspection_id"]))


def owner_of_event(world: dict, event: dict) -> int:
    return owner_of_reading(world, oracle.find(world, "findings", event["finding_id"]))


OWNERS = {
    "building_details": owner_of_inspection,
    "inspections": owner_of_inspection,
    "reports_lead": owner_of_reading,
    "calibration_checks": owner_of_reading,
    "schedules": owner_of_inspection,
    "inspection_plans": owner_of_reading,
    "findings": owner_of_reading,
    "finding_events": owner_of_event,
}
"""Functions that compute the column `client_id`, which responses omit and the schema requires."""


class FrozenClock(Clock):
    """A service clock that always returns NOW_SECONDS."""

    def __call__(self) -> float:
        return float(NOW_SECONDS)


@contextmanager
def open_instance(file: pathlib.Path, **config: object) -> Iterator[ServiceInstance]:
    """Open the service over its own database, without fsync."""
    app = open_app(file, **config)
    app.extensions["walkthrough"].clock = app.extensions["walkthrough.clock"] = FrozenClock()
    if databases.SERVER is None:  # the tests' server already runs without fsync
        disable_fsync(app)
    with closing(open_direct_access(file)) as direct_database:
        yield ServiceInstance(app, direct_database)


def disable_fsync(app: object) -> None:
    """Disable fsync of the writer connection. Other tests cover durability."""
    database = app.extensions["walkthrough"]
    with database.writers.checked_out() as connection:
        connection.driver_connection.execute("PRAGMA synchronous = OFF")


def counting_uuids() -> Iterator[uuid.UUID]:
    return (uuid.UUID(int=(0xC0 << 120) | (4 << 76) | (8 << 60) | n) for n in itertools.count(1))


@contextmanager
def deterministic_uuids(patch: pytest.MonkeyPatch) -> Iterator[types.SimpleNamespace]:
    """Replace the service's UUIDs by a sequence. `restart()` begins it again."""
    uuid_source = types.SimpleNamespace(uuids=counting_uuids())

    def restart() -> None:
        uuid_source.uuids = counting_uuids()

    uuid_source.restart = restart
    counting = types.SimpleNamespace(uuid4=lambda: next(uuid_source.uuids))
    patch.setattr("models.types.uuid", counting)
    yield uuid_source

"""The data set of the tests, and a database for each test.

        client 1, Acme Housing                            client 2, Borough Estates
        ada  client_admin                                 bob  client_admin
        moe  client_manager                               max  client_manager
        mia  client_manager
                                    root  super_admin

    building 1  Harbor House                          building 4  Ash, "The" Lofts (North)
      inspection 1  annual      completed  Ines         inspection 6  lead       completed  Uma
      inspection 2  lead        failed     Ivo            readings 3, 4
        readings 1, 2                                   inspection 7  emergency  cancelled
      inspection 9  fire        scheduled             building 5  Größe Straße
    building 2  Mill Court                              inspection 8  annual     (null)     Ivo
      inspection 3  fire        scheduled  Ines
      inspection 4  annual      scheduled             inspectors  1 Ines Vega  2 Ivo Kral  3 Uma Öz
    building 3  Depot 100%
      inspection 5  structural  in_progress  Uma
    building 6  Vacant Lot

    grants   root -> ada  buildings 1 and 5             ada -> moe  building 1 and inspection 3
             root -> bob  inspection 3                  bob -> max  building 4

So moe sees inspection 3 without its building 2, and mia sees nothing. ada reads building 5 of the other client and
its inspection 8, without write access. bob reads inspection 3 of the other client. No row has the id 999.

    schedules  1 building 1    2 building 4    3 building 5    4 building 2: all have ended
    plans      of inspections 2, 3, 6, 8: that of 3 is open
    findings   1 inspection 2    2 inspection 6    3 inspection 3    4 inspection 8, with one event each
"""

import gc
import json
import os
import pathlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from urllib.parse import quote

import pytest
from hypothesis import settings

from engine.maintenance.import_export import archive_tables
from engine.query.catalog import catalog
from engine.schema import migrations
from tests.support import databases, tokens
from tests.support.applications import import_rows, import_world, open_app, refuse_write, reused_app, shared_worlds
from tests.support.set_clock import SetClock

DATASET = pathlib.Path(__file__).parent / "data" / "dataset.json"

RESOURCES = tuple(archive_tables())
"""The tables whose rows requests write: all except the audit log."""

WRITABLE = tuple(table for table in RESOURCES if not catalog().relations[table].model.written_by_service)
"""The tables that super admins write."""

READS = ("GET", "HEAD", "OPTIONS")

READ_ONLY_FUNCTIONS = (
    "get_inspections_dashboard_summary_fast",
    "get_building_stats_chart_fast",
    "get_building_stats",
    "check_building_access_v2",
    "check_inspection_access",
    "explain_building_access",
    "explain_inspection_access",
    "preview_schedule",
    "get_due_summary",
    "lead_summary",
    "report_gaps",
    "verify_report",
)


os.environ["TIMEZONE"] = "UTC"  # of every application and server of the tests, wherever they run

pytest_plugins = ["tests.support.tiers", "tests.support.browsers"]

# The duration of an example depends on the machine.
settings.register_profile("walkthrough", deadline=None)
settings.load_profile("walkthrough")


def pytest_configure() -> None:
    # Thousands of collected tests stay in memory: garbage is collected less often.
    gc.set_threshold(10_000, 20, 100)
    databases.extend_time_limits()


def pytest_sessionfinish() -> None:
    databases.close_all()


@dataclass(frozen=True, slots=True)
class Person:
    """A user of the data set, who sends requests with a sessionless token."""

    id: str
    role: str
    client_id: int | None = None

    def authorization(self) -> str | None:
        return f"Bearer {tokens.token_for(self.id, self.role, self.client_id)}"


@dataclass(frozen=True, slots=True)
class Bearer:
    """A sender with a given Authorization header, or without one."""

    header: str | None

    def authorization(self) -> str | None:
        return self.header


def uuid(tail: str) -> str:
    return f"00000000-0000-4000-8000-0000000000{tail}"


CAST: dict[str, Person | Bearer] = {
    "root": Person(uuid("01"), "super_admin"),
    "ada": Person(uuid("11"), "client_admin", 1),
    "bob": Person(uuid("21"), "client_admin", 2),
    "moe": Person(uuid("12"), "client_manager", 1),
    "mia": Person(uuid("13"), "client_manager", 1),
    "max": Person(uuid("22"), "client_manager", 2),
    "nobody": Bearer(None),
    "service": Bearer(f"Bearer {tokens.SERVICE_KEY}"),
}

ROOT, ADA, BOB, MOE, MIA, MAX = (CAST[name].id for name in ("root", "ada", "bob", "moe", "mia", "max"))
UNKNOWN_USER_ID = uuid("99")  # a well-formed id that belongs to no user


@dataclass(frozen=True, slots=True)
class Response:
    """A response as a client sees it."""

    status: int
    headers: object
    text: str

    @property
    def json(self) -> object:
        return json.loads(self.text)

    @property
    def code(self) -> str | None:
        body = self.json
        return body.get("code") if isinstance(body, dict) else None

    @property
    def message(self) -> str | None:
        return self.json.get("message")

    @property
    def refusal(self) -> tuple[int, str | None, str | None]:
        """Status, code and message of an error."""
        return (self.status, self.code, self.message)

    @property
    def whole(self) -> tuple:
        """All that a client sees of the response: the values of two equal responses are equal.

        The date is excluded, and the location of the content, which repeats the request.
        """
        headers = sorted(
            (name.lower(), value)
            for name, value in self.headers.items()
            if name.lower() not in ("date", "content-location")
        )
        return (self.status, headers, self.text)

    @property
    def total(self) -> str:
        """The part of Content-Range after the slash."""
        return self.headers["Content-Range"].split("/")[1]


@dataclass(slots=True)
class Database:
    """A database with its application. `pristine` is the shared application, which only answers reads."""

    open_own: Callable[[], object]
    pristine: object | None = None
    own: object | None = field(default=None)

    def app_for(self, method: str, path: str) -> object:
        """Return the shared application until the test's first write, and the test's own afterwards."""
        if self.own is None and (self.pristine is None or not reads_only(method, path)):
            self.own = self.open_own()
        return self.own or self.pristine


def reads_only(method: str, path: str) -> bool:
    called = path.partition("?")[0].rpartition("/rpc/")[2]
    return method in READS or (method == "POST" and called in READ_ONLY_FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Api:
    """Requests of one sender to one database."""

    database: Database
    person: Person | Bearer

    def get(self, path: str, **options: object) -> Response:
        return self.send("GET", path, **options)

    def head(self, path: str, **options: object) -> Response:
        return self.send("HEAD", path, **options)

    def post(self, path: str, body: object = None, **options: object) -> Response:
        return self.send("POST", path, body, **options)

    def patch(self, path: str, body: object = None, **options: object) -> Response:
        return self.send("PATCH", path, body, **options)

    def put(self, path: str, body: object = None, **options: object) -> Response:
        return self.send("PUT", path, body, **options)

    def delete(self, path: str, body: object = None, **options: object) -> Response:
        return self.send("DELETE", path, body, **options)

    def rpc(self, name: str, arguments: dict | None = None, method: str = "POST", **options: object) -> Response:
        """Call a function; with `method="GET"` the arguments are sent in the query string."""
        if method != "GET":
            return self.send(method, f"/rpc/{name}", arguments or {}, **options)
        query = "&".join(f"{key}={quote(str(value))}" for key, value in (arguments or {}).items())
        return self.send("GET", f"/rpc/{name}?{query}", **options)

    def send(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        prefer: str | None = None,
        accept: str | None = None,
        content_type: str | None = "application/json",
        headers: dict[str, str | None] | None = None,
        environ: dict[str, str] | None = None,
    ) -> Response:
        """Send one request. Text and bytes are sent unchanged, other values as JSON.

        A header of None is left out. `environ` replaces WSGI variables, for values that a client cannot send.
        """
        sent: dict[str, str | None] = {"apikey": tokens.ANON_KEY, "Accept": accept or "*/*"}
        if authorization := self.person.authorization():
            sent["Authorization"] = authorization
        if prefer:
            sent["Prefer"] = prefer
        if body is not None and content_type:
            sent["Content-Type"] = content_type
        sent = {k: v for k, v in {**sent, **(headers or {})}.items() if v is not None}
        raw = body if body is None or isinstance(body, (str, bytes)) else json.dumps(body)
        app = self.database.app_for(method, path)
        answer = app.test_client().open(path, method=method, headers=sent, data=raw, environ_overrides=environ or {})
        return Response(answer.status_code, answer.headers, answer.get_data(as_text=True))


@pytest.fixture(autouse=databases.SERVER is not None)
def released_databases(tmp_path: pathlib.Path) -> Iterator[None]:
    """Release the test's databases on the server for the next test."""
    yield
    databases.release_databases_below(tmp_path)


@pytest.fixture
def register(monkeypatch: pytest.MonkeyPatch) -> Callable[[migrations.Migration], None]:
    """`register(migration)` appends a migration until the end of the test."""

    def append(migration: migrations.Migration) -> None:
        monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, migration))

    return append


@pytest.fixture(scope="session")
def base_file(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The data set, imported once into a file that tests copy."""
    file = tmp_path_factory.mktemp("base") / "base.db"
    app = open_app(file)
    import_rows(app, DATASET)
    databases.close_for_copy(app, file)
    return file


@pytest.fixture(scope="session")
def pristine(base_file: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> object:
    """An application over a copy that no test writes to."""
    file = tmp_path_factory.mktemp("pristine") / "walkthrough.db"
    databases.copy(base_file, file)
    return open_app(file)


@pytest.fixture
def database(base_file: pathlib.Path, pristine: object, tmp_path: pathlib.Path) -> Iterator[Database]:
    """The data set: shared for reading, an own copy from the first write on."""
    with ExitStack() as lent:

        def open_own() -> object:
            file = tmp_path / "walkthrough.db"
            databases.copy(base_file, file)
            return lent.enter_context(reused_app(file))

        yield Database(open_own, pristine)


def api_over(database: Database) -> Callable[[str | Person | Bearer], Api]:
    def api(who: str | Person | Bearer) -> Api:
        return Api(database, CAST[who] if isinstance(who, str) else who)

    return api


@pytest.fixture
def api(database: Database) -> Callable[[str | Person | Bearer], Api]:
    """`api("moe")` sends requests as moe, `api(Person(…))` as any user."""
    return api_over(database)


@pytest.fixture
def world(tmp_path: pathlib.Path) -> Iterator[Callable[..., Callable]]:
    """`world(rows)` creates a database of any tables and rows and returns its `api`.

    A missing table is empty; `config` has settings of the service. The clock shows `moment`, if there is one.
    """
    numbers = count(1)
    with ExitStack() as lent:

        def make(rows: dict[str, list[dict]], moment: str | None = None, **config: object) -> Callable:
            file = tmp_path / f"world{next(numbers)}.db"
            app = open_app(file, **config) if config else lent.enter_context(reused_app(file))
            import_world(app, file, rows)
            if moment is not None:
                app.extensions["walkthrough"].clock = SetClock(moment)
            return api_over(Database(lambda: app, None, app))

        yield make


@pytest.fixture(scope="module")
def shared_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Callable]]:
    """As `world`, for tests that only read: the tests of a module share a database of the same rows."""
    with shared_worlds(tmp_path_factory.mktemp("shared")) as app_over:
        yield lambda rows: api_over(Database(refuse_write, app_over(rows)))


@pytest.fixture(scope="module")
def unchanging_api(base_file: pathlib.Path, tmp_path_factory: pytest.TempPathFactory) -> Callable:
    """An `api` over one database for all tests of a module that must not change it.

    Tests compare `dump` before and after, so the first test that changes a row fails.
    """
    file = tmp_path_factory.mktemp("unchanging") / "walkthrough.db"
    databases.copy(base_file, file)
    app = open_app(file)
    return api_over(Database(lambda: app, None, app))


def dump(api: Callable) -> dict[str, list[str]]:
    """Return all rows of all resources as stored, with hidden columns."""
    stored = api("root").database.app_for("GET", "/").extensions["walkthrough"]
    with stored.reading() as transaction:
        return {
            table: sorted(str(tuple(row)) for row in transaction.all(f"SELECT * FROM {table}")) for table in RESOURCES
        }


def ids(response: Response) -> set:
    """Return the ids of a list of rows; assert that none repeats."""
    assert response.status in (200, 206), response.text
    found = [row["id"] for row in response.json]
    assert len(found) == len(set(found)), f"a row twice: {found}"
    return set(found)


def privilege(table: str) -> tuple[int, str, str]:
    """Return the error of a write without the privilege on the table."""
    return (403, "42501", f"permission denied for table {table}")


def rule(table: str) -> tuple[int, str, str]:
    """Return the error of a row that would be out of the writer's scope."""
    return (403, "42501", f'new row violates row-level security policy for table "{table}"')


def pytest_xdist_auto_num_workers() -> int:
    """Return two processes for each core, since some tests wait for servers and browsers."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return 2 * (cores or 1)

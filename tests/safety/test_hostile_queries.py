"""The costliest legal queries end within their time, memory and size limits.

docs/DIALECT.md states the limits. Time is thread CPU time, so other load does not count. Memory is the growth of
RssAnon during the query.
"""

import inspect
import pathlib
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from engine.interface.database import WRITE_WAIT_SECONDS_MAX
from engine.storage.database import SqliteDatabase
from postgres.database import ServerDatabase
from tests.safety import service_instances
from tests.safety.service_instances import HttpResponse, ServiceInstance, make_request, open_instance
from tests.support import databases, tokens
from tests.support.columns import MODELLED_TABLES
from tests.support.cpu_time import cpu_time
from tests.support.worlds import CREATED_AT, building_row, user_row

END_SECONDS_MAX = 2.2
SHORT_LIMIT_SECONDS = 0.5
MARGIN_SECONDS = 1.8  # work after the query on the slowest machine
LARGE_TEXT = "a" * 65_536
TEXT_COLUMNS = ("name", "address", "city", "state", "zip", "building_type")
ROWS = 240
MEMORY_MAX = 700 << 20
SPREAD_MEMORY_MAX = 500 << 20
RESPONSE_MAX = 32 << 20


@pytest.fixture(scope="module", autouse=True)
def shipped_time_limits() -> Iterator[None]:
    databases.restore_time_limits()
    yield
    databases.extend_time_limits()


@pytest.fixture(scope="module")
def large_rows_instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceInstance]:
    """Open an instance with 240 buildings of one client, each with six texts of 64 KiB: 94 MB."""
    with instance_of_one_client(tmp_path_factory.mktemp("large_rows")) as instance:
        world = empty_world()
        world["buildings"] = [
            {**building_row(n, 1), **dict.fromkeys(TEXT_COLUMNS, LARGE_TEXT)} for n in range(1, ROWS + 1)
        ]
        instance.load(world)
        if databases.SERVER is None:
            instance.direct_database.sql("PRAGMA wal_checkpoint(TRUNCATE)")
        yield instance


@pytest.fixture(scope="module")
def many_rows_instance(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceInstance]:
    """Open an instance with 1,000 buildings of 40 inspections each, all by one inspector."""
    with instance_of_one_client(tmp_path_factory.mktemp("many_rows")) as instance:
        world = empty_world()
        world["buildings"] = [building_row(n, 1) for n in range(1, 1_001)]
        world["inspections"] = [inspection(n, n % 1_000 + 1) for n in range(1, 40_001)]
        instance.load(world)
        yield instance


@contextmanager
def instance_of_one_client(directory: pathlib.Path) -> Iterator[ServiceInstance]:
    """Open an instance with a running clock, whose rows all belong to client 1."""
    with pytest.MonkeyPatch.context() as patch, open_instance(directory / "walkthrough.db") as instance:
        patch.setattr(service_instances, "OWNERS", {table: lambda *_: 1 for table in service_instances.OWNERS})
        instance.app.extensions["walkthrough.clock"] = time.time
        yield instance


def empty_world() -> dict:
    world: dict = {table: [] for table in MODELLED_TABLES}
    times = {"created_at": CREATED_AT, "updated_at": CREATED_AT}
    world["clients"] = [{"id": 1, "name": "one", **times}]
    world["users"] = [user_row(0, "super_admin", None), user_row(1, "client_admin", 1)]
    world["inspectors"] = [{"id": 1, "name": "only", "email": None}]
    return world


def inspection(number: int, building_id: int) -> dict:
    return {
        "id": number,
        "building_id": building_id,
        "inspection_type": "fire",
        "date_visited": "2025-01-01",
        "status": "completed",
        "inspector_id": 1,
        "notes": f"notes {number}",
        "created_at": CREATED_AT,
        "updated_at": CREATED_AT,
    }


USERS = {"root": user_row(0, "super_admin", None), "admin": user_row(1, "client_admin", 1)}


def send(
    instance: ServiceInstance, who: str, method: str, path: str, body: object = None
) -> tuple[HttpResponse, float]:
    user = USERS[who]
    bearer = tokens.token_for(user["id"], user["role"], user["client_id"])
    with cpu_time() as seconds:
        response = instance.send(bearer, make_request(method, path, body))
    return response, seconds[0]


def anonymous_memory() -> int:
    lines = pathlib.Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) << 10


@contextmanager
def memory_peak() -> Iterator[list[int]]:
    """Yield the peak growth of anonymous memory, in bytes, while the block runs."""
    peak, stopped, initial = [0], threading.Event(), anonymous_memory()

    def sample() -> None:
        while not stopped.wait(0.005):
            peak[0] = max(peak[0], anonymous_memory() - initial)

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        yield peak
    finally:
        stopped.set()
        sampler.join()


PATTERN = "*" + "a" * 253 + "b"  # 25 ms a value: a near match at every position of the text
COSTLY_FILTERS = {
    "100-patterns": "&".join([f"name=like.{PATTERN}"] * 100),
    "100-folded-patterns": "or=(" + ",".join([f"name.ilike.{PATTERN}"] * 99) + ")",
    "250-alternatives": f"name=like(any).{{{','.join([PATTERN[:240] + str(n) for n in range(250)])}}}",
    "100-expressions": "&".join(["name=match.(.*a.*){30}b"] * 100),
    "expressions-with-many-states": "&".join(f"city=not.match.(a%7B0,{20 + n}%7Db?)%7B9%7Dc" for n in range(60)),
}


@pytest.fixture
def short_time_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the time limits of reads and writes to a quarter, so that the tests are fast."""
    writing = inspect.unwrap(SqliteDatabase.writing)
    for kind in (SqliteDatabase, ServerDatabase):
        monkeypatch.setattr(kind.reading, "__defaults__", (SHORT_LIMIT_SECONDS,))
    monkeypatch.setattr(writing, "__defaults__", (2 * SHORT_LIMIT_SECONDS, WRITE_WAIT_SECONDS_MAX))


@pytest.mark.usefixtures("short_time_limits")
@pytest.mark.parametrize("who", ["admin", "root"])
@pytest.mark.parametrize("query", COSTLY_FILTERS.values(), ids=COSTLY_FILTERS)
def test_costly_filter_ends_within_time_limit(large_rows_instance: ServiceInstance, query: str, who: str) -> None:
    response, seconds = send(large_rows_instance, who, "GET", f"/buildings?select=id&{query}")

    assert (response.status, response.code) == (500, "57014") or response.status == 200, response
    assert seconds < 2 * SHORT_LIMIT_SECONDS


def test_costly_filter_times_out_at_default_limit(large_rows_instance: ServiceInstance) -> None:
    response, seconds = send(large_rows_instance, "admin", "GET", f"/buildings?{COSTLY_FILTERS['100-patterns']}")

    assert (response.status, response.code) == (500, "57014"), response
    assert seconds < END_SECONDS_MAX + MARGIN_SECONDS


@pytest.mark.usefixtures("short_time_limits")
def test_timed_out_write_changes_nothing(large_rows_instance: ServiceInstance) -> None:
    query = COSTLY_FILTERS["100-patterns"]
    path = f"/buildings?{query.replace('name=like', 'name=not.like')}"

    response, seconds = send(large_rows_instance, "admin", "PATCH", path, {"units": 77})

    if response.status == 204:
        pytest.skip("the machine completes the write within the limit")
    assert (response.status, response.code) == (500, "57014")
    assert seconds < 3 * SHORT_LIMIT_SECONDS
    assert large_rows_instance.direct_database.sql("SELECT count(*) FROM buildings WHERE units = 77") == [(0,)]
    other, _ = send(large_rows_instance, "admin", "POST", "/inspections", {"building_id": 1, "inspection_type": "x"})
    assert other.status == 201, "the timed out write still holds the writer lock"


LARGE_RESPONSES = {
    "many-large-rows": "/buildings?select=*",
    "one-large-row": "/clients?select=*,buildings(*)",
    "large-rows-of-large-rows": "/buildings?select=id,clients(buildings(*))",
    "cyclic": "/clients?select=buildings(*,clients(*,buildings(*,clients(*,buildings(*)))))",
    "spread": "/buildings?select=*,...clients(clients_name:name)",
    "spread-many": "/clients?select=...buildings(*)",
    "csv": "/buildings",
}


@pytest.mark.skipif(sys.platform != "linux", reason="memory is read from /proc")
@pytest.mark.parametrize("who", ["admin", "root"])
@pytest.mark.parametrize("path", LARGE_RESPONSES.values(), ids=LARGE_RESPONSES)
def test_oversized_response_is_refused_within_memory_limit(
    large_rows_instance: ServiceInstance, path: str, who: str
) -> None:
    with memory_peak() as peak:
        response, seconds = send(large_rows_instance, who, "GET", path)

    # The service does not wait for a busy server that cancels late (postgres/session.py).
    unavailable = [] if databases.SERVER is None else [(503, "08006")]
    assert (response.status, response.code) in ((400, "54000"), (500, "57014"), *unavailable), response
    assert seconds < END_SECONDS_MAX + MARGIN_SECONDS
    assert peak[0] < (SPREAD_MEMORY_MAX if "..." in path else MEMORY_MAX)


@pytest.fixture
def extended_time_limits() -> Iterator[None]:
    databases.extend_time_limits()
    yield
    databases.restore_time_limits()


@pytest.mark.usefixtures("extended_time_limits")
def test_oversized_row_and_oversized_result_get_same_error(large_rows_instance: ServiceInstance) -> None:
    """One row that is too large and too many rows get the same response."""
    one, _ = send(large_rows_instance, "root", "GET", "/clients?select=buildings(name,address,city)")
    many, _ = send(large_rows_instance, "root", "GET", "/buildings?select=name,address,city")

    assert one.status == many.status == 400
    assert one.body == many.body


def test_response_below_size_limit_succeeds(large_rows_instance: ServiceInstance) -> None:
    with memory_peak() as peak:
        response, _ = send(large_rows_instance, "root", "GET", "/buildings?select=*&limit=80")

    assert response.status == 200
    assert 30 << 20 < len(response.body) < RESPONSE_MAX
    assert peak[0] < 200 << 20


DEEP_EMBEDS = {
    "five-deep": "/clients?select=*,buildings(*,inspections(*,inspectors(*,inspections(*,buildings(*)))))",
    "cyclic": "/inspectors?select=inspections(inspectors(inspections(inspectors(inspections(id)))))",
    "cross-product": "/buildings?select=clients(buildings(clients(buildings(id))))",
    "counted": "/clients?select=buildings(inspections(buildings(inspections(buildings(count())))))",
    "inner": "/buildings?select=id,clients!inner(buildings!inner(inspections!inner(buildings!inner(id))))"
    "&clients.buildings.inspections.notes=ilike.*z*",
    "ordered": "/inspections?select=id,buildings(name,clients(name))&order=notes.desc,buildings(name)",
    "spread": "/clients"
    "?select=...buildings(name,...inspections(notes,...inspectors(name,...inspections(notes,...buildings(*)))))",
    "spread-cyclic": "/inspectors"
    "?select=...inspections(id,...inspectors(...inspections(...inspectors(...inspections(id)))))",
}


@pytest.mark.usefixtures("short_time_limits")
@pytest.mark.parametrize("path", DEEP_EMBEDS.values(), ids=DEEP_EMBEDS)
def test_deep_embed_ends_within_time_limit(many_rows_instance: ServiceInstance, path: str) -> None:
    require_bounded(many_rows_instance, path, SHORT_LIMIT_SECONDS + MARGIN_SECONDS)


def test_deep_embed_ends_within_default_time_limit(many_rows_instance: ServiceInstance) -> None:
    require_bounded(many_rows_instance, DEEP_EMBEDS["five-deep"], END_SECONDS_MAX + MARGIN_SECONDS)


def require_bounded(many_rows_instance: ServiceInstance, path: str, seconds_max: float) -> None:
    with memory_peak() as peak:
        response, seconds = send(many_rows_instance, "admin", "GET", path)

    assert (response.status, response.code if response.status != 200 else None) in (
        (200, None),
        (400, "54000"),
        (500, "57014"),
    )
    assert seconds < seconds_max
    assert peak[0] < MEMORY_MAX


def test_worker_serves_after_deep_embeds(many_rows_instance: ServiceInstance) -> None:
    response, _ = send(many_rows_instance, "admin", "GET", "/inspections?select=id&limit=1")

    assert response.status == 200


# ── each limit at its last legal value and one beyond (P04) ─────────────────────────────────────────────

FIVE_EMBEDS = "inspections(buildings(inspections(buildings(inspections(id)))))"
LIMITS = {
    "embeds": (f"/buildings?select={FIVE_EMBEDS}", f"/inspections?select=buildings({FIVE_EMBEDS})", "5"),
    "logic": ("/buildings?and=" + "(or" * 9 + "(id.eq.1,id.eq.2)" + ")" * 9, None, "10"),
    "conditions": ("/buildings?" + "&".join(["id=gt.0"] * 100), "/buildings?" + "&".join(["id=gt.0"] * 101), "100"),
    "list": (
        f"/buildings?id=in.({','.join(map(str, range(1_000)))})",
        f"/buildings?id=in.({','.join(map(str, range(1_001)))})",
        "1000",
    ),
    "pattern": (f"/buildings?name=like.{'x' * 256}", f"/buildings?name=like.{'x' * 257}", "256"),
    "order": (
        f"/buildings?order={','.join(['id'] * 16)}",
        f"/buildings?order={','.join(['id'] * 17)}",
        "16",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("within", "beyond", "limit"), LIMITS.values(), ids=LIMITS)
@pytest.mark.attack(entry="P04")
def test_limit_is_enforced_and_named_in_error(
    many_rows_instance: ServiceInstance, within: str, beyond: str | None, limit: str
) -> None:
    allowed, _ = send(many_rows_instance, "root", "GET", f"{within}&limit=1" if "?" in within else within)

    assert allowed.status in (200, 400, 500), allowed
    assert allowed.code in ("57014", "54000") if allowed.status != 200 else True, allowed
    if beyond is not None:
        refused, seconds = send(many_rows_instance, "root", "GET", beyond)
        assert refused.status == 400
        assert limit in refused.json["message"].replace(",", "")
        assert seconds < MARGIN_SECONDS


@pytest.mark.attack(entry="P04")
def test_query_at_all_limits_ends_within_time_limit(many_rows_instance: ServiceInstance) -> None:
    conditions = "&".join(f"inspections.notes=ilike.*{n}z*" for n in range(90))
    path = (
        f"/buildings?select={FIVE_EMBEDS}&{conditions}&order={','.join(['name', 'city'] * 8)}"
        f"&id=in.({','.join(map(str, range(1_000)))})"
    )

    response, seconds = send(many_rows_instance, "admin", "GET", path)

    assert response.status in (200, 400, 500), response
    assert seconds < END_SECONDS_MAX + MARGIN_SECONDS


# ── control: the tests above fail without the time limit ─────────────────────────────────────────────────


@pytest.mark.sqlite("PostgreSQL enforces its own time limit")
def test_read_completes_without_time_limit(
    large_rows_instance: ServiceInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Control: a read completes without a limit, and is stopped with an eighth of the time that it took."""
    path = f"/buildings?select=id&name=not.like.{PATTERN}&limit=90"
    with monkeypatch.context() as patch:
        large_rows_instance.app.extensions["walkthrough"].close()
        patch.setattr("engine.storage.sqlite.Connection.overdue", lambda self: 0)
        patch.setattr("engine.storage.sqlite.Connection.in_time", lambda self: 1)
        unlimited_response, seconds = send(large_rows_instance, "admin", "GET", path)
    large_rows_instance.app.extensions["walkthrough"].close()

    monkeypatch.setattr(SqliteDatabase.reading, "__defaults__", (seconds / 8,))
    limited_response, _ = send(large_rows_instance, "admin", "GET", path)

    assert unlimited_response.status == 200
    assert (limited_response.status, limited_response.code) == (500, "57014")

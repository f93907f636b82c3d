"""Attack catalogue: what is decided while others wait, over two workers. A test's number is the catalogue's.

W16 has one process, whose queue of writers is in order; W17 and G10 have the service as it is run. That
hidden rows decide no time-out (the rest of O15) is counted in engine/test_step_counts.py.
"""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path

import pytest

from routes import resource
from tests.conftest import ADA, MIA, MOE, Api, Database, Response, api_over, dump
from tests.durability.served import Consumer, Served, serving
from tests.http.service import served_over
from tests.support import databases
from tests.support.applications import open_app
from tests.support.raw import workers_by_port
from tests.support.waiting import until

pytestmark = pytest.mark.slow

TO_MANAGERS = "/client_manager_building_access"


@pytest.fixture
def own(base_file: Path, tmp_path: Path) -> Callable[[str], Api]:
    """An `api` over a database of one's own, reads and all."""
    file = tmp_path / "own.db"
    databases.copy(base_file, file)
    app = open_app(file)
    return api_over(Database(lambda: app, None, app))


@pytest.fixture(scope="module")
def service(base_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("concurrent") / "served"
    with serving(served_over(base_file, directory)) as running:
        yield running


def database_of(api: Callable) -> object:
    """Return the database of the application."""
    return api("root").database.app_for("GET", "/").extensions["walkthrough"]


# O15: timeouts reveal nothing about rows


@pytest.mark.attack(entry="O15")
def test_lock_timeout_has_one_response(own: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "writing", partial(resource.writing, 0.05))
    paths = ("/buildings?id=eq.1", "/buildings?id=eq.4", "/buildings?id=eq.999")

    with databases.hold_lock_of_app(database_of(own)):
        answers = [own("ada").patch(path, {"name": "Late"}) for path in paths]

    assert (answers[0].status, answers[0].headers["Retry-After"]) == (503, "1")
    assert answers[0].json == {
        "code": "55P03",
        "message": "canceling statement due to lock timeout",
        "details": None,
        "hint": "Another write is under way; try again.",
    }
    assert [answer.whole for answer in answers] == [answers[0].whole] * 3


@pytest.mark.parametrize("who", ["root", "moe"])
@pytest.mark.attack(entry="O15")
def test_statement_timeout_has_one_response(own: Callable, who: str, monkeypatch: pytest.MonkeyPatch) -> None:
    kind = type(database_of(own))
    real = kind.reading
    monkeypatch.setattr(kind, "reading", lambda database, **_: real(database, seconds_max=-1.0))
    deep = "buildings(inspections(buildings(inspections(buildings(*)))))"

    answer = own(who).get(f"/inspections?select=*,{deep}", prefer="count=exact")

    assert (answer.status, answer.headers.get("Content-Range")) == (500, None)
    assert answer.json == {
        "code": "57014",
        "message": "canceling statement due to statement timeout",
        "details": None,
        "hint": None,
    }


# W16: rights that are lost while a write waits for the lock


def send_in_order(api: Callable, asked: list[Callable[[], Response]]) -> list[Response]:
    """Queue requests for the writer lock in this order, release it, and return the responses."""
    with ThreadPoolExecutor(len(asked)) as pool:
        with databases.hold_lock_of_app(database_of(api)) as count:
            waiting = []
            for position, ask in enumerate(asked, start=1):
                waiting.append(pool.submit(ask))
                until(lambda position=position: count() == position)
        return [each.result(20) for each in waiting]


KEPT = ("/buildings", "/inspections", f"{TO_MANAGERS}?select=manager_id,building_id")

DEMOTED = ("patch", f"/users?id=eq.{ADA}", {"role": "client_manager"})
MOVED_AWAY = ("patch", f"/users?id=eq.{ADA}", {"client_id": 2})
GONE = ("delete", f"/users?id=eq.{ADA}", None)
DISABLED = ("put", f"/auth/v1/admin/users/{ADA}", {"ban_duration": "24h"})
BUILDING_MOVED = ("patch", "/buildings?id=eq.1", {"client_id": 2})
MANAGER_MOVED = ("patch", f"/users?id=eq.{MIA}", {"client_id": 2})

RENAME = ("patch", "/buildings?id=eq.1", {"name": "Late"})
REMOVE = ("delete", "/inspections?id=eq.1", None)
INSPECT = ("post", "/inspections", {"building_id": 1, "inspection_type": "late"})
ASSIGN = ("post", "/rpc/assign_to_client_manager", {"manager_id": MIA, "building_ids": [1], "inspection_ids": []})
GRANT = ("post", TO_MANAGERS, {"manager_id": MIA, "building_id": 1})
HIRE = ("post", "/auth/v1/admin/users", {"email": "late@acme.example"})  # fmt: skip


@pytest.mark.parametrize(
    ("change", "write"),
    [
        pytest.param(DEMOTED, RENAME, id="demoted-rename"),
        pytest.param(DEMOTED, REMOVE, id="demoted-remove"),
        pytest.param(DEMOTED, INSPECT, id="demoted-inspect"),
        pytest.param(DEMOTED, ASSIGN, id="demoted-assign"),
        pytest.param(DEMOTED, GRANT, id="demoted-grant"),
        pytest.param(DEMOTED, HIRE, id="demoted-hire"),
        pytest.param(MOVED_AWAY, RENAME, id="moved-rename"),
        pytest.param(GONE, INSPECT, id="gone-inspect"),
        pytest.param(DISABLED, GRANT, id="disabled-grant"),
    ],
)
@pytest.mark.attack(entry="W16")
def test_rights_lost_while_waiting_for_the_lock_are_refused(own: Callable, change: tuple, write: tuple) -> None:
    untouched = [json_of(own, path) for path in KEPT]

    first, second = send_in_order(own, [partial(send, own("root"), *change),
                                       partial(send, own("ada"), *write)])  # fmt: skip

    assert first.status in (200, 204)
    assert second.status in ((401,) if "/auth/v1" not in write[1] else (403,)), second.text
    assert [json_of(own, path) for path in KEPT] == untouched
    assert json_of(own, "/users?email=eq.late@acme.example") == []


@pytest.mark.parametrize(
    ("change", "write", "status", "code"),
    [
        pytest.param(BUILDING_MOVED, RENAME, 200, None, id="rename"),
        pytest.param(BUILDING_MOVED, REMOVE, 200, None, id="remove"),
        pytest.param(BUILDING_MOVED, INSPECT, 403, "42501", id="inspect"),
        pytest.param(BUILDING_MOVED, ASSIGN, 403, "42501", id="assign"),
        pytest.param(BUILDING_MOVED, GRANT, 403, "42501", id="grant"),
        pytest.param(MANAGER_MOVED, GRANT, 403, "42501", id="grantee-moved"),
        pytest.param(MANAGER_MOVED, ASSIGN, 400, "23514", id="assignee-moved"),
    ],
)
@pytest.mark.attack(entry="W16")
def test_row_lost_while_waiting_for_the_lock_is_not_matched(
    own: Callable, change: tuple, write: tuple, status: int, code: str | None
) -> None:
    inspections = json_of(own, "/inspections")

    first, second = send_in_order(own, [partial(send, own("root"), *change),
                                       partial(send, own("ada"), *write)])  # fmt: skip

    assert first.status == 200
    assert second.status == status, second.text
    assert second.json == [] if code is None else second.code == code
    assert json_of(own, "/inspections") == inspections
    assert json_of(own, "/buildings?name=eq.Late") == []
    assert json_of(own, f"{TO_MANAGERS}?manager_id=eq.{MIA}") == []


def send(api: Api, method: str, path: str, body: object) -> Response:
    return api.send(method.upper(), path, body, prefer="return=representation")


def json_of(api: Callable, path: str) -> object:
    return api("root").get(path).json


# W17: two at once, and the same twice


@pytest.mark.attack(entry="W17")
def test_concurrent_patches_are_atomic_and_the_last_wins(service: Served) -> None:
    start = threading.Barrier(4)

    def rename(name: str) -> list[int]:
        with closing(service.consumer("ada")) as consumer:
            start.wait(10)
            row = dict.fromkeys(("name", "address", "city"), name)
            return [consumer.send("PATCH", "/buildings?id=eq.1", row).status for _ in range(15)]

    def read(_: str) -> list[tuple]:
        with closing(service.consumer("ada")) as consumer:
            start.wait(10)
            path = "/buildings?id=eq.1&select=name,address,city"
            seen = [consumer.send("GET", path).json[0] for _ in range(30)]
            return [tuple(row.values()) for row in seen]

    with ThreadPoolExecutor(4) as pool:
        done = [pool.submit(work, name) for work, name in ((rename, "left"), (rename, "right"), (read, ""), (read, ""))]
        left, right, *seen = [each.result(60) for each in done]

    assert left + right == [204] * 30
    whole = {("left",) * 3, ("right",) * 3}
    assert {row for rows in seen for row in rows if row[0] in ("left", "right")} <= whole
    with closing(service.consumer("ada")) as consumer:
        [row] = consumer.send("GET", "/buildings?id=eq.1&select=name,address,city").json
    assert tuple(row.values()) in whole


@pytest.mark.attack(entry="W17")
def test_concurrent_repeated_grants_succeed(api: Callable) -> None:
    grant, ignoring = {"manager_id": MIA, "building_id": 2}, "resolution=ignore-duplicates"
    assignment = {"manager_id": MIA, "building_ids": [3], "inspection_ids": [1]}
    assert api("ada").post(TO_MANAGERS, grant).status == 201
    assert api("ada").rpc("assign_to_client_manager", assignment).status == 200
    once = dump(api)

    twice = api("ada").post(TO_MANAGERS, grant)
    ignored = api("ada").post(TO_MANAGERS, grant, prefer=ignoring)
    assigned = api("ada").rpc("assign_to_client_manager", assignment)

    assert (twice.status, twice.code) == (409, "23505")
    assert ignored.status in (200, 201)
    assert (assigned.json["already_assigned"], assigned.json["assigned_buildings"]) == (2, 0)
    assert dump(api) == once


# G10, T09: nothing that one worker ended lives on in the other


@pytest.mark.attack(entry="G10")
def test_revocation_takes_effect_at_the_next_request_in_both_workers(service: Served) -> None:
    grant = f"{TO_MANAGERS}?manager_id=eq.{MOE}&building_id=eq.1"
    with ExitStack() as stack:
        readers = one_in_each_worker(service, stack, "moe")
        ada = stack.enter_context(closing(service.consumer("ada")))
        for _ in range(5):
            assert [ids_seen(reader) for reader in readers] == [[1], [1]]

            assert ada.send("DELETE", grant).status == 204

            assert [ids_seen(reader) for reader in readers] == [[], []]
            row = {"manager_id": MOE, "building_id": 1}
            assert ada.send("POST", TO_MANAGERS, row).status == 201


@pytest.mark.attack(entry="G10")
def test_demotion_takes_effect_at_the_next_request_in_both_workers(service: Served) -> None:
    with ExitStack() as stack:
        readers = one_in_each_worker(service, stack, "bob")
        root = stack.enter_context(closing(service.consumer("root")))
        assert [reader.send("GET", "/buildings").status for reader in readers] == [200, 200]

        demoted = root.send("PATCH", "/users?email=eq.bob@borough.example", {"role": "client_manager"})

        assert demoted.status == 204
        for path in ("/buildings", "/rpc/get_inspections_dashboard_summary_fast"):
            assert [reader.send("GET", path).status for reader in readers] == [401, 401]


def ids_seen(reader: Consumer) -> list[int]:
    return [row["id"] for row in reader.send("GET", "/buildings?select=id").json]


def one_in_each_worker(service: Served, stack: ExitStack, who: str) -> list[Consumer]:
    """Connections until each worker holds one: the kernel deals them out by their ports."""
    found: dict[int, Consumer] = {}
    for _ in range(100):
        consumer = stack.enter_context(closing(service.consumer(who)))
        assert consumer.send("GET", "/live").status == 200
        own_port = consumer.connection.sock.getsockname()[1]
        found.setdefault(workers_by_port(service)[own_port], consumer)
        if len(found) == len(service.workers()) == 2:
            return list(found.values())
    raise AssertionError("the kernel gave every connection to one worker")

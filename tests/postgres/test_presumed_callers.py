"""A read takes one round trip: its caller is presumed, and looked up by the same pipeline. A change counts at once."""

from __future__ import annotations

import pathlib
from collections.abc import Callable

import pytest

from engine.postgres.session import ServerSession
from engine.postgres.transaction import ServerTransaction
from tests.access.api_keys import make
from tests.conftest import ADA, MOE
from tests.support.signin import Service, open_service

pytestmark = pytest.mark.server("a file has no round trips")

READS = [
    pytest.param("GET", "/buildings", id="rows"),
    pytest.param("HEAD", "/buildings", id="head"),
    pytest.param("GET", "/buildings?select=id,inspections(id,notes)&id=gt.0", id="embed"),
    pytest.param("POST", "/rpc/get_due_summary", id="function"),
    pytest.param("GET", "/buildings?id=eq.x", id="error of the server"),
    pytest.param("GET", "/buildings?no_such_column=eq.1", id="error before a statement"),
    pytest.param("GET", "/buildings?id=in.()", id="no row"),
]

CHANGES = {
    "disabled": f"UPDATE credentials SET disabled_until = 9999999999 WHERE user_id = '{ADA}'",
    "another client": f"UPDATE users SET client_id = 2 WHERE id = '{ADA}'",
    "another role": f"UPDATE users SET role = 'client_manager' WHERE id = '{ADA}'",
    "deleted": f"DELETE FROM users WHERE id = '{ADA}'",
}

INSERT_GRANT = "INSERT INTO client_manager_building_access (manager_id, building_id, assigned_at) VALUES (?, ?, ?)"


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


@pytest.fixture
def round_trips(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Provide the count of waits for results since the last call."""
    waits: list[str] = []
    run, settle = ServerSession.run, ServerSession.settle

    def counted_run(self: ServerSession, sql: str, parameters: tuple = ()) -> object:
        waits.append(sql)
        return run(self, sql, parameters)

    def counted_settle(self: ServerSession) -> None:
        if not self.is_open:
            waits.append("settle")
        settle(self)

    monkeypatch.setattr(ServerSession, "run", counted_run)
    monkeypatch.setattr(ServerSession, "settle", counted_settle)

    def taken() -> int:
        count = len(waits)
        waits.clear()
        return count

    return taken


@pytest.mark.parametrize(("method", "path"), [each for each in READS if each.id in ("rows", "embed", "function")])
def test_read_takes_one_round_trip(service: Service, round_trips: Callable[[], int], method: str, path: str) -> None:
    body = {} if method == "POST" else None
    first = service.api("ada").send(method, path, body)
    round_trips()

    again = service.api("ada").send(method, path, body)

    assert (again.status, again.json) == (first.status, first.json)
    assert round_trips() == 1


def test_read_with_an_api_key_takes_one_round_trip(service: Service, round_trips: Callable[[], int]) -> None:
    key = service.api(token=make(service, "ada")["key"])
    key.get("/buildings")
    round_trips()

    assert key.get("/buildings").status == 200
    assert round_trips() == 1


def read_after_change(service: Service, method: str, path: str, change: str) -> tuple[int, int, int]:
    """Return the statuses of a caller's read before a change of the caller, and of two reads after it."""
    body = {} if method == "POST" else None
    before = [service.api("ada").send(method, path, body).status for _ in range(2)]
    service.sql(change)
    after = [service.api("ada").send(method, path, body).status for _ in range(2)]
    return before[-1], after[0], after[1]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(("method", "path"), READS)
def test_caller_who_lost_their_rights_is_refused_at_once(service: Service, method: str, path: str, change: str) -> None:
    before, *after = read_after_change(service, method, path, change)

    assert before in (200, 400)
    assert after == [401, 401]


def test_ended_session_is_refused_at_once(service: Service) -> None:
    session = service.sign_in("ada")
    signed_in = service.api(token=session["access_token"])
    assert [signed_in.get("/buildings").status for _ in range(2)] == [200, 200]

    service.sql("DELETE FROM sessions")

    assert [signed_in.get("/buildings").status for _ in range(2)] == [401, 401]


def test_revoked_api_key_is_refused_at_once(service: Service) -> None:
    key = service.api(token=make(service, "ada")["key"])
    assert [key.get("/buildings").status for _ in range(2)] == [200, 200]

    service.sql("DELETE FROM api_keys")

    assert [key.get("/buildings").status for _ in range(2)] == [401, 401]


def test_first_and_last_grant_count_at_once(service: Service) -> None:
    """The kinds of grant that a manager holds are columns of the look-up."""
    moe = service.api("moe")
    before = moe.get("/buildings?order=id").json
    assert before
    assert moe.get("/buildings?order=id").json == before
    grants = service.sql(
        "SELECT building_id, assigned_at FROM client_manager_building_access WHERE manager_id = ?", MOE
    )

    service.sql("DELETE FROM client_manager_building_access WHERE manager_id = ?", MOE)
    without = [moe.get("/buildings?order=id").json for _ in range(2)]
    for building, assigned in grants:
        service.sql(INSERT_GRANT, MOE, building, assigned)
    again = [moe.get("/buildings?order=id").json for _ in range(2)]

    assert without == [[], []]
    assert again == [before, before]


# A mutant


@pytest.mark.parametrize(("method", "path"), READS)
def test_service_that_does_not_compare_the_look_up_is_found(
    service: Service, monkeypatch: pytest.MonkeyPatch, method: str, path: str
) -> None:
    def trust(self: ServerTransaction) -> None:
        self.pending = None

    monkeypatch.setattr(ServerTransaction, "verify", trust)

    before, *after = read_after_change(service, method, path, CHANGES["disabled"])

    assert after == [before, before] != [401, 401]

"""A read looks its caller up before it runs, and runs once: a change of the caller counts at the next request."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from routes.storage import bodies as payload
from tests.access.api_keys import make
from tests.conftest import ADA, MOE, Response
from tests.support.signin import Service, reused_service
from tests.support.storage import OBJECT, Storage, at

NAME = "buildings/1/a.png"
KEY = NAME.partition("/")[2]

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
OF_ADA = f"client_admin_building_access WHERE admin_id = '{ADA}'"
STORAGE_CALLS = [
    pytest.param("POST", f"{OBJECT}/list/buildings", {"prefix": "1"}, id="list"),
    pytest.param("POST", f"{OBJECT}/list-v2/buildings", {"prefix": "1/"}, id="list-v2"),
    pytest.param("POST", at(NAME, "sign"), {"expiresIn": 60}, id="sign"),
    pytest.param("POST", f"{OBJECT}/sign/buildings", {"expiresIn": 60, "paths": [KEY]}, id="sign-all"),
]


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        assert Storage(found.api("ada")).upload(NAME).status == 200
        yield found


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

    service.sql("DELETE FROM tokens")

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


# Requests with a body


@pytest.fixture
def bodies(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Provide the bodies that views of files have read."""
    read: list[object] = []
    read_options = payload.read_options

    def counted(declared: object) -> object:
        read.append(declared)
        return read_options(declared)

    monkeypatch.setattr(payload, "read_options", counted)
    return read


def names_of(answer: Response) -> bool:
    """Return whether an answer of files names the file."""
    return KEY.rpartition("/")[2] in answer.text and '"signedURL": null' not in answer.text


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize(("method", "path", "body"), STORAGE_CALLS)
def test_call_of_files_is_refused_at_once_without_its_body(
    service: Service, bodies: list[object], method: str, path: str, body: dict, change: str
) -> None:
    ada = service.api("ada")
    assert [ada.send(method, path, body).status for _ in range(2)] == [200, 200]
    bodies.clear()

    service.sql(change)

    assert [ada.send(method, path, body).status for _ in range(2)] == [401, 401]
    assert bodies == []


@pytest.mark.parametrize(("method", "path", "body"), STORAGE_CALLS)
def test_view_of_files_runs_once_after_the_first_and_the_last_grant_of_another_row(
    service: Service, bodies: list[object], method: str, path: str, body: dict
) -> None:
    """The kinds of grant are columns of the look-up. The caller reads the file by their client."""
    ada = service.api("ada")
    statuses = [ada.send(method, path, body).status]
    grants = service.sql(f"SELECT building_id, assigned_at FROM {OF_ADA}")
    assert grants

    service.sql(f"DELETE FROM {OF_ADA}")
    answers = [ada.send(method, path, body) for _ in range(2)]
    for building, assigned in grants:
        service.sql(f"INSERT INTO {OF_ADA.split()[0]} VALUES (?, ?, NULL, ?)", ADA, building, assigned)
    answers += [ada.send(method, path, body) for _ in range(2)]

    assert statuses + [each.status for each in answers] == [200] * 5, answers[0].text
    assert all(map(names_of, answers))
    assert len(bodies) == 5


@pytest.mark.parametrize(("method", "path", "body"), STORAGE_CALLS)
def test_view_of_files_runs_once_after_the_last_grant_of_its_row(
    service: Service, bodies: list[object], method: str, path: str, body: dict
) -> None:
    moe = service.api("moe")
    assert names_of(moe.send(method, path, body))
    service.sql("DELETE FROM client_manager_building_access WHERE manager_id = ?", MOE)
    bodies.clear()

    answers = [moe.send(method, path, body) for _ in range(2)]

    assert {each.status for each in answers} <= {200, 404}
    assert not any(map(names_of, answers))
    assert len(bodies) == 2


@pytest.mark.parametrize(("method", "path", "body"), STORAGE_CALLS)
def test_call_of_files_ends_with_its_api_key_and_its_session(
    service: Service, bodies: list[object], method: str, path: str, body: dict
) -> None:
    holders = [
        service.api(token=make(service, "ada")["key"]),
        service.api(token=service.sign_in("ada")["access_token"]),
    ]
    assert [each.send(method, path, body).status for each in holders] == [200, 200]
    bodies.clear()

    service.sql("DELETE FROM tokens")
    service.sql("DELETE FROM sessions")

    assert [each.send(method, path, body).status for each in holders] == [401, 401]
    assert bodies == []

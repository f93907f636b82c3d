"""API keys of users: who makes and revokes them, and what they may do."""

import pathlib
from collections.abc import Iterator

import pytest

from access.accounts import api_key
from tests.access.api_keys import OWN, dump_of, make, of_user, read
from tests.access.test_access_matrix import READABLE
from tests.conftest import ADA, BOB, CAST, MIA, MOE, RESOURCES, ROOT, Response
from tests.support import tokens
from tests.support.access_requests import keys, send_write
from tests.support.factories import existing_row
from tests.support.signin import PASSWORDS, Service, error, reused_service

INVALID = (401, "PGRST302", "Invalid API key")
READ_ONLY = (403, "42501", "permission denied: the API key is read-only")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


# Where a key stands


def test_key_alone_has_the_rights_of_its_user(service: Service) -> None:
    made = make(service, "moe")

    assert made["key"].startswith("wt_")
    assert (made["user_id"], made["created_by"], made["read_only"], made["last_used_at"]) == (MOE, MOE, False, None)
    assert read(service, made["key"]).json == [{"id": 1}]


@pytest.mark.parametrize("apikey", ["same", "anon", "service", "absent", "another"])
def test_key_as_bearer_has_the_rights_of_its_user(service: Service, apikey: str) -> None:
    key, another = make(service, "moe")["key"], make(service, "ada")["key"]
    sent = {"same": key, "anon": tokens.ANON_KEY, "service": tokens.SERVICE_KEY, "absent": None, "another": another}

    response = service.api(token=key).get("/buildings?select=id", headers={"apikey": sent[apikey]})

    assert response.json == [{"id": 1}]


@pytest.mark.parametrize("bearer", ["absent", "anon", "basic"])
def test_bearer_that_names_no_user_leaves_the_key_in_force(service: Service, bearer: str) -> None:
    headers = {"absent": None, "anon": f"Bearer {tokens.ANON_KEY}", "basic": "Basic bW9lOnB3"}

    response = service.api().get(
        "/buildings?select=id", headers={"apikey": make(service, "moe")["key"], "Authorization": headers[bearer]}
    )

    assert response.json == [{"id": 1}]


def test_token_beside_a_key_decides(service: Service) -> None:
    key = make(service, "root")["key"]

    response = read(service, key, bearer=service.sign_in("moe")["access_token"])

    assert response.json == [{"id": 1}]


def test_service_key_beside_a_key_decides(service: Service) -> None:
    response = read(service, make(service, "moe")["key"], bearer=tokens.SERVICE_KEY)

    assert len(response.json) == 6


@pytest.mark.parametrize("bearer", ["a token", "the service key", "another key"])
def test_revoked_key_in_apikey_is_refused_beside_any_bearer(service: Service, bearer: str) -> None:
    key = make(service, "moe")
    sent = {
        "a token": service.sign_in("ada")["access_token"],
        "the service key": tokens.SERVICE_KEY,
        "another key": make(service, "ada")["key"],
    }
    service.api("moe").delete(f"{OWN}/{key['id']}")

    assert read(service, key["key"], bearer=sent[bearer]).refusal == INVALID


@pytest.mark.parametrize("key", ["wt_", "wt_" + "A" * 43, "wt_" + "A" * 42, "wt_" + "é" * 43, "wt_" + "A" * 5000])
def test_unknown_key_is_refused_in_both_places(service: Service, key: str) -> None:
    assert read(service, key).refusal == INVALID
    assert service.api(token=key).get("/buildings").status == 401


def test_wrong_apikey_beside_a_key_is_refused(service: Service) -> None:
    key = make(service, "moe")["key"]

    assert service.api(token=key).get("/buildings", headers={"apikey": "wrong"}).refusal == INVALID


def test_client_library_signs_in_with_a_key_as_its_apikey(service: Service) -> None:
    key = make(service, "moe")
    body = {"email": "ada@acme.example", "password": PASSWORDS["ada"]}

    def sign_in() -> Response:
        return service.token("password", body, apikey=key["key"])

    assert sign_in().json["user"]["id"] == ADA
    service.api("moe").delete(f"{OWN}/{key['id']}")
    assert error(sign_in()) == (401, "no_authorization")


# What a key may do


@pytest.mark.parametrize("who", ["root", "ada", "bob", "moe", "mia", "max"])
def test_key_reads_exactly_the_rows_of_its_user(service: Service, who: str) -> None:
    key = make(service, who, read_only=True)["key"]

    for table in RESOURCES:
        response = read(service, key, f"/{table}")
        assert response.status == 200
        assert keys(response, table) == READABLE[who][table], table


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_read_only_key_writes_no_table(service: Service, who: str) -> None:
    api = service.api(token=make(service, who, read_only=True)["key"])
    before = dump_of(service)

    for table in RESOURCES:
        for method in ("POST", "PATCH", "PUT", "DELETE"):
            response = send_write(lambda _: api, "key", method, table, existing_row(table))
            assert (response.status, response.code) == (403, "42501"), (method, table)
    assert dump_of(service) == before


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("POST", "/rpc/assign_to_client_manager", {"manager_id": MIA, "building_ids": [1]}, id="function"),
        pytest.param("POST", "/buildings", {"name": "New", "client_id": 1}, id="insert"),
        pytest.param("DELETE", "/buildings?id=eq.999", None, id="delete"),
    ],
)
def test_read_only_key_is_refused_with_its_reason(service: Service, method: str, path: str, body: object) -> None:
    key = make(service, "ada", read_only=True)["key"]

    assert service.api(token=key).send(method, path, body).refusal == READ_ONLY


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("PUT", "/auth/v1/user", {"data": {"name": "New"}}, id="name"),
        pytest.param("PUT", "/auth/v1/user", {"password": "a new password", "current_password": "x"}, id="password"),
        pytest.param("POST", "/auth/v1/logout", None, id="logout"),
        pytest.param("POST", OWN, {"name": "Another"}, id="key"),
        pytest.param("POST", "/auth/v1/admin/users", {"email": "x@acme.example"}, id="user"),
        pytest.param("DELETE", f"/auth/v1/admin/users/{MOE}", None, id="delete-user"),
    ],
)
def test_read_only_key_changes_no_account(service: Service, method: str, path: str, body: object) -> None:
    key = make(service, "ada", read_only=True)["key"]

    assert error(service.api(token=key).send(method, path, body)) == (403, "not_admin")
    assert service.sql("SELECT count(*) FROM attempts") == [(0,)]


def test_read_only_key_calls_functions_that_read(service: Service) -> None:
    key = make(service, "moe", read_only=True)["key"]

    response = service.api(token=key).post("/rpc/get_inspections_dashboard_summary_fast", {})

    assert response.json["total_buildings"] == 1


@pytest.mark.parametrize(("more", "status"), [({}, 200), ({"p_dry_run": True}, 200), ({"p_dry_run": False}, 403)])
def test_read_only_key_tries_an_import(service: Service, more: dict, status: int) -> None:
    api = service.api(token=make(service, "ada", read_only=True)["key"])

    response = api.post("/rpc/import_csv", {"p_target": "buildings", "p_csv": "name,city\nNew,Boston\n", **more})

    assert response.status == status, response.text
    assert service.api("root").get("/buildings?name=eq.New").json == []


def test_key_writes_as_its_user(service: Service) -> None:
    key = make(service, "ada")["key"]

    made = service.api(token=key).post("/buildings", {"name": "New", "client_id": 1}, prefer="return=representation")
    beyond = service.api(token=key).post("/buildings", {"name": "New", "client_id": 2})

    assert made.status == 201
    assert (beyond.status, beyond.code) == (403, "42501")
    entries = service.sql("SELECT actor_id FROM audit_log WHERE relation = 'buildings' AND action = 'insert'")
    assert str(entries[-1][0]) == ADA


def test_manager_without_privilege_is_refused_before_the_body_is_read(service: Service) -> None:
    key = make(service, "moe")["key"]

    response = service.api(token=key).post("/buildings", "not json")

    assert response.refusal == (403, "42501", "permission denied for table buildings")


# Who makes, lists and revokes


@pytest.mark.parametrize(
    ("who", "user_id", "status"),
    [
        ("root", ROOT, 200),
        ("root", BOB, 200),
        ("service", MOE, 200),
        ("ada", ADA, 200),
        ("ada", MOE, 200),
        ("ada", BOB, 404),
        ("ada", ROOT, 404),
        ("moe", MOE, 403),
        ("moe", MIA, 403),
        ("nobody", MOE, 401),
    ],
)
def test_administrator_makes_keys_of_users_whom_they_may_change(
    service: Service, who: str, user_id: str, status: int
) -> None:
    response = service.api(who).post(of_user(user_id), {"name": "MCP server"})

    assert response.status == status
    assert service.api(who).get(of_user(user_id)).status == status
    assert service.sql("SELECT count(*) FROM tokens") == [(int(status == 200),)]
    if status == 200:
        creator = getattr(CAST[who], "id", None)
        assert (response.json["user_id"], response.json["created_by"]) == (user_id, creator)


def test_another_client_admin_of_the_client_is_not_changed_by_a_key(service: Service) -> None:
    service.sql("UPDATE users SET role = 'client_admin' WHERE id = ?", MIA)

    assert error(service.api("ada").post(of_user(MIA), {"name": "x"})) == (403, "not_admin")


def test_list_shows_keys_without_their_text(service: Service) -> None:
    own, others = make(service, "moe"), make(service, "ada", of_user(MOE), read_only=True, expires_at="2090-01-01")

    listed = service.api("ada").get(of_user(MOE))

    shown = [{name: value for name, value in key.items() if name != "key"} for key in (own, others)]
    assert sorted(listed.json["api_keys"], key=str) == sorted(shown, key=str)
    assert others["expires_at"] == "2090-01-01T00:00:00+00:00"
    assert own["key"] not in listed.text
    assert service.api("moe").get(OWN).json == listed.json


def test_revoked_key_is_refused_from_the_next_request(service: Service) -> None:
    made = make(service, "moe")
    assert read(service, made["key"]).status == 200

    assert service.api("ada").delete(f"{of_user(MOE)}/{made['id']}").json == {}

    assert read(service, made["key"]).refusal == INVALID
    assert error(service.api("ada").delete(f"{of_user(MOE)}/{made['id']}")) == (404, "api_key_not_found")


@pytest.mark.parametrize(("who", "path"), [("bob", of_user(MOE)), ("mia", OWN), ("ada", of_user(MIA))])
def test_hidden_key_is_not_found(service: Service, who: str, path: str) -> None:
    made = make(service, "moe")

    assert service.api(who).delete(f"{path}/{made['id']}").status == 404
    assert read(service, made["key"]).status == 200


def test_key_makes_no_key_and_revokes_itself(service: Service) -> None:
    made = make(service, "ada")
    holder = service.api(token=made["key"])

    assert error(holder.post(OWN, {"name": "Another"})) == (403, "not_admin")
    assert error(holder.post(of_user(MOE), {"name": "Another"})) == (403, "not_admin")
    assert holder.delete(f"{OWN}/{made['id']}").status == 200
    assert read(service, made["key"]).refusal == INVALID


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 422, "validation_failed"),
        ({"name": "  "}, 422, "validation_failed"),
        ({"name": "x" * 257}, 422, "validation_failed"),
        ({"name": 1}, 400, "validation_failed"),
        ({"name": "x\0"}, 400, "bad_json"),
        ({"name": "x", "read_only": 1}, 400, "validation_failed"),
        ({"name": "x", "read_only": "true"}, 400, "validation_failed"),
        ({"name": "x", "expires_at": "2020-01-01"}, 422, "validation_failed"),
        ({"name": "x", "expires_at": "tomorrow"}, 422, "validation_failed"),
        ({"name": "x", "expires_at": "01/02/2090"}, 422, "validation_failed"),
        ([], 400, "bad_json"),
        ("{", 400, "bad_json"),
    ],
)
def test_invalid_request_makes_no_key(service: Service, body: object, status: int, code: str) -> None:
    assert error(service.api("moe").post(OWN, body)) == (status, code)
    assert service.sql("SELECT count(*) FROM tokens") == [(0,)]


def test_user_has_at_most_100_keys(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_key, "KEYS_PER_USER_MAX", 2)
    first, _ = make(service, "moe"), make(service, "moe")

    assert error(service.api("moe").post(OWN, {"name": "x"})) == (422, "validation_failed")
    service.sql("UPDATE tokens SET expires_at = 1 WHERE id = ?", first["id"])
    make(service, "moe")
    make(service, "mia")

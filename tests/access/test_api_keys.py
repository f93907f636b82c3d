"""API keys of users: who makes and revokes them, what they may do, and what ends them."""

import logging
import pathlib
import time
from collections.abc import Callable, Iterator

import pytest

from access import session
from access.accounts import administration, api_key
from access.accounts.api_key import NewApiKey
from access.accounts.sign_in import Scope, sign_out
from access.caller import SERVICE_CALLER, Caller
from access.roles import GRANT_PROFILES, Role
from engine.interface.transaction import Transaction
from engine.maintenance import clock_reset
from serving.logging import JsonLines
from tests.access.test_access_matrix import READABLE
from tests.conftest import ADA, BOB, CAST, MIA, MOE, RESOURCES, ROOT, Response
from tests.support import databases, tokens
from tests.support.access_requests import keys, send_write
from tests.support.factories import existing_row
from tests.support.signin import PASSWORDS, Service, error, reused_service

SUPER = Caller(ROOT, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
ADMIN = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])
OWN = "/auth/v1/user/api_keys"
INVALID = (401, "PGRST302", "Invalid API key")
READ_ONLY = (403, "42501", "permission denied: the API key is read-only")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


def of_user(user_id: str) -> str:
    return f"/auth/v1/admin/users/{user_id}/api_keys"


def make(service: Service, who: str, path: str = OWN, **body: object) -> dict:
    response = service.api(who).post(path, {"name": "MCP server", **body})
    assert response.status == 200, response.text
    return response.json


def read(service: Service, key: str, path: str = "/buildings?select=id", bearer: str | None = None) -> Response:
    """Read with a key in the apikey header, alone or beside a bearer token."""
    return service.api(token=bearer).get(path, headers={"apikey": key})


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
    assert service.sql("SELECT count(*) FROM api_keys") == [(int(status == 200),)]
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
    assert service.sql("SELECT count(*) FROM api_keys") == [(0,)]


def test_user_has_at_most_100_keys(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api_key, "KEYS_PER_USER_MAX", 2)
    first, _ = make(service, "moe"), make(service, "moe")

    assert error(service.api("moe").post(OWN, {"name": "x"})) == (422, "validation_failed")
    service.sql("UPDATE api_keys SET expires_at = 1 WHERE id = ?", first["id"])
    make(service, "moe")
    make(service, "mia")


# What ends a key


def end_by_ban(service: Service) -> None:
    service.api("root").put(f"/auth/v1/admin/users/{MOE}", {"ban_duration": "24h"})


def end_by_sign_out(service: Service) -> None:
    service.api(token=service.sign_in("moe")["access_token"]).post("/auth/v1/logout?scope=global")


def end_by_role(service: Service) -> None:
    service.api("root").patch(f"/users?id=eq.{MOE}", {"role": "client_admin"})


def end_by_client(service: Service) -> None:
    service.api("root").patch(f"/users?id=eq.{MOE}", {"client_id": 2})


def end_by_deletion(service: Service) -> None:
    service.api("root").delete(f"/users?id=eq.{MOE}")


def end_by_password(service: Service) -> None:
    service.api("root").put(f"/auth/v1/admin/users/{MOE}", {"password": "a new password of moe"})


def end_by_own_password(service: Service) -> None:
    body = {"password": "a new password of moe", "current_password": PASSWORDS["moe"]}
    assert service.api(token=service.sign_in("moe")["access_token"]).put("/auth/v1/user", body).status == 200


def end_by_expiry(service: Service) -> None:
    service.sql("UPDATE api_keys SET expires_at = ?", int(time.time()))


def end_by_deletion_of_the_creator(service: Service) -> None:
    service.api("root").delete(f"/users?id=eq.{ADA}")


def end_by_role_of_the_creator(service: Service) -> None:
    service.api("root").patch(f"/users?id=eq.{ADA}", {"role": "client_manager"})


def end_by_ban_of_the_creator(service: Service) -> None:
    service.api("root").put(f"/auth/v1/admin/users/{ADA}", {"ban_duration": "24h"})


ENDS = {name.removeprefix("end_by_"): end for name, end in dict(globals()).items() if name.startswith("end_by_")}


@pytest.mark.parametrize("end", ENDS.values(), ids=ENDS)
def test_key_ends_with_the_rights_behind_it(service: Service, end: Callable[[Service], None]) -> None:
    key = make(service, "ada", of_user(MOE))["key"]
    assert read(service, key).status == 200
    assert service.api(token=key).get("/auth/v1/user").json["id"] == MOE

    end(service)

    assert read(service, key).refusal == INVALID
    assert service.api(token=key).post("/buildings", {"name": "x", "client_id": 1}).refusal == INVALID
    assert error(service.api(token=key).get("/auth/v1/user")) == (401, "no_authorization")


def test_temporary_ban_suspends_a_key(service: Service) -> None:
    key = make(service, "moe")["key"]
    end_by_ban(service)
    assert read(service, key).status == 401

    service.api("root").put(f"/auth/v1/admin/users/{MOE}", {"ban_duration": "none"})

    assert read(service, key).status == 200


def test_deactivation_in_the_console_ends_a_key(service: Service) -> None:
    key = make(service, "moe")["key"]
    with service.app.app_context(), service.app.extensions["walkthrough"].writing() as transaction:
        administration.ban_user(transaction, SUPER, MOE)
        administration.unban_user(transaction, SUPER, MOE)

    assert read(service, key).refusal == INVALID
    assert service.api("ada").get(of_user(MOE)).json == {"api_keys": []}


@pytest.mark.sqlite
def test_reset_of_the_clock_ends_every_key(service: Service) -> None:
    key = make(service, "moe")["key"]
    with service.app.app_context():
        clock_reset.reset_clock(service.app.extensions["walkthrough"])

    assert read(service, key).refusal == INVALID
    assert service.sql("SELECT count(*) FROM api_keys") == [(0,)]


def test_new_user_of_a_deleted_id_has_none_of_its_keys(service: Service) -> None:
    key = make(service, "moe")["key"]
    end_by_deletion(service)
    user = {"id": MOE, "email": "new@acme.example", "name": "New", "role": "client_manager", "client_id": 1}
    assert service.api("root").post("/users", user).status == 201

    assert read(service, key).refusal == INVALID


def test_second_sign_out_in_one_second_ends_a_key_made_between(service: Service) -> None:
    with service.app.app_context(), service.app.extensions["walkthrough"].writing() as transaction:
        moe = Caller(MOE, 1, GRANT_PROFILES[Role.CLIENT_MANAGER, True, True])
        sign_out(transaction, moe, Scope.GLOBAL)
        _, text = api_key.create_key(transaction, moe, MOE, NewApiKey("Thief's"))
        assert look_up(transaction, text) is not None
        sign_out(transaction, moe, Scope.GLOBAL)
        assert look_up(transaction, text) is None


def look_up(transaction: Transaction, text: str) -> Caller | None:
    digest = session.key_digest(text)
    assert digest is not None
    try:
        return session.look_up_key(transaction, digest)
    except session.InvalidApiKey:
        return None


# What is kept, and where


def test_list_of_all_keys_holds_those_that_the_caller_may_revoke(service: Service) -> None:
    with service.app.app_context(), service.app.extensions["walkthrough"].writing() as transaction:
        for user_id in (ROOT, ADA, MOE, BOB):
            api_key.create_key(transaction, SERVICE_CALLER, user_id, NewApiKey(user_id))

        assert {key.user_id for key in api_key.list_keys(transaction, SUPER)} == {ROOT, ADA, MOE, BOB}
        assert {key.user_id for key in api_key.list_keys(transaction, ADMIN)} == {ADA, MOE}


def test_database_export_and_log_hold_no_key(
    service: Service, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "walkthrough"):
        key = make(service, "ada")["key"]
        service.api(token=key).get(f"/buildings?name=eq.{key}")
        read(service, key)
        service.api(token=key + "x").get("/buildings")
        service.api(token=key).post("/buildings", "not json")
    archive = tmp_path / "export.json"
    assert service.app.test_cli_runner().invoke(args=["export", str(archive)]).exit_code == 0

    lines = "\n".join(map(JsonLines().format, caplog.records))
    stored = str(service.sql("SELECT * FROM api_keys")) + str(service.sql("SELECT * FROM audit_log"))
    digest = session.key_digest(key)
    assert '"event": "request"' in lines
    assert key not in lines + stored + archive.read_text()
    assert digest is not None
    assert digest.text in stored
    assert digest.text not in lines + archive.read_text() + str(service.sql("SELECT * FROM audit_log"))


def test_audit_log_records_who_made_and_revoked_a_key(service: Service) -> None:
    made = make(service, "ada", of_user(MOE), read_only=True)
    service.api("root").delete(f"{of_user(MOE)}/{made['id']}")

    entries = service.api("ada").get("/audit_log?relation=eq.api_keys&order=id").json

    assert [(each["action"], each["actor_id"], each["client_id"]) for each in entries] == [
        ("create_api_key", ADA, 1),
        ("revoke_api_key", ROOT, 1),
    ]
    assert entries[0]["row_key"] == made["id"]
    assert entries[0]["after"] == {"user_id": MOE, "name": "MCP server", "read_only": True}


def test_use_is_recorded_after_the_response_and_once_a_minute(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = make(service, "moe")
    recorded = []
    monkeypatch.setattr(api_key, "record_use", lambda database, key_id: recorded.append(key_id))
    app = service.app.test_client()
    headers = {"apikey": made["key"]}

    response = app.get("/buildings", headers=headers)
    assert (response.status_code, recorded) == (200, [])
    response.close()
    app.get("/buildings", headers=headers).close()
    service.api("moe").get("/buildings")

    assert recorded == [made["id"]]
    monkeypatch.setattr(api_key, "USES", {made["id"]: time.monotonic() - 61})
    app.get("/buildings", headers=headers).close()
    # Werkzeug's test client may close a response twice; the statement itself stores at most one use a minute.
    assert recorded[1:]
    assert set(recorded) == {made["id"]}


def test_use_is_stored(service: Service) -> None:
    made = make(service, "moe")
    database = service.app.extensions["walkthrough"]

    api_key.record_use(database, made["id"])

    first = service.sql("SELECT last_used_at FROM api_keys")[0][0]
    assert abs(first - time.time()) < 5
    service.sql("UPDATE api_keys SET last_used_at = ?", first - 30)
    api_key.record_use(database, made["id"])
    assert service.sql("SELECT last_used_at FROM api_keys") == [(first - 30,)]
    assert service.api("moe").get(OWN).json["api_keys"][0]["last_used_at"] is not None


@pytest.mark.sqlite
def test_use_is_not_recorded_while_the_write_lock_is_held(service: Service) -> None:
    made = make(service, "moe")
    database = service.app.extensions["walkthrough"]
    with database.hold_writer_lock(1.0):
        api_key.record_use(database, made["id"])

    assert service.sql("SELECT last_used_at FROM api_keys") == [(None,)]


def test_look_up_of_a_key_is_one_statement_and_cached(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = session.key_digest(make(service, "moe")["key"])
    assert digest is not None
    statements = []
    one = Transaction.one
    monkeypatch.setattr(Transaction, "one", lambda self, *sql: statements.append(sql) or one(self, *sql))
    database = service.app.extensions["walkthrough"]
    for _ in range(2):
        with database.reading() as transaction:
            caller = session.look_up_key(transaction, digest)
            assert (caller.id, caller.profile) == (MOE, GRANT_PROFILES[Role.CLIENT_MANAGER, True, True])

    assert len([sql for sql in statements if "api_keys" in sql[0]]) == (1 if databases.SERVER is None else 2)


def dump_of(service: Service) -> list:
    return [service.sql(f"SELECT * FROM {table} ORDER BY 1, 2") for table in RESOURCES]

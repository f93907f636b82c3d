"""Attack catalogue, group L from L07: users at `/auth/v1`, what they may not do, and secrets."""

import json
import logging
import pathlib
from collections.abc import Iterator

import pytest

from tests.access.test_attacks_sign_in import ADMIN, same
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID
from tests.support import tokens
from tests.support.applications import open_app
from tests.support.providers import PROVIDERS
from tests.support.signin import EMAILS, PASSWORDS, Service, error, reused_service

pytestmark = pytest.mark.slow


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


# L07: a new database has no users


@pytest.mark.attack(entry="L07")
def test_new_database_has_no_user_and_a_command_creates_the_first(tmp_path: pathlib.Path) -> None:
    empty = Service(open_app(tmp_path / "new.db"), tmp_path / "new.db")
    assert empty.sql("SELECT count(*) FROM users") == [(0,)]
    for email, guess in (("admin@example.org", "admin"), ("root", "root"), ("admin", "password")):
        assert empty.try_password(email, guess).status == 400

    made = empty.app.test_cli_runner().invoke(
        args=["create-user", "Root@example.org", "--role", "super_admin", "--password", "root's own"]
    )

    assert made.exit_code == 0, made.output
    session = empty.try_password("root@example.org", "root's own").json
    assert session["user"]["app_metadata"] == {**PROVIDERS, "role": "super_admin"}


# L08: administrators and their reach


@pytest.mark.attack(entry="L08")
def test_client_admin_lists_their_client(service: Service) -> None:
    listed = service.api("ada").get(ADMIN)

    assert {user["id"] for user in listed.json["users"]} == {ADA, MOE, MIA}


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize("hidden", [MAX, BOB, ROOT])
@pytest.mark.attack(entry="L08")
def test_hidden_user_is_not_found(service: Service, method: str, hidden: str) -> None:
    body = {"user_metadata": {"name": "Planted"}, "password": "brand new"}

    answers = [service.api("ada").send(method, f"{ADMIN}/{who}", body) for who in (hidden, UNKNOWN_USER_ID)]

    assert same(*answers)
    assert error(answers[0]) == (404, "user_not_found")


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
@pytest.mark.attack(entry="L08")
def test_client_admin_reads_and_does_not_change_admins(service: Service, method: str) -> None:
    body = {"app_metadata": {"role": "client_admin", "client_id": 1}, "password": "fellow's own"}
    eva = service.api("root").post(ADMIN, {"email": "eva@acme.example", **body}).json["id"]

    for who in (eva, ADA):
        assert service.api("ada").get(f"{ADMIN}/{who}").status == 200
        refused = service.api("ada").send(method, f"{ADMIN}/{who}", {"password": "brand new"})
        assert error(refused) == (403, "not_admin")
    assert service.try_password("eva@acme.example", "fellow's own").status == 200


CHANGES_OF_RIGHTS = [
    pytest.param({"id": UNKNOWN_USER_ID}, id="id"),
    pytest.param({"id": MAX}, id="id-of-another-user"),
    pytest.param({"role": "client_admin"}, id="role-at-the-top"),
    pytest.param({"role": "super_admin"}, id="super-admin-at-the-top"),
    pytest.param({"app_metadata": {"role": "client_admin"}}, id="role"),
    pytest.param({"app_metadata": {"role": "super_admin", "client_id": None}}, id="super-admin"),
    pytest.param({"app_metadata": {"client_id": 2}}, id="client"),
    pytest.param({"app_metadata": {"client_id": 999}}, id="client-that-is-none"),
    pytest.param({"app_metadata": {"client_id": None}}, id="no-client"),
    pytest.param({"client_id": 2}, id="client-at-the-top"),
]


@pytest.mark.parametrize("more", CHANGES_OF_RIGHTS)
@pytest.mark.attack(entry="L08")
def test_client_admin_creates_managers_of_their_own_client_only(service: Service, more: dict) -> None:
    before = service.sql("SELECT * FROM users")

    refused = service.api("ada").post(ADMIN, {"email": "eva@acme.example", **more})

    assert error(refused) == (403, "not_admin")
    assert service.sql("SELECT * FROM users") == before


@pytest.mark.parametrize("more", CHANGES_OF_RIGHTS)
@pytest.mark.attack(entry="L08")
def test_client_admin_cannot_change_role_or_client(service: Service, more: dict) -> None:
    before = service.sql("SELECT * FROM users")

    refused = service.api("ada").put(f"{ADMIN}/{MOE}", {"password": "brand new", **more})

    assert error(refused) == (403, "not_admin")
    assert service.sql("SELECT * FROM users") == before
    service.sign_in("moe")


@pytest.mark.attack(entry="L08")
def test_hidden_and_unknown_clients_share_one_response(service: Service) -> None:
    answers = [
        service.api("ada").post(ADMIN, {"email": "eva@acme.example", "app_metadata": {"client_id": client}})
        for client in (2, 999)
    ]

    assert same(*answers)


@pytest.mark.parametrize(
    ("method", "path"),
    [("GET", ""), ("POST", ""), ("GET", f"/{MOE}"), ("PUT", f"/{MOE}"), ("DELETE", f"/{MIA}"), ("GET", "/x")],
)
@pytest.mark.attack(entry="L08")
def test_managers_and_anonymous_requests_are_refused(service: Service, method: str, path: str) -> None:
    assert error(service.api("moe").send(method, ADMIN + path, {})) == (403, "not_admin")
    assert error(service.api("nobody").send(method, ADMIN + path, {})) == (401, "no_authorization")


@pytest.mark.parametrize("who", ["root", "service"])
@pytest.mark.parametrize(
    ("method", "body"),
    [
        ("DELETE", None),
        ("PUT", {"ban_duration": "24h"}),
        ("PUT", {"app_metadata": {"role": "client_admin", "client_id": 1}}),
    ],
)
@pytest.mark.attack(entry="L08")
def test_last_super_admin_cannot_be_removed(service: Service, who: str, method: str, body: dict | None) -> None:
    refused = service.api(who).send(method, f"{ADMIN}/{ROOT}", body)

    assert error(refused) == (400, "23514")
    service.sign_in("root")


@pytest.mark.attack(entry="L08")
def test_super_admin_can_be_removed_while_another_is_enabled(service: Service) -> None:
    body = {"email": "r2@example.org", "app_metadata": {"role": "super_admin"}}
    second = service.api("root").post(ADMIN, body).json["id"]
    service.api("root").put(f"{ADMIN}/{second}", {"ban_duration": "1h"})
    assert error(service.api("root").delete(f"{ADMIN}/{ROOT}")) == (400, "23514")
    service.api("root").put(f"{ADMIN}/{second}", {"ban_duration": "none"})

    assert service.api("root").delete(f"{ADMIN}/{ROOT}").status == 200


# O07: the only response that reveals a hidden row


@pytest.mark.attack(entry="O07")
def test_taken_email_is_disclosed_20_times_an_hour(service: Service) -> None:
    ada = service.api("ada")

    answers = [ada.post(ADMIN, {"email": EMAILS["max"]}) for _ in range(20)]

    assert same(*answers)
    assert error(answers[0]) == (422, "email_exists")
    assert answers[0].json["details"] is None
    taken, free = (ada.post(ADMIN, {"email": email}) for email in (EMAILS["max"], "free@x.example"))
    assert error(taken) == (429, "over_request_rate_limit")
    assert same(taken, free)
    assert 1 <= int(taken.headers["Retry-After"]) <= 3_600
    assert ada.put(f"{ADMIN}/{MOE}", {"email": EMAILS["max"]}).status == 429
    assert ada.put(f"{ADMIN}/{MOE}", {"user_metadata": {"name": "Moses"}}).status == 200
    assert service.api("bob").post(ADMIN, {"email": EMAILS["moe"]}).status == 422
    service.age(3_601)
    assert ada.post(ADMIN, {"email": "free@x.example"}).status == 200


@pytest.mark.attack(entry="O07")
def test_super_admin_has_no_disclosure_limit(service: Service) -> None:
    body = {"email": EMAILS["max"], "app_metadata": {"role": "super_admin"}}

    for who in ("root", "service"):
        answers = [service.api(who).post(ADMIN, body).status for _ in range(22)]
        assert answers == [422] * 22


# L09, L10, L11


@pytest.mark.parametrize(
    "body",
    [
        pytest.param({"role": "super_admin"}, id="role"),
        pytest.param({"client_id": 2}, id="client"),
        pytest.param({"app_metadata": {"role": "super_admin", "client_id": 2}}, id="app-metadata"),
        pytest.param({"data": {"role": "super_admin", "client_id": 2, "email": "x@y.example"}}, id="data"),
        pytest.param({"email": "x@y.example"}, id="email"),
        pytest.param({"email": EMAILS["max"]}, id="email-of-another"),
        pytest.param({"id": ROOT, "sub": ROOT, "ban_duration": "none"}, id="id"),
    ],
)
@pytest.mark.attack(entry="L09")
def test_user_changes_neither_their_rights_nor_their_email(service: Service, body: dict) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    before = service.sql("SELECT id, email, role, client_id FROM users")

    moe.put("/auth/v1/user", body)

    assert service.sql("SELECT id, email, role, client_id FROM users") == before
    assert moe.get("/buildings?select=id").json == [{"id": 1}]
    assert moe.get("/auth/v1/user").json["app_metadata"] == {**PROVIDERS, "role": "client_manager", "client_id": 1}


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "signup"),
        ("POST", "recover"),
        ("POST", "invite"),
        ("POST", "otp"),
        ("POST", "magiclink"),
        ("POST", "verify"),
        ("POST", "resend"),
        ("POST", "admin/generate_link"),
        ("POST", "sso"),
        ("GET", "authorize"),
        ("GET", "callback"),
    ],
)
@pytest.mark.attack(entry="L10")
def test_other_sign_in_endpoints_do_not_exist(service: Service, method: str, path: str) -> None:
    body = {"email": "eva@acme.example", "password": "eva's password", "data": {}}
    before = service.sql("SELECT * FROM users"), service.sql("SELECT * FROM sessions")

    for who in ("nobody", "moe", "service"):
        refused = service.api(who).send(method, f"/auth/v1/{path}", body)
        assert refused.status in (404, 422)
        assert refused.headers["Content-Type"].startswith("application/json")

    assert (service.sql("SELECT * FROM users"), service.sql("SELECT * FROM sessions")) == before


@pytest.mark.attack(entry="L11")
def test_no_response_and_no_log_line_contains_a_secret(service: Service, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    session = service.sign_in("moe")
    moe = service.api(token=session["access_token"])
    answers = [
        service.try_password(EMAILS["moe"], "canary-password"),
        service.token("password", {"email": 5, "password": "canary-password"}),
        service.token("password", '{"password": "canary-password"'),
        service.refresh("canary-refresh"),
        moe.get("/auth/v1/user"),
        moe.put("/auth/v1/user", {"password": "canary", "current_password": "canary-password"}),
        moe.put("/auth/v1/user", {"password": "canary-password"}),
        service.api("root").put(f"{ADMIN}/{MIA}", {"password": "canary-password"}),
        service.api("root").get(ADMIN),
        service.api("root").get("/users"),
        service.api(token="canary.to.ken").get("/auth/v1/user"),
        service.api("moe").get("/auth/v1/user", headers={"apikey": "canary-key"}),
    ]

    output = "\n".join(answer.text + str(answer.headers) for answer in answers) + caplog.text

    secrets = [tokens.SECRET_KEY, tokens.SERVICE_KEY, tokens.ANON_KEY, "argon2", "canary"]
    secrets += [PASSWORDS["moe"], session["refresh_token"], session["access_token"]]
    secrets += [salt for (salt,) in service.sql("SELECT salt FROM sessions")]
    assert [secret for secret in secrets if secret in output] == []


@pytest.mark.attack(entry="L11")
def test_export_contains_no_secret(service: Service) -> None:
    service.sign_in("moe")

    exported = service.app.test_cli_runner().invoke(args=["export"]).output

    assert set(json.loads(exported)["users"][0]) == {
        "id",
        "email",
        "name",
        "role",
        "client_id",
        "created_at",
        "updated_at",
    }
    assert "argon2" not in exported

"""/auth/v1 over HTTP: what Supabase's clients send, and whole answers to it."""

import json
import pathlib
import threading
import time

import pytest

from access import deadline
from access import password
from tests import databases
from tests import tokens
from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import NO_ONE
from tests.conftest import ROOT
from tests.signin import EMAILS
from tests.signin import PASSWORDS
from tests.signin import THERE
from tests.signin import Service
from tests.signin import claims
from tests.signin import error
from tests.signin import open_service

USER_KEYS = {
    "id",
    "aud",
    "role",
    "email",
    "email_confirmed_at",
    "phone",
    "last_sign_in_at",
    "app_metadata",
    "user_metadata",
    "identities",
    "created_at",
    "updated_at",
    "is_anonymous",
}


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Service:
    return open_service(tmp_path)


# token


def test_password_signs_in(service: Service) -> None:
    before = int(time.time())

    session = service.sign_in("moe")

    token = claims(session["access_token"])
    assert set(session) == {
        "access_token",
        "token_type",
        "expires_in",
        "expires_at",
        "refresh_token",
        "user",
    }
    assert (session["token_type"], session["expires_in"]) == ("bearer", 3_600)
    assert session["expires_at"] == token["exp"] == token["iat"] + 3_600
    assert before <= token["iat"] <= time.time()
    assert session["user"]["id"] == token["sub"] == MOE
    assert {name: token[name] for name in ("role", "client_id", "aud", "email", "aal")} == {
        "role": "client_manager",
        "client_id": 1,
        "aud": "authenticated",
        "email": EMAILS["moe"],
        "aal": "aal1",
    }
    assert isinstance(token["session_id"], str)


def test_super_admins_token_names_no_client(service: Service) -> None:
    assert "client_id" not in claims(service.sign_in("root")["access_token"])


def test_user_is_what_clients_ask_for(service: Service) -> None:
    session = service.sign_in("moe")

    user = service.api(token=session["access_token"]).get("/auth/v1/user").json

    assert user == session["user"]
    assert set(user) == USER_KEYS
    assert user["app_metadata"] == {"role": "client_manager", "client_id": 1}
    assert user["user_metadata"] == {"name": "Moe"}
    assert user["last_sign_in_at"] is not None


def test_access_token_reads_rows_and_another_jwt_library_reads_it(service: Service) -> None:
    jwt = pytest.importorskip("jwt")
    access_token = service.sign_in("moe")["access_token"]

    read = jwt.decode(access_token, tokens.SECRET_KEY, ["HS256"], audience="authenticated")

    assert read["sub"] == MOE
    [building] = service.api(token=access_token).get("/buildings?select=id").json
    assert building == {"id": 1}


@pytest.mark.parametrize("written", [" moe@acme.example ", "MOE@ACME.example"])
def test_email_signs_in_however_it_is_cased(service: Service, written: str) -> None:
    assert service.try_password(written, PASSWORDS["moe"]).status == 200


def test_bodies_of_both_client_libraries_sign_in(service: Service) -> None:
    credentials = {"email": EMAILS["moe"], "password": PASSWORDS["moe"]}
    for more in ({"gotrue_meta_security": {}}, {"data": {}, "captcha_token": None}):
        assert service.token("password", {**credentials, **more}).status == 200


def test_token_ignores_a_stale_bearer(service: Service) -> None:
    stale = {"Authorization": f"Bearer {tokens.token_for(MOE, 'client_manager', 1, exp=1)}"}
    session = service.sign_in("moe")

    body = {"refresh_token": session["refresh_token"]}

    assert service.token("refresh_token", body, **stale).status == 200


def test_refresh_gives_a_new_session_of_the_same_user(service: Service) -> None:
    session = service.sign_in("moe")

    refreshed = service.refresh(session["refresh_token"])

    assert refreshed.status == 200
    assert set(refreshed.json) == set(session)
    assert refreshed.json["refresh_token"] != session["refresh_token"]
    old, new = claims(session["access_token"]), claims(refreshed.json["access_token"])
    assert old["session_id"] == new["session_id"]


@pytest.mark.parametrize(
    ("grant", "body", "refused"),
    [
        pytest.param("password", {"email": "moe@acme.example", "password": "wrong"},
                     (400, "invalid_credentials"), id="wrong-password"),
        pytest.param("password", {"email": "ghost@acme.example", "password": "wrong"},
                     (400, "invalid_credentials"), id="unknown-user"),
        pytest.param("password", {"email": "max@borough.example", "password": "wrong"},
                     (400, "invalid_credentials"), id="without-password"),
        pytest.param("password", {"email": "moe@acme.example", "password": "x" * 1_025},
                     (400, "invalid_credentials"), id="too-long"),
        pytest.param("password", {"email": "moe@acme.example", "password": ""},
                     (400, "validation_failed"), id="empty-password"),
        pytest.param("password", {"email": "moe@acme.example"},
                     (400, "validation_failed"), id="no-password"),
        pytest.param("password", {"email": "moe@acme.example", "password": None},
                     (400, "validation_failed"), id="null-password"),
        pytest.param("password", {"email": "moe@acme.example", "password": 123456},
                     (400, "validation_failed"), id="number-as-password"),
        pytest.param("password", {"email": ["moe@acme.example"], "password": "x"},
                     (400, "validation_failed"), id="list-as-email"),
        pytest.param("password", {"password": "x"}, (400, "validation_failed"), id="no-email"),
        pytest.param("password", {"phone": "123", "password": "x"},
                     (422, "phone_provider_disabled"), id="phone"),
        pytest.param("password", '{"email": "moe@acme.example", "password": "a\\u0000b"}',
                     (400, "bad_json"), id="nul"),
        pytest.param("password", '{"email": "moe@acme.example", "password": "a\\ud800"}',
                     (400, "bad_json"), id="half-a-surrogate-pair"),
        pytest.param("password", "{", (400, "bad_json"), id="no-json"),
        pytest.param("password", "[]", (400, "bad_json"), id="an-array"),
        pytest.param("password", '"text"', (400, "bad_json"), id="a-text"),
        pytest.param("password", b"\xff\xfe", (400, "bad_json"), id="no-utf-8"),
        pytest.param("password", "[" * 20_000, (413, "request_too_large"), id="over-16-KiB"),
        pytest.param("password", "[" * 16_000, (400, "bad_json"), id="deep"),
        pytest.param("password", b"", (400, "validation_failed"), id="no-body"),
        pytest.param("refresh_token", {}, (400, "validation_failed"), id="no-token"),
        pytest.param("refresh_token", {"refresh_token": 5},
                     (400, "validation_failed"), id="number-as-token"),
        pytest.param("refresh_token", {"refresh_token": "unknown"},
                     (400, "refresh_token_not_found"), id="unknown-token"),
        pytest.param("id_token", {}, (400, "unsupported_grant_type"), id="other-grant"),
        pytest.param("", {}, (400, "unsupported_grant_type"), id="no-grant"),
    ],
)  # fmt: skip
def test_token_is_refused(
    service: Service, grant: str, body: object, refused: tuple[int, str]
) -> None:
    assert error(service.token(grant, body)) == refused


def test_body_at_the_bound_is_read_and_one_byte_more_is_not(service: Service) -> None:
    body = json.dumps({"email": EMAILS["moe"], "password": PASSWORDS["moe"]})

    assert service.token("password", body.ljust(16 << 10)).status == 200
    assert service.token("password", body.ljust((16 << 10) + 1)).status == 413


def test_disabled_user_is_told_so_with_the_right_password_only(service: Service) -> None:
    service.api("root").put(f"/auth/v1/admin/users/{MOE}", {"ban_duration": "1h"})

    assert error(service.try_password(EMAILS["moe"], "wrong")) == (400, "invalid_credentials")
    assert error(service.try_password(EMAILS["moe"], PASSWORDS["moe"])) == (400, "user_banned")


def test_hash_of_old_parameters_is_replaced_at_the_next_sign_in(service: Service) -> None:
    weak = password.PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
    service.sql("UPDATE credentials SET password_hash = ? WHERE user_id = ?",
                weak.hash(PASSWORDS["moe"]), MOE)  # fmt: skip

    service.sign_in("moe")

    [(kept,)] = service.sql("SELECT password_hash FROM credentials WHERE user_id = ?", MOE)
    assert "m=19456,t=2,p=1" in kept
    service.sign_in("moe")


# user


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_user_asks_for_a_bearer(service: Service, method: str) -> None:
    assert error(service.api("nobody").send(method, "/auth/v1/user")) == (401, "no_authorization")
    assert error(service.api(token=tokens.ANON_KEY).send(method, "/auth/v1/user"))[0] == 401
    assert error(service.api("service").send(method, "/auth/v1/user")) == (403, "bad_jwt")


def test_bad_jwt_is_named_as_client_libraries_expect(service: Service) -> None:
    response = service.api(token="not.a.jwt").get("/auth/v1/user")

    assert error(response) == (403, "bad_jwt")
    assert response.json["message"].startswith("invalid JWT")


def test_metadata_are_merged_and_null_takes_one_away(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    moe.put("/auth/v1/user", {"data": {"theme": "dark", "tags": [1, {"a": None}]}})

    user = moe.put("/auth/v1/user", {"data": {"theme": None, "name": "Moses"}}).json

    assert user["user_metadata"] == {"tags": [1, {"a": None}], "name": "Moses"}
    assert moe.get("/users?select=name").json == [{"name": "Moses"}]
    assert moe.get("/auth/v1/user").json == user


@pytest.mark.parametrize(
    "body",
    [
        {"role": "super_admin", "client_id": 2, "app_metadata": {"role": "super_admin"}},
        {"data": {"role": "super_admin", "client_id": 2, "email": "x@y.z", "app_metadata": {}}},
    ],
)
def test_user_gives_themself_no_right(service: Service, body: dict) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    before = service.sql("SELECT id, email, role, client_id FROM users")

    user = moe.put("/auth/v1/user", body).json

    assert user["app_metadata"] == {"role": "client_manager", "client_id": 1}
    assert user["role"] == "client_manager"
    assert service.sql("SELECT id, email, role, client_id FROM users") == before
    assert len(moe.get("/buildings").json) == 1


def test_own_email_is_an_administrators_to_change(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])

    assert error(moe.put("/auth/v1/user", {"email": "new@acme.example"})) == (
        422,
        "validation_failed",
    )
    assert moe.put("/auth/v1/user", {"email": "Moe@acme.example"}).status == 200
    assert moe.get("/users?select=email").json == [{"email": EMAILS["moe"]}]


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        pytest.param({"data": {"name": 5}}, (422, "validation_failed"), id="name-a-number"),
        pytest.param({"data": {"name": " "}}, (422, "validation_failed"), id="name-blank"),
        pytest.param({"data": "x"}, (400, "validation_failed"), id="data-a-text"),
        pytest.param({"email": "x"}, (400, "validation_failed"), id="no-email"),
        pytest.param({"phone": "123"}, (422, "phone_provider_disabled"), id="phone"),
        pytest.param({"password": "short"}, (422, "weak_password"), id="short"),
        pytest.param({"password": ""}, (422, "weak_password"), id="empty"),
        pytest.param({"password": "x" * 1_025}, (422, "validation_failed"), id="too-long"),
        pytest.param({"password": 123456}, (400, "validation_failed"), id="number"),
        pytest.param({"password": PASSWORDS["moe"]}, (422, "same_password"), id="same"),
        pytest.param(
            {"password": "brand new", "current_password": "wrong"},
            (400, "current_password_invalid"),
            id="wrong-current",
        ),
        pytest.param(
            {"password": "brand new", "current_password": ""},
            (400, "current_password_invalid"),
            id="empty-current",
        ),
    ],
)
def test_own_change_is_refused(service: Service, body: dict, refused: tuple[int, str]) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])

    assert error(moe.put("/auth/v1/user", body)) == refused
    service.sign_in("moe")


def test_weak_password_gives_its_reasons(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])

    response = moe.put("/auth/v1/user", {"password": "short"})

    assert response.json["weak_password"] == {"reasons": ["length"]}


def test_metadata_beyond_their_bound_are_refused(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    moe.put("/auth/v1/user", {"data": {"one": "x" * 9_000}})

    assert error(moe.put("/auth/v1/user", {"data": {"two": "x" * 9_000}})) == (
        422,
        "validation_failed",
    )
    assert set(moe.get("/auth/v1/user").json["user_metadata"]) == {"one", "name"}


def test_new_password_ends_the_other_sessions_and_not_this_one(service: Service) -> None:
    mine, other = service.sign_in("moe"), service.sign_in("moe")
    sessionless = service.api("moe")
    moe = service.api(token=mine["access_token"])

    assert moe.put("/auth/v1/user", {"password": "brand new"}).status == 200

    assert moe.get("/auth/v1/user").status == 200
    assert service.refresh(mine["refresh_token"]).status == 200
    assert error(service.refresh(other["refresh_token"])) == (400, "refresh_token_not_found")
    stale = service.api(token=other["access_token"]).get("/auth/v1/user")
    assert error(stale) == (403, "session_not_found")
    assert sessionless.get("/buildings").status == 401
    assert service.try_password(EMAILS["moe"], PASSWORDS["moe"]).status == 400
    assert service.try_password(EMAILS["moe"], "brand new").status == 200


def test_old_session_needs_the_current_password(service: Service) -> None:
    session = service.sign_in("moe")
    service.age(24 * 3_600)
    moe = service.api(token=service.refresh(session["refresh_token"]).json["access_token"])

    refused = moe.put("/auth/v1/user", {"password": "brand new"})

    assert error(refused) == (400, "current_password_required")
    both = {"password": "brand new", "current_password": PASSWORDS["moe"]}
    assert moe.put("/auth/v1/user", both).status == 200
    assert service.try_password(EMAILS["moe"], "brand new").status == 200


def test_token_without_a_session_needs_the_current_password(service: Service) -> None:
    refused = service.api("moe").put("/auth/v1/user", {"password": "brand new"})

    assert error(refused) == (400, "current_password_required")
    both = {"password": "brand new", "current_password": PASSWORDS["moe"]}
    assert service.api("moe").put("/auth/v1/user", both).status == 200
    assert error(service.api("moe").get("/auth/v1/user")) == (403, "session_not_found")


def test_guesses_at_the_current_password_are_counted(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    guess = {"password": "brand new", "current_password": "wrong"}

    statuses = [moe.put("/auth/v1/user", guess).status for _ in range(11)]

    assert statuses == [400] * 10 + [429]


# logout


@pytest.mark.parametrize(
    ("query", "mine_ends", "others_end"),
    [
        ("?scope=local", True, False),
        ("?scope=others", False, True),
        ("?scope=global", True, True),
        ("", True, True),
    ],
)
def test_sign_out(service: Service, query: str, mine_ends: bool, others_end: bool) -> None:
    mine, other, hers = service.sign_in("moe"), service.sign_in("moe"), service.sign_in("mia")

    response = service.api(token=mine["access_token"]).post(f"/auth/v1/logout{query}")

    assert (response.status, response.text) == (204, "")
    for session, ends in ((mine, mine_ends), (other, others_end), (hers, False)):
        reached = service.api(token=session["access_token"])
        assert (reached.get("/buildings").status == 401) is ends
        assert (reached.get("/auth/v1/user").status == 403) is ends
        assert (service.refresh(session["refresh_token"]).status == 400) is ends


def test_sign_out_twice_is_no_second_success(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    moe.post("/auth/v1/logout?scope=local")

    assert error(moe.post("/auth/v1/logout?scope=local")) == (403, "session_not_found")


def test_sign_out_of_an_unknown_scope_is_refused(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])

    assert error(moe.post("/auth/v1/logout?scope=all")) == (400, "validation_failed")
    assert moe.get("/auth/v1/user").status == 200


def test_token_command_gives_a_token_that_works_right_after_a_global_sign_out(
    service: Service,
) -> None:
    service.api(token=service.sign_in("moe")["access_token"]).post("/auth/v1/logout")

    run = service.app.test_cli_runner().invoke(args=["token", EMAILS["moe"]])

    assert service.api(token=run.output.strip()).get("/buildings").status == 200


# what is said without credentials, and what is not here


@pytest.mark.parametrize("path", ["settings", "health"])
def test_settings_and_health_are_objects(service: Service, path: str) -> None:
    response = service.api("nobody").get(f"/auth/v1/{path}")

    assert response.status == 200
    assert isinstance(response.json, dict)
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("path", ["user", "settings", "token?grant_type=password"])
def test_apikey_is_asked_for(service: Service, path: str) -> None:
    method = "POST" if "token" in path else "GET"
    for apikey in (None, "wrong"):
        response = service.api("moe").send(method, f"/auth/v1/{path}", headers={"apikey": apikey})
        assert error(response) == (401, "no_authorization")


@pytest.mark.parametrize(
    ("method", "path", "refused"),
    [
        ("POST", "signup", (422, "signup_disabled")),
        ("POST", "recover", (404, "not_found")),
        ("POST", "otp", (404, "not_found")),
        ("POST", "invite", (404, "not_found")),
        ("GET", "reauthenticate", (404, "not_found")),
        ("POST", "admin/generate_link", (404, "not_found")),
        ("GET", ".well-known/jwks.json", (404, "not_found")),
        ("GET", f"admin/users/{MOE}/factors", (404, "not_found")),
        ("GET", "token", (405, "method_not_allowed")),
        ("PATCH", "user", (405, "method_not_allowed")),
    ],
)
def test_what_is_not_here_says_so_in_json(
    service: Service, method: str, path: str, refused: tuple[int, str]
) -> None:
    for who in ("nobody", "service"):
        assert error(service.api(who).send(method, f"/auth/v1/{path}", {})) == refused


def test_api_version_is_echoed(service: Service) -> None:
    asked = {"X-Supabase-Api-Version": "2025-02-03"}

    for path in ("user", "settings", "nowhere"):
        response = service.api("nobody").get(f"/auth/v1/{path}", headers=asked)
        assert response.headers["X-Supabase-Api-Version"] == "2025-02-03"

    odd = service.api("nobody").get("/auth/v1/user", headers={"X-Supabase-Api-Version": "x\ty"})
    assert odd.headers["X-Supabase-Api-Version"] == "2024-01-01"
    assert "X-Supabase-Api-Version" not in service.api("moe").get("/buildings").headers


# throttling


def test_eleventh_try_is_refused_even_with_the_right_password(service: Service) -> None:
    for _ in range(10):
        assert service.try_password(EMAILS["moe"], "wrong").status == 400

    refused = service.try_password(EMAILS["moe"], PASSWORDS["moe"])

    assert error(refused) == (429, "over_request_rate_limit")
    assert 1 <= int(refused.headers["Retry-After"]) <= 900
    assert service.try_password(EMAILS["mia"], PASSWORDS["mia"]).status == 200
    service.age(901)
    service.sign_in("moe")


def test_nobody_locks_another_out_from_elsewhere(service: Service) -> None:
    service.sign_in("moe")
    for _ in range(10):
        service.try_password(EMAILS["moe"], "wrong", THERE)

    assert service.try_password(EMAILS["moe"], "wrong", THERE).status == 429
    service.sign_in("moe")


def test_forwarded_address_counts_only_from_a_trusted_proxy(tmp_path: pathlib.Path) -> None:
    behind = open_service(tmp_path, TRUSTED_PROXIES=["10.0.0.0/8"])
    wrong = {"email": EMAILS["moe"], "password": "wrong"}

    behind.token("password", wrong, "10.0.0.1", **{"X-Forwarded-For": "6.6.6.6, 192.0.2.9"})
    behind.token("password", wrong, "192.0.2.8", **{"X-Forwarded-For": "6.6.6.6"})

    origins = behind.sql("SELECT origin FROM attempts ORDER BY id")
    assert origins == [("192.0.2.9",), ("192.0.2.8",)]


# three seconds


def test_sign_in_that_gets_no_turn_to_hash_is_not_counted(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "ANSWER_SECONDS_MAX", 0.6)

    with password.TURNS:
        refused = service.try_password(EMAILS["moe"], PASSWORDS["moe"])

    assert error(refused) == (429, "over_request_rate_limit")
    assert refused.headers["Retry-After"] == "1"
    assert service.sql("SELECT count(*) FROM attempts") == [(0,)]


@pytest.mark.parametrize(("path", "seconds_max"), [("token", 3.0), ("logout", 0.6), ("admin", 0.6)])
def test_write_that_gets_no_turn_answers_within_three_seconds(
    service: Service, monkeypatch: pytest.MonkeyPatch, path: str, seconds_max: float
) -> None:
    monkeypatch.setattr(deadline, "ANSWER_SECONDS_MAX", seconds_max)
    session = service.sign_in("moe")
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with databases.turn(service.file):
            held.set()
            done.wait(10)

    writer = threading.Thread(target=hold)
    writer.start()
    held.wait(5)
    began = time.monotonic()
    try:
        if path == "token":
            refused = service.refresh(session["refresh_token"])
        elif path == "logout":
            refused = service.api(token=session["access_token"]).post("/auth/v1/logout")
        else:
            refused = service.api("root").delete(f"/auth/v1/admin/users/{MAX}")
    finally:
        waited = time.monotonic() - began
        done.set()
        writer.join()

    assert error(refused) == (503, "request_timeout")
    assert refused.headers["Retry-After"] == "1"
    assert 0.1 < waited < seconds_max


# admin/users


def new(**more: object) -> dict:
    return {
        "email": "eva@acme.example",
        "password": "eva's password",
        "app_metadata": {"role": "client_manager", "client_id": 1},
        **more,
    }


@pytest.mark.parametrize("who", ["service", "root", "ada"])
def test_user_is_made_signs_in_and_is_deleted(service: Service, who: str) -> None:
    admin = service.api(who)

    made = admin.post("/auth/v1/admin/users", new(user_metadata={"name": "Eva", "x": 1}))

    assert made.status == 200, made.text
    user = made.json
    assert set(user) == USER_KEYS
    assert user["app_metadata"] == {"role": "client_manager", "client_id": 1}
    assert user["user_metadata"] == {"name": "Eva", "x": 1}
    assert admin.get(f"/auth/v1/admin/users/{user['id']}").json == user
    assert service.try_password("eva@acme.example", "eva's password").status == 200
    deleted = admin.delete(f"/auth/v1/admin/users/{user['id']}", {"should_soft_delete": False})
    assert (deleted.status, deleted.text) == (200, "{}")
    assert service.try_password("eva@acme.example", "eva's password").status == 400
    gone = admin.get(f"/auth/v1/admin/users/{user['id']}")
    assert error(gone) == (404, "user_not_found")


def test_client_admin_may_leave_role_and_client_out(service: Service) -> None:
    body = {"email": "Eva@acme.example ", "password": "eva's password"}

    user = service.api("ada").post("/auth/v1/admin/users", body).json

    assert user["app_metadata"] == {"role": "client_manager", "client_id": 1}
    assert (user["email"], user["user_metadata"]) == ("eva@acme.example", {"name": "eva"})


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(new(role="client_manager"), id="role-twice-the-same"),
        pytest.param(new(role="authenticated"), id="gotrues-role-at-the-top"),
        pytest.param(
            new(app_metadata={"client_id": 1}, role="client_manager"), id="role-at-the-top"
        ),
        pytest.param(
            new(app_metadata={"role": "client_manager"}, client_id=1), id="client-at-the-top"
        ),
        pytest.param(new(email_confirm=True, phone=None, ban_duration="none"), id="other-keys"),
    ],
)
def test_role_and_client_are_read_where_clients_put_them(service: Service, body: dict) -> None:
    user = service.api("service").post("/auth/v1/admin/users", body)

    assert user.status == 200, user.text
    assert user.json["app_metadata"] == {"role": "client_manager", "client_id": 1}


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        pytest.param(new(email=None), (400, "validation_failed"), id="no-email"),
        pytest.param(new(email="eva"), (400, "validation_failed"), id="not-an-email"),
        pytest.param(new(email="e v@x.example"), (400, "validation_failed"), id="space-in-email"),
        pytest.param(new(email=5), (400, "validation_failed"), id="number-as-email"),
        pytest.param(new(app_metadata={}), (422, "validation_failed"), id="no-role"),
        pytest.param(new(app_metadata=None), (422, "validation_failed"), id="no-metadata"),
        pytest.param(
            new(app_metadata={"role": "king", "client_id": 1}),
            (422, "validation_failed"),
            id="unknown-role",
        ),
        pytest.param(
            new(app_metadata={"role": ["client_manager"], "client_id": 1}),
            (422, "validation_failed"),
            id="role-a-list",
        ),
        pytest.param(new(role="super_admin"), (422, "validation_failed"), id="two-roles"),
        pytest.param(new(client_id=2), (422, "validation_failed"), id="two-clients"),
        pytest.param(new(client_id=None), (422, "validation_failed"), id="client-and-null"),
        pytest.param(
            new(app_metadata={"role": "client_manager"}),
            (422, "validation_failed"),
            id="manager-without-client",
        ),
        pytest.param(
            new(app_metadata={"role": "super_admin", "client_id": 1}),
            (422, "validation_failed"),
            id="super-admin-with-client",
        ),
        pytest.param(
            new(app_metadata={"role": "client_manager", "client_id": 999}),
            (422, "validation_failed"),
            id="unknown-client",
        ),
        pytest.param(
            new(app_metadata={"role": "client_manager", "client_id": 1.5}),
            (422, "validation_failed"),
            id="client-a-fraction",
        ),
        pytest.param(
            new(app_metadata={"role": "client_manager", "client_id": True}),
            (422, "validation_failed"),
            id="client-a-boolean",
        ),
        pytest.param(
            new(app_metadata={"role": "client_manager", "client_id": 10**30}),
            (422, "validation_failed"),
            id="client-too-large",
        ),
        pytest.param(new(password="short"), (422, "weak_password"), id="weak"),
        pytest.param(new(password=""), (422, "weak_password"), id="empty-password"),
        pytest.param(new(password_hash="$2y$"), (422, "validation_failed"), id="hash"),
        pytest.param(new(ban_duration="soon"), (400, "validation_failed"), id="ban"),
        pytest.param(new(ban_duration="-1h"), (400, "validation_failed"), id="negative-ban"),
        pytest.param(new(ban_duration="9" * 12 + "h"), (400, "validation_failed"), id="long-ban"),
        pytest.param(new(id="x"), (422, "validation_failed"), id="id-no-uuid"),
        pytest.param(new(id=MOE), (422, "user_already_exists"), id="id-taken"),
        pytest.param(new(email="MOE@acme.example"), (422, "email_exists"), id="email-taken"),
        pytest.param(new(user_metadata={"name": ""}), (422, "validation_failed"), id="no-name"),
        pytest.param(new(user_metadata=[]), (400, "validation_failed"), id="metadata-a-list"),
        pytest.param(
            new(user_metadata={"x": "y" * 17_000}), (413, "request_too_large"), id="too-much"
        ),
        pytest.param("", (400, "validation_failed"), id="no-body"),
        pytest.param("[]", (400, "bad_json"), id="array"),
    ],
)
def test_user_is_not_made(service: Service, body: object, refused: tuple[int, str]) -> None:
    before = service.sql("SELECT count(*) FROM users")

    assert error(service.api("root").post("/auth/v1/admin/users", body)) == refused
    assert service.sql("SELECT count(*) FROM users") == before


def test_id_is_chosen_by_a_super_admin(service: Service) -> None:
    made = service.api("root").post("/auth/v1/admin/users", new(id=NO_ONE.upper()))

    assert made.json["id"] == NO_ONE


def test_name_is_the_emails_local_part_where_none_is_given(service: Service) -> None:
    made = service.api("root").post("/auth/v1/admin/users", new(user_metadata={"name": None}))

    assert made.json["user_metadata"] == {"name": "eva"}


def test_list_shows_whom_the_caller_sees_page_by_page(service: Service) -> None:
    every = service.api("service").get("/auth/v1/admin/users?page=&per_page=")
    assert set(every.json) == {"users", "aud"}
    assert every.json["aud"] == "authenticated"
    assert {user["id"] for user in every.json["users"]} == {ROOT, ADA, MOE, MIA, BOB, MAX}
    assert every.headers["X-Total-Count"] == "6"
    assert every.headers["Link"] == '</admin/users?page=1&per_page=50>; rel="last"'

    seen = []
    for page, link in (
        (
            1,
            '</admin/users?page=2&per_page=4>; rel="next", </admin/users?page=2&per_page=4>; rel="last"',
        ),
        (2, '</admin/users?page=2&per_page=4>; rel="last"'),
        (3, '</admin/users?page=2&per_page=4>; rel="last"'),
    ):
        some = service.api("root").get(f"/auth/v1/admin/users?page={page}&per_page=4")
        assert some.headers["Link"] == link
        seen += [user["id"] for user in some.json["users"]]
    assert sorted(seen) == sorted({ROOT, ADA, MOE, MIA, BOB, MAX})

    own = service.api("ada").get("/auth/v1/admin/users")
    assert {user["id"] for user in own.json["users"]} == {ADA, MOE, MIA}
    assert own.headers["X-Total-Count"] == "3"


@pytest.mark.parametrize(
    "query", ["page=0", "page=-1", "page=x", "per_page=0", "page=1e3", "page=9999999999"]
)
def test_odd_page_is_refused(service: Service, query: str) -> None:
    refused = service.api("root").get(f"/auth/v1/admin/users?{query}")

    assert error(refused) == (400, "validation_failed")


def test_page_holds_no_more_rows_than_any_answer(tmp_path: pathlib.Path) -> None:
    small = open_service(tmp_path, MAX_ROWS=2)

    for query in ("", "?per_page=5000"):
        assert len(small.api("root").get(f"/auth/v1/admin/users{query}").json["users"]) == 2


def test_user_is_changed(service: Service) -> None:
    session = service.sign_in("moe")
    body = {
        "email": "Moses@acme.example",
        "password": "brand new",
        "app_metadata": {"team": "north"},
        "user_metadata": {"name": "Moses", "theme": "dark"},
    }

    user = service.api("ada").put(f"/auth/v1/admin/users/{MOE}", body).json

    assert user["email"] == "moses@acme.example"
    assert user["app_metadata"] == {"team": "north", "role": "client_manager", "client_id": 1}
    assert user["user_metadata"] == {"name": "Moses", "theme": "dark"}
    assert service.api("ada").get(f"/auth/v1/admin/users/{MOE}").json == user
    assert service.refresh(session["refresh_token"]).status == 400
    assert service.try_password("moses@acme.example", "brand new").status == 200


def test_change_of_nothing_leaves_the_row_alone(service: Service) -> None:
    before = service.sql("SELECT * FROM users WHERE id = ?", MOE)

    user = service.api("root").get(f"/auth/v1/admin/users/{MOE}").json
    service.api("root").put(f"/auth/v1/admin/users/{MOE}", user)

    assert service.sql("SELECT * FROM users WHERE id = ?", MOE) == before


def test_super_admin_changes_role_and_client(service: Service) -> None:
    session = service.sign_in("moe")
    body = {"app_metadata": {"role": "client_admin", "client_id": 2}}

    user = service.api("root").put(f"/auth/v1/admin/users/{MOE}", body).json

    assert user["app_metadata"] == {"role": "client_admin", "client_id": 2}
    assert service.refresh(session["refresh_token"]).status == 400
    assert service.api(token=session["access_token"]).get("/buildings").status == 401
    grants = "SELECT count(*) FROM client_manager_building_access WHERE manager_id = ?"
    assert service.sql(grants, MOE) == [(0,)]


def test_change_to_a_taken_email_is_refused(service: Service) -> None:
    body = {"email": EMAILS["mia"]}

    assert error(service.api("ada").put(f"/auth/v1/admin/users/{MOE}", body)) == (
        422,
        "email_exists",
    )


def test_ban_refuses_tokens_and_sign_ins_until_it_is_lifted(service: Service) -> None:
    session = service.sign_in("moe")
    moe, ada = service.api(token=session["access_token"]), service.api("ada")

    banned = ada.put(f"/auth/v1/admin/users/{MOE}", {"ban_duration": "24h"}).json

    assert banned["banned_until"] > banned["created_at"]
    assert error(moe.get("/auth/v1/user")) == (403, "user_banned")
    assert moe.get("/buildings").status == 401
    assert error(service.refresh(session["refresh_token"])) == (400, "user_banned")
    lifted = ada.put(f"/auth/v1/admin/users/{MOE}", {"ban_duration": "none"}).json
    assert "banned_until" not in lifted
    assert moe.get("/auth/v1/user").status == 200
    assert service.refresh(session["refresh_token"]).status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("user_id", "refused"),
    [(NO_ONE, (404, "user_not_found")), ("17", (404, "validation_failed"))],
)
def test_user_who_is_not_there(
    service: Service, method: str, user_id: str, refused: tuple[int, str]
) -> None:
    asked = service.api("root").send(method, f"/auth/v1/admin/users/{user_id}", {})

    assert error(asked) == refused


def test_soft_deletion_is_refused_rather_than_made_final(service: Service) -> None:
    body = {"should_soft_delete": True}

    refused = service.api("root").delete(f"/auth/v1/admin/users/{MAX}", body)

    assert error(refused) == (422, "validation_failed")
    assert service.api("root").get(f"/auth/v1/admin/users/{MAX}").status == 200


def test_deletion_takes_no_body_too(service: Service) -> None:
    deleted = service.api("root").delete(f"/auth/v1/admin/users/{MAX}")

    assert (deleted.status, deleted.text) == (200, "{}")


def test_person_made_by_the_resource_signs_in_once_they_have_a_password(service: Service) -> None:
    row = {"email": "eva@acme.example", "name": "Eva", "role": "client_manager", "client_id": 1}
    made = service.api("ada").post("/users", row, prefer="return=representation")
    assert made.status == 201, made.text
    [eva] = made.json
    assert service.try_password("eva@acme.example", "eva's password").status == 400

    service.api("ada").put(f"/auth/v1/admin/users/{eva['id']}", {"password": "eva's password"})

    assert service.try_password("eva@acme.example", "eva's password").status == 200


def test_own_password_set_as_an_administrator_spares_the_session(service: Service) -> None:
    mine, other = service.sign_in("root"), service.sign_in("root")
    root = service.api(token=mine["access_token"])

    root.put(f"/auth/v1/admin/users/{ROOT}", {"password": "brand new"})

    assert root.get("/auth/v1/user").status == 200
    assert service.refresh(other["refresh_token"]).status == 400


def test_administrator_is_looked_up_again_after_the_wait(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Demoted while waiting for the turn to write: judged as they are then."""
    ada = service.api(token=service.sign_in("ada")["access_token"])
    hash_slowly = password.Hashing.hash

    def demote() -> None:
        body = {"app_metadata": {"role": "client_manager"}}
        service.api("root").put(f"/auth/v1/admin/users/{ADA}", body)

    def demoted_meanwhile(turn: object, new_password: str) -> str:
        elsewhere = threading.Thread(target=demote)
        elsewhere.start()
        elsewhere.join()
        return hash_slowly(turn, new_password)

    monkeypatch.setattr(password.Hashing, "hash", demoted_meanwhile)

    refused = ada.post("/auth/v1/admin/users", new())

    assert error(refused) == (403, "session_not_found")
    assert service.sql("SELECT * FROM users WHERE email = 'eva@acme.example'") == []

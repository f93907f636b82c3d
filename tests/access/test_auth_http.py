"""/auth/v1: sign-in, refresh, responses without credentials, rate limits, and the deadline of 3 s."""

import json
import pathlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from access.accounts import password
from tests.conftest import MAX, MOE
from tests.support import databases, tokens
from tests.support.providers import PROVIDERS
from tests.support.signin import EMAILS, OTHER_ORIGIN, PASSWORDS, Service, claims, error, open_service, reused_service

pytestmark = pytest.mark.slow

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
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


# token


def test_password_signs_in(service: Service) -> None:
    before = int(time.time())

    session = service.sign_in("moe")

    token = claims(session["access_token"])
    assert set(session) == {"access_token", "token_type", "expires_in", "expires_at", "refresh_token", "user"}
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


def test_super_admins_token_has_no_client(service: Service) -> None:
    assert "client_id" not in claims(service.sign_in("root")["access_token"])


def test_user_has_the_keys_that_clients_expect(service: Service) -> None:
    session = service.sign_in("moe")

    user = service.api(token=session["access_token"]).get("/auth/v1/user").json

    assert user == session["user"]
    assert set(user) == USER_KEYS
    assert user["app_metadata"] == {**PROVIDERS, "role": "client_manager", "client_id": 1}
    assert user["user_metadata"] == {"name": "Moe"}
    [identity] = user["identities"]
    assert (identity["user_id"], identity["provider"]) == (user["id"], "email")
    assert identity["identity_data"]["email"] == user["email"]
    assert user["last_sign_in_at"] is not None


def test_access_token_reads_rows_and_verifies_with_another_library(service: Service) -> None:
    jwt = pytest.importorskip("jwt")
    access_token = service.sign_in("moe")["access_token"]

    read = jwt.decode(access_token, tokens.SECRET_KEY, ["HS256"], audience="authenticated")

    assert read["sub"] == MOE
    [building] = service.api(token=access_token).get("/buildings?select=id").json
    assert building == {"id": 1}


@pytest.mark.parametrize("written", [" moe@acme.example ", "MOE@ACME.example"])
def test_email_signs_in_in_any_case(service: Service, written: str) -> None:
    assert service.try_password(written, PASSWORDS["moe"]).status == 200


def test_bodies_of_both_client_libraries_sign_in(service: Service) -> None:
    credentials = {"email": EMAILS["moe"], "password": PASSWORDS["moe"]}
    for more in ({"gotrue_meta_security": {}}, {"data": {}, "captcha_token": None}):
        assert service.token("password", {**credentials, **more}).status == 200


def test_sign_in_ignores_an_expired_bearer_token(service: Service) -> None:
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
                     (400, "invalid_credentials"), id="empty-password"),
        pytest.param("password", {"email": "moe@acme.example"},
                     (400, "invalid_credentials"), id="no-password"),
        pytest.param("password", {"email": "moe@acme.example", "password": None},
                     (400, "invalid_credentials"), id="null-password"),
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
def test_token_is_refused(service: Service, grant: str, body: object, refused: tuple[int, str]) -> None:
    assert error(service.token(grant, body)) == refused


def test_body_at_the_size_limit_is_read_and_one_byte_more_is_not(service: Service) -> None:
    body = json.dumps({"email": EMAILS["moe"], "password": PASSWORDS["moe"]})

    assert service.token("password", body.ljust(16 << 10)).status == 200
    assert service.token("password", body.ljust((16 << 10) + 1)).status == 413


def test_disabled_user_is_banned_with_the_right_password_only(service: Service) -> None:
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


# Responses without credentials, and unknown paths


@pytest.mark.parametrize("path", ["settings", "health"])
def test_settings_and_health_are_objects(service: Service, path: str) -> None:
    response = service.api("nobody").get(f"/auth/v1/{path}")

    assert response.status == 200
    assert isinstance(response.json, dict)
    assert response.headers["Content-Type"] == "application/json; charset=utf-8"


@pytest.mark.parametrize("path", ["user", "settings", "token?grant_type=password"])
def test_apikey_is_required(service: Service, path: str) -> None:
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
        ("GET", ".well-known/other.json", (404, "not_found")),
        ("GET", f"admin/users/{MOE}/factors", (404, "not_found")),
        ("GET", "token", (405, "method_not_allowed")),
        ("PATCH", "user", (405, "method_not_allowed")),
    ],
)
def test_unknown_path_is_a_json_error(service: Service, method: str, path: str, refused: tuple[int, str]) -> None:
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


def test_11th_attempt_is_refused_even_with_the_right_password(service: Service) -> None:
    for _ in range(10):
        assert service.try_password(EMAILS["moe"], "wrong").status == 400

    refused = service.try_password(EMAILS["moe"], PASSWORDS["moe"])

    assert error(refused) == (429, "over_request_rate_limit")
    assert 1 <= int(refused.headers["Retry-After"]) <= 900
    assert service.try_password(EMAILS["mia"], PASSWORDS["mia"]).status == 200
    service.age(901)
    service.sign_in("moe")


def test_attempts_from_other_origins_do_not_lock_a_user_out(service: Service) -> None:
    service.sign_in("moe")
    for _ in range(10):
        service.try_password(EMAILS["moe"], "wrong", OTHER_ORIGIN)

    assert service.try_password(EMAILS["moe"], "wrong", OTHER_ORIGIN).status == 429
    service.sign_in("moe")


def test_forwarded_address_counts_only_from_a_trusted_proxy(tmp_path: pathlib.Path) -> None:
    behind = open_service(tmp_path, TRUSTED_PROXIES=["10.0.0.0/8"])
    wrong = {"email": EMAILS["moe"], "password": "wrong"}

    behind.token("password", wrong, "10.0.0.1", **{"X-Forwarded-For": "6.6.6.6, 192.0.2.9"})
    behind.token("password", wrong, "192.0.2.8", **{"X-Forwarded-For": "6.6.6.6"})

    origins = behind.sql("SELECT origin FROM attempts ORDER BY id")
    assert origins == [("192.0.2.9",), ("192.0.2.8",)]


# three seconds


def test_sign_in_refused_by_the_hash_queue_is_not_counted(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(password, "RESPONSE_SECONDS_MAX", 0.6)

    with password.HASHING_SLOTS:
        refused = service.try_password(EMAILS["moe"], PASSWORDS["moe"])

    assert error(refused) == (429, "over_request_rate_limit")
    assert refused.headers["Retry-After"] == "1"
    assert service.sql("SELECT count(*) FROM attempts") == [(0,)]


@pytest.mark.parametrize("path", ["token", "logout", "admin"])
def test_write_without_the_lock_is_refused_before_the_deadline(
    service: Service, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    """The deadline of 3 s is shortened here. Another write holds the lock."""
    monkeypatch.setattr(password, "RESPONSE_SECONDS_MAX", 0.6)
    session = service.sign_in("moe")
    change = "/buildings?id=eq.1", {"name": "Waited"}
    with ThreadPoolExecutor(1) as pool, databases.hold_writer_lock(service.file):
        other = pool.submit(service.api("root").patch, *change)
        if path == "token":
            refused = service.refresh(session["refresh_token"])
        elif path == "logout":
            refused = service.api(token=session["access_token"]).post("/auth/v1/logout")
        else:
            refused = service.api("root").delete(f"/auth/v1/admin/users/{MAX}")
        assert not other.done()

    assert error(refused) == (503, "request_timeout")
    assert refused.headers["Retry-After"] == "1"
    assert other.result().status == 204

"""Attack catalogue, group T: tokens and keys. Marks name the entries.

test_hostile_tokens.py tests each kind of hostile token (T01 to T08). This file tests limits, ignored fields, and tokens
after a sign-out, a new password or a change of keys.
"""

import json
import pathlib
import time
from collections.abc import Iterator

import pytest

import config
from tests.access.test_hostile_tokens import KINDS
from tests.conftest import ADA, MOE, ROOT
from tests.support.applications import open_app
from tests.support.signin import EMAILS, Service, claims, error, open_service, reused_service
from tests.support.tokens import ANON_KEY, SECRET_KEY, SERVICE_KEY, claims_of, sign

pytestmark = pytest.mark.one_engine

NEWER_KEY = "tests-newer-secret-key-of-more-than-32-bytes"


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


def is_dead(service: Service, access_token: str) -> bool:
    """Return whether all endpoints refuse a token; assert that they agree."""
    holder = service.api(token=access_token)
    statuses = {
        holder.get("/buildings").status,
        holder.rpc("get_inspections_dashboard_summary_fast").status,
        holder.get("/auth/v1/user").status,
    }
    assert statuses in ({200}, {401, 403})
    return 401 in statuses


def sessionless(who: str = MOE, **more: object) -> str:
    return sign({**claims_of(who, "client_manager", 1), **more})


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer"])
@pytest.mark.attack(entry="T01")
def test_scheme_is_accepted_in_any_case(service: Service, scheme: str) -> None:
    response = service.api("nobody").get("/buildings?select=id", headers={"Authorization": f"{scheme} {sessionless()}"})

    assert response.json == [{"id": 1}]


@pytest.mark.parametrize(
    ("claims", "status"),
    [
        pytest.param({"exp": 0}, 401, id="over-now"),
        pytest.param({"exp": 1}, 200, id="over-in-a-second"),
        pytest.param({"exp": 0.5}, 401, id="over-within-this-second"),
        pytest.param({"iat": 5}, 200, id="issued-5-s-ahead"),
        pytest.param({"iat": 6}, 401, id="issued-6-s-ahead"),
        pytest.param({"nbf": 5}, 200, id="good-in-5-s"),
        pytest.param({"nbf": 6}, 401, id="good-in-6-s"),
    ],
)
@pytest.mark.attack(entry="T04")
def test_leeway_is_5_s_for_iat_and_nbf_and_0_for_exp(service: Service, claims: dict[str, float], status: int) -> None:
    now = int(time.time())
    service.app.extensions["walkthrough.clock"] = lambda: now + 0.9
    moved = {name: now + seconds for name, seconds in claims.items()}

    response = service.api(token=sessionless(**moved)).get("/buildings")

    assert response.status == status
    assert status == 200 or response.code == "PGRST303"


@pytest.mark.attack(entry="T06")
def test_key_named_in_a_header_is_ignored(service: Service) -> None:
    claims = claims_of(MOE, "client_manager", 1)
    headers = {"kid": "../../dev/null", "jku": "https://evil.example", "x5u": "https://evil.example"}

    response = service.api(token=sign(claims, **headers)).get("/buildings?select=id")

    assert response.json == [{"id": 1}]


@pytest.mark.attack(entry="T08")
def test_role_elsewhere_in_the_token_is_ignored(service: Service) -> None:
    lifted = {"role": "super_admin", "client_id": 2}
    token = sessionless(user_metadata=lifted, app_metadata=lifted, user_role="super_admin", claims=lifted)

    response = service.api(token=token).get("/buildings?select=id")

    assert response.json == [{"id": 1}]
    assert service.api(token=token).delete("/buildings?id=eq.1").status == 403


@pytest.mark.attack(entry="T07")
def test_all_errors_of_the_tokens_user_share_one_text(service: Service) -> None:
    kinds = ("user-unknown", "role-of-another", "client-of-another", "session-unknown", "role-unknown")
    answers = {service.api(token=KINDS[kind][1]()).get("/buildings").whole[2] for kind in kinds}
    service.sql(
        "INSERT INTO credentials (user_id, disabled_until) VALUES (?, 9999999999)"
        " ON CONFLICT (user_id) DO UPDATE SET disabled_until = excluded.disabled_until",
        MOE,
    )
    answers.add(service.api(token=sessionless()).get("/buildings").whole[2])

    assert len(answers) == 1
    assert json.loads(answers.pop())["code"] == "PGRST303"


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        pytest.param("post", "/buildings", {"nope": 1}, id="unknown-column"),
        pytest.param("post", "/buildings", [], id="no-rows"),
        pytest.param("post", "/buildings?columns=", "not json", id="no-rows-at-all"),
        pytest.param("post", "/clients", {"name": "New"}, id="no-privilege"),
        pytest.param("patch", "/buildings", {"name": "New"}, id="no-filter"),
        pytest.param("patch", "/buildings?id=eq.1", {}, id="no-changes"),
        pytest.param("put", "/buildings?id=eq.1", {"id": 2}, id="another-key"),
    ],
)
@pytest.mark.attack(entry="T07")
def test_refused_token_takes_precedence_over_errors_of_a_write(
    service: Service, method: str, path: str, body: object
) -> None:
    answer = getattr(service.api(token=KINDS["user-unknown"][1]()), method)(path, body)

    assert answer.status == 401
    assert answer.json["code"] == "PGRST303"


@pytest.mark.attack(entry="T07")
def test_caller_of_a_previous_request_is_not_reused(service: Service) -> None:
    """Requests inside an open application context share its state."""
    with service.app.app_context():
        assert service.api(token=sessionless()).get("/buildings").status == 200
        gone = service.api(token=KINDS["user-unknown"][1]())

        assert gone.post("/buildings", {"nope": 1}).status == 401


@pytest.mark.parametrize("scope", ["local", "global"])
@pytest.mark.attack(entry="T09")
def test_signed_out_token_is_refused_at_the_next_request_by_every_worker(service: Service, scope: str) -> None:
    token = service.sign_in("moe")["access_token"]
    other_worker = Service(open_app(service.file), service.file)
    assert not is_dead(other_worker, token)

    service.api(token=token).post(f"/auth/v1/logout?scope={scope}")

    assert is_dead(service, token)
    assert is_dead(other_worker, token)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"password": "brand new"}, id="another-sets-the-password"),
        pytest.param({"app_metadata": {"role": "client_admin"}}, id="role"),
        pytest.param({"app_metadata": {"client_id": 2}}, id="client"),
    ],
)
@pytest.mark.attack(entry="T09")
def test_new_password_role_or_client_ends_session_and_sessionless_tokens(service: Service, change: dict) -> None:
    session, loose = service.sign_in("moe"), sessionless()

    assert service.api("root").put(f"/auth/v1/admin/users/{MOE}", change).status == 200

    assert is_dead(service, session["access_token"])
    assert is_dead(service, loose)
    assert service.refresh(session["refresh_token"]).status == 400


@pytest.mark.parametrize("users_path", ["/users", "/auth/v1/admin/users"])
@pytest.mark.attack(entry="T09")
def test_new_user_of_the_same_id_revives_no_token(service: Service, users_path: str) -> None:
    session, loose = service.sign_in("moe"), sessionless()
    root = service.api("root")
    assert root.delete(f"/users?id=eq.{MOE}").status == 204

    person = {"id": MOE, "email": "another@acme.example", "role": "client_manager", "client_id": 1}
    app_metadata = {"role": person["role"], "client_id": 1}
    made = root.post(users_path, {**person, "name": "Another"} if users_path == "/users" else
                     {"id": MOE, "email": person["email"], "app_metadata": app_metadata,
                      "password": "another's own"})  # fmt: skip

    assert made.status in (200, 201)
    assert is_dead(service, session["access_token"])
    assert is_dead(service, loose)


@pytest.mark.attack(entry="T09")
def test_role_changed_back_revives_no_token(service: Service) -> None:
    session, loose = service.sign_in("moe"), sessionless()
    for role in ("client_admin", "client_manager"):
        service.api("root").put(f"/auth/v1/admin/users/{MOE}", {"app_metadata": {"role": role}})

    assert is_dead(service, session["access_token"])
    assert is_dead(service, loose)


@pytest.mark.attack(entry="T10")
def test_token_without_a_session_ends_at_a_global_sign_out(service: Service) -> None:
    old = sessionless(iat=int(time.time()) - 60)
    undated = sign({k: v for k, v in claims_of(MOE, "client_manager", 1).items() if k != "iat"})
    assert not is_dead(service, old)
    assert not is_dead(service, undated)

    of_this_second = sessionless()
    assert service.api(token=of_this_second).post("/auth/v1/logout?scope=global").status == 204

    assert is_dead(service, old)
    assert is_dead(service, of_this_second)
    assert is_dead(service, undated)
    assert not is_dead(service, sessionless(iat=int(time.time()) + 2))


@pytest.mark.attack(entry="T10")
def test_sign_out_of_others_keeps_tokens_without_a_session(service: Service) -> None:
    token = service.sign_in("moe")["access_token"]

    service.api(token=token).post("/auth/v1/logout?scope=others")

    assert not is_dead(service, sessionless())


@pytest.mark.attack(entry="T11")
def test_refresh_and_access_tokens_are_not_interchangeable(service: Service) -> None:
    session = service.sign_in("moe")

    assert service.api(token=session["refresh_token"]).get("/buildings").code == "PGRST301"
    assert error(service.api(token=session["refresh_token"]).get("/auth/v1/user")) == (403, "bad_jwt")
    assert error(service.refresh(session["access_token"])) == (400, "refresh_token_not_found")


@pytest.mark.attack(entry="T12")
def test_reused_refresh_token_returns_the_newest_and_an_older_one_ends_the_session(service: Service) -> None:
    session = service.sign_in("moe")
    first = session["refresh_token"]
    second = service.refresh(first).json["refresh_token"]
    third = service.refresh(second).json["refresh_token"]
    assert service.refresh(first).json["refresh_token"] == third
    service.age(31)
    assert service.refresh(second).json["refresh_token"] == third

    assert error(service.refresh(first)) == (400, "refresh_token_already_used")

    assert error(service.refresh(third)) == (400, "refresh_token_not_found")
    assert is_dead(service, session["access_token"])


@pytest.mark.parametrize("scope", ["local", "others"])
@pytest.mark.attack(entry="T13")
def test_sign_out_without_a_session_is_an_error(service: Service, scope: str) -> None:
    response = service.api("moe").post(f"/auth/v1/logout?scope={scope}")

    assert error(response) == (403, "session_not_found")


@pytest.mark.attack(entry="T14")
def test_new_key_signs_and_both_keys_verify_until_the_old_one_is_removed(
    service: Service, tmp_path: pathlib.Path
) -> None:
    session = service.sign_in("moe")
    both = Service(open_app(service.file, SECRET_KEY=[SECRET_KEY, NEWER_KEY]), service.file)
    renewed = both.refresh(session["refresh_token"]).json
    assert not is_dead(both, session["access_token"])
    assert not is_dead(both, renewed["access_token"])

    new = Service(open_app(service.file, SECRET_KEY=[NEWER_KEY]), service.file)

    assert is_dead(new, session["access_token"])
    assert not is_dead(new, renewed["access_token"])
    assert error(new.refresh(session["refresh_token"])) == (400, "refresh_token_not_found")
    assert new.refresh(renewed["refresh_token"]).status == 200


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param({"SECRET_KEY": "x" * 31}, id="secret-short"),
        pytest.param({"SECRET_KEY": [SECRET_KEY, "x" * 31]}, id="one-secret-short"),
        pytest.param({"SERVICE_KEY": "x" * 31}, id="service-short"),
        pytest.param({"SERVICE_KEY": SECRET_KEY}, id="service-is-secret"),
        pytest.param({"SERVICE_KEY": ANON_KEY}, id="service-is-anon"),
        pytest.param({"ANON_KEY": SECRET_KEY}, id="anon-is-secret"),
    ],
)
@pytest.mark.attack(entry="T15")
def test_weak_or_equal_keys_prevent_the_start(tmp_path: pathlib.Path, keys: dict) -> None:
    with pytest.raises(config.ConfigurationError):
        open_app(tmp_path / "walkthrough.db", **keys)


@pytest.mark.attack(entry="T15")
def test_missing_service_key_matches_nothing(tmp_path: pathlib.Path) -> None:
    keyless = open_service(tmp_path, SERVICE_KEY="")

    for given in ("", "None", "null", SERVICE_KEY):
        response = keyless.api("nobody").get("/buildings", headers={"Authorization": f"Bearer {given}"})
        assert response.status == 401
        assert keyless.api("moe").get("/buildings", headers={"apikey": given}).status == 401


@pytest.mark.parametrize("apikey", [None, "", "wrong", ANON_KEY + " x", ANON_KEY[:-1], "é"])
@pytest.mark.attack(entry="T16")
def test_missing_or_wrong_apikey_is_refused(service: Service, apikey: str | None) -> None:
    for path in ("/buildings", "/auth/v1/user", "/rpc/get_inspections_dashboard_summary_fast"):
        method = "POST" if "rpc" in path else "GET"
        response = service.api("root").send(method, path, headers={"apikey": apikey})
        assert response.status == 401, path
    assert service.api("root").get(f"/buildings?apikey={ANON_KEY}", headers={"apikey": None}).status == 401


@pytest.mark.parametrize("path", ["/nope", "/rest/v1/nope", "/rpc/", "/a/b", "/rest//nope"])
@pytest.mark.attack(entry="T16")
def test_unknown_path_with_an_apikey_is_not_found(service: Service, path: str) -> None:
    for apikey in (None, "wrong"):
        response = service.api("root").get(path, headers={"apikey": apikey})
        assert response.status == 401, path
    assert service.api("root").get(path).status == 404
    options = service.api("root").send("OPTIONS", path, headers={"apikey": None})
    assert options.status == 404


@pytest.mark.attack(entry="T16")
def test_optional_apikey_has_to_be_right_if_sent(tmp_path: pathlib.Path) -> None:
    lenient = open_service(tmp_path, REQUIRE_APIKEY=False)

    for path in ("/buildings", "/auth/v1/user"):
        assert lenient.api("moe").get(path, headers={"apikey": None}).status == 200
        assert lenient.api("moe").get(path, headers={"apikey": "wrong"}).status == 401


@pytest.mark.attack(entry="T16")
def test_service_key_as_apikey_adds_no_privileges(service: Service) -> None:
    response = service.api("moe").get("/buildings?select=id", headers={"apikey": SERVICE_KEY})

    assert response.json == [{"id": 1}]


@pytest.mark.attack(entry="T16")
def test_service_key_as_bearer_is_a_super_admin_without_a_user(service: Service) -> None:
    grant = {"admin_id": ADA, "building_id": 4}

    made = service.api("service").post("/client_admin_building_access", grant, prefer="return=representation")

    assert made.json[0]["assigned_by"] is None


@pytest.mark.attack(entry="T17")
def test_clock_changes_revive_no_token(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    session, loose = service.sign_in("moe"), sessionless()
    service.api(token=session["access_token"]).post("/auth/v1/logout?scope=global")
    present = time.time

    monkeypatch.setattr(time, "time", lambda: present() - 365 * 24 * 3_600)

    for dead in (session["access_token"], loose):
        assert service.api(token=dead).get("/buildings").status == 401
    assert service.refresh(session["refresh_token"]).status == 400


def test_token_command_prints_a_standard_jwt(service: Service) -> None:
    jwt = pytest.importorskip("jwt")
    run = service.app.test_cli_runner().invoke(args=["token", EMAILS["moe"]])

    read = jwt.decode(run.output.strip(), SECRET_KEY, ["HS256"], audience="authenticated")

    assert read == claims(run.output.strip())
    assert {name: read[name] for name in ("sub", "role", "client_id", "email", "aal")} == {
        "sub": MOE,
        "role": "client_manager",
        "client_id": 1,
        "email": EMAILS["moe"],
        "aal": "aal1",
    }
    assert "session_id" not in read


def test_token_signed_by_another_library_is_accepted(service: Service) -> None:
    jwt = pytest.importorskip("jwt")

    signed = jwt.encode(claims_of(MOE, "client_manager", 1), SECRET_KEY, "HS256", {"kid": "1"})

    assert not is_dead(service, signed)


def test_null_client_id_claim_is_no_client(service: Service) -> None:
    """A program that signs tokens may write the missing client of a super admin as null."""
    token = sign({**claims_of(ROOT, "super_admin", None), "client_id": None})

    assert service.api(token=token).get("/clients?select=id").json == [{"id": 1}, {"id": 2}]
    without_client = sign({**claims_of(ADA, "client_admin", None), "client_id": None})
    assert is_dead(service, without_client)

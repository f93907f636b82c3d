"""/auth/v1/user and /logout: the caller's own account, and sign-out."""

import pathlib
from collections.abc import Iterator

import pytest

from tests.conftest import MOE
from tests.support import tokens
from tests.support.providers import PROVIDERS
from tests.support.signin import EMAILS, PASSWORDS, Service, error, reused_service

pytestmark = pytest.mark.slow


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


# user


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_user_requires_a_bearer_token(service: Service, method: str) -> None:
    assert error(service.api("nobody").send(method, "/auth/v1/user")) == (401, "no_authorization")
    assert error(service.api(token=tokens.ANON_KEY).send(method, "/auth/v1/user"))[0] == 401
    assert error(service.api("service").send(method, "/auth/v1/user")) == (403, "bad_jwt")


def test_invalid_jwt_has_the_code_that_clients_expect(service: Service) -> None:
    response = service.api(token="not.a.jwt").get("/auth/v1/user")

    assert error(response) == (403, "bad_jwt")
    assert response.json["message"].startswith("invalid JWT")


def test_metadata_are_merged_and_null_removes_a_key(service: Service) -> None:
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
def test_user_cannot_change_their_own_rights(service: Service, body: dict) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    before = service.sql("SELECT id, email, role, client_id FROM users")

    user = moe.put("/auth/v1/user", body).json

    assert user["app_metadata"] == {**PROVIDERS, "role": "client_manager", "client_id": 1}
    assert user["role"] == "client_manager"
    assert service.sql("SELECT id, email, role, client_id FROM users") == before
    assert len(moe.get("/buildings").json) == 1


def test_own_email_cannot_be_changed(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])

    assert error(moe.put("/auth/v1/user", {"email": "new@acme.example"})) == (422, "validation_failed")
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
            {"password": "brand new", "current_password": ""}, (400, "current_password_invalid"), id="empty-current"
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


def test_metadata_beyond_the_limit_are_refused(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    moe.put("/auth/v1/user", {"data": {"one": "x" * 9_000}})

    assert error(moe.put("/auth/v1/user", {"data": {"two": "x" * 9_000}})) == (422, "validation_failed")
    assert set(moe.get("/auth/v1/user").json["user_metadata"]) == {"one", "name"}


def test_new_password_ends_the_other_sessions_and_keeps_this_one(service: Service) -> None:
    mine, other = service.sign_in("moe"), service.sign_in("moe")
    # One token for both requests: a token that is signed in a later second than the change stays valid.
    sessionless = service.api(token=tokens.token_for(MOE, "client_manager", 1))
    assert sessionless.get("/buildings").status == 200
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
    # One token for all attempts: a token that is signed in the next second would stay valid.
    moe = service.api(token=tokens.token_for(MOE, "client_manager", 1))
    refused = moe.put("/auth/v1/user", {"password": "brand new"})

    assert error(refused) == (400, "current_password_required")
    both = {"password": "brand new", "current_password": PASSWORDS["moe"]}
    assert moe.put("/auth/v1/user", both).status == 200
    assert error(moe.get("/auth/v1/user")) == (403, "session_not_found")


@pytest.mark.parametrize("more", [{"email": "o@o.o"}, {"data": {"filled": "x" * 9_000}}], ids=["email", "metadata"])
def test_refused_changes_with_a_password_count_as_attempts(service: Service, more: dict[str, object]) -> None:
    """Otherwise a refused change would test any number of guesses of the old password."""
    moe = service.api(token=service.sign_in("moe")["access_token"])
    assert moe.put("/auth/v1/user", {"data": {"kept": "x" * 9_000}}).status == 200

    guesses = [{"password": f"guess no {number}", **more} for number in range(11)]
    statuses = [moe.put("/auth/v1/user", guess).status for guess in guesses]

    assert statuses == [422] * 10 + [429]


def test_stored_new_password_is_not_an_attempt(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])

    passwords = [{"password": f"brand new {number}"} for number in range(12)]
    statuses = [moe.put("/auth/v1/user", password).status for password in passwords]

    assert statuses == [200] * 12


@pytest.mark.parametrize(
    "current", [{}, {"current_password": PASSWORDS["moe"]}], ids=["recent sign-in", "current password"]
)
def test_right_current_password_is_not_an_attempt(service: Service, current: dict) -> None:
    """Users who often change their password do not reach the limit."""
    moe = service.api(token=service.sign_in("moe")["access_token"])

    assert moe.put("/auth/v1/user", {"password": "brand new", **current}).status == 200

    assert service.sql("SELECT count(*) FROM attempts") == [(0,)]


@pytest.mark.parametrize("email", ["moe@acme.example", "Moe@Acme.example"])
def test_own_email_may_be_repeated_in_any_case(service: Service, email: str) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    kept = {"email": "Moe@Acme.example"}
    assert service.api("root").patch(f"/users?id=eq.{MOE}", kept).status == 204

    assert moe.put("/auth/v1/user", {"email": email, "data": {"name": "Moses"}}).status == 200

    assert service.api("root").get(f"/users?id=eq.{MOE}&select=email,name").json == [{**kept, "name": "Moses"}]


def test_wrong_current_passwords_count_as_attempts(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    guess = {"password": "brand new", "current_password": "wrong"}

    statuses = [moe.put("/auth/v1/user", guess).status for _ in range(11)]

    assert statuses == [400] * 10 + [429]


# logout


@pytest.mark.parametrize(
    ("query", "own_ends", "others_end"),
    [("?scope=local", True, False), ("?scope=others", False, True), ("?scope=global", True, True), ("", True, True)],
)
def test_sign_out(service: Service, query: str, own_ends: bool, others_end: bool) -> None:
    mine, other, hers = service.sign_in("moe"), service.sign_in("moe"), service.sign_in("mia")

    response = service.api(token=mine["access_token"]).post(f"/auth/v1/logout{query}")

    assert (response.status, response.text) == (204, "")
    for session, ends in ((mine, own_ends), (other, others_end), (hers, False)):
        reached = service.api(token=session["access_token"])
        assert (reached.get("/buildings").status == 401) is ends
        assert (reached.get("/auth/v1/user").status == 403) is ends
        assert (service.refresh(session["refresh_token"]).status == 400) is ends


def test_second_sign_out_fails(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])
    moe.post("/auth/v1/logout?scope=local")

    assert error(moe.post("/auth/v1/logout?scope=local")) == (403, "session_not_found")


def test_sign_out_of_an_unknown_scope_is_refused(service: Service) -> None:
    moe = service.api(token=service.sign_in("moe")["access_token"])

    assert error(moe.post("/auth/v1/logout?scope=all")) == (400, "validation_failed")
    assert moe.get("/auth/v1/user").status == 200


def test_token_command_gives_a_token_that_works_right_after_a_global_sign_out(service: Service) -> None:
    service.api(token=service.sign_in("moe")["access_token"]).post("/auth/v1/logout")

    run = service.app.test_cli_runner().invoke(args=["token", EMAILS["moe"]])

    assert service.api(token=run.output.strip()).get("/buildings").status == 200

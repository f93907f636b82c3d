"""Attack catalogue, T01 to T08: each kind of forged token against reads, a write, functions and `/auth/v1`.

test_attacks_tokens.py has the tests that need a history.
"""

import pathlib
import random
from collections.abc import Callable

import pytest

from tests.conftest import ADA, ROOT, Api, Bearer, Database
from tests.support import databases
from tests.support.applications import open_app
from tests.support.invalid_tokens import (
    HEADERS,
    KINDS,
    T02,
    T03,
    T04,
    T05,
    T06,
    T07,
    T08,
    UNAUTHENTICATED,
    now,
    root,
    without,
)
from tests.support.signin import Service, error, file_with_passwords, open_service
from tests.support.tokens import SERVICE_KEY, sign

pytestmark = pytest.mark.one_engine

FLIPS = 2_000
ROUTES: tuple[tuple[str, str, object], ...] = (
    ("GET", "/buildings", None),
    ("GET", "/rest/v1/inspections?select=*,buildings(*)", None),
    ("HEAD", "/users", None),
    ("POST", "/buildings", {"name": "Planted", "client_id": 1}),
    ("PATCH", "/buildings?id=eq.1", {"name": "Planted"}),
    ("DELETE", "/inspections?id=eq.1", None),
    ("POST", "/rpc/get_inspections_dashboard_summary_fast", {}),
    ("GET", "/rpc/check_building_access_v2?p_building_id=1&p_user_id=" + ROOT, None),
    ("POST", "/rpc/assign_buildings_to_client_admin", {"admin_id": ADA, "building_ids": [4]}),
    ("GET", "/auth/v1/user", None),
    ("PUT", "/auth/v1/user", {"data": {"name": "Planted"}}),
    ("POST", "/auth/v1/logout", None),
    ("GET", "/auth/v1/admin/users", None),
    ("POST", "/auth/v1/admin/users", {"email": "planted@x.example", "role": "super_admin"}),
)


@pytest.fixture(scope="module")
def steady_service(tmp_path_factory: pytest.TempPathFactory) -> Service:
    """One database for all of this module: every request is refused, so nothing in it changes."""
    return open_service(tmp_path_factory.mktemp("hostile"))


def refusals(service: Service, headers: dict[str, str | None]) -> dict[str, tuple[int, str | None]]:
    """Status and code of every route."""
    found = {}
    for method, path, body in ROUTES:
        response = service.api("nobody").send(method, path, body, headers=headers)
        code = response.code if method != "HEAD" else None
        found[f"{method} {path}"] = (response.status, code)
    return found


def expected(code: str) -> dict[str, tuple[int, str | None]]:
    wanted: dict[str, tuple[int, str | None]] = {}
    for method, path, _ in ROUTES:
        if path.startswith("/auth/v1"):
            wanted[f"{method} {path}"] = (401, "no_authorization") if code == UNAUTHENTICATED else (403, "")
        else:
            wanted[f"{method} {path}"] = (401, None if method == "HEAD" else code)
    return wanted


GOTRUE = {"bad_jwt", "user_not_found", "session_not_found"}


def compare(service: Service, code: str, headers: dict[str, str | None]) -> None:
    wanted = expected(code)
    for route, (status, found) in refusals(service, headers).items():
        if wanted[route] == (403, ""):
            assert status == 403, route
            assert found in GOTRUE, route
        else:
            assert (status, found) == wanted[route], route


def test_there_are_enough_kinds_of_hostile_tokens() -> None:
    assert len(KINDS) + len(HEADERS) >= 60


def refuse(service: Service, kind: str) -> None:
    code, make = KINDS[kind]
    compare(service, code, {"Authorization": f"Bearer {make()}"})


@pytest.mark.parametrize("kind", T02)
@pytest.mark.attack(entry="T02")
def test_token_of_another_algorithm_is_refused(steady_service: Service, kind: str) -> None:
    refuse(steady_service, kind)


@pytest.mark.parametrize("kind", T03)
@pytest.mark.attack(entry="T03")
def test_malformed_token_or_wrong_signature_is_refused(steady_service: Service, kind: str) -> None:
    refuse(steady_service, kind)


@pytest.mark.parametrize("kind", T04)
@pytest.mark.attack(entry="T04")
def test_expired_or_not_yet_valid_token_is_refused(steady_service: Service, kind: str) -> None:
    refuse(steady_service, kind)


@pytest.mark.parametrize("kind", T05)
@pytest.mark.attack(entry="T05")
def test_claim_of_a_wrong_type_is_refused(steady_service: Service, kind: str) -> None:
    refuse(steady_service, kind)


@pytest.mark.parametrize("kind", T06)
@pytest.mark.attack(entry="T06")
def test_token_with_a_key_in_its_header_is_refused(steady_service: Service, kind: str) -> None:
    refuse(steady_service, kind)


@pytest.mark.parametrize("kind", T07)
@pytest.mark.attack(entry="T07")
def test_signed_token_with_untrue_claims_is_refused(steady_service: Service, kind: str) -> None:
    refuse(steady_service, kind)


@pytest.mark.parametrize("kind", T08)
@pytest.mark.attack(entry="T08")
def test_role_in_another_claim_is_refused(steady_service: Service, kind: str) -> None:
    refuse(steady_service, kind)


@pytest.mark.parametrize("kind", HEADERS)
@pytest.mark.attack(entry="T01")
def test_hostile_authorization_header_is_refused(steady_service: Service, kind: str) -> None:
    code, headers = HEADERS[kind]

    compare(steady_service, code, headers)


ELSEWHERE = ("/", "/rest/v1", "/rest/v1/", "/nope", "/rest/v1/nope", "/a/b", "/rest//nope", "/rpc/")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.attack(entry="T01")
def test_invalid_token_is_refused_for_unknown_paths(steady_service: Service, kind: str) -> None:
    code, make = KINDS[kind]
    headers = {"Authorization": f"Bearer {make()}"}

    for path in ELSEWHERE:
        response = steady_service.api("nobody").get(path, headers=headers)
        assert (response.status, response.code) == (401, code), path
        assert response.headers["WWW-Authenticate"].startswith("Bearer"), path
    for path in ("/", "/buildings/1", "/rpc/get_building_stats"):
        response = steady_service.api("nobody").send("PUT", path, headers=headers)
        assert (response.status, response.code) == (401, code), path


def test_openapi_is_served_without_a_token_and_with_a_valid_one(steady_service: Service) -> None:
    for path in ("/", "/rest/v1/"):
        assert steady_service.api("nobody").get(path).status == 200
        assert steady_service.api("moe").get(path).status == 200
        assert steady_service.api(token=SERVICE_KEY).get(path).status == 200


@pytest.mark.attack(entry="T01")
def test_token_in_the_query_string_is_ignored(steady_service: Service) -> None:
    for name in ("access_token", "token", "jwt", "Authorization"):
        response = steady_service.api("nobody").get(f"/auth/v1/user?{name}={sign(root())}")
        assert error(response) == (401, "no_authorization")


def test_hostile_tokens_write_nothing(steady_service: Service) -> None:
    rows = steady_service.sql("SELECT name FROM buildings UNION SELECT name FROM users")

    assert ("Planted",) not in rows
    assert steady_service.sql("SELECT count(*) FROM inspections WHERE id = 1") == [(1,)]
    assert steady_service.sql("SELECT count(*) FROM client_admin_building_access") == [(2,)]
    assert steady_service.sql("SELECT max(tokens_since) FROM credentials") == [(0,)]


# What is accepted, so that the refusals above prove something


@pytest.mark.parametrize(
    "token",
    [
        pytest.param(lambda: sign(root()), id="plain"),
        pytest.param(lambda: sign(root(exp=now() + 2)), id="expires-soon"),
        pytest.param(lambda: sign(root(iat=now() + 4, nbf=now() + 4)), id="skewed"),
        pytest.param(lambda: sign(root(iat=float(now()))), id="whole-float"),
        pytest.param(lambda: sign(root(iat=now() - 0.5, nbf=now() - 0.25, exp=now() + 60.75)), id="fractions"),
        pytest.param(lambda: sign(without("iat")), id="no-iat"),
        pytest.param(lambda: sign(root(sub=ROOT.upper())), id="upper-case-uuid"),
        pytest.param(lambda: sign(root(aud="authenticated")), id="aud"),
        pytest.param(lambda: sign(root(aud=["x", "authenticated"])), id="aud-list"),
        pytest.param(lambda: sign(root(app_metadata={"role": "client_manager"})), id="metadata"),
        pytest.param(lambda: sign(root(), kid="1", jku="https://evil.example"), id="kid-ignored"),
        pytest.param(lambda: SERVICE_KEY, id="service-key"),
    ],
)
def test_valid_token_is_accepted(steady_service: Service, token: Callable[[], str]) -> None:
    for scheme in ("Bearer", "bearer", "BEARER"):
        headers = {"Authorization": f"{scheme} {token()}"}
        response = steady_service.api("nobody").get("/buildings?select=id", headers=headers)
        assert response.status == 200, response.text
        assert len(response.json) == 6


@pytest.mark.attack(entry="T03")
def test_token_with_a_flipped_bit_or_changed_character_is_refused(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "flips.db"
    databases.copy(file_with_passwords(), file)
    app = open_app(file)
    database = Database(lambda: app, None, app)
    choose = random.Random(11)
    good = sign(root())
    alphabet = "ABCabc012-_.=~"
    for _ in range(FLIPS):
        place = choose.randrange(len(good))
        flipped = chr(ord(good[place]) ^ 1 << choose.randrange(7))
        other = choose.choice([flipped, choose.choice(alphabet)])
        if other == good[place] or not other.isprintable():
            continue
        bad = good[:place] + other + good[place + 1 :]
        response = Api(database, Bearer(f"Bearer {bad}")).get("/inspectors")
        assert response.status == 401, (place, other)
    assert Api(database, Bearer(f"Bearer {good}")).get("/inspectors").status == 200

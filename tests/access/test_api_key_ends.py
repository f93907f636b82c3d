"""What ends an API key."""

import pathlib
import time
from collections.abc import Callable, Iterator

import pytest

from access import session
from access.accounts import administration, api_key
from access.accounts.api_key import NewApiKey
from access.accounts.sign_in import Scope, sign_out
from access.caller import Caller
from access.roles import GRANT_PROFILES, Role
from engine.interface.database import Transaction
from engine.maintenance import check
from tests.access.api_keys import make, of_user, read
from tests.conftest import ADA, MOE, ROOT
from tests.support.signin import PASSWORDS, Service, error, reused_service

SUPER = Caller(ROOT, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
INVALID = (401, "PGRST302", "Invalid API key")


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


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
    service.sql("UPDATE tokens SET expires_at = ?", int(time.time()))


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


def test_deactivated_user_gets_no_key(service: Service) -> None:
    end_by_ban(service)

    answers = [service.api(who).post(of_user(MOE), {"name": "MCP server"}) for who in ("ada", "root", "service")]

    assert {error(each) for each in answers} == {(422, "validation_failed")}
    assert service.sql("SELECT count(*) FROM tokens") == [(0,)]


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
        check.reset_clock(service.app.extensions["walkthrough"])

    assert read(service, key).refusal == INVALID
    assert service.sql("SELECT count(*) FROM tokens") == [(0,)]


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

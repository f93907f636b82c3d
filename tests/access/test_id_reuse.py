"""Ids of users and clients are never reused. Tokens, kiosk displays and the audit log identify users by id."""

import json
import pathlib
import time
from collections.abc import Callable

import pytest

from access.accounts import kiosk_display
from access.caller import Caller
from access.roles import GRANT_PROFILES, Role
from engine.interface.database import stored_timestamp
from tests.conftest import ADA, MOE
from tests.support import tokens
from tests.support.signin import Service, open_service
from tests.support.tokens import HOUR

NEW = "00000000-0000-4000-8000-0000000000f2"
ID_CANNOT_CHANGE = (400, "23514", "the id of a user cannot be changed")
ID_NOT_REUSED = (400, "23514", "a client had this id before, and ids are not reused")
MERGED = "resolution=merge-duplicates"


@pytest.fixture
def service(tmp_path: object) -> Service:
    return open_service(tmp_path)


def test_id_of_a_user_cannot_be_changed(service: Service) -> None:
    root = service.api("root")
    person = {"email": "x@acme.example", "name": "X", "role": "client_manager", "client_id": 1}
    represented = "return=representation"
    (plain,) = root.post("/users?select=id", person, prefer=represented).json
    body = {"email": "y@acme.example", "password": "walks in", "role": "super_admin"}
    with_password = root.post("/auth/v1/admin/users", body).json["id"]
    both = root.get("/users?email=in.(x@acme.example,y@acme.example)&order=email").json
    other = {**person, "email": "z@acme.example"}

    for user in both:
        moved = {**{name: user[name] for name in person}, "id": NEW}
        for response in (
            root.patch(f"/users?id=eq.{user['id']}", {"id": NEW}),
            root.post("/users?on_conflict=email", moved, prefer=MERGED),
            root.post("/users?on_conflict=email", [moved, {**other, "id": NEW}], prefer=MERGED),
        ):
            assert response.refusal == ID_CANNOT_CHANGE, response.text
        assert root.patch(f"/users?id=eq.{user['id']}", {"id": user["id"]}).status == 204

    assert {each["id"] for each in both} == {plain["id"], with_password}
    found = root.get("/users?email=in.(x@acme.example,y@acme.example)&order=email&select=id").json
    assert found == [{"id": each["id"]} for each in both]


def test_new_user_of_a_deleted_id_does_not_revive_its_tokens(service: Service) -> None:
    """A token without a session is valid for a user id, from a time on. It is signed once, before that time."""
    root, moe = service.api("root"), service.api(token=tokens.token_for(MOE, "client_manager", 1))
    assert moe.get("/buildings").status == 200
    assert root.delete(f"/users?id=eq.{MOE}").status == 204
    new_user = {"email": "heir@acme.example", "name": "Heir", "role": "client_manager", "client_id": 1}
    assert root.post("/users", new_user).status == 201

    root.patch("/users?email=eq.heir@acme.example", {"id": MOE})
    root.post("/users?on_conflict=email", {**new_user, "id": MOE}, prefer=MERGED)
    assert moe.get("/buildings").status == 401

    assert root.delete("/users?email=eq.heir@acme.example").status == 204
    assert root.post("/users", {**new_user, "id": MOE}).status == 201
    assert moe.get("/buildings").status == 401


def test_import_with_a_clock_ahead_does_not_revive_tokens(service: Service, tmp_path: pathlib.Path) -> None:
    """An import pauses the audit triggers, which otherwise have the database's time."""
    ahead = time.time() + 5 * 24 * HOUR
    service.app.extensions["walkthrough.clock"].advance(stored_timestamp(ahead))
    person = {"id": MOE, "role": "client_manager", "client_id": 1}
    signed = tokens.token_for(MOE, "client_manager", 1, iat=int(ahead), exp=int(ahead) + HOUR)
    moe = service.api(token=signed)
    assert moe.get("/buildings").status == 200
    assert service.api(token=tokens.SERVICE_KEY).delete(f"/users?id=eq.{MOE}").status == 204
    new_user = {**person, "email": "heir@acme.example", "name": "Heir"}
    (tmp_path / "in.json").write_text(json.dumps({"users": [new_user]}))

    run = service.app.test_cli_runner().invoke(args=["import", str(tmp_path / "in.json")])

    assert run.exit_code == 0, run.output
    assert moe.get("/buildings").status == 401


def test_id_of_a_deleted_client_is_not_reused(api: Callable) -> None:
    """Users of the new client would read audit lines of the previous one."""
    root = api("root")
    assert root.post("/clients", {"id": 57, "name": "Acme Ltd"}).status == 201
    assert root.delete("/clients?id=eq.57").status == 204
    assert root.post("/clients", {"id": 61, "name": "Other"}).status == 201
    new_client = {"id": 57, "name": "Rival Ltd"}

    for response in (
        root.post("/clients", new_client),
        root.post("/clients", [{"id": 60, "name": "Another"}, new_client]),
        root.post("/clients", new_client, prefer=MERGED),
        root.put("/clients?id=eq.57", new_client),
        root.patch("/clients?id=eq.61", {"id": 57}),
    ):
        assert response.refusal == ID_NOT_REUSED, response.text

    assert root.get("/clients?id=in.(57,60)").json == []


def test_client_is_updated_under_its_id(api: Callable) -> None:
    root = api("root")
    assert root.post("/clients", {"id": 57, "name": "Acme Ltd"}).status == 201

    assert root.put("/clients?id=eq.57", {"id": 57, "name": "Acme"}).status in (200, 201, 204)
    assert root.post("/clients", {"id": 57, "name": "Acme Inc"}, prefer=MERGED).status in (200, 201)
    assert root.patch("/clients?id=eq.57", {"id": 57, "name": "Acme"}).status == 204
    assert root.post("/clients", {"id": 57, "name": "Taken"}).refusal[:2] == (409, "23505")
    assert root.patch("/clients?id=eq.57", {"id": 58}).status == 204
    assert root.post("/clients", {"name": "Next"}).status == 201


def test_new_user_of_a_deleted_id_has_none_of_its_kiosk_displays(service: Service) -> None:
    admin = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])
    database = service.app.extensions["walkthrough"]
    with service.app.app_context(), database.writing() as transaction:
        transaction.set_actor(ADA)
        _, code = kiosk_display.create_display(transaction, admin, MOE, "Lobby", 90)
        token = kiosk_display.pair_display(transaction, code, "192.0.2.1")
        assert kiosk_display.authenticate_display(transaction, token) is not None
    root = service.api("root")
    assert root.delete(f"/users?id=eq.{ADA}").status == 204
    another = {"id": ADA, "email": "another@acme.example", "name": "A", "role": "client_admin", "client_id": 1}
    assert root.post("/users", another).status == 201

    with service.app.app_context(), database.reading() as transaction:
        assert kiosk_display.authenticate_display(transaction, token) is None
    with service.app.app_context(), database.writing() as transaction:
        transaction.set_actor(ADA)
        _, code = kiosk_display.create_display(transaction, admin, MOE, "Their own", 90)
        own = kiosk_display.pair_display(transaction, code, "192.0.2.1")
        assert kiosk_display.authenticate_display(transaction, own) is not None

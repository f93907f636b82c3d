"""Nobody comes under an id that somebody else had: they would be taken for them, by tokens, by boards, by the trail."""

import json
import pathlib
import time
from collections.abc import Callable

import pytest

from access.accounts import kiosk_display
from access.caller import GRANT_PROFILES, Caller, Role
from engine.storage.transaction import stored_timestamp
from tests.conftest import ADA, MOE
from tests.support import tokens
from tests.support.signin import Service, open_service
from tests.support.tokens import HOUR

NEW = "00000000-0000-4000-8000-0000000000f2"
STAYS = (400, "23514", "the id of a user cannot be changed")
ONCE = (400, "23514", "a client had this id before, and ids are not reused")
MERGED = "resolution=merge-duplicates"


@pytest.fixture
def service(tmp_path: object) -> Service:
    return open_service(tmp_path)


def test_a_users_id_stays(service: Service) -> None:
    root = service.api("root")
    person = {"email": "x@acme.example", "name": "X", "role": "client_manager", "client_id": 1}
    represented = "return=representation"
    (plain,) = root.post("/users?select=id", person, prefer=represented).json
    body = {"email": "y@acme.example", "password": "walks in", "role": "super_admin"}
    with_password = root.post("/auth/v1/admin/users", body).json["id"]
    both = root.get("/users?email=in.(x@acme.example,y@acme.example)&order=email").json
    other = {**person, "email": "z@acme.example"}

    for kept in both:
        moved = {**{name: kept[name] for name in person}, "id": NEW}
        for response in (
            root.patch(f"/users?id=eq.{kept['id']}", {"id": NEW}),
            root.post("/users?on_conflict=email", moved, prefer=MERGED),
            root.post("/users?on_conflict=email", [moved, {**other, "id": NEW}], prefer=MERGED),
        ):
            assert response.refusal == STAYS, response.text
        assert root.patch(f"/users?id=eq.{kept['id']}", {"id": kept["id"]}).status == 204

    assert {each["id"] for each in both} == {plain["id"], with_password}
    found = root.get("/users?email=in.(x@acme.example,y@acme.example)&order=email&select=id").json
    assert found == [{"id": each["id"]} for each in both]


def test_a_deleted_users_tokens_are_brought_back_by_no_door(service: Service) -> None:
    """A token without a session is known by who it is of, and since when."""
    root, moe = service.api("root"), service.api("moe")
    assert moe.get("/buildings").status == 200
    assert root.delete(f"/users?id=eq.{MOE}").status == 204
    heir = {"email": "heir@acme.example", "name": "Heir", "role": "client_manager", "client_id": 1}
    assert root.post("/users", heir).status == 201

    root.patch("/users?email=eq.heir@acme.example", {"id": MOE})
    root.post("/users?on_conflict=email", {**heir, "id": MOE}, prefer=MERGED)
    assert moe.get("/buildings").status == 401

    assert root.delete("/users?email=eq.heir@acme.example").status == 204
    assert root.post("/users", {**heir, "id": MOE}).status == 201
    assert moe.get("/buildings").status == 401


def test_nor_by_an_import_into_a_file_whose_time_is_ahead(service: Service, tmp_path: pathlib.Path) -> None:
    """The trail is paused for that, and with it whoever tells the triggers the time of the file."""
    ahead = time.time() + 5 * 24 * HOUR
    service.app.extensions["walkthrough.clock"].advance(stored_timestamp(ahead))
    person = {"id": MOE, "role": "client_manager", "client_id": 1}
    signed = tokens.token_for(MOE, "client_manager", 1, iat=int(ahead), exp=int(ahead) + HOUR)
    moe = service.api(token=signed)
    assert moe.get("/buildings").status == 200
    assert service.api(token=tokens.SERVICE_KEY).delete(f"/users?id=eq.{MOE}").status == 204
    heir = {**person, "email": "heir@acme.example", "name": "Heir"}
    (tmp_path / "in.json").write_text(json.dumps({"users": [heir]}))

    run = service.app.test_cli_runner().invoke(args=["import", str(tmp_path / "in.json")])

    assert run.exit_code == 0, run.output
    assert moe.get("/buildings").status == 401


def test_a_clients_id_is_given_to_no_other_one(api: Callable) -> None:
    """Its people would read what is written in the trail of the one before."""
    root = api("root")
    assert root.post("/clients", {"id": 57, "name": "Acme Ltd"}).status == 201
    assert root.delete("/clients?id=eq.57").status == 204
    assert root.post("/clients", {"id": 61, "name": "Other"}).status == 201
    rival = {"id": 57, "name": "Rival Ltd"}

    for response in (
        root.post("/clients", rival),
        root.post("/clients", [{"id": 60, "name": "Another"}, rival]),
        root.post("/clients", rival, prefer=MERGED),
        root.put("/clients?id=eq.57", rival),
        root.patch("/clients?id=eq.61", {"id": 57}),
    ):
        assert response.refusal == ONCE, response.text

    assert root.get("/clients?id=in.(57,60)").json == []


def test_a_client_that_is_there_is_written_under_its_id(api: Callable) -> None:
    root = api("root")
    assert root.post("/clients", {"id": 57, "name": "Acme Ltd"}).status == 201

    assert root.put("/clients?id=eq.57", {"id": 57, "name": "Acme"}).status in (200, 201, 204)
    assert root.post("/clients", {"id": 57, "name": "Acme Inc"}, prefer=MERGED).status in (200, 201)
    assert root.patch("/clients?id=eq.57", {"id": 57, "name": "Acme"}).status == 204
    assert root.post("/clients", {"id": 57, "name": "Taken"}).refusal[:2] == (409, "23505")
    assert root.patch("/clients?id=eq.57", {"id": 58}).status == 204
    assert root.post("/clients", {"name": "Next"}).status == 201


def test_who_is_made_by_a_board_makers_id_has_none_of_their_boards(service: Service) -> None:
    admin = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])
    database = service.app.extensions["walkthrough"]
    with service.app.app_context(), database.writing() as transaction:
        transaction.set_actor(ADA)
        _, token = kiosk_display.create_display(transaction, admin, MOE, "Lobby", 90)
        assert kiosk_display.authenticate_display(transaction, token) is not None
    root = service.api("root")
    assert root.delete(f"/users?id=eq.{ADA}").status == 204
    another = {"id": ADA, "email": "another@acme.example", "name": "A", "role": "client_admin", "client_id": 1}
    assert root.post("/users", another).status == 201

    with service.app.app_context(), database.reading() as transaction:
        assert kiosk_display.authenticate_display(transaction, token) is None
    with service.app.app_context(), database.writing() as transaction:
        transaction.set_actor(ADA)
        _, own = kiosk_display.create_display(transaction, admin, MOE, "Their own", 90)
        assert kiosk_display.authenticate_display(transaction, own) is not None

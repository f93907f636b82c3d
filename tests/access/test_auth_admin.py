"""/auth/v1/admin/users: create, list, change, ban and delete users."""

import json
import pathlib
import threading
from collections.abc import Iterator

import pytest

from access.accounts import password
from tests.access.test_auth_http import USER_KEYS
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID
from tests.support.providers import PROVIDERS
from tests.support.signin import EMAILS, Service, error, open_service, reused_service

pytestmark = pytest.mark.slow


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    with reused_service(tmp_path) as found:
        yield found


# admin/users


def new(**more: object) -> dict:
    return {
        "email": "eva@acme.example",
        "password": "eva's password",
        "app_metadata": {"role": "client_manager", "client_id": 1},
        **more,
    }


@pytest.mark.parametrize("who", ["service", "root", "ada"])
def test_created_user_signs_in_and_is_deleted(service: Service, who: str) -> None:
    admin = service.api(who)

    made = admin.post("/auth/v1/admin/users", new(user_metadata={"name": "Eva", "x": 1}))

    assert made.status == 200, made.text
    user = made.json
    assert set(user) == USER_KEYS
    assert user["app_metadata"] == {**PROVIDERS, "role": "client_manager", "client_id": 1}
    assert user["user_metadata"] == {"name": "Eva", "x": 1}
    assert admin.get(f"/auth/v1/admin/users/{user['id']}").json == user
    assert service.try_password("eva@acme.example", "eva's password").status == 200
    deleted = admin.delete(f"/auth/v1/admin/users/{user['id']}", {"should_soft_delete": False})
    assert (deleted.status, deleted.text) == (200, "{}")
    assert service.try_password("eva@acme.example", "eva's password").status == 400
    gone = admin.get(f"/auth/v1/admin/users/{user['id']}")
    assert error(gone) == (404, "user_not_found")


def test_client_admin_may_omit_role_and_client(service: Service) -> None:
    body = {"email": "Eva@acme.example ", "password": "eva's password"}

    user = service.api("ada").post("/auth/v1/admin/users", body).json

    assert user["app_metadata"] == {**PROVIDERS, "role": "client_manager", "client_id": 1}
    assert (user["email"], user["user_metadata"]) == ("eva@acme.example", {"name": "eva"})


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(new(role="client_manager"), id="role-twice-the-same"),
        pytest.param(new(role="authenticated"), id="gotrues-role-at-the-top"),
        pytest.param(new(app_metadata={"client_id": 1}, role="client_manager"), id="role-at-the-top"),
        pytest.param(new(app_metadata={"role": "client_manager"}, client_id=1), id="client-at-the-top"),
        pytest.param(new(email_confirm=True, phone=None, ban_duration="none"), id="other-keys"),
    ],
)
def test_role_and_client_are_read_from_body_and_app_metadata(service: Service, body: dict) -> None:
    user = service.api("service").post("/auth/v1/admin/users", body)

    assert user.status == 200, user.text
    assert user.json["app_metadata"] == {**PROVIDERS, "role": "client_manager", "client_id": 1}


@pytest.mark.parametrize(
    ("body", "refused"),
    [
        pytest.param(new(email=None), (400, "validation_failed"), id="no-email"),
        pytest.param(new(email="eva"), (400, "validation_failed"), id="not-an-email"),
        pytest.param(new(email="e v@x.example"), (400, "validation_failed"), id="space-in-email"),
        pytest.param(new(email=5), (400, "validation_failed"), id="number-as-email"),
        pytest.param(new(app_metadata={}), (422, "validation_failed"), id="no-role"),
        pytest.param(new(app_metadata=None), (422, "validation_failed"), id="no-metadata"),
        pytest.param(new(app_metadata={"role": "king", "client_id": 1}), (422, "validation_failed"), id="unknown-role"),
        pytest.param(
            new(app_metadata={"role": ["client_manager"], "client_id": 1}), (422, "validation_failed"), id="role-a-list"
        ),
        pytest.param(new(role="super_admin"), (422, "validation_failed"), id="two-roles"),
        pytest.param(new(client_id=2), (422, "validation_failed"), id="two-clients"),
        pytest.param(new(client_id=None), (422, "validation_failed"), id="client-and-null"),
        pytest.param(
            new(app_metadata={"role": "client_manager"}), (422, "validation_failed"), id="manager-without-client"
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
        pytest.param(new(phone="+4912345"), (422, "phone_provider_disabled"), id="phone"),
        pytest.param(new(ban_duration="soon"), (400, "validation_failed"), id="ban"),
        pytest.param(new(ban_duration="-1h"), (400, "validation_failed"), id="negative-ban"),
        pytest.param(new(ban_duration="9" * 12 + "h"), (400, "validation_failed"), id="long-ban"),
        pytest.param(new(id="x"), (422, "validation_failed"), id="id-no-uuid"),
        pytest.param(new(id=MOE), (422, "user_already_exists"), id="id-taken"),
        pytest.param(new(email="MOE@acme.example"), (422, "email_exists"), id="email-taken"),
        pytest.param(new(user_metadata={"name": ""}), (422, "validation_failed"), id="no-name"),
        pytest.param(new(user_metadata=[]), (400, "validation_failed"), id="metadata-a-list"),
        pytest.param(new(user_metadata={"x": "y" * 17_000}), (413, "request_too_large"), id="too-much"),
        pytest.param("", (400, "validation_failed"), id="no-body"),
        pytest.param("[]", (400, "bad_json"), id="array"),
    ],
)
def test_invalid_user_is_not_created(service: Service, body: object, refused: tuple[int, str]) -> None:
    before = service.sql("SELECT count(*) FROM users")

    assert error(service.api("root").post("/auth/v1/admin/users", body)) == refused
    assert service.sql("SELECT count(*) FROM users") == before


def test_only_a_super_admin_chooses_the_id(service: Service) -> None:
    made = service.api("root").post("/auth/v1/admin/users", new(id=UNKNOWN_USER_ID.upper()))

    assert made.json["id"] == UNKNOWN_USER_ID


def test_name_defaults_to_the_local_part_of_the_email(service: Service) -> None:
    made = service.api("root").post("/auth/v1/admin/users", new(user_metadata={"name": None}))

    assert made.json["user_metadata"] == {"name": "eva"}


def test_providers_that_a_client_sends_back_are_not_stored(service: Service) -> None:
    sent = {"provider": "github", "providers": ["github"], "role": "client_manager", "client_id": 1}

    made = service.api("root").post("/auth/v1/admin/users", new(app_metadata=sent)).json

    assert made["app_metadata"] == {**sent, **PROVIDERS}
    [(stored,)] = service.sql("SELECT app_metadata FROM credentials WHERE user_id = ?", made["id"])
    assert json.loads(stored) == {}


def test_list_has_pages_of_the_users_that_the_caller_reads(service: Service) -> None:
    every = service.api("service").get("/auth/v1/admin/users?page=&per_page=")
    assert set(every.json) == {"users", "aud"}
    assert every.json["aud"] == "authenticated"
    assert {user["id"] for user in every.json["users"]} == {ROOT, ADA, MOE, MIA, BOB, MAX}
    assert every.headers["X-Total-Count"] == "6"
    assert every.headers["Link"] == '</admin/users?page=1&per_page=50>; rel="last"'

    seen = []
    for page, link in (
        (1, '</admin/users?page=2&per_page=4>; rel="next", </admin/users?page=2&per_page=4>; rel="last"'),
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
    ("who", "query", "found"),
    [
        pytest.param("root", "filter=ada", [ADA], id="email"),
        pytest.param("root", "filter=ADA@", [ADA], id="in-any-case"),
        pytest.param("root", "filter=Mia Manager", [MIA], id="name"),
        pytest.param("root", "filter=über", [BOB], id="beyond-ascii"),
        pytest.param("root", "filter=ÜBER", [BOB], id="beyond-ascii-in-any-case"),
        pytest.param("root", "filter=zzz", [], id="nobody"),
        pytest.param("root", "filter=a_a", [], id="no-wildcard"),
        pytest.param("root", "filter=%25", [], id="no-wildcard-of-many"),
        pytest.param("root", "filter=", [MAX, BOB, MIA, MOE, ADA, ROOT], id="unsaid"),
        pytest.param("ada", "filter=bob", [], id="hidden"),
        pytest.param("ada", "filter=m&sort=created_at desc", [MIA, MOE, ADA], id="newest-first"),
        pytest.param("ada", "filter=m&sort=created_at", [MIA, MOE, ADA], id="newest-first-unsaid"),
        pytest.param("ada", "filter=m&sort=created_at asc", [ADA, MOE, MIA], id="oldest-first"),
    ],
)
def test_list_is_filtered_by_a_text(service: Service, who: str, query: str, found: list[str]) -> None:
    for number, person in enumerate((ROOT, ADA, MOE, MIA, BOB, MAX)):
        moment = f"2026-01-01T00:00:0{number}+00:00"
        service.sql("UPDATE users SET created_at = ? WHERE id = ?", moment, person)
    service.sql("UPDATE users SET name = 'Mia Manager' WHERE id = ?", MIA)
    service.sql("UPDATE users SET name = 'Bob Über' WHERE id = ?", BOB)

    answered = service.api(who).get(f"/auth/v1/admin/users?{query}")

    assert [user["id"] for user in answered.json["users"]] == found
    assert answered.headers["X-Total-Count"] == str(len(found))


def test_list_beyond_the_response_limit_is_refused(service: Service) -> None:
    api, name = service.api("root"), "n" * 60_000
    for page in range(8):
        people = [f"{page}.{number}@many.example,{name},client_manager,1" for number in range(80)]
        csv = "\n".join(["email,name,role,client_id", *people])
        assert api.post("/users", csv, content_type="text/csv").status == 201

    refused = api.get("/auth/v1/admin/users?per_page=1000")

    assert error(refused) == (400, "validation_failed")
    assert api.get("/auth/v1/admin/users?per_page=100").status == 200


def test_links_of_a_filtered_list_keep_the_filter(service: Service) -> None:
    some = service.api("root").get("/auth/v1/admin/users?per_page=1&filter=@&sort=created_at")

    assert some.headers["Link"].startswith("</admin/users?page=2&per_page=1&filter=%40&sort=created_at>")


@pytest.mark.parametrize(
    "query",
    [
        "page=0", "page=-1", "page=x", "per_page=0", "page=1e3", "page=9999999999",
        "sort=email", "sort=created_at sideways", f"filter={'a' * 257}",
    ],
)  # fmt: skip
def test_invalid_page_is_refused(service: Service, query: str) -> None:
    refused = service.api("root").get(f"/auth/v1/admin/users?{query}")

    assert error(refused) == (400, "validation_failed")


def test_page_is_limited_to_the_maximum_rows(tmp_path: pathlib.Path) -> None:
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
    assert user["app_metadata"] == {**PROVIDERS, "team": "north", "role": "client_manager", "client_id": 1}
    assert user["user_metadata"] == {"name": "Moses", "theme": "dark"}
    assert service.api("ada").get(f"/auth/v1/admin/users/{MOE}").json == user
    assert service.refresh(session["refresh_token"]).status == 400
    assert service.try_password("moses@acme.example", "brand new").status == 200


def test_empty_change_leaves_the_row(service: Service) -> None:
    before = service.sql("SELECT * FROM users WHERE id = ?", MOE)

    user = service.api("root").get(f"/auth/v1/admin/users/{MOE}").json
    service.api("root").put(f"/auth/v1/admin/users/{MOE}", user)

    assert service.sql("SELECT * FROM users WHERE id = ?", MOE) == before


def test_id_may_be_repeated_and_not_changed(service: Service) -> None:
    root = service.api("root")

    assert root.put(f"/auth/v1/admin/users/{MOE}", {"id": MOE.upper()}).status == 200
    refused = root.put(f"/auth/v1/admin/users/{MOE}", {"id": UNKNOWN_USER_ID, "password": "brand new"})

    assert error(refused) == (422, "validation_failed")
    assert root.get(f"/auth/v1/admin/users/{UNKNOWN_USER_ID}").status == 404
    assert service.try_password("moe@acme.example", "brand new").status == 400


def test_super_admin_changes_role_and_client(service: Service) -> None:
    session = service.sign_in("moe")
    body = {"app_metadata": {"role": "client_admin", "client_id": 2}}

    user = service.api("root").put(f"/auth/v1/admin/users/{MOE}", body).json

    assert user["app_metadata"] == {**PROVIDERS, "role": "client_admin", "client_id": 2}
    assert service.refresh(session["refresh_token"]).status == 400
    assert service.api(token=session["access_token"]).get("/buildings").status == 401
    grants = "SELECT count(*) FROM client_manager_building_access WHERE manager_id = ?"
    assert service.sql(grants, MOE) == [(0,)]


def test_change_to_a_taken_email_is_refused(service: Service) -> None:
    body = {"email": EMAILS["mia"]}

    assert error(service.api("ada").put(f"/auth/v1/admin/users/{MOE}", body)) == (422, "email_exists")


@pytest.mark.parametrize("lifting", ["none", "0", "0s"])
def test_ban_refuses_tokens_and_sign_ins_until_it_is_lifted(service: Service, lifting: str) -> None:
    session = service.sign_in("moe")
    moe, ada = service.api(token=session["access_token"]), service.api("ada")

    banned = ada.put(f"/auth/v1/admin/users/{MOE}", {"ban_duration": "24h"}).json

    assert banned["banned_until"] > banned["created_at"]
    assert error(moe.get("/auth/v1/user")) == (403, "user_banned")
    assert moe.get("/buildings").status == 401
    assert error(service.refresh(session["refresh_token"])) == (400, "user_banned")
    lifted = ada.put(f"/auth/v1/admin/users/{MOE}", {"ban_duration": lifting}).json
    assert "banned_until" not in lifted
    assert moe.get("/auth/v1/user").status == 200
    assert service.refresh(session["refresh_token"]).status == 200


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
@pytest.mark.parametrize(
    ("user_id", "refused"), [(UNKNOWN_USER_ID, (404, "user_not_found")), ("17", (404, "validation_failed"))]
)
def test_unknown_user_is_not_found(service: Service, method: str, user_id: str, refused: tuple[int, str]) -> None:
    asked = service.api("root").send(method, f"/auth/v1/admin/users/{user_id}", {})

    assert error(asked) == refused


def test_soft_deletion_is_refused(service: Service) -> None:
    body = {"should_soft_delete": True}

    refused = service.api("root").delete(f"/auth/v1/admin/users/{MAX}", body)

    assert error(refused) == (422, "validation_failed")
    assert service.api("root").get(f"/auth/v1/admin/users/{MAX}").status == 200


def test_deletion_accepts_an_empty_body(service: Service) -> None:
    deleted = service.api("root").delete(f"/auth/v1/admin/users/{MAX}")

    assert (deleted.status, deleted.text) == (200, "{}")


def test_user_created_by_the_resource_signs_in_after_a_password_is_set(service: Service) -> None:
    row = {"email": "eva@acme.example", "name": "Eva", "role": "client_manager", "client_id": 1}
    made = service.api("ada").post("/users", row, prefer="return=representation")
    assert made.status == 201, made.text
    [eva] = made.json
    assert service.try_password("eva@acme.example", "eva's password").status == 400

    service.api("ada").put(f"/auth/v1/admin/users/{eva['id']}", {"password": "eva's password"})

    assert service.try_password("eva@acme.example", "eva's password").status == 200


def test_own_password_set_as_administrator_keeps_the_session(service: Service) -> None:
    mine, other = service.sign_in("root"), service.sign_in("root")
    root = service.api(token=mine["access_token"])

    root.put(f"/auth/v1/admin/users/{ROOT}", {"password": "brand new"})

    assert root.get("/auth/v1/user").status == 200
    assert service.refresh(other["refresh_token"]).status == 400


def test_administrator_is_looked_up_again_after_the_lock(service: Service, monkeypatch: pytest.MonkeyPatch) -> None:
    """A caller who is demoted while the request waits for the write lock is refused."""
    ada = service.api(token=service.sign_in("ada")["access_token"])
    hash_slowly = password.PasswordHashing.hash

    def demote() -> None:
        body = {"app_metadata": {"role": "client_manager"}}
        service.api("root").put(f"/auth/v1/admin/users/{ADA}", body)

    def demoted_meanwhile(turn: object, new_password: str) -> str:
        elsewhere = threading.Thread(target=demote)
        elsewhere.start()
        elsewhere.join()
        return hash_slowly(turn, new_password)

    monkeypatch.setattr(password.PasswordHashing, "hash", demoted_meanwhile)

    refused = ada.post("/auth/v1/admin/users", new())

    assert error(refused) == (403, "session_not_found")
    assert service.sql("SELECT * FROM users WHERE email = 'eva@acme.example'") == []

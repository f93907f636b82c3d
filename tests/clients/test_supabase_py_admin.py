"""The admin API of sign-in, as supabase-py says it."""

import uuid

import pytest

from tests.clients.consumers import Client, Consumers, auth_refused
from tests.clients.test_supabase_py_auth import alive
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT
from tests.support import tokens


@pytest.fixture(scope="module")
def service(consumers: Consumers) -> Client:
    return consumers.connect(tokens.SERVICE_KEY)


@pytest.fixture
def newcomer(service: Client) -> tuple[str, str, str]:
    """A manager of client 1 that no other test knows: id, e-mail, password."""
    email, password = f"{uuid.uuid4()}@acme.example", "first words to remember"
    made = service.auth.admin.create_user(
        {
            "email": email,
            "password": password,
            "email_confirm": True,
            "app_metadata": {"role": "client_manager", "client_id": 1},
            "user_metadata": {"name": "Nell", "theme": "dark"},
        }
    )
    return made.user.id, email, password


# -- The admin API


def test_admin_creates_lists_gets_updates_and_deletes(service: Client, newcomer: tuple) -> None:
    user_id, email, _ = newcomer
    admin = service.auth.admin

    assert user_id in [user.id for user in admin.list_users(per_page=1000)]
    found = admin.get_user_by_id(user_id).user
    assert (found.email, found.app_metadata["role"]) == (email, "client_manager")
    changed = admin.update_user_by_id(user_id, {"app_metadata": {"plan": "gold"}}).user
    assert (changed.app_metadata["plan"], changed.app_metadata["client_id"]) == ("gold", 1)
    admin.delete_user(user_id)
    assert auth_refused(lambda: admin.get_user_by_id(user_id)) == (404, "user_not_found")


def test_admin_pages_through_users(service: Client) -> None:
    first = service.auth.admin.list_users(page=1, per_page=2)
    second = service.auth.admin.list_users(page=2, per_page=2)

    assert (len(first), len(second)) == (2, 2)
    assert not {user.id for user in first} & {user.id for user in second}


def test_admin_cannot_take_an_email_twice(service: Client) -> None:
    taken = {
        "email": "MOE@acme.example",
        "password": "long enough words",
        "app_metadata": {"role": "client_manager", "client_id": 1},
    }

    refusal = auth_refused(lambda: service.auth.admin.create_user(taken))

    assert refusal == (422, "email_exists")


CREATES_REFUSED = {
    "no role": {"email": "a@x.org"},
    "an unknown role": {"email": "a@x.org", "app_metadata": {"role": "boss"}},
    "a manager without a client": {"email": "a@x.org", "app_metadata": {"role": "client_manager"}},
    "two roles": {
        "email": "a@x.org",
        "role": "super_admin",
        "app_metadata": {"role": "client_manager", "client_id": 1},
    },
}


@pytest.mark.parametrize("name", CREATES_REFUSED)
def test_admin_create_is_refused(service: Client, name: str) -> None:
    given = {"password": "long enough words", **CREATES_REFUSED[name]}

    refusal = auth_refused(lambda: service.auth.admin.create_user(given))

    assert refusal == (422, "validation_failed")


def test_admin_create_without_an_email(service: Client) -> None:
    given = {"password": "long enough words", "app_metadata": {"role": "super_admin"}}

    refusal = auth_refused(lambda: service.auth.admin.create_user(given))

    assert refusal[1] == "validation_failed"


def test_admin_changes_a_password(consumers: Consumers, service: Client, newcomer: tuple) -> None:
    user_id, email, _ = newcomer

    service.auth.admin.update_user_by_id(user_id, {"password": "third words to remember"})

    again = consumers.sign_in(email, "third words to remember")
    assert again.auth.get_user().user.id == user_id


def test_banned_user_is_out_at_once(consumers: Consumers, service: Client, newcomer: tuple) -> None:
    user_id, email, password = newcomer
    nell = consumers.sign_in(email, password)
    token = nell.auth.get_session().access_token

    service.auth.admin.update_user_by_id(user_id, {"ban_duration": "24h"})

    assert not alive(nell)
    assert auth_refused(lambda: nell.auth.get_user(token)) == (403, "user_banned")
    given = {"email": email, "password": password}
    refusal = auth_refused(lambda: consumers.connect().auth.sign_in_with_password(given))
    assert refusal == (400, "user_banned")


@pytest.mark.parametrize("who", ["max", "nobody"])
def test_admin_api_is_not_for_everybody(consumers: Consumers, who: str) -> None:
    token = tokens.token_for(MAX, "client_manager", 2) if who == "max" else None
    guest = consumers.connect(authorization=token)

    status, code = auth_refused(guest.auth.admin.list_users)

    assert status in (401, 403), code


def test_client_admin_may_leave_role_and_client_out(consumers: Consumers) -> None:
    token = tokens.token_for(BOB, "client_admin", 2)
    bob = consumers.connect(authorization=token)

    made = bob.auth.admin.create_user({"email": "ned@borough.example"}).user

    assert made.app_metadata["role"] == "client_manager"
    assert made.app_metadata["client_id"] == 2
    assert made.user_metadata["name"] == "ned"


def test_client_admin_makes_no_admins_and_sees_no_strangers(consumers: Consumers) -> None:
    token = tokens.token_for(BOB, "client_admin", 2)
    bob = consumers.connect(authorization=token)
    given = {"email": "eve@borough.example", "app_metadata": {"role": "super_admin"}}

    status, code = auth_refused(lambda: bob.auth.admin.create_user(given))

    assert (status, code) != (200, None)
    assert status in (403, 422), code
    listed = {user.id for user in bob.auth.admin.list_users(per_page=1000)}
    assert {BOB, MAX} <= listed
    assert not listed & {ROOT, ADA, MOE, MIA}
    assert auth_refused(lambda: bob.auth.admin.get_user_by_id(MOE)) == (404, "user_not_found")

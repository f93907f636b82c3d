"""The admin API of sign-in with supabase-py."""

import uuid

import pytest

from tests.clients.consumers import Client, Consumers, auth_error_of
from tests.clients.test_supabase_py_auth import is_accepted
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT
from tests.support import tokens


@pytest.fixture(scope="module")
def service(consumers: Consumers) -> Client:
    return consumers.connect(tokens.SERVICE_KEY)


@pytest.fixture
def new_manager(service: Client) -> tuple[str, str, str]:
    """Id, e-mail and password of a manager of client 1 for one test."""
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


def test_admin_creates_lists_gets_updates_and_deletes_users(service: Client, new_manager: tuple) -> None:
    user_id, email, _ = new_manager
    admin = service.auth.admin

    assert user_id in [user.id for user in admin.list_users(per_page=1000)]
    found = admin.get_user_by_id(user_id).user
    assert (found.email, found.app_metadata["role"]) == (email, "client_manager")
    changed = admin.update_user_by_id(user_id, {"app_metadata": {"plan": "gold"}}).user
    assert (changed.app_metadata["plan"], changed.app_metadata["client_id"]) == ("gold", 1)
    admin.delete_user(user_id)
    assert auth_error_of(lambda: admin.get_user_by_id(user_id)) == (404, "user_not_found")


def test_admin_pages_through_users(service: Client) -> None:
    first = service.auth.admin.list_users(page=1, per_page=2)
    second = service.auth.admin.list_users(page=2, per_page=2)

    assert (len(first), len(second)) == (2, 2)
    assert not {user.id for user in first} & {user.id for user in second}


def test_admin_cannot_create_two_users_with_one_email(service: Client) -> None:
    taken = {
        "email": "MOE@acme.example",
        "password": "long enough words",
        "app_metadata": {"role": "client_manager", "client_id": 1},
    }

    refusal = auth_error_of(lambda: service.auth.admin.create_user(taken))

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

    refusal = auth_error_of(lambda: service.auth.admin.create_user(given))

    assert refusal == (422, "validation_failed")


def test_user_without_an_email_is_not_created(service: Client) -> None:
    given = {"password": "long enough words", "app_metadata": {"role": "super_admin"}}

    refusal = auth_error_of(lambda: service.auth.admin.create_user(given))

    assert refusal[1] == "validation_failed"


def test_admin_changes_a_password(consumers: Consumers, service: Client, new_manager: tuple) -> None:
    user_id, email, _ = new_manager

    service.auth.admin.update_user_by_id(user_id, {"password": "third words to remember"})

    again = consumers.sign_in(email, "third words to remember")
    assert again.auth.get_user().user.id == user_id


def test_ban_takes_effect_at_once(consumers: Consumers, service: Client, new_manager: tuple) -> None:
    user_id, email, password = new_manager
    nell = consumers.sign_in(email, password)
    token = nell.auth.get_session().access_token

    service.auth.admin.update_user_by_id(user_id, {"ban_duration": "24h"})

    assert not is_accepted(nell)
    assert auth_error_of(lambda: nell.auth.get_user(token)) == (403, "user_banned")
    given = {"email": email, "password": password}
    refusal = auth_error_of(lambda: consumers.connect().auth.sign_in_with_password(given))
    assert refusal == (400, "user_banned")


@pytest.mark.parametrize("who", ["max", "nobody"])
def test_admin_api_requires_an_administrator(consumers: Consumers, who: str) -> None:
    token = tokens.token_for(MAX, "client_manager", 2) if who == "max" else None
    guest = consumers.connect(authorization=token)

    status, code = auth_error_of(guest.auth.admin.list_users)

    assert status in (401, 403), code


def test_client_admin_may_omit_role_and_client(consumers: Consumers) -> None:
    token = tokens.token_for(BOB, "client_admin", 2)
    bob = consumers.connect(authorization=token)

    made = bob.auth.admin.create_user({"email": "ned@borough.example"}).user

    assert made.app_metadata["role"] == "client_manager"
    assert made.app_metadata["client_id"] == 2
    assert made.user_metadata["name"] == "ned"


def test_client_admin_creates_managers_and_reads_own_users_only(consumers: Consumers) -> None:
    token = tokens.token_for(BOB, "client_admin", 2)
    bob = consumers.connect(authorization=token)
    given = {"email": "eve@borough.example", "app_metadata": {"role": "super_admin"}}

    status, code = auth_error_of(lambda: bob.auth.admin.create_user(given))

    assert (status, code) != (200, None)
    assert status in (403, 422), code
    listed = {user.id for user in bob.auth.admin.list_users(per_page=1000)}
    assert {BOB, MAX} <= listed
    assert not listed & {ROOT, ADA, MOE, MIA}
    assert auth_error_of(lambda: bob.auth.admin.get_user_by_id(MOE)) == (404, "user_not_found")

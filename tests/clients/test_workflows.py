"""Workflows of users, end to end, and changes of rights that take effect with the next request.

The service has two workers. Tests of both workers send each request over a new connection, and enough of them to
reach both.
"""

import uuid
from collections.abc import Callable

import pytest

from tests.clients.consumers import APIError, Client, Consumers, auth_error_of, credentials, error_of
from tests.conftest import ADA, BOB, MAX, MOE, ROOT
from tests.support import tokens

CONNECTIONS = 12  # each reaches a random worker: all reach the same one in 1 of 2,000 runs
PASSWORD = "first words to remember"


def buildings_seen(consumer: Client) -> list[int]:
    rows = consumer.table("buildings").select("id").order("id").execute().data
    return [row["id"] for row in rows]


def distinct_results(send_request: Callable[[], object]) -> list:
    """Return the distinct results over many new connections, in the order of their first occurrence."""
    results: list = []
    for _ in range(CONNECTIONS):
        result = send_request()
        if result not in results:
            results.append(result)
    return results


@pytest.fixture
def new_buildings(signed_in: Callable) -> list[int]:
    """The ids of three buildings of client 1 for one test."""
    rows = [{"name": f"House {uuid.uuid4()}", "client_id": 1} for _ in range(3)]
    made = signed_in("root").table("buildings").insert(rows).execute().data
    return [row["id"] for row in made]


@pytest.fixture
def new_manager(consumers: Consumers) -> tuple[str, str]:
    """Id and e-mail of a manager of client 1 for one test."""
    email = f"{uuid.uuid4()}@acme.example"
    service = consumers.connect(tokens.SERVICE_KEY)
    made = service.auth.admin.create_user(
        {"email": email, "password": PASSWORD, "app_metadata": {"role": "client_manager", "client_id": 1}}
    )
    return made.user.id, email


# -- (a) A new manager


def test_new_manager_reads_granted_buildings_only(consumers: Consumers, new_buildings: list[int]) -> None:
    ada = consumers.signed_in("ada")
    token = ada.auth.get_session().access_token
    email = f"{uuid.uuid4()}@acme.example"

    people = consumers.connect(authorization=token).auth.admin
    new = people.create_user({"email": email, "password": PASSWORD, "user_metadata": {"name": "Nora"}}).user
    arguments = {"manager_id": new.id, "building_ids": new_buildings[:2], "inspection_ids": []}
    assigned = ada.rpc("assign_to_client_manager", arguments).execute().data
    nora = consumers.sign_in(email, PASSWORD)

    assert assigned == {"success": True, "assigned_buildings": 2, "assigned_inspections": 0, "already_assigned": 0}
    assert buildings_seen(nora) == new_buildings[:2]
    profile = nora.table("users").select("name,role,client_id,clients(name)").single().execute()
    assert profile.data == {
        "name": "Nora",
        "role": "client_manager",
        "client_id": 1,
        "clients": {"name": "Acme Housing"},
    }
    grants = nora.table("client_manager_building_access").select("building_id,assigned_by")
    assert grants.order("building_id").execute().data == [
        {"building_id": id_, "assigned_by": ADA} for id_ in new_buildings[:2]
    ]


def test_new_manager_reads_new_inspections_of_granted_buildings(
    consumers: Consumers, new_buildings: list[int], new_manager: tuple[str, str]
) -> None:
    ada = consumers.signed_in("ada")
    manager_id, email = new_manager
    arguments = {"manager_id": manager_id, "building_ids": new_buildings[:1], "inspection_ids": []}
    ada.rpc("assign_to_client_manager", arguments).execute()
    rows = [{"building_id": id_, "inspection_type": "annual"} for id_ in new_buildings]

    ada.table("inspections").insert(rows).execute()

    new = consumers.sign_in(email, PASSWORD)
    seen = new.table("inspections").select("building_id,inspection_type").execute().data
    assert seen == [{"building_id": new_buildings[0], "inspection_type": "annual"}]
    summary = new.rpc("get_inspections_dashboard_summary_fast").execute().data
    assert (summary["total_buildings"], summary["total_inspections"]) == (1, 1)


# -- (b) Many grants at once


def test_super_admin_grants_in_bulk(consumers: Consumers, new_buildings: list[int]) -> None:
    root, bob = consumers.signed_in("root"), consumers.signed_in("bob")
    before = buildings_seen(bob)
    arguments = {"admin_id": BOB, "building_ids": [*new_buildings, new_buildings[0], 4]}

    results = [root.rpc("assign_buildings_to_client_admin", arguments).execute().data for _ in range(2)]

    assert [answer["success"] for answer in results] == [True, True]
    assert [answer["assigned"] for answer in results] == [4, 0]
    assert buildings_seen(bob) == sorted({*before, *new_buildings})
    update = bob.table("buildings").update({"name": "Taken"}).eq("id", new_buildings[0]).execute()
    assert update.data == [], "a grant permits reading only"
    grants = root.table("client_admin_building_access").select("building_id", count="exact")
    granted = grants.eq("admin_id", BOB).eq("assigned_by", ROOT).in_("building_id", new_buildings)
    assert granted.execute().count == 3


def test_bulk_grant_with_one_missing_building_grants_nothing(consumers: Consumers, new_buildings: list[int]) -> None:
    root = consumers.signed_in("root")
    arguments = {"admin_id": BOB, "building_ids": [*new_buildings, 999_999]}

    code, message = error_of(root.rpc("assign_buildings_to_client_admin", arguments).execute)

    assert code == "42501"
    assert "999999" not in message
    grants = root.table("client_admin_building_access").select("building_id")
    assert grants.eq("admin_id", BOB).in_("building_id", new_buildings).execute().data == []


# -- (c) A check before the display


def test_check_before_the_display(consumers: Consumers, new_buildings: list[int]) -> None:
    ada, moe = consumers.signed_in("ada"), consumers.signed_in("moe")
    arguments = {"p_building_id": new_buildings[0], "p_user_id": MOE}

    def send_request(consumer: Client) -> tuple[bool, list[str]]:
        allowed = consumer.rpc("check_building_access_v2", arguments).execute().data
        explained = consumer.rpc("explain_building_access", arguments).execute().data
        assert explained["allowed"] is allowed
        return allowed, [reason["rule"] for reason in explained["reasons"]]

    assert (send_request(ada), send_request(moe)) == ((False, []), (False, []))
    grant = {"manager_id": MOE, "building_id": new_buildings[0]}
    ada.table("client_manager_building_access").insert(grant).execute()
    assert (send_request(ada), send_request(moe)) == ((True, ["building_grant"]), (True, ["building_grant"]))
    assert new_buildings[0] in buildings_seen(moe)


def test_explanation_names_the_grantor_and_the_time(consumers: Consumers) -> None:
    max_ = consumers.signed_in("max")
    arguments = {"p_inspection_id": 6, "p_user_id": MAX}

    explained = max_.rpc("explain_inspection_access", arguments, get=True).execute().data

    assert explained == {
        "allowed": True,
        "reasons": [{"rule": "through_building", "granted_by": BOB, "granted_at": "2025-02-12T00:00:00+00:00"}],
    }


# -- The very next request, in every worker


def visible_buildings_or_code(consumer: Client) -> object:
    """Return the buildings that a user reads, or the error code."""
    try:
        return buildings_seen(consumer)
    except APIError as error:
        return error.code


@pytest.fixture
def granted_manager(
    consumers: Consumers, new_buildings: list[int], new_manager: tuple[str, str]
) -> tuple[Client, str, list[int]]:
    """A signed-in manager with a new connection for each request, the manager's id and two granted buildings."""
    manager_id, email = new_manager
    arguments = {"manager_id": manager_id, "building_ids": new_buildings[:2], "inspection_ids": []}
    consumers.signed_in("ada").rpc("assign_to_client_manager", arguments).execute()
    consumer = consumers.sign_in(email, PASSWORD, keepalive=0)
    assert distinct_results(lambda: visible_buildings_or_code(consumer)) == [new_buildings[:2]]
    return consumer, manager_id, new_buildings[:2]


def test_grant_and_revocation_take_effect_at_once(consumers: Consumers, granted_manager: tuple) -> None:
    consumer, manager_id, new_buildings = granted_manager
    grants = consumers.signed_in("ada").table("client_manager_building_access")

    for _ in range(3):
        grants.delete().eq("manager_id", manager_id).eq("building_id", new_buildings[0]).execute()
        assert distinct_results(lambda: visible_buildings_or_code(consumer)) == [new_buildings[1:]]
        grants.insert({"manager_id": manager_id, "building_id": new_buildings[0]}).execute()
        assert distinct_results(lambda: visible_buildings_or_code(consumer)) == [new_buildings]


def test_move_to_another_client_deletes_grants(consumers: Consumers, granted_manager: tuple) -> None:
    consumer, _, new_buildings = granted_manager
    root = consumers.signed_in("root")

    root.table("buildings").update({"client_id": 2}).eq("id", new_buildings[0]).execute()

    assert distinct_results(lambda: visible_buildings_or_code(consumer)) == [new_buildings[1:]]


def test_promotion_ends_the_old_token_at_once(consumers: Consumers, granted_manager: tuple) -> None:
    consumer, manager_id, _ = granted_manager
    root = consumers.signed_in("root")

    root.table("users").update({"role": "client_admin"}).eq("id", manager_id).execute()

    assert distinct_results(lambda: visible_buildings_or_code(consumer)) == ["PGRST303"]
    grants = root.table("client_manager_building_access").select("building_id")
    assert grants.eq("manager_id", manager_id).execute().data == []


def test_demotion_takes_effect_at_once(consumers: Consumers) -> None:
    email = f"{uuid.uuid4()}@acme.example"
    service = consumers.connect(tokens.SERVICE_KEY).auth.admin
    admin_role = {"role": "client_admin", "client_id": 1}
    made = service.create_user({"email": email, "password": PASSWORD, "app_metadata": admin_role})
    admin = consumers.sign_in(email, PASSWORD, keepalive=0)
    assert len(distinct_results(lambda: visible_buildings_or_code(admin))[0]) >= 4

    service.update_user_by_id(made.user.id, {"app_metadata": {"role": "client_manager"}})

    assert distinct_results(lambda: visible_buildings_or_code(admin)) == ["PGRST303"]
    again = consumers.sign_in(email, PASSWORD, keepalive=0)
    assert distinct_results(lambda: visible_buildings_or_code(again)) == [[]]


def test_deletion_of_a_user_takes_effect_at_once(consumers: Consumers, granted_manager: tuple) -> None:
    consumer, manager_id, _ = granted_manager
    token = consumer.auth.get_session().access_token

    consumers.connect(tokens.SERVICE_KEY).auth.admin.delete_user(manager_id)

    assert distinct_results(lambda: visible_buildings_or_code(consumer)) == ["PGRST303"]
    refusals = distinct_results(lambda: auth_error_of(lambda: consumer.auth.get_user(token)))
    assert refusals == [(403, "user_not_found")]


def test_sign_out_takes_effect_at_once(consumers: Consumers, granted_manager: tuple) -> None:
    consumer, _, _ = granted_manager
    session = consumer.auth.get_session()
    left_over = consumers.connect(authorization=session.access_token, keepalive=0)
    assert visible_buildings_or_code(left_over) == granted_manager[2]

    consumer.auth.sign_out({"scope": "local"})

    assert distinct_results(lambda: visible_buildings_or_code(left_over)) == ["PGRST303"]
    refusal = auth_error_of(lambda: left_over.auth.refresh_session(session.refresh_token))
    assert refusal[0] == 400


def test_new_password_takes_effect_at_once(
    consumers: Consumers, granted_manager: tuple, new_manager: tuple[str, str]
) -> None:
    consumer, manager_id, _ = granted_manager
    people = consumers.connect(tokens.SERVICE_KEY).auth.admin

    people.update_user_by_id(manager_id, {"password": "second words to remember"})

    assert distinct_results(lambda: visible_buildings_or_code(consumer)) == ["PGRST303"]
    stranger = consumers.connect()
    given = credentials(new_manager[1], PASSWORD)
    refusal = auth_error_of(lambda: stranger.auth.sign_in_with_password(given))
    assert refusal == (400, "invalid_credentials")


def test_last_super_admin_cannot_be_removed(consumers: Consumers) -> None:
    root = consumers.signed_in("root")

    for call in (
        root.table("users").delete().eq("id", ROOT),
        root.table("users").update({"role": "client_admin", "client_id": 1}).eq("id", ROOT),
    ):
        assert error_of(call.execute)[0] == "23514"

    assert buildings_seen(root)

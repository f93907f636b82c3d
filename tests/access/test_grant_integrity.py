"""Grants have a grantee of the right role and a true grantor, and take effect at once. No id is used twice."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.access.test_grant_cascades import ALL_GRANTS, all_grants, grant
from tests.conftest import ADA, BOB, MAX, MIA, MOE, ROOT, UNKNOWN_USER_ID, Person, dump, ids, uuid

# id, method, path, body
REMOVALS_OF_LAST_ADMIN = [
    ("deleted", "DELETE", f"/users?id=eq.{ROOT}", None),
    ("deleted-with-all", "DELETE", "/users?id=not.is.null", None),
    ("demoted", "PATCH", f"/users?id=eq.{ROOT}", {"role": "client_admin", "client_id": 1}),
    ("demoted-with-all", "PATCH", "/users?id=not.is.null", {"role": "client_manager", "client_id": 1}),
    ("demoted-by-put", "PUT", f"/users?id=eq.{ROOT}",
     {"id": ROOT, "email": "root@example.org", "name": "R", "role": "client_admin", "client_id": 1}),
]  # fmt: skip


@pytest.mark.parametrize("who", ["root", "service"])
@pytest.mark.parametrize(
    ("method", "path", "body"),
    [line[1:] for line in REMOVALS_OF_LAST_ADMIN],
    ids=[line[0] for line in REMOVALS_OF_LAST_ADMIN],
)
def test_last_super_admin_cannot_be_deleted_or_demoted(
    api: Callable, who: str, method: str, path: str, body: dict | None
) -> None:
    before = dump(api)

    response = api(who).send(method, path, body)

    assert (response.status, response.code) == (400, "23514")
    assert dump(api) == before


def second_super_admin(api: Callable) -> Person:
    person = Person(uuid("02"), "super_admin")
    row = {"id": person.id, "email": "two@example.org", "name": "Two", "role": "super_admin"}
    assert api("root").post("/users", row).status == 201
    return person


def test_super_admin_can_be_deleted_while_another_remains(api: Callable) -> None:
    second = second_super_admin(api)

    assert api("root").delete(f"/users?id=eq.{ROOT}").status == 204

    assert api("root").get("/users").status == 401
    assert api(second).get("/users").status == 200
    assert api(second).delete(f"/users?id=eq.{second.id}").code == "23514"


def test_all_super_admins_cannot_be_deleted_in_one_request(api: Callable) -> None:
    second_super_admin(api)

    response = api("root").delete("/users?role=eq.super_admin")

    assert (response.status, response.code) == (400, "23514")
    assert len(api("root").get("/users?role=eq.super_admin").json) == 2


# id, row: a super admin has no client, and every other user has one
INVALID_USERS = [
    ("super-admin-with-client", {"role": "super_admin", "client_id": 1}),
    ("client-admin-without", {"role": "client_admin", "client_id": None}),
    ("manager-without", {"role": "client_manager"}),
    ("unknown-role", {"role": "janitor", "client_id": 1}),
]


@pytest.mark.parametrize("row", [row for _, row in INVALID_USERS], ids=[id_ for id_, _ in INVALID_USERS])
def test_role_and_client_must_fit(api: Callable, row: dict) -> None:
    response = api("root").post("/users", {"email": "n@example.org", "name": "N", **row})

    assert (response.status, response.code) == (400, "23514")


# ── a grant's grantee, grantor and time ──────────────────────────────────────────────────────────────────


# id, table, body
WRONG_GRANTEES = [
    ("admin-building-to-manager", "client_admin_building_access", {"admin_id": MOE, "building_id": 2}),
    ("admin-building-to-super-admin", "client_admin_building_access", {"admin_id": ROOT, "building_id": 2}),
    ("building-to-unknown", "client_admin_building_access", {"admin_id": UNKNOWN_USER_ID, "building_id": 2}),
    ("admin-inspection-to-manager", "client_admin_inspection_access", {"admin_id": MAX, "inspection_id": 2}),
    ("manager-building-to-admin", "client_manager_building_access", {"manager_id": ADA, "building_id": 2}),
    ("manager-building-to-super-admin", "client_manager_building_access", {"manager_id": ROOT, "building_id": 2}),
    ("manager-inspection-to-admin", "client_manager_inspection_access", {"manager_id": BOB, "inspection_id": 6}),
    ("inspection-to-unknown", "client_manager_inspection_access", {"manager_id": UNKNOWN_USER_ID, "inspection_id": 6}),
]  # fmt: skip


@pytest.mark.parametrize("prefer", [None, "resolution=merge-duplicates"], ids=["insert", "upsert"])
@pytest.mark.parametrize("who", ["root", "service"])
@pytest.mark.parametrize(
    ("table", "body"), [line[1:] for line in WRONG_GRANTEES], ids=[line[0] for line in WRONG_GRANTEES]
)
def test_grantee_must_have_the_tables_role(
    unchanging_api: Callable, who: str, table: str, body: dict, prefer: str | None
) -> None:
    response = unchanging_api(who).post(f"/{table}", body, prefer=prefer)

    assert (response.status, response.code) == (400, "23514")
    assert all_grants(unchanging_api) == ALL_GRANTS


def test_grant_cannot_be_moved_to_a_grantee_of_another_role(api: Callable) -> None:
    response = api("root").patch(f"/client_manager_building_access?manager_id=eq.{MOE}", {"manager_id": ADA})

    assert (response.status, response.code) == (400, "23514")
    assert all_grants(api) == ALL_GRANTS


@pytest.mark.parametrize(("who", "grantor"), [("root", ROOT), ("ada", ADA), ("service", None)])
def test_grant_records_its_grantor_and_time(api: Callable, who: str, grantor: str | None) -> None:
    start = datetime.now(UTC)

    response = api(who).post(
        "/client_manager_building_access", {"manager_id": MIA, "building_id": 2}, prefer="return=representation"
    )

    [row] = response.json
    assert (response.status, row["assigned_by"]) == (201, grantor)
    assert abs(datetime.fromisoformat(row["assigned_at"]) - start) < timedelta(seconds=60)


def test_super_admin_sets_any_grantor(api: Callable) -> None:
    response = api("root").post(
        "/client_manager_building_access",
        {"manager_id": MIA, "building_id": 2, "assigned_by": BOB},
        prefer="return=representation",
    )

    assert (response.status, response.json[0]["assigned_by"]) == (201, BOB)


# ── revocation holds at once ─────────────────────────────────────────────────────────────────────────────


def test_revoked_building_is_hidden_on_every_endpoint(api: Callable) -> None:
    asked = {"p_building_id": 1, "p_user_id": MOE}
    assert api("moe").rpc("check_building_access_v2", asked).json is True

    api("ada").delete(f"/client_manager_building_access?manager_id=eq.{MOE}&building_id=eq.1")

    moe = api("moe")
    assert moe.get("/buildings").json == []
    assert ids(moe.get("/inspections?select=id")) == {3}
    assert moe.get("/inspections?select=buildings(id)").json == [{"buildings": None}]
    assert moe.head("/buildings", prefer="count=exact").total == "0"
    assert moe.rpc("check_building_access_v2", asked).json is False
    assert moe.rpc("explain_building_access", asked).json == {"allowed": False, "reasons": []}
    assert moe.rpc("get_building_stats", {"building_id": 1}).code == "PT404"
    dashboard = moe.rpc("get_inspections_dashboard_summary_fast").json
    assert (dashboard["total_buildings"], dashboard["total_inspections"]) == (0, 1)


def test_revoked_inspection_is_hidden_on_every_endpoint(api: Callable) -> None:
    asked = {"p_inspection_id": 3, "p_user_id": BOB}
    assert api("bob").rpc("check_inspection_access", asked).json is True

    api("root").delete(f"/client_admin_inspection_access?admin_id=eq.{BOB}")

    assert ids(api("bob").get("/inspections?select=id")) == {6, 7, 8}
    assert api("bob").rpc("check_inspection_access", asked).json is False
    assert api("bob").rpc("get_inspections_dashboard_summary_fast").json["total_inspections"] == 3


def test_grant_takes_effect_at_once(api: Callable) -> None:
    assert api("mia").get("/buildings").json == []

    api("ada").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 2})

    assert ids(api("mia").get("/buildings?select=id")) == {2}
    assert ids(api("mia").get("/inspections?select=id")) == {3, 4}


def test_each_grant_and_revocation_takes_effect_at_once(api: Callable) -> None:
    path = "/client_manager_building_access"
    for _ in range(3):
        api("ada").post(path, {"manager_id": MIA, "building_id": 2})
        assert ids(api("mia").get("/buildings?select=id")) == {2}
        api("ada").delete(f"{path}?manager_id=eq.{MIA}")
        assert api("mia").get("/buildings").json == []


# ── ids are never handed out twice ───────────────────────────────────────────────────────────────────────


NEW_ROWS = {
    "buildings": {"name": "New", "client_id": 1},
    "inspections": {"building_id": 1, "inspection_type": "x"},
    "inspectors": {"name": "New"},
    "reports_lead": {"inspection_id": 1},
    "clients": {"name": "New"},
}


def created_id(api: Callable, table: str, **more: object) -> int:
    body = {**NEW_ROWS[table], **more}
    response = api("root").post(f"/{table}", body, prefer="return=representation")
    assert response.status == 201
    return response.json[0]["id"]


@pytest.mark.parametrize("table", NEW_ROWS)
def test_id_of_a_deleted_row_is_not_used_again(api: Callable, table: str) -> None:
    first = created_id(api, table)
    api("root").delete(f"/{table}?id=eq.{first}")

    assert created_id(api, table) > first


@pytest.mark.parametrize("table", NEW_ROWS)
def test_chosen_id_of_a_deleted_row_is_not_used_again(api: Callable, table: str) -> None:
    assert created_id(api, table, id=700) == 700
    api("root").delete(f"/{table}?id=eq.700")

    assert created_id(api, table) > 700


def test_new_building_inherits_no_grant_of_a_deleted_one(api: Callable) -> None:
    deleted = created_id(api, "buildings")
    grant(api, "manager", MIA, "building", deleted)
    api("root").delete(f"/buildings?id=eq.{deleted}")

    created_id(api, "buildings")

    assert api("mia").get("/buildings").json == []

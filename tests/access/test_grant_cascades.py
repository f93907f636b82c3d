"""Cascades of grants and tokens: moved buildings and inspections, changed and deleted users (docs/ACCESS.md)."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, BOB, CAST, MAX, MIA, MOE, UNKNOWN_USER_ID, Bearer, Person, dump, ids
from tests.support.tokens import token_after_change

ALL_GRANTS = {
    ("admin", ADA, "building", 1),
    ("admin", ADA, "building", 5),
    ("manager", MOE, "building", 1),
    ("manager", MAX, "building", 4),
    ("admin", BOB, "inspection", 3),
    ("manager", MOE, "inspection", 3),
}


def all_grants(api: Callable) -> set:
    """Every grant as (kind of grantee, grantee, kind of row, row)."""
    return {
        (kind, row[f"{kind}_id"], target, row[f"{target}_id"])
        for kind in ("admin", "manager")
        for target in ("building", "inspection")
        for row in api("root").get(f"/client_{kind}_{target}_access").json
    }


def token_after_update(user_id: str, role: str, client_id: int | None) -> Bearer:
    """The user with a token of after the change."""
    return Bearer("Bearer " + token_after_change(user_id, role, client_id))


def grant(api: Callable, kind: str, grantee: str, target: str, id_: int) -> None:
    body = {f"{kind}_id": grantee, f"{target}_id": id_}
    assert api("root").post(f"/client_{kind}_{target}_access", body).status == 201


# ── a building or an inspection moves ────────────────────────────────────────────────────────────────────


# id, method, path, body, prefer; the grants that fall
MOVES = [
    ("building-1", "PATCH", "/buildings?id=eq.1", {"client_id": 2}, None,
     {("admin", ADA, "building", 1), ("manager", MOE, "building", 1)}),
    ("building-1-by-put", "PUT", "/buildings?id=eq.1", {"id": 1, "name": "B", "client_id": 2}, None,
     {("admin", ADA, "building", 1), ("manager", MOE, "building", 1)}),
    ("building-1-by-upsert", "POST", "/buildings", {"id": 1, "name": "B", "client_id": 2},
     "resolution=merge-duplicates",
     {("admin", ADA, "building", 1), ("manager", MOE, "building", 1)}),
    ("building-2-with-inspection-3", "PATCH", "/buildings?id=eq.2", {"client_id": 2}, None,
     {("manager", MOE, "inspection", 3)}),
    ("building-4", "PATCH", "/buildings?id=eq.4", {"client_id": 1}, None,
     {("manager", MAX, "building", 4)}),
    ("building-5-to-the-grantees-client", "PATCH", "/buildings?id=eq.5", {"client_id": 1}, None, set()),
    ("all-of-client-1", "PATCH", "/buildings?client_id=eq.1", {"client_id": 2}, None,
     {("admin", ADA, "building", 1), ("manager", MOE, "building", 1), ("manager", MOE, "inspection", 3)}),
    ("building-to-its-own-client", "PATCH", "/buildings?id=eq.1", {"client_id": 1}, None, set()),
    ("building-renamed", "PATCH", "/buildings?id=eq.1", {"name": "B"}, None, set()),
    ("inspection-3", "PATCH", "/inspections?id=eq.3", {"building_id": 4}, None,
     {("manager", MOE, "inspection", 3)}),
    ("inspection-3-by-put", "PUT", "/inspections?id=eq.3", {"id": 3, "building_id": 4, "inspection_type": "x"}, None,
     {("manager", MOE, "inspection", 3)}),
    ("inspection-3-within-its-client", "PATCH", "/inspections?id=eq.3", {"building_id": 6}, None, set()),
    ("inspection-1-without-grants", "PATCH", "/inspections?id=eq.1", {"building_id": 4}, None, set()),
]  # fmt: skip


@pytest.mark.parametrize(
    ("method", "path", "body", "prefer", "deleted_grants"),
    [line[1:] for line in MOVES],
    ids=[line[0] for line in MOVES],
)
def test_moving_a_building_deletes_the_grants_of_the_old_clients_users(
    api: Callable, method: str, path: str, body: dict, prefer: str | None, deleted_grants: set
) -> None:
    response = api("root").send(method, path, body, prefer=prefer)

    assert response.status in (200, 201, 204)
    assert all_grants(api) == ALL_GRANTS - deleted_grants


def test_moved_building_is_hidden_at_once(api: Callable) -> None:
    assert ids(api("moe").get("/buildings?select=id")) == {1}

    api("root").patch("/buildings?id=eq.1", {"client_id": 2})

    assert ids(api("moe").get("/buildings?select=id")) == set()
    assert ids(api("moe").get("/inspections?select=id")) == {3}
    assert ids(api("ada").get("/buildings?select=id")) == {2, 3, 5, 6}
    assert ids(api("bob").get("/buildings?select=id")) == {1, 4, 5}
    assert ids(api("bob").get("/inspections?select=id")) == {1, 2, 3, 6, 7, 8, 9}


def test_building_moved_back_stays_hidden_from_its_old_grantees(api: Callable) -> None:
    api("root").patch("/buildings?id=eq.1", {"client_id": 2})

    api("root").patch("/buildings?id=eq.1", {"client_id": 1})

    assert ids(api("moe").get("/buildings?select=id")) == set()


def test_rolled_back_move_deletes_no_grant(api: Callable) -> None:
    api("root").patch("/buildings?id=eq.1", {"client_id": 2}, prefer="tx=rollback")

    assert all_grants(api) == ALL_GRANTS


def test_refused_move_deletes_no_grant(api: Callable) -> None:
    response = api("root").patch("/buildings?id=eq.1", {"client_id": 999})

    assert (response.status, response.code) == (409, "23503")
    assert all_grants(api) == ALL_GRANTS


# ── a user changes or goes ───────────────────────────────────────────────────────────────────────────────


GRANTS_OF_MOE = {("manager", MOE, "building", 1), ("manager", MOE, "inspection", 3)}
GRANTS_OF_ADA = {("admin", ADA, "building", 1), ("admin", ADA, "building", 5)}
# id, whom, change, the grants that fall
CHANGES = [
    ("manager-becomes-admin", "moe", {"role": "client_admin"}, GRANTS_OF_MOE),
    ("manager-becomes-super-admin", "moe", {"role": "super_admin", "client_id": None}, GRANTS_OF_MOE),
    ("manager-changes-client", "moe", {"client_id": 2}, GRANTS_OF_MOE),
    ("admin-becomes-manager", "ada", {"role": "client_manager"}, GRANTS_OF_ADA),
    ("admin-changes-client", "ada", {"client_id": 2}, GRANTS_OF_ADA),
]


@pytest.mark.parametrize(
    ("who", "change", "deleted_grants"), [line[1:] for line in CHANGES], ids=[line[0] for line in CHANGES]
)
def test_role_or_client_change_ends_grants_and_tokens(
    api: Callable, who: str, change: dict, deleted_grants: set
) -> None:
    assert api(who).get("/buildings").status == 200

    api("root").patch(f"/users?id=eq.{CAST[who].id}", change)

    assert all_grants(api) == ALL_GRANTS - deleted_grants
    refused = api(who).get("/buildings")
    assert (refused.status, refused.code) == (401, "PGRST303")
    now = {"role": CAST[who].role, "client_id": CAST[who].client_id, **change}
    changed = token_after_update(CAST[who].id, now["role"], now["client_id"])
    assert api(changed).get("/buildings").status == 200


# id, whom, change: nothing that a right hangs on
OTHER_CHANGES = [
    ("name", "moe", {"name": "Moses"}),
    ("email", "moe", {"email": "moses@acme.example"}),
    ("same-role", "moe", {"role": "client_manager"}),
    ("same-client", "moe", {"client_id": 1}),
    ("same-both", "ada", {"role": "client_admin", "client_id": 1}),
]


@pytest.mark.parametrize(
    ("who", "change"), [line[1:] for line in OTHER_CHANGES], ids=[line[0] for line in OTHER_CHANGES]
)
def test_other_changes_end_neither_grants_nor_tokens(api: Callable, who: str, change: dict) -> None:
    response = api("root").patch(f"/users?id=eq.{CAST[who].id}", change)

    assert response.status == 204
    assert all_grants(api) == ALL_GRANTS
    assert api(who).get("/buildings").status == 200


def test_user_who_changes_back_has_no_grants(api: Callable) -> None:
    api("root").patch(f"/users?id=eq.{MOE}", {"client_id": 2})

    api("root").patch(f"/users?id=eq.{MOE}", {"client_id": 1})

    moe = token_after_update(MOE, "client_manager", 1)
    assert ids(api(moe).get("/buildings?select=id")) == set()
    assert ids(api(moe).get("/inspections?select=id")) == set()


def test_deleting_a_user_ends_grants_and_tokens(api: Callable) -> None:
    response = api("root").delete(f"/users?id=eq.{MOE}")

    assert response.status == 204
    assert all_grants(api) == ALL_GRANTS - GRANTS_OF_MOE
    refused = api("moe").get("/buildings")
    assert (refused.status, refused.code) == (401, "PGRST303")


def test_tokens_of_deleted_and_changed_users_share_one_error_text(api: Callable) -> None:
    api("root").delete(f"/users?id=eq.{MOE}")
    api("root").patch(f"/users?id=eq.{MIA}", {"client_id": 2})

    answers = [
        api(who).get("/buildings").whole
        for who in ("moe", "mia", Person(UNKNOWN_USER_ID, "client_manager", 1), Person(MAX, "client_admin", 2))
    ]

    assert answers[0][0] == 401
    assert answers == [answers[0]] * 4


def test_deleting_a_grantor_sets_assigned_by_to_null(api: Callable) -> None:
    api("root").delete(f"/users?id=eq.{ADA}")

    assert all_grants(api) == ALL_GRANTS - GRANTS_OF_ADA
    for table in ("client_manager_building_access", "client_manager_inspection_access"):
        [row] = api("root").get(f"/{table}?manager_id=eq.{MOE}").json
        assert row["assigned_by"] is None
    assert ids(api("moe").get("/buildings?select=id")) == {1}


def test_deleting_an_inspection_deletes_its_readings_and_grants(api: Callable) -> None:
    api("root").delete("/inspections?id=in.(3,6)")

    assert ids(api("root").get("/reports_lead?select=id")) == {1, 2}
    assert all_grants(api) == {grant for grant in ALL_GRANTS if grant[2] == "building"}


def test_deleting_a_building_deletes_its_grants(api: Callable) -> None:
    grant(api, "manager", MIA, "building", 6)
    grant(api, "admin", BOB, "building", 6)

    api("root").delete("/buildings?id=eq.6")

    assert all_grants(api) == ALL_GRANTS


def test_deleting_an_inspector_keeps_the_inspections(api: Callable) -> None:
    api("root").delete("/inspectors?id=eq.3")

    rows = api("root").get("/inspections?id=in.(5,6)&select=id,inspector_id&order=id").json
    assert rows == [{"id": 5, "inspector_id": None}, {"id": 6, "inspector_id": None}]


@pytest.mark.parametrize("path", ["/buildings?id=eq.1", "/buildings?id=gt.0", "/clients?id=eq.1", "/clients?id=gt.0"])
def test_refused_deletion_deletes_nothing(api: Callable, path: str) -> None:
    before = dump(api)

    response = api("root").delete(path)

    assert (response.status, response.code) == (409, "23503")
    assert dump(api) == before


def test_client_with_users_is_not_deleted(api: Callable) -> None:
    api("root").post("/clients", {"id": 30, "name": "Thirty"})
    user = {"email": "a@thirty.example", "name": "A", "role": "client_admin", "client_id": 30}
    api("root").post("/users", user)

    response = api("root").delete("/clients?id=eq.30")

    assert (response.status, response.code) == (409, "23503")

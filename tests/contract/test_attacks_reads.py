"""Attack catalogue, group R: reading hidden rows. Marks name the entries."""

from collections.abc import Callable

import pytest

from tests.conftest import ADA, MAX, MIA, MOE, RESOURCES, UNKNOWN_USER_ID, ids


@pytest.mark.parametrize("who", ["moe", "bob"])
@pytest.mark.attack(entry="R01")
def test_inspection_grant_does_not_show_the_building(api: Callable, who: str) -> None:
    [row] = api(who).get("/inspections?select=*,buildings(*)&id=eq.3").json

    assert (row["id"], row["building_id"], row["buildings"]) == (3, 2, None)


@pytest.mark.parametrize(("who", "left"), [("moe", {1, 2, 9}), ("bob", {6, 7, 8})])
@pytest.mark.attack(entry="R01")
def test_inner_embed_omits_rows_with_hidden_building(api: Callable, who: str, left: set) -> None:
    assert ids(api(who).get("/inspections?select=id,buildings!inner(id)")) == left


@pytest.mark.attack(entry="R02")
def test_granted_building_shows_its_own_inspections_only(api: Callable) -> None:
    response = api("moe").get("/buildings?select=id,inspections(id)&inspections.order=id")

    assert response.json == [{"id": 1, "inspections": [{"id": 1}, {"id": 2}, {"id": 9}]}]


@pytest.mark.attack(entry="R03")
def test_rule_applies_at_each_of_five_levels(api: Callable) -> None:
    path = "buildings(inspections(buildings(inspections(buildings(id)))))"

    rows = api("moe").get(f"/inspections?select=id,{path}&order=id").json

    inner = {"inspections": [{"buildings": {"id": 1}}] * 3}
    outer = {"inspections": [{"buildings": inner}] * 3}
    assert rows == [
        {"id": 1, "buildings": outer},
        {"id": 2, "buildings": outer},
        {"id": 3, "buildings": None},
        {"id": 9, "buildings": outer},
    ]


@pytest.mark.attack(entry="R03")
def test_sixth_level_is_refused(api: Callable) -> None:
    path = "buildings(inspections(buildings(inspections(buildings(inspections(id))))))"

    response = api("moe").get(f"/inspections?select={path}")

    assert response.status == 400
    assert "5" in response.message


@pytest.mark.attack(entry="R04")
def test_rule_applies_to_every_embed_spelling(api: Callable) -> None:
    select = (
        "id,a:buildings(id),b:buildings(id),c:buildings!inspections_building_id_fkey(id),"
        "d:buildings!building_id(id),...buildings(client_id)"
    )

    rows = api("moe").get(f"/inspections?select={select}&order=id").json

    shown = {alias: {"id": 1} for alias in "abcd"}
    hidden: dict = {"a": None, "b": None, "c": None, "d": None}
    assert rows == [
        {"id": 1, **shown, "client_id": 1},
        {"id": 2, **shown, "client_id": 1},
        {"id": 3, **hidden, "client_id": None},
        {"id": 9, **shown, "client_id": 1},
    ]


HIDDEN_TABLES = [
    "sqlite_master",
    "sqlite_schema",
    "sqlite_sequence",
    "pg_catalog",
    "pg_class",
    "information_schema",
    "passwords",
    "credentials",
    "sessions",
    "refresh_tokens",
    "visit_closings",
]


@pytest.mark.parametrize("table", HIDDEN_TABLES)
@pytest.mark.attack(entry="R05")
def test_internal_table_does_not_exist(api: Callable, table: str) -> None:
    embedded = api("root").get(f"/buildings?select=id,{table}(*)")
    asked = api("root").get(f"/{table}")

    assert (embedded.status, embedded.code) == (400, "PGRST200")
    assert (asked.status, asked.code) == (404, "PGRST205")
    assert only_resources_are_named(embedded.json["hint"])
    assert only_resources_are_named(asked.json["hint"])


def only_resources_are_named(hint: str | None) -> bool:
    return hint is None or any(table in hint for table in RESOURCES)


@pytest.mark.attack(entry="R06")
def test_many_to_many_returns_only_the_manager(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 1})

    rows = api("moe").get("/buildings?select=id,users!client_manager_building_access(id)").json

    assert rows == [{"id": 1, "users": [{"id": MOE}]}]


@pytest.mark.attack(entry="R06")
def test_many_to_many_passes_through_visible_grants_only(api: Callable) -> None:
    rows = api("moe").get("/buildings?select=id,users!client_admin_building_access(id)").json

    assert rows == [{"id": 1, "users": []}]


@pytest.mark.attack(entry="R06")
def test_many_to_many_shows_visible_buildings_only(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4})
    select = f"select=id,buildings!client_manager_building_access(id)&id=eq.{MOE}"

    assert api("ada").get(f"/users?{select}").json == [{"id": MOE, "buildings": [{"id": 1}]}]


@pytest.mark.attack(entry="R06")
def test_unhinted_many_to_many_is_ambiguous(api: Callable) -> None:
    response = api("moe").get("/buildings?select=id,users(id)")

    assert (response.status, response.code) == (300, "PGRST201")


INSPECTORS = {
    "moe": [(1, [1, 3]), (2, [2])],
    "ada": [(1, [1, 3]), (2, [2, 8]), (3, [5])],
    "bob": [(1, [3]), (2, [8]), (3, [6])],
    "mia": [],
}


@pytest.mark.parametrize("who", INSPECTORS)
@pytest.mark.attack(entry="R07")
def test_inspectors_show_visible_inspections_only(api: Callable, who: str) -> None:
    path = "/inspectors?select=id,inspections(id)&order=id&inspections.order=id"

    rows = api(who).get(path).json

    assert [(row["id"], [i["id"] for i in row["inspections"]]) for row in rows] == INSPECTORS[who]


@pytest.mark.attack(entry="R08")
def test_managers_grant_hides_its_grantor(api: Callable) -> None:
    select = "*,buildings(id),by:users!assigned_by(id),to:users!manager_id(id)"

    rows = api("moe").get(f"/client_manager_building_access?select={select}").json

    assert rows == [
        {
            "manager_id": MOE,
            "building_id": 1,
            "assigned_by": ADA,
            "assigned_at": "2025-02-12T00:00:00+00:00",
            "buildings": {"id": 1},
            "by": None,
            "to": {"id": MOE},
        }
    ]


@pytest.mark.attack(entry="R08")
def test_unhinted_user_of_a_grant_is_ambiguous(api: Callable) -> None:
    response = api("moe").get("/client_manager_building_access?select=*,users(id)")

    assert (response.status, response.code) == (300, "PGRST201")


@pytest.mark.attack(entry="R08")
def test_other_managers_grants_equal_unknown_users(api: Callable) -> None:
    others = api("moe").get(f"/client_manager_building_access?manager_id=eq.{MAX}")
    nobodys = api("moe").get(f"/client_manager_building_access?manager_id=eq.{UNKNOWN_USER_ID}")

    assert others.json == []
    assert others.whole == nobodys.whole


@pytest.mark.parametrize(
    ("who", "table"),
    [
        ("moe", "client_admin_building_access"),
        ("moe", "client_admin_inspection_access"),
        ("max", "client_admin_inspection_access"),
        ("bob", "client_admin_building_access"),
        ("ada", "client_admin_inspection_access"),
    ],
)
@pytest.mark.attack(entry="R09")
def test_grants_of_others_are_an_empty_list(api: Callable, who: str, table: str) -> None:
    response = api(who).get(f"/{table}", prefer="count=exact")

    assert (response.status, response.json, response.total) == (200, [], "0")


@pytest.mark.attack(entry="R09")
def test_admin_sees_grants_to_own_managers_whoever_assigned(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 4})

    rows = api("ada").get("/client_manager_building_access?select=manager_id,building_id").json

    assert {(row["manager_id"], row["building_id"]) for row in rows} == {(MOE, 1), (MIA, 4)}


@pytest.mark.attack(entry="R10")
def test_granted_building_of_another_client_is_read_only(api: Callable) -> None:
    ada = api("ada")
    rows = ada.get("/buildings?id=eq.5&select=id,clients(id),inspections(id)").json
    assert rows == [{"id": 5, "clients": None, "inspections": [{"id": 8}]}]

    for path, change in (("/buildings?id=eq.5", {"name": "x"}), ("/inspections?id=eq.8", {"notes": "x"})):
        assert ada.patch(path, change, prefer="return=representation").json == []
        assert ada.delete(path, prefer="return=representation").json == []
    new_inspection = ada.post("/inspections", {"building_id": 5, "inspection_type": "x"})
    new_reading = ada.post("/reports_lead", {"inspection_id": 8})

    assert new_inspection.message.endswith('row-level security policy for table "inspections"')
    assert new_reading.message.endswith('row-level security policy for table "reports_lead"')
    assert ids(api("root").get("/inspections?select=id&building_id=eq.5")) == {8}

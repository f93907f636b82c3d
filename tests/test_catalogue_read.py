"""Attack catalogue, group R: reading what is not for one's eyes. A test's number is the catalogue's."""
# ruff: noqa: N802  (a test carries its catalogue number as it is written there)

import csv
import io
from collections.abc import Callable

import pytest

from tests.columns import COLUMNS
from tests.conftest import ADA
from tests.conftest import CAST
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import NO_ONE
from tests.conftest import RESOURCES
from tests.conftest import Bearer
from tests.conftest import Person
from tests.conftest import ids
from tests.tokens import claims_of
from tests.tokens import sign

FUNCTIONS = {
    "get_inspections_dashboard_summary_fast",
    "get_building_stats_chart_fast",
    "get_building_stats",
    "assign_buildings_to_client_admin",
    "assign_inspections_to_client_admin",
    "assign_to_client_manager",
    "check_building_access_v2",
    "check_inspection_access",
    "explain_building_access",
    "explain_inspection_access",
}


@pytest.mark.parametrize("who", ["moe", "bob"])
def test_R01_inspection_grant_does_not_show_the_building(api: Callable, who: str) -> None:
    [row] = api(who).get("/inspections?select=*,buildings(*)&id=eq.3").json

    assert (row["id"], row["building_id"], row["buildings"]) == (3, 2, None)


@pytest.mark.parametrize(("who", "left"), [("moe", {1, 2, 9}), ("bob", {6, 7, 8})])
def test_R01_inner_embed_drops_what_has_a_hidden_building(
    api: Callable, who: str, left: set
) -> None:
    assert ids(api(who).get("/inspections?select=id,buildings!inner(id)")) == left


def test_R02_granted_building_shows_its_own_inspections_only(api: Callable) -> None:
    response = api("moe").get("/buildings?select=id,inspections(id)&inspections.order=id")

    assert response.json == [{"id": 1, "inspections": [{"id": 1}, {"id": 2}, {"id": 9}]}]


def test_R03_rule_holds_at_each_of_five_levels(api: Callable) -> None:
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


def test_R03_sixth_level_is_refused(api: Callable) -> None:
    path = "buildings(inspections(buildings(inspections(buildings(inspections(id))))))"

    response = api("moe").get(f"/inspections?select={path}")

    assert response.status == 400
    assert "5" in response.message


def test_R04_rule_holds_for_every_spelling_of_an_embed(api: Callable) -> None:
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
]


@pytest.mark.parametrize("table", HIDDEN_TABLES)
def test_R05_hidden_table_does_not_exist(api: Callable, table: str) -> None:
    embedded = api("root").get(f"/buildings?select=id,{table}(*)")
    asked = api("root").get(f"/{table}")

    assert (embedded.status, embedded.code) == (400, "PGRST200")
    assert (asked.status, asked.code) == (404, "PGRST205")
    assert only_resources_are_named(embedded.json["hint"])
    assert only_resources_are_named(asked.json["hint"])


def only_resources_are_named(hint: str | None) -> bool:
    return hint is None or any(table in hint for table in RESOURCES)


def test_R06_many_to_many_shows_a_manager_himself_only(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 1})

    rows = api("moe").get("/buildings?select=id,users!client_manager_building_access(id)").json

    assert rows == [{"id": 1, "users": [{"id": MOE}]}]


def test_R06_many_to_many_passes_through_visible_grants_only(api: Callable) -> None:
    rows = api("moe").get("/buildings?select=id,users!client_admin_building_access(id)").json

    assert rows == [{"id": 1, "users": []}]


def test_R06_many_to_many_shows_visible_buildings_only(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4})
    select = f"select=id,buildings!client_manager_building_access(id)&id=eq.{MOE}"

    assert api("ada").get(f"/users?{select}").json == [{"id": MOE, "buildings": [{"id": 1}]}]


def test_R06_unhinted_many_to_many_is_ambiguous(api: Callable) -> None:
    response = api("moe").get("/buildings?select=id,users(id)")

    assert (response.status, response.code) == (300, "PGRST201")


INSPECTORS = {
    "moe": [(1, [1, 3]), (2, [2])],
    "ada": [(1, [1, 3]), (2, [2, 8]), (3, [5])],
    "bob": [(1, [3]), (2, [8]), (3, [6])],
    "mia": [],
}


@pytest.mark.parametrize("who", INSPECTORS)
def test_R07_inspectors_show_visible_inspections_only(api: Callable, who: str) -> None:
    path = "/inspectors?select=id,inspections(id)&order=id&inspections.order=id"

    rows = api(who).get(path).json

    assert [(row["id"], [i["id"] for i in row["inspections"]]) for row in rows] == INSPECTORS[who]


def test_R08_managers_own_grant_shows_himself_not_its_grantor(api: Callable) -> None:
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


def test_R08_unhinted_user_of_a_grant_is_ambiguous(api: Callable) -> None:
    response = api("moe").get("/client_manager_building_access?select=*,users(id)")

    assert (response.status, response.code) == (300, "PGRST201")


def test_R08_another_managers_grants_are_as_those_of_nobody(api: Callable) -> None:
    others = api("moe").get(f"/client_manager_building_access?manager_id=eq.{MAX}")
    nobodys = api("moe").get(f"/client_manager_building_access?manager_id=eq.{NO_ONE}")

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
def test_R09_grants_of_others_are_an_empty_list(api: Callable, who: str, table: str) -> None:
    response = api(who).get(f"/{table}", prefer="count=exact")

    assert (response.status, response.json, response.total) == (200, [], "0")


def test_R09_admin_sees_grants_to_own_managers_whoever_assigned(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MIA, "building_id": 4})

    rows = api("ada").get("/client_manager_building_access?select=manager_id,building_id").json

    assert {(row["manager_id"], row["building_id"]) for row in rows} == {(MOE, 1), (MIA, 4)}


def test_R10_granted_building_of_another_client_is_for_reading_only(api: Callable) -> None:
    ada = api("ada")
    rows = ada.get("/buildings?id=eq.5&select=id,clients(id),inspections(id)").json
    assert rows == [{"id": 5, "clients": None, "inspections": [{"id": 8}]}]

    for path, change in (
        ("/buildings?id=eq.5", {"name": "x"}),
        ("/inspections?id=eq.8", {"notes": "x"}),
    ):
        assert ada.patch(path, change, prefer="return=representation").json == []
        assert ada.delete(path, prefer="return=representation").json == []
    new_inspection = ada.post("/inspections", {"building_id": 5, "inspection_type": "x"})
    new_reading = ada.post("/reports_lead", {"inspection_id": 8})

    assert new_inspection.message.endswith('row-level security policy for table "inspections"')
    assert new_reading.message.endswith('row-level security policy for table "reports_lead"')
    assert ids(api("root").get("/inspections?select=id&building_id=eq.5")) == {8}


def test_R11_every_representation_holds_the_same_rows(api: Callable) -> None:
    moe = api("moe")
    path = "/inspections?select=id&order=id"

    table = csv.DictReader(io.StringIO(moe.get(path, accept="text/csv").text))
    stripped = moe.get(path, accept="application/vnd.pgrst.array+json;nulls=stripped")
    ranged = moe.get(path, headers={"Range-Unit": "items", "Range": "0-99"})
    head = moe.head(path, prefer="count=exact")

    assert [row["id"] for row in table] == ["1", "2", "3", "9"]
    assert stripped.json == [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 9}]
    assert ids(ranged) == {1, 2, 3, 9}
    assert head.headers["Content-Range"] == "0-3/4"
    assert head.text == ""


def test_R11_singular_counts_visible_rows(api: Callable) -> None:
    singular = "application/vnd.pgrst.object+json"

    many = api("moe").get("/inspections", accept=singular)
    hidden = api("moe").get("/inspections?id=eq.4", accept=singular)
    one = api("moe").get("/inspections?id=in.(3,4)&select=id", accept=singular)

    assert (many.status, many.code) == (406, "PGRST116")
    assert many.json["details"] == "The result contains 4 rows"
    assert (hidden.status, hidden.json["details"]) == (406, "The result contains 0 rows")
    assert one.json == {"id": 3}


def test_R11_plans_are_not_shown(api: Callable) -> None:
    response = api("root").get("/buildings", accept="application/vnd.pgrst.plan+json")

    assert (response.status, response.code) == (406, "PGRST107")


def test_R12_representation_of_a_write_is_scoped_as_a_read(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4})
    embed = "client_manager_building_access!manager_id(building_id,buildings(id))"

    response = api("ada").patch(
        f"/users?id=eq.{MOE}&select=id,{embed}",
        {"name": "Moses"},
        prefer="return=representation",
    )

    [row] = response.json
    assert {
        grant["building_id"]: grant["buildings"] for grant in row["client_manager_building_access"]
    } == {1: {"id": 1}, 4: None}


def test_R12_location_is_relative(api: Callable) -> None:
    response = api("ada").post(
        "/buildings", {"name": "New", "client_id": 1}, prefer="return=headers-only"
    )

    new = api("ada").get("/buildings?name=eq.New&select=id").json[0]["id"]
    assert (response.status, response.text) == (201, "")
    assert response.headers["Location"] == f"/buildings?id=eq.{new}"


@pytest.mark.parametrize(("who", "building"), [("moe", 2), ("ada", 4), ("bob", 2)])
def test_R13_stats_tell_hidden_and_missing_alike(api: Callable, who: str, building: int) -> None:
    hidden = api(who).rpc("get_building_stats", {"building_id": building})
    missing = api(who).rpc("get_building_stats", {"building_id": 999})

    assert (hidden.status, hidden.code) == (404, "PT404")
    assert hidden.whole == missing.whole


def test_R14_dashboard_counts_visible_rows(api: Callable) -> None:
    body = api("moe").rpc("get_inspections_dashboard_summary_fast").json

    assert (body["total_inspections"], body["total_buildings"]) == (4, 1)


def test_R14_chart_never_names_a_hidden_building(api: Callable) -> None:
    body = (
        api("moe")
        .rpc(
            "get_building_stats_chart_fast",
            {"start_date": "2025-04-11", "end_date": "2025-06-30"},
        )
        .json
    )

    assert sum(point["total"] for point in body["series"]) == 2  # inspections 3 and 9
    assert {row["building_id"] for row in body["buildings"]} <= {1}


def test_R15_aggregates_count_visible_rows(api: Callable) -> None:
    assert api("moe").get("/inspections?select=count()").json == [{"count": 4}]
    assert api("moe").get("/inspections?select=id.sum()").json == [{"sum": 15}]
    assert api("mia").get("/inspections?select=count()").json == [{"count": 0}]


@pytest.mark.parametrize(
    ("select", "hidden", "shown"),
    [
        ("buildings(name)", {"buildings": None}, {"buildings": {"name": "Harbor House"}}),
        ("...buildings(name)", {"name": None}, {"name": "Harbor House"}),
    ],
    ids=["embed", "spread"],
)
def test_R15_hidden_parents_fall_into_the_null_group(
    api: Callable, select: str, hidden: dict, shown: dict
) -> None:
    rows = api("moe").get(f"/inspections?select={select},count()").json

    assert sorted(rows, key=lambda row: row["count"]) == [
        {**hidden, "count": 1},
        {**shown, "count": 3},
    ]


def test_R16_path_is_taken_literally(api: Callable) -> None:
    upper = api("root").get("/Buildings")
    slash = api("root").get("/buildings/")
    double = api("root").get("/buildings", environ={"PATH_INFO": "//buildings"})

    assert (upper.status, upper.code) == (404, "PGRST205")
    assert (slash.status, slash.code) == (404, "PGRST125")
    assert double.status == 404
    assert set(double.json) == {"code", "message", "details", "hint"}


@pytest.mark.parametrize("path", ["/%62uildings", "/rest/v1/buildings", "/rest/v1/%62uildings"])
def test_R16_other_spellings_keep_the_rule(api: Callable, path: str) -> None:
    assert api("moe").get(path).text == api("moe").get("/buildings").text


NO_RULE_MATCHES = {
    "unknown-role": claims_of(MOE, "nope", 1),
    "admin-without-client": claims_of(ADA, "client_admin", None),
    "manager-without-client": claims_of(MOE, "client_manager", None),
    "super-admin-with-client": claims_of(CAST["root"].id, "super_admin", 1),
    "admin-of-other-client": claims_of(ADA, "client_admin", 2),
    "manager-as-admin": claims_of(MOE, "client_admin", 1),
    "manager-as-super-admin": claims_of(MOE, "super_admin", None),
    "empty-role": claims_of(MOE, "", 1),
}


@pytest.mark.parametrize("path", ["/buildings", "/users", "/inspections?select=count()"])
@pytest.mark.parametrize("claims", NO_RULE_MATCHES.values(), ids=NO_RULE_MATCHES)
def test_R17_caller_whom_no_rule_matches_gets_nothing(
    api: Callable, claims: dict, path: str
) -> None:
    response = api(Bearer(f"Bearer {sign(claims)}")).get(path)

    assert (response.status, response.code) == (401, "PGRST303")
    assert "Harbor" not in response.text


@pytest.mark.parametrize("table", RESOURCES)
def test_R18_resource_shows_the_contracts_columns_and_no_other(api: Callable, table: str) -> None:
    [first, *_] = api("root").get(f"/{table}").json
    header = api("root").get(f"/{table}", accept="text/csv").text.splitlines()[0]

    assert set(first) == set(COLUMNS[table])
    assert {name.strip('"') for name in header.split(",")} == set(COLUMNS[table])


@pytest.mark.parametrize("column", ["password", "password_hash", "encrypted_password", "token"])
@pytest.mark.parametrize("query", ["select={}", "{}=eq.1", "order={}", "or=({}.eq.1,id.eq.1)"])
def test_R18_users_have_no_hidden_column(api: Callable, query: str, column: str) -> None:
    response = api("root").get("/users?" + query.format(column))

    assert (response.status, response.code) == (400, "42703")


@pytest.mark.parametrize("path", ["/", "/rest/v1/"])
def test_R19_openapi_shows_the_contract_and_no_more(api: Callable, path: str) -> None:
    document = api("root").get(path, accept="application/openapi+json").json

    resources = {f"/{table}" for table in RESOURCES}
    functions = {f"/rpc/{name}" for name in FUNCTIONS}
    assert set(document["paths"]) - {"/"} == resources | functions
    assert set(document["definitions"]) == set(RESOURCES)
    for table in RESOURCES:
        assert set(document["definitions"][table]["properties"]) == set(COLUMNS[table])


@pytest.mark.parametrize("who", ["ada", "moe", "mia", "service"])
def test_R19_openapi_is_the_same_for_all_roles(api: Callable, who: str) -> None:
    assert api(who).get("/").text == api("root").get("/").text


@pytest.mark.parametrize("path", ["/live", "/ready"])
def test_R19_health_needs_no_credentials_and_names_nothing(api: Callable, path: str) -> None:
    response = api("nobody").get(path, headers={"apikey": None})

    assert response.status == 200
    for word in (*RESOURCES, "sqlite", "SELECT", ".db", "3.", "Harbor"):
        assert word not in response.text


@pytest.mark.parametrize(
    "path", ["/buildings", "/", "/nope", "/rpc/get_building_stats?building_id=1"]
)
def test_R20_no_cache_may_keep_an_answer(api: Callable, path: str) -> None:
    headers = api("moe").get(path).headers

    assert headers["Cache-Control"] == "private, no-store"
    vary = {name.strip().lower() for name in headers["Vary"].split(",")}
    assert {"authorization", "apikey", "accept", "prefer", "range", "origin"} <= vary
    for absent in ("ETag", "Last-Modified", "Server-Timing", "Set-Cookie"):
        assert absent not in headers


def test_R20_callers_take_turns_without_seeing_each_others_rows(api: Callable) -> None:
    for _ in range(3):
        assert ids(api("moe").get("/buildings?select=id")) == {1}
        assert ids(api("max").get("/buildings?select=id")) == {4}
        assert ids(api("mia").get("/buildings?select=id")) == set()
        assert ids(api("ada").get("/buildings?select=id")) == {1, 2, 3, 5, 6}


def test_R20_unknown_user_is_refused_even_with_a_good_signature(api: Callable) -> None:
    response = api(Person(NO_ONE, "super_admin")).get("/buildings")

    assert (response.status, response.code) == (401, "PGRST303")

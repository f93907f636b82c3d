"""Attack catalogue, group R, from R11: every response format holds visible rows only. Marks name the entries."""

import csv
import io
from collections.abc import Callable

import pytest

from routes.functions.rpc import FUNCTIONS
from tests.conftest import ADA, CAST, MOE, RESOURCES, UNKNOWN_USER_ID, Bearer, Person, ids
from tests.support.columns import COLUMNS
from tests.support.factories import RowFactory
from tests.support.tokens import claims_of, sign


@pytest.mark.attack(entry="R11")
def test_every_representation_holds_the_same_rows(api: Callable) -> None:
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


@pytest.mark.attack(entry="R11")
def test_singular_counts_visible_rows(api: Callable) -> None:
    singular = "application/vnd.pgrst.object+json"

    many = api("moe").get("/inspections", accept=singular)
    hidden = api("moe").get("/inspections?id=eq.4", accept=singular)
    one = api("moe").get("/inspections?id=in.(3,4)&select=id", accept=singular)

    assert (many.status, many.code) == (406, "PGRST116")
    assert many.json["details"] == "The result contains 4 rows"
    assert (hidden.status, hidden.json["details"]) == (406, "The result contains 0 rows")
    assert one.json == {"id": 3}


@pytest.mark.attack(entry="R11")
def test_plans_are_not_shown(api: Callable) -> None:
    response = api("root").get("/buildings", accept="application/vnd.pgrst.plan+json")

    assert (response.status, response.code) == (406, "PGRST107")


@pytest.mark.attack(entry="R12")
def test_write_representation_is_scoped_like_a_read(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4})
    embed = "client_manager_building_access!manager_id(building_id,buildings(id))"

    response = api("ada").patch(
        f"/users?id=eq.{MOE}&select=id,{embed}", {"name": "Moses"}, prefer="return=representation"
    )

    [row] = response.json
    assert {grant["building_id"]: grant["buildings"] for grant in row["client_manager_building_access"]} == {
        1: {"id": 1},
        4: None,
    }


@pytest.mark.attack(entry="R12")
def test_location_is_relative(api: Callable) -> None:
    response = api("ada").post("/buildings", {"name": "New", "client_id": 1}, prefer="return=headers-only")

    new = api("ada").get("/buildings?name=eq.New&select=id").json[0]["id"]
    assert (response.status, response.text) == (201, "")
    assert response.headers["Location"] == f"/buildings?id=eq.{new}"


@pytest.mark.parametrize(("who", "building"), [("moe", 2), ("ada", 4), ("bob", 2)])
@pytest.mark.attack(entry="R13")
def test_stats_of_hidden_and_missing_are_the_same_error(api: Callable, who: str, building: int) -> None:
    hidden = api(who).rpc("get_building_stats", {"building_id": building})
    missing = api(who).rpc("get_building_stats", {"building_id": 999})

    assert (hidden.status, hidden.code) == (404, "PT404")
    assert hidden.whole == missing.whole


@pytest.mark.attack(entry="R14")
def test_dashboard_counts_visible_rows(api: Callable) -> None:
    body = api("moe").rpc("get_inspections_dashboard_summary_fast").json

    assert (body["total_inspections"], body["total_buildings"]) == (4, 1)


@pytest.mark.attack(entry="R14")
def test_chart_never_names_a_hidden_building(api: Callable) -> None:
    body = api("moe").rpc("get_building_stats_chart_fast", {"start_date": "2025-04-11", "end_date": "2025-06-30"}).json

    assert sum(point["total"] for point in body["series"]) == 2  # inspections 3 and 9
    assert {row["building_id"] for row in body["buildings"]} <= {1}


@pytest.mark.attack(entry="R15")
def test_aggregates_count_visible_rows(api: Callable) -> None:
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
@pytest.mark.attack(entry="R15")
def test_hidden_parents_fall_into_the_null_group(api: Callable, select: str, hidden: dict, shown: dict) -> None:
    rows = api("moe").get(f"/inspections?select={select},count()").json

    assert sorted(rows, key=lambda row: row["count"]) == [{**hidden, "count": 1}, {**shown, "count": 3}]


@pytest.mark.attack(entry="R16")
def test_path_is_matched_literally(api: Callable) -> None:
    upper = api("root").get("/Buildings")
    slash = api("root").get("/buildings/")
    double = api("root").get("/buildings", environ={"PATH_INFO": "//buildings"})

    assert (upper.status, upper.code) == (404, "PGRST205")
    assert (slash.status, slash.code) == (404, "PGRST125")
    assert double.status == 404
    assert set(double.json) == {"code", "message", "details", "hint"}


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("building", "buildings"),
        ("inspection", "inspections"),
        ("Users", "users"),
        ("reports", None),
        ("nope", None),
        ("credentials", None),
        ("buildings" + "x" * 500, None),
    ],
)
def test_unknown_table_error_hints_at_similar_name(api: Callable, name: str, meant: str | None) -> None:
    hint = None if meant is None else f"Perhaps you meant the table 'public.{meant}'"

    response = api("root").get(f"/{name}")

    assert (response.status, response.code) == (404, "PGRST205")
    assert response.json["hint"] == hint


@pytest.mark.parametrize("path", ["/%62uildings", "/rest/v1/buildings", "/rest/v1/%62uildings"])
@pytest.mark.attack(entry="R16")
def test_other_spellings_keep_the_rule(api: Callable, path: str) -> None:
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
@pytest.mark.attack(entry="R17")
def test_caller_without_matching_rule_gets_no_rows(api: Callable, claims: dict, path: str) -> None:
    response = api(Bearer(f"Bearer {sign(claims)}")).get(path)

    assert (response.status, response.code) == (401, "PGRST303")
    assert "Harbor" not in response.text


@pytest.mark.parametrize("table", RESOURCES)
@pytest.mark.attack(entry="R18")
def test_resource_returns_only_its_columns(api: Callable, table: str) -> None:
    first = RowFactory(api).row(table)
    header = api("root").get(f"/{table}", accept="text/csv").text.splitlines()[0]

    assert set(first) == set(COLUMNS[table])
    assert {name.strip('"') for name in header.split(",")} == set(COLUMNS[table])


@pytest.mark.parametrize("column", ["password", "password_hash", "encrypted_password", "token"])
@pytest.mark.parametrize("query", ["select={}", "{}=eq.1", "order={}", "or=({}.eq.1,id.eq.1)"])
@pytest.mark.attack(entry="R18")
def test_users_have_no_hidden_column(api: Callable, query: str, column: str) -> None:
    response = api("root").get("/users?" + query.format(column))

    assert (response.status, response.code) == (400, "42703")


@pytest.mark.parametrize("path", ["/", "/rest/v1/"])
@pytest.mark.attack(entry="R19")
def test_openapi_lists_only_public_names(api: Callable, path: str) -> None:
    document = api("root").get(path, accept="application/openapi+json").json

    resources = {f"/{table}" for table in RESOURCES}
    functions = {f"/rpc/{name}" for name in FUNCTIONS}
    assert set(document["paths"]) - {"/"} == resources | functions
    assert set(document["definitions"]) == set(RESOURCES)
    for table in RESOURCES:
        assert set(document["definitions"][table]["properties"]) == set(COLUMNS[table])


@pytest.mark.parametrize("who", ["ada", "moe", "mia", "service"])
@pytest.mark.attack(entry="R19")
def test_openapi_is_the_same_for_all_roles(api: Callable, who: str) -> None:
    assert api(who).get("/").text == api("root").get("/").text


@pytest.mark.parametrize("path", ["/live", "/ready"])
@pytest.mark.attack(entry="R19")
def test_health_needs_no_credentials_and_reveals_nothing(api: Callable, path: str) -> None:
    response = api("nobody").get(path, headers={"apikey": None})

    assert response.status == 200
    for word in (*RESOURCES, "sqlite", "SELECT", ".db", "3.", "Harbor"):
        assert word not in response.text


@pytest.mark.parametrize("path", ["/buildings", "/", "/nope", "/rpc/get_building_stats?building_id=1"])
@pytest.mark.attack(entry="R20")
def test_responses_are_not_cacheable(api: Callable, path: str) -> None:
    headers = api("moe").get(path).headers

    assert headers["Cache-Control"] == "private, no-store"
    vary = {name.strip().lower() for name in headers["Vary"].split(",")}
    assert {"authorization", "apikey", "accept", "prefer", "range", "origin"} <= vary
    for absent in ("ETag", "Last-Modified", "Server-Timing", "Set-Cookie"):
        assert absent not in headers


@pytest.mark.attack(entry="R20")
def test_alternating_callers_see_only_their_rows(api: Callable) -> None:
    for _ in range(3):
        assert ids(api("moe").get("/buildings?select=id")) == {1}
        assert ids(api("max").get("/buildings?select=id")) == {4}
        assert ids(api("mia").get("/buildings?select=id")) == set()
        assert ids(api("ada").get("/buildings?select=id")) == {1, 2, 3, 5, 6}


@pytest.mark.attack(entry="R20")
def test_unknown_user_is_refused_despite_valid_signature(api: Callable) -> None:
    response = api(Person(UNKNOWN_USER_ID, "super_admin")).get("/buildings")

    assert (response.status, response.code) == (401, "PGRST303")

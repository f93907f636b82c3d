"""The number of steps of SQLite's virtual machine for each request. It does not depend on the machine's speed.

The same requests run over two portfolios. In the second one, other clients have 8 times as many rows. A list that
scans rows of other clients takes 8 times the steps there.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

import pytest
from flask import Flask

from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from access.session import look_up_caller
from engine.query.catalog import catalog
from engine.query.read.plan import plan_read
from engine.query.statement import Binding
from engine.schema.script import schema_script
from engine.storage import sqlite
from engine.storage.database import SqliteDatabase
from routes.postgrest.querystring import parse
from tests.conftest import ADA, MOE
from tests.support.applications import import_rows, open_app
from tests.support.costs import (
    CLAIMS,
    LISTS,
    STEPS_GROWTH_MAX,
    TOKENS,
    StepCounter,
    count_steps,
    open_small_and_large,
    portfolio,
)

pytestmark = [pytest.mark.sqlite("counts the steps of SQLite's engine"), pytest.mark.slow]

PARAMETERS = {"caller_id": MOE, "caller_client_id": 1, "visits_since": None}


ASKED = [
    pytest.param(who, path, id=f"{name}-{who}")
    for who in TOKENS
    for name, path in LISTS.items()
    if (who, name) != ("moe", "buildings-of-a-city")  # the index by city includes all clients
]


@pytest.fixture(scope="module")
def apps(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Flask]:
    return open_small_and_large(tmp_path_factory)


@pytest.mark.parametrize(("who", "path"), ASKED)
def test_list_cost_is_independent_of_other_clients(apps: dict[str, Flask], who: str, path: str) -> None:
    small, large = (count_steps(apps[size], who, path) for size in ("small", "large"))

    assert small > 0
    assert large <= small * STEPS_GROWTH_MAX + 200


@pytest.mark.parametrize("preference", ["", "count=exact"])
@pytest.mark.parametrize("filters", ["date_visited=eq.{}", "status=eq.{}&date_visited=eq.{}"])
def test_manager_list_by_date_reads_rows_of_that_date_only(
    apps: dict[str, Flask], filters: str, preference: str
) -> None:
    """The index of the granted rows includes the filtered column."""
    absent = "/inspections?" + filters.format("2001-01-01", "2001-01-01")
    looked_through = "/inspections?notes=eq.2001-01-01"

    counted, control = (
        count_steps(apps["small"], "moe", path, preference, drop_counts=True) for path in (absent, looked_through)
    )

    assert 0 < counted < control / 2


def test_manager_list_by_status_uses_a_covering_index(apps: dict[str, Flask]) -> None:
    """The search reads index entries of other statuses, but not their rows (decision 0010)."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_MANAGER, True, False])
    shape = parse(b"status=eq.completed&order=date_visited.desc").shape
    made = plan_read("sqlite", "inspections", shape, rule)
    bound = Binding(("completed",), PARAMETERS, limit=20)
    database: SqliteDatabase = apps["small"].extensions["walkthrough"]

    with apps["small"].app_context(), database.reading() as transaction:
        for each in (made.rows, made.count):
            planned = transaction.all(f"EXPLAIN QUERY PLAN {each.sql}", each.bind(bound))
            looks = [row[3] for row in planned if "inspections_client_building" in row[3]]
            assert looks
            assert all("USING COVERING INDEX" in look for look in looks)


BY_BUILDING = [
    ("inspections", "building_id=eq.1"),
    ("inspections", "building_id=in.(1,2,3)&order=date_visited"),
    ("inspections", "order=date_visited.desc"),
    ("inspections", "status=eq.completed"),
    ("inspections", "select=id,reports_lead(id),buildings(name)"),
    ("reports_lead", "select=id,inspections!inner(building_id)"),
    ("reports_lead", "gun_id=eq.1"),
    ("inspectors", "select=id,inspections(id)"),
    ("buildings", "select=id,inspections(id)&inspections.order=date_visited"),
    ("buildings", "select=id,inspections!inner(id)&inspections.status=eq.failed"),
    ("buildings", "select=id,inspections(count)"),
    ("buildings", "inspections=is.null&select=id,inspections()"),
]


@pytest.mark.parametrize("role", list(Role))
@pytest.mark.parametrize(("relation", "query"), BY_BUILDING)
def test_inspections_of_a_building_are_searched_by_client_and_building(
    apps: dict[str, Flask], relation: str, query: str, role: Role
) -> None:
    """Without the client, SQLite would run one search for each client (decision 0010)."""
    rule = AccessRule(GRANT_PROFILES[role, True, True])
    parsed = parse(query.encode())
    made = plan_read("sqlite", relation, parsed.shape, rule)
    bound = Binding(parsed.values, PARAMETERS, limit=20)
    database: SqliteDatabase = apps["small"].extensions["walkthrough"]

    with apps["small"].app_context(), database.reading() as transaction:
        for each in (made.rows, made.count):
            planned = transaction.all(f"EXPLAIN QUERY PLAN {each.sql}", each.bind(bound))
            astray = [row[3] for row in planned if "ANY(client_id) AND building_id" in row[3]]
            assert not astray, planned


def test_inspections_of_an_inspector_are_searched_by_client(apps: dict[str, Flask]) -> None:
    """No index begins with an inspector (decision 0010)."""
    rule = AccessRule(GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
    made = plan_read("sqlite", "inspections", parse(b"inspector_id=eq.1").shape, rule)
    bound = Binding(("1",), limit=20)
    database: SqliteDatabase = apps["small"].extensions["walkthrough"]

    with apps["small"].app_context(), database.reading() as transaction:
        for each in (made.rows, made.count):
            planned = transaction.all(f"EXPLAIN QUERY PLAN {each.sql}", each.bind(bound))
            assert any("(ANY(client_id) AND inspector_id=?)" in row[3] for row in planned), planned


def test_delete_of_an_inspector_searches_by_client(apps: dict[str, Flask]) -> None:
    """The delete sets `inspector_id` of its inspections to null without a full scan."""
    counted = []
    for size in ("small", "large"):
        database: SqliteDatabase = apps[size].extensions["walkthrough"]
        looks = 0

        def look() -> int:
            nonlocal looks
            looks += 1
            return 0

        with apps[size].app_context(), database.writing() as transaction:
            transaction.run("INSERT INTO inspectors (id, name) VALUES (999, 'gone')")
            driver = transaction.connection.driver_connection
            driver.set_progress_handler(look, 1)
            transaction.run("DELETE FROM inspectors WHERE id = 999")
            driver.set_progress_handler(transaction.connection.overdue, sqlite.OPCODES_PER_CHECK)
            transaction.roll_back_at_end()
        counted.append(looks)

    assert 0 < counted[1] <= counted[0] * STEPS_GROWTH_MAX + 200


def app_with_visits(visits: int) -> dict[str, list[dict]]:
    """Return an application with 10 buildings, all granted to moe, with `visits` inspections each."""
    rows = portfolio(0)
    numbers = range(1, 11)
    return {
        **rows,
        "buildings": [{"id": each, "name": f"B{each}", "client_id": 1} for each in numbers],
        "inspections": [
            {
                "building_id": number, "inspection_type": "annual", "status": "completed",
                "date_visited": f"20{visit // 336:02}-{visit // 28 % 12 + 1:02}-{visit % 28 + 1:02}",
            }
            for number in numbers for visit in range(visits)
        ],
        "reports_lead": [],
        "client_manager_building_access": [
            {"manager_id": MOE, "building_id": number} for number in numbers
        ],
    }  # fmt: skip


@pytest.mark.parametrize("granted_alone", [False, True], ids=["one-kind-of-grants", "both-kinds"])
@pytest.mark.parametrize("filters", ["", "&status=eq.completed", "&date_visited=lt.2001-01-01"])
def test_manager_page_reads_at_most_a_page_for_each_building(tmp_path: Path, filters: str, granted_alone: bool) -> None:
    counted = []
    for visits in (50, 1_000):
        rows = app_with_visits(visits)
        grants = [{"manager_id": MOE, "inspection_id": 7}] if granted_alone else []
        rows["client_manager_inspection_access"] = grants
        source = tmp_path / f"{visits}.json"
        source.write_text(json.dumps(rows))
        app = open_app(tmp_path / f"{visits}.db")
        import_rows(app, source)
        path = f"/inspections?order=date_visited.desc&limit=5{filters}"
        counted.append(count_steps(app, "moe", path))

    assert 0 < counted[1] <= counted[0] * STEPS_GROWTH_MAX + 200


def test_index_prefixes_match_the_models() -> None:
    with closing(sqlite.driver.connect(":memory:")) as connection:
        connection.executescript(schema_script("sqlite"))
        for name, relation in catalog().relations.items():
            model, indexes = relation.model, connection.execute(f"PRAGMA index_list({name})")
            found = {
                tuple(row[2] for row in connection.execute(f"PRAGMA index_info({index[1]})"))[:3]
                for index in indexes.fetchall()
            }
            assert set(model.index_prefix.items()) <= {(each[1], each[0]) for each in found if each[1:]}
            if (scan := model.skip_scan) is not None:
                assert (scan.owner, scan.partition_by, scan.order) in found


COSTLY = {
    "unindexed": "/inspections?notes=like.*a*&limit=20",
    "deep": "/inspections?inspection_type=ilike.*a*&select=*,buildings(*,inspections(*))&limit=5",
    "through-an-embed": "/inspections?select=id,buildings(id)&buildings.name=like.*7*&buildings=not.is.null&limit=20",
    "past-the-end": "/inspections?offset=1000000&limit=1",
}


@pytest.mark.parametrize("who", ["ada", "moe"])
@pytest.mark.parametrize("path", COSTLY.values(), ids=COSTLY)
@pytest.mark.attack(entry="O15")
def test_hidden_rows_cause_no_timeout(apps: dict[str, Flask], who: str, path: str) -> None:
    """Attack catalogue, O15: a timeout reveals nothing about hidden rows."""
    small, large = (count_steps(apps[size], who, path) for size in ("small", "large"))

    assert small > 0
    assert large <= small * STEPS_GROWTH_MAX + 200


@pytest.mark.parametrize("who", ["ada", "moe"])
def test_ordered_embed_stops_at_its_limit(apps: dict[str, Flask], who: str) -> None:
    """The index of the foreign key holds the rows in the order."""
    path = "/buildings?select=id,inspections(id)&inspections.order=date_visited.desc&inspections.limit="

    newest, all_of_them = (count_steps(apps["small"], who, f"{path}{limit}") for limit in (1, 1_000))

    assert 0 < newest < all_of_them / 2


FUNCTIONS = ("get_inspections_dashboard_summary_fast", "get_building_stats_chart_fast")


@pytest.mark.parametrize("who", TOKENS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_cached_function_cost_is_independent_of_table_size(apps: dict[str, Flask], who: str, function: str) -> None:
    small, large = (count_steps(apps[size], who, f"/rpc/{function}") for size in ("small", "large"))

    # A few steps more or less for each statement are no growth.
    assert large <= small * STEPS_GROWTH_MAX + 100


@pytest.mark.parametrize("who", ["ada", "moe"])
def test_first_chart_reads_no_rows_of_other_clients(apps: dict[str, Flask], who: str) -> None:
    path = "/rpc/get_building_stats_chart_fast?start_date=2021-01-01&end_date=2021-03-01"

    small, large = (count_steps(apps[size], who, path, drop_counts=True) for size in ("small", "large"))

    assert small > 0
    assert large <= small * STEPS_GROWTH_MAX + 200


@pytest.mark.parametrize(("who", "path"), ASKED)
def test_cached_count_cost_is_independent_of_table_size(apps: dict[str, Flask], who: str, path: str) -> None:
    """This holds for later pages and for repeated requests."""
    small, large = (count_steps(apps[size], who, path, "count=exact") for size in ("small", "large"))

    assert large <= small * STEPS_GROWTH_MAX + 200


def test_point_read_cost_is_independent_of_grants(tmp_path: Path) -> None:
    counted = []
    for name, granted in (("few", 1), ("many", 400)):
        rows = portfolio(20)
        rows["client_manager_inspection_access"] = [
            {"manager_id": MOE, "inspection_id": number} for number in range(81, 81 + granted)
        ]
        source = tmp_path / f"{name}.json"
        source.write_text(json.dumps(rows))
        app = open_app(tmp_path / f"{name}.db")
        import_rows(app, source)
        counted.append(count_steps(app, "moe", "/inspections?id=eq.81"))

    assert 0 < counted[1] <= counted[0] * STEPS_GROWTH_MAX


def test_lookup_cost_is_independent_of_grants(apps: dict[str, Flask]) -> None:
    """The search for grantees of another client's buildings begins with the grants."""
    counted = {}
    for size in ("small", "large"):
        database: SqliteDatabase = apps[size].extensions["walkthrough"]
        with apps[size].app_context(), database.writing() as transaction:
            transaction.roll_back_at_end()
            transaction.run(
                "INSERT INTO client_admin_building_access (admin_id, building_id, assigned_at)"
                " SELECT ?, id, '2025-01-01T00:00:00+00:00' FROM buildings WHERE client_id = 1",
                (ADA,),
            )
            look_up_caller(transaction, CLAIMS)
            counted[size] = StepCounter()
            counted[size].begin(transaction.connection)
            look_up_caller(transaction, CLAIMS)
            counted[size].end(transaction.connection)

    assert 0 < counted["large"].count <= counted["small"].count * STEPS_GROWTH_MAX


def test_step_count_detects_a_full_scan(apps: dict[str, Flask]) -> None:
    """Control: the steps of a count of all rows grow."""
    path = "/inspections?notes=is.null&select=count()"

    small, large = (count_steps(apps[size], "root", path) for size in ("small", "large"))

    assert large > small * STEPS_GROWTH_MAX + 200

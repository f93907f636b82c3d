"""Lists of a client admin: a skip scan of the client's rows by date, merged with granted rows.

`tests/engine/test_client_admin_page_costs.py` counts the cost of a page.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from access.policy import AccessRule
from access.roles import GRANT_PROFILES, Role
from engine.query.catalog import catalog
from engine.query.read.access_paths import partitions_of
from engine.query.read.plan import plan_read
from engine.query.statement import parameter
from routes.postgrest.querystring import parse
from tests.conftest import ADA
from tests.engine.test_manager_lists import in_order, whole_and_paged
from tests.engine.test_super_admin_lists import INSPECTIONS, NULLS, ROWS

pytestmark = pytest.mark.slow

OWN = 1
CLIENT_OF = {each["id"]: each["client_id"] for each in ROWS["buildings"]}
BY_BUILDING = (3, 4)  # one of another client, and one of the own client
ONE_BY_ONE = (2, 4, 6, 7, 8, 13)  # of both buildings and of others
ADMIN = {"id": ADA, "email": "ada@x", "name": "Ada", "role": "client_admin", "client_id": OWN}
GRANTED = {
    "client_admin_building_access": [{"admin_id": ADA, "building_id": number} for number in BY_BUILDING],
    "client_admin_inspection_access": [{"admin_id": ADA, "inspection_id": number} for number in ONE_BY_ONE],
}
KINDS = {
    "nothing granted": {},
    "buildings": {"client_admin_building_access": GRANTED["client_admin_building_access"]},
    "one by one": {"client_admin_inspection_access": GRANTED["client_admin_inspection_access"]},
    "both": GRANTED,
}


@pytest.fixture(params=KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def rows_of(kind: str) -> dict[str, list[dict]]:
    return {**ROWS, "users": [*ROWS["users"], ADMIN], **KINDS[kind]}


@pytest.fixture
def ada(shared_world: Callable, kind: str) -> object:
    return shared_world(rows_of(kind))("ada")


@pytest.fixture
def seen(kind: str) -> list[dict]:
    buildings = BY_BUILDING if "client_admin_building_access" in KINDS[kind] else ()
    single = ONE_BY_ONE if "client_admin_inspection_access" in KINDS[kind] else ()
    return [
        each
        for each in INSPECTIONS
        if CLIENT_OF[each["building_id"]] == OWN or each["building_id"] in buildings or each["id"] in single
    ]


@pytest.mark.parametrize("column", ["date_visited", "status", "id"])
@pytest.mark.parametrize("direction", NULLS)
@pytest.mark.parametrize("status", [None, "completed"])
def test_list_returns_each_row_once_in_order(
    ada: object, seen: list[dict], column: str, direction: str, status: str | None
) -> None:
    rows = [each for each in seen if status in (None, each["status"])]
    expected = in_order(rows, column, direction.startswith("desc"), NULLS[direction])
    where = f"&status=eq.{status}" if status else ""

    path = f"/inspections?select=id&order={column}.{direction}{where}"

    assert rows
    assert whole_and_paged(ada, path, len(rows), 7) == [expected, expected]


HOLDS = {
    "date_visited=gte.2025-01-02": lambda row: (row["date_visited"] or "") >= "2025-01-02",
    "date_visited=lt.2025-01-02": lambda row: (row["date_visited"] or "9") < "2025-01-02",
    "date_visited=eq.2025-01-02": lambda row: row["date_visited"] == "2025-01-02",
    "date_visited=in.(2025-01-01,2025-01-02)": lambda row: row["date_visited"] is not None,
    "date_visited=not.eq.2025-01-02": lambda row: row["date_visited"] == "2025-01-01",
    "date_visited=is.null": lambda row: row["date_visited"] is None,
    "status=in.(completed,scheduled)": lambda row: row["status"] is not None,
    "status=is.null": lambda row: row["status"] is None,
    "status=not.is.null": lambda row: row["status"] is not None,
    "status=neq.completed": lambda row: row["status"] == "scheduled",
    "status=not.in.(scheduled)": lambda row: row["status"] == "completed",
    "status=like.*ed": lambda row: row["status"] is not None,
    "status=match.^c": lambda row: row["status"] == "completed",
    "status=gt.d": lambda row: row["status"] == "scheduled",
    "status=isdistinct.completed": lambda row: row["status"] != "completed",
    "status=is.null&date_visited=gte.2025-01-01": lambda row: row["status"] is None and row["date_visited"] is not None,
    "status=eq.completed&date_visited=eq.2025-01-01": lambda row: (
        row["status"] == "completed" and row["date_visited"] == "2025-01-01"
    ),
    "or=(date_visited.eq.2025-01-01,status.eq.scheduled)": lambda row: (
        row["status"] == "scheduled" or row["date_visited"] == "2025-01-01"
    ),
    "inspection_type=eq.fire&date_visited=gte.2025-01-01": lambda row: (
        row["inspection_type"] == "fire" and row["date_visited"] is not None
    ),
    "inspector_id=neq.2": lambda row: row["inspector_id"] != 2,
    "inspector_id=eq.2": lambda row: row["inspector_id"] == 2,
    "id=in.(1,2,3,4,5,6,7,8)": lambda row: row["id"] <= 8,
    "id=gt.30": lambda row: row["id"] > 30,
    "building_id=eq.3": lambda row: row["building_id"] == 3,
    "select=id,buildings!inner(name)&buildings.name=eq.B2": lambda row: row["building_id"] == 2,
}
"""What a query asks, said of a row."""


@pytest.mark.parametrize("order", ["", "&order=date_visited", "&order=id.desc"])
@pytest.mark.parametrize("query", HOLDS)
def test_filters_apply_in_every_access_path(ada: object, seen: list[dict], query: str, order: str) -> None:
    expected = sorted(row["id"] for row in seen if HOLDS[query](row))
    path = f"/inspections?{query}{order}"

    whole = [row["id"] for row in ada.get(path).json]
    pages = [
        row["id"] for place in range(0, len(seen), 6)
        for row in ada.get(f"{path}&limit=6&offset={place}").json
    ]  # fmt: skip
    page = ada.get(f"{path}&limit=1", prefer="count=exact")
    head = ada.head(f"{path}&offset=1", prefer="count=exact")

    assert sorted(whole) == expected
    assert pages == whole
    for counted in (page, head):
        assert counted.headers["Content-Range"].split("/")[1] == str(len(expected))


@pytest.mark.parametrize("query", [each for each in HOLDS if "select" not in each])
def test_aggregates_cover_the_filtered_rows(ada: object, seen: list[dict], query: str) -> None:
    rows = [row for row in seen if HOLDS[query](row)]
    dates = [row["date_visited"] for row in rows if row["date_visited"] is not None]

    found = ada.get(f"/inspections?{query}&select=count(),date_visited.max()").json

    assert found == [{"count": len(rows), "max": max(dates, default=None)}]


@pytest.mark.parametrize("query", ["", "date_visited=gte.2025-01-02", "status=neq.completed"])
def test_groups_cover_the_filtered_rows(ada: object, seen: list[dict], query: str) -> None:
    rows = [row for row in seen if HOLDS.get(query, bool)(row)]
    by_status = Counter(row["status"] for row in rows)
    names = Counter(f"B{row['building_id']}" if is_shown(row, ada) else None for row in rows)

    found = ada.get(f"/inspections?{query}&select=status,count()&order=status").json
    spread = ada.get(f"/inspections?{query}&select=...buildings(name),count()").json

    assert {row["status"]: row["count"] for row in found} == by_status
    assert [row["status"] for row in found if row["status"]] == sorted(filter(None, by_status))
    assert {row["name"]: row["count"] for row in spread} == names


def is_shown(row: dict, person: object) -> bool:
    """Return whether the inspection's building is readable too."""
    return bool(person.get(f"/buildings?id=eq.{row['building_id']}").json)


@pytest.mark.parametrize("query", [each for each in HOLDS if "select" not in each])
def test_writes_reach_rows_of_the_own_client_only(world: Callable, kind: str, seen: list[dict], query: str) -> None:
    ada = world(rows_of(kind))("ada")
    expected = [row["id"] for row in seen if HOLDS[query](row) and CLIENT_OF[row["building_id"]] == OWN]

    changed = ada.patch(
        f"/inspections?{query}&order=date_visited&select=id", {"notes": "seen"}, prefer="return=representation"
    )
    noted = ada.get("/inspections?notes=eq.seen&select=id&order=id").json

    assert sorted(row["id"] for row in changed.json) == sorted(expected)
    assert [row["id"] for row in noted] == sorted(expected)


@pytest.mark.parametrize(
    ("query", "is_scanned"),
    [
        ("order=date_visited.desc", True),
        ("order=date_visited&status=eq.completed", False),
        ("order=date_visited&status=in.(completed,failed)", True),
        ("order=date_visited&inspector_id=eq.1", False),
        ("order=status", False),
        ("order=id.desc", False),
        ("order=id&id=gt.5", False),
        ("order=inspectors(id)&select=id,inspectors(id)", False),
        ("order=id&id=eq.5", False),
        ("order=id&inspector_id=is.null", False),
        ("order=id&inspector_id=eq.1", False),
        ("order=id&status=eq.completed", False),
        ("order=id&or=(id.gt.5,status.eq.completed)", False),
        ("id=gt.5", False),
        ("date_visited=gte.2025-01-01", False),
        ("date_visited=gte.2025-01-01&order=id", False),
        ("date_visited=gte.2025-01-01&status=eq.completed", False),
        ("date_visited=gte.2025-01-01&status=not.eq.completed", False),
        ("date_visited=not.gte.2025-01-01", False),
        ("date_visited=gte(all).{2025-01-01,2025-01-02}", False),
        ("date_visited=eq.2025-01-01&building_id=eq.1", False),
        ("status=eq.completed", False),
        ("", False),
    ],
)
def test_skip_scan_is_used_for_orders_without_an_index(query: str, is_scanned: bool) -> None:
    relation = catalog().relations["inspections"]
    node, rows = parse(query.encode()).shape.root, relation.table.alias("t0")
    scope = rows.c.client_id == parameter("caller_client_id", sa.BigInteger)

    found = partitions_of(node, relation, rows, scope)

    assert (found is not None) is is_scanned


def test_postgresql_limits_the_client_branch_and_not_the_small_set() -> None:
    """With a LIMIT on the small set, PostgreSQL would scan an ordered index over the rows of all clients."""
    rule = AccessRule(GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    shape = parse(b"order=date_visited.desc&select=id").shape

    sql = plan_read("postgresql", "inspections", shape, rule).rows.sql
    own, by_building, one_by_one = sql.split("UNION ALL")

    assert [each.count("LIMIT") for each in (own, by_building, one_by_one)] == [1, 0, 1]
    assert one_by_one.index("ORDER BY s0") < one_by_one.index("LIMIT")


def test_dashboard_and_chart_count_every_readable_row(ada: object, seen: list[dict]) -> None:
    """Dashboards and charts, rows without a status included."""
    dashboard = ada.get("/rpc/get_inspections_dashboard_summary_fast").json
    chart = ada.get("/rpc/get_building_stats_chart_fast?start_date=2025-01-01&end_date=2025-01-31").json
    dated = [row for row in seen if row["date_visited"]]

    assert dashboard["total_inspections"] == len(seen)
    assert sum(dashboard["by_type"].values()) == len(seen)
    assert dashboard["by_status"]["completed"] == sum(row["status"] == "completed" for row in seen)
    assert sum(point["total"] for point in chart["series"]) == len(dated)
    for point in chart["series"]:
        rows = [row for row in dated if row["date_visited"] == point["period"]]
        assert point["total"] == len(rows)
        assert point["by_status"]["completed"] == sum(row["status"] == "completed" for row in rows)
        assert sum(point["by_status"].values()) == len(rows)

"""Lists of a super admin by date: skip scans that return each row once, in order, and stop at the page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa

from engine.query.catalog import catalog
from engine.query.read.access_paths import partitions_of
from routes.postgrest.querystring import parse
from tests.conftest import MOE, ROOT
from tests.engine.test_manager_lists import DATES, in_order, whole_and_paged
from tests.support.applications import import_rows, open_app
from tests.support.costs import STEPS_GROWTH_MAX, count_steps, portfolio

pytestmark = pytest.mark.slow

STATUSES = ("completed", "scheduled", "completed", None)
INSPECTIONS = [
    {
        "id": number,
        "building_id": 1 + number % 5,
        "inspection_type": ("annual", "fire")[number % 3 == 0],
        "date_visited": DATES[number % 5] if number % 7 else "2025-01-02",
        "status": STATUSES[number % 4],
        "inspector_id": 1 + number % 3 % 2,
    }
    for number in range(1, 41)
]
ROWS = {
    "clients": [{"id": number, "name": f"C{number}"} for number in (1, 2, 3)],
    "users": [{"id": ROOT, "email": "root@x", "name": "Root", "role": "super_admin"}],
    "inspectors": [{"id": number, "name": f"I{number}"} for number in (1, 2)],
    "buildings": [{"id": number, "name": f"B{number}", "client_id": 1 + number % 2} for number in range(1, 6)],
    "inspections": INSPECTIONS,
}

NULLS = {"asc": False, "desc": True, "asc.nullsfirst": True, "desc.nullslast": False}


@pytest.fixture
def root(shared_world: Callable) -> object:
    return shared_world(ROWS)("root")


@pytest.mark.parametrize("direction", NULLS)
@pytest.mark.parametrize("status", [None, "completed"])
@pytest.mark.parametrize("ties", ["", ",id"])
def test_list_returns_each_row_once_in_order(root: object, direction: str, status: str | None, ties: str) -> None:
    rows = [each for each in INSPECTIONS if status in (None, each["status"])]
    descending = direction.startswith("desc")
    expected = in_order(rows, "date_visited", descending, NULLS[direction])
    where = f"&status=eq.{status}" if status else ""
    last = f"{ties}.desc" if ties and descending else ties

    path = f"/inspections?select=id&order=date_visited.{direction}{last}{where}"

    assert whole_and_paged(root, path, len(rows), 7) == [expected, expected]


@pytest.mark.parametrize(
    "query",
    [
        "date_visited=gte.2025-01-02",
        "status=in.(completed,scheduled)",
        "status=is.null",
        "status=not.eq.completed",
        "inspection_type=eq.fire&status=eq.completed",
        "or=(inspector_id.eq.1,status.eq.scheduled)",
        "not.or=(inspector_id.eq.1,status.eq.scheduled)",
        "inspector_id=eq.2",
        "building_id=in.(1,3)",
        "select=id,buildings!inner(name)&buildings.name=eq.B2",
        "select=id,buildings!inner()&buildings.client_id=eq.1",
        "select=id,buildings()&buildings.client_id=in.(1,2)&buildings=not.is.null",
        "select=id,status,buildings(name,clients(name))",
    ],
)
def test_filters_apply_in_every_skip_scan(root: object, query: str) -> None:
    anyhow = {row["id"] for row in root.get(f"/inspections?{query}").json}
    ordered = [row["id"] for row in root.get(f"/inspections?{query}&order=date_visited.desc").json]
    known = {each["id"]: each for each in INSPECTIONS}

    assert anyhow
    assert sorted(ordered) == sorted(anyhow)
    assert ordered == in_order([known[each] for each in ordered], "date_visited", True, True)


@pytest.mark.parametrize(
    ("query", "is_scanned"),
    [
        ("order=date_visited.desc", True),
        ("order=date_visited,id", True),
        ("order=date_visited.desc,id", False),
        ("order=date_visited,inspection_type", False),
        ("order=status,date_visited", False),
        ("order=status,date_visited&status=eq.completed", True),
        ("order=status.desc,date_visited&status=eq.completed", True),
        ("order=date_visited,status.desc&status=eq.completed", False),
        ("order=status&status=eq.completed", False),
        ("order=buildings(name)&select=id,buildings(name)", False),
        ("order=date_visited&inspector_id=eq.1", False),
        ("order=date_visited&inspector_id=not.eq.1", True),
        ("order=date_visited&id=in.(1,2)", False),
        ("order=date_visited&id=gt.1", True),
        ("order=date_visited&and=(status.eq.completed,building_id.eq.1)", False),
        ("order=date_visited&or=(status.eq.completed,building_id.eq.1)", True),
        ("order=date_visited&or=(inspector_id.eq.1,building_id.eq.1)", False),
        ("order=date_visited&building_id=eq(any).{1,2}", False),
        ("order=date_visited&building_id=eq(all).{1,2}", True),
        ("order=date_visited->day", False),
        ("order=inspectors(id)&select=id,inspectors(id)", False),
        ("date_visited=gte.2025-01-01", False),
        ("date_visited=gte.2025-01-01&order=id", False),
        ("order=id", False),
    ],
)
def test_skip_scan_needs_the_order_of_an_index_and_no_selective_filter(query: str, is_scanned: bool) -> None:
    relation = catalog().relations["inspections"]

    node, rows = parse(query.encode()).shape.root, relation.table.alias("t0")
    found = partitions_of(node, relation, rows, sa.true())

    assert (found is not None) is is_scanned


@pytest.mark.sqlite("counts the steps of SQLite's engine")
@pytest.mark.parametrize(
    "query",
    ["order=date_visited.desc", "order=date_visited&status=eq.completed",
     "order=date_visited.desc&date_visited=lt.2015-01-01"],
)  # fmt: skip
def test_page_reads_at_most_a_page_for_each_client(tmp_path: Path, query: str) -> None:
    counted = []
    for visits in (40, 800):
        rows = {
            **portfolio(0),
            "buildings": [
                {"id": number, "name": f"B{number}", "client_id": 1 + number % 4}
                for number in range(1, 9)
            ],
            "inspections": [
                {"building_id": 1 + visit % 8, "inspection_type": "annual", "status": "completed",
                 "date_visited": f"20{visit % 30:02}-{visit % 12 + 1:02}-{visit % 28 + 1:02}"}
                for visit in range(8 * visits)
            ],
            "reports_lead": [],
            "client_manager_building_access": [{"manager_id": MOE, "building_id": 4}],
            "client_manager_inspection_access": [],
        }  # fmt: skip
        source = tmp_path / f"{visits}.json"
        source.write_text(json.dumps(rows))
        app = open_app(tmp_path / f"{visits}.db")
        import_rows(app, source)
        counted.append(count_steps(app, "root", f"/inspections?{query}&limit=5"))

    assert 0 < counted[1] <= counted[0] * STEPS_GROWTH_MAX + 200

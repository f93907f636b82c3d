"""The cost of a client admin's page: independent of the number of rows, of the own client and of others."""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path

import pytest

from access.caller import Caller
from access.roles import GRANT_PROFILES, Role
from engine.query.statement import Binding
from inspections.reporting.counts import calendar_days, plan_status_counts
from tests.conftest import ADA
from tests.support.applications import import_rows, open_app
from tests.support.costs import STEPS_GROWTH_MAX, count_steps, portfolio

pytestmark = pytest.mark.slow

OWN = 1


def grown(visits: int, granted: int) -> dict[str, list[dict]]:
    """Return an application with 8 buildings of 4 clients and `visits` inspections each, of 5 statuses and none."""
    draw = random.Random(visits)
    statuses = ("scheduled", "in_progress", "completed", "failed", "cancelled", None)
    return {
        **portfolio(0),
        "buildings": [
            {"id": number, "name": f"B{number}", "client_id": 1 + number % 4}
            for number in range(1, 9)
        ],
        "inspections": [
            {"id": 1 + visit, "building_id": 1 + visit % 8, "inspection_type": draw.choice(("annual", "fire")),
             "status": draw.choice(statuses), "inspector_id": draw.randrange(1, 4),
             "date_visited": f"20{draw.randrange(30):02}-{draw.randrange(1, 13):02}-01"}
            for visit in range(8 * visits)
        ],
        "reports_lead": [{"inspection_id": 1 + visit} for visit in range(8 * visits)],
        "client_manager_building_access": [],
        "client_manager_inspection_access": [],
        "client_admin_building_access": [{"admin_id": ADA, "building_id": 1}][:granted],
        "client_admin_inspection_access": [{"admin_id": ADA, "inspection_id": 2}][:granted],
    }  # fmt: skip


@pytest.fixture(scope="module", params=[0, 1], ids=["nothing granted", "granted"])
def sizes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list:
    made = []
    for visits in (100, 2_000):
        folder: Path = tmp_path_factory.mktemp("grown")
        source = folder / "rows.json"
        source.write_text(json.dumps(grown(visits, request.param)))
        made.append(open_app(folder / "walkthrough.db"))
        import_rows(made[-1], source)
    return made


@pytest.mark.sqlite("counts the steps of SQLite's engine")
@pytest.mark.parametrize(
    "query",
    [
        "order=date_visited.desc",
        "order=date_visited",
        "order=date_visited.desc.nullslast&date_visited=lt.2020-01-01",
        "order=date_visited&status=eq.failed",
        "order=date_visited&status=in.(failed,scheduled)",
        "order=date_visited&status=neq.completed",
        "order=date_visited&select=id,reports_lead!inner(id)",
        "order=date_visited&select=id,inspectors!inner(id)&inspectors.id=lt.3",
        "order=date_visited&inspection_type=eq.fire",
        "id=gt.600",
        "",
    ],
)
def test_page_cost_is_independent_of_table_size(sizes: list, query: str) -> None:
    """Both the own client and others have 20 times as many rows, with and without grants."""
    small, large = (count_steps(app, "ada", f"/inspections?{query}&limit=5") for app in sizes)

    assert small > 0
    assert large <= small * STEPS_GROWTH_MAX + 200


KINDS_OF_OTHERS = (5, 400)


@pytest.fixture(scope="module")
def apps_with_kinds_of_others(tmp_path_factory: pytest.TempPathFactory) -> list:
    """Yield two applications. In the second, each row of other clients has its own status and inspector."""
    made = []
    for kinds in KINDS_OF_OTHERS:
        rows = grown(100, 0)
        rows["inspectors"] = [{"id": number, "name": "I"} for number in range(1, 500)]
        rows["inspections"] += [
            {"building_id": 1, "inspection_type": "annual", "status": f"status {number}",
             "inspector_id": 10 + number, "date_visited": "2020-01-01"}
            for number in range(kinds)
        ]  # fmt: skip
        folder: Path = tmp_path_factory.mktemp("others")
        source = folder / "rows.json"
        source.write_text(json.dumps(rows))
        made.append(open_app(folder / "walkthrough.db"))
        import_rows(made[-1], source)
    return made


@pytest.mark.sqlite("counts the steps of SQLite's engine")
@pytest.mark.parametrize("query", ["order=date_visited", "order=id"])
def test_page_cost_is_independent_of_distinct_values_of_other_clients(
    apps_with_kinds_of_others: list, query: str
) -> None:
    few, many = (count_steps(app, "ada", f"/inspections?{query}&limit=5") for app in apps_with_kinds_of_others)

    assert few > 0
    assert abs(many - few) <= 60


@pytest.mark.sqlite("reads SQLite's plans")
def test_counts_with_grants_use_a_covering_index(sizes: list) -> None:
    """A dashboard or chart fetches no row of the own client, whatever grants exist."""
    caller = Caller(ADA, OWN, GRANT_PROFILES[Role.CLIENT_ADMIN, True, True])
    bound = Binding(parameters=caller.parameters | calendar_days(datetime.date(2025, 6, 1)))
    database = sizes[0].extensions["walkthrough"]
    for plan in (plan_status_counts.statement("sqlite", caller.rule, False),):
        with sizes[0].app_context(), database.reading() as transaction:
            looks = [row[3] for row in transaction.all(f"EXPLAIN QUERY PLAN {plan.sql}", plan.bind(bound))]
        own = [look for look in looks if "(client_id=?" in look and "building_id=?" not in look]
        assert own
        assert all("COVERING INDEX inspections_client_status" in look for look in own), looks
        assert not any("MULTI-INDEX OR" in look for look in looks), looks

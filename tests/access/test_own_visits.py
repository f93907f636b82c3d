"""Inspectors who sign in: a manager who is linked to an inspector reads that inspector's current visits only."""

import copy
import json
from collections.abc import Callable

import pytest

from tests.conftest import ADA, DATASET, MIA, MOE, Response, privilege, rule

MOMENT = "2026-03-10T12:00:00+00:00"
FIRST_DAY, DAY_BEFORE = "2025-12-10", "2025-12-09"
"""90 and 91 days before the day of MOMENT."""

INES, IVO = 1, 2
OPEN, OTHER_CLIENT, RECENT, OLD = 101, 102, 103, 104


def visit(id_: int, building_id: int, **values: object) -> dict:
    return {
        "id": id_, "building_id": building_id, "inspection_type": "annual", "inspector_id": IVO, "notes": None,
        "date_visited": None, "status": "scheduled", "created_at": MOMENT, "updated_at": MOMENT, **values,
    }  # fmt: skip


@pytest.fixture
def inspector(world: Callable) -> Callable:
    """Provide the API with mia linked to Ivo, who has four visits in buildings of two clients."""
    rows = copy.deepcopy(json.loads(DATASET.read_text()))
    for each in rows["inspections"]:
        each["inspector_id"] = None
    rows["inspectors"][IVO - 1]["user_id"] = MIA
    rows["inspections"] += [
        visit(OPEN, 2),
        visit(OTHER_CLIENT, 4, status="in_progress"),
        visit(RECENT, 3, status="completed", date_visited=FIRST_DAY),
        visit(OLD, 6, status="failed", date_visited=DAY_BEFORE),
    ]
    return world(rows, MOMENT)


def ids(response: Response) -> list[int]:
    assert response.status == 200, response.text
    return sorted(row["id"] for row in response.json)


def test_current_visits_and_their_buildings_are_read(inspector: Callable) -> None:
    mia = inspector("mia")

    assert ids(mia.get("/inspections")) == [OPEN, OTHER_CLIENT, RECENT]
    assert ids(mia.get("/buildings")) == [2, 3, 4]
    assert ids(mia.get("/inspectors")) == [IVO]
    assert ids(mia.get("/clients")) == [1]


def test_counts_include_nothing_else(inspector: Callable) -> None:
    mia = inspector("mia")

    assert mia.head("/inspections", prefer="count=exact").total == "3"
    assert mia.head("/buildings", prefer="count=exact").total == "3"
    assert mia.get("/buildings?select=id,inspections(count)&order=id").json == [
        {"id": 2, "inspections": [{"count": 1}]},
        {"id": 3, "inspections": [{"count": 1}]},
        {"id": 4, "inspections": [{"count": 1}]},
    ]
    dashboard = mia.rpc("get_inspections_dashboard_summary_fast").json
    assert (dashboard["total_inspections"], dashboard["total_buildings"]) == (3, 3)
    assert mia.rpc("get_building_stats", {"building_id": 4}).json["total_inspections"] == 1


def test_other_inspections_of_the_building_are_hidden(inspector: Callable) -> None:
    seen = inspector("mia").get("/buildings?id=eq.4&select=id,inspections(id)").json

    assert seen == [{"id": 4, "inspections": [{"id": OTHER_CLIENT}]}]


def test_visit_of_91_days_ago_is_hidden(inspector: Callable) -> None:
    mia = inspector("mia")

    assert mia.get(f"/inspections?id=eq.{OLD}").json == []
    assert mia.post("/findings", {"inspection_id": OLD, "description": "x", "severity": "low"}).refusal == rule(
        "findings"
    )


def test_another_inspector_takes_the_visit_away(inspector: Callable) -> None:
    mia = inspector("mia")
    assert mia.get(f"/inspections?id=eq.{OTHER_CLIENT}").json != []

    inspector("bob").patch(f"/inspections?id=eq.{OTHER_CLIENT}", {"inspector_id": INES})

    assert mia.get(f"/inspections?id=eq.{OTHER_CLIENT}").json == []
    assert ids(mia.get("/buildings")) == [2, 3]


def test_end_of_the_link_takes_everything_away(inspector: Callable) -> None:
    inspector("root").patch(f"/inspectors?id=eq.{IVO}", {"user_id": None})

    assert inspector("mia").get("/inspections").json == []
    assert inspector("mia").post("/findings", {}).refusal == privilege("findings")


def test_grants_add_to_own_visits(inspector: Callable) -> None:
    inspector("root").patch(f"/inspectors?id=eq.{IVO}", {"user_id": MOE})

    assert ids(inspector("moe").get("/inspections")) == [1, 2, 3, 9, OPEN, OTHER_CLIENT, RECENT]
    assert ids(inspector("moe").get("/buildings")) == [1, 2, 3, 4]


@pytest.mark.parametrize("table", ["findings", "reports_lead"])
def test_rows_of_own_visits_are_written(inspector: Callable, table: str) -> None:
    mia = inspector("mia")
    more = {"description": "No alarm.", "severity": "low"} if table == "findings" else {"result": "negative"}

    made = mia.post(f"/{table}", {"inspection_id": OTHER_CLIENT, **more}, prefer="return=representation")
    assert made.status == 201, made.text
    [row] = made.json
    assert mia.patch(f"/{table}?id=eq.{row['id']}", {"inspection_id": OPEN}).status == 204
    assert mia.delete(f"/{table}?id=eq.{row['id']}").status == 204
    assert mia.get(f"/{table}?id=eq.{row['id']}").json == []


@pytest.mark.parametrize("table", ["findings", "reports_lead"])
def test_rows_of_other_visits_are_not_written(inspector: Callable, table: str) -> None:
    mia = inspector("mia")
    more = {"description": "No alarm.", "severity": "low"} if table == "findings" else {"result": "negative"}

    assert mia.post(f"/{table}", {"inspection_id": 1, **more}).refusal == rule(table)
    [own] = mia.post(f"/{table}", {"inspection_id": OPEN, **more}, prefer="return=representation").json
    assert mia.patch(f"/{table}?id=eq.{own['id']}", {"inspection_id": 1}).refusal == rule(table)
    unmatched = mia.delete(f"/{table}?id=eq.1", prefer="count=exact")
    assert (unmatched.status, unmatched.total) == (204, "0")


@pytest.mark.parametrize("table", ["inspections", "buildings", "schedules", "inspection_plans", "finding_events"])
def test_other_tables_are_not_written(inspector: Callable, table: str) -> None:
    assert inspector("mia").patch(f"/{table}?id=eq.1", {}).refusal == privilege(table)


@pytest.mark.parametrize("table", ["findings", "reports_lead"])
@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_unlinked_manager_has_no_privilege(inspector: Callable, table: str, method: str) -> None:
    where = "" if method == "POST" else "?id=eq.1"

    assert inspector("moe").send(method, f"/{table}{where}", {}).refusal == privilege(table)


def test_explanation_names_own_visit(inspector: Callable) -> None:
    asked = {"p_inspection_id": OPEN, "p_user_id": MIA}
    explained = inspector("ada").rpc("explain_inspection_access", asked).json
    assert (explained["allowed"], [each["rule"] for each in explained["reasons"]]) == (True, ["own_visit"])

    asked = {"p_building_id": 2, "p_user_id": MIA}
    explained = inspector("ada").rpc("explain_building_access", asked).json
    assert [each["rule"] for each in explained["reasons"]] == ["has_own_visit"]
    assert inspector("ada").rpc("check_building_access_v2", asked).json is True


@pytest.mark.parametrize("user", [ADA, None])
def test_link_is_to_a_client_manager(inspector: Callable, user: str | None) -> None:
    linked = inspector("root").patch("/inspectors?id=eq.1", {"user_id": user}, prefer="return=representation")

    assert linked.status == (200 if user is None else 400)
    assert user is None or linked.code == "23514"


def test_user_is_linked_to_one_inspector(inspector: Callable) -> None:
    linked = inspector("root").patch("/inspectors?id=eq.1", {"user_id": MIA})

    assert (linked.status, linked.code) == (409, "23505")


def test_deleted_user_leaves_the_inspector(inspector: Callable) -> None:
    assert inspector("root").delete(f"/users?id=eq.{MIA}").status == 204

    assert inspector("root").get(f"/inspectors?id=eq.{IVO}&select=user_id").json == [{"user_id": None}]


def link_of(inspector: Callable) -> str | None:
    [row] = inspector("root").get(f"/inspectors?id=eq.{IVO}&select=user_id").json
    return row["user_id"]


@pytest.mark.parametrize("door", ["users", "admin_users"])
def test_another_role_ends_the_link_for_good(inspector: Callable, door: str) -> None:
    def set_role(role: str) -> None:
        root = inspector("root")
        if door == "users":
            answer = root.patch(f"/users?id=eq.{MIA}", {"role": role})
        else:
            answer = root.put(f"/auth/v1/admin/users/{MIA}", {"app_metadata": {"role": role}})
        assert answer.status in (200, 204), answer.text

    set_role("client_admin")
    assert link_of(inspector) is None
    set_role("client_manager")
    assert link_of(inspector) is None

    entries = inspector("root").get("/audit_log?relation=eq.inspectors&select=action,before,after").json
    assert {"action": "update", "before": {"user_id": MIA}, "after": {"user_id": None}} in entries


def test_deactivation_ends_the_link_for_good(inspector: Callable) -> None:
    root = inspector("root")

    assert root.put(f"/auth/v1/admin/users/{MIA}", {"ban_duration": "876000h"}).status == 200
    assert link_of(inspector) is None
    assert root.put(f"/auth/v1/admin/users/{MIA}", {"ban_duration": "none"}).status == 200
    assert link_of(inspector) is None


def test_another_name_keeps_the_link(inspector: Callable) -> None:
    assert inspector("root").patch(f"/users?id=eq.{MIA}", {"name": "Mia Moved", "client_id": 2}).status == 204

    assert link_of(inspector) == MIA

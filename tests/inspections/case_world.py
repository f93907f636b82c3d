"""A client with a failed inspection, its findings, and people with all kinds of access to it."""

import json
from collections.abc import Callable

from tests.conftest import BOB, DATASET, MIA, MOE, ROOT, Response

MOMENT = "2026-11-20T14:05:00+00:00"
TODAY, TOMORROW = "2026-11-20", "2026-11-21"
FIRST_DAY, DAY_BEFORE = "2026-08-22", "2026-08-21"
"""90 and 91 days before the day of MOMENT."""

FAILED, SCHEDULED, ELSEWHERE, OLD = 1918, 1919, 1920, 1921
"""Inspections: failed yesterday; scheduled for a later day; failed, in a building of the other client; 91 days old."""

AGAIN = 1930
"""The re-inspection of FAILED in `rounds_of_case`."""

INES, IVO = 1, 2
OPEN, FIXED, VERIFIED, WAIVED = 1, 2, 3, 4
"""Findings of FAILED, by their status."""

HIDDEN, MISSING = 5, 999
"""A finding of ELSEWHERE, and one that does not exist."""

STATUSES = {OPEN: "open", FIXED: "fixed", VERIFIED: "verified", WAIVED: "waived"}
FOUND_AT = "2026-11-19T08:00:00+00:00"
CLOSED_AT = "2026-11-19T09:00:00+00:00"
DUE_AT = "2026-12-19T23:59:59+00:00"


CALLS = {"start_visit": {}, "close_visit": {"p_status": "completed"}, "reinspect": {"p_date_visited": "2026-12-15"}}
VISITS = {"start_visit": SCHEDULED, "close_visit": SCHEDULED, "reinspect": FAILED}


def times() -> dict:
    return {"created_at": "2026-11-01T09:00:00+00:00", "updated_at": "2026-11-01T09:00:00+00:00"}


def inspection(id_: int, building_id: int, status: str, day: str | None, **values: object) -> dict:
    return {
        "id": id_, "building_id": building_id, "inspection_type": "annual", "date_visited": day, "status": status,
        "inspector_id": INES, "notes": None, **times(), **values,
    }  # fmt: skip


def finding(id_: int, inspection_id: int, status: str = "open", **values: object) -> dict:
    return {
        "id": id_, "inspection_id": inspection_id, "case_id": inspection_id, "description": f"Finding {id_}",
        "severity": "moderate", "status": status, "due_at": DUE_AT,
        "closed_at": CLOSED_AT if status in ("verified", "waived") else None, "found_at": FOUND_AT, **times(), **values,
    }  # fmt: skip


def case_rows() -> dict:
    """Return the rows.

    ada is the admin of client 1 and bob of client 2. moe has a grant on the building, bob one on FAILED, max none. mia
    is linked to the inspector of all inspections.
    """
    people = json.loads(DATASET.read_text(encoding="utf-8"))
    signed = {"assigned_by": ROOT, "assigned_at": MOMENT}
    return {
        "clients": people["clients"],
        "users": people["users"],
        "inspectors": [{"id": INES, "name": "Ines", "user_id": MIA}, {"id": IVO, "name": "Ivo"}],
        "buildings": [
            {"id": 1, "name": "Harbor House", "client_id": 1, **times()},
            {"id": 2, "name": "Ash Lofts", "client_id": 2, **times()},
        ],
        "inspections": [
            inspection(FAILED, 1, "failed", "2026-11-19"),
            inspection(SCHEDULED, 1, "scheduled", "2026-12-01"),
            inspection(ELSEWHERE, 2, "failed", "2026-11-19", inspector_id=IVO),
            inspection(OLD, 1, "failed", DAY_BEFORE),
        ],
        "findings": [*(finding(id_, FAILED, status) for id_, status in STATUSES.items()), finding(HIDDEN, ELSEWHERE)],
        "client_manager_building_access": [{"manager_id": MOE, "building_id": 1, **signed}],
        "client_admin_inspection_access": [{"admin_id": BOB, "inspection_id": FAILED, **signed}],
    }


def rounds_of_case() -> dict:
    """Return the rows with a re-inspection of FAILED, which is under way."""
    rows = case_rows()
    rows["inspections"].append(inspection(AGAIN, 1, "in_progress", TODAY))
    rows["inspection_plans"] = [
        {"inspection_id": FAILED, "case_id": FAILED, "round": 1, "outcome": "done"},
        {"inspection_id": AGAIN, "case_id": FAILED, "round": 2},
    ]
    rows["client_admin_inspection_access"].append({"admin_id": BOB, "inspection_id": AGAIN, "assigned_by": ROOT})
    return rows


def stored_findings(api: Callable) -> list:
    """Return the findings and their events as stored."""
    tables = (api("root").get(f"/{name}?order=id") for name in ("findings", "finding_events"))
    return [table.json for table in tables]


def call(case: Callable, who: str, function: str, key: int | None = None, **arguments: object) -> Response:
    key = VISITS[function] if key is None else key
    return case(who).rpc(function, {"p_inspection_id": key, **CALLS[function], **arguments})


def visit_row(case: Callable, key: int) -> dict:
    [row] = case("root").get(f"/inspections?id=eq.{key}").json
    return row

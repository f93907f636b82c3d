"""Rows of schedules, findings and visits for the console's tests, and the clock of their database."""

from collections.abc import Callable

from tests.conftest import MIA
from tests.support.set_clock import SetClock

MOMENT = "2026-03-10T12:00:00+00:00"
YESTERDAY, TODAY, TOMORROW = "2026-03-09", "2026-03-10", "2026-03-11"
IVO = 2
LATE_VISIT, VISIT, NEXT_VISIT, CLOSED_VISIT = 21, 22, 23, 24
LATE, DUE_TODAY, DUE_THIS_WEEK, FIXED = 31, 32, 33, 34


def set_clock(app: object, moment: str = MOMENT) -> SetClock:
    """Set the clock of an application and of its database."""
    clock = SetClock(moment)
    app.extensions["walkthrough"].clock = app.extensions["walkthrough.clock"] = clock
    return clock


def add_visits(api: Callable) -> None:
    """Link Mia to the inspector Ivo, and give him four visits of Harbor House."""
    root = api("service")
    assert root.patch(f"/inspectors?id=eq.{IVO}", {"user_id": MIA}).status == 204
    visits = [
        {"id": LATE_VISIT, "inspection_type": "fire", "status": "scheduled", "date_visited": YESTERDAY},
        {"id": VISIT, "inspection_type": "annual", "status": "scheduled", "date_visited": TODAY},
        {"id": NEXT_VISIT, "inspection_type": "lead", "status": "scheduled", "date_visited": TOMORROW},
        {"id": CLOSED_VISIT, "inspection_type": "annual", "status": "completed", "date_visited": "2026-03-01"},
    ]
    rows = [{"building_id": 1, "inspector_id": IVO, **each} for each in visits]
    assert root.post("/inspections", rows).status == 201


def start_reinspection(api: Callable, key: int = LATE_VISIT) -> int:
    """Close a visit as failed, start its re-inspection, and return that."""
    root = api("service")
    closed = root.rpc("close_visit", {"p_inspection_id": key, "p_status": "failed", "p_reinspect_on": TODAY})
    assert closed.status == 200, closed.text
    again = closed.json["reinspection_id"]
    assert root.rpc("start_visit", {"p_inspection_id": again}).status == 200
    return again


def add_findings(api: Callable) -> None:
    """Replace the findings by four of the late visit: late, due today, due this week, and fixed."""
    root = api("service")
    assert root.delete("/findings?id=gt.0").status == 204
    dues = {LATE: "2026-03-07T12:00:00Z", DUE_TODAY: "2026-03-10T18:30:00Z", DUE_THIS_WEEK: "2026-03-14T12:00:00Z"}
    rows = [
        {"id": key, "inspection_id": LATE_VISIT, "place": "3D", "item": "Door", "description": f"Finding {key}",
         "severity": "severe", "due_at": dues.get(key, "2026-03-07T12:00:00Z")}
        for key in (LATE, DUE_TODAY, DUE_THIS_WEEK, FIXED)
    ]  # fmt: skip
    assert root.post("/findings", rows).status == 201
    assert root.rpc("move_findings", {"p_finding_ids": [FIXED], "p_to": "fixed"}).status == 200

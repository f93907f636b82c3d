"""get_inspections_dashboard_summary_fast: counts per caller and day."""

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest

from tests.support.functions import DASHBOARD, day, one_building, result_of, today

DASHBOARD_KEYS = {
    "total_inspections",
    "total_buildings",
    "by_status",
    "by_type",
    "overdue",
    "upcoming",
    "completed_this_month",
    "last_inspection",
    "next_inspection",
    "open_findings",
    "findings_overdue",
    "generated_at",
    "today",
    "timezone",
}


def statuses(scheduled=0, in_progress=0, completed=0, failed=0, cancelled=0) -> dict:
    return {
        "scheduled": scheduled,
        "in_progress": in_progress,
        "completed": completed,
        "failed": failed,
        "cancelled": cancelled,
    }


def types(annual=0, fire=0, lead=0, structural=0, emergency=0) -> dict:
    return {"annual": annual, "fire": fire, "lead": lead, "structural": structural, "emergency": emergency}


# who: inspections, buildings, by the five statuses, by the five types, overdue, open and overdue findings. All dates
# of the data set are past.
DASHBOARDS = {
    "root": (9, 6, statuses(3, 1, 2, 1, 1), types(3, 2, 2, 1, 1), 3, 4),
    "ada": (7, 5, statuses(3, 1, 1, 1, 0), types(3, 2, 1, 1, 0), 3, 3),
    "bob": (4, 2, statuses(1, 0, 1, 0, 1), types(1, 1, 1, 0, 1), 1, 3),
    "moe": (4, 1, statuses(2, 0, 1, 1, 0), types(1, 2, 1, 0, 0), 2, 2),
    "mia": (0, 0, statuses(), types(), 0, 0),
    "max": (2, 1, statuses(0, 0, 1, 0, 1), types(0, 0, 1, 0, 1), 0, 1),
}


@pytest.mark.parametrize("who", DASHBOARDS)
def test_dashboard_counts_visible_inspections(api: Callable, who: str) -> None:
    inspections, buildings, by_status, by_type, overdue, findings = DASHBOARDS[who]

    body = api(who).rpc(DASHBOARD).json

    assert set(body) == DASHBOARD_KEYS
    assert (body["total_inspections"], body["total_buildings"]) == (inspections, buildings)
    assert {name: body["by_status"][name] for name in statuses()} == by_status
    assert {name: body["by_type"][name] for name in types()} == by_type
    assert body["overdue"] == overdue
    assert (body["open_findings"], body["findings_overdue"]) == (findings, findings)
    assert body["upcoming"] == 0
    assert body["completed_this_month"] == 0


def test_service_key_dashboard_equals_super_admins(api: Callable) -> None:
    assert result_of(api("service").rpc(DASHBOARD)) == result_of(api("root").rpc(DASHBOARD))


def test_dashboard_without_visible_rows_has_no_dates(api: Callable) -> None:
    body = api("mia").rpc(DASHBOARD).json

    assert body["by_status"] == statuses()
    assert body["by_type"] == types()
    assert (body["last_inspection"], body["next_inspection"]) == (None, None)


def test_dashboard_has_generation_time(api: Callable) -> None:
    start = datetime.now(UTC)

    made = api("moe").rpc(DASHBOARD).json["generated_at"]

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00", made)
    assert abs(datetime.fromisoformat(made) - start) < timedelta(seconds=60)


# status, days from today, counted as
DATED_INSPECTIONS = [
    ("scheduled", -1, "overdue"),
    ("scheduled", -400, "overdue"),
    ("in_progress", -1, "overdue"),
    ("in_progress", 0, None),
    ("in_progress", 10, None),
    ("completed", -1, None),
    ("failed", -1, None),
    ("cancelled", -1, None),
    ("scheduled", 0, "upcoming"),
    ("scheduled", 1, "upcoming"),
    ("scheduled", 30, "upcoming"),
    ("scheduled", 31, None),
    ("completed", 10, None),
    ("cancelled", 10, None),
]


@pytest.mark.parametrize(
    ("status", "offset", "counted"),
    DATED_INSPECTIONS,
    ids=[f"{status}{offset:+}" for status, offset, _ in DATED_INSPECTIONS],
)
def test_dashboard_separates_overdue_and_upcoming(
    world: Callable, status: str, offset: int, counted: str | None
) -> None:
    body = world(one_building((status, day(offset))))("root").rpc(DASHBOARD).json

    assert body["overdue"] == (1 if counted == "overdue" else 0)
    assert body["upcoming"] == (1 if counted == "upcoming" else 0)


def test_dashboard_excludes_scheduled_without_date(world: Callable) -> None:
    body = world(one_building(("scheduled", None)))("root").rpc(DASHBOARD).json

    assert (body["total_inspections"], body["overdue"], body["upcoming"]) == (1, 0, 0)


def test_dashboard_counts_completed_this_month(world: Callable) -> None:
    first = today().replace(day=1)
    rows = one_building(
        ("completed", today().isoformat()),
        ("completed", first.isoformat()),
        ("completed", (first - timedelta(days=1)).isoformat()),
        ("failed", today().isoformat()),
        ("completed", first.replace(year=first.year - 1).isoformat()),
    )

    body = world(rows)("root").rpc(DASHBOARD).json

    assert body["completed_this_month"] == 2


def test_dashboard_names_the_last_and_the_next_inspection(world: Callable) -> None:
    rows = one_building(
        ("completed", day(-9)),
        ("completed", day(-3)),
        ("scheduled", day(4)),
        ("scheduled", day(90)),
        ("scheduled", None),
    )

    body = world(rows)("root").rpc(DASHBOARD).json

    assert (body["last_inspection"], body["next_inspection"]) == (day(-3), day(4))


def test_dashboard_includes_unknown_statuses_and_types(world: Callable) -> None:
    rows = one_building(("on_hold", None), ("on_hold", None))
    rows["inspections"][1]["inspection_type"] = "roof"

    body = world(rows)("root").rpc(DASHBOARD).json

    assert body["by_status"] == {**statuses(), "on_hold": 2}
    assert body["by_type"] == {**types(annual=1), "roof": 1}

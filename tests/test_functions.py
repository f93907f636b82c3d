"""The ten functions under /rpc, one after the other, as they are promised."""

import json
import re
from collections.abc import Callable
from datetime import UTC
from datetime import date
from datetime import datetime
from datetime import timedelta

import pytest

from tests.conftest import ADA
from tests.conftest import BOB
from tests.conftest import MAX
from tests.conftest import MIA
from tests.conftest import MOE
from tests.conftest import NO_ONE
from tests.conftest import ROOT
from tests.conftest import Response
from tests.conftest import dump
from tests.conftest import ids

DASHBOARD = "get_inspections_dashboard_summary_fast"
CHART = "get_building_stats_chart_fast"
STATS = "get_building_stats"
CHECK_BUILDING = "check_building_access_v2"
CHECK_INSPECTION = "check_inspection_access"
EXPLAIN_BUILDING = "explain_building_access"
EXPLAIN_INSPECTION = "explain_inspection_access"
TO_ADMIN_BUILDINGS = "assign_buildings_to_client_admin"
TO_ADMIN_INSPECTIONS = "assign_inspections_to_client_admin"
TO_MANAGER = "assign_to_client_manager"

# function -> arguments with which root gets an answer
WELL_CALLED = {
    DASHBOARD: {},
    CHART: {"start_date": "2025-01-01", "end_date": "2025-12-31"},
    STATS: {"building_id": 1},
    TO_ADMIN_BUILDINGS: {"admin_id": ADA, "building_ids": [2]},
    TO_ADMIN_INSPECTIONS: {"admin_id": ADA, "inspection_ids": [2]},
    TO_MANAGER: {"manager_id": MIA, "building_ids": [2], "inspection_ids": [5]},
    CHECK_BUILDING: {"p_building_id": 1, "p_user_id": MOE},
    CHECK_INSPECTION: {"p_inspection_id": 1, "p_user_id": MOE},
    EXPLAIN_BUILDING: {"p_building_id": 1, "p_user_id": MOE},
    EXPLAIN_INSPECTION: {"p_inspection_id": 1, "p_user_id": MOE},
}
STABLE = (
    DASHBOARD,
    CHART,
    STATS,
    CHECK_BUILDING,
    CHECK_INSPECTION,
    EXPLAIN_BUILDING,
    EXPLAIN_INSPECTION,
)
VOLATILE = (TO_ADMIN_BUILDINGS, TO_ADMIN_INSPECTIONS, TO_MANAGER)
ABOUT_SOMEBODY = (CHECK_BUILDING, CHECK_INSPECTION, EXPLAIN_BUILDING, EXPLAIN_INSPECTION)


def today() -> date:
    return datetime.now(UTC).date()


def day(offset: int) -> str:
    """The calendar date that many days from today."""
    return (today() + timedelta(days=offset)).isoformat()


def renamed(arguments: dict, p: bool) -> dict:
    """Spell every parameter with or without its `p_`."""
    bare = {name.removeprefix("p_"): value for name, value in arguments.items()}
    return {f"p_{name}": value for name, value in bare.items()} if p else bare


def told(response: Response) -> object:
    """The answer without the moment it was made at."""
    body = response.json
    return (
        {k: v for k, v in body.items() if k != "generated_at"} if isinstance(body, dict) else body
    )


# ── all of them ──────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", WELL_CALLED)
def test_root_gets_an_answer(api: Callable, name: str) -> None:
    response = api("root").rpc(name, WELL_CALLED[name])

    assert response.status == 200
    assert response.headers["Content-Type"].startswith("application/json")


@pytest.mark.parametrize("name", WELL_CALLED)
def test_supabase_path_calls_the_same(api: Callable, name: str) -> None:
    response = api("root").post(f"/rest/v1/rpc/{name}", WELL_CALLED[name])

    assert response.status == 200


@pytest.mark.parametrize("p", [True, False], ids=["with-p", "without-p"])
@pytest.mark.parametrize("name", WELL_CALLED)
def test_both_spellings_are_taken(api: Callable, name: str, p: bool) -> None:
    as_documented = api("root").rpc(name, WELL_CALLED[name], prefer="tx=rollback")

    response = api("root").rpc(name, renamed(WELL_CALLED[name], p), prefer="tx=rollback")

    assert response.status == 200
    assert told(response) == told(as_documented)


@pytest.mark.parametrize("name", [name for name in WELL_CALLED if name != DASHBOARD])
def test_both_spellings_with_one_value_are_one(api: Callable, name: str) -> None:
    arguments = {**renamed(WELL_CALLED[name], True), **renamed(WELL_CALLED[name], False)}

    assert api("root").rpc(name, arguments).status == 200


OTHER_VALUES = [
    (CHART, "start_date", "2024-01-01"),
    (STATS, "building_id", 2),
    (TO_ADMIN_BUILDINGS, "admin_id", BOB),
    (TO_ADMIN_BUILDINGS, "building_ids", [3]),
    (TO_ADMIN_INSPECTIONS, "inspection_ids", [3]),
    (TO_MANAGER, "manager_id", MOE),
    (TO_MANAGER, "building_ids", []),
    (CHECK_BUILDING, "building_id", 2),
    (CHECK_BUILDING, "user_id", MIA),
    (CHECK_INSPECTION, "inspection_id", 2),
    (EXPLAIN_BUILDING, "user_id", MIA),
    (EXPLAIN_INSPECTION, "inspection_id", 2),
]


@pytest.mark.parametrize(
    ("name", "parameter", "other"),
    OTHER_VALUES,
    ids=[f"{name}-{parameter}" for name, parameter, _ in OTHER_VALUES],
)
def test_both_spellings_with_different_values_are_refused(
    steady: Callable, name: str, parameter: str, other: object
) -> None:
    arguments = {**renamed(WELL_CALLED[name], False), f"p_{parameter}": other}
    before = dump(steady)

    response = steady("root").rpc(name, arguments)

    assert response.status == 400
    assert set(response.json) == {"code", "message", "details", "hint"}
    assert dump(steady) == before


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize("name", STABLE)
def test_unknown_parameter_finds_no_function(api: Callable, name: str, method: str) -> None:
    response = api("root").rpc(name, {**WELL_CALLED[name], "nope": 1}, method=method)

    assert (response.status, response.code) == (404, "PGRST202")


@pytest.mark.parametrize("name", VOLATILE)
def test_unknown_parameter_assigns_nothing(steady: Callable, name: str) -> None:
    before = dump(steady)

    response = steady("root").rpc(name, {**WELL_CALLED[name], "nope": 1})

    assert (response.status, response.code) == (404, "PGRST202")
    assert dump(steady) == before


REQUIRED = [
    (name, parameter)
    for name in WELL_CALLED
    for parameter in WELL_CALLED[name]
    if name not in (DASHBOARD, CHART)
]


@pytest.mark.parametrize(("name", "parameter"), REQUIRED, ids=["-".join(pair) for pair in REQUIRED])
def test_missing_parameter_finds_no_function(steady: Callable, name: str, parameter: str) -> None:
    arguments = {key: value for key, value in WELL_CALLED[name].items() if key != parameter}

    response = steady("root").rpc(name, arguments)

    assert (response.status, response.code) == (404, "PGRST202")


@pytest.mark.parametrize("name", [name for name in STABLE if name not in (DASHBOARD, CHART)])
def test_missing_parameter_by_get_finds_no_function(api: Callable, name: str) -> None:
    response = api("root").rpc(name, {}, method="GET")

    assert (response.status, response.code) == (404, "PGRST202")


@pytest.mark.parametrize("name", STABLE)
def test_get_answers_as_post(api: Callable, name: str) -> None:
    by_get = api("root").rpc(name, WELL_CALLED[name], method="GET")

    assert by_get.status == 200
    assert told(by_get) == told(api("root").rpc(name, WELL_CALLED[name]))


@pytest.mark.parametrize("who", ["root", "ada", "moe", "nobody"])
@pytest.mark.parametrize("name", VOLATILE)
def test_assigning_by_get_is_refused(api: Callable, name: str, who: str) -> None:
    response = api(who).rpc(name, {"admin_id": ADA}, method="GET")

    assert (response.status, response.code) in ((405, "PGRST101"), (401, "42501"))
    assert who == "nobody" or response.status == 405


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
@pytest.mark.parametrize("name", WELL_CALLED)
def test_only_post_and_get_call(steady: Callable, name: str, method: str) -> None:
    before = dump(steady)

    response = steady("root").rpc(name, WELL_CALLED[name], method=method)

    assert (response.status, response.code) == (405, "PGRST101")
    assert dump(steady) == before


@pytest.mark.parametrize("name", WELL_CALLED)
def test_anonymous_calls_nothing(steady: Callable, name: str) -> None:
    response = steady("nobody").rpc(name, WELL_CALLED[name])

    assert (response.status, response.code) == (401, "42501")


@pytest.mark.parametrize(
    "query", ["select=total_inspections", "order=id", "limit=1", "offset=0", "limit=1&offset=5"]
)
@pytest.mark.parametrize("name", STABLE)
def test_words_of_the_dialect_are_no_parameters(api: Callable, name: str, query: str) -> None:
    arguments = "&".join(f"{key}={value}" for key, value in WELL_CALLED[name].items())

    assert api("root").get(f"/rpc/{name}?{arguments}&{query}").status == 200


@pytest.mark.parametrize(
    "body", ["{", "[]", "5", '"x"', "null", "[1]"], ids=lambda body: f"body-{body}"
)
def test_body_that_is_no_object_is_refused(api: Callable, body: str) -> None:
    response = api("root").post(f"/rpc/{STATS}", body)

    assert (response.status, response.code) == (400, "PGRST102")


@pytest.mark.parametrize(
    "name",
    [
        "__init__",
        "pg_sleep",
        "login",
        "get_building_stats_",
        "check_building_access",
        "GET_BUILDING_STATS",
        "buildings",
    ],
)
def test_unknown_function_is_not_found(api: Callable, name: str) -> None:
    response = api("root").rpc(name)

    assert (response.status, response.code) == (404, "PGRST202")


# ── get_inspections_dashboard_summary_fast ───────────────────────────────────────────────────────────────


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
    "generated_at",
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
    return {
        "annual": annual,
        "fire": fire,
        "lead": lead,
        "structural": structural,
        "emergency": emergency,
    }


# who: inspections, buildings, by the five statuses, by the five types, overdue. All dates of the data set are past.
DASHBOARDS = {
    "root": (9, 6, statuses(3, 1, 2, 1, 1), types(3, 2, 2, 1, 1), 3),
    "ada": (7, 5, statuses(3, 1, 1, 1, 0), types(3, 2, 1, 1, 0), 3),
    "bob": (4, 2, statuses(1, 0, 1, 0, 1), types(1, 1, 1, 0, 1), 1),
    "moe": (4, 1, statuses(2, 0, 1, 1, 0), types(1, 2, 1, 0, 0), 2),
    "mia": (0, 0, statuses(), types(), 0),
    "max": (2, 1, statuses(0, 0, 1, 0, 1), types(0, 0, 1, 0, 1), 0),
}


@pytest.mark.parametrize("who", DASHBOARDS)
def test_dashboard_counts_what_is_visible(api: Callable, who: str) -> None:
    inspections, buildings, by_status, by_type, overdue = DASHBOARDS[who]

    body = api(who).rpc(DASHBOARD).json

    assert set(body) == DASHBOARD_KEYS
    assert (body["total_inspections"], body["total_buildings"]) == (inspections, buildings)
    assert {name: body["by_status"][name] for name in statuses()} == by_status
    assert {name: body["by_type"][name] for name in types()} == by_type
    assert body["overdue"] == overdue
    assert body["upcoming"] == 0
    assert body["completed_this_month"] == 0


def test_dashboard_of_service_key_is_a_super_admins(api: Callable) -> None:
    assert told(api("service").rpc(DASHBOARD)) == told(api("root").rpc(DASHBOARD))


def test_dashboard_of_somebody_who_sees_nothing_names_no_dates(api: Callable) -> None:
    body = api("mia").rpc(DASHBOARD).json

    assert body["by_status"] == statuses()
    assert body["by_type"] == types()
    assert (body["last_inspection"], body["next_inspection"]) == (None, None)


def test_dashboard_says_when_it_was_made(api: Callable) -> None:
    start = datetime.now(UTC)

    made = api("moe").rpc(DASHBOARD).json["generated_at"]

    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?\+00:00", made)
    assert abs(datetime.fromisoformat(made) - start) < timedelta(seconds=60)


def one_building(*inspections: tuple[str, str | None]) -> dict:
    """A world of one client, one building, one super admin, and inspections of (status, date)."""
    return {
        "clients": [{"id": 1, "name": "C"}],
        "users": [
            {
                "id": ROOT,
                "email": "root@example.org",
                "name": "Root",
                "role": "super_admin",
                "client_id": None,
            }
        ],
        "buildings": [{"id": 1, "name": "B", "client_id": 1}],
        "inspections": [
            {
                "id": n,
                "building_id": 1,
                "inspection_type": "annual",
                "status": status,
                "date_visited": visited,
            }
            for n, (status, visited) in enumerate(inspections, 1)
        ],
    }


# status, days from today, counted as
ON_THE_CALENDAR = [
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
    ON_THE_CALENDAR,
    ids=[f"{status}{offset:+}" for status, offset, _ in ON_THE_CALENDAR],
)
def test_dashboard_tells_overdue_from_upcoming(
    world: Callable, status: str, offset: int, counted: str | None
) -> None:
    body = world(one_building((status, day(offset))))("root").rpc(DASHBOARD).json

    assert body["overdue"] == (1 if counted == "overdue" else 0)
    assert body["upcoming"] == (1 if counted == "upcoming" else 0)


def test_dashboard_counts_scheduled_without_a_date_nowhere(world: Callable) -> None:
    body = world(one_building(("scheduled", None)))("root").rpc(DASHBOARD).json

    assert (body["total_inspections"], body["overdue"], body["upcoming"]) == (1, 0, 0)


def test_dashboard_counts_what_was_completed_this_month(world: Callable) -> None:
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


def test_dashboard_keeps_uncommon_statuses_and_types(world: Callable) -> None:
    rows = one_building(("on_hold", None), ("on_hold", None))
    rows["inspections"][1]["inspection_type"] = "roof"

    body = world(rows)("root").rpc(DASHBOARD).json

    assert body["by_status"] == {**statuses(), "on_hold": 2}
    assert body["by_type"] == {**types(annual=1), "roof": 1}


# ── get_building_stats_chart_fast ────────────────────────────────────────────────────────────────────────


def chart(api: Callable, who: str, start: str, end: str) -> dict:
    return api(who).rpc(CHART, {"start_date": start, "end_date": end}).json


def test_chart_by_day_has_no_gaps(api: Callable) -> None:
    body = chart(api, "root", "2025-04-09", "2025-04-13")

    assert (body["start_date"], body["end_date"]) == ("2025-04-09", "2025-04-13")
    assert body["interval"] == "day"
    assert [(point["period"], point["total"]) for point in body["series"]] == [
        ("2025-04-09", 0),
        ("2025-04-10", 1),
        ("2025-04-11", 1),
        ("2025-04-12", 0),
        ("2025-04-13", 0),
    ]


def test_chart_point_tells_its_statuses(api: Callable) -> None:
    series = chart(api, "root", "2025-04-10", "2025-04-11")["series"]

    assert set(series[0]) == {"period", "total", "by_status"}
    assert {k: v for k, v in series[0]["by_status"].items() if v} == {"failed": 1}
    assert {k: v for k, v in series[1]["by_status"].items() if v} == {"scheduled": 1}


def test_chart_by_week_has_no_gaps(api: Callable) -> None:
    body = chart(api, "root", "2025-04-07", "2025-05-11")  # a Monday to a Sunday, five weeks

    assert body["interval"] == "week"
    assert [point["total"] for point in body["series"]] == [2, 0, 0, 0, 3]
    assert [point["period"] for point in body["series"]] == [
        "2025-04-07",
        "2025-04-14",
        "2025-04-21",
        "2025-04-28",
        "2025-05-05",
    ]


def test_chart_by_month_has_no_gaps(api: Callable) -> None:
    body = chart(api, "root", "2025-01-01", "2025-12-31")

    assert body["interval"] == "month"
    assert [point["period"][:7] for point in body["series"]] == [
        f"2025-{month:02}" for month in range(1, 13)
    ]
    assert [point["total"] for point in body["series"]] == [0, 0, 1, 2, 3, 2, 0, 0, 0, 0, 0, 0]


SPANS = [
    ("2025-03-01", "2025-03-01", "day"),
    ("2025-03-01", "2025-03-31", "day"),
    ("2025-03-01", "2025-04-03", "week"),
    ("2025-01-06", "2025-07-06", "week"),
    ("2025-01-06", "2025-07-20", "month"),
    ("2024-01-01", "2025-12-31", "month"),
]


@pytest.mark.parametrize(("start", "end", "interval"), SPANS, ids=lambda value: value)
def test_chart_takes_its_interval_from_the_span(
    api: Callable, start: str, end: str, interval: str
) -> None:
    assert chart(api, "root", start, end)["interval"] == interval


# who: total in the series, then building -> (total, completed, failed) of those with an inspection in 2025
CHARTS = {
    "root": (8, {1: (3, 1, 1), 2: (1, 0, 0), 3: (1, 0, 0), 4: (2, 1, 0), 5: (1, 0, 0)}),
    "ada": (6, {1: (3, 1, 1), 2: (1, 0, 0), 3: (1, 0, 0), 5: (1, 0, 0)}),
    "bob": (4, {4: (2, 1, 0), 5: (1, 0, 0)}),
    "moe": (4, {1: (3, 1, 1)}),
    "mia": (0, {}),
    "max": (2, {4: (2, 1, 0)}),
}


@pytest.mark.parametrize("who", CHARTS)
def test_chart_counts_what_is_visible(api: Callable, who: str) -> None:
    total, buildings = CHARTS[who]

    body = chart(api, who, "2025-01-01", "2025-12-31")

    assert set(body) == {"start_date", "end_date", "interval", "series", "buildings"}
    assert sum(point["total"] for point in body["series"]) == total
    assert {
        row["building_id"]: (row["total"], row["completed"], row["failed"])
        for row in body["buildings"]
        if row["total"]
    } == buildings


def test_chart_puts_the_busiest_building_first(api: Callable) -> None:
    buildings = chart(api, "root", "2025-01-01", "2025-12-31")["buildings"]

    assert buildings[0] == {
        "building_id": 1,
        "name": "Harbor House",
        "total": 3,
        "completed": 1,
        "failed": 1,
    }
    assert buildings[1]["building_id"] == 4


def test_chart_names_twenty_buildings_at_most(world: Callable) -> None:
    rows = one_building()
    rows["buildings"] = [{"id": n, "name": f"B{n}", "client_id": 1} for n in range(1, 26)]
    rows["inspections"] = [
        {"id": n, "building_id": n % 25 + 1, "inspection_type": "x", "date_visited": "2025-06-01"}
        for n in range(1, 31)
    ]

    buildings = chart(world(rows), "root", "2025-01-01", "2025-12-31")["buildings"]

    assert len(buildings) == 20
    assert [row["total"] for row in buildings] == [2] * 5 + [1] * 15


@pytest.mark.parametrize(
    "query", ["", "start_date=&end_date=", "start_date=null&end_date=null"], ids=repr
)
def test_chart_without_dates_shows_the_last_twelve_months(api: Callable, query: str) -> None:
    body = api("root").get(f"/rpc/{CHART}?{query}").json

    start, end = (date.fromisoformat(body[name]) for name in ("start_date", "end_date"))
    assert end == today()
    assert timedelta(days=330) <= end - start <= timedelta(days=367)
    assert body["interval"] == "month"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_chart_that_ends_before_it_starts_is_refused(api: Callable, method: str) -> None:
    response = api("root").rpc(
        CHART, {"start_date": "2025-02-02", "end_date": "2025-02-01"}, method=method
    )

    assert (response.status, response.code) == (400, "22023")


@pytest.mark.parametrize("value", ["2025-02-30", "2025-13-01"])
def test_chart_refuses_a_date_that_does_not_exist(api: Callable, value: str) -> None:
    response = api("root").rpc(CHART, {"start_date": value, "end_date": "2026-01-01"})

    assert (response.status, response.code) == (400, "22008")


@pytest.mark.parametrize("value", ["junk", "20250101", "01/02/2025", 5, True, [], {}], ids=repr)
def test_chart_refuses_what_is_no_date(api: Callable, value: object) -> None:
    response = api("root").rpc(CHART, {"start_date": value, "end_date": "2026-01-01"})

    assert response.status == 400
    assert response.code in ("22007", "22P02")


# ── get_building_stats ───────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("who", ["root", "ada", "moe"])
def test_building_stats_count_the_building_whole(api: Callable, who: str) -> None:
    body = api(who).rpc(STATS, {"building_id": 1}).json

    assert set(body) == {
        "building_id",
        "name",
        "total_inspections",
        "by_status",
        "by_type",
        "last_inspection",
        "next_inspection",
        "overdue",
        "completion_rate",
        "failure_rate",
        "lead",
    }
    assert (body["building_id"], body["name"], body["total_inspections"]) == (1, "Harbor House", 3)
    assert {k: v for k, v in body["by_status"].items() if v} == {
        "completed": 1,
        "failed": 1,
        "scheduled": 1,
    }
    assert {k: v for k, v in body["by_type"].items() if v} == {"annual": 1, "lead": 1, "fire": 1}
    assert body["overdue"] == 1
    assert body["lead"] == {"readings": 2, "by_result": {"positive": 1, "negative": 1}}


def test_building_stats_count_readings_without_a_result(api: Callable) -> None:
    lead = api("max").rpc(STATS, {"building_id": 4}).json["lead"]

    assert lead["readings"] == 4 - 2
    assert lead["by_result"]["negative"] == 1


def test_building_stats_of_an_empty_building_are_zeros(api: Callable) -> None:
    body = api("ada").rpc(STATS, {"building_id": 6}).json

    assert (body["total_inspections"], body["overdue"]) == (0, 0)
    assert (body["last_inspection"], body["next_inspection"]) == (None, None)
    assert body["completion_rate"] in (0, None)
    assert body["failure_rate"] in (0, None)
    assert body["lead"] == {"readings": 0, "by_result": {}}


def test_building_stats_name_the_last_and_the_next_inspection(world: Callable) -> None:
    rows = one_building(("completed", day(-9)), ("completed", day(-3)), ("scheduled", day(4)))

    body = world(rows)("root").rpc(STATS, {"building_id": 1}).json

    assert (body["last_inspection"], body["next_inspection"]) == (day(-3), day(4))


def test_building_stats_rates_follow_completed_and_failed(world: Callable) -> None:
    done = world(one_building(("completed", day(-1))))("root").rpc(STATS, {"building_id": 1}).json
    failed = world(one_building(("failed", day(-1))))("root").rpc(STATS, {"building_id": 1}).json

    assert done["completion_rate"] == failed["failure_rate"] > 0
    assert (done["failure_rate"], failed["completion_rate"]) == (0, 0)


HIDDEN_FROM = [("moe", 2), ("moe", 4), ("ada", 4), ("bob", 1), ("bob", 2), ("mia", 1), ("max", 5)]


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(("who", "building"), HIDDEN_FROM)
def test_building_stats_tell_hidden_and_missing_alike(
    api: Callable, who: str, building: int, method: str
) -> None:
    hidden = api(who).rpc(STATS, {"building_id": building}, method=method)
    missing = api(who).rpc(STATS, {"building_id": 999}, method=method)

    assert (hidden.status, hidden.code) == (404, "PT404")
    assert hidden.whole == missing.whole


NOT_AN_ID = ["x", "", "1_000", "1.0", "１", 1.5, True, [], [1], {}, {"id": 1}]


@pytest.mark.parametrize("value", NOT_AN_ID, ids=repr)
@pytest.mark.parametrize("name", [STATS, CHECK_BUILDING, EXPLAIN_BUILDING])
def test_building_that_is_no_id_is_refused(api: Callable, name: str, value: object) -> None:
    parameter = "building_id" if name == STATS else "p_building_id"

    response = api("root").rpc(name, {**WELL_CALLED[name], parameter: value})

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.parametrize("value", [2**63, 10**30], ids=["2^63", "10^30"])
@pytest.mark.parametrize("name", [STATS, CHECK_BUILDING])
def test_building_beyond_64_bits_is_refused(api: Callable, name: str, value: int) -> None:
    parameter = "building_id" if name == STATS else "p_building_id"

    response = api("root").rpc(name, {**WELL_CALLED[name], parameter: value})

    assert (response.status, response.code) == (400, "22003")


# ── the two checks and the two explanations ──────────────────────────────────────────────────────────────


MAY_ASK = [
    ("moe", MOE),
    ("mia", MIA),
    ("max", MAX),
    ("ada", ADA),
    ("ada", MOE),
    ("ada", MIA),
    ("bob", BOB),
    ("bob", MAX),
    *(("root", user) for user in (ROOT, ADA, BOB, MOE, MIA, MAX)),
    *(("service", user) for user in (ROOT, ADA, BOB, MOE, MIA, MAX)),
]

MAY_NOT_ASK = [
    ("moe", MIA),
    ("moe", ADA),
    ("moe", ROOT),
    ("moe", MAX),
    ("max", MOE),
    ("ada", BOB),
    ("ada", MAX),
    ("ada", ROOT),
    ("bob", ADA),
    ("bob", MOE),
]


@pytest.mark.parametrize("name", ABOUT_SOMEBODY)
@pytest.mark.parametrize(("who", "about"), MAY_ASK)
def test_one_may_ask_about_oneself_and_ones_own(
    api: Callable, who: str, about: str, name: str
) -> None:
    response = api(who).rpc(name, {**WELL_CALLED[name], "p_user_id": about})

    assert response.status == 200


@pytest.mark.parametrize("name", ABOUT_SOMEBODY)
@pytest.mark.parametrize(("who", "about"), MAY_NOT_ASK)
def test_asking_about_others_is_refused_as_about_nobody(
    api: Callable, who: str, about: str, name: str
) -> None:
    about_them = api(who).rpc(name, {**WELL_CALLED[name], "p_user_id": about})
    about_no_one = api(who).rpc(name, {**WELL_CALLED[name], "p_user_id": NO_ONE})

    assert (about_them.status, about_them.code) == (403, "42501")
    assert about_them.whole == about_no_one.whole


@pytest.mark.parametrize("name", ABOUT_SOMEBODY)
def test_refusal_to_tell_about_others_does_not_look_at_the_row(api: Callable, name: str) -> None:
    row = "p_building_id" if "building" in name else "p_inspection_id"
    answers = [api("moe").rpc(name, {row: id_, "p_user_id": MIA}).whole for id_ in (1, 2, 4, 999)]

    assert answers == [answers[0]] * 4


@pytest.mark.parametrize("value", ["x", "", 5, None, True, [], {}, f"urn:uuid:{MOE}"], ids=repr)
@pytest.mark.parametrize("name", ABOUT_SOMEBODY)
def test_user_that_is_no_uuid_is_refused(api: Callable, name: str, value: object) -> None:
    response = api("root").rpc(name, {**WELL_CALLED[name], "p_user_id": value})

    assert (response.status, response.code) == (400, "22P02")


# who asks, about whom, building, answer
BUILDING_CHECKS = [
    ("ada", ADA, 1, True),
    ("ada", ADA, 5, True),
    ("ada", ADA, 4, False),
    ("ada", ADA, 999, False),
    ("ada", MOE, 1, True),
    ("ada", MOE, 2, False),
    ("ada", MIA, 1, False),
    ("moe", MOE, 1, True),
    ("moe", MOE, 2, False),
    ("bob", BOB, 4, True),
    ("bob", BOB, 1, False),
    ("bob", MAX, 4, True),
    ("bob", MAX, 5, False),
    ("root", ROOT, 1, True),
    ("root", ROOT, 999, False),
    ("root", MAX, 4, True),
    ("root", MAX, 1, False),
    ("service", MOE, 1, True),
]


@pytest.mark.parametrize(("who", "about", "building", "answer"), BUILDING_CHECKS)
def test_building_check(api: Callable, who: str, about: str, building: int, answer: bool) -> None:
    asked = {"p_building_id": building, "p_user_id": about}

    response = api(who).rpc(CHECK_BUILDING, asked)

    assert (response.status, response.text.strip()) == (200, json.dumps(answer))
    assert api(who).rpc(EXPLAIN_BUILDING, asked).json["allowed"] is answer


# who asks, about whom, inspection, answer
INSPECTION_CHECKS = [
    ("ada", ADA, 3, True),
    ("ada", ADA, 8, True),
    ("ada", ADA, 6, False),
    ("ada", MOE, 3, True),
    ("ada", MOE, 4, False),
    ("moe", MOE, 1, True),
    ("moe", MOE, 3, True),
    ("moe", MOE, 4, False),
    ("bob", BOB, 3, True),
    ("bob", BOB, 4, False),
    ("bob", MAX, 6, True),
    ("bob", MAX, 3, False),
    ("root", BOB, 3, True),
    ("root", MAX, 8, False),
    ("root", ROOT, 999, False),
]


@pytest.mark.parametrize(("who", "about", "inspection", "answer"), INSPECTION_CHECKS)
def test_inspection_check(
    api: Callable, who: str, about: str, inspection: int, answer: bool
) -> None:
    asked = {"p_inspection_id": inspection, "p_user_id": about}

    response = api(who).rpc(CHECK_INSPECTION, asked)

    assert (response.status, response.text.strip()) == (200, json.dumps(answer))
    assert api(who).rpc(EXPLAIN_INSPECTION, asked).json["allowed"] is answer


def test_row_hidden_from_the_caller_is_never_explained(api: Callable) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4})
    asked = {"p_building_id": 4, "p_user_id": MOE}

    assert api("root").rpc(CHECK_BUILDING, asked).json is True
    assert api("moe").rpc(CHECK_BUILDING, asked).json is True
    assert api("ada").rpc(CHECK_BUILDING, asked).json is False
    assert api("ada").rpc(EXPLAIN_BUILDING, asked).json == {"allowed": False, "reasons": []}


def test_inspections_of_a_building_hidden_from_the_caller_are_never_explained(
    api: Callable,
) -> None:
    api("root").post("/client_manager_building_access", {"manager_id": MOE, "building_id": 4})
    asked = {"p_inspection_id": 6, "p_user_id": MOE}

    assert api("root").rpc(CHECK_INSPECTION, asked).json is True
    assert api("ada").rpc(CHECK_INSPECTION, asked).json is False
    assert api("ada").rpc(EXPLAIN_INSPECTION, asked).json == {"allowed": False, "reasons": []}


# about whom, building: the rules that let them, each with its grantor and time where it is a grant
BUILDING_REASONS = [
    ("root", ROOT, 1, {("super_admin", None, None)}),
    (
        "ada",
        ADA,
        1,
        {
            ("client_ownership", None, None),
            ("building_grant", ROOT, "2025-02-10T00:00:00+00:00"),
        },
    ),
    ("ada", ADA, 2, {("client_ownership", None, None)}),
    ("ada", ADA, 5, {("building_grant", ROOT, "2025-02-11T00:00:00+00:00")}),
    ("moe", MOE, 1, {("building_grant", ADA, "2025-02-12T00:00:00+00:00")}),
    ("moe", MOE, 2, set()),
    ("max", MAX, 4, {("building_grant", BOB, "2025-02-12T00:00:00+00:00")}),
]


@pytest.mark.parametrize("method", ["POST", "GET"])
@pytest.mark.parametrize(("who", "about", "building", "reasons"), BUILDING_REASONS)
def test_building_is_explained(
    api: Callable, who: str, about: str, building: int, reasons: set, method: str
) -> None:
    body = (
        api(who)
        .rpc(EXPLAIN_BUILDING, {"p_building_id": building, "p_user_id": about}, method=method)
        .json
    )

    assert set(body) == {"allowed", "reasons"}
    assert body["allowed"] is bool(reasons)
    assert {(r["rule"], r["granted_by"], r["granted_at"]) for r in body["reasons"]} == reasons
    assert len(body["reasons"]) == len(reasons)


# about whom, inspection: the rules that let them
INSPECTION_REASONS = [
    ("root", ROOT, 1, {"super_admin"}),
    ("ada", ADA, 1, {"client_ownership", "through_building"}),
    ("ada", ADA, 3, {"client_ownership"}),
    ("ada", ADA, 8, {"through_building"}),
    ("ada", ADA, 6, set()),
    ("bob", BOB, 3, {"inspection_grant"}),
    ("moe", MOE, 1, {"through_building"}),
    ("moe", MOE, 3, {"inspection_grant"}),
    ("moe", MOE, 4, set()),
    ("max", MAX, 7, {"through_building"}),
]


@pytest.mark.parametrize(("who", "about", "inspection", "reasons"), INSPECTION_REASONS)
def test_inspection_is_explained(
    api: Callable, who: str, about: str, inspection: int, reasons: set
) -> None:
    body = (
        api(who).rpc(EXPLAIN_INSPECTION, {"p_inspection_id": inspection, "p_user_id": about}).json
    )

    assert body["allowed"] is bool(reasons)
    assert {reason["rule"] for reason in body["reasons"]} == reasons
    assert all(set(r) == {"rule", "granted_by", "granted_at"} for r in body["reasons"])


def test_inspection_grant_is_explained_with_grantor_and_time(api: Callable) -> None:
    body = api("moe").rpc(EXPLAIN_INSPECTION, {"p_inspection_id": 3, "p_user_id": MOE}).json

    assert body["reasons"] == [
        {"rule": "inspection_grant", "granted_by": ADA, "granted_at": "2025-02-13T00:00:00+00:00"}
    ]


def test_two_grants_are_two_reasons(api: Callable) -> None:
    api("root").post("/client_manager_inspection_access", {"manager_id": MOE, "inspection_id": 1})

    body = api("moe").rpc(EXPLAIN_INSPECTION, {"p_inspection_id": 1, "p_user_id": MOE}).json

    assert {reason["rule"] for reason in body["reasons"]} == {
        "inspection_grant",
        "through_building",
    }


# ── the three assignments ────────────────────────────────────────────────────────────────────────────────


def grants(api: Callable, table: str, grantee: str) -> list[dict]:
    column = "admin_id" if "admin" in table else "manager_id"
    return api("root").get(f"/{table}?{column}=eq.{grantee}").json


def to_manager(manager: str, buildings: object, inspections: object) -> dict:
    return {"manager_id": manager, "building_ids": buildings, "inspection_ids": inspections}


def test_buildings_are_assigned_to_a_client_admin(api: Callable) -> None:
    response = api("root").rpc(TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [1, 2, 4]})

    assert response.json == {"success": True, "assigned": 2, "already_assigned": 1}
    assert ids(api("ada").get("/buildings?select=id")) == {1, 2, 3, 4, 5, 6}


def test_inspections_are_assigned_to_a_client_admin(api: Callable) -> None:
    response = api("root").rpc(TO_ADMIN_INSPECTIONS, {"admin_id": BOB, "inspection_ids": [3, 9]})

    assert response.json == {"success": True, "assigned": 1, "already_assigned": 1}
    assert ids(api("bob").get("/inspections?select=id")) == {3, 6, 7, 8, 9}
    assert ids(api("bob").get("/buildings?select=id")) == {4, 5}


@pytest.mark.parametrize("who", ["root", "ada", "service"])
def test_buildings_and_inspections_are_assigned_to_a_manager(api: Callable, who: str) -> None:
    response = api(who).rpc(TO_MANAGER, to_manager(MOE, [1, 2], [3, 5]))

    assert response.json == {
        "success": True,
        "assigned_buildings": 1,
        "assigned_inspections": 1,
        "already_assigned": 2,
    }
    assert ids(api("moe").get("/buildings?select=id")) == {1, 2}
    assert ids(api("moe").get("/inspections?select=id")) == {1, 2, 3, 4, 5, 9}


def test_super_admin_assigns_to_a_manager_across_clients(api: Callable) -> None:
    response = api("root").rpc(TO_MANAGER, to_manager(MIA, [4], [8]))

    assert response.json["assigned_buildings"] == response.json["assigned_inspections"] == 1
    assert ids(api("mia").get("/inspections?select=id")) == {6, 7, 8}


@pytest.mark.parametrize(("who", "grantor"), [("root", ROOT), ("ada", ADA), ("service", None)])
def test_assignment_is_signed_by_its_caller(api: Callable, who: str, grantor: str | None) -> None:
    start = datetime.now(UTC)

    api(who).rpc(TO_MANAGER, to_manager(MIA, [2], [5]))

    for table in ("client_manager_building_access", "client_manager_inspection_access"):
        [grant] = grants(api, table, MIA)
        assert grant["assigned_by"] == grantor
        assert abs(datetime.fromisoformat(grant["assigned_at"]) - start) < timedelta(seconds=60)


def test_repeat_changes_nothing_and_keeps_grantor_and_time(api: Callable) -> None:
    before = dump(api)

    response = api("root").rpc(TO_MANAGER, to_manager(MOE, [1], [3]))

    assert response.json == {
        "success": True,
        "assigned_buildings": 0,
        "assigned_inspections": 0,
        "already_assigned": 2,
    }
    assert dump(api) == before
    [grant] = grants(api, "client_manager_building_access", MOE)
    assert (grant["assigned_by"], grant["assigned_at"]) == (ADA, "2025-02-12T00:00:00+00:00")


def test_repeat_to_an_admin_keeps_grantor_and_time(api: Callable) -> None:
    api("service").rpc(TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [1, 4]})
    first = grants(api, "client_admin_building_access", ADA)

    response = api("root").rpc(TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [4, 1]})

    assert response.json == {"success": True, "assigned": 0, "already_assigned": 2}
    assert grants(api, "client_admin_building_access", ADA) == first


def test_id_may_repeat_in_the_array(api: Callable) -> None:
    response = api("root").rpc(TO_ADMIN_BUILDINGS, {"admin_id": BOB, "building_ids": [1, 1, 1]})

    assert response.json == {"success": True, "assigned": 1, "already_assigned": 0}
    assert len(grants(api, "client_admin_building_access", BOB)) == 1


def test_empty_arrays_assign_nothing(api: Callable) -> None:
    before = dump(api)

    to_admin = api("root").rpc(TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": []})
    of_ada = api("ada").rpc(TO_MANAGER, to_manager(MIA, [], []))

    assert to_admin.json == {"success": True, "assigned": 0, "already_assigned": 0}
    assert of_ada.json == {
        "success": True,
        "assigned_buildings": 0,
        "assigned_inspections": 0,
        "already_assigned": 0,
    }
    assert dump(api) == before


# id, who, function, arguments
WITHOUT_THE_RIGHT = [
    ("ada-buildings-to-admin", "ada", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [2]}),
    (
        "ada-inspections-to-admin",
        "ada",
        TO_ADMIN_INSPECTIONS,
        {"admin_id": ADA, "inspection_ids": [2]},
    ),
    ("moe-buildings-to-admin", "moe", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [1]}),
    (
        "moe-inspections-to-admin",
        "moe",
        TO_ADMIN_INSPECTIONS,
        {"admin_id": ADA, "inspection_ids": [1]},
    ),
    ("moe-to-himself", "moe", TO_MANAGER, to_manager(MOE, [1], [])),
    ("max-to-moe", "max", TO_MANAGER, to_manager(MOE, [4], [])),
    ("moe-nothing", "moe", TO_MANAGER, to_manager(MOE, [], [])),
    ("ada-nothing-to-admin", "ada", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": []}),
]


@pytest.mark.parametrize(
    ("who", "name", "arguments"),
    [line[1:] for line in WITHOUT_THE_RIGHT],
    ids=[line[0] for line in WITHOUT_THE_RIGHT],
)
def test_assigning_without_the_right_is_refused(
    steady: Callable, who: str, name: str, arguments: dict
) -> None:
    before = dump(steady)

    response = steady(who).rpc(name, arguments)

    assert (response.status, response.code) == (403, "42501")
    assert dump(steady) == before


# id, who, function, arguments: all or nothing, and no id in the answer
OUT_OF_REACH = [
    ("missing-building", "root", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [2, 987]}),
    (
        "missing-inspection",
        "root",
        TO_ADMIN_INSPECTIONS,
        {"admin_id": ADA, "inspection_ids": [1, 987]},
    ),
    ("missing-to-manager", "root", TO_MANAGER, to_manager(MIA, [2, 987], [5])),
    ("missing-inspection-to-manager", "root", TO_MANAGER, to_manager(MIA, [2], [5, 987])),
    ("ada-other-clients-building", "ada", TO_MANAGER, to_manager(MIA, [2, 4], [])),
    ("ada-readable-building", "ada", TO_MANAGER, to_manager(MIA, [2, 5], [])),
    ("ada-missing-building", "ada", TO_MANAGER, to_manager(MIA, [2, 987], [])),
    ("ada-other-clients-inspection", "ada", TO_MANAGER, to_manager(MIA, [2], [6])),
    ("ada-readable-inspection", "ada", TO_MANAGER, to_manager(MIA, [2], [8])),
    ("bob-granted-inspection", "bob", TO_MANAGER, to_manager(MAX, [5], [3])),
    ("negative", "root", TO_ADMIN_BUILDINGS, {"admin_id": ADA, "building_ids": [-1]}),
]


@pytest.mark.parametrize(
    ("who", "name", "arguments"),
    [line[1:] for line in OUT_OF_REACH],
    ids=[line[0] for line in OUT_OF_REACH],
)
def test_one_id_out_of_reach_assigns_nothing(
    steady: Callable, who: str, name: str, arguments: dict
) -> None:
    before = dump(steady)

    response = steady(who).rpc(name, arguments)

    assert (response.status, response.code) == (403, "42501")
    assert "987" not in response.text
    assert dump(steady) == before


def test_hidden_and_missing_ids_are_refused_alike(steady: Callable) -> None:
    answers = [
        steady("ada").rpc(TO_MANAGER, to_manager(MIA, buildings, inspections)).whole
        for buildings, inspections in (([4], []), ([5], []), ([999], []), ([1, 999], []))
    ]

    assert answers == [answers[0]] * 4


# id, who, function, arguments without the grantee, the grantees that are none
NO_GRANTEE = [
    (
        "root-admin-buildings",
        "root",
        TO_ADMIN_BUILDINGS,
        "admin_id",
        {"building_ids": [1]},
        (MOE, ROOT, NO_ONE),
    ),
    (
        "root-admin-inspections",
        "root",
        TO_ADMIN_INSPECTIONS,
        "admin_id",
        {"inspection_ids": [1]},
        (MAX, ROOT, NO_ONE),
    ),
    (
        "root-manager",
        "root",
        TO_MANAGER,
        "manager_id",
        {"building_ids": [1], "inspection_ids": []},
        (ADA, ROOT, NO_ONE),
    ),
    (
        "ada-manager",
        "ada",
        TO_MANAGER,
        "manager_id",
        {"building_ids": [1], "inspection_ids": []},
        (ADA, BOB, MAX, ROOT, NO_ONE),
    ),
    (
        "ada-manager-nothing",
        "ada",
        TO_MANAGER,
        "manager_id",
        {"building_ids": [], "inspection_ids": []},
        (ADA, BOB, MAX, ROOT, NO_ONE),
    ),
]


@pytest.mark.parametrize(
    ("who", "name", "parameter", "arguments", "grantees"),
    [line[1:] for line in NO_GRANTEE],
    ids=[line[0] for line in NO_GRANTEE],
)
def test_grantees_that_are_none_are_refused_in_one_text(
    steady: Callable, who: str, name: str, parameter: str, arguments: dict, grantees: tuple
) -> None:
    before = dump(steady)

    answers = [steady(who).rpc(name, {parameter: grantee, **arguments}) for grantee in grantees]

    assert [(answer.status, answer.code) for answer in answers] == [(400, "23514")] * len(grantees)
    assert {answer.text for answer in answers} == {answers[0].text}
    assert dump(steady) == before


NOT_IDS = [None, {}, "x", "1", 5, True, [1.5], ["x"], [None], [True], [[1]], [{}]]


@pytest.mark.parametrize("value", NOT_IDS, ids=repr)
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (TO_ADMIN_BUILDINGS, "building_ids"),
        (TO_ADMIN_INSPECTIONS, "inspection_ids"),
        (TO_MANAGER, "building_ids"),
        (TO_MANAGER, "inspection_ids"),
    ],
)
def test_array_that_holds_no_ids_is_refused(
    steady: Callable, name: str, parameter: str, value: object
) -> None:
    response = steady("root").rpc(name, {**WELL_CALLED[name], parameter: value})

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.parametrize("value", [None, 5, "x", "", {}, [], f"urn:uuid:{ADA}"], ids=repr)
@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (TO_ADMIN_BUILDINGS, "admin_id"),
        (TO_ADMIN_INSPECTIONS, "admin_id"),
        (TO_MANAGER, "manager_id"),
    ],
)
def test_grantee_that_is_no_uuid_is_refused(
    steady: Callable, name: str, parameter: str, value: object
) -> None:
    response = steady("root").rpc(name, {**WELL_CALLED[name], parameter: value})

    assert (response.status, response.code) == (400, "22P02")


@pytest.mark.parametrize(
    ("name", "parameter"),
    [
        (TO_ADMIN_BUILDINGS, "building_ids"),
        (TO_ADMIN_INSPECTIONS, "inspection_ids"),
        (TO_MANAGER, "building_ids"),
        (TO_MANAGER, "inspection_ids"),
    ],
)
def test_a_thousand_ids_are_taken_and_one_more_is_not(
    api: Callable, name: str, parameter: str
) -> None:
    at_the_bound = api("root").rpc(name, {**WELL_CALLED[name], parameter: [2] * 1000})
    before = dump(api)

    beyond = api("root").rpc(name, {**WELL_CALLED[name], parameter: [3] * 1001})

    assert at_the_bound.status == 200
    assert beyond.status == 400
    assert "1000" in beyond.message.replace(",", "")
    assert dump(api) == before

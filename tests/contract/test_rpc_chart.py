"""get_building_stats_chart_fast: series without gaps, intervals, and the busiest buildings."""

from collections.abc import Callable
from datetime import date, timedelta

import pytest

from tests.support.functions import CHART, one_building, today


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


def test_chart_point_lists_statuses(api: Callable) -> None:
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
    assert [point["period"][:7] for point in body["series"]] == [f"2025-{month:02}" for month in range(1, 13)]
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
def test_chart_interval_depends_on_span(api: Callable, start: str, end: str, interval: str) -> None:
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
def test_chart_counts_visible_inspections(api: Callable, who: str) -> None:
    total, buildings = CHARTS[who]

    body = chart(api, who, "2025-01-01", "2025-12-31")

    assert set(body) == {"start_date", "end_date", "interval", "series", "buildings"}
    assert sum(point["total"] for point in body["series"]) == total
    assert {
        row["building_id"]: (row["total"], row["completed"], row["failed"]) for row in body["buildings"] if row["total"]
    } == buildings


def test_chart_orders_buildings_by_count(api: Callable) -> None:
    buildings = chart(api, "root", "2025-01-01", "2025-12-31")["buildings"]

    assert buildings[0] == {"building_id": 1, "name": "Harbor House", "total": 3, "completed": 1, "failed": 1}
    assert buildings[1]["building_id"] == 4


def test_chart_lists_at_most_20_buildings(world: Callable) -> None:
    rows = one_building()
    rows["buildings"] = [{"id": n, "name": f"B{n}", "client_id": 1} for n in range(1, 26)]
    rows["inspections"] = [
        {"id": n, "building_id": n % 25 + 1, "inspection_type": "x", "date_visited": "2025-06-01"} for n in range(1, 31)
    ]

    buildings = chart(world(rows), "root", "2025-01-01", "2025-12-31")["buildings"]

    assert len(buildings) == 20
    assert [row["total"] for row in buildings] == [2] * 5 + [1] * 15


@pytest.mark.parametrize("query", ["", "start_date=&end_date=", "start_date=null&end_date=null"], ids=repr)
def test_chart_without_dates_shows_the_last_twelve_months(api: Callable, query: str) -> None:
    body = api("root").get(f"/rpc/{CHART}?{query}").json

    start, end = (date.fromisoformat(body[name]) for name in ("start_date", "end_date"))
    assert end == today()
    assert timedelta(days=330) <= end - start <= timedelta(days=367)
    assert body["interval"] == "month"


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_chart_with_inverted_dates_is_refused(api: Callable, method: str) -> None:
    response = api("root").rpc(CHART, {"start_date": "2025-02-02", "end_date": "2025-02-01"}, method=method)

    assert (response.status, response.code) == (400, "22023")


@pytest.mark.parametrize("value", ["2025-02-30", "2025-13-01"])
def test_chart_refuses_a_date_that_does_not_exist(api: Callable, value: str) -> None:
    response = api("root").rpc(CHART, {"start_date": value, "end_date": "2026-01-01"})

    assert (response.status, response.code) == (400, "22008")


@pytest.mark.parametrize("value", ["junk", "250101", "01/02/2025", 5, True, [], {}], ids=repr)
def test_chart_refuses_invalid_dates(api: Callable, value: object) -> None:
    response = api("root").rpc(CHART, {"start_date": value, "end_date": "2026-01-01"})

    assert response.status == 400
    assert response.code in ("22007", "22P02")

"""TIMEZONE decides which day is today, in functions and in the console."""

import datetime
from collections.abc import Callable

import pytest

from engine.interface.clock import day_of
from engine.open import local_day
from tests.support.functions import CHART, DASHBOARD, STATS, one_building
from tests.support.set_clock import SetClock

EVENING = "2026-11-21T01:20:00+00:00"  # of 2026-11-20 in New York
MIDNIGHT = "2026-11-21T05:00:00+00:00"


@pytest.fixture
def at(world: Callable) -> Callable:
    """`at(moment, zone, *inspections)` returns an `api` and its clock."""

    def make(moment: str, zone: str, *inspections: tuple[str, str]) -> tuple[Callable, SetClock]:
        api = world(one_building(*inspections), TIMEZONE=zone)
        clock = SetClock(moment)
        api("root").database.own.extensions["walkthrough"].clock = clock
        return api, clock

    return make


def test_inspection_becomes_overdue_at_local_midnight(at: Callable) -> None:
    api, clock = at(EVENING, "America/New_York", ("scheduled", "2026-11-20"))
    seen: list[tuple] = []
    for moment in (EVENING, MIDNIGHT):
        clock.set(moment)
        summary, stats = api("root").rpc(DASHBOARD).json, api("root").rpc(STATS, {"building_id": 1}).json
        seen.append((summary["today"], summary["overdue"], summary["upcoming"], summary["next_inspection"]))
        assert (stats["overdue"], stats["next_inspection"]) == seen[-1][1::2]
        assert (summary["timezone"], summary["generated_at"]) == ("America/New_York", moment)

    assert seen == [("2026-11-20", 0, 1, "2026-11-20"), ("2026-11-21", 1, 0, None)]


def test_chart_ends_on_the_local_day(at: Callable) -> None:
    api, clock = at("2026-12-01T04:59:59+00:00", "America/New_York", ("completed", "2026-11-30"))
    ends = [api("root").rpc(CHART).json["end_date"]]
    clock.set("2026-12-01T05:00:00+00:00")
    ends.append(api("root").rpc(CHART).json["end_date"])

    assert ends == ["2026-11-30", "2026-12-01"]


def test_month_is_the_local_one(at: Callable) -> None:
    api, clock = at("2026-10-31T10:59:59+00:00", "Pacific/Auckland", ("completed", "2026-11-01"))
    counts = [api("root").rpc(DASHBOARD).json["completed_this_month"]]
    clock.set("2026-10-31T11:00:00+00:00")
    counts.append(api("root").rpc(DASHBOARD).json["completed_this_month"])

    assert counts == [0, 1]


def test_changes_are_counted_on_the_local_day(at: Callable) -> None:
    api, _ = at(EVENING, "America/New_York", *[("scheduled", "2026-11-20")] * 60)
    assert api("root").rpc(DASHBOARD).json["upcoming"] == 60

    assert api("root").patch("/inspections?id=eq.1", {"date_visited": "2026-11-19"}).status == 204

    summary = api("root").rpc(DASHBOARD).json
    assert (summary["overdue"], summary["upcoming"]) == (1, 59)


@pytest.mark.parametrize(
    ("moment", "day"),
    [
        ("2026-03-08T04:59:59+00:00", "2026-03-07"),  # the day before the clocks go forward
        ("2026-03-08T05:00:00+00:00", "2026-03-08"),
        ("2026-03-09T03:59:59+00:00", "2026-03-08"),  # the day has 23 hours
        ("2026-03-09T04:00:00+00:00", "2026-03-09"),
        ("2026-11-01T04:00:00+00:00", "2026-11-01"),
        ("2026-11-02T04:59:59+00:00", "2026-11-01"),  # the day has 25 hours
        ("2026-11-02T05:00:00+00:00", "2026-11-02"),
    ],
)
def test_days_of_clock_changes_have_their_length(at: Callable, moment: str, day: str) -> None:
    api, _ = at(moment, "America/New_York")

    assert api("root").rpc(DASHBOARD).json["today"] == day


def test_local_day_is_that_of_the_setting(at: Callable) -> None:
    api, clock = at(EVENING, "America/New_York")
    app = api("root").database.own

    with app.app_context():
        assert local_day(clock()).isoformat() == "2026-11-20"
    assert day_of(clock(), datetime.UTC).isoformat() == "2026-11-21"

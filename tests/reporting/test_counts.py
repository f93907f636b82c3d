"""Counts of the dashboard, of one building and of the chart: definitions, limits and query plans."""

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from access.caller import Caller
from access.roles import GRANT_PROFILES, Role
from engine.open import reading
from engine.query.dialect.base import json_array
from engine.query.statement import Binding, Statement
from inspections.faults import NoSuchBuilding
from inspections.reporting import chart, counts, dashboard
from inspections.reporting.chart import Interval, InvalidPeriod
from tests.conftest import ADA, MOE, ROOT
from tests.support import databases
from tests.support.applications import open_app

EVERYTHING = Caller(None, None, GRANT_PROFILES[Role.SUPER_ADMIN, False, False])
OWN = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, False, False])
"""The rows of a client admin without grants."""
ADAS = Caller(ADA, 1, GRANT_PROFILES[Role.CLIENT_ADMIN, True, False])
MOES = Caller(MOE, 1, GRANT_PROFILES[Role.CLIENT_MANAGER, True, True])
DAYS = counts.calendar_days(datetime.date(2025, 6, 1))


@pytest.fixture
def snapshot(pristine: object) -> Iterator[object]:
    """A read transaction on the data set."""
    with pristine.app_context(), reading() as transaction:
        yield transaction


@pytest.fixture
def inspected(world: Callable) -> Callable:
    """`inspected((status, type, date), …)` returns an application with one building and these inspections."""

    def make(*inspections: tuple[str | None, str, str | None]) -> object:
        rows = {
            "clients": [{"id": 1, "name": "C"}],
            "users": [{"id": ROOT, "email": "r@example.org", "name": "R", "role": "super_admin", "client_id": None}],
            "buildings": [{"id": 1, "name": "B", "client_id": 1}],
            "inspections": [
                {"id": n, "building_id": 1, "status": status, "inspection_type": kind, "date_visited": day}
                for n, (status, kind, day) in enumerate(inspections, 1)
            ],
        }
        return world(rows)("root").database.app_for("GET", "/")

    return make


def today() -> datetime.date:
    return datetime.datetime.now(datetime.UTC).date()


def day(offset: int) -> str:
    return (today() + datetime.timedelta(days=offset)).isoformat()


def dashboard_of(app: object) -> dashboard.Dashboard:
    with app.app_context(), reading() as transaction:
        return dashboard.read_dashboard(transaction, EVERYTHING)


def building_of(app: object) -> chart.BuildingStats:
    with app.app_context(), reading() as transaction:
        return chart.read_building_stats(transaction, EVERYTHING, 1)


# ── labels ───────────────────────────────────────────────────────────────────────────────────────────────


def test_common_labels_come_first_then_the_others_by_name(inspected: Callable) -> None:
    app = inspected(("passed", "roof", None), ("booked", "annual", None), (None, "boiler", None))

    found = dashboard_of(app)

    assert list(found.by_status) == [
        "scheduled", "in_progress", "completed", "failed", "cancelled", "booked", "none", "passed",
    ]  # fmt: skip
    assert list(found.by_type) == [
        "annual", "fire", "lead", "structural", "emergency", "boiler", "roof",
    ]  # fmt: skip


def test_missing_status_counts_under_the_label_none(inspected: Callable) -> None:
    found = dashboard_of(inspected((None, "annual", None), ("none", "annual", None)))

    assert found.by_status["none"] == found.total_inspections == 2


def test_labels_with_equal_prefixes_count_as_one(inspected: Callable) -> None:
    long = "x" * counts.LABEL_CHARACTERS_MAX

    found = dashboard_of(inspected((long + "a", "annual", None), (long + "b", "annual", None)))

    assert found.by_status[long] == 2


def test_labels_are_compared_by_200_characters(inspected: Callable) -> None:
    long = "x" * 199
    apart = [(long + last, long + last, None) for last in ("a", "b", "bc")]

    found = dashboard_of(inspected(*apart))

    told = {long + "a": 1, long + "b": 2}
    assert {label: found.by_status[label] for label in told} == told
    assert {label: found.by_type[label] for label in told} == told


@pytest.mark.parametrize("more", [0, 1])
def test_at_most_1000_pairs_have_their_own_count(inspected: Callable, more: int) -> None:
    """Each inspection has its own type."""
    pairs = [(f"status {number}", "annual", None) for number in range(1_000 + more)]

    found = dashboard_of(inspected(*pairs))

    assert found.total_inspections == len(pairs)
    assert found.by_status.get("other", 0) == more


def test_uncommon_types_take_a_second_query_only_if_present(
    inspected: Callable, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []
    read = counts.plan_other_types.all

    def watched(transaction: object, caller: Caller, of_building: bool, **values: object) -> list:
        asked.append(of_building)
        return read(transaction, caller, of_building, **values)

    monkeypatch.setattr(counts.plan_other_types, "all", watched)

    usual = dashboard_of(inspected(("failed", "fire", None), ("failed", "lead", None)))
    assert not asked
    mixed = dashboard_of(inspected((None, "roof", None), ("failed", "roof", None)))

    assert asked == [False]
    assert (usual.by_type["fire"], usual.by_type["lead"], usual.by_status["failed"]) == (1, 1, 2)
    assert sum(mixed.by_type.values()) == sum(mixed.by_status.values()) == mixed.total_inspections
    assert (mixed.by_type["roof"], mixed.by_status["none"]) == (2, 1)


def test_pairs_beyond_the_limit_count_as_other(inspected: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "LABELS_MAX", 2)
    app = inspected(
        ("a", "annual", None),
        ("a", "annual", None),
        ("b", "annual", None),
        ("scheduled", "roof", day(-1)),
        ("scheduled", "roof", day(1)),
        ("scheduled", "well", day(-1)),
    )
    counts.plan_status_counts.cache_clear()

    try:
        found = dashboard_of(app)
    finally:
        counts.plan_status_counts.cache_clear()

    assert found.total_inspections == sum(found.by_status.values()) == sum(found.by_type.values()) == 6
    assert found.by_status["other"] == found.by_type["other"] == 2
    assert (found.overdue, found.upcoming) == (2, 1)


# ── days ─────────────────────────────────────────────────────────────────────────────────────────────────

# status, days from today: whether it is the last, the next inspection
LAST_AND_NEXT = [
    ("completed", -1, True, False),
    ("completed", 0, True, False),
    ("completed", 1, False, False),
    ("failed", -1, True, False),
    ("in_progress", -1, False, False),
    ("cancelled", -1, False, False),
    ("passed", -1, False, False),
    (None, -1, False, False),
    ("scheduled", -1, False, False),
    ("scheduled", 0, False, True),
    ("scheduled", 400, False, True),
    ("in_progress", 1, False, False),
    ("cancelled", 1, False, False),
]


@pytest.mark.parametrize(("status", "offset", "is_last", "is_next"), LAST_AND_NEXT)
def test_last_and_next_inspection_by_status_and_day(
    inspected: Callable, status: str | None, offset: int, is_last: bool, is_next: bool
) -> None:
    found = dashboard_of(inspected((status, "annual", day(offset))))

    assert found.last_inspection == (day(offset) if is_last else None)
    assert found.next_inspection == (day(offset) if is_next else None)


def test_calendar_days_of_december_end_on_the_31st() -> None:
    days = counts.calendar_days(datetime.date(2025, 12, 31))

    assert (days["month_start"], days["month_end"]) == ("2025-12-01", "2025-12-31")
    assert days["soon"] == "2026-01-30"


def test_dashboard_without_inspections_has_zeros_and_no_dates(inspected: Callable) -> None:
    found = dashboard_of(inspected())

    assert (found.total_inspections, found.total_buildings) == (0, 1)
    assert set(found.by_status.values()) == set(found.by_type.values()) == {0}
    assert (found.overdue, found.upcoming, found.completed_this_month) == (0, 0, 0)
    assert (found.last_inspection, found.next_inspection) == (None, None)


# ── one building ─────────────────────────────────────────────────────────────────────────────────────────


def test_rates_are_shares_of_all_inspections(inspected: Callable) -> None:
    found = building_of(
        inspected(("completed", "annual", None), ("failed", "annual", None), ("cancelled", "annual", None))
    )

    assert (found.completion_rate, found.failure_rate) == (0.3333, 0.3333)


def test_rates_without_inspections_are_zero(inspected: Callable) -> None:
    found = building_of(inspected())

    assert (found.completion_rate, found.failure_rate) == (0, 0)


@pytest.mark.parametrize("building_id", [2, 4, 999, -1])
def test_hidden_building_raises_no_such_building(snapshot: object, building_id: int) -> None:
    with pytest.raises(NoSuchBuilding) as refusal:
        chart.read_building_stats(snapshot, MOES, building_id)

    assert str(building_id) not in refusal.value.message


def test_readings_without_a_result_are_counted(snapshot: object) -> None:
    found = chart.read_building_stats(snapshot, EVERYTHING, 4)

    assert found.lead == chart.LeadReadings(2, {"negative": 1, "none": 1})


# ── the chart ────────────────────────────────────────────────────────────────────────────────────────────

SPANS = [
    ("2025-01-01", "2025-01-01", Interval.DAY, 1),
    ("2025-01-01", "2025-01-31", Interval.DAY, 31),
    ("2025-01-01", "2025-02-01", Interval.WEEK, 5),
    ("2025-01-06", "2025-07-06", Interval.WEEK, 26),
    ("2025-01-06", "2025-07-07", Interval.MONTH, 7),
    ("2025-01-31", "2025-12-01", Interval.MONTH, 12),
    ("0001-01-01", "0001-01-03", Interval.DAY, 3),
    ("0001-01-02", "0001-03-03", Interval.WEEK, 9),
    ("9999-11-20", "9999-12-31", Interval.WEEK, 7),
    ("9900-01-01", "9999-12-31", Interval.MONTH, 1200),
]


@pytest.mark.parametrize(("start", "end", "interval", "points"), SPANS)
def test_series_has_a_point_for_every_period(
    snapshot: object, start: str, end: str, interval: Interval, points: int
) -> None:
    found = chart.read_chart(snapshot, EVERYTHING, start, end)

    assert (found.interval, len(found.series)) == (interval, points)
    assert [point.period for point in found.series] == sorted({point.period for point in found.series})


def test_weeks_start_on_monday_even_before_the_chart(snapshot: object) -> None:
    found = chart.read_chart(snapshot, EVERYTHING, "2025-04-09", "2025-05-20")

    assert found.start_date == "2025-04-09"
    assert found.series[0].period == "2025-04-07"
    assert all(datetime.date.fromisoformat(point.period).weekday() == 0 for point in found.series)


def test_dates_outside_a_chart_do_not_count_in_its_first_week(snapshot: object) -> None:
    found = chart.read_chart(snapshot, EVERYTHING, "2025-04-11", "2025-05-20")

    assert (found.series[0].period, found.series[0].total) == ("2025-04-07", 1)


@pytest.mark.parametrize(
    ("start", "end"), [("2025-02-02", "2025-02-01"), ("1799-12-31", "1999-12-31"), ("0001-01-01", "9999-12-31")]
)
def test_invalid_periods_raise_invalid_period(snapshot: object, start: str, end: str) -> None:
    with pytest.raises(InvalidPeriod):
        chart.read_chart(snapshot, EVERYTHING, start, end)


def test_a_chart_has_at_most_2400_points(snapshot: object) -> None:
    found = chart.read_chart(snapshot, EVERYTHING, "1800-01-01", "1999-12-31")

    assert len(found.series) == chart.POINTS_MAX == 2400


@pytest.mark.parametrize(
    ("end", "start"), [("2025-12-31", "2025-01-01"), ("2025-01-01", "2024-02-01"), ("0001-03-05", "0001-01-01")]
)
def test_default_start_is_eleven_months_before_the_end(snapshot: object, end: str, start: str) -> None:
    assert chart.read_chart(snapshot, EVERYTHING, None, end).start_date == start


def test_too_many_statuses_raise_too_many_labels(inspected: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chart, "POINT_LABELS_MAX", 1)
    app = inspected(("a", "annual", "2025-01-01"), ("b", "annual", "2025-01-01"))

    with app.app_context(), reading() as transaction, pytest.raises(chart.TooManyLabels):
        chart.read_chart(transaction, EVERYTHING, "2025-01-01", "2025-01-01")


def test_series_counts_inspections_of_hidden_buildings_that_are_not_listed(snapshot: object) -> None:
    found = chart.read_chart(snapshot, MOES, "2025-01-01", "2025-12-31")

    assert sum(point.total for point in found.series) == 4
    assert [row.building_id for row in found.buildings] == [1]


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def supposed_large(base_file: Path, tmp_path: Path) -> Iterator[object]:
    """A read transaction on a copy, with planner statistics of a large database."""
    file = tmp_path / "walkthrough.db"
    databases.copy(base_file, file)
    with open_app(file).app_context(), reading() as transaction:
        yield transaction


def bound_values(visible: Caller, *keys: int, **values: object) -> Binding:
    return Binding(parameters=visible.parameters | values, keys=json_array(keys))


def steps_of(transaction: object, plan: Statement, bound: Binding) -> list[str]:
    """Return the steps of SQLite's query plan."""
    return [row[3] for row in transaction.all(f"EXPLAIN QUERY PLAN {plan.sql}", plan.bind(bound))]


@pytest.mark.sqlite("reads SQLite's plans")
@pytest.mark.parametrize("visible", [ADAS, MOES], ids=["ada", "moe"])
def test_plans_do_not_scan_hidden_rows(supposed_large: object, visible: Caller) -> None:
    plans = [
        counts.plan_status_counts.statement("sqlite", visible.rule, False),
        counts.plan_status_counts.statement("sqlite", visible.rule, True),
        chart.plan_points.statement("sqlite", visible.rule, 7),
        chart.plan_busiest.statement("sqlite", visible.rule),
        chart.plan_outcomes.statement("sqlite", visible.rule),
        chart.plan_readings.statement("sqlite", visible.rule),
    ]
    bound = bound_values(visible, building_id=1, start_date="2025-01-01", end_date="2025-12-31", **DAYS)

    for plan in plans:
        steps = steps_of(supposed_large, plan, bound)
        walked = [step for step in steps if step.startswith("SCAN t")]
        assert not walked, steps


@pytest.mark.sqlite("reads SQLite's plans")
@pytest.mark.parametrize("visible", [EVERYTHING, OWN], ids=["root", "own"])
def test_status_counts_scan_one_index_and_sort_statuses_only(supposed_large: object, visible: Caller) -> None:
    """No index has the order of types, and no row is sorted (decision 0010)."""
    plan = counts.plan_status_counts.statement("sqlite", visible.rule, False)

    steps = steps_of(supposed_large, plan, bound_values(visible, **DAYS))

    assert any("USING COVERING INDEX inspections_client_status" in step for step in steps), steps
    assert steps.count("USE TEMP B-TREE FOR GROUP BY") == 1, steps


@pytest.mark.sqlite("reads SQLite's plans")
def test_counts_of_a_building_search_by_building(supposed_large: object) -> None:
    plan = counts.plan_status_counts.statement("sqlite", ADAS.rule, True)

    steps = steps_of(supposed_large, plan, bound_values(ADAS, building_id=1, **DAYS))

    sought = "inspections_client_building (client_id=? AND building_id=?)"
    assert any(sought in step for step in steps), steps


@pytest.mark.sqlite("reads SQLite's plans")
@pytest.mark.parametrize("visible", [EVERYTHING, ADAS, MOES], ids=["root", "ada", "moe"])
def test_outcomes_use_covering_indexes(supposed_large: object, visible: Caller) -> None:
    plan = chart.plan_outcomes.statement("sqlite", visible.rule)
    bound = bound_values(visible, 1, 2, start_date="2025-01-01", end_date="2025-12-31")

    searched = [step for step in steps_of(supposed_large, plan, bound) if step.startswith("SEARCH t")]

    assert len(searched) == 3
    assert all("USING COVERING INDEX inspections_client_building" in step for step in searched), searched

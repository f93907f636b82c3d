"""The demo portfolio is reproducible and consistent."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter, defaultdict
from datetime import date, datetime, timedelta
from itertools import product
from pathlib import Path

import pytest

from demo.portfolio import SEED, compose, with_passwords
from engine.query.catalog import catalog
from inspections.recurrence import Recurrence
from models.finding_move import EVENT_KINDS, FINDING_STATUSES
from models.vocabulary import COUNTED_FROM, NOTIFIED, OUTCOMES, SEVERITIES

pytestmark = pytest.mark.one_engine

TODAY = date(2026, 11, 20)
PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module", params=[1, 1977])
def portfolio(request):
    return compose(TODAY, request.param)


def test_the_same_seed_and_day_give_the_same_portfolio():
    assert compose(TODAY, 5) == compose(TODAY, 5)
    assert compose(TODAY, 5) != compose(TODAY, 6)


def test_portfolio_has_the_documented_numbers_of_rows(portfolio):
    sizes = {table: len(rows) for table, rows in portfolio.items()}

    assert list(sizes) == [
        "clients",
        "users",
        "inspectors",
        "buildings",
        "building_details",
        "inspections",
        "reports_lead",
        "calibration_checks",
        "xrf_instruments",
        "schedules",
        "inspection_plans",
        "findings",
        "finding_events",
        "client_admin_building_access",
        "client_manager_building_access",
        "client_admin_inspection_access",
        "client_manager_inspection_access",
    ]
    assert (sizes["clients"], sizes["buildings"], sizes["inspections"]) == (3, 40, 2000)
    assert all(sizes.values())
    people = Counter((user["role"], user["client_id"]) for user in portfolio["users"])
    assert people["super_admin", None] == 1
    for client_id in (1, 2, 3):
        assert people["client_admin", client_id] == 1
        assert people["client_manager", client_id] in (2, 3, 4)


def test_rows_have_the_columns_of_their_table_in_the_form_of_the_api(portfolio):
    moment = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00")

    for table, rows in portfolio.items():
        assert {frozenset(row) for row in rows} == {frozenset(catalog().relations[table].attributes)}
        for row in rows:
            for column in row:
                if column.endswith("_at") and row[column] is not None:
                    assert moment.fullmatch(str(row[column]))


def test_ids_start_at_one_and_references_exist(portfolio):
    keys = {table: {row["id"] for row in rows} for table, rows in portfolio.items() if "id" in rows[0]}

    for table in keys.keys() - {"users"}:
        assert [row["id"] for row in portfolio[table]] == [*range(1, len(portfolio[table]) + 1)]
    assert all(row["client_id"] in keys["clients"] for row in portfolio["buildings"])
    assert all(row["building_id"] in keys["buildings"] for row in portfolio["inspections"])
    inspectors = keys["inspectors"] | {None}
    assert all(row["inspector_id"] in inspectors for row in portfolio["inspections"] + portfolio["schedules"])
    for table, column, referred in (
        ("schedules", "building_id", "buildings"),
        ("inspection_plans", "inspection_id", "inspections"),
        ("inspection_plans", "case_id", "inspections"),
        ("findings", "inspection_id", "inspections"),
        ("finding_events", "finding_id", "findings"),
        ("finding_events", "user_id", "users"),
    ):
        assert all(row[column] in keys[referred] for row in portfolio[table])
    assert len({user["email"] for user in portfolio["users"]}) == len(portfolio["users"])


def test_statuses_agree_with_dates(portfolio):
    allowed_after_days = {
        "completed": range(1100),
        "failed": range(1100),
        "in_progress": range(15),
        "scheduled": range(-731, 46),
        "cancelled": range(-60, 1100),
    }

    ages = [
        (row["status"], (TODAY - date.fromisoformat(str(row["date_visited"]))).days) for row in portfolio["inspections"]
    ]

    assert all(age in allowed_after_days[str(status)] for status, age in ages)
    assert {status for status, _ in ages} == set(allowed_after_days)
    assert min(age for _, age in ages) < -45
    assert max(age for _, age in ages) > 1000


def test_dates_are_after_creation_and_not_in_the_future(portfolio):
    buildings = {row["id"]: row for row in portfolio["buildings"]}
    midnight = f"{TODAY + timedelta(days=1)}T00:00:00+00:00"

    for row in portfolio["inspections"]:
        assert buildings[row["building_id"]]["created_at"] < row["created_at"]
        assert row["created_at"] <= row["updated_at"] < midnight
        assert datetime.fromisoformat(str(row["created_at"])).date().isoformat() <= str(
            max(row["date_visited"], TODAY.isoformat())
        )


def test_every_state_of_schedules_and_findings_exists(portfolio):
    findings = {(row["severity"], row["status"]) for row in portfolio["findings"]}

    assert findings == {*product(SEVERITIES, FINDING_STATUSES)}
    # Letters are written after the import: test_demo_evidence.py.
    assert {row["kind"] for row in portfolio["finding_events"]} == {*EVENT_KINDS} - {NOTIFIED}
    assert {row["outcome"] for row in portfolio["inspection_plans"]} == {*OUTCOMES, None}
    assert {row["counted_from"] for row in portfolio["schedules"]} == {*COUNTED_FROM}
    assert {(row["inspection_type"], row["title"]) for row in portfolio["schedules"]} == {
        ("annual", ""),
        ("fire", ""),
        ("lead", ""),
        ("fire", "Sprinklers"),
    }
    assert all(row["basis"] for row in portfolio["schedules"])


def test_each_schedule_has_one_open_inspection_on_one_of_its_due_dates(portfolio):
    inspections = {row["id"]: row for row in portfolio["inspections"]}
    plans = {row["schedule_id"]: row for row in portfolio["inspection_plans"] if row["outcome"] is None}

    for schedule in portfolio["schedules"]:
        plan = plans[schedule["id"]]
        inspection = inspections[plan["inspection_id"]]
        recurrence = Recurrence(date.fromisoformat(schedule["first_due"]), schedule["every"], schedule["unit"])
        assert inspection["status"] in ("scheduled", "in_progress")
        assert inspection["building_id"] == schedule["building_id"]
        assert recurrence.due_date(plan["occurrence"]).isoformat() == plan["due_on"]
    by_occurrence = Counter(
        (row["schedule_id"], row["occurrence"])
        for row in portfolio["inspection_plans"]
        if row["schedule_id"] is not None and row["outcome"] not in ("cancelled", "early")
    )
    assert set(by_occurrence.values()) == {1}


def test_cases_have_rounds_in_order_and_one_open_round_at_most(portfolio):
    inspections = {row["id"]: row for row in portfolio["inspections"]}
    cases = defaultdict(list)
    for row in sorted(portfolio["inspection_plans"], key=lambda plan: plan["round"]):
        cases[row["case_id"]].append(row)

    for case_id, plans in cases.items():
        visits = [inspections[plan["inspection_id"]] for plan in plans]
        assert visits[0]["id"] == case_id
        assert [plan["round"] for plan in plans] == [*range(1, len(plans) + 1)]
        assert [visit["status"] for visit in visits[:-1]] == ["failed"] * (len(visits) - 1)
        assert all(plan["outcome"] == "done" for plan in plans[:-1])
        assert [visit["date_visited"] for visit in visits] == sorted(visit["date_visited"] for visit in visits)
    open_thirds = [plans for plans in cases.values() if len(plans) == 3 and plans[-1]["outcome"] is None]
    assert len(open_thirds) >= 4


def test_deadlines_are_late_today_and_this_week(portfolio):
    due = Counter(
        (date.fromisoformat(row["due_at"][:10]) - TODAY).days
        for row in portfolio["findings"]
        if row["status"] == "open"
    )

    assert sum(count for days, count in due.items() if days < 0) >= 3
    assert due[0] >= 3
    assert sum(due[days] for days in range(1, 8)) >= 3


def test_findings_agree_with_their_events(portfolio):
    events = defaultdict(list)
    for row in portfolio["finding_events"]:
        events[row["finding_id"]].append(row)
    cases = {row["inspection_id"]: row["case_id"] for row in portfolio["inspection_plans"]}

    for finding in portfolio["findings"]:
        made, *others = events[finding["id"]]
        assert (made["kind"], made["at"]) == ("made", finding["created_at"])
        assert all(event["at"] < f"{TODAY}T00:00:00+00:00" for event in events[finding["id"]])
        last = next((e for e in reversed(others) if e["kind"] in FINDING_STATUSES or e["kind"] == "reopened"), None)
        assert finding["status"] == ("open" if last is None or last["kind"] == "reopened" else last["kind"])
        assert (finding["closed_at"] is not None) == (finding["status"] in ("verified", "waived"))
        for event in others:
            if event["kind"] == "verified":
                assert cases[event["inspection_id"]] == finding["case_id"]
            if event["kind"] in ("waived", "reopened", "extended", "remark"):
                assert event["note"]


def test_each_linked_inspector_has_visits_today_late_and_next_week_and_no_grant(portfolio):
    linked = {row["id"]: row["user_id"] for row in portfolio["inspectors"] if row["user_id"] is not None}
    roles = {user["id"]: user["role"] for user in portfolio["users"]}
    clients = {row["id"]: row["client_id"] for row in portfolio["buildings"]}
    visited = defaultdict(set)

    for inspector_id, user_id in linked.items():
        days = Counter()
        for row in portfolio["inspections"]:
            if row["inspector_id"] == inspector_id:
                visited[inspector_id].add(clients[row["building_id"]])
                if row["status"] in ("scheduled", "in_progress"):
                    days[(date.fromisoformat(row["date_visited"]) - TODAY).days] += 1
        assert roles[user_id] == "client_manager"
        assert days[0] >= 3
        assert sum(days[each] for each in range(-30, 0)) >= 2
        assert sum(days[each] for each in range(1, 8)) >= 4
    assert sorted(map(len, visited.values())) == [1, 2]
    grants = portfolio["client_manager_building_access"] + portfolio["client_manager_inspection_access"]
    assert not {grant["manager_id"] for grant in grants} & {*linked.values()}


@pytest.mark.parametrize("today", ["2027-01-01", "2027-12-31", "2028-02-29", "2026-10-31", "2026-11-22"])
def test_portfolio_of_any_day_has_work_for_today(today):
    day = date.fromisoformat(today)
    portfolio = compose(day, SEED)

    visits = [row for row in portfolio["inspections"] if row["date_visited"] == today]
    findings = {(row["severity"], row["status"]) for row in portfolio["findings"]}
    assert {row["status"] for row in visits} >= {"scheduled", "in_progress"}
    assert findings == {*product(SEVERITIES, FINDING_STATUSES)}
    assert any(row["due_at"].startswith(today) for row in portfolio["findings"] if row["status"] == "open")


def test_only_finished_lead_inspections_have_readings_and_failed_ones_a_positive(portfolio):
    inspections = {row["id"]: row for row in portfolio["inspections"]}
    results: dict[object, set[object]] = {}
    for row in portfolio["reports_lead"]:
        results.setdefault(row["inspection_id"], set()).add(row["result"])

    for inspection_id, found in results.items():
        inspection = inspections[inspection_id]
        assert inspection["inspection_type"] == "lead"
        assert inspection["status"] == ("failed" if "positive" in found else "completed")
        assert found <= {"positive", "negative", "inconclusive"}


def test_grants_are_permitted_by_the_access_policy(portfolio):
    users = {user["id"]: user for user in portfolio["users"]}
    buildings = {row["id"]: row["client_id"] for row in portfolio["buildings"]}
    visits = {row["id"]: buildings[row["building_id"]] for row in portfolio["inspections"]}

    for grantee in ("admin", "manager"):
        for target, clients in (("building", buildings), ("inspection", visits)):
            grants = portfolio[f"client_{grantee}_{target}_access"]
            keys = [(grant[f"{grantee}_id"], grant[f"{target}_id"]) for grant in grants]
            assert len(set(keys)) == len(keys)
            for grant, (user_id, target_id) in zip(grants, keys, strict=True):
                grantor = users[grant["assigned_by"]]
                assert users[user_id]["role"] == f"client_{grantee}"
                assert grantor["role"] == "super_admin" or (
                    grantor["client_id"] == users[user_id]["client_id"] == clients[target_id]
                )


def test_passwords_are_random():
    portfolio = compose(TODAY, 1)

    first, told = with_passwords(portfolio)
    second, _ = with_passwords(portfolio)

    assert told == {user["email"]: user["password"] for user in first["users"]}
    both = [user["password"] for user in first["users"] + second["users"]]
    assert len(set(both)) == len(both)
    assert "password" not in portfolio["users"][0]


def test_the_command_writes_the_portfolio_as_json():
    command = [sys.executable, "-m", "demo", "--today", "2026-11-20", "--seed", "3"]

    printed = subprocess.run(command, cwd=PROJECT, capture_output=True, check=True, timeout=30)

    written = json.loads(printed.stdout)
    for user in written["users"]:
        assert len(user.pop("password")) >= 16
    assert written == compose(TODAY, 3)
